"""The engine `local`: tokens read and written a second, and calls an hour of two of the suite's prompts.

The prompts are a selection of SDP on TravelPlanner and a state extraction of StateFactory, on synthetic data.
--benchmark-json writes the numbers, as extra_info.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from itertools import repeat
from typing import Any

import pytest

from lab.machine import conversion, weights
from lab.models import local
from lab.models.backbone import Answer, Backbone, Ledger, MalformedAnswer
from lab.models.connect import connect, connected
from lab.models.local import AT_ONCE, Loaded, Serving, loaded
from lab.models.prompts import Prompt
from lab.runs.experiment import Experiment

MODELS = [name for name, model in weights.known().items() if model.use == "answers"]
LEAST_SAVING = 3.0  # times as fast, at least, as the same prompt without the cache
LEAST_TOGETHER = 1.5  # times as fast, at least, eight together as one after the other
LEAST_BY_LOOKUP = {1: 1.5, 4: 1.2}  # times as fast, at least, as token by token; by questions asked together
CALLS = 6  # of each prompt, in the order of its episode
WRITTEN = 40
COUNTING = [{"role": "user", "content": "Count from 1 to 200, in digits, with a comma after each."}]


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """A model's name, where all that it needs is here."""
    known = weights.named(request.param)
    if not (find_spec(local.MODULE) and known.present and not conversion.fault(known)):
        pytest.skip(f"needs the lines: {local.INSTALL}; python -m lab model get {request.param}")
    yield request.param
    local.stop()


class Listening(Ledger):
    """Accounts of an episode with its questions: prompts and their fields."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.questions: list[tuple[Prompt, dict[str, Any]]] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        self.questions.append((prompt, fields))
        return super().ask(prompt, sample, **fields)


def questions(setup: Experiment, operator: str) -> list[tuple[Prompt, dict[str, Any]]]:
    """The first ones of an operator in the first episode, with their fields."""
    setup = setup.resolved()
    listening = Listening(connected(setup.engine))
    setup.play(setup.tasks()[0], listening)
    return [question for question in listening.questions if question[0].operator == operator][:CALLS]


def prompts() -> dict[str, list[tuple[Prompt, dict[str, Any]]]]:
    """By their names."""
    from sdp.studies import table2
    from statefactory.studies import table1

    travel = table2.STUDY.trial(conditions=["SDP"], data="synthetic")
    states = table1.STUDY.trial(
        conditions=(table1.STATEFACTORY.name,), data="synthetic", limit=2, options={"shortest": True}
    )
    return {"selection": questions(travel, "realize"), "state": questions(states, "perceive")}


def took(chat: Loaded, messages: list[dict[str, str]], limit: int) -> tuple[float, int]:
    """Seconds of an answer of at most so many tokens, and the tokens of the prompt."""
    began = time.perf_counter()
    body = json.loads(chat.chat({"messages": messages, "max_tokens": limit, "temperature": 0.0}, 3600))
    return time.perf_counter() - began, body["usage"]["prompt_tokens"]


def alone(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same messages with a beginning that no other prompt has."""
    first, *others = messages
    return [first | {"content": f"{os.urandom(4).hex()} {first['content']}"}, *others]


def test_tokens_read_and_written_a_second(benchmark: Any, model: str) -> None:
    chat = loaded(Serving(model, 2))
    took(chat, COUNTING, 2)
    asked = [prompt.render(prompt.fill(**fields)) for kind in prompts().values() for prompt, fields in kind[:2]]
    readings = benchmark.pedantic(lambda: [took(chat, alone(messages), 1) for messages in asked], rounds=1)
    one, many = (took(chat, COUNTING, limit)[0] for limit in (1, WRITTEN + 1))
    seconds, tokens = map(sum, zip(*readings, strict=True))
    benchmark.extra_info |= {
        "tokens read a second": round(tokens / seconds, 1), "written": round(WRITTEN / (many - one), 1)
    }  # fmt: skip


def test_calls_an_hour_of_two_prompts(benchmark: Any, model: str) -> None:
    backbone = connect(f"local:{model}?max_tokens=400", cache=None)
    benchmark.pedantic(lambda: took(loaded(Serving(model, 2)), COUNTING, 1), rounds=1)
    for name, asked in prompts().items():
        began = time.perf_counter()
        for prompt, fields in asked:
            with suppress(MalformedAnswer):  # no answer takes its time as well
                backbone.ask(prompt, **fields)
        benchmark.extra_info[f"{name}: calls an hour"] = round(3600 * len(asked) / (time.perf_counter() - began))


def test_questions_that_are_asked_together_are_written_several_times_as_fast(benchmark: Any, model: str) -> None:
    chat = loaded(Serving(model, 2))
    took(chat, COUNTING, 2)

    def seconds(at_once: int) -> float:
        began = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(lambda _: took(chat, COUNTING, WRITTEN), range(AT_ONCE)))
        return time.perf_counter() - began

    alone_ = seconds(1)
    together = benchmark.pedantic(lambda: seconds(AT_ONCE), rounds=1)
    benchmark.extra_info |= {
        "tokens written a second, one after the other": round(AT_ONCE * WRITTEN / alone_, 1),
        "together": round(AT_ONCE * WRITTEN / together, 1),
    }
    assert alone_ / together > LEAST_TOGETHER


