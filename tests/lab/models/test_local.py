"""The engine `local`: its strings and keys always; the real SmolLM2 where it and xllamacpp are here."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from pydantic import Field

from asking import ASK, manifest
from lab.machine.doctor import own_checks
from lab.machine.paths import ROOT
from lab.models import local, weights
from lab.models.backbone import Backbone, Ledger
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.context import PromptTooLong
from lab.models.endpoint import Endpoint
from lab.models.engines import LOCAL_MODEL, LOCAL_OPTIONS, BadEngine, parse
from lab.models.local import MissingLocal
from lab.models.prompts import AnswerModel, Fields, Prompt
from lab.models.replay import Replay
from lab.models.usage import by_operator
from lab.models.weights import UnknownModel
from lab.runs.execution import Played, play_all
from lab.runs.run import Run

SMALL = "local:smollm2-135m?max_tokens=60&context=2048"
HERE = weights.named("smollm2-135m").present and find_spec("xllamacpp") is not None
real = pytest.mark.skipif(not HERE, reason=f"needs the lines: {local.INSTALL}; python -m lab model get smollm2-135m")


class ColourFields(Fields):
    thing: str


class Colour(AnswerModel):
    colour: str = Field(pattern="^(red|green|blue)$", description="red, green or blue")


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
    path = weights.named("smollm2-135m").path
    path.write_bytes(b"no model")
    return path


def test_local_alone_is_the_default_model_with_stated_limits() -> None:
    engine = parse("local")
    assert (engine.kind, engine.name, engine.options) == ("local", LOCAL_MODEL, LOCAL_OPTIONS)


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


def test_unknown_models_and_models_that_answer_nothing_are_refused() -> None:
    with pytest.raises(UnknownModel, match="smollm2-135m"):
        connect("local:gpt-9")
    with pytest.raises(BadEngine, match="mpnet is for embeddings.*local:smollm2-135m"):
        connect("local:mpnet")


def test_the_key_holds_the_files_hash_and_not_what_belongs_to_the_machine(pretended: Path) -> None:
    one, two = (connect(f"{SMALL}&threads={threads}&timeout={threads}", cache=None) for threads in (1, 2))
    assert one.address == f"sha256:{weights.named('smollm2-135m').files['SmolLM2-135M-Instruct.Q4_1.gguf']}"
    assert one.request(ASK, box=1) == two.request(ASK, box=1) == connect(SMALL, cache=None).request(ASK, box=1)
    assert one.request(ASK, box=1) != connect(SMALL + "&temperature=1", cache=None).request(ASK, box=1)


def test_a_replay_of_a_local_run_makes_the_same_keys(pretended: Path, tmp_path: Path) -> None:
    backbone = connect(SMALL, cache=None)
    (tmp_path / "manifest.json").write_text(json.dumps({"engine": SMALL, "address": backbone.address}))
    (tmp_path / "answers.jsonl").touch()
    replay = connect(f"replay:{tmp_path}")
    assert isinstance(replay, Replay)
    assert replay.request(ASK, box=3) == backbone.request(ASK, box=3)


def test_a_file_other_than_the_pinned_one_answers_nothing(pretended: Path) -> None:
    with pytest.raises(MissingLocal, match="SmolLM2-135M.*is pinned.*Remove the file.*model get smollm2-135m"):
        connect(SMALL, cache=None).ask(ASK, box=1)


def test_a_prompt_longer_than_the_context_is_refused_before_the_model_is_loaded(pretended: Path) -> None:
    with pytest.raises(PromptTooLong, match="context=2048"):
        connect(SMALL, cache=None).ask(ASK, box=1, labels=["far away " * 2000])


def test_a_backbone_can_be_sent_to_another_process(pretended: Path) -> None:
    backbone = connect(SMALL, cache=None)
    again: Endpoint = pickle.loads(pickle.dumps(backbone))
    assert again.request(ASK, box=1) == backbone.request(ASK, box=1)


def test_the_doctor_says_which_models_are_here(pretended: Path) -> None:
    checks = {check.what: check for check in own_checks()}
    assert checks["model smollm2-135m"].ok and not checks["model mpnet"].ok
    assert checks["model mpnet"].fix == "python -m lab model get mpnet"
    assert checks["xllamacpp, for the engine local"].optional


def test_the_package_is_pinned_apart_from_the_default_set_up() -> None:
    assert "xllamacpp==" in (ROOT / "requirements-local.txt").read_text()
    assert "xllamacpp" not in (ROOT / "requirements.txt").read_text()


@real
def test_the_model_answers_within_the_schema_and_is_asked_once(cache: AnswerCache) -> None:
    first = connect(SMALL, cache=cache).ask(COLOUR, thing="grass")
    assert first.value.colour in ("red", "green", "blue")
    assert first.call.path == "schema" and first.call.tokens_in > 10 and first.call.tokens_out > 2
    again = connect(SMALL + "&threads=1", cache=cache).ask(COLOUR, thing="grass")
    assert again.call.cached and again.value == first.value


@real
def test_several_threads_share_one_server() -> None:
    backbone = connect(SMALL, cache=None)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda thing: backbone.ask(COLOUR, thing=thing), ("sky", "blood", "leaf", "sky")))
    assert {answer.call.path for answer in answers} == {"schema"}
    assert answers[0].value == answers[3].value
    assert len(local._servers) == 1


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
        "from lab.models.local import Serving, served; import urllib.request;"
        "url = served(Serving('smollm2-135m', 512, 1));"
        "urllib.request.urlopen(url + '/models').read(); print('asked')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "asked", "")
