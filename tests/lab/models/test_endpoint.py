"""Asking a model: the whole path from a prompt to a typed answer, against a real server on the loopback."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

import chat_server as chat
from asking import Placing
from chat_server import ChatServer
from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.models import client
from lab.models.backbone import Ledger, MalformedAnswer, by_operator, prices
from lab.models.cache import AnswerCache
from lab.models.client import EndpointError, retry_after
from lab.models.connect import connect
from lab.models.endpoint import Endpoint
from lab.models.parsing import RefusedAnswer
from lab.models.prompts import Prompt

GOOD = {"shelf": 3, "why": "it is free"}
VALUE = Placing(**GOOD)
Ask = Callable[..., Ledger]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_WAIT", 0.05)


@pytest.fixture
def model(server: ChatServer, cache: AnswerCache) -> Ledger:
    """A patient client of the server, with accounts."""
    return connected("small?patience=10&timeout=5", cache)


def connected(engine: str, cache: AnswerCache | None = None) -> Ledger:
    return Ledger(connect(engine, cache=cache))


# --- the path an answer takes -----------------------------------------------------------------------------------


def test_a_server_with_schemas_is_asked_to_keep_to_one(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    server.script(chat.answer(GOOD))
    answer = model.ask(prompt, box=1)
    assert (answer.value, answer.call.path) == (VALUE, "schema")
    body = server.requests[0].body
    assert body["response_format"]["json_schema"]["schema"] == prompt.schema
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["model"], body["temperature"], body["messages"]) == ("small", 0.0, prompt.render(prompt.fill(box=1)))
    assert "patience" not in body and "timeout" not in body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "complaint"),
    [
        (chat.says("shelf three"), "no JSON object"), (chat.answer({"shelf": "top", "why": ""}), "valid integer"),
        (chat.answer({"shelf": 3}), "why: Field required"), (chat.empty(), "empty"), (chat.says(None), "empty"),
        (chat.cut_by_length('{"shelf": 3, "why": "it'), "cut off"),
        (chat.says('{"shelf": 3, "why": "\ud800"}'.replace("\ud800", "\\ud800")), "JSON"),
        (chat.says("\ud800"), "no JSON object"),
    ],
)  # fmt: skip
def test_a_malformed_answer_is_asked_again_showing_what_was_wrong(
    server: ChatServer, model: Ledger, prompt: Prompt, first: chat.Response, complaint: str
) -> None:
    server.script(first, chat.answer(GOOD))
    answer = model.ask(prompt, box=1)
    assert (answer.value, answer.call.path) == (VALUE, "reasked")
    assert (answer.call.tokens_in, answer.call.tokens_out) == (14, 6)
    asked = server.requests[1].body["messages"]
    assert asked[:2] == server.requests[0].body["messages"]
    assert [message["role"] for message in asked[2:]] == ["assistant", "user"]
    assert complaint in asked[3]["content"]


def test_an_answer_malformed_twice_is_booked(
    server: ChatServer, model: Ledger, prompt: Prompt, cache: AnswerCache
) -> None:
    server.behave(lambda request: chat.says("no idea"))
    with pytest.raises(MalformedAnswer, match="no JSON object"):
        model.ask(prompt, box=1)
    assert server.count == 2
    (call,) = model.calls
    assert (call.operator, call.path, call.tokens_in, call.tokens_out) == ("realize", "malformed", 14, 6)
    assert len(cache) == 0


def test_a_refusal_is_not_argued_with(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    for refusal in (chat.refuses(), chat.says("", finish_reason="content_filter")):
        server.script(refusal)
        with pytest.raises(RefusedAnswer, match=r"tests\.place"):
            model.ask(prompt, box=1)
    assert server.count == 2
    assert [call.tokens_in for call in model.calls] == [7, 7]


# --- the cache --------------------------------------------------------------------------------------------------


def test_a_cached_answer_is_marked_free_and_identical(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    server.script(chat.in_prose(GOOD))
    fresh, cached = model.ask(prompt, box=1), model.ask(prompt, box=1)
    assert server.count == 1
    assert (cached.value, cached.request, cached.text) == (fresh.value, fresh.request, fresh.text)
    assert (fresh.call.cached, cached.call.cached, cached.call.usd) == (False, True, 0.0)
    unchanged = ("path", "tokens_in", "tokens_out", "operator")
    assert all(getattr(fresh.call, name) == getattr(cached.call, name) for name in unchanged)


def test_only_what_an_answer_depends_on_changes_the_key(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(engine: str = "small", address: str = "http://a/v1", asked: Prompt = prompt, sample: int = 0) -> str:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        return connected(engine).request(asked, sample=sample, box=1)

    class Other(Placing):
        """Another schema."""

        row: int

    options = ("temperature=1", "seed=1", "seed=2", "context=8192", "reasoning_effort=low")
    changes = ({"version": "2"}, {"name": "tests.other"}, {"template": "Box {{ box }}?"}, {"answer": Other})
    different = [key(), key("large"), key(address="http://b/v1"), key(sample=1)]
    different += [key(asked=replace(prompt, retry_temperatures=(0.3,)), sample=1)]
    different += [key(f"small?{option}") for option in options]
    different += [key(asked=replace(prompt, **change)) for change in changes]
    assert len(set(different)) == len(different)
    assert key("small?patience=1&timeout=2") == key() == key(address="http://a/v1/")
    assert key("small?seed=1&temperature=1") == key("small?temperature=1&seed=1")
    assert key(asked=replace(prompt, retry_temperatures=(0.3,))) == key()  # the first try is asked as ever


def test_samples_of_one_question_are_independent_answers(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    numbers = count()
    server.behave(lambda request: chat.answer({"shelf": next(numbers), "why": ""}))
    assert [model.ask(prompt, sample=s, box=1).value.shelf for s in (0, 1, 0, 1)] == [0, 1, 0, 1]


# --- faults on the way ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [chat.status(429), chat.status(429, retry_after="soon"), chat.status(500), chat.status(503), chat.no_json(),
     chat.cut_off_body(GOOD), chat.resets(), chat.Response(body=b'{"error": {"message": "overloaded"}}'),
     chat.Response(body=b""), chat.answer(GOOD, delay=1.0)],
)  # fmt: skip
def test_a_passing_fault_is_retried(
    server: ChatServer, cache: AnswerCache, prompt: Prompt, fault: chat.Response
) -> None:
    server.script(fault, fault, chat.answer(GOOD))
    answer = connected("small?patience=10&timeout=0.3", cache).ask(prompt, box=1)
    assert (answer.value, answer.call.path, answer.call.retries) == (VALUE, "schema", 2)
    assert (answer.call.tokens_in, server.count) == (7, 3)


@pytest.mark.parametrize("busy", [lambda: chat.status(429, retry_after="1"), lambda: chat.busy_until(2)])
def test_retry_after_is_honoured(
    server: ChatServer, model: Ledger, prompt: Prompt, busy: Callable[[], chat.Response]
) -> None:
    server.script(busy(), chat.answer(GOOD))
    started = time.perf_counter()
    answer = model.ask(prompt, box=1)
    assert 0.9 < time.perf_counter() - started < 15
    assert answer.call.seconds > 0.9  # waiting is part of what it took


@pytest.mark.parametrize(
    ("header", "seconds"), [("3", 3), ("0.5", 0.5), ("-4", 0), ("soon", None), ("nan", None), ("", None)]
)
def test_a_retry_after_header_reads_as(header: str, seconds: float | None) -> None:
    assert retry_after(with_header(header)) == seconds
    of_milliseconds = 9 if header in ("soon", "") else seconds and seconds / 1000
    assert retry_after(with_header("9", milliseconds=header)) == of_milliseconds
    for date in ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 9999999999999 07:28:00 GMT", "Wed,"):
        assert not retry_after(with_header(date)), "it has passed, or is none"


def with_header(value: str, milliseconds: str | None = None) -> Exception:
    import httpx
    import openai

    headers = {"Retry-After": value} | ({} if milliseconds is None else {"Retry-After-Ms": milliseconds})
    response = httpx.Response(429, headers=headers, request=httpx.Request("POST", "http://a"))
    return openai.RateLimitError("busy", response=response, body=None)


def test_it_gives_up_after_its_patience_and_says_how_to_give_it_longer(server: ChatServer, prompt: Prompt) -> None:
    server.behave(poisoned(chat.status(500)))
    model = connected("small?patience=0.4")
    with pytest.raises(EndpointError, match=r"127\.0\.0\.1.*500 at try \d+.*patience is 0\.4 s.*patience=SECONDS"):
        model.ask(prompt, box=1)
    assert server.count > 1
    assert [(call.path, call.tokens_in) for call in model.calls] == [("failed", 0)]
    assert model.calls[0].seconds > 0


def test_a_wait_longer_than_the_patience_is_not_begun(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.status(429, retry_after="3600"))
    started = time.perf_counter()
    with pytest.raises(EndpointError, match="429, asking to wait 3600 s"):
        connected("small?patience=60").ask(prompt, box=1)
    assert time.perf_counter() - started < 30


def test_a_slow_server_is_told_from_none(server: ChatServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behave(poisoned(chat.answer(GOOD, delay=2)))
    with pytest.raises(EndpointError, match="time-out.*timeout=SECONDS") as slow:
        connected("small?patience=0.2&timeout=0.2").ask(prompt, box=1)
    assert not isinstance(slow.value, Unavailable)  # it may be this prompt alone
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(Unavailable, match="cannot be reached"):
        connected("small?patience=0.2").ask(prompt, box=1)


@pytest.mark.parametrize("refusal", [chat.out_of_quota(), chat.status(401), chat.status(404, "no model 'small'")])
def test_what_no_retry_mends_ends_at_once(
    server: ChatServer, model: Ledger, prompt: Prompt, refusal: chat.Response
) -> None:
    server.behave(lambda request: refusal)
    with pytest.raises(Unavailable, match="refuses the request"):
        model.ask(prompt, box=1)
    assert server.count == (5 if refusal.status == 404 else 2)  # 404 may be of a schema; a small one was refused, too


POISONS = {
    "reset": chat.resets(),
    "bad gzip": chat.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
    "content-length too long": chat.cut_off_body(GOOD),
    "too large for the rate limit": chat.status(429),
    "forbidden words": chat.status(403),
    "a web page": chat.no_json(),
}


def poisoned(response: chat.Response, box: int = 1) -> Callable[[chat.Request], chat.Response]:
    """A server that does this on one question, and answers all others."""
    return lambda request: response if f"Box {box}." in request.text else chat.answer(GOOD)


@pytest.mark.slow
@pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)
def test_a_request_that_alone_gets_no_answer_is_no_fault_of_the_whole_server(
    server: ChatServer, prompt: Prompt, cache: AnswerCache, poison: chat.Response
) -> None:
    server.behave(poisoned(poison))
    model = connected("small?patience=0.6&timeout=5", cache)
    with pytest.raises(EndpointError) as caught:
        model.ask(prompt, box=1)
    assert not isinstance(caught.value, Unavailable)
    assert model.ask(prompt, box=2).value == VALUE
    server.behave(lambda request: poison)
    with pytest.raises(Unavailable):
        model.ask(prompt, box=1)
    assert len(cache) == 1


def test_a_wrong_request_quotes_the_server_and_costs_no_schema(
    server: ChatServer, model: Ledger, prompt: Prompt
) -> None:
    server.script(*[chat.status(400, "context of 4096 exceeded " + "x" * 5000)] * 4, chat.answer(GOOD))
    with pytest.raises(EndpointError, match="context of 4096 exceeded") as caught:
        model.ask(prompt, box=1)
    assert not isinstance(caught.value, Unavailable) and len(str(caught.value)) < 700
    assert model.ask(prompt, box=2).call.path == "schema"


def test_tokens_of_an_answer_are_booked_if_the_re_ask_fails(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    server.script(chat.says("no idea"), *[chat.status(400)] * 3)
    with pytest.raises(EndpointError):
        model.ask(prompt, box=1)
    assert [(call.path, call.tokens_in, call.tokens_out) for call in model.calls] == [("failed", 7, 3)]


def test_the_progress_line_counts_who_waits_and_for_what(server: ChatServer, model: Ledger, prompt: Prompt) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    server.script(chat.status(429, retry_after="2"), chat.status(429, retry_after="2"), chat.status(503))
    with progress.bar(3, "asking") as bar, ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(model.ask, prompt, box=box) for box in (1, 2)]
        while "2 waiting: 429" not in bar.text():
            time.sleep(0.01)
        model.ask(prompt, box=3)
        assert bar.text() == "asking 0/3 · 2 waiting: 429 · 10 tokens"
        for one in slow:
            one.result()
        assert bar.text() == "asking 0/3 · 30 tokens"


# --- what is sent, and what it costs ----------------------------------------------------------------------------


def test_sampling_options_reach_the_server_and_the_key_does_in_its_header(
    server: ChatServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef\n")  # as a file's last line gives it
    server.behave(lambda request: chat.answer(GOOD))
    connected("small?temperature=0.5&top_p=0.9&max_tokens=50&seed=4&context=9999").ask(prompt, box=1)
    connected("small?reasoning_effort=low&max_tokens=50").ask(prompt, box=1)
    plain, thinking = (request.body for request in server.requests)
    assert [plain[name] for name in ("temperature", "top_p", "max_tokens")] == [0.5, 0.9, 50]
    assert isinstance(plain["seed"], int) and "context" not in plain
    assert (thinking["max_completion_tokens"], thinking["reasoning_effort"]) == (50, "low")
    assert "max_tokens" not in thinking
    assert server.requests[0].headers["authorization"] == "Bearer sk-test-0123456789abcdef"


def test_each_question_and_sample_has_its_own_seed_if_the_engine_states_one(
    server: ChatServer, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one seed for all, the n-th tokens of all answers would be drawn with the same random number."""
    server.behave(lambda request: chat.answer(GOOD))
    for engine in ("small?temperature=0.5&seed=4", "small?temperature=0.5&seed=5", "small?temperature=0.5"):
        for box, sample in ((1, 0), (1, 2), (2, 0)):
            connected(engine).ask(prompt, sample=sample, box=box)
    *stated, none, _, _ = (request.body.get("seed") for request in server.requests)
    assert len({*stated}) == 6 and all(0 <= seed < 2**31 for seed in stated) and none is None
    server.requests.clear()
    monkeypatch.setenv("LAB_CACHE", "off")
    connected("small?temperature=0.5&seed=4").ask(prompt, sample=2, box=1)
    assert server.requests[0].body["seed"] == stated[1]


