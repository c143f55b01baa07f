"""A fault of the machine raises SandboxFailed; whatever a program does itself, to look like one or not, is a result."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.sandbox import Limits, SandboxFailed, SandboxUnavailable, first_steps, refusal, run_untrusted, watching
from lab.sandbox.program import Job, interpreter
from lab.sandbox.selftest import examine

SLEEPER = "import time\nopen('running', 'w').close()\nprint('begun', flush=True)\ntime.sleep(60)"


@pytest.fixture(autouse=True)
def examined() -> None:
    """The self-test, which starts a program of its own, ran before any fault is brought about; it is run once."""
    if reason := refusal():
        pytest.skip(reason)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, int]]:
    """The jobs that are started, each with its process, as they come."""
    jobs: list[tuple[Job, int]] = []

    def start(job: Job) -> Any:
        process, began = first_steps.start(job)
        jobs.append((job, process.pid))
        return process, began

    monkeypatch.setattr(watching, "start", start)
    return jobs


def while_it_runs(started: list[tuple[Job, int]], act: Callable[[Job, int], object]) -> threading.Thread:
    """Act from another thread as soon as the sleeper runs."""

    def wait_and_act() -> None:
        end = time.monotonic() + 30
        while not (started and (started[0][0].folder / "running").exists()):
            assert time.monotonic() < end
            time.sleep(0.01)
        act(*started[0])

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def replace(job: Job, _process: int) -> None:
    job.folder.rename(job.folder.with_name(job.folder.name + "-away"))
    job.folder.mkdir()


@pytest.mark.parametrize("act", [lambda job, _: shutil.rmtree(job.folder), replace], ids=["removed", "replaced"])
def test_a_folder_removed_or_replaced_while_its_program_runs(
    started: list[tuple[Job, int]], act: Callable[[Job, int], object]
) -> None:
    thread = while_it_runs(started, act)
    before = time.monotonic()
    with pytest.raises(SandboxFailed, match="working folder .* was removed"):
        run_untrusted(SLEEPER, {}, timeout=60)
    thread.join()
    assert time.monotonic() - before < 30, "the program was not ended"
    assert run_untrusted("print(1)", {}).stdout == "1\n"
    shutil.rmtree(started[0][0].folder.with_name(started[0][0].folder.name + "-away"), ignore_errors=True)


def test_a_folder_removed_before_its_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(job: Job) -> Any:
        shutil.rmtree(job.folder)
        return first_steps.start(job)

    monkeypatch.setattr(watching, "start", start)
    with pytest.raises(SandboxFailed):
        run_untrusted("print(1)", {"tools": Path(__file__).parent})


def test_a_folder_removed_while_it_is_filled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(OSError, match="gone"):  # of the machine as it is
        run_untrusted("print(1)", {})
    (tmp_path / "gone").mkdir()
    with pytest.raises(SandboxFailed, match="cannot be filled"):
        run_untrusted("print(1)", {"x" * 300: "no file system has such long names"})


def test_a_program_killed_from_outside_as_for_want_of_memory(started: list[tuple[Job, int]]) -> None:
    thread = while_it_runs(started, lambda _, process: os.kill(process, signal.SIGKILL))
    with pytest.raises(SandboxFailed, match="killed from outside"):
        run_untrusted(SLEEPER, {}, timeout=60)
    thread.join()
    assert not started[0][0].folder.exists()


def test_a_program_stopped_from_outside_still_ends_at_its_deadline(started: list[tuple[Job, int]]) -> None:
    thread = while_it_runs(started, lambda _, process: os.kill(process, signal.SIGSTOP))
    result = run_untrusted(SLEEPER, {}, timeout=2)
    thread.join()
    assert result.ended == "timeout" and result.seconds < 2 + 1, result


def test_an_interpreter_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = "import sys; sys.exit('no memory for the interpreter')"
    monkeypatch.setattr(first_steps, "command", lambda job, rules: interpreter().command("-c", failing))
    with pytest.raises(SandboxFailed, match="did not start and ended with status 1: no memory"):
        run_untrusted("print(1)", {})
    monkeypatch.setattr(first_steps, "command", lambda job, rules: ["/no/such/program"])
    with pytest.raises(SandboxFailed):  # it held when it was examined, so the run goes on
        run_untrusted("print(1)", {})
    with pytest.raises(SandboxUnavailable, match="did not start a program"):
        examine()


@pytest.mark.slow
def test_an_interpreter_that_hangs_before_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STARTING_S", 0.5)
    monkeypatch.setattr(first_steps, "command", lambda job, rules: interpreter().command("-c", "while True: pass"))
    with pytest.raises(SandboxFailed, match=r"did not start within 0\.5 s"):
        run_untrusted("print(1)", {}, timeout=60)


TIMER = """
import ctypes, time
libc = ctypes.CDLL(None)
class Event(ctypes.Structure):
    _fields_ = [("to", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("", ctypes.c_char * 64)]
timer = ctypes.c_void_p()
if libc.timer_create(1, ctypes.byref(Event(None, 9, 0, b"")), ctypes.byref(timer)) == 0:
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 100_000_000), None)
    time.sleep(5)
