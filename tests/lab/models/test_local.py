"""The engine `local` on both runtimes: its strings and keys always; the real SmolLM2 where it and a package are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import Field

from asking import ASK, Asking, manifest
from lab.machine import conversion, weights
from lab.machine.doctor import own_checks
from lab.machine.paths import recordings_folder
from lab.models import local, local_openvino
from lab.models.backbone import Backbone, Ledger, MalformedAnswer, by_operator
from lab.models.cache import AnswerCache
from lab.models.client import EndpointError, EndpointUnavailable, SchemaNotTaken
from lab.models.connect import connect
from lab.models.engines import LOCAL_MODEL, LOCAL_OPTIONS, BadEngine, parse
from lab.models.local import MissingLocal
from lab.models.prompts import AnswerModel, Fields, Prompt, PromptTooLong
from lab.runs.collecting import collect
from lab.runs.execution import Played, play_all
from lab.runs.run import Run

SMALL = "local:smollm2-135m?max_tokens=60&context=2048&runtime=llama.cpp"
FAST = SMALL.replace("llama.cpp", "openvino")
NEEDS = f"needs the lines: {local.INSTALL}; python -m lab model get smollm2-135m"
WEIGHTS = weights.named("smollm2-135m").present
HERE = WEIGHTS and find_spec("xllamacpp") is not None
real = pytest.mark.skipif(not HERE, reason=NEEDS)
OPEN = WEIGHTS and find_spec("openvino_genai") is not None and not local_openvino.unsupported()
# Converting takes a while; done by hand before, it is done.
CONVERTED = OPEN and not conversion.fault(weights.named("smollm2-135m"))
fast = pytest.mark.skipif(not CONVERTED, reason=NEEDS)


class ColourFields(Fields):
    thing: str


class Colour(AnswerModel):
    colour: str = Field(pattern="^(red|green|blue)$", description="red, green or blue")


class Tale(AnswerModel):
    title: str = Field(max_length=60)


FREE = Prompt("tests.tale", "1", "judge", "You name tales.", "Name a tale of {{ thing }}.", ColourFields, Tale)
COLOUR = Prompt("tests.colour", "1", "judge", "Name colours.", "Which colour has {{ thing }}?", ColourFields, Colour)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    """No server outlives these tests."""
    yield
    local.stop()


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model's file with other bytes, the package as if it were there: enough for keys, not for answers."""
    monkeypatch.setenv("LAB_MODELS", str(tmp_path))
    monkeypatch.setattr(local, "find_spec", lambda name: True)
    monkeypatch.setattr(local_openvino, "version", lambda name: "2026.4")
    monkeypatch.setattr(local_openvino, "unsupported", lambda: "")
    path = weights.named("smollm2-135m").path
    path.write_bytes(b"no model")
    return path


def test_a_local_model_takes_an_endpoints_options_and_threads() -> None:
    engine = parse("local:qwen2.5-coder-1.5b?max_tokens=64&threads=2")
    assert engine.name == "qwen2.5-coder-1.5b"
    assert engine.options == LOCAL_OPTIONS | {"max_tokens": 64, "threads": 2}


def test_what_is_missing_is_named_with_the_two_lines_that_add_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_MODELS", str(tmp_path))
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(MissingLocal) as caught:
        connect("local")
    message = str(caught.value)
    assert "xllamacpp" in message and f"model {LOCAL_MODEL}" in message
    assert message.splitlines()[1:] == [
        "    python -m pip install -r requirements-local.txt", f"    python -m lab model get {LOCAL_MODEL}"
    ]  # fmt: skip


