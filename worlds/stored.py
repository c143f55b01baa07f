"""Folders in the cache that hold what takes long to make, addressed by their content; they may be deleted at any time.

A folder is built under another name and renamed, so that workers do not clash; `sums.json` has the checksums of its
files, so that a torn or damaged one is made again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab.machine.files import key_of
from lab.machine.paths import answer_cache
from lab.machine.scratch import scratch_folder

SUMS = "sums.json"
CHECKED = 1 << 28  # bytes; of larger files only the size is compared, as reading gigabytes takes longer than their use
BLOCK = 1 << 20


def cache_folder(name: str) -> Path:
    """Where such folders lie, beside the cache of answers."""
    return answer_cache().parent / name


def stored(name: str, key: Any, files: Sequence[str], make: Callable[[Path], None]) -> Path:
    """A folder with some files: from the cache, else made there.

    name: of the part of the cache. key: what decides the content, anything that JSON can hold. make: writes the files
    into an empty folder; what it raises comes through, and leaves nothing behind.
    """
    folder = cache_folder(name) / key_of(key)
    if intact(folder, files):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(".building-", folder.parent) as temporary:
        new = Path(temporary, "new")
        new.mkdir()
        make(new)
        (new / SUMS).write_text(json.dumps(sums(new, files)))
        # A folder is renamed onto another only if that is empty; a broken one has to be moved away first.
        if not intact(folder, files):
            with suppress(FileNotFoundError):
                os.replace(folder, Path(temporary, "broken"))
        try:
            os.replace(new, folder)
        except OSError:  # another process's is there by now
            if not intact(folder, files):
                raise
    return folder


def intact(folder: Path, files: Sequence[str]) -> bool:
    """Whether the folder is there as it was written."""
    try:
        return json.loads((folder / SUMS).read_bytes()) == sums(folder, files)
    except (OSError, ValueError):
        return False


def sums(folder: Path, files: Sequence[str]) -> dict[str, list[int]]:
    """Size and, up to CHECKED bytes, CRC-32 of each file."""
    checksums = {}
    for name in files:
        path, checksum = folder / name, 0
        size = path.stat().st_size
        if size <= CHECKED:
            with open(path, "rb") as file:
                while block := file.read(BLOCK):
                    checksum = zlib.crc32(block, checksum)
        checksums[name] = [size, checksum]
    return checksums
