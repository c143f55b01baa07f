"""What a program in a sandbox may do, how its end shows, and that nothing runs where no sandbox holds."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab import sandbox
from lab.machine.faults import Unavailable
from lab.machine.paths import ROOT
from lab.machine.scratch import MARK
from lab.sandbox import Limits, Result, SandboxUnavailable, checks, confinement, first_steps, run_untrusted, selftest
from lab.sandbox.selftest import examine

LIMITS = Limits(memory_mb=256)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder of tools as a domain gives it: a module that reads its own data."""
    folder = tmp_path / "the tools"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "flights.csv").write_text("Rome,120\nParis,80\n", encoding="utf-8")
    (folder / "Flights.py").write_text(
        """
import csv
from pathlib import Path

class Flights:
    def run(self):
        with open(Path(__file__).parent / "data" / "flights.csv", newline="") as file:
            return list(csv.reader(file))
"""
    )
    return folder


MAIN = """
import __main__, json, os, sys, tempfile
def here(): pass
assert __name__ == "__main__" and __main__.here is here and len(sys.argv) == 1
os.makedirs("out")
with open("out/x.json", "w") as file: json.dump([1], file)
with tempfile.TemporaryFile("w+") as file: file.write("x" * 1000)
print(open("out/x.json").read())
"""
LIBRARY = """
import asyncio, collections, csv, dataclasses, datetime, decimal, fractions, hashlib, heapq, itertools, json, math
import random, re, sqlite3, statistics, string, threading, typing, unicodedata, uuid, zlib, zoneinfo
async def work(): return await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(3)))
print(asyncio.run(work()), sqlite3.connect(":memory:").execute("select 1 + 1").fetchone()[0])
threads = [threading.Thread(target=print, args=("from a thread",)) for _ in range(3)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(asyncio.run(asyncio.to_thread(lambda: hashlib.sha256(b"").hexdigest()[:4])))
"""
DROPPED = "import importlib\nimportlib.invalidate_caches()\nimport wave, tomllib, zoneinfo\nprint(wave.__name__)"
MEMORY = "try: x = bytearray(300 * 2**20)\nexcept MemoryError: print('too much')\ny = bytearray(100 * 2**20)"


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from tools.Flights import Flights\nprint(min(Flights().run(), key=lambda row: int(row[1])))",
         "['Paris', '80']\n"),
        (MAIN, "[1]\n"),
        (LIBRARY, "[0, 1, 2] 2\n" + "from a thread\n" * 3 + "e3b0\n"),
        (DROPPED, "wave\n"),
        (MEMORY, "too much\n"),
        ("import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb\\r\\n\\xe2\\x82')", "a\ufffd\ufffdb\r\n\ufffd"),
        ("import time\nprint(time.tzname, time.localtime(0).tm_hour)", "('UTC', 'UTC') 0\n"),
    ],
    ids=["tools", "main module", "library", "modules found again", "memory", "no text", "time zone"],
)  # fmt: skip
def test_what_an_honest_program_prints_comes_back(tools: Path, code: str, printed: str) -> None:
    result = run_untrusted(code, {"tools": tools}, limits=LIMITS)
    assert result.ok and result.stdout == printed and result.stderr == "", result
    assert sorted(path.name for path in tools.rglob("*")) == ["Flights.py", "data", "flights.csv"]


def test_files_come_as_texts_single_files_and_folders_at_any_depth(tools: Path) -> None:
    code = "for name in ('a.txt', 'b/c.txt', 'b/flights.csv', 'd/e/data/flights.csv'): print(open(name).read())"
    table = tools / "data" / "flights.csv"
    files: dict[str, Path | str] = {"a.txt": "é\n", "b/c.txt": "c", "b/flights.csv": table, "d/e": tools}
    result = run_untrusted(code, files)
    assert result.stdout.split("\n")[:2] == ["é", ""] and result.stdout.count("Paris") == 2, result


