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

from lab import sandbox
from lab.machine.faults import BackendDied
from lab.sandbox import BACKENDS, UNSAFE, Limits, SandboxFailed, on_bubblewrap, on_sandlock, run_untrusted, watching
from lab.sandbox.interpreter import interpreter
from lab.sandbox.program import WORK, Job

MODULES = {"sandlock": on_sandlock, "bubblewrap": on_bubblewrap}
SLEEPER = "import time\nopen('running', 'w').close()\nprint('begun', flush=True)\ntime.sleep(60)"


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    if reason := sandbox.verdict(request.param):
        pytest.skip(f"{request.param} is not used here: {reason}")
    return request.param


@pytest.fixture
def started(backend: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, Any]]:
    """The jobs that the backend starts, each with its child, as they come."""
    seen: list[tuple[Job, Any]] = []

    def start(job: Job) -> Any:
        seen.append((job, MODULES[backend].start(job)))
        return seen[-1][1]

    monkeypatch.setitem(BACKENDS, backend, start)
    return seen


def runs(job: Job, child: Any) -> bool:
    """Whether the sleeper has begun; bubblewrap's working folder is no folder of the host."""
    return (job.folder / "running").exists() or Path(f"/proc/{child.pid}/root{WORK}/running").exists()


def while_it_runs(started: list[tuple[Job, Any]], act: Callable[[Job, Any], object]) -> threading.Thread:
    """Act from another thread as soon as the sleeper runs."""

    def wait_and_act() -> None:
        end = time.monotonic() + 30
        while not (started and runs(*started[0])):
            assert time.monotonic() < end
            time.sleep(0.01)
        act(*started[0])

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_a_folder_removed_from_outside_while_its_program_runs(backend: str, started: list[tuple[Job, Any]]) -> None:
    """In bubblewrap nothing of it is on the host, so the program does not notice."""
    thread = while_it_runs(started, lambda job, _: shutil.rmtree(job.folder))
    before = time.monotonic()
    if backend == "bubblewrap":
        result = run_untrusted(SLEEPER.replace("60", "0.3"), {}, timeout=60, backend=backend)
        assert result.ok and result.stdout == "begun\n"
    else:
        with pytest.raises(SandboxFailed, match="working folder .* was removed"):
            run_untrusted(SLEEPER, {}, timeout=60, backend=backend)
    thread.join()
    assert time.monotonic() - before < 30, "the program was not ended"
    assert run_untrusted("print(1)", {}, backend=backend).stdout == "1\n"


@pytest.mark.parametrize("backend", ["sandlock"], indirect=True)
def test_a_folder_replaced_from_outside_by_one_of_the_same_name(backend: str, started: list[tuple[Job, Any]]) -> None:
    def replace(job: Job, _child: Any) -> None:
        job.folder.rename(job.folder.with_name(job.folder.name + "-away"))
        job.folder.mkdir()

    thread = while_it_runs(started, replace)
    with pytest.raises(SandboxFailed, match="was removed"):
        run_untrusted(SLEEPER, {}, timeout=60, backend=backend)
    thread.join()
    job, _ = started[0]
    shutil.rmtree(job.folder.with_name(job.folder.name + "-away"))