def test_retries_have_their_prompts_temperature_or_a_higher_one_of_the_engine(
    server: ChatServer, prompt: Prompt
) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    for engine in ("small", "small?temperature=0.5"):
        for sample in range(4):
            connected(engine).ask(replace(prompt, retry_temperatures=(0.3, 0.6)), sample=sample, box=1)
    asked = [request.body["temperature"] for request in server.requests]
    assert asked == [0.0, 0.3, 0.6, 0.6, 0.5, 0.5, 0.6, 0.6]


def test_a_pickled_endpoint_asks_the_same(server: ChatServer, prompt: Prompt, cache: AnswerCache) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    backbone = connect("small", cache=cache)
    asked = backbone.ask(prompt, box=1)
    copy: Endpoint = pickle.loads(pickle.dumps(backbone))
    assert copy.ask(prompt, box=1).call.cached
    assert copy.ask(prompt, box=2).value == asked.value


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text("small: {input: 10, output: 100}\n")
    monkeypatch.setattr("lab.models.backbone.PRICES", path)
    return path


def test_tokens_seconds_and_dollars_add_up_by_operator(server: ChatServer, priced: Path, prompt: Prompt) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    model = connected("small")
    for box in range(3):
        model.ask(prompt, box=box)
    model.ask(replace(prompt, operator="validate"), box=1)
    totals = by_operator(model.calls)
    assert list(totals) == ["realize", "validate"]
    realize = totals["realize"]
    assert [realize[name] for name in ("calls", "tokens_in", "tokens_out", "cached")] == [3, 21, 9, 0]
    assert realize["usd"] == pytest.approx((21 * 10 + 9 * 100) / 1e6)
    assert realize["seconds"] == pytest.approx(sum(call.seconds for call in model.calls[:3]), abs=1e-5)
    assert realize["paths"] == {"schema": 3}


def test_a_price_or_a_count_that_nobody_knows_gives_no_cost(server: ChatServer, priced: Path, prompt: Prompt) -> None:
    server.script(chat.answer(GOOD), chat.answer(GOOD), chat.answer(GOOD, usage={}))
    known, unknown = connected("small"), connected("large")
    assert known.ask(prompt, box=1).call.usd is not None
    assert unknown.ask(prompt, box=1).call.usd is None
    uncounted = known.ask(prompt, box=2).call
    assert (uncounted.tokens_in, uncounted.tokens_out, uncounted.usd) == (0, 0, None)
    assert by_operator(known.calls)["realize"]["usd"] is None


def test_a_faulty_price_file_is_told_before_anything_is_asked(server: ChatServer, priced: Path) -> None:
    priced.write_text("small: {input: 10}\n")
    prices.cache_clear()
    with pytest.raises(ValueError, match="small needs exactly 'input' and 'output'"):
        connected("small")
    assert server.count == 0