def test_an_error_shows_as_python_shows_it() -> None:
    result = run_untrusted("def plan():\n    return 1 / 0\n\nplan()\n", {})
    assert (result.ok, result.returncode, result.ended) == (False, 1, "exit")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Traceback") and lines[-1] == "ZeroDivisionError: division by zero"
    assert sum("File" in line for line in lines) == 2 and "return 1 / 0" in result.stderr and "-c" not in result.stderr


@pytest.mark.parametrize(
    ("code", "returncode"),
    [
        ("raise SystemExit(3)", 3), ("import sys; sys.exit('no')", 1), ("this is no Python", 1), ("print('\0')", 1),
        ("raise SystemExit(-1)", 255),
    ],
)  # fmt: skip
def test_the_exit_status_comes_back(code: str, returncode: int) -> None:
    result = run_untrusted(code, {})
    assert (result.ended, result.returncode, result.ok) == ("exit", returncode, False)


def test_output_is_kept_up_to_the_limit_and_its_beginning_is_what_is_kept() -> None:
    code = "import sys\nprint('first')\nsys.stdout.flush()\nwhile True: print('x' * 999)"
    result = run_untrusted(code, {}, limits=Limits(output_bytes=5000))
    assert (result.ended, len(result.stdout)) == ("output", 5000)
    assert result.stdout.startswith("first\nxxx") and result.returncode is None
    exact = run_untrusted("print('x' * 4999)", {}, limits=Limits(output_bytes=5000))
    assert exact.ok and len(exact.stdout) == 5000


def test_what_was_printed_before_a_timeout_comes_back() -> None:
    code = "import time\nprint('begun', flush=True)\ntime.sleep(20)"
    result = run_untrusted(code, {}, timeout=1)
    assert (result.stdout, result.ended) == ("begun\n", "timeout")
    assert 1 <= result.seconds < 4


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_as_it_was_printed(text: str) -> None:
    result = run_untrusted(f"import sys; sys.stdout.write({text!r})", {"text": text})
    assert result.ok and result.stdout == text
    code = "import sys; sys.stdout.write(open('text', newline='').read())"
    assert run_untrusted(code, {"text": text}).stdout == text


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up", "a/../b", "a/..", ".", "./a", "a//b", "a/", "a\0b", "/"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="sandbox"):
        run_untrusted("", {name: "text"})
    for names in (("a", "a/b"), ("a/b/c", "a/b"), ("main.py", "a"), ("main.py/a", "a")):
        with pytest.raises(ValueError, match="clash"):
            run_untrusted("", dict.fromkeys(names, "text"))


def test_a_host_path_that_is_a_link_or_missing_or_special_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for name, reason in {"link": "is a link", "missing": "neither", "pipe": "neither"}.items():
        with pytest.raises(ValueError, match=reason):
            run_untrusted("", {"tools": tmp_path / name})


def test_the_working_folder_goes_whatever_was_left_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    code = f"""
import os
os.mkdir("locked", 0o000)
for _ in range(100): os.mkdir("deep"); os.chdir("deep")
os.symlink({str(tmp_path / "kept")!r}, "away")
"""
    result = run_untrusted(code, {"given": tmp_path / "kept"})
    # A folder that may not be looked into counts as full; root may look into it.
    assert result.ok or (os.geteuid() and result.ended == "disk"), result
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_what_a_killed_process_left_goes_and_what_is_used_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a folder of a killed process lie one of a living process and others that are none of ours."""
    make = "import time\nfrom lab.machine.scratch import scratch_folder\nwith scratch_folder('untrusted-') as folder:\n"
    hold = f"{make} (folder / 'file').touch(); print(folder, flush=True); time.sleep(600)"
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contextlib.ExitStack() as opened:
        killed, living = (
            opened.enter_context(subprocess.Popen([sys.executable, "-c", hold], cwd=ROOT, stdout=subprocess.PIPE))
            for _ in range(2)
        )
        opened.callback(living.kill)
        assert killed.stdout and living.stdout
        left, used = (Path(child.stdout.readline().decode().strip()) for child in (killed, living) if child.stdout)
        killed.kill()
        killed.wait()
        (tmp_path / "untrusted-of-someone").mkdir()
        (tmp_path / f"untrusted-{MARK}link").symlink_to(tmp_path / "untrusted-of-someone")
        (tmp_path / f"untrusted-{MARK}file").touch()
        assert (left / "file").exists() and (used / "file").exists()
        others = {path.name for path in tmp_path.iterdir()} - {left.name}
        code = (
            "from lab.machine.scratch import scratch_folder\nwith scratch_folder('untrusted-') as folder: print(folder)"
        )
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
        assert {path.name for path in tmp_path.iterdir()} == others and (used / "file").exists()


@pytest.mark.slow
def test_folders_made_side_by_side_are_never_taken_for_left_over(tmp_path: Path) -> None:
    code = """
