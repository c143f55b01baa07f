"""The sandbox's self-test: a program of our own tries to escape before any other program is run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lab.machine.scratch import scratch_folder
from lab.sandbox import confinement
from lab.sandbox.program import MB, Limits, SandboxFailed, SandboxUnavailable, environment, prepared
from lab.sandbox.watching import watched

ALLOWED_MB = 256

# Every successful attempt adds its name to the list that is printed at the end.
ATTEMPTS = """
import json, os, resource, socket, sys
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

attempt("reads a host file", lambda: open(facts["canary"]).read())
attempt("reads through a link", lambda: (os.symlink(facts["canary"], "link"), open("link").read()))
attempt("is told where a link of the host leads", lambda: os.readlink(facts["link"]))
attempt("is told an attribute of a host file", lambda: os.listxattr(facts["canary"]))
attempt("writes a host file", lambda: open(facts["canary"], "a"))
attempt("changes a host file's mode", lambda: os.chmod(facts["canary"], 0o600))
attempt("writes beside its folder", lambda: open(facts["beside"], "x"))
attempt("writes a given file", lambda: open("given/file.txt", "a"))
attempt("empties a given file", lambda: os.open("given/file.txt", os.O_TRUNC))
attempt("sees the environment", lambda: bool(set(os.environ) - set(facts["variables"])))
attempt("sees another process", lambda: open("/proc/%d/environ" % facts["pid"]).read())
attempt("opens a socket", socket.socket)
attempt("opens a socket of the host", lambda: socket.socket(socket.AF_UNIX))
attempt("forks", child)
attempt("signals its parent", lambda: os.kill(facts["pid"], 0))
attempt("imports installed packages", lambda: any("-packages" in path for path in sys.path))
attempt("raises its limits", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
attempt("changes its parent's limits", lambda: resource.prlimit(facts["pid"], resource.RLIMIT_CORE))
attempt("takes more memory than allowed", lambda: bytearray(2 * facts["memory"]))
print(json.dumps([open("given/file.txt").read(), open_doors]))
"""


def examine() -> None:
    """Run the self-test. Raises SandboxUnavailable, naming the attempts that succeeded."""
    if not confinement.version():
        raise SandboxUnavailable("the kernel has no Landlock, or it is switched off")
    with scratch_folder("sandbox-test-") as host:
        (host / "canary").write_text("secret")
        (host / "link").symlink_to("secret")
        (host / "given").mkdir()
        (host / "given" / "file.txt").write_text("given")
        facts = {name: str(host / name) for name in ("canary", "link", "beside")} | {
            "variables": [*environment(""), "LC_CTYPE", "PWD"],
            "pid": os.getpid(),
            "memory": ALLOWED_MB * MB,
        }
        files: dict[str, Path | str] = {"given": host / "given", "facts.json": json.dumps(facts)}
        try:
            with prepared(ATTEMPTS, files, timeout=20.0, limits=Limits(memory_mb=ALLOWED_MB)) as job:
                result = watched(job)
        except SandboxFailed as error:  # an interpreter that never starts looks like a fault of the machine
            raise SandboxUnavailable(str(error)) from error
        if not result.ok:
            raise SandboxUnavailable(f"an honest program does not run: {result.ended} {result.stderr.strip()[-500:]}")
        text, open_doors = json.loads(result.stdout)
        if open_doors or text != "given":
            raise SandboxUnavailable(f"a program {', '.join(open_doors) or 'does not see the given files'}")
        if (host / "beside").exists() or (host / "canary").read_text() != "secret":
            raise SandboxUnavailable("a program changed files of the host")
