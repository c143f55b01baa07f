"""No hostile program gets out of a sandbox, each ends within its limit, and an honest one runs after it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from hostile_programs import ATTEMPTS, BOMBS, CALLS, GROUPS, OF_LANDLOCK, OTHER_CALLS, PRELUDE, Hostile
from lab.machine.paths import ROOT
from lab.sandbox import Limits, Result, confinement, refusal, run_untrusted
from lab.sandbox.confinement import ARCHITECTURES
from lab.sandbox.program import MAIN

pytestmark = pytest.mark.skipif(platform.machine() not in ARCHITECTURES, reason="no system call table for this machine")

SLACK_S = 3.0  # other tests may keep the processors busy
# A number of open files by which this process's programs are known among all processes of the machine.
LIMITS = Limits(memory_mb=256, open_files=64 + os.getpid() % 900)
SLEEPER = [sys.executable, "-I", "-S", "-c", "import time; print(1, flush=True); time.sleep(600)"]


@dataclass
class Host:
    """What there is to reach from a sandbox, and what it is like before any program runs."""

    folder: Path
    secret: str
    facts: dict[str, Any]
    listeners: list[socket.socket]
    victim: subprocess.Popen[bytes]
    signals: list[int] = field(default_factory=list)
    before: Any = None

    def state(self) -> Any:
        """All that a program must not change."""
        files = {
            str(path): (path.lstat(), path.read_bytes() if path.is_file() else sorted(os.listdir(path)))
            for path in [self.folder, *sorted(self.folder.rglob("*"))]
            if path.is_dir() or path.is_file()
        }
        states = {
            path: (status.st_mode, status.st_uid, status.st_mtime_ns, status.st_nlink, content)
            for path, (status, content) in files.items()
        }
        attributes = {path: os.listxattr(path) for path in states}
        return states, attributes, self._victim(), resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(0, 0)

    def _victim(self) -> Any:
        assert self.victim.poll() is None, "another process was killed"
        process = psutil.Process(self.victim.pid)
        limits = resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE)
        return process.nice(), process.cpu_affinity(), limits, os.sched_getscheduler(self.victim.pid)

    def reached(self) -> list[str]:
        """The listeners that heard something."""
        heard = []
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                listener.accept() if listener.type == socket.SOCK_STREAM else listener.recv(100)
                heard.append(str(listener))
        return heard


@contextlib.contextmanager
def a_host() -> Iterator[Host]:
    """Files with a secret, listeners, and a process of the same user, on this machine."""
    secret = secrets.token_hex(16)
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="host-")))
        home = Path.home() if os.access(Path.home(), os.W_OK) else folder
        in_home = opened.enter_context(tempfile.NamedTemporaryFile("w", dir=home, prefix=".canary-"))
        in_home.write(secret)
        in_home.flush()
        (folder / "canary").write_text(secret)
        (folder / "tools").mkdir()
        (folder / "tools" / "flights.py").write_text("def search(): return ['a flight']")
        (folder / "tools" / "leads_out").symlink_to(folder / "canary")
        with contextlib.suppress(OSError):  # a file system may know none
            os.setxattr(folder / "canary", "user.secret", secret.encode())
        held = opened.enter_context(open(folder / "canary", "rb"))
        os.set_inheritable(held.fileno(), True)
        listeners, addresses = _listeners(folder, secret, opened)
        victim = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE, cwd=folder, env={"SECRET": secret})
        assert victim.stdout and victim.stdout.readline()
        # The latest is called first: kill, then wait and close the pipe.
        opened.enter_context(victim)
        opened.callback(victim.kill)
        facts = {
            "canary": str(folder / "canary"),
            "home file": in_home.name,
            "project file": str(ROOT / "lab" / "machine" / "paths.py"),
            "tools": str(folder / "tools"),
            "leads out": str(folder / "tools" / "leads_out"),
            "large trees": ["/usr", str(ROOT)],
            "beside": str(folder / "beside"),
            "disk": "/dev/" + (next(iter(os.listdir("/sys/block")), "sda") if Path("/sys/block").is_dir() else "sda"),
            "open file": held.fileno(),
            # Debian's own Python has no such folder in its library.
            "packages": sorted(
                folder
                for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("stdlib") + "/site-packages"}
                if os.path.isdir(folder)
            ),
            "parent": os.getpid(),
            "group": os.getpgrp(),
            "victim": victim.pid,
            "cpu": min(os.sched_getaffinity(0)),
            "calls": _calls(),
            **addresses,
        }
        yield Host(folder, secret, facts, listeners, victim)


def _calls() -> dict[str, int]:
    column = list(ARCHITECTURES).index(platform.machine())
    entries = (entry.split("=") for entry in CALLS.split())
    return {name: int(numbers.split(",")[column]) for name, numbers in entries if numbers.split(",")[column] != "-"}


def _listeners(folder: Path, secret: str, opened: contextlib.ExitStack) -> tuple[list[socket.socket], dict[str, Any]]:
    addresses: dict[str, Any] = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
        "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0canary-{secret[:8]}"),
        "abstract datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0datagram-{secret[:8]}"),
    }
    listeners, facts = [], {}
    for name, (family, kind, address) in addresses.items():
        listener = opened.enter_context(socket.socket(family, kind))
        listener.bind(address)
        listener.setblocking(False)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listeners.append(listener)
        facts[name] = listener.getsockname()[1] if family == socket.AF_INET else address.lstrip("\0")
    return listeners, facts


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    if reason := refusal():
        pytest.skip(reason)
    with a_host() as made:
        numbers = [signal.SIGUSR1, signal.SIGHUP, signal.SIGXCPU]
        old = {number: signal.signal(number, lambda number, _: made.signals.append(number)) for number in numbers}
        made.before = made.state()
        yield made
        for number, handler in old.items():
            signal.signal(number, handler)


def hostile(program: Hostile, host: Host, timeout: float) -> Result:
    return run_untrusted(source(program, host), {"tools": host.folder / "tools"}, timeout, LIMITS)


def source(program: Hostile, host: Host) -> str:
    return PRELUDE.replace("{facts!r}", repr(host.facts)) + program.code


def leftovers() -> list[str]:
    """Command lines of programs of this process that still run."""
    mark = f"RLIMIT_NOFILE={LIMITS.open_files}".encode()
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (command := (process / "cmdline").read_bytes()).split(b"\0"):
                commands.append(f"{process.name}: {command[:200]!r}")
    return commands


def nothing_happened(host: Host, result: Result) -> None:
    """Seen from outside the sandbox."""
    printed = result.stdout + result.stderr
    assert host.secret not in printed and "BROKE OUT" not in printed, printed[:2000]
    assert host.reached() == []
    assert host.signals == []
    assert host.state() == host.before
    assert leftovers() == []
    assert not [path for path in Path(tempfile.gettempdir()).glob("untrusted-*") if _of_ours(path)]


def _of_ours(path: Path) -> bool:
    """Folders of other processes come and go; ours hold a main.py that names our folder of the host."""
    try:
        return "host-" in (path / "main.py").read_text() and str(os.getpid()) in (path / "main.py").read_text()
    except OSError:
        return False


def an_honest_program_runs() -> None:
    code = "from tools.flights import search; print(*search())"
    result = run_untrusted(code, {"tools/flights.py": "def search(): return [42]"})
    assert result.ok and result.stdout == "42\n", result


@pytest.mark.slow
@pytest.mark.parametrize("program", ATTEMPTS, ids=lambda program: program.what)
def test_a_program_is_refused_when_it(program: Hostile, host: Host) -> None:
    result = hostile(program, host, timeout=10)
    nothing_happened(host, result)
    assert "HELD" in result.stdout and result.ended == "exit", result


def test_signals_that_a_program_queues_leave_enough_for_the_other_processes_of_its_user(host: Host) -> None:
    def queued() -> int:
        return int(re.search(r"^SigQ:\s*(\d+)/", Path("/proc/self/status").read_text(), re.MULTILINE)[1])  # type: ignore[index]

    (program,) = (program for program in GROUPS["SHARED"] if program.what == "queues signals to itself")
    with ThreadPoolExecutor(1) as pool:
        running, most = pool.submit(hostile, program, host, 10), 0
        while not running.done():
            most = max(most, queued())
            time.sleep(0.02)
    assert running.result().ended == "exit" and most < 1000


@pytest.mark.slow
def test_a_program_cannot_take_back_that_it_has_begun() -> None:
    """It may read its own pipe through /proc; while this process is busy, it would be first."""
    code = """
