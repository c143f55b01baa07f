"""Readers of the suite's own files. Errors about a damaged file name the file, the line and the fix.

Sealed files are append-only JSON lines with a checksum each, which also covers the run. So every line that is torn,
edited or copied from another run is recognised.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, get_type_hints

from lab.machine.faults import DamagedFile
from lab.machine.paths import ROOT, shown

if TYPE_CHECKING:
    import pandas as pd
    from pydantic import TypeAdapter


T = TypeVar("T")


def checksum(*parts: bytes) -> int:
    """CRC-32 of the concatenated parts: detects faults of a disk and careless edits, but no forgery."""
    sum_ = 0
    for part in parts:
        sum_ = zlib.crc32(part, sum_)
    return sum_


def damaged(path: Path, why: object, remedy: str = "", line: int = 0) -> DamagedFile:
    """The error for a damaged file. remedy: what to do; by default, to restore it from git or from its source."""
    message = f"{shown(path)}{f', line {line}' if line else ''} is damaged: {' '.join(str(why).split())}"
    inside = path.is_relative_to(ROOT)
    default = f"Restore it{f': git checkout -- {shown(path)}' if inside else ' from where it came'}"
    return DamagedFile(f"{message}. {remedy or default}")


def read_whole(path: Path, remedy: str = "", sha256: str = "") -> bytes:
    """A file's bytes, unpacked if it is gzipped. sha256: the required hash of the file, "" for any.

    Raises DamagedFile, also if it is not a file or cannot be read.
    """
    try:
        data = path.read_bytes()
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError("it is not the file that was written, by its sha256")
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise damaged(path, getattr(error, "strerror", None) or error, remedy) from None


def read_text(path: Path, remedy: str = "") -> str:
    """A file's text. Raises DamagedFile."""
    data = read_whole(path, remedy)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged(path, error, remedy, data.count(b"\n", 0, error.start) + 1) from None


class Mismatch(ValueError):
    """A value has the wrong type. where: path of the wrong part, such as `.rates[0]`, "" for the whole value.

    part: the wrong part itself. why: pydantic's message.
    """

    def __init__(self, where: str, part: Any, why: str) -> None:
        super().__init__(f"{where.removeprefix('.')}={part!r}: {why}" if where else why)
        self.where, self.part, self.why = where, part, why


def typed(value: Any, form: type[T], strict: bool = False) -> T:
    """Convert a value of JSON or YAML to `form`, any type that pydantic validates.

    strict: accept no text as a number, and no integer as a boolean. Raises Mismatch, which names the first wrong part.
    """
    from pydantic import ValidationError

    try:
        return cast(T, _adapter(cast(Any, form)).validate_python(value, strict=strict or None))
    except ValidationError as error:
        first = error.errors()[0]
        raise Mismatch(*_part(value, first["loc"]), first["msg"]) from None


def check_fields(record: Any) -> None:
    """Raise Mismatch unless every field of a dataclass has its declared type, elements included."""
    hints = get_type_hints(type(record), include_extras=True)
    for name in (field.name for field in fields(record)):
        try:
            typed(getattr(record, name), hints[name], strict=True)
        except Mismatch as error:
            raise Mismatch(f".{name}{error.where}", error.part, error.why) from None


def _part(value: Any, path: Sequence[int | str]) -> tuple[str, Any]:
    """The path and the value of a part; the value of a missing part is None. path: of a pydantic error."""
    where = ""
    for name in path:  # pydantic's paths also contain branches of unions, which are skipped
        if isinstance(value, dict) and (name in value or name == path[-1]):
            where, value = f"{where}.{name}", value.get(name)
        elif isinstance(value, (list, tuple)) and isinstance(name, int) and name < len(value):
            where, value = f"{where}[{name}]", value[name]
    return where, value


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(form)


def read_json(path: Path, form: type[T], remedy: str = "") -> T:
    """The content of a JSON file, as `form`. Raises DamagedFile."""
    text = read_text(path, remedy)
    try:
        return typed(json.loads(text), form)
    except (ValueError, RecursionError) as error:
        raise damaged(path, error, remedy) from None


