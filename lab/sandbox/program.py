"""A program for the sandbox: its job, limits, result and errors, and the interpreter that runs it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from lab.machine.faults import BackendDied, Unavailable
from lab.machine.scratch import identity, scratch_folder

MAIN = "main.py"
MB = 2**20
Ending = Literal["exit", "timeout", "output", "disk", "threads", "killed"]


class SandboxUnavailable(Unavailable):
    """The sandbox does not hold on this machine; the message says why. Stops the run; no episode counts as failed."""


class SandboxFailed(BackendDied):
    """The machine kept a program from running or ending, so there is no result of the program.

    The harness plays such an episode once more, so no program may be able to cause this: see `lab.sandbox.watching`.
    """


@dataclass(frozen=True)
class Limits:
    """Resource limits of one program. A program has one process, so every limit holds for the program as a whole.

    cpu_s: seconds of processor time of all threads together; None: the wall-clock timeout.
    output_bytes: of standard output, and the same for standard error.
    disk_mb, disk_entries: in the working folder, which is removed when the program ends; they include the texts that
    the program is given, and removed files that it still has open.
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
    """How a program ended and what it printed; bytes that are not UTF-8 become U+FFFD.

    ended: exit (by itself), timeout (wall clock or processor time), output, disk, threads (limit exceeded), killed (by
    a signal). returncode: None unless ended is exit or killed; for a signal, minus its number.
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
    """A program that is ready to start.

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
    """The job, with code and files in its own folder, which is removed afterwards whatever the program left in it.

    Raises SandboxFailed if the folder cannot be filled, as on a full disk.
    Raises ValueError for an invalid name or path.
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
    """Raises ValueError if the name leads out of the folder, or if a path cannot be made visible in it."""
    if "\0" in name or {"", ".", ".."} & set(name.split("/")):
        raise ValueError(f"{name!r} cannot name a file of a sandbox: give a relative name, without ..")
    if isinstance(content, Path) and content.is_symlink():
        raise ValueError(f"{name!r} is to show {content}, which is a link: give what it points to")
    if isinstance(content, Path) and not (content.is_dir() or content.is_file()):
        raise ValueError(f"{name!r} is to show {content}, which is neither a folder nor a file")


# Loads all extension modules of the standard library, and prints the files that the process then has mapped.
PROBE = """
import importlib, json, os, pkgutil, sys
folders = [path for path in sys.path if os.path.isdir(path)]
for module in pkgutil.iter_modules([path for path in folders if path.endswith("lib-dynload")]):
    if not module.name.startswith(("_test", "_xx", "xx", "_tkinter")):
        try:
            importlib.import_module(module.name)
        except Exception:
            pass
mapped = {line.split(maxsplit=5)[5].rstrip() for line in open("/proc/self/maps") if "/" in line}
print(json.dumps({"folders": folders, "mapped": sorted(path for path in mapped if os.path.isfile(path))}))
"""
ALSO_NEEDED = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/dev/urandom")
PACKAGES = ("site-packages", "dist-packages")


def environment(home: str) -> dict[str, str]:
    """All environment variables of a program. Hash seed and time zone make its output the same on every machine."""
    return {"LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "PYTHONHASHSEED": "0", "TZ": "UTC"}


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter. executable: the one behind a virtual environment. library: folders of the standard library.

    readable: the files and folders that it needs when it runs, without installed packages.
    """

    executable: Path
    library: tuple[Path, ...]
    readable: tuple[Path, ...]

    def command(self, *arguments: str) -> list[str]:
        """The command line: UTF-8; no site packages, modules of the user or the current folder, or bytecode files."""
        return [str(self.executable), "-P", "-s", "-S", "-B", "-X", "utf8", *arguments]


@cache
def interpreter() -> Interpreter:
    """The interpreter that runs this process. Raises SandboxUnavailable if it does not say what it needs."""
    executable = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    probe = [str(executable), "-I", "-S", "-c", PROBE]
    try:
        answer = subprocess.run(probe, capture_output=True, check=True, timeout=60, env={}, cwd="/")
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"the interpreter {executable} does not say what it needs: {error}") from error
    needed = json.loads(answer.stdout)
    folders = {Path(path).resolve() for path in needed["folders"]}
    library = tuple(sorted(folder for folder in folders if not folders & set(folder.parents)))
    # Rights on a folder include everything within, so the library is granted entry by entry, without its packages.
    entries = {path for folder in library for path in folder.iterdir() if path.name not in PACKAGES}
    files = {Path(path) for path in (*needed["mapped"], *ALSO_NEEDED)}
    return Interpreter(executable, library, tuple(sorted(path for path in entries | files if path.exists())))
