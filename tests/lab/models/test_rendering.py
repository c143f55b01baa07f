"""An engine's `context`: what is cut, that it is cut alike wherever it is asked, and that it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chat_server as chat
from asking import Placing
from chat_server import ChatServer
from lab.models import engines
from lab.models.backbone import Ledger, by_operator
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.prompts import Fields, Prompt
from lab.models.rendering import CUT_AT, PromptTooLong, fitted, rendered

GOOD = {"shelf": 3, "why": "it is free"}


class DiaryFields(Fields):
    """days: what happened, oldest first. left_out: days before them that are not shown."""

    days: tuple[str, ...]
    left_out: int = 0


def without_first_days(fields: DiaryFields, characters_over: int) -> DiaryFields | None:
    """As many of the oldest days as it takes, never the newest."""
    count, freed = 0, 0
    while count < len(fields.days) - 1 and freed < characters_over:
        freed += len(fields.days[count]) + 1
        count += 1
    if not count:
        return None
    return DiaryFields(days=fields.days[count:], left_out=fields.left_out + count)


DIARY = Prompt(
    name="tests.diary",
    version="1",
    operator="recall",
    system="You read diaries.",
    template="Left out: {{ left_out }}\n{% for day in days %}\n{{ day }}\n{% endfor %}",
    fields=DiaryFields,
    answer=Placing,
    shorten=without_first_days,
)
DAYS = tuple(f"On day {day} it rained." for day in range(200))
ENGINE = "small?context=400&max_tokens=50&patience=5"


def length(prompt: Prompt, fields: Fields) -> int:
    return sum(len(message["content"]) for message in prompt.render(fields))


def test_what_fits_or_has_no_context_to_fit_stays_as_it_is() -> None:
    fields = DIARY.fill(days=DAYS)
    assert fitted(DIARY, fields, engines.parse("small"))[0] is fields
    assert fitted(DIARY, fields, engines.parse("rules"))[0] is fields
    assert fitted(DIARY, fields, engines.parse("small?context=9000"))[0] is fields
    assert rendered(DIARY, {"days": DAYS}, engines.parse("small?context=9000")).cut is False
    unshortened = replace(DIARY, shorten=None)  # no part of what a prompt is
    assert unshortened == DIARY and hash(unshortened) == hash(DIARY)


def test_a_prompt_is_cut_to_the_context_less_the_answer_and_shows_it(server: ChatServer) -> None:
    server.script(chat.answer(GOOD))
    model = Ledger(connect(ENGINE, cache=None))
    assert model.ask(DIARY, days=DAYS).value == Placing(**GOOD)
    sent = server.requests[0].text
    kept = sent.count("it rained")
    assert 0 < kept < 200
    assert f"Left out: {200 - kept}\nOn day {200 - kept} " in sent and "On day 199 " in sent
    assert len(sent) <= (400 - 50) * CUT_AT < len(sent) + 2 * len(DAYS[-1])
    assert [call.cut for call in model.calls] == [True]


def test_cut_calls_are_counted_by_operator_where_there_are_any(server: ChatServer, cache: AnswerCache) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    model = Ledger(connect(ENGINE, cache=cache))
    model.ask(DIARY, days=DAYS[:2])
    assert "cut" not in by_operator(model.calls)["recall"]
    for _ in range(2):  # the second comes from the cache
        model.ask(DIARY, days=DAYS)
    assert [(call.cut, call.cached) for call in model.calls] == [(False, False), (True, False), (True, True)]
    assert by_operator(model.calls)["recall"]["cut"] == 2


@pytest.mark.parametrize("response", [chat.says("no idea"), chat.status(400, "too long")])
def test_a_cut_call_that_fails_is_booked_as_cut(server: ChatServer, response: chat.Response) -> None:
    server.behave(lambda request: response)
    model = Ledger(connect(ENGINE, cache=None))
    with pytest.raises((ValueError, RuntimeError)):
        model.ask(DIARY, days=DAYS)
    assert [call.cut for call in model.calls] == [True]


def test_a_recording_of_cut_prompts_replays(server: ChatServer, tmp_path: Path) -> None:
    server.script(chat.answer(GOOD), chat.says("no"), chat.says("no"))
    backbone = connect(ENGINE, cache=None)
    model = Ledger(backbone, record=True)
    model.ask(DIARY, days=DAYS)
    with pytest.raises(ValueError, match="no JSON object"):
        model.ask(DIARY, days=DAYS[::-1])
    (tmp_path / "manifest.json").write_text(json.dumps({"engine": ENGINE, "address": backbone.address}))
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in model.recorded))
    replayed = Ledger(connect(f"replay:{tmp_path}"))
    assert replayed.ask(DIARY, days=DAYS).value == Placing(**GOOD)
    with pytest.raises(ValueError, match="no JSON object"):
        replayed.ask(DIARY, days=DAYS[::-1])
    assert [call.cut for call in replayed.calls] == [True, True]
    assert replayed.request(DIARY, days=DAYS) == backbone.request(DIARY, days=DAYS) == model.recorded[0]["request"]


@pytest.mark.parametrize("shorten", [None, lambda fields, over: None, lambda fields, over: fields.model_copy()])
def test_a_prompt_of_which_nothing_more_may_go_is_refused(server: ChatServer, shorten: object) -> None:
    with pytest.raises(PromptTooLong, match=r"tests\.diary.* takes about \d+ tokens.*context=400, 50 of it for"):
        connect(ENGINE, cache=None).ask(replace(DIARY, shorten=shorten), days=DAYS)
    assert server.count == 0
    with pytest.raises(PromptTooLong, match="also when all that may go is left out"):
        rendered(DIARY, {"days": (*DAYS, "rain " * 1000)}, engines.parse(ENGINE))


def test_a_narrow_answer_is_that_of_the_fields_that_are_sent() -> None:
    prompt = replace(DIARY, narrow=lambda fields: Placing if fields.left_out else None)
    assert rendered(prompt, {"days": DAYS}, engines.parse(ENGINE)).prompt.answer is Placing


@settings(max_examples=100)
@given(
    days=st.lists(st.text(st.characters(codec="utf-8"), max_size=300), min_size=1, max_size=30),
    context=st.integers(200, 2000),
)
def test_whatever_is_asked_it_is_short_enough_or_as_short_as_it_gets(days: list[str], context: int) -> None:
    engine = engines.parse(f"small?context={context}")
    fields = DIARY.fill(days=tuple(days))
    try:
        short = fitted(DIARY, fields, engine)[0]
    except PromptTooLong:
        assert length(DIARY, DIARY.fill(days=(days[-1],), left_out=len(days) - 1)) > context * CUT_AT
        return
    assert short.days == tuple(days[short.left_out :])
    assert len(short.days) == 1 or length(DIARY, short) <= context * CUT_AT
    assert short.left_out == 0 or length(DIARY, fields) > context * CUT_AT
    assert fitted(DIARY, short, engine)[0] == short
