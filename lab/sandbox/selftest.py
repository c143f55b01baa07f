"""Programs of our own that try to get out of a backend before any other program is put into it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.machine.scratch import scratch_folder
from lab.sandbox.faults import BackendRefused, SandboxFailed
from lab.sandbox.interpreter import environment
from lab.sandbox.program import MB, Child, Job, Limits, Result, prepared
from lab.sandbox.watching import watched

Start = Callable[[Job], Child]
PATIENT_S = 20.0  # a busy machine may take long for what normally takes 40 ms
ALLOWED_MB = 256

# Each attempt that comes through leaves its name in the list printed at the end.
ATTEMPTS = """
import json, os, socket, sys
facts, open_doors = json.load(open("facts.json")), []

def attempt(name, act):
    try:
        if act() is not False:
            open_doors.append(name)
    except (OSError, MemoryError, ValueError):
        pass

def child():
    number = os.fork()
    if number == 0:
        os._exit(0)

def abstract():
    socket.socket(socket.AF_UNIX).connect(chr(0) + facts["abstract"])

attempt("reads a host file", lambda: open(facts["canary"]).read())
attempt("reads through a link", lambda: (os.symlink(facts["canary"], "link"), open("link").read()))
attempt("is told where a link of the host leads", lambda: os.readlink(facts["link"]))
attempt("is told an attribute of a host file", lambda: os.listxattr(facts["canary"]))
attempt("writes a host file", lambda: open(facts["canary"], "a"))
attempt("changes a host file's mode", lambda: os.chmod(facts["canary"], 0o600))
attempt("writes beside its folder", lambda: open(facts["beside"], "x"))
attempt("writes a given file", lambda: open("given/file.txt", "a"))
attempt("sees the environment", lambda: bool(set(os.environ) - set(facts["variables"])))
attempt("sees another process", lambda: open("/proc/%d/environ" % facts["pid"]).read())
attempt("reaches the network", lambda: socket.create_connection(("127.0.0.1", facts["port"]), 1))
attempt("reaches a socket of the host", abstract)
attempt("forks", child)
attempt("signals its parent", lambda: os.kill(facts["pid"], 0))
attempt("imports installed packages", lambda: any("-packages" in path for path in sys.path))
import resource
attempt("raises its limits", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
attempt("changes its parent's limits", lambda: resource.prlimit(facts["pid"], resource.RLIMIT_CORE))
attempt("takes more memory than allowed", lambda: bytearray(2 * facts["memory"]))
print(json.dumps([open("given/file.txt").read(), open_doors]))
"""
LOOP = "while True: pass"
FLOOD = "while True: print('x' * 10_000)"
# Two files, of which each keeps to the limit of one; the second is removed and held.
FILL = """
import os, time
kept = [os.open(name, os.O_RDWR | os.O_CREAT) for name in ("named", "removed")]
os.unlink("removed")
for file in kept:
    os.write(file, bytes(LIMIT - 2**16))
time.sleep(60)
"""


def examine(start: Start) -> None:
    """Raises BackendRefused, saying what came through, unless the backend contains every attempt."""
    try:
        _attempts(start)
        if (ended := _run(start, LOOP, timeout=0.3).ended) != "timeout":
            raise BackendRefused(f"an endless loop ended with {ended}")
        if (ended := _run(start, FLOOD).ended) != "output":
            raise BackendRefused(f"endless output ended with {ended}")
        if (ended := _run(start, FILL.replace("LIMIT", str(Limits().disk_mb * MB))).ended) != "disk":
            raise BackendRefused(f"a program that holds too much disk ended with {ended}")
    except SandboxFailed as error:  # a backend in which the interpreter never starts looks like a fault of the machine
        raise BackendRefused(str(error)) from error


def _run(start: Start, code: str, timeout: float = PATIENT_S, **files: Path | str) -> Result:
    limits = Limits(memory_mb=ALLOWED_MB)
    given = {name.replace("_json", ".json"): content for name, content in files.items()}
    with prepared(code, given, timeout, limits) as job:
        started = time.monotonic()
        return watched(start(job), job, started)


def _attempts(start: Start) -> None:
    with scratch_folder("sandbox-test-") as host:
        facts, secret = _bait(host)
        with _listening(facts):
            result = _run(start, ATTEMPTS, given=host / "given", facts_json=json.dumps(facts))
        if secret in result.stdout + result.stderr:
            raise BackendRefused("a program read a file of the host")
        if not result.ok:
            raise BackendRefused(f"an honest program does not run: {result.ended} {result.stderr.strip()[-500:]}")
        text, open_doors = json.loads(result.stdout)
        if open_doors or text != "given":
            raise BackendRefused(f"a program {', '.join(open_doors) or 'does not see the given files'}")
        if (host / "beside").exists() or (host / "canary").read_text() != secret:
            raise BackendRefused("a program changed files of the host")


def _bait(host: Path) -> tuple[dict[str, object], str]:
    """What the program is told of the host, and the secret that it must not read."""
    secret = secrets.token_hex(16)
    (host / "canary").write_text(secret)
    (host / "link").symlink_to(secret)
    (host / "given").mkdir()
    (host / "given" / "file.txt").write_text("given")
    facts = {
        "canary": str(host / "canary"),
        "link": str(host / "link"),
        "beside": str(host / "beside"),
        "abstract": f"sandbox-test-{secret}",
        "variables": [*environment(""), "LC_CTYPE", "PWD"],
        "pid": os.getpid(),
        "memory": ALLOWED_MB * MB,
    }
    return facts, secret


@contextlib.contextmanager
def _listening(facts: dict[str, object]) -> Iterator[None]:
    """A port and an abstract socket of the host that a program could connect to if it were let out."""
    with socket.socket() as port, socket.socket(socket.AF_UNIX) as abstract:
        port.bind(("127.0.0.1", 0))
        port.listen()
        abstract.bind(f"\0{facts['abstract']}")
        abstract.listen()
        facts["port"] = port.getsockname()[1]
        yield
