"""What goes into a sandbox and what comes out of it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from lab.machine.scratch import identity, scratch_folder
from lab.sandbox.faults import SandboxFailed

MAIN = "main.py"
WORK = "/untrusted"  # the working folder as the program knows it, or at least as it reads in what it prints
MB = 2**20
Ending = Literal["exit", "timeout", "output", "disk", "threads", "killed"]


@dataclass(frozen=True)
class Limits:
    """What one program may use. A program has one process, so every limit holds for the program as a whole.

    cpu_s: seconds of processor time, of all threads; None is as many as the wall-clock timeout.
    output_bytes: of standard output, and as much again of standard error.
    disk_mb, disk_entries: in the working folder, which goes when the program ends; the texts that it is given count,
    and so do removed files that it still holds.
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

    exact: whether the program cannot have caused a SIGKILL that this process did not send.
    """

    exact: bool
    pid: int
    stdout: int
    stderr: int

    def kill(self) -> None: ...

    def wait(self) -> int:
        """The exit status, minus the signal if one ended it; called once, when the program has ended.

        Raises SandboxFailed if what held the program died before it.
        """

    def folder_gone(self) -> bool:
        """Whether its working folder was removed or replaced by someone else than the program."""

    def holds_too_much(self, alive: int, deadline: float) -> bool:
        """Whether it holds more disk than its limits allow; asked from its first step on. See `disk.too_much`."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Job:
    """A program made ready. folder: its working folder on the host; shared: name inside -> host path, read-only.

    written: the names of the files in the folder, its code's among them. made: device and inode of the folder, by which
    another one of the same name is noticed.
    """

    folder: Path
    written: tuple[str, ...]
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
            return identity(self.folder) != self.made
        except (FileNotFoundError, NotADirectoryError):
            return True


@contextlib.contextmanager
def prepared(code: str, files: Mapping[str, Path | str], timeout: float, limits: Limits) -> Iterator[Job]:
    """The job with its code and texts in a folder of its own, removed afterwards whatever the program left in it.

    Raises SandboxFailed if the folder cannot be filled, as on a full disk.
    """
    if not timeout > 0:
        raise ValueError(f"the timeout is {timeout}; a timeout is above zero, in seconds")
    shared, texts = _sorted_out(files)
    texts[MAIN] = code
    with scratch_folder("untrusted-") as folder:
        try:
            made = identity(folder)
            for name, text in texts.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text.encode("utf-8", "replace"))
            for name in shared:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxFailed(f"a program's working folder {folder} cannot be filled: {error}") from error
        yield Job(folder, tuple(texts), shared, limits, timeout, made)


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
