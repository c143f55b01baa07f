"""What the tests share: no servers and keys of the user, a prompt with a rule, a server, a cache."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from asking import ASK
from chat_server import ChatServer
from lab.models import servers
from lab.models.cache import AnswerCache
from lab.models.prompts import Prompt

# A busy machine is no fault of the code, so no example has a deadline; in CI the same commit has the same examples.
settings.register_profile("suite", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("suite")

# A shell that starts the tests in the background has Ctrl-C ignored, and what ignores it hands that down: the
# processes that the tests interrupt would never notice.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the user's keys, address, prices, runs or cache, or goes through a proxy."""
    keys = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "SERPER_API_KEY")
    for name in (*keys, "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "default-runs"))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "default-cache" / "answers.sqlite"))


@pytest.fixture
def prompt() -> Prompt:
    """A prompt with two fields and a rule: where a box is put (see tests/support/asking.py)."""
    return ASK


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A server that OPENAI_BASE_URL names, and of which nothing is known: one before it may have had its port."""
    monkeypatch.setattr(servers, "_servers", {})
    with ChatServer() as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.address)
        yield chat


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[AnswerCache]:
    """An empty cache."""
    answers = AnswerCache(tmp_path / "cache" / "answers.sqlite")
    yield answers
    answers.close()


@pytest.fixture
def seeded() -> Random:
    """Randomness that is the same in every run of the test."""
    return Random(20260101)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Where no sandbox holds, as on an older kernel, a test that runs a program is skipped with the reason."""
    from lab.sandbox import SandboxUnavailable

    try:
        return (yield)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