def test_the_runtime_is_openvino_where_it_can_answer_and_llama_cpp_elsewhere(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = parse("local:smollm2-135m")
    assert local.runtime_of(plain) == "openvino"
    assert local.runtime_of(parse(SMALL)) == "llama.cpp"
    monkeypatch.setattr(local_openvino, "unsupported", lambda: "this processor lacks AVX2")
    assert local.runtime_of(plain) == "llama.cpp"
    with pytest.raises(MissingLocal, match="lacks AVX2. Take runtime=llama.cpp"):
        connect(FAST)
    monkeypatch.setattr(local_openvino, "unsupported", lambda: "")
    assert local.runtime_of(parse("local:smollm2-135m?context=8193")) == "llama.cpp"
    with pytest.raises(MissingLocal, match="reads at most 8192 tokens, and context=8193"):
        connect("local:smollm2-135m?context=8193&runtime=openvino")
    monkeypatch.setattr(local, "find_spec", lambda name: name == "xllamacpp" or None)
    assert local.runtime_of(plain) == "llama.cpp"
    with pytest.raises(MissingLocal, match="lacks the package openvino-genai"):
        connect(FAST)


def test_a_runtime_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadEngine, match="runtime=openvno must be openvino or llama.cpp.*openvino"):
        parse("local?runtime=openvno")


def test_openvinos_keys_name_the_pinned_file_the_runtime_and_its_version(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow = connect(FAST, cache=None), connect(SMALL, cache=None)
    assert fast.address == f"{slow.address}/openvino-2026.4-q8_0"
    assert fast.request(ASK, box=1) == connect(FAST.replace("&runtime=openvino", ""), cache=None).request(ASK, box=1)
    assert fast.request(ASK, box=1) != slow.request(ASK, box=1)
    assert (fast.engine.label, slow.engine.label) == ("smollm2-135m (local, openvino)", "smollm2-135m (local)")
    monkeypatch.setattr(local_openvino, "version", lambda name: "2026.5")
    assert connect(FAST, cache=None).request(ASK, box=1) != fast.request(ASK, box=1)


def test_a_replay_names_the_runtime_that_answered(pretended: Path, tmp_path: Path) -> None:
    for runtime, label in (("openvino", "smollm2-135m (local, openvino)"), ("llama.cpp", "smollm2-135m (local)")):
        backbone = connect(f"local:smollm2-135m?runtime={runtime}", cache=None)
        (tmp_path / "manifest.json").write_text(
            json.dumps({"engine": "local:smollm2-135m", "address": backbone.address})
        )
        (tmp_path / "answers.jsonl").touch()
        replay = connect(f"replay:{tmp_path}")
        assert replay.engine.label == label
        assert replay.request(ASK, box=3) == backbone.request(ASK, box=3)


@pytest.mark.parametrize(
    "name",
    sorted(
        path.parent.name
        for path in recordings_folder().glob("*-local*/answers.jsonl.gz")
        if not path.parent.name.endswith("-openvino")  # they say their runtime in their name
    ),
)
def test_recordings_of_before_there_were_two_runtimes_are_llama_cpps(name: str) -> None:
    replay = connect(f"replay:{name}")
    assert replay.engine.label.endswith("(local)") or replay.engine.kind != "local"
    assert replay.engine.options.get("runtime", "llama.cpp") == "llama.cpp"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ImportError("libgomp.so.1"), "libgomp.so.1. Install openvino_genai again"),
        (MemoryError("it takes about 2.1 GB of memory, and 0.3 GB are free"), "0.3 GB are free. Close other programs"),
        (conversion.NotConverted("ended by signal 9"), "signal 9. Or take runtime=llama.cpp"),
        (RuntimeError("no such operator."), "openvino cannot load .*no such operator"),
        (OSError(28, "No space left on device"), "No space left on device. Are the models"),
    ],
)
def test_what_keeps_a_model_from_loading_is_told_with_what_to_do(
    pretended: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def refuse(*arguments: object) -> None:
        raise error

    monkeypatch.setitem(local.STARTS, "openvino", refuse)
    with pytest.raises(MissingLocal, match=words):
        connect(FAST, cache=None).ask(ASK, box=1)


def test_free_memory_is_a_plausible_number_of_bytes_or_unknown() -> None:
    free = local_openvino.free_memory()
    assert free is None or 2**20 < free < 2**50


def test_unknown_models_and_models_that_answer_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="smollm2-135m"):
        connect("local:gpt-9")
    with pytest.raises(BadEngine, match="mpnet is for embeddings.*local:smollm2-135m"):
        connect("local:mpnet")


