"""A run saved for others: pages, and chat messages that `datasets` reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asking import Asking
from lab.__main__ import main
from lab.machine.files import write_atomically
from lab.runs.collecting import collect
from lab.viewer.episodes import StoredRun
from lab.viewer.saving import save


def played(**settings: object) -> StoredRun:
    return StoredRun(collect(Asking(**settings), workers=1, show_progress=False).folder)


def test_a_folder_links_each_episode_and_one_page_has_them_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = played(count=4, wrong=("001",))
    save(run, tmp_path / "pages")
    page = (tmp_path / "pages/index.html").read_text()
    links = [f"episodes/{number:05}.html" for number in (1, 2, 3, 4)]
    assert all(f'href="{link}"' in page and (tmp_path / "pages" / link).exists() for link in links)
    assert "3 scored, 1 failed, 0 not measured" in page and "ZeroDivisionError in 001" in page
    assert main(["show", str(run.folder), "--save", str(tmp_path / "one.html"), "--prompts"]) == 0
    whole = (tmp_path / "one.html").read_text()
    assert "href=" not in whole and "realize, user" in whole and str(tmp_path / "one.html") in capsys.readouterr().out


def test_a_task_that_was_not_measured_stands_in_the_index_with_the_reason(tmp_path: Path) -> None:
    save(played(count=4, wrong=("001",), fault="BackendDied"), tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text()
    assert "not measured <bdi>" in page and "BackendDied in 001" in page


def test_trajectories_and_calls_are_chats_that_datasets_reads(tmp_path: Path) -> None:
    from datasets import load_dataset

    run = played(engine="rules@0.5", count=2)
    for name, form in (("a.jsonl", "json"), ("a.parquet", "parquet")):
        said = save(run, tmp_path / name, prompts=True)
        rows = load_dataset(form, data_files=str(tmp_path / name), split="train", cache_dir=str(tmp_path / "cache"))
        assert said == f"{len(rows)} rows are in {tmp_path / name}"
        assert [message["role"] for message in rows[0]["messages"]] == ["system", "user", "assistant"]
        assert set(rows["operator"]) == {"realize"} and set(rows["task"]) == {"000", "001"}
    assert save(run, tmp_path / "b.jsonl").startswith("2 rows")
    with pytest.raises(ValueError, match=r"c.csv: a run is saved as a folder of pages, one page \(\*.html\), messages"):
        save(run, tmp_path / "c.csv")


def test_calls_of_a_run_that_cannot_be_played_again_are_refused(tmp_path: Path) -> None:
    run = played(count=1)
    held = json.loads((run.folder / "manifest.json").read_text())
    del held["surroundings"]["experiment"]
    write_atomically(run.folder / "manifest.json", json.dumps(held).encode())
    with pytest.raises(ValueError, match="only the experiment that wrote the run"):
        save(StoredRun(run.folder), tmp_path / "d.jsonl", prompts=True)
