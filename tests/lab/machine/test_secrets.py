"""A key is in the environment and in the request's header, and nowhere else."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from base64 import b64encode, urlsafe_b64encode
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

import chat_server as chat
from asking import manifest, play
from chat_server import ChatServer
from lab.machine.paths import ROOT
from lab.machine.secrets import HIDDEN, clean_address, redact
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.models.prompts import Prompt
from lab.runs.execution import play_all
from lab.runs.run import Run
from small_notebooks import notebook

PATHS = f"{ROOT}:{ROOT / 'tests' / 'support'}"
CANARY = "canary/0123456789+abcdef"  # not shaped like a key: only its variable tells that it is one
PASSWORD = "pass-word-0123456789"
ENCODED = b64encode(f"user:{PASSWORD}".encode()).decode()
SECRETS = [CANARY, PASSWORD, ENCODED]


@pytest.fixture(autouse=True)
def canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


def found(*places: str | bytes | Path) -> list[str]:
    """The secrets that are in these texts, or in any file under these folders."""
    texts = []
    for place in places:
        if isinstance(place, Path):
            texts += [file.read_bytes() for file in place.rglob("*") if file.is_file()]
        else:
            texts.append(place if isinstance(place, bytes) else place.encode())
    assert any(texts)
    return [secret for secret in SECRETS if any(secret.encode() in text for text in texts)]


def echoes_wrongly(request: chat.Request) -> chat.Response:
    """A 400, which fails the episode and not the run, quoting the header."""
    return chat.status(400, f"bad header {request.headers.get('authorization')}")


def echoes_and_is_busy(request: chat.Request) -> chat.Response:
    return chat.status(500, f"crashed at {request.headers.get('authorization')}")


def answers(request: chat.Request) -> chat.Response:
    return chat.answer({"shelf": 1, "why": "free"})


PLAY = """
import asking, sys, pathlib
folder, engine, address, workers = sys.argv[1:]
with asking.Run(pathlib.Path(folder), asking.manifest(4, engine, address)) as run:
    asking.play_all(run, asking.episodes(engine), int(workers))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behave", "workers"),
    [(chat.echoes_key, 1), (chat.echoes_key, 2), (echoes_wrongly, 2), (echoes_and_is_busy, 1), (answers, 1)],
)
def test_a_key_is_in_no_file_or_output(
    tmp_path: Path, server: ChatServer, behave: chat.Behaviour, workers: int
) -> None:
    server.behave(behave)
    folder, engine = tmp_path / "run", "small?patience=0.3"
    command = [sys.executable, "-c", PLAY, str(folder), engine, server.address, str(workers)]
    paths = os.environ | {"PYTHONPATH": PATHS, "LAB_CACHE": str(tmp_path / "cache.sqlite")}
    told = subprocess.run(command, env=paths, capture_output=True, timeout=60)
    assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"  # it does reach the server
    assert found(tmp_path, told.stdout + told.stderr) == []
    assert (told.returncode != 0) == (behave in (chat.echoes_key, echoes_and_is_busy))  # which answer nothing else
    if behave is chat.echoes_key:
        assert HIDDEN.encode() in told.stderr


@pytest.mark.parametrize("behave", [chat.echoes_key, echoes_wrongly, echoes_and_is_busy])
def test_a_key_is_in_no_traceback_and_in_no_log(
    server: ChatServer, prompt: Prompt, caplog: pytest.LogCaptureFixture, behave: chat.Behaviour
) -> None:
    server.behave(behave)
    with caplog.at_level(logging.DEBUG), pytest.raises(RuntimeError) as caught:
        connect("small?patience=0.3", cache=None).ask(prompt, box=1)
    assert (HIDDEN in str(caught.value)) == (behave is not echoes_and_is_busy)
    # Dask pickles an error's context too, also one that `from None` keeps out of the traceback.
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert found("".join(traceback.format_exception(caught.value)), pickle.dumps(caught.value), caplog.text) == []


def test_a_key_is_in_no_pickle_of_a_used_endpoint(server: ChatServer, prompt: Prompt, cache: AnswerCache) -> None:
    server.behave(answers)
    backbone = connect("small", cache=cache)
    backbone.ask(prompt, box=1)
    assert found(pickle.dumps(backbone), repr(vars(backbone)), cache.path.parent) == []


