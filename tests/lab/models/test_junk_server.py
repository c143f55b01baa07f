"""Junk from a server costs the episode that met it and no other, and is never accepted; SLOW=1 sends all kinds."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import openai
import pytest

import chat_server as chat
import junk_server
from chat_server import ChatServer
from junk_server import GOOD, Junk, JunkServer, drips, kinds, tried
from lab.models import client
from lab.models.client import Client
from lab.models.connect import connect
from lab.models.prompts import Prompt
from lab.runs.run import RETRY_FAILED

SOME = (
    "reset at once", "dripping headers", "bad gzip", "content-length too long", "403 for this request alone",
    "body: invalid UTF-8 in the text", "body: a number of 5,000 digits", "body: finish_reason error",
    "a web page as text/html", "text: cut after a number", "text: cut, as Python writes it", "a refusal",
    "usage: negative", "usage: NaN", "usage: nested", "a redirect to no address",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "junk",
    [pytest.param(junk, id=junk.name, marks=[] if junk.name in SOME else [pytest.mark.campaign]) for junk in kinds()],
)
def test_junk_costs_its_own_episode_alone_and_that_one_until_the_server_is_mended(junk: Junk, tmp_path: Path) -> None:
    assert tried(junk, tmp_path).harm == {}


def test_there_are_enough_kinds_of_junk_and_those_tested_here_are_among_them() -> None:
    names = [junk.name for junk in kinds()]
    assert len(set(names)) == len(names) >= 90 and set(SOME) <= set(names)


def test_a_failed_episode_is_played_again_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (junk,) = (junk for junk in kinds() if junk.name == "text: prose")
    with JunkServer(junk) as server:
        for name, value in {"OPENAI_BASE_URL": server.address, "LAB_RUNS": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        verdict = junk_server.Verdict(junk)
        failed = [junk_server._played(verdict).outcomes().failed]
        server.junk = None
        failed.append(junk_server._played(verdict).outcomes().failed)
        monkeypatch.setenv(RETRY_FAILED, "1")
        failed.append(junk_server._played(verdict).outcomes().failed)
    assert (failed, verdict.harm) == ([1, 1, 0], {})


@pytest.mark.parametrize("at_once", [0, len(GOOD) - 60])  # headers, or a body, a byte at a time
def test_a_try_ends_at_its_timeout_however_slowly_the_server_sends_and_leaves_nothing_open(at_once: int) -> None:
    with JunkServer(Junk("dripping", "broken", drips(GOOD, at_once))) as server:
        client = Client(base_url=server.address, api_key="none")

        def ask(box: int) -> bytes:
            messages = [{"role": "user", "content": f"Box {box}"}]
            return client.body(
                lambda sdk: sdk.chat.completions.with_streaming_response.create(model="small", messages=messages), 0.5
            )

        assert b"shelf" in ask(box=1)
        before = open_files(), threading.active_count()
        began = time.monotonic()
        for _ in range(2):
            # The SDK's where a busy machine took as long to connect.
            with pytest.raises((TimeoutError, openai.APITimeoutError)):
                ask(box=0)
        assert 1.0 <= time.monotonic() - began < 5.0  # all that is sent takes three seconds and more, twice
        until = time.monotonic() + 5
        while (open_files(), threading.active_count()) > before and time.monotonic() < until:
            time.sleep(0.05)  # the server notices that nobody listens
        assert (open_files(), threading.active_count()) <= before


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_forked_child_asks_on_a_loop_of_its_own(server: ChatServer, prompt: Prompt) -> None:
    server.behave(lambda request: chat.answer({"shelf": 3, "why": "x"}))
    model = connect("small", cache=None)
    assert model.ask(prompt, box=1).value.shelf == 3
    child = os.fork()
    if not child:
        os._exit(0 if model.ask(prompt, box=2).value.shelf == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_body_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.models.client.MOST_BYTES", 10_000)
    monkeypatch.setattr(client, "LONGEST_WAIT", 0.05)
    (junk,) = (junk for junk in kinds() if junk.name == "an endless body")
    assert tried(junk, tmp_path).harm == {}
