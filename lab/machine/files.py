"""Writing files so that a reader never sees half of one, and what is written stays."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write through a temporary file in the same folder, fsync, rename; on any failure the old file stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def append_durably(path: Path, data: bytes) -> None:
    """Add `data` at the end: when this returns it survives a power cut, and if it raises, nothing was added.

    A process that is killed meanwhile may leave a part of it.
    """
    new = not path.exists()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _append(file, data)
    finally:
        os.close(file)
    if new:
        _sync_folder(path.parent)


def _append(file: int, data: bytes) -> None:
    size = os.fstat(file).st_size
    try:
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise


def _sync_folder(folder: Path) -> None:
    """A new name survives a power cut only when its folder is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network folders cannot
            os.fsync(handle)
    finally:
        os.close(handle)
