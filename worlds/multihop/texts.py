"""A corpus on disk: paragraphs one behind the other in a file, mapped into memory and found by their number."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

from worlds.multihop.questions import Paragraph

TEXTS, OFFSETS = "texts.bin", "offsets.npy"


def write_texts(paragraphs: Iterable[Paragraph], folder: Path) -> Iterator[Paragraph]:
    """Write the paragraphs while handing them on; 16 bytes of memory each."""
    import numpy as np

    offsets, offset = array("q", [0]), 0
    with open(folder / TEXTS, "wb") as file:
        for paragraph in paragraphs:
            for part in paragraph:
                offset += file.write(part.encode("utf-8", "surrogatepass"))
                offsets.append(offset)
            yield paragraph
    np.save(folder / OFFSETS, np.frombuffer(offsets, dtype=np.int64))


class Texts:
    """The paragraphs of a folder that `write_texts` wrote, by number from 0; any number of threads may read."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        # An array in memory of its own: mapped, each look-up of one number would cost microseconds.
        self._offsets = np.load(folder / OFFSETS)
        with open(folder / TEXTS, "rb") as file:
            # An empty file cannot be mapped.
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._offsets[-1] else b""

    def __len__(self) -> int:
        return len(self._offsets) // 2

    def __getitem__(self, number: int) -> Paragraph:
        start, middle, end = self._offsets[2 * number : 2 * number + 3].tolist()
        title, text = (
            self._bytes[part].decode("utf-8", "surrogatepass") for part in (slice(start, middle), slice(middle, end))
        )
        return Paragraph(title, text)
