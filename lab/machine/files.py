"""Atomic and durable writes, which survive a crash, and hashes of files and values."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def sha256_of(path: Path) -> str:
    """sha256 of a file, as hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical(value: Any) -> str:
    """Canonical JSON of a value: the same text whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(value: Any) -> str:
    """sha256 of a value's canonical JSON, as hex: the key of requests, caches and random generators."""
    # surrogatepass: fields may hold a lone surrogate, from a badly decoded file, and need a key, too.
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary file in the same folder, fsync and rename it; on any failure the old file stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder: a rename is atomic only within one file system.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp gives 0600, which nobody else on a shared machine could read
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):  # the error of a full disk names no file
            error.filename = error.filename or str(path)
        raise
    _sync_folder(path.parent)


def append_durably(path: Path, data: bytes) -> None:
    """Append `data` to a file. Once this returns, the data survive a power cut; if it raises, nothing was appended.

    A process that is killed in between may leave a part of the data.
    """
    new = not path.exists()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    size = os.fstat(file).st_size
    try:
        while data:
            data = data[os.write(file, data) :]  # an almost full disk accepts a part, and raises at the next write
        os.fsync(file)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise
    finally:
        os.close(file)
    if new:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """fsync a folder: a new file name survives a power cut only if its folder is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network folders do not support it
            os.fsync(handle)
    finally:
        os.close(handle)
