"""What goes into a sandbox and what comes out of it."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from lab.machine.faults import BackendDied, Unavailable

MAIN = "main.py"
WORK = "/untrusted"  # the working folder as the program knows it, or at least as it reads in what it prints
MB = 2**20
Ending = Literal["exit", "timeout", "output", "disk", "threads", "killed"]


class SandboxUnavailable(Unavailable):
    """No backend holds on this machine; the message names each, why it was refused, and what to install.

    It is no episode's failure: a run stops at it.
    """


class SandboxFailed(BackendDied):
    """The machine kept a program from running or from ending: its working folder was removed, its process or the
    sandbox's was killed from outside, or its interpreter did not start. It is no result of the program.

    The harness plays such an episode once more, so no program may be able to cause this; `lab.sandbox.watching` says
    how it is told apart.
    """


class BackendRefused(RuntimeError):
    """Why one backend cannot be used here."""


@dataclass(frozen=True)
class Limits:
    """What one program may use. A program has one process, so every limit holds for the program as a whole.

    cpu_s: seconds of processor time, of all threads; None is as many as the wall-clock timeout.
    output_bytes: of standard output, and as much again of standard error.
    disk_mb, disk_entries: in the working folder, which goes when the program ends.
    """

    memory_mb: int = 512
    cpu_s: float | None = None
    threads: int = 16
    output_bytes: int = 64 * 1024
    disk_mb: int = 16
    disk_entries: int = 256
    open_files: int = 64

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value <= 0:
                raise ValueError(f"the limit {name} is {value}; a limit is above zero")


@dataclass(frozen=True)
class Result:
    """How a program ended and what it printed; bytes that are not UTF-8 come as U+FFFD.

    ended: exit (by itself), timeout (wall clock or processor time), output, disk, threads (that limit was passed),
    killed (by a signal). returncode: None unless the program ended by itself; minus the signal if by one.
    truncated: output was cut at the limit. seconds: wall clock, start of the interpreter included.
    """

    stdout: str
    stderr: str
    returncode: int | None
    ended: Ending
    truncated: bool
    seconds: float

    @property
    def ok(self) -> bool:
        return self.ended == "exit" and self.returncode == 0


class Child(Protocol):
    """A started program. stdout, stderr: file descriptors of pipes, closed by `close`.

    confined: whether the program cannot remove its working folder itself, only what is in it.
    exact: whether a SIGKILL that this process did not send shows as one, and the program cannot have caused it.
    """

    confined: bool
    exact: bool
    pid: int
    stdout: int
    stderr: int

    def kill(self) -> None: ...

    def wait(self) -> int:
        """The exit status, minus the signal if one ended it; called once, when the program has ended.

        Raises SandboxFailed if what held the program died before it.
        """

    def close(self) -> None: ...


@dataclass(frozen=True)
class Job:
    """A program made ready. folder: its working folder on the host; shared: name inside -> host path, read-only.

    made: device and inode of the folder, by which another one of the same name is noticed.
    """

    folder: Path
    shared: Mapping[str, Path]
    limits: Limits
    timeout: float
    made: tuple[int, int]

    @property
    def cpu_s(self) -> float:
        return self.limits.cpu_s or self.timeout

    @property
    def kernel_cpu_s(self) -> int:
        """The limit of processor time that the kernel holds, in whole seconds; we look more closely."""
        return math.ceil(self.cpu_s) + 1

    @property
    def folder_gone(self) -> bool:
        """Whether the working folder was removed or replaced. A folder that was only emptied is still there."""
        try:
            return _identity(self.folder) != self.made
        except (FileNotFoundError, NotADirectoryError):
            return True


def _identity(folder: Path) -> tuple[int, int]:
    found = os.lstat(folder)
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def prepared(code: str, files: Mapping[str, Path | str], timeout: float, limits: Limits) -> Iterator[Job]:
    """The job with its code and texts in a folder of its own, removed afterwards whatever the program left in it.

    Raises SandboxFailed if the folder cannot be filled, as on a full disk.
    """
    if not timeout > 0:
        raise ValueError(f"the timeout is {timeout}; a timeout is above zero, in seconds")
    shared, texts = _sorted_out(files)
    folder = Path(tempfile.mkdtemp(prefix="untrusted-")).resolve()
    try:
        try:
            made = _identity(folder)
            for name, text in {MAIN: code, **texts}.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text.encode("utf-8", "replace"))
            for name in shared:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxFailed(f"a program's working folder {folder} cannot be filled: {error}") from error
        yield Job(folder, shared, limits, timeout, made)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """A program may leave folders that cannot be read, or thousands within each other; no link is followed."""

    def unlock(_call: object, path: str, _error: object) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)

    for _ in range(2):
        with contextlib.suppress(RecursionError, OSError):
            shutil.rmtree(folder, onerror=unlock)
        if not folder.exists():
            return
    removed = subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, text=True, errors="replace")
    if removed.returncode:
        raise SandboxFailed(f"a program's working folder {folder} cannot be removed: {removed.stderr.strip()[-500:]}")


def _sorted_out(files: Mapping[str, Path | str]) -> tuple[dict[str, Path], dict[str, str]]:
    """Host paths and texts, each by its checked name."""
    names = [_checked(name) for name in files]
    for name in names:
        taken = [other for other in [MAIN, *names] if other != name and (other + "/").startswith(name + "/")]
        if taken or names.count(name) > 1:
            raise ValueError(f"the file name {name!r} of a sandbox clashes with {(taken or [name])[0]!r}")
    shared = {}
    for name, path in files.items():
        if not isinstance(path, Path):
            continue
        if path.is_symlink():
            raise ValueError(f"{name!r} is to show {path}, which is a link: give what it points to")
        if not (path.is_dir() or path.is_file()):
            raise ValueError(f"{name!r} is to show {path}, which is neither a folder nor a file")
        shared[_checked(name)] = path.resolve()
    return shared, {_checked(name): text for name, text in files.items() if isinstance(text, str)}


def _checked(name: str) -> str:
    """The name as it stands inside; a name that leads elsewhere raises ValueError."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\0" in name or {"..", "."} & set(name.split("/")) or parts[0] == MAIN:
        raise ValueError(f"{name!r} cannot name a file of a sandbox: give a relative name, without .., not {MAIN}")
    return "/".join(parts)
