"""Manifests of official data: the files of each dataset, their rows and sha256, and checks against them.

manifests.json has one entry a dataset, of the copy that this suite was tested with:

    needed   files without which the dataset cannot be used
    files    file -> rows, size in bytes and sha256 of its content, unpacked: another way of packing it is no change
    counts   pattern -> number of its files, for what is kept as a tree
    rows     files whose conversion by `lab data fetch` has other bytes, but as many rows
    other    files whose conversion has other rows too, which the fetching itself counts

A content is hashed when it is first used, and then known by the file's size and times, so that no later run pays.
What `lab data fetch` brought, it notes in `NAME.fetched.json`, which counts as much as the manifest.

    python -m lab.machine.manifests FOLDER    # writes `files` anew, from a folder of official data
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from lab.machine.faults import DamagedData
from lab.machine.files import write_atomically

LIST = Path(__file__).with_name("manifests.json")
NOTED = ".fetched.json"  # beside the folders: a file in a dataset's own would change the keys of what is built from it
BLOCK = 1 << 20  # bytes read at a time
TOLD = 3  # faults that one message names
# Of gzip, text and rows that are cut or changed.
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError, csv.Error)

Memory = dict[str, Any]  # file -> its size and times, then size and sha256 of its content
_hashed: Memory = {}  # by this process, for where nothing can be written


@dataclass(frozen=True)
class Entry:
    """The content of one file. size: in bytes, unpacked."""

    rows: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """One entry of manifests.json, where the fields are explained; a `NAME.fetched.json` has files and counts alone."""

    files: dict[str, Entry]
    needed: Sequence[str] = ()
    counts: dict[str, int] = field(default_factory=dict)
    rows: Sequence[str] = ()
    other: Sequence[str] = ()

    def here(self, data: Path) -> list[str]:
        """Which of its files are there, if only as a link that leads nowhere."""
        return [file for file in self.files if os.path.lexists(data / file)]


def check(name: str, data: Path, memory: Path) -> None:
    """Raise DamagedData if the dataset is here only in part, or a file of it is cut or changed.

    A dataset of which nothing is here passes, and so does one without a manifest. data: the folder of official data.
    memory: the file that keeps what was hashed.
    """
    faults = list(_faults(name, data, memory)) if name in known() else []
    if faults:
        from importlib.metadata import entry_points

        told = "; ".join(faults[:TOLD]) + (f"; and {len(faults) - TOLD} more" if len(faults) > TOLD else "")
        fetched = name in entry_points(group="lab.datasets").names
        mend = f"Fetch it again: python -m lab data fetch {name}" if fetched else "Restore these files, or remove all"
        raise DamagedData(
            f"{name}'s official data in {data} is not whole: {told}. {mend}. Or use data='synthetic'. If it is what "
            f"you mean to use, accept it: python -m lab data fetch {name} --as-is"
        )


def note(name: str, data: Path) -> None:
    """Write down what is here of the dataset, which then counts as whole. Raises DamagedData, OSError."""
    manifest, files = known()[name], {}
    for file in manifest.here(data):
        try:
            files[file] = _entry(data / file)
        except UNREADABLE as error:
            raise DamagedData(f"{data / file} cannot be read ({error}); fetch or restore it") from None
    lacking = [file for file in manifest.needed if file not in files]
    if lacking:
        raise DamagedData(f"{name} cannot be used without {', '.join(lacking)}, which {data} does not have")
    counts = {pattern: _count(data, pattern) for pattern in manifest.counts}
    write_atomically(data / f"{name}{NOTED}", json.dumps(asdict(Manifest(files, counts=counts)), indent=1).encode())


def set_aside(name: str, data: Path) -> None:
    """Rename what is damaged and what fetching would not replace: folders in a file's place, and files it never brings.

    A damaged file that it does bring stays until then, so that the dataset counts as damaged and not as absent.
    """
    for file in _damaged(name, data, {}):
        path = data / file
        if file not in known()[name].needed or (path.is_dir() and not path.is_symlink()):
            path.rename(path.with_name(f"{path.name}.damaged"))


def unexpected(name: str, data: Path) -> list[str]:
    """What of a dataset that was just fetched is neither as in the manifest nor as the conversion may have it."""
    manifest = known().get(name, Manifest({}))
    wrong = [_miscounted(data, manifest.counts)]
    for file in manifest.here(data):
        wanted = manifest.files[file]
        if file in manifest.rows:
            rows = _rows(data / file)
            wrong.append(f"{file} has {rows:,} rows, not {wanted.rows:,}" if rows != wanted.rows else "")
        elif file not in manifest.other:
            wrong.append(_fault(data, file, [wanted], {}))
    return [fault for fault in wrong if fault]


@cache
def known() -> Mapping[str, Manifest]:
    """The manifests by dataset."""
    return {
        name: Manifest(**entry | {"files": {file: Entry(**of) for file, of in entry["files"].items()}})
        for name, entry in json.loads(LIST.read_text(encoding="utf-8")).items()
    }


def _faults(name: str, data: Path, memory: Path) -> Iterator[str]:
    manifest = known()[name]
    for folder in sorted({file.partition("/")[0] for file in manifest.files}):
        try:
            if os.path.lexists(data / folder):  # so is a link that leads nowhere
                os.listdir(data / folder)
        except OSError as error:
            yield f"{data / folder} is no folder that can be read ({error.strerror})"
            return
    here, noted, before = manifest.here(data), _noted(data / f"{name}{NOTED}"), _json(memory)
    hashed = before | _hashed
    yield from _damaged(name, data, hashed).values()
    if hashed != before:
        _hashed.update(hashed)
        _keep(memory, hashed)
    if here:
        yield from (f"{file} is missing" for file in manifest.needed if file not in here)
    if miscounted := _miscounted(data, noted.counts or manifest.counts):
        yield miscounted


def _damaged(name: str, data: Path, hashed: Memory) -> dict[str, str]:
    """File -> what is wrong with it."""
    manifest, noted = known()[name], _noted(data / f"{name}{NOTED}")
    accepted = {
        file: [files[file] for files in (manifest.files, noted.files) if file in files] for file in manifest.here(data)
    }
    faults = {file: _fault(data, file, entries, hashed) for file, entries in accepted.items()}
    return {file: fault for file, fault in faults.items() if fault}


def _fault(data: Path, file: str, accepted: Sequence[Entry], hashed: Memory) -> str:
    """What is wrong with a file, "" if its content is an accepted one."""
    path, wanted = data / file, accepted[-1]  # what was fetched here tells more than the manifest
    contents = [[entry.size, entry.sha256] for entry in accepted]
    most = max(entry.size for entry in accepted)
    try:
        status = path.stat()
        # The time of the last change to the inode too: copies keep the other one, and so does who edits in secret.
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        if hashed.get(str(path)) in [state + content for content in contents]:
            return ""
        content = _content(path, most)
        if content in contents:
            hashed[str(path)] = state + content
            return ""
        if content[0] > most:
            return f"{file} is longer than the {wanted.size:,} bytes that it should have"
        rows = _rows(path)
    except UNREADABLE as error:
        return f"{file} cannot be read ({getattr(error, 'strerror', None) or error})"
    if rows != wanted.rows:
        return f"{file} has {rows:,} rows, not {wanted.rows:,}"
    return f"{file} has {rows:,} rows as it should, but another content"


def _entry(path: Path) -> Entry:
    size, sha256 = _content(path)
    return Entry(_rows(path), size, sha256)


def _content(path: Path, most: float = float("inf")) -> list[Any]:
    """Size and sha256 of what is in a file, unpacked; read only until it is longer than `most` bytes."""
    digest, size = hashlib.sha256(), 0
    with gzip.open(path, "rb") if _gzipped(path) else open(path, "rb") as file:
        while size <= most and (block := file.read(BLOCK)):
            digest.update(block)
            size += len(block)
    return [size, digest.hexdigest()]


def _rows(path: Path) -> int:
    """Records in a file: the rows of a CSV below its header, the items of a JSON, else the lines that are not blank."""
    if path.name.endswith((".tar.gz", ".zip")):
        return 1
    with _text(path) as text:
        if ".csv" in path.suffixes:
            return sum(1 for _ in csv.reader(text)) - 1
        if ".json" in path.suffixes:
            return len(json.load(text))
        return sum(1 for line in text if line.strip())


def _text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return open(path, encoding="utf-8", newline="")


def _gzipped(path: Path) -> bool:
    return path.suffix == ".gz" and not path.name.endswith(".tar.gz")


def _miscounted(data: Path, counts: Mapping[str, int]) -> str:
    """Of a tree of files, of which some are here: the first pattern that has too few or too many."""
    found = {pattern: _count(data, pattern) for pattern in counts}
    wrong = [pattern for pattern in counts if any(found.values()) and found[pattern] != counts[pattern]]
    return f"{wrong[0]} has {found[wrong[0]]:,} files, not {counts[wrong[0]]:,}" if wrong else ""


def _count(data: Path, pattern: str) -> int:
    return sum(1 for _ in data.glob(pattern))


def _noted(path: Path) -> Manifest:
    """What was noted at the fetching, nothing where that is not to be read: the manifest stands then."""
    if not path.exists():
        return Manifest({})
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(Manifest).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return Manifest({})


def _json(path: Path) -> Memory:
    """What is remembered, nothing where that is not to be read: it is hashed again then."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(memory: Path, hashed: Memory) -> None:
    with suppress(OSError):  # a cache that cannot be written costs time only, and the doctor names it
        write_atomically(memory, json.dumps(_json(memory) | hashed).encode())


def main(folder: Path) -> None:
    """Write the rows and hashes of all files in the manifests anew."""
    manifests = json.loads(LIST.read_text(encoding="utf-8"))
    for manifest in manifests.values():
        manifest["files"] = {file: asdict(_entry(folder / file)) for file in sorted(manifest["files"])}
    LIST.write_text(json.dumps(manifests, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
