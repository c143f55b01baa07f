"""The engine `local`: its strings and keys always; the real SmolLM2 where it and its package are."""

from __future__ import annotations

import json
import os
import platform
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
from lab.models import local
from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone, Ledger, MalformedAnswer, by_operator
from lab.models.cache import AnswerCache
from lab.models.client import EndpointError, EndpointUnavailable, SchemaNotTaken
from lab.models.connect import connect
from lab.models.engines import LOCAL_MODEL, LOCAL_OPTIONS, BadEngine, parse
from lab.models.local import MissingLocal
from lab.models.prompts import Fields, Prompt
from lab.models.rendering import PromptTooLong
from lab.runs.collecting import collect
from lab.runs.execution import Played, play_all
from lab.runs.run import Run

SMALL = "local:smollm2-135m?max_tokens=60&context=2048"
HERE = weights.named("smollm2-135m").present and find_spec(local.MODULE) is not None and not local.unsupported()
# Converting takes a while; done by hand before, it is done.
real = pytest.mark.skipif(
    not HERE or bool(conversion.fault(weights.named("smollm2-135m"))),
    reason=f"needs the lines: {local.INSTALL}; python -m lab model get smollm2-135m",
)


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
    """No model outlives these tests."""
    yield
    local.stop()


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model's file with other bytes, the package as if it were there: enough for keys, not for answers."""
    monkeypatch.setenv("LAB_MODELS", str(tmp_path))
    monkeypatch.setattr(local, "find_spec", lambda name: True)
    monkeypatch.setattr(local, "version", lambda name: "2026.4")
    monkeypatch.setattr(local, "unsupported", lambda: "")
    path = weights.named("smollm2-135m").path
    path.write_bytes(b"no model")
    return path


def test_what_is_missing_is_named_with_the_lines_that_add_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_MODELS", str(tmp_path))
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(MissingLocal) as caught:
        connect("local")
    message = str(caught.value)
    assert "the package openvino-genai and the model" in message and f"model {LOCAL_MODEL}" in message
    assert message.splitlines()[1:3] == [
        "    python -m pip install -r requirements-local.txt", f"    python -m lab model get {LOCAL_MODEL}"
    ]  # fmt: skip
    assert "OPENAI_BASE_URL=" in message


@pytest.mark.parametrize(
    ("system", "machine", "flags", "why"),
    [
        ("Linux", "x86_64", "fpu avx2", ""), ("Linux", "x86_64", "fpu avx", "AVX2, which this processor lacks"),
        ("Linux", "aarch64", "fpu", ""), ("Darwin", "arm64", "", ""), ("Darwin", "x86_64", "", "Darwin on x86_64"),
    ],
)  # fmt: skip
def test_a_machine_that_openvino_cannot_run_on_is_told_so(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, flags: str, why: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(Path, "read_text", lambda path: f"processor : 0\nflags : {flags}\nbugs :\n")
    assert why in local.unsupported() and bool(why) == bool(local.unsupported())


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("local:smollm2-135m", "lacks AVX2"),
        ("local:smollm2-135m?context=8193", "reads at most 8192 tokens, and context=8193"),
        ("local:smollm2-135m?runtime=llama.cpp", "runtime=llama.cpp is of recordings alone"),
    ],
)
def test_it_says_what_else_can_answer(pretended: Path, monkeypatch: pytest.MonkeyPatch, engine: str, why: str) -> None:
    monkeypatch.setattr(local, "unsupported", lambda: "this processor lacks AVX2" if engine.endswith("m") else "")
    with pytest.raises(MissingLocal, match=f"{why}.*llama-server.*export OPENAI_BASE_URL="):
        connect(engine)


