"""Cache folders for files that take long to build, named by a hash of what determines them; may be deleted any time.

A folder is built under another name and renamed, so that workers do not clash. `sums.json` has the checksums of its
files; a folder with torn or damaged files is built again.
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
CHECKED = 1 << 28  # bytes; larger files are compared by size alone: reading gigabytes takes longer than their use
BLOCK = 1 << 20


def cache_folder(name: str) -> Path:
    """The parent of a part's cache folders, next to the cache of answers."""
    return answer_cache().parent / name


def stored(name: str, key: Any, files: Sequence[str], make: Callable[[Path], None]) -> Path:
    """A folder with these files, from the cache; on a cache miss it is built.

    name: the part of the cache. key: what determines the content, any JSON value. make: writes the files into an empty
    folder; its exceptions are passed on, and nothing is left behind.
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
        # `os.replace` replaces an empty folder only; a broken one has to be moved away first.
        if not intact(folder, files):
            with suppress(FileNotFoundError):
                os.replace(folder, Path(temporary, "broken"))
        try:
            os.replace(new, folder)
        except OSError:  # another process has built it meanwhile
            if not intact(folder, files):
                raise
    return folder


def intact(folder: Path, files: Sequence[str]) -> bool:
    """Whether the folder exists and its files match their checksums."""
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
