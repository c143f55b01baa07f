"""Indexed corpora in the cache folder, addressed by their content; they may be deleted at any time."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab.machine.paths import answer_cache
from lab.machine.scratch import scratch_folder
from lab.models.cache import key_of
from worlds.multihop.index import FILES, K1, TITLE_COUNTS, B, build
from worlds.multihop.questions import Paragraph
from worlds.multihop.retriever import Retriever
from worlds.multihop.texts import OFFSETS, TEXTS, write_texts

VERSION = 1  # raise it whenever the same corpus gives another index
SUMS = "sums.json"
CHECKED = 1 << 28  # bytes; of larger files only the size is compared, as reading gigabytes takes longer than a search
BLOCK = 1 << 20


def cache_folder() -> Path:
    """Where indexed corpora lie: `multihop` beside the cache of answers."""
    return answer_cache().parent / "multihop"


def indexed(key: Any, paragraphs: Callable[[], Iterable[Paragraph]]) -> Retriever:
    """The retriever of a corpus: from the cache, else built there, about 5 s of CPU time for 10,000 paragraphs.

    key: what decides the content (a checksum; a generator's name, version, seed and size), anything that JSON can hold.
    paragraphs: called to build; read once, as a stream. Raises ValueError for a corpus without paragraphs.
    """
    folder = cache_folder() / key_of([VERSION, K1, B, TITLE_COUNTS, key])
    if not intact(folder):
        store(paragraphs(), folder)
    return Retriever(folder)


def intact(folder: Path) -> bool:
    """Whether a corpus is there as it was written."""
    try:
        return json.loads((folder / SUMS).read_bytes()) == sums(folder)
    except (OSError, ValueError):
        return False


def sums(folder: Path) -> dict[str, list[int]]:
    """Size and, up to CHECKED bytes, CRC-32 of each file."""
    checksums = {}
    for name in (TEXTS, OFFSETS, *FILES):
        path, sum_ = folder / name, 0
        size = path.stat().st_size
        if size <= CHECKED:
            with open(path, "rb") as file:
                while block := file.read(BLOCK):
                    sum_ = zlib.crc32(block, sum_)
        checksums[name] = [size, sum_]
    return checksums


def store(paragraphs: Iterable[Paragraph], folder: Path) -> None:
    """Index a corpus in `folder`, in place of what is there, unless another process was faster."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(".building-", folder.parent) as temporary:
        new = Path(temporary, "new")
        new.mkdir()
        build(write_texts(paragraphs, new), new)
        (new / SUMS).write_text(json.dumps(sums(new)))
        # A folder is renamed onto another only if that is empty; a broken one has to be moved away first.
        if not intact(folder):
            with suppress(FileNotFoundError):
                os.replace(folder, Path(temporary, "broken"))
        try:
            os.replace(new, folder)
        except OSError:  # another process's is there by now
            if not intact(folder):
                raise
