"""bubblewrap: namespaces of mounts, processes, network and users (https://github.com/containers/bubblewrap)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from lab.sandbox import disk
from lab.sandbox.faults import BackendRefused, SandboxFailed
from lab.sandbox.first_steps import command
from lab.sandbox.interpreter import environment, interpreter
from lab.sandbox.program import MB, WORK, Job

INSTALL = "apt install bubblewrap (0.7 or newer)"
NOBODY = "65534"
SIGNALS = 64
DEVICES = ("/dev/null", "/dev/urandom")
STARTING_S = 10.0  # and as long to end by itself
ENDING_S = 0.5
ROOM = MB // 4  # beyond the limit, so that a program that passes it can be told from one that keeps to it
# --new-session: a program cannot type into our terminal (TIOCSTI). --as-pid-1: no process of bwrap's own stands
# between; the kernel then drops a signal that the program sends itself and has no handler for. --die-with-parent: if we
# are killed in the instant in which bwrap 0.8 starts a program, its child may stay, asleep before its first step.
NAMESPACES = (
    "--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL",
    "--new-session", "--die-with-parent", "--as-pid-1", "--hostname", "sandbox",
)  # fmt: skip


class Contained:
    """A program in bubblewrap, which is the first process of its own namespace: when it ends, all within end.

    Its working folder is a file system in memory, of a size that the kernel holds; it goes with the program.
    """

    # bwrap exits with 128 + N both when signal N ended the program and when the program exited with that status. The
    # filter in `system_calls` lets none exit with 137, so that this is a SIGKILL.
    exact = True

    def __init__(self, wrapper: subprocess.Popen[bytes], pid: int, job: Job) -> None:
        self.wrapper, self.pid, self.limits = wrapper, pid, job.limits
        self.folder: int | None = None
        self.killed = False
        assert wrapper.stdout and wrapper.stderr
        self.stdout, self.stderr = wrapper.stdout.fileno(), wrapper.stderr.fileno()

    def kill(self) -> None:
        """The wrapper reaps the program, so that its number stays its own while the wrapper runs."""
        self.killed = True
        if self.wrapper.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        try:
            status = self.wrapper.wait(ENDING_S if self.killed else STARTING_S)
        except subprocess.TimeoutExpired:  # the program has ended, so someone has stopped its wrapper
            self.wrapper.kill()
            self.wrapper.wait()
            if self.killed:
                return -signal.SIGKILL
            raise SandboxFailed("bubblewrap did not end with its program") from None
        if status < 0:  # the program sees no process but itself, so it cannot have sent this
            raise SandboxFailed(f"bubblewrap was killed by signal {-status} while a program ran")
        return 128 - status if 128 < status <= 128 + SIGNALS else status

    def folder_gone(self) -> bool:
        return False  # nothing on the host is part of it

    def holds_too_much(self, alive: int, deadline: float) -> bool:
        """The kernel counts, removed files that are still held included."""
        if self.folder is None:
            for task in disk.tasks(self.pid):  # its first thread may have ended alone
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    self.folder = os.open(f"{task}/root{WORK}", os.O_PATH | os.O_DIRECTORY)
                    break
            else:
                return False  # it has ended already
        seen = os.fstatvfs(self.folder)
        size, entries = (seen.f_blocks - seen.f_bfree) * seen.f_frsize, seen.f_files - seen.f_ffree
        return size > self.limits.disk_mb * MB or entries - 1 > self.limits.disk_entries  # without the folder itself

    def close(self) -> None:
        if self.folder is not None:
            os.close(self.folder)
        for pipe in (self.wrapper.stdin, self.wrapper.stdout, self.wrapper.stderr):
            if pipe:
                pipe.close()


def start(job: Job) -> Contained:
    """The job's program, running; BackendRefused if bubblewrap is not there or does not start."""
    program = shutil.which("bwrap")
    if not program:
        raise BackendRefused(f"bwrap is not installed; {INSTALL}")
    reading, writing = os.pipe()
    with contextlib.ExitStack() as opened:
        opened.callback(os.close, writing)
        try:
            files = {name: opened.enter_context(open(job.folder / name, "rb")) for name in job.written}
            mounts = _mounts(job, {name: file.fileno() for name, file in files.items()})
            wrapper = subprocess.Popen(
                [program, "--info-fd", str(writing), *NAMESPACES, *mounts, "--", *command(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(writing, *(file.fileno() for file in files.values())),
                env=environment(WORK),
            )
        except OSError as error:
            os.close(reading)
            raise BackendRefused(f"{program} does not start: {error}") from error
    return Contained(wrapper, _started(wrapper, reading), job)


def _started(wrapper: subprocess.Popen[bytes], reading: int) -> int:
    """The program's process number as the host sees it."""
    with open(reading, encoding="utf-8") as told:
        ready, _, _ = select.select([told], [], [], STARTING_S)
        text = told.read() if ready else ""
    try:
        return int(json.loads(text)["child-pid"])
    except (ValueError, KeyError) as error:
        wrapper.kill()
        _, said = wrapper.communicate()
        raise BackendRefused(f"bwrap does not start a program here: {said.decode(errors='replace').strip()}") from error


def _mounts(job: Job, written: Mapping[str, int]) -> list[str]:
    """written: the descriptors that the files of the folder are copied from."""
    given = sum(os.fstat(file).st_size + ROOM for file in written.values())
    arguments = [*_system(), "--size", str(job.limits.disk_mb * MB + ROOM + given), "--tmpfs", WORK]
    for name, file in written.items():
        arguments += ["--file", str(file), f"{WORK}/{name}"]
    for name, path in job.shared.items():
        arguments += ["--ro-bind", str(path), f"{WORK}/{name}"]
    return [*arguments, "--remount-ro", "/", "--chdir", WORK]


@cache
def _system() -> tuple[str, ...]:
    """The interpreter and the devices; installed packages are hidden behind an empty, read-only folder."""
    python = interpreter()
    arguments = [*_bound(python.executable)]
    for folder in python.library:
        arguments += _bound(folder)
    for folder in python.packages:
        arguments += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    for path in python.shared:
        arguments += _bound(path)
    for link, target in _links(python.shared):
        arguments += ["--symlink", target, str(link)]
    for device in DEVICES:
        arguments += ["--dev-bind", device, device]
    return tuple(arguments)


def _bound(path: Path) -> list[str]:
    return ["--ro-bind", str(path), str(path)]


def _links(shared: tuple[Path, ...]) -> Iterator[tuple[Path, str]]:
    """Links by which the loader finds the libraries: /lib itself, and libx.so.1 beside libx.so.1.2."""
    roots = [Path(name) for name in ("/lib", "/lib64") if Path(name).is_dir()]
    for root in roots:
        if root.is_symlink():
            yield root, os.readlink(root)
    for folder in {path.parent for path in shared} | {root.resolve() for root in roots}:
        for link in folder.iterdir():
            if link.is_symlink() and link not in shared and link.resolve() in shared:
                yield link, os.readlink(link)
