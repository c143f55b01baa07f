"""The engine `local`: tokens a second of a prompt and of its answer, and what a shared beginning of two prompts saves.

With a prompt of about 1,000 tokens and 20 tokens of answer; --benchmark-json writes the numbers, as extra_info.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from lab.models import local, weights
from lab.models.local import Serving, loaded

ANSWER_TOKENS = 20
LEAST_SAVING = 3.0  # times as fast, at least, as the same length read anew
RULES = " ".join(f"Rule {number}: the mug of room {number} stands in cupboard {number * 7}." for number in range(55))
QUESTIONS = ("Where is mug 3?", "Where is mug 9?", "Which mug is in cupboard 70?")
MODELS = [name for name, model in weights.known().items() if model.use == "answers"]


@pytest.fixture(params=[1, 2], ids=["1-thread", "2-threads"])
def threads(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(params=MODELS)
def client(request: pytest.FixtureRequest, threads: int) -> Iterator[Any]:
    """A client of a server that has seen no prompt yet."""
    if find_spec("xllamacpp") is None or not weights.named(request.param).present:
        pytest.skip(f"needs the lines: {local.INSTALL}; python -m lab model get {request.param}")
    from openai import OpenAI

    local.stop()
    with OpenAI(base_url=loaded(Serving(request.param, 4096, threads)).url, api_key="none") as openai:
        yield openai
    local.stop()


def ask(client: Any, question: str) -> dict[str, float]:
    """The server's own account of one answer, with the seconds that it took here."""
    started = time.perf_counter()
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
    whole = {"ignore_eos": True}  # else the answers of two models would differ in length
    reply = client.chat.completions.create(
        model="local", messages=messages, max_tokens=ANSWER_TOKENS, temperature=0.0, extra_body=whole
    )
    return reply.timings | {"seconds": time.perf_counter() - started, "tokens": reply.usage.prompt_tokens}


def test_a_shared_beginning_is_read_once(benchmark: Any, client: Any) -> None:
    cold = ask(client, "Where is mug 1?")
    questions = iter(QUESTIONS)
    warm = benchmark.pedantic(lambda: ask(client, next(questions)), rounds=len(QUESTIONS))
    reading = cold["prompt_ms"] / warm["prompt_ms"]
    benchmark.extra_info.update(
        prompt_tokens=cold["tokens"],
        read_again=warm["prompt_n"],
        prompt_tokens_a_second=round(cold["prompt_per_second"], 1),
        answer_tokens_a_second=round(warm["predicted_per_second"], 1),
        seconds_first=round(cold["seconds"], 2),
        seconds_then=round(warm["seconds"], 2),
        reading_times_as_fast=round(reading, 1),
    )
    assert warm["prompt_n"] < cold["prompt_n"] / 10
    assert reading > LEAST_SAVING