def test_the_key_holds_the_files_hash_and_not_what_belongs_to_the_machine(pretended: Path) -> None:
    one, two = (connect(f"{SMALL}&threads={threads}&timeout={threads}", cache=None) for threads in (1, 2))
    assert one.address == f"sha256:{weights.named('smollm2-135m').files['SmolLM2-135M-Instruct.Q4_1.gguf']}"
    assert one.request(ASK, box=1) == two.request(ASK, box=1) == connect(SMALL, cache=None).request(ASK, box=1)
    assert one.request(ASK, box=1) != connect(SMALL + "&temperature=1", cache=None).request(ASK, box=1)


def test_a_file_other_than_the_pinned_one_answers_nothing(pretended: Path) -> None:
    with pytest.raises(MissingLocal, match="SmolLM2-135M.*is pinned.*Remove the file.*model get smollm2-135m"):
        connect(SMALL, cache=None).ask(ASK, box=1)


def test_a_prompt_longer_than_the_context_is_refused_before_the_model_is_loaded(pretended: Path) -> None:
    with pytest.raises(PromptTooLong, match="context=2048"):
        connect(SMALL, cache=None).ask(ASK, box=1, labels=["far away " * 2000])


def test_the_doctor_says_which_models_are_here(pretended: Path) -> None:
    checks = {check.what: check for check in own_checks()}
    assert checks["model smollm2-135m"].ok and not checks["model mpnet"].ok
    assert checks["model mpnet"].fix == "python -m lab model get mpnet"
    assert checks["xllamacpp, for the engine local"].optional


@real
def test_the_model_answers_within_the_schema_and_is_asked_once(cache: AnswerCache) -> None:
    first = connect(SMALL, cache=cache).ask(COLOUR, thing="grass")
    assert first.value.colour in ("red", "green", "blue")
    assert first.call.path == "schema" and first.call.tokens_in > 10 and first.call.tokens_out > 2
    again = connect(SMALL + "&threads=1", cache=cache).ask(COLOUR, thing="grass")
    assert again.call.cached and again.value == first.value


def name_colour(task: str, backbone: Backbone) -> Played:
    """An episode of one question."""
    ledger = Ledger(backbone, record=True)
    return Played({"colour": ledger.ask(COLOUR, thing=task).value.colour}, by_operator(ledger.calls), ledger.recorded)


@real
def test_a_recorded_run_replays_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = connect(SMALL)
    with Run(tmp_path / "run", manifest(2, SMALL, backbone.address)) as run:
        results = [episode.result for episode in play_all(run, partial(name_colour, backbone=backbone), 1)]
    monkeypatch.setenv("LAB_MODELS", str(tmp_path / "nowhere"))
    replay = connect(f"replay:{tmp_path / 'run'}")
    assert results == [{"colour": replay.ask(COLOUR, thing=task).value.colour} for task in run.manifest.tasks]


@real
def test_the_server_stops_with_its_process() -> None:
    code = (
        "from lab.models.local import Serving, loaded; import urllib.request;"
        "url = loaded(Serving('smollm2-135m', 512, 1)).url;"
        "urllib.request.urlopen(url + '/models').read(); print('asked')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "asked", "")


@fast
def test_openvino_answers_within_the_schema_the_same_each_time_and_with_any_threads() -> None:
    first, again, alone = (connect(FAST + more, cache=None) for more in ("", "", "&threads=1"))
    answers = [backbone.ask(COLOUR, thing="grass") for backbone in (first, again, alone)]
    assert {answer.call.path for answer in answers} == {"schema"}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].call.tokens_in > 10 and 2 < answers[0].call.tokens_out < 60


@fast
def test_openvino_reports_a_cut_answer_and_refuses_a_prompt_that_does_not_fit() -> None:
    with pytest.raises(MalformedAnswer, match="max_tokens=2"):
        connect("local:smollm2-135m?runtime=openvino&max_tokens=2", cache=None).ask(ASK, box=1)
    with pytest.raises(EndpointError, match="63 tokens or more and the engine has context=50"):
        connect("local:smollm2-135m?runtime=openvino&max_tokens=2&context=50", cache=None).ask(ASK, box=1)


