"""A run's folder read back: outcomes, timelines, prompts and answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from asking import SHELVES, Asking, Checking
from chat_server import ChatServer, answer
from lab.machine.files import write_atomically
from lab.runs.collecting import collect
from lab.runs.experiment import Results
from lab.viewer.episodes import StoredRun


def played(setup: Asking, **options: bool) -> Results[Asking]:
    return collect(setup, workers=1, show_progress=False, **options)


def without_note(run: Results[Asking]) -> Path:
    """The run's folder as one of before manifests named their experiment."""
    path = run.folder / "manifest.json"
    held = json.loads(path.read_text())
    del held["surroundings"]["experiment"]
    write_atomically(path, json.dumps(held).encode())
    return run.folder


def test_a_task_that_was_not_measured_says_why() -> None:
    missed = played(Asking(count=4, wrong=("001",), fault="BackendDied"))
    with pytest.raises(ValueError, match="no episode of 001, which was not measured"):
        StoredRun(missed.folder).timeline("001")


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
    unkept = played(Asking(engine="another", count=1), record=False)
    assert "were not kept" in StoredRun(unkept.folder).timeline("000", prompts=True).notes[-1]


def test_an_episode_that_comes_out_otherwise_shows_no_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    run = played(Asking(count=1))
    monkeypatch.setattr(Asking, "play", lambda self, task, ledger: {"shelves": []})
    assert "came out otherwise" in StoredRun(run.folder).timeline("000", prompts=True).notes[-1]


def test_a_run_that_names_no_experiment_is_shown_as_it_was_kept() -> None:
    run = played(Asking(count=1))
    named = StoredRun(run.folder)
    assert named.setup == run.setup
    shown = StoredRun(without_note(run)).timeline("000")
    assert shown.steps[-1].observation == run.episodes["000"].result
    assert "does not say which experiment" in shown.notes[0]


@pytest.mark.parametrize("noted", ["os:path", "no_such_module:Setup", "asking:QUESTIONS", "asking"])
def test_a_manifest_can_name_nothing_but_an_experiment(noted: str) -> None:
    run = played(Asking(count=1))
    kept = StoredRun(run.folder)
    surroundings = {**kept.manifest.surroundings, "experiment": noted}
    kept.__dict__["manifest"] = replace(kept.manifest, surroundings=surroundings)
    assert kept.setup is None and noted in kept.timeline("000").notes[0]
