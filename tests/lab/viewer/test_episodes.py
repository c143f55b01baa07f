"""A run's folder read back: outcomes, timelines, prompts and answers; and saved for others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from asking import SHELVES, Asking, Checking
from chat_server import ChatServer, answer
from lab.__main__ import main
from lab.machine.files import write_atomically
from lab.runs.collecting import collect
from lab.runs.experiment import Results
from lab.viewer.episodes import StoredRun
from lab.viewer.saving import save


def played(setup: Asking) -> Results[Asking]:
    return collect(setup, workers=1, show_progress=False)


def without_note(run: Results[Asking]) -> Path:
    """The run's folder as one of before manifests named their experiment."""
    path = run.folder / "manifest.json"
    held = json.loads(path.read_text())
    del held["surroundings"]["experiment"]
    write_atomically(path, json.dumps(held).encode())
    return run.folder


def test_prompts_and_answers_are_had_again_and_no_rule_is_needed_to_have_kept_them() -> None:
    run = played(Checking(engine="rules@0.5", count=1))
    assert not (run.folder / "answers.jsonl").exists()
    shown = StoredRun(run.folder).timeline("000", prompts=True)
    asked = [each for step in shown.steps for each in step.exchanges]
    shelves = [json.loads(each.answer)["shelf"] for each in asked if each.operator == "realize"]
    assert shelves == [shelf for shelf, _ in run.episodes["000"].result["pairs"]]
    assert all(each.messages[0]["role"] == "system" for each in asked) and not shown.notes
    assert not any(step.exchanges for step in StoredRun(run.folder).timeline("000").steps)


def test_a_models_answers_come_from_what_the_run_kept_and_no_model_is_asked(server: ChatServer) -> None:
    server.behave(lambda request: answer({"shelf": len(request.text) % SHELVES, "why": "there is room"}))
    run = played(Asking(engine="a-model", count=2))
    asked = len(server.requests)
    shown = StoredRun(run.folder).timeline("001", prompts=True)
    shelves = [json.loads(each.answer)["shelf"] for step in shown.steps for each in step.exchanges]
    assert shelves == run.episodes["001"].result["shelves"] and len(server.requests) == asked
    (run.folder / "answers.jsonl").unlink()
    assert "were not kept" in StoredRun(run.folder).timeline("000", prompts=True).notes[-1]


def test_an_episode_that_comes_out_otherwise_shows_no_prompts_and_one_not_measured_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = played(Asking(count=4, wrong=("001",), fault="BackendDied"))
    with pytest.raises(ValueError, match="no episode of 001, which was not measured"):
        StoredRun(missed.folder).timeline("001")
    save(StoredRun(missed.folder), tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text()
    assert "not measured <bdi>" in page and "BackendDied in 001" in page
    run = played(Asking(count=1))
    monkeypatch.setattr(Asking, "play", lambda self, task, ledger: {"shelves": []})
    assert "came out otherwise" in StoredRun(run.folder).timeline("000", prompts=True).notes[-1]


def test_a_run_that_names_no_experiment_is_shown_as_it_was_kept_and_has_no_calls(tmp_path: Path) -> None:
    run = played(Asking(count=1))
    assert StoredRun(run.folder).setup == run.setup
    unnamed = StoredRun(without_note(run))
    shown = unnamed.timeline("000")
    assert shown.steps[-1].observation == run.episodes["000"].result
    assert "does not say which experiment" in shown.notes[0]
    with pytest.raises(ValueError, match="only the experiment that wrote the run"):
        save(unnamed, tmp_path / "d.jsonl", prompts=True)


@pytest.mark.parametrize("noted", ["os:path", "no_such_module:Setup", "asking:QUESTIONS", "asking"])
def test_a_manifest_can_name_nothing_but_an_experiment(noted: str) -> None:
    run = played(Asking(count=1))
    kept = StoredRun(run.folder)
    surroundings = {**kept.manifest.surroundings, "experiment": noted}
    kept.__dict__["manifest"] = replace(kept.manifest, surroundings=surroundings)
    assert kept.setup is None and noted in kept.timeline("000").notes[0]


def stored(**settings: object) -> StoredRun:
    return StoredRun(collect(Asking(**settings), workers=1, show_progress=False).folder)


def test_a_folder_links_episodes_and_one_page_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = stored(count=4, wrong=("001",))
    save(run, tmp_path / "pages")
    page = (tmp_path / "pages/index.html").read_text()
    links = [f"episodes/{number:05}.html" for number in (1, 2, 3, 4)]
    assert all(f'href="{link}"' in page and (tmp_path / "pages" / link).exists() for link in links)
    assert "3 scored, 1 failed, 0 not measured" in page and "ZeroDivisionError in 001" in page
    assert main(["show", str(run.folder), "--save", str(tmp_path / "one.html"), "--prompts"]) == 0
    whole = (tmp_path / "one.html").read_text()
    assert "href=" not in whole and "realize, user" in whole and str(tmp_path / "one.html") in capsys.readouterr().out


def test_trajectories_and_calls_are_chats_that_datasets_reads(tmp_path: Path) -> None:
    from datasets import load_dataset

    run = stored(engine="rules@0.5", count=2)
    for name, form in (("a.jsonl", "json"), ("a.parquet", "parquet")):
        said = save(run, tmp_path / name, prompts=True)
        rows = load_dataset(form, data_files=str(tmp_path / name), split="train", cache_dir=str(tmp_path / "cache"))
        assert said == f"{len(rows)} rows are in {tmp_path / name}"
        assert [message["role"] for message in rows[0]["messages"]] == ["system", "user", "assistant"]
        assert set(rows["operator"]) == {"realize"} and set(rows["task"]) == {"000", "001"}
    assert save(run, tmp_path / "b.jsonl").startswith("2 rows")
    with pytest.raises(ValueError, match=r"c.csv: a run is saved as a folder of pages, one page \(\*.html\), messages"):
        save(run, tmp_path / "c.csv")