from lab.machine import scratch
for _ in range(150):
    scratch._remove_what_is_left.cache_clear()
    with scratch.scratch_folder('untrusted-') as folder:
        (folder / "file").touch()
        assert (folder / "file").exists()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment) for _ in range(4)]
    assert [child.wait() for child in running] == [0] * 4
    assert not list(tmp_path.iterdir())


def test_no_descriptor_stays_open() -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    run_untrusted("", {})
    before = opened()
    for code in ("print(1)", "while True: print(1)", "import time; time.sleep(9)"):
        run_untrusted(code, {}, timeout=0.3)
    assert opened() <= before


@pytest.mark.slow
def test_programs_run_side_by_side_from_threads() -> None:
    results: dict[int, Result] = {}

    def work(number: int) -> None:
        code = f"print({number}, flush=True); open('mine', 'x').write('')" + (
            "\nwhile True: pass" if number % 4 == 0 else ""
        )
        results[number] = run_untrusted(code, {}, timeout=1.0 if number % 4 == 0 else 30)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    printed = {number: result.stdout for number, result in results.items() if result.ok}
    assert printed == {number: f"{number}\n" for number in range(8) if number % 4}
    assert {n for n, result in results.items() if result.ended == "timeout"} == {0, 4}


def test_a_program_runs_in_a_process_forked_from_one_that_ran_programs() -> None:
    code = """
import os, sys
from lab.sandbox import run_untrusted
print(run_untrusted("print(1)", {}).stdout, flush=True)
if os.fork() == 0:
    print(run_untrusted("print(2)", {}).stdout, flush=True)
    os._exit(0)
assert os.wait()[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["1", "2"], done.stderr


def _running(mark: int) -> list[int]:
    """Processes of a program whose limit of open files is the mark."""
    import psutil

    pids = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if f"RLIMIT_NOFILE={mark}" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                pids.append(process.pid)
    return pids


@pytest.mark.slow
@pytest.mark.parametrize("later", [0, 0, 0.2])
def test_a_program_dies_with_the_process_that_waits_for_it(later: float, tmp_path: Path) -> None:
    """Also if that process is killed at the very moment the program starts. later: seconds after that moment."""
    mark = 1000 + os.getpid() % 5000
    code = f"""
from lab import sandbox
from lab.sandbox import Limits, run_untrusted
sandbox.refusal = lambda: ""  # examined already; that would only take longer
run_untrusted("while True: pass", {{}}, 60, Limits(open_files={mark}))
"""
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)})
    _until(lambda: bool(_running(mark)))
    time.sleep(later)
    parent.kill()
    parent.wait()
    _until(lambda: not _running(mark), patience_s=3)


@pytest.mark.slow
def test_a_program_ends_when_its_notebook_is_interrupted(tmp_path: Path) -> None:
    mark = 1000 + os.getpid() % 5000
    code = f"""
from lab import sandbox
from lab.sandbox import Limits, run_untrusted
sandbox.refusal = lambda: ""
try:
    run_untrusted("while True: pass", {{}}, 60, Limits(open_files={mark}))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    input()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stdin=pipe, stdout=pipe)
    _until(lambda: bool(_running(mark)))
    time.sleep(0.3)
    parent.send_signal(signal.SIGINT)
    assert parent.stdout and parent.stdout.readline() == b"interrupted\n"
    assert not _running(mark) and not list(tmp_path.iterdir())
    parent.communicate(b"\n")
    assert parent.returncode == 0