"""
CPU = """
import ctypes, resource
assert resource.getrlimit(resource.RLIMIT_CPU)[0] > 0
libc, two = ctypes.CDLL(None), (ctypes.c_ulong * 2)(1, 1)
if 0 in (libc.setrlimit(0, two), libc.prlimit(0, 0, two, None), libc.syscall(160, 0, two), libc.syscall(164, 0, two)):
    while True: pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import shutil, os\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nassert os.listdir('.') == []",
        "import os\nos.remove('main.py')\nos.rename(os.getcwd(), os.getcwd() + '-away')",
        "import os\nos.chdir('..')\nos.rmdir('untrusted')", "import os\nos.kill(os.getpid(), 9)",
        "import signal\nsignal.raise_signal(9)",
        "import ctypes, os\nctypes.CDLL(None).tgkill(os.getpid(), os.getpid(), 9)",
        "import ctypes, os\nctypes.CDLL(None).syscall({'x86_64': 200}.get(os.uname().machine, 130), os.getpid(), 9)",
        TIMER, CPU, "import os\nos._exit(137)", "import os\nos._exit(247)",
        "import os\nos.close(1)\nos.close(2)\nos._exit(3)", "import os\nos.write(1, bytes([2, 2]))\nos._exit(3)",
        "x = (", "import os\nos.execv('/bin/true', ['true'])",
    ],
    ids=lambda code: code[:50],
)  # fmt: skip
def test_a_program_cannot_look_like_a_fault_of_the_machine(code: str) -> None:
    result = run_untrusted(code, {})
    assert result.ended in ("exit", "killed") and result.seconds < 5, result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGSYS])
def test_a_program_that_ends_itself_by_a_signal_gives_a_result(number: int) -> None:
    result = run_untrusted(f"import os\nprint('here', flush=True)\nos.kill(os.getpid(), {number:d})", {})
    assert result.stdout == "here\n"
    shown = signal.SIGSYS if number == signal.SIGKILL else number
    assert (result.ended, result.returncode) == ("killed", -shown), result


@pytest.mark.slow
@pytest.mark.parametrize("ignores", ["", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
def test_processor_time_beyond_the_limit_is_a_timeout(monkeypatch: pytest.MonkeyPatch, ignores: str) -> None:
    if not ignores:  # as on a machine too busy to look: the kernel ends it
        monkeypatch.setattr(watching, "process_statistics", lambda _pid: (0.0, 1))
    result = run_untrusted(f"{ignores}while True: pass", {}, timeout=30, limits=Limits(cpu_s=1))
    assert result.ended == "timeout" and result.seconds < 20, result