def read_yaml(path: Path) -> list[Any]:
    """The entries of a YAML file that holds a list. Raises DamagedFile, also for an empty list."""
    from lab.machine.yaml12 import load

    try:
        entries = load(read_text(path))
    except ValueError as error:
        raise damaged(path, error) from None
    if not isinstance(entries, list) or not entries:
        raise damaged(path, "it holds no list of entries")
    return entries


def read_table(
    path: Path, columns: Sequence[str] = (), numbers: Sequence[str] = (), sha256: str = "", text: bool = False
) -> pd.DataFrame:
    """Read a CSV file that the suite wrote.

    columns: required columns. numbers: columns whose cells are numbers or empty. sha256: as in `read_whole`. text: read
    every cell as text, "" for an empty one. Raises DamagedFile.
    """
    import io

    import pandas as pd

    data = read_whole(path, sha256=sha256)
    try:
        if not data.endswith(b"\n"):  # the csv module ends every row with it
            raise ValueError("it ends in the middle of a line")
        # Only "" is an empty cell; "none" is a backbone.
        options: dict[str, Any] = {"dtype": str} if text else {"na_values": [""]}
        rows = pd.read_csv(io.BytesIO(data), keep_default_na=False, **options)
        if missing := [name for name in columns if name not in rows]:
            raise ValueError(f"it has no column {', '.join(missing)}")
        for name in set(numbers) & set(rows):
            rows[name] = rows[name].astype(float)
    except ValueError as error:
        raise damaged(path, error) from None
    return rows


MANIFEST = "manifest.json"
SUM = b', "sum": "'
REMEDY = (
    "What is whole is safe: the command that made this run sets such lines aside and plays their episodes again. Or "
    "delete its folder to play all of it again"
)


class Line(NamedTuple):
    """One line of a sealed file. number: from 1. value: None if it is invalid. why: what is wrong with it, else ""."""

    number: int
    raw: bytes
    value: Any
    why: str = ""


def sealed(values: Iterable[Any], seal: str) -> bytes:
    """Objects as JSON lines with checksums. seal: the digest of the run's manifest."""
    # A lone surrogate is written as a JSON escape, which reads back as itself.
    texts = (json.dumps(value, ensure_ascii=False, sort_keys=True)[:-1] for value in values)
    bodies = (text.encode("utf-8", "backslashreplace") for text in texts)
    return b"".join(b'%s%s%08x"}\n' % (body, SUM, checksum(seal.encode(), body)) for body in bodies)


def lines_in(data: bytes, seal: str) -> list[Line]:
    """The lines of a file; a torn last line, left by a killed writer, is skipped.

    seal: as in `sealed`; "" for old runs, whose lines have no checksums.
    """
    return [_line(number, raw, seal) for number, raw in enumerate(data.split(b"\n")[:-1], start=1)]


def read_lines(path: Path) -> list[Any]:
    """The objects of a sealed file in a run's folder, [] if it is missing. Raises DamagedFile naming a bad line."""
    if not os.path.lexists(path):
        return []
    manifest = path.parent / MANIFEST
    seal = str(read_json(manifest, dict, REMEDY).get("digest", "")) if manifest.exists() else ""
    lines = lines_in(read_whole(path, REMEDY), seal)
    for line in lines:
        if line.why:
            raise damaged(path, line.why, REMEDY, line.number)
    return [line.value for line in lines]


def _line(number: int, raw: bytes, seal: str) -> Line:
    body, mark, sum_ = raw.rstrip(b"\r").rpartition(SUM)
    if seal and (not mark or sum_ != b'%08x"}' % checksum(seal.encode(), body)):
        return Line(number, raw, None, "its checksum is wrong: it is torn, was changed, or is another run's")
    try:
        value = json.loads(raw.decode("utf-8"))  # json would guess the encoding of bytes
        value.pop("sum", None)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:  # TypeError: a list cannot pop a name
        return Line(number, raw, None, str(error))
    return Line(number, raw, value)
