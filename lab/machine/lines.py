"""Sealed lines: append-only files of JSON lines, each with a checksum that covers its run, too.

What was torn, edited or copied from another run is told from what is whole, line by line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.reading import checksum, damaged, read_json, read_whole

MANIFEST = "manifest.json"
SUM = b', "sum": "'
REMEDY = (
    "What is whole is safe: the command that made this run sets such lines aside and plays their episodes anew. Or "
    "delete its folder to play all of it again"
)


class Line(NamedTuple):
    """number: from 1. value: None where `why` says what is wrong with it."""

    number: int
    raw: bytes
    value: Any
    why: str = ""


def sealed(values: Iterable[Any], seal: str) -> bytes:
    """Objects as lines. seal: the digest of the run's manifest."""
    # A lone surrogate becomes its JSON escape, and reads back as itself.
    texts = (json.dumps(value, ensure_ascii=False, sort_keys=True)[:-1] for value in values)
    bodies = (text.encode("utf-8", "backslashreplace") for text in texts)
    return b"".join(b'%s%s%08x"}\n' % (body, SUM, checksum(seal.encode(), body)) for body in bodies)


def lines_in(data: bytes, seal: str) -> list[Line]:
    """The lines of a file; a torn last one, which was being written, is passed over.

    seal: "" for a run of before lines had checksums.
    """
    return [_line(number, raw, seal) for number, raw in enumerate(data.split(b"\n")[:-1], start=1)]


def read_lines(path: Path) -> list[Any]:
    """The objects of a file in a run's folder, [] if it is not there. Raises DamagedFile naming the first bad line."""
    if not os.path.lexists(path):
        return []
    lines = lines_in(read_whole(path, REMEDY), seal_of(path.parent))
    for line in lines:
        if line.why:
            raise damaged(path, line.why, REMEDY, line.number)
    return [line.value for line in lines]


def seal_of(folder: Path) -> str:
    """What the lines of a run's folder are sealed with. Raises DamagedFile."""
    path = folder / MANIFEST
    return str(read_json(path, dict, REMEDY).get("digest", "")) if path.exists() else ""


def _line(number: int, raw: bytes, seal: str) -> Line:
    body, mark, sum_ = raw.rstrip(b"\r").rpartition(SUM)
    if seal and (not mark or sum_ != b'%08x"}' % checksum(seal.encode(), body)):
        return Line(number, raw, None, "its checksum is wrong: it is torn, was changed, or is another run's")
    try:
        value = json.loads(raw.decode("utf-8"))  # of bytes, json would guess the encoding
        value.pop("sum", None)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:  # a list pops, but no name
        return Line(number, raw, None, str(error))
    return Line(number, raw, value)