def test_a_folder_removed_before_its_program_starts(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(job: Job) -> Any:
        shutil.rmtree(job.folder)
        return MODULES[backend].start(job)

    monkeypatch.setitem(BACKENDS, backend, start)
    with pytest.raises(SandboxFailed):
        run_untrusted("print(1)", {"tools": Path(__file__).parent}, backend=backend)


def test_a_folder_removed_while_it_is_filled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(OSError, match="gone"):  # of the machine as it is
        run_untrusted("print(1)", {}, backend=backend)
    (tmp_path / "gone").mkdir()
    with pytest.raises(SandboxFailed, match="cannot be filled"):
        run_untrusted("print(1)", {"x" * 300: "no file system has such long names"}, backend=backend)


def test_a_program_or_its_supervisor_killed_from_outside(backend: str, started: list[tuple[Job, Any]]) -> None:
    """sandlock's supervisor is a thread of this process, so there the program is killed; bubblewrap is a process."""
    thread = while_it_runs(started, lambda _, child: os.kill(getattr(child, "wrapper", child).pid, signal.SIGKILL))
    with pytest.raises(SandboxFailed, match="killed"):
        run_untrusted(SLEEPER, {}, timeout=60, backend=backend)
    thread.join()
    assert not list(Path(tempfile.gettempdir()).glob(started[0][0].folder.name))


def test_a_program_killed_from_outside_as_for_want_of_memory(backend: str, started: list[tuple[Job, Any]]) -> None:
    thread = while_it_runs(started, lambda _, child: os.kill(child.pid, signal.SIGKILL))
    with pytest.raises(SandboxFailed, match="killed from outside"):
        run_untrusted(SLEEPER, {}, timeout=60, backend=backend)
    thread.join()


def test_a_program_or_its_supervisor_stopped_from_outside_still_ends_at_its_deadline(
    backend: str, started: list[tuple[Job, Any]]
) -> None:
    """sandlock's supervisor is a thread of this process, so there the program is stopped."""
    thread = while_it_runs(started, lambda _, child: os.kill(getattr(child, "wrapper", child).pid, signal.SIGSTOP))
    result = run_untrusted(SLEEPER, {}, timeout=2, backend=backend)
    thread.join()
    assert result.ended == "timeout" and result.seconds < 2 + 1, result


@pytest.mark.parametrize("backend", ["bubblewrap"], indirect=True)
def test_a_supervisor_stopped_from_outside_while_its_program_ends(
    backend: str, started: list[tuple[Job, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_bubblewrap, "STARTING_S", 0.5)
    thread = while_it_runs(started, lambda _, child: os.kill(child.wrapper.pid, signal.SIGSTOP))
    with pytest.raises(SandboxFailed, match="did not end"):
        run_untrusted(SLEEPER.replace("60", "0.5"), {}, timeout=60, backend=backend)
    thread.join()


def test_an_interpreter_that_does_not_start(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = "import sys; sys.exit('no memory for the interpreter')"
    monkeypatch.setattr(MODULES[backend], "command", lambda job: interpreter().command("-c", failing))
    with pytest.raises(SandboxFailed, match="did not start and ended with status 1: no memory"):
        run_untrusted("print(1)", {}, backend=backend)


def test_an_interpreter_that_hangs_before_it_has_started(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STARTING_S", 0.5)
    monkeypatch.setattr(MODULES[backend], "command", lambda job: interpreter().command("-c", "while True: pass"))
    with pytest.raises(SandboxFailed, match=r"did not start within 0\.5 s"):
        run_untrusted("print(1)", {}, timeout=60, backend=backend)


def test_a_sandbox_that_does_not_start_for_now(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It held when it was examined, so the run goes on."""
    monkeypatch.setattr(MODULES[backend], "command", lambda job: ["/no/such/program"])
    with pytest.raises(SandboxFailed):
        run_untrusted("print(1)", {}, backend=backend)


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
assert resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)) is None
if 0 in (libc.setrlimit(0, two), libc.prlimit(0, 0, two, None), libc.syscall(160, 0, two), libc.syscall(164, 0, two)):
    while True: pass
"""


@pytest.mark.parametrize(
    "code",
    [
        "import shutil, os\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nassert os.listdir('.') == []",
        "import os\nos.remove('main.py')\nos.rename(os.getcwd(), os.getcwd() + '-away')",
        "import os\nos.chdir('..')\nos.rmdir('untrusted')",
        "import os\nos.kill(os.getpid(), 9)",
        "import signal\nsignal.raise_signal(9)",
        "import ctypes, os\nctypes.CDLL(None).tgkill(os.getpid(), os.getpid(), 9)",
        "import ctypes, os\nctypes.CDLL(None).syscall({'x86_64': 200}.get(os.uname().machine, 130), os.getpid(), 9)",
        TIMER,
        CPU,
        "import os\nos._exit(137)",
        "import os\nos._exit(247)",
        "import os\nos.close(1)\nos.close(2)\nos._exit(3)",
        "import os\nos.write(1, bytes([2, 2]))\nos._exit(3)",
        "x = (",
        "import os\nos.execv('/bin/true', ['true'])",
    ],
    ids=lambda code: code[:50],
)
def test_a_program_cannot_look_like_a_fault_of_the_machine(code: str, backend: str) -> None:
    result = run_untrusted(code, {}, backend=backend)
    assert result.ended in ("exit", "killed") and result.seconds < 5, result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGSYS])
def test_a_program_that_ends_itself_by_a_signal_gives_a_result(number: int, backend: str) -> None:
    result = run_untrusted(
        f"import os\nprint('here', flush=True)\nos.kill(os.getpid(), {number:d})", {}, backend=backend
    )
    assert result.stdout == "here\n"
    if backend == "sandlock":  # in bubblewrap it is the first process, which signals without a handler do not reach
        shown = signal.SIGSYS if number == signal.SIGKILL else number
        assert (result.ended, result.returncode) == ("killed", -shown), result


def test_what_says_that_a_program_began_is_no_output_of_it(backend: str) -> None:
    code = "import os\nos.write(1, bytes([2]) + b'x' * 4999)"
    result = run_untrusted(code, {}, limits=Limits(output_bytes=5000), backend=backend)
    assert result.ok and result.stdout == "\x02" + "x" * 4999


def test_processor_time_that_the_kernel_ends_is_a_timeout_though_it_comes_as_a_sigkill(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching._Watch, "_passed", lambda *_: None)  # as on a machine too busy to look
    result = run_untrusted("while True: pass", {}, timeout=30, limits=Limits(cpu_s=1), backend=backend)
    assert result.ended == "timeout", result


@pytest.mark.filterwarnings("ignore:UNSAFE")
@pytest.mark.parametrize(
    "code", ["import os, shutil\nshutil.rmtree(os.getcwd())", "import os\nos.kill(os.getpid(), 9)"]
)
def test_without_isolation_a_program_can_do_both_itself_so_they_are_results(code: str) -> None:
    assert run_untrusted(code, {}, backend=UNSAFE).ended in ("exit", "killed")


def test_the_harness_plays_such_an_episode_again() -> None:
    from lab.runs.playing import OF_THE_MACHINE

    assert issubclass(SandboxFailed, BackendDied) and issubclass(SandboxFailed, OF_THE_MACHINE)