def _until(condition: Any, patience_s: float = 15.0) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def unexamined() -> Iterator[None]:
    sandbox.refusal.cache_clear()
    yield
    sandbox.refusal.cache_clear()


@pytest.mark.usefixtures("unexamined")
def test_without_landlock_nothing_runs_and_the_need_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(confinement, "version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match=r"no Landlock.*needs Linux 5\.13"):
        run_untrusted(f"open({str(tmp_path / 'ran')!r}, 'w')", {})
    assert not (tmp_path / "ran").exists()
    check = checks()[0]
    assert not check.ok and "no Landlock" in check.detail and "5.13" in check.fix
    assert issubclass(SandboxUnavailable, Unavailable)  # and so it is no episode's failure


@pytest.mark.skipif(not confinement.version(), reason="the kernel has no Landlock")
def test_the_sandbox_holds_where_the_kernel_has_landlock() -> None:
    """Else a sandbox that our own change has broken would only skip the tests that need it."""
    assert sandbox.refusal() == ""


def test_a_machine_is_examined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_untrusted("print(1)", {}).ok and checks()[0].ok
    monkeypatch.setattr(selftest, "ATTEMPTS", "not Python")
    assert run_untrusted("print(1)", {}).ok and checks()[0].ok


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("call(libc.syscall", "reads a host file"),
        ("call(libc.prctl, 22", "changes a host file's mode.*forks"),
        ("resource.setrlimit", "takes more memory than allowed"),
    ],
)
def test_the_selftest_notices_a_missing_layer(step: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = first_steps.BOOTSTRAP.splitlines()
    assert sum(step in line for line in lines) == 1
    without = [line.replace(line.strip(), "pass") if step in line else line for line in lines]
    monkeypatch.setattr(first_steps, "BOOTSTRAP", "\n".join(without))
    with pytest.raises(SandboxUnavailable, match=reason):
        examine()


@pytest.mark.parametrize("machine", list(confinement.ARCHITECTURES))
def test_every_jump_of_the_filter_lands_within_it_and_calls_are_listed_once(machine: str) -> None:
    steps = list(struct.iter_unpack("=HBBI", confinement.program_filter(machine)))
    for index, (code, then, otherwise, _) in enumerate(steps):
        assert code == confinement.RETURN or index + 1 + max(then, otherwise) < len(steps)
    listed = list(confinement.numbers(machine).values())
    assert len(listed) == len(set(listed)) > 90 and len(steps) < 4096
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        confinement.program_filter("riscv64")


def test_what_is_printed_is_the_same_wherever_it_runs(tmp_path: Path) -> None:
    """Else a traceback would carry a temporary folder's name, and no run that shows it could be repeated."""
    (tmp_path / "broken.py").write_text("import json\n\n\ndef read():\n    return json.loads('{')\n")
    code = "import os\nfrom tools.broken import read\nprint(os.getcwd())\nread()\n"
    results = [run_untrusted(code, {"tools": tmp_path}) for _ in range(2)]
    assert results[0].stdout == results[1].stdout == "/untrusted\n"
    assert results[0].stderr == results[1].stderr
    assert '"/untrusted/main.py"' in results[0].stderr and '"/python/json/' in results[0].stderr
    assert str(tmp_path) not in results[0].stderr


def test_the_disk_limit_holds_in_a_folder_with_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a line\nand another (deleted)"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    code = """
import ctypes, os, time
libc = ctypes.CDLL(None)
for _ in range(2):
    file = os.open("removed", os.O_RDWR | os.O_CREAT)
    os.unlink("removed")
    os.write(file, bytes(12 * 2**20))
    libc.mmap(0, 4096, 1, 2, file, 0)
    os.close(file)
time.sleep(0.5)
"""
    result = run_untrusted(code, {}, limits=LIMITS)
    assert result.ended == "disk", result