@fast
def test_openvinos_samples_depend_on_their_seed_alone() -> None:
    warm = connect("local:smollm2-135m?runtime=openvino&max_tokens=200&temperature=1.5&seed=3", cache=None)
    texts = [warm.ask(FREE, sample=sample, thing="a walk by the sea").text for sample in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]


def chat(about: str, **more: object) -> dict[str, object]:
    """A request of a few tokens."""
    return {"messages": [{"role": "user", "content": about}], "max_tokens": 20, "temperature": 0.0} | more


@fast
def test_openvino_answers_together_what_is_asked_together() -> None:
    backbone = connect(FAST, cache=None)
    things = ("sky", "blood", "leaf", "sky", "grass", "sun", "sea", "rose", "moss", "wine")
    with ThreadPoolExecutor(len(things)) as pool:
        answers = list(pool.map(lambda thing: backbone.ask(COLOUR, thing=thing), things))
    assert {answer.call.path for answer in answers} == {"schema"}
    assert [answer.call.tokens_in for answer in answers] == [
        backbone.ask(COLOUR, thing=thing).call.tokens_in for thing in things
    ]


@fast
def test_a_schema_that_openvino_does_not_take_costs_only_its_own_question() -> None:
    model = local.loaded(local.Serving("smollm2-135m", 2048, 2, "openvino"))
    bad = {"type": "json_schema", "json_schema": {"schema": {"type": "string", "pattern": "("}}}
    with ThreadPoolExecutor(3) as pool:
        good = [pool.submit(model.chat, chat(f"Count to {number}."), 60) for number in (9, 99)]
        wrong = pool.submit(model.chat, chat("Count.", response_format=bad), 60)
        assert all(json.loads(one.result())["usage"]["completion_tokens"] > 1 for one in good)
    with pytest.raises(SchemaNotTaken):
        wrong.result()


@fast
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_where_openvino_cannot_be_opened_again_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = local_openvino.start(weights.named("smollm2-135m"), 2048, 2)

    def refused() -> None:
        raise RuntimeError("no memory is left")

    monkeypatch.setattr(model, "_opened", refused)
    bad = {"type": "json_schema", "json_schema": {"schema": {"type": "string", "pattern": "("}}}
    with ThreadPoolExecutor(2) as pool:
        begun = time.monotonic()
        under_way = pool.submit(model.chat, chat("Write a long tale.", max_tokens=2000), 60)
        time.sleep(0.3)
        wrong = pool.submit(model.chat, chat("Count.", response_format=bad), 60)
        for one in (under_way, wrong):
            with pytest.raises(EndpointUnavailable, match="ended in this process"):
                one.result()
    with pytest.raises(EndpointUnavailable):
        model.chat(chat("Hello"), 60)
    assert time.monotonic() - begun < 20
    model.close()


@fast
def test_an_answer_that_nobody_waits_for_is_given_up_and_the_next_one_comes() -> None:
    model = local.loaded(local.Serving("smollm2-135m", 2048, 2, "openvino"))
    with pytest.raises(TimeoutError):
        model.chat(chat("Write a long tale.", max_tokens=2000), 0.01)
    assert json.loads(model.chat(chat("Hello"), 60))["usage"]["completion_tokens"] > 0


@fast
def test_questions_under_way_are_answered_before_a_model_is_unloaded() -> None:
    model = local.loaded(local.Serving("smollm2-135m", 1024, 2, "openvino"))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(model.chat, chat("Count from 1 to 9."), 60)
        time.sleep(0.2)
        model.close()
        assert json.loads(answer.result())["choices"]


class Where(Asking):
    """Episodes that tell the process they are played in."""

    def play(self, task: str, ledger: Ledger) -> dict[str, int]:
        return {"process": os.getpid()}


@fast
def test_episodes_at_a_time_share_the_model_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    results = collect(Where(engine=FAST), workers=3, show_progress=False)
    assert [episode.result for episode in results.episodes.values()] == [{"process": os.getpid()}] * 3
