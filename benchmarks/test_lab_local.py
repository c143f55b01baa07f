"""The engine `local`: tokens read and written a second, and calls an hour of the suite's prompts, on both runtimes.

Paired: each question goes to one runtime and then to the other, in one process. The prompts are a selection of SDP on
TravelPlanner, a hop on two paragraphs, and a state extraction; all play on synthetic data but the hop. --benchmark-json
writes the numbers, as extra_info.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import repeat
from typing import Any

import pytest
from campaign_local_runtimes import Question, alone, episodes, extracting, hops, selecting, took

from lab.machine import conversion, weights
from lab.machine.paths import official_data
from lab.models import local
from lab.models.backbone import MalformedAnswer
from lab.models.connect import connect
from lab.models.engines import LLAMA, OPENVINO, RUNTIMES
from lab.models.local import PACKAGES, Serving, loaded
from lab.models.local_openvino import AT_ONCE, Loaded

MODELS = [name for name, model in weights.known().items() if model.use == "answers"]
# Times as many tokens a second as llama.cpp reads, at least.
LEAST = {"qwen2.5-coder-0.5b": 4.0, "qwen2.5-coder-1.5b": 2.5, "smollm2-135m": 1.0}
LEAST_SAVING = 3.0  # times as fast, at least, as the same prompt read anew
LEAST_TOGETHER = 1.5  # times as fast, at least, eight together as one after the other
LEAST_BY_LOOKUP = {1: 1.5, 4: 1.2}  # times as fast, at least, as token by token; by questions asked together
CALLS = 6  # of each prompt, in the order of its episode
WRITTEN = 40
COUNTING = [{"role": "user", "content": "Count from 1 to 200, in digits, with a comma after each."}]


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """A model's name, where all that it needs is here."""
    known = weights.named(request.param)
    if not (all(map(find_spec, PACKAGES.values())) and known.present and not conversion.fault(known)):
        pytest.skip(f"needs the lines: {local.INSTALL}; python -m lab model get {request.param}")
    yield request.param
    local.stop()


@cache
def prompts() -> dict[str, list[Question]]:
    """By their names: the first questions of an episode."""
    travel, states = next(episodes(selecting())), next(episodes(extracting()))
    found = {"selection": travel, "state": [each for each in states if each.prompt.operator == "perceive"]}
    if (official_data() / "multihop").is_dir():
        found["hop"] = [question for question, _ in hops(CALLS)]
    return {name: questions[:CALLS] for name, questions in found.items()}


def test_openvino_reads_several_times_as_fast(benchmark: Any, model: str) -> None:
    chats = {runtime: loaded(Serving(model, 8192, 2, runtime)) for runtime in RUNTIMES}
    for chat in chats.values():
        took(chat, COUNTING, 2)
    seconds, tokens = dict.fromkeys(RUNTIMES, 0.0), 0
    for questions in prompts().values():
        for question in questions[:2]:
            messages = alone(question.messages)
            for runtime, chat in chats.items():
                second, count = took(chat, messages, 1)
                seconds[runtime] += second
            tokens += count
    info = benchmark.extra_info
    info |= {f"{runtime}: tokens read a second": round(tokens / seconds[runtime], 1) for runtime in RUNTIMES}
    for runtime, chat in chats.items():
        alone_, both = (took(chat, COUNTING, limit)[0] for limit in (1, WRITTEN + 1))
        info[f"{runtime}: tokens written a second"] = round(WRITTEN / (both - alone_), 1)
    benchmark.pedantic(lambda: took(chats[OPENVINO], alone(COUNTING), 1), rounds=1)
    assert seconds[LLAMA] / seconds[OPENVINO] > LEAST[model]


def test_calls_an_hour_of_three_prompts(benchmark: Any, model: str) -> None:
    backbones = {name: connect(f"local:{model}?runtime={name}&max_tokens=400", cache=None) for name in RUNTIMES}
    for name, questions in prompts().items():
        seconds = dict.fromkeys(RUNTIMES, 0.0)
        for question in questions:
            for runtime, backbone in backbones.items():
                began = time.perf_counter()
                with suppress(MalformedAnswer):  # no answer takes its time as well
                    backbone.ask(question.prompt, **question.fields)
                seconds[runtime] += time.perf_counter() - began
        for runtime, second in seconds.items():
            benchmark.extra_info[f"{name}, {runtime}: calls an hour"] = round(3600 * len(questions) / second)
    benchmark.pedantic(lambda: took(loaded(Serving(model, 8192, 2, OPENVINO)), COUNTING, 1), rounds=1)


def test_questions_that_are_asked_together_are_written_several_times_as_fast(benchmark: Any, model: str) -> None:
    chat = loaded(Serving(model, 8192, 2, OPENVINO))
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

    def _guesses(self, together: bool) -> int:
        return self._genai.GenerationConfig().num_assistant_tokens


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


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_shared_beginning_is_read_once(benchmark: Any, model: str, runtime: str) -> None:
    chat = loaded(Serving(model, 4096, 2, runtime))
    rules = " ".join(
        f"Rule {number}: the mug of room {number} stands in cupboard {number * 7}." for number in range(55)
    )

    def ask(question: str) -> float:
        return took(chat, [{"role": "system", "content": rules}, {"role": "user", "content": question}], 1)[0]

    cold = ask("Where is mug 1?")
    warm = benchmark.pedantic(lambda: ask("Where is mug 9?"), rounds=1)
    benchmark.extra_info |= {"seconds first": round(cold, 2), "seconds then": round(warm, 2)}
    assert cold / warm > LEAST_SAVING


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_starting_up(benchmark: Any, model: str, runtime: str) -> None:
    """Cold: the model's files are not in memory. The first answer is awaited, and then resident memory is told."""
    code = (
        "import json, psutil, time; began = time.perf_counter()\n"
        "from lab.models.local import Serving, loaded\n"
        f"chat = loaded(Serving({model!r}, 8192, 2, {runtime!r}))\n"
        "request = {'model': 'local', 'messages': [{'role': 'user', 'content': 'Hello'}], 'max_tokens': 1}\n"
        "chat.chat(request, 600); seconds = time.perf_counter() - began\n"
        "print(json.dumps([seconds, psutil.Process().memory_info().rss / 1e6]))"
    )
    known = weights.named(model)
    files = [known.path, *conversion.folder_of(known).iterdir()] if runtime == OPENVINO else [known.path]
    for file in files:
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def start() -> list[float]:
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    (cold, _), (warm, megabytes) = start(), benchmark.pedantic(start, rounds=1)
    benchmark.extra_info |= {"seconds cold": round(cold, 1), "seconds warm": round(warm, 1), "MB": round(megabytes)}