def test_keys_name_the_pinned_file_and_openvinos_version_and_not_what_belongs_to_the_machine(
    pretended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = connect(SMALL, cache=None)
    sha256 = weights.named("smollm2-135m").files["SmolLM2-135M-Instruct.Q4_1.gguf"]
    assert backbone.address == f"sha256:{sha256}/openvino-2026.4-q8_0"
    assert backbone.engine.label == "smollm2-135m (local, openvino)"
    for same in ("&threads=1", "&threads=2&timeout=9", "&runtime=openvino"):
        assert connect(SMALL + same, cache=None).request(ASK, box=1) == backbone.request(ASK, box=1)
    assert connect(SMALL + "&temperature=1", cache=None).request(ASK, box=1) != backbone.request(ASK, box=1)
    monkeypatch.setattr(local, "version", lambda name: "2026.5")
    assert connect(SMALL, cache=None).request(ASK, box=1) != backbone.request(ASK, box=1)


@pytest.mark.parametrize("stated", ["", "?runtime=llama.cpp", "?runtime=openvino"])
@pytest.mark.parametrize(("form", "label"), [("", "(local)"), ("/openvino-2026.4-q8_0", "(local, openvino)")])
def test_a_replay_names_the_runtime_that_answered(tmp_path: Path, stated: str, form: str, label: str) -> None:
    address = f"sha256:{weights.named('smollm2-135m').files['SmolLM2-135M-Instruct.Q4_1.gguf']}{form}"
    (tmp_path / "manifest.json").write_text(json.dumps({"engine": f"local:smollm2-135m{stated}", "address": address}))
    (tmp_path / "answers.jsonl").touch()
    replay = connect(f"replay:{tmp_path}")
    assert (replay.engine.label, replay.address) == (f"smollm2-135m {label}", address)


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
        (ImportError("libtbb.so.12"), "libtbb.so.12. Install openvino-genai again"),
        (MemoryError("it takes about 2.1 GB of memory, and 0.3 GB are free"), "0.3 GB are free. Close other programs"),
        (conversion.NotConverted("ended by signal 9"), "signal 9. Or run a server of your own"),
        (RuntimeError("no such operator."), "OpenVINO cannot load .*no such operator"),
        (OSError(28, "No space left on device"), "No space left on device. Are the models"),
    ],
)
def test_what_keeps_a_model_from_loading_is_told_with_what_to_do(
    pretended: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def refuse(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(conversion, "converted", refuse)
    with pytest.raises(MissingLocal, match=words):
        connect(SMALL, cache=None).ask(ASK, box=1)


def test_a_local_model_takes_an_endpoints_options_and_what_there_is_not_is_refused() -> None:
    engine = parse("local:qwen2.5-coder-1.5b?max_tokens=64&threads=2")
    assert engine.name == "qwen2.5-coder-1.5b"
    assert engine.options == LOCAL_OPTIONS | {"max_tokens": 64, "threads": 2}
    with pytest.raises(ValueError, match="smollm2-135m"):
        connect("local:gpt-9")
    with pytest.raises(BadEngine, match="mpnet is for embeddings.*local:smollm2-135m"):
        connect("local:mpnet")
    with pytest.raises(BadEngine, match="runtime=openvno: leave it out"):
        parse("local?runtime=openvno")
    assert (free := local.free_memory()) is None or 2**20 < free < 2**50, "a plausible number of bytes, or unknown"


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
    assert checks["openvino-genai, for the engine local"].optional


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
def test_openvino_answers_within_the_schema_the_same_each_time_and_with_any_threads() -> None:
    first, again, alone = (connect(SMALL + more, cache=None) for more in ("", "", "&threads=1"))
    answers = [backbone.ask(COLOUR, thing="grass") for backbone in (first, again, alone)]
    assert {answer.call.path for answer in answers} == {"schema"}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].call.tokens_in > 10 and 2 < answers[0].call.tokens_out < 60


@real
def test_openvino_reports_a_cut_answer_and_refuses_a_prompt_that_does_not_fit() -> None:
    with pytest.raises(MalformedAnswer, match="max_tokens=2"):
        connect("local:smollm2-135m?max_tokens=2", cache=None).ask(ASK, box=1)
    # Digits have more tokens than the characters that `context` counts; OpenVINO can read them all the same.
    with pytest.raises(MalformedAnswer, match="max_tokens=2"):
        connect("local:smollm2-135m?max_tokens=2&context=1024", cache=None).ask(ASK, box=1, labels=["7 7"] * 400)
    with pytest.raises(EndpointError, match="8,192 tokens or more, and OpenVINO reads at most 8,192"):
        connect("local:smollm2-135m?max_tokens=2", cache=None).ask(ASK, box=1, labels=["7 7"] * 3000)


@real
def test_openvinos_samples_depend_on_their_seed_alone() -> None:
    warm = connect("local:smollm2-135m?max_tokens=200&temperature=1.5&seed=3", cache=None)
    texts = [warm.ask(FREE, sample=sample, thing="a walk by the sea").text for sample in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]


def chat(about: str, **more: object) -> dict[str, object]:
    """A request of a few tokens."""
    return {"messages": [{"role": "user", "content": about}], "max_tokens": 20, "temperature": 0.0} | more


@real
def test_openvino_answers_together_what_is_asked_together() -> None:
    backbone = connect(SMALL, cache=None)
    things = ("sky", "blood", "leaf", "sky", "grass", "sun", "sea", "rose", "moss", "wine")
    with ThreadPoolExecutor(len(things)) as pool:
        answers = list(pool.map(lambda thing: backbone.ask(COLOUR, thing=thing), things))
    assert {answer.call.path for answer in answers} == {"schema"}
    assert [answer.call.tokens_in for answer in answers] == [
        backbone.ask(COLOUR, thing=thing).call.tokens_in for thing in things
    ]


@real
def test_a_schema_that_openvino_does_not_take_costs_only_its_own_question() -> None:
    model = local.loaded(local.Serving("smollm2-135m", 2))
    bad = {"type": "json_schema", "json_schema": {"schema": {"type": "string", "pattern": "("}}}
    with ThreadPoolExecutor(3) as pool:
        good = [pool.submit(model.chat, chat(f"Count to {number}."), 60) for number in (9, 99)]
        wrong = pool.submit(model.chat, chat("Count.", response_format=bad), 60)
        assert all(json.loads(one.result())["usage"]["completion_tokens"] > 1 for one in good)
    with pytest.raises(SchemaNotTaken):
        wrong.result()


@real
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_where_openvino_cannot_be_opened_again_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = local.Loaded(conversion.folder_of(weights.named("smollm2-135m")), 2)

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


@real
def test_an_answer_that_nobody_waits_for_is_given_up_and_the_next_one_comes() -> None:
    model = local.loaded(local.Serving("smollm2-135m", 2))
    with pytest.raises(TimeoutError):
        model.chat(chat("Write a long tale.", max_tokens=2000), 0.01)
    assert json.loads(model.chat(chat("Hello"), 60))["usage"]["completion_tokens"] > 0


@real
def test_questions_under_way_are_given_up_when_a_model_is_unloaded() -> None:
    model = local.Loaded(conversion.folder_of(weights.named("smollm2-135m")), 2)
    with ThreadPoolExecutor(2) as pool:
        tales = [pool.submit(model.chat, chat("Write a long tale.", max_tokens=2000), 60) for _ in range(2)]
        time.sleep(0.3)
        began = time.monotonic()
        model.close()
        assert time.monotonic() - began < 2, "2,000 tokens take longer"
        for tale in tales:
            with pytest.raises(EndpointUnavailable, match="ended in this process"):
                tale.result()


class Where(Asking):
    """Episodes that tell the process they are played in."""

    def play(self, task: str, ledger: Ledger) -> dict[str, int]:
        return {"process": os.getpid()}


@real
def test_episodes_at_a_time_share_the_model_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    results = collect(Where(engine=SMALL), workers=3, show_progress=False)
    assert [episode.result for episode in results.episodes.values()] == [{"process": os.getpid()}] * 3