class Plain(Loaded):
    """Without prompt-lookup decoding."""

    def _opened(self) -> Any:
        scheduler = self._genai.SchedulerConfig()
        scheduler.enable_prefix_caching, scheduler.max_num_seqs = True, AT_ONCE
        settings = {"INFERENCE_NUM_THREADS": self._threads, "INFERENCE_PRECISION_HINT": "f32"}
        return self._genai.ContinuousBatchingPipeline(str(self._folder), scheduler, "CPU", settings)

    def _settings(self, request: Any, room: int) -> Any:
        config = super()._settings(request, room)
        config.max_ngram_size = self._genai.GenerationConfig().max_ngram_size
        return config


@pytest.mark.parametrize("at_once", [1, 4])
def test_an_answer_that_repeats_its_prompt_is_written_faster_by_lookup(
    benchmark: Any, model: str, at_once: int
) -> None:
    """A state of six objects, written again with a change, bound to a schema."""
    folder = conversion.folder_of(weights.named(model))
    taken, texts = {}, {}
    for kind in (Plain, Loaded):
        chat = kind(folder, 8192, 2)
        chat.chat(restated(9), 600)
        began = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            answers = [json.loads(answer) for answer in pool.map(chat.chat, map(restated, range(at_once)), repeat(600))]
        taken[kind] = time.perf_counter() - began
        texts[kind] = [answer["choices"][0]["message"]["content"] for answer in answers]
        chat.close()
    tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
    benchmark.extra_info |= {
        "tokens written a second": round(tokens / taken[Plain], 1), "by lookup": round(tokens / taken[Loaded], 1)
    }  # fmt: skip
    benchmark.pedantic(lambda: None, rounds=1)
    assert texts[Loaded] == texts[Plain] and taken[Plain] / taken[Loaded] > LEAST_BY_LOOKUP[at_once]


def restated(number: int) -> dict[str, Any]:
    """A request to write a state again."""
    places = ("kitchen", "hall", "attic", "cellar", "garage", "study")
    objects = [{"name": f"chest {n}", "place": f"The chest {n} stands in the {place} and is closed."}
               for n, place in enumerate(places, start=number)]  # fmt: skip
    fields = {name: {"type": "string"} for name in ("name", "place")}
    item = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    schema = {"type": "object", "properties": {"objects": {"type": "array", "items": item, "maxItems": 6}},
              "required": ["objects"], "additionalProperties": False}  # fmt: skip
    asked = f"State: {json.dumps({'objects': objects})}\nNow: you open chest {number}.\nThe new state as JSON:"
    system = {"role": "system", "content": "Write the state again as JSON. Keep what has not changed, word by word."}
    return {
        "messages": [system, {"role": "user", "content": asked}], "temperature": 0.0, "max_tokens": 300,
        "response_format": {"json_schema": {"schema": schema}},
    }  # fmt: skip


def test_a_shared_beginning_is_read_once(benchmark: Any, model: str) -> None:
    chat = loaded(Serving(model, 2))
    rules = " ".join(
        f"Rule {number}: the mug of room {number} stands in cupboard {number * 7}." for number in range(55)
    )

    def ask(question: str) -> float:
        return took(chat, [{"role": "system", "content": rules}, {"role": "user", "content": question}], 1)[0]

    cold = ask("Where is mug 1?")
    warm = benchmark.pedantic(lambda: ask("Where is mug 9?"), rounds=1)
    benchmark.extra_info |= {"seconds first": round(cold, 2), "seconds then": round(warm, 2)}
    assert cold / warm > LEAST_SAVING


def test_starting_up(benchmark: Any, model: str) -> None:
    """Cold: the model's files are not in memory. Waits for the first answer, then reports resident memory."""
    code = (
        "import json, psutil, time; began = time.perf_counter()\n"
        "from lab.models.local import Serving, loaded\n"
        f"chat = loaded(Serving({model!r}, 2))\n"
        "request = {'model': 'local', 'messages': [{'role': 'user', 'content': 'Hello'}], 'max_tokens': 1}\n"
        "chat.chat(request, 600); seconds = time.perf_counter() - began\n"
        "print(json.dumps([seconds, psutil.Process().memory_info().rss / 1e6]))"
    )
    known = weights.named(model)
    for file in (known.path, *conversion.folder_of(known).iterdir()):
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def start() -> list[float]:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    (cold, _), (warm, megabytes) = start(), benchmark.pedantic(start, rounds=1)
    benchmark.extra_info |= {"seconds cold": round(cold, 1), "seconds warm": round(warm, 1), "MB": round(megabytes)}
