"""Answers in free text: sent without a schema, kept as they were written, and never repaired or asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import chat_server as chat
from asking import ASK, BoxFields
from chat_server import ChatServer
from lab.models.answers import FreeText
from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.parsing import CUT, EMPTY, free_text

STOP = "\nObservation:"
TELL = replace(ASK, name="tests.tell", answer=FreeText, stop=(STOP,))
SAID = 'Thought: "3" is free.\nAction: put it [there'


@pytest.fixture
def model(server: ChatServer, cache: AnswerCache) -> Ledger:
    return Ledger(connect("small?patience=5&timeout=5", cache=cache), record=True)


def test_no_form_is_asked_for_and_the_text_comes_back_as_it_was_written(server: ChatServer, model: Ledger) -> None:
    server.script(chat.says(f" {SAID}\n"))
    answer = model.ask(TELL, box=1)
    assert (answer.value, answer.call.path) == (FreeText(text=SAID), "text")
    body = server.requests[0].body
    assert "response_format" not in body and body["stop"] == [STOP]
    assert body["messages"][0]["content"] == ASK.system


def test_it_is_cached_and_recorded_like_any_other_answer(
    server: ChatServer, model: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(chat.says(SAID), chat.says(""))
    assert model.ask(TELL, box=1).value == model.ask(TELL, box=1).value
    with pytest.raises(MalformedAnswer):
        model.ask(TELL, box=2)
    asked = server.count
    about = {"engine": model.engine.text, "address": model.backbone.address}  # type: ignore[attr-defined]
    (tmp_path / "manifest.json").write_text(json.dumps(about))
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in model.recorded))
    monkeypatch.delenv("OPENAI_BASE_URL")
    replay = connect(f"replay:{tmp_path}")
    assert replay.ask(TELL, box=1).value == FreeText(text=SAID)
    with pytest.raises(MalformedAnswer, match=EMPTY):
        replay.ask(TELL, box=2)
    assert server.count == asked == 2


def test_it_ends_at_a_stop_text_also_where_the_server_knows_none(server: ChatServer, model: Ledger) -> None:
    def behave(request: chat.Request) -> chat.Response:
        if "stop" in request.body:
            return chat.status(400, "stop is not supported with this model")
        return chat.cut_by_length(f"{SAID}{STOP} it is there.\nThought: and so on and")

    server.behave(behave)
    assert [model.ask(TELL, box=box).value.text for box in range(2)] == [SAID] * 2
    assert ["stop" in request.body for request in server.requests] == [True, False, False]  # and this is remembered


@pytest.mark.parametrize(
    ("response", "why"), [(chat.empty(), EMPTY), (chat.cut_by_length("Thought: it"), CUT), (chat.says(STOP), EMPTY)]
)
def test_no_answer_is_told_at_once(server: ChatServer, model: Ledger, response: chat.Response, why: str) -> None:
    server.behave(lambda request: response)
    with pytest.raises(MalformedAnswer, match=why):
        model.ask(TELL, box=1)
    assert server.count == 1
    assert [call.path for call in model.calls] == ["malformed"]


def test_what_a_model_thinks_aloud_is_no_part_of_it() -> None:
    assert free_text(f"<think>{STOP} or not?</think>\n{SAID}", [STOP]) == (SAID, False)
    for thoughts in ("<think>Well,", "[THINK]Well,", "<|channel|>analysis<|message|>Well,<|end|>"):
        with pytest.raises(MalformedAnswer, match=CUT):
            free_text(thoughts, [STOP])


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{SAID}<|return|>",
        f"analysisHm.assistantfinal{SAID}",
        f"[THINK]Thought: x[/THINK]{SAID}</s>",
        f"{SAID}<|im_end|>\n<|im_start|>user\nAnd then?",
    ],
)
def test_marks_of_channels_and_turns_are_no_part_of_it(text: str) -> None:
    assert free_text(text, [])[0] == SAID


def test_stop_texts_are_part_of_the_request_and_only_where_there_are_some() -> None:
    rules = connect("rules")
    assert rules.request(TELL, box=1) != rules.request(replace(TELL, stop=()), box=1)
    assert TELL.render(BoxFields(box=1)) == replace(TELL, stop=()).render(BoxFields(box=1))