import os
try:
    os.read(os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK), 1)
except OSError:
    print("HELD")
"""
    busy = True

    def keep_busy() -> None:
        while busy:
            sum(range(3000))

    with ThreadPoolExecutor(6) as pool:
        for _ in range(6):
            pool.submit(keep_busy)
        try:
            results = [run_untrusted(code, {}) for _ in range(3)]
        finally:
            busy = False
    assert [(result.ended, result.stdout) for result in results] == [("exit", "HELD\n")] * 3


def test_an_honest_program_runs_after_all_these() -> None:
    an_honest_program_runs()


@pytest.mark.slow
@pytest.mark.parametrize("program", BOMBS, ids=lambda program: program.what)
def test_a_program_is_bounded_when_it(program: Hostile, host: Host) -> None:
    timeout = 0.7 if program.ends == ("timeout",) else 10
    memory = psutil.Process().memory_info().rss
    result = hostile(program, host, timeout)
    nothing_happened(host, result)
    assert result.ended in program.ends and result.seconds < timeout + SLACK_S, result
    assert result.ended != "exit" or "HELD" in result.stdout or not result.ok, result
    assert len(result.stdout) + len(result.stderr) <= 2 * LIMITS.output_bytes
    assert psutil.Process().memory_info().rss - memory < 50e6
    an_honest_program_runs()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has a second set of system calls")
@pytest.mark.parametrize("program", OTHER_CALLS, ids=lambda program: program.what)
def test_a_program_is_refused_or_ended_when_it(program: Hostile, host: Host) -> None:
    result = hostile(program, host, timeout=10)
    nothing_happened(host, result)
    assert result.ended in program.ends and ("HELD" in result.stdout or result.ended == "killed"), result


@pytest.mark.slow
@pytest.mark.parametrize("program", OF_LANDLOCK, ids=lambda program: program.what)
def test_under_the_first_kernel_with_landlock_a_program_is_still_refused_when_it(
    program: Hostile, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux 5.13 knows no rights to empty files, no ports, no signals and no sockets: there the filter stands alone."""
    monkeypatch.setattr(confinement, "version", lambda: 1)
    result = hostile(program, host, timeout=10)
    nothing_happened(host, result)
    assert "HELD" in result.stdout and result.ended == "exit", result


TAME = [program for program in ATTEMPTS if program.tame]


@pytest.mark.slow
@pytest.mark.parametrize("program", TAME, ids=lambda program: program.what)
def test_without_a_sandbox_the_same_program_gets_through_when_it(program: Hostile) -> None:
    """So that a test above does not pass because its program is broken."""
    usr1: Callable[..., Any] | int | None = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with a_host() as host, tempfile.TemporaryDirectory() as folder:
            Path(folder, MAIN).write_text(source(program, host))
            Path(folder, "tools").symlink_to(host.folder / "tools")
            done = subprocess.run([sys.executable, "-S", MAIN], cwd=folder, capture_output=True, text=True, timeout=60)
    finally:
        signal.signal(signal.SIGUSR1, usr1)
    assert "BROKE OUT" in done.stdout, done


def test_the_suite_is_as_large_as_promised() -> None:
    assert len({program.what for program in [*ATTEMPTS, *BOMBS]}) == len([*ATTEMPTS, *BOMBS]) >= 100