def test_a_password_in_the_address_works_and_is_kept_nowhere(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch, prompt: Prompt
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address.replace("//", f"//user:{PASSWORD}@"))
    server.behave(answers)
    backbone = connect("small", cache=AnswerCache(tmp_path / "cache.sqlite"))
    assert backbone.address == server.address
    assert backbone.ask(prompt, box=1).value.shelf == 1
    assert server.requests[0].headers["authorization"] == f"Basic {ENCODED}"
    server.behave(echoes_wrongly)
    with Run(tmp_path / "run", manifest(2, "small", backbone.address)) as run:
        results = play_all(run, partial(play, backbone=backbone), show_progress=False)
    # What a server refuses is no failure of the agent: nothing is scored, and the run keeps the reason.
    assert not results and len(run.not_measured) == 2 and all(HIDDEN in why for why in run.not_measured.values())
    assert found(tmp_path, pickle.dumps(backbone)) == []


ASKS = """import logging, pathlib
logging.basicConfig(level=logging.DEBUG)
import asking
with asking.Run(pathlib.Path("run-{name}"), asking.manifest(2, engine, {address!r})) as run:
    print(asking.play_all(run, asking.episodes(engine), 2, "threading"))
model = asking.connect(engine)
print(vars(model), model.ask(asking.ASK, box={box}))"""
ECHOED = 666


@pytest.mark.slow
def test_a_key_is_in_no_notebook_that_was_executed_nor_in_one_that_failed(tmp_path: Path, server: ChatServer) -> None:
    server.behave(lambda request: chat.echoes_key(request) if f"Box {ECHOED}" in request.text else answers(request))
    boxes = {"good": 1, "bad": ECHOED}
    notebooks = [
        notebook(tmp_path / f"{name}.ipynb", ASKS.format(name=name, address=server.address, box=box))
        for name, box in boxes.items()
    ]
    command = [sys.executable, "-m", "lab", "run", *map(str, notebooks), "-p", "engine", "small"]
    paths = os.environ | {"PYTHONPATH": PATHS, "LAB_CACHE": str(tmp_path / "cache.sqlite")}
    told = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], env=paths, capture_output=True, timeout=120, cwd=ROOT
    )
    assert told.returncode == 1
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {CANARY}"}
    executed, failed = tmp_path / "out" / "good.ipynb", tmp_path / "out" / "bad.failed.ipynb"
    assert "Placing(shelf=1" in executed.read_text() and "DEBUG" in executed.read_text()
    assert "EndpointError" in failed.read_text() and HIDDEN in failed.read_text()
    assert HIDDEN in told.stdout.decode() + told.stderr.decode()
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {"episodes.jsonl", "answers.jsonl", "usage.jsonl", "manifest.json", "cache.sqlite"} <= written
    assert found(tmp_path, told.stdout + told.stderr) == []


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key {CANARY}!", f"key {HIDDEN}!"),
        (f"key {CANARY[:14]}…", f"key {HIDDEN}…"),
        (
            f"{quote(CANARY, safe='')} {quote(CANARY, safe='').lower()} {quote_plus(CANARY)}",
            f"{HIDDEN} {HIDDEN} {HIDDEN}",
        ),
        (f"{CANARY.encode().hex()} {json.dumps(CANARY).replace('/', chr(92) + '/')}", f'{HIDDEN} "{HIDDEN}"'),
        ("Bearer abcdefgh12345", HIDDEN),
        ("Basic dXNlcjpwYXNzd29yZA==", HIDDEN),
        ("got sk-proj-abcdefghijklmnop1234", f"got {HIDDEN}"),
        ("http://me:secret@host/v1", f"http://{HIDDEN}@host/v1"),
        ("a task-based sketch of asks, mail a@b.org", "a task-based sketch of asks, mail a@b.org"),
    ],
)
def test_what_is_or_looks_like_a_secret_is_hidden(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize("user", ["", "u", "us", "use"])
def test_a_key_is_hidden_in_base64_whatever_stands_beside_it(user: str) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        text = encode(f"{user}:{CANARY}\n".encode()).decode()
        left = redact(text).replace(HIDDEN, "")
        assert HIDDEN in redact(text) and len(left) <= 12  # the user's name, and what mixes with it


def test_a_short_value_hides_no_words_and_the_longest_secret_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "the")
    monkeypatch.setenv("OTHER_SECRET", f"{CANARY}-longer")
    assert redact(f"the {CANARY}-longer") == f"the {HIDDEN}"


@pytest.mark.parametrize(
    ("address", "clean"),
    [
        ("http://user:pass@host:8000/v1/", "http://host:8000/v1"),
        ("https://host/v1?api-version=1&key=abc", "https://host/v1"),
        ("http://p@ss:w@rd@host", "http://host"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
    ],
)
def test_an_address_is_cleaned_of_all_but_where_the_server_is(address: str, clean: str) -> None:
    assert clean_address(address) == clean
