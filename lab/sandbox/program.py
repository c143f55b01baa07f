"""What goes into the sandbox, what comes out of it, and what it raises."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.machine.faults import BackendDied, Unavailable
from lab.machine.scratch import identity, scratch_folder

MAIN = "main.py"
MB = 2**20
Ending = Literal["exit", "timeout", "output", "disk", "threads", "killed"]


class SandboxUnavailable(Unavailable):
    """The sandbox does not hold on this machine; the message says why. Stops the run; no episode has failed."""


class SandboxFailed(BackendDied):
    """The machine kept a program from running or from ending, which is no result of the program.

    The harness plays such an episode once more, so no program may be able to cause this: see `lab.sandbox.watching`.
    """


@dataclass(frozen=True)
class Limits:
    """What one program may use. A program has one process, so every limit holds for the program as a whole.

    cpu_s: seconds of processor time, of all threads; None is as many as the wall-clock timeout.
    output_bytes: of standard output, and as much again of standard error.
    disk_mb, disk_entries: in the working folder, which is removed when the program ends; the texts that it is given
    count, and so do removed files that it still holds.
    """

    memory_mb: int = 512
    cpu_s: float | None = None
    threads: int = 16
    output_bytes: int = 64 * 1024
    disk_mb: int = 16
    disk_entries: int = 256
    open_files: int = 64


@dataclass(frozen=True)
class Result:
    """How a program ended and what it printed; bytes that are not UTF-8 come as U+FFFD.

    ended: exit (by itself), timeout (wall clock or processor time), output, disk, threads (that limit was passed),
    killed (by a signal). returncode: None unless the program ended by itself; minus the signal if by one.
    seconds: wall clock, start of the interpreter included.
    """

    stdout: str
    stderr: str
    returncode: int | None
    ended: Ending
    seconds: float

    @property
    def ok(self) -> bool:
        return self.ended == "exit" and self.returncode == 0


@dataclass(frozen=True)
class Job:
    """A program made ready.

    folder: its working folder on the host. shared: name in the folder -> host path, read-only.
    folder_identity: device and inode; they differ for another folder of the same name.
    """

    folder: Path
    shared: Mapping[str, Path]
    limits: Limits
    timeout: float
    cpu_s: float
    folder_identity: tuple[int, int]

    @property
    def folder_gone(self) -> bool:
        """Whether the working folder was removed or replaced. A folder that was only emptied is still there."""
        try:
            return identity(self.folder) != self.folder_identity
        except (FileNotFoundError, NotADirectoryError):
            return True


@contextlib.contextmanager
def prepared(code: str, files: Mapping[str, Path | str], timeout: float, limits: Limits) -> Iterator[Job]:
    """The job with its code and files in a folder of its own, removed afterwards whatever the program left in it.

    Raises SandboxFailed if the folder cannot be filled, as on a full disk; ValueError for a wrong name or path.
    """
    for name, content in files.items():
        _check(name, content)
    shared = {name: path.resolve() for name, path in files.items() if isinstance(path, Path)}
    texts = [(MAIN, code), *((name, text) for name, text in files.items() if isinstance(text, str))]
    with scratch_folder("untrusted-") as folder:
        try:
            folder_identity = identity(folder)
            for name in files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
            for name, text in texts:
                with open(folder / name, "xb") as file:
                    file.write(text.encode("utf-8", "replace"))
            for name, path in shared.items():
                os.symlink(path, folder / name)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise ValueError(f"two file names of a sandbox clash, of {MAIN}, {', '.join(files)}: {error}") from error
        except OSError as error:
            raise SandboxFailed(f"a program's working folder {folder} cannot be filled: {error}") from error
        yield Job(folder, shared, limits, timeout, limits.cpu_s or timeout, folder_identity)


def _check(name: str, content: Path | str) -> None:
    """Raises ValueError if the name leads out of the folder, or if a path cannot be shown in it."""
    if "\0" in name or {"", ".", ".."} & set(name.split("/")):
        raise ValueError(f"{name!r} cannot name a file of a sandbox: give a relative name, without ..")
    if isinstance(content, Path) and content.is_symlink():
        raise ValueError(f"{name!r} is to show {content}, which is a link: give what it points to")
    if isinstance(content, Path) and not (content.is_dir() or content.is_file()):
        raise ValueError(f"{name!r} is to show {content}, which is neither a folder nor a file")
