"""Recordings: what a run recorded answers again, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import chat_server as chat
from asking import ASK, Placing, episodes, manifest, play
from chat_server import ChatServer
from lab.machine.faults import Unavailable
from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.prompts import Prompt
from lab.models.replay import MissingRun
from lab.runs.execution import play_all
from lab.runs.run import Episode, Run


def record_rules(folder: Path, engine: str = "rules@0.6") -> list[Episode]:
    with Run(folder, manifest(6, engine)) as run:
        return play_all(run, episodes(engine), show_progress=False)


def shelf_of(request: chat.Request) -> chat.Response:
    """A server whose answer depends on the question, and whose temper depends on the moment."""
    number = len(request.text)
    return chat.answer({"shelf": number % 10, "why": f"{number} letters, request {request.number}"})


def test_a_recording_of_rules_gives_the_same_episodes(tmp_path: Path) -> None:
    recorded = record_rules(tmp_path / "first")
    again = episodes(f"replay:{tmp_path / 'first'}")
    with Run(tmp_path / "second", manifest(6)) as run:
        assert play_all(run, again, show_progress=False) == recorded
    paths = {answer["path"] for answer in map(json.loads, (tmp_path / "first" / "answers.jsonl").open())}
    assert paths == {"rules", "corrupted"}


def test_a_recording_of_an_endpoint_gives_the_same_answers_without_a_server(
    tmp_path: Path, server: ChatServer, cache: AnswerCache, monkeypatch: pytest.MonkeyPatch, prompt: Prompt
) -> None:
    server.behave(shelf_of)
    engine = "small?temperature=0.5&seed=3"
    backbone = connect(engine, cache=cache)
    with Run(tmp_path, manifest(4, engine, backbone.address)) as run:
        recorded = play_all(run, partial(play, backbone=backbone), 2, "threading", show_progress=False)
    told = backbone.ask(prompt, box=4, labels=["001"])
    monkeypatch.delenv("OPENAI_BASE_URL")
    replay = connect(f"replay:{tmp_path}")
    asked = server.count
    assert [play(episode.task, replay).result for episode in recorded] == [e.result for e in recorded]
    answer = replay.ask(prompt, box=4, labels=["001"])
    assert (answer.value, answer.text, answer.request) == (told.value, told.text, told.request)
    assert (answer.call.path, answer.call.tokens_in, answer.call.usd, answer.call.cached) == ("schema", 7, 0.0, True)
    assert server.count == asked
    assert replay.engine.text == engine  # results carry the name of what really answered


def test_a_malformed_answer_replays_as_malformed(tmp_path: Path, server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.says("no idea"))
    ledger = Ledger(connect("small", cache=None), record=True)
    with pytest.raises(MalformedAnswer) as first:
        ledger.ask(prompt, box=1)
    with Run(tmp_path, manifest(1, "small", server.address)) as run:
        run.append(Episode("000", None), answers=ledger.recorded)
    replayed = Ledger(connect(f"replay:{tmp_path}"))
    with pytest.raises(MalformedAnswer) as second:
        replayed.ask(prompt, box=1)
    assert str(second.value) == str(first.value) and second.value.text == first.value.text == "no idea"
    assert [(call.path, call.tokens_in) for call in replayed.calls] == [("malformed", 14)]


def test_a_server_that_failed_is_booked_and_not_recorded(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.status(400))
    ledger = Ledger(connect("small", cache=None), record=True)
    with pytest.raises(RuntimeError):
        ledger.ask(prompt, box=1)
    assert [call.path for call in ledger.calls] == ["failed"] and ledger.recorded == []


class Row(Placing):
    """An answer of another shape."""

    row: int


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (replace(ASK, version="2"), "recorded with version 1, the prompt is now version 2"),
        (replace(ASK, template="Box {{ box }}?"), "version is the same, so its wording, schema or fields differ"),
        (replace(ASK, answer=Row), "version is the same, so its wording, schema or fields differ"),
        (replace(ASK, name="tests.other"), r"holds no answer to this prompt, only to \['tests.place'\]"),
    ],
)
def test_a_miss_says_what_the_recording_lacks(tmp_path: Path, asked: Prompt, why: str) -> None:
    record_rules(tmp_path)
    with pytest.raises(Unavailable, match=f"Recording {tmp_path.name} .*{why}.*Record it again"):
        connect(f"replay:{tmp_path}").ask(asked, box=0, labels=["000"])


def test_other_fields_and_samples_are_misses(tmp_path: Path, prompt: Prompt) -> None:
    record_rules(tmp_path)
    path = tmp_path / "answers.jsonl"
    path.write_bytes(path.read_bytes()[:-5])  # as a kill leaves it: what is whole is served
    replay = connect(f"replay:{tmp_path}")
    assert replay.ask(prompt, box=0, labels=["000"]).call.cached
    for fields in ({"box": 999, "labels": ["000"]}, {"box": 0, "labels": ["000"], "sample": 1}):
        with pytest.raises(Unavailable):
            replay.ask(prompt, **fields)


def test_a_folder_without_recorded_answers_says_how_to_record(tmp_path: Path) -> None:
    Run(tmp_path, manifest(1)).close()
    with pytest.raises(MissingRun, match="answers.jsonl.*of a model"):
        connect(f"replay:{tmp_path}")
    (tmp_path / "manifest.json").rename(tmp_path / "answers.jsonl")
    with pytest.raises(MissingRun):
        connect(f"replay:{tmp_path}")
