"""Official benchmark data: which datasets exist, whether they are present and complete, and how to fetch them.

A world registers its dataset in pyproject.toml, group `lab.datasets`: name = "module:DATASET". manifests.json has one
entry per dataset, which describes the copy that this suite was tested with:

    needed     files without which the dataset cannot be used
    files      file -> sha256 of its unpacked content, so that packing it differently is no change
    counts     pattern -> number of matching files, for datasets that are folders of many files
    converted  files that `lab data fetch` converts to other bytes; the conversion checks them itself

A process hashes a file's content at its first use, in at most a second, and later recognises it by size and times.
`lab data fetch` writes the hashes of what it fetched to `NAME.fetched.json`, which is accepted like the manifest.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from lab.machine.download import DownloadFailed, Report
from lab.machine.faults import DamagedData, MissingData
from lab.machine.files import write_atomically
from lab.machine.paths import official_data
from lab.machine.printing import hint

LIST = Path(__file__).with_name("manifests.json")
GROUP = "lab.datasets"
FETCHED = ".fetched.json"  # next to the folders: inside one, it would change the keys of caches built from the dataset
REJECTED = "raw.rejected"  # in a dataset's folder: the last download that failed its check
KINDS = ("auto", "official", "synthetic")  # values of `data`
MOST_FAULTS = 3  # listed in a message
UNREADABLE = (OSError, EOFError, zlib.error)  # raised for a truncated or changed gzip file
# What parsers raise for an error page or half a file.
PARSING = (ValueError, LookupError, TypeError, AttributeError, SyntaxError, EOFError, RuntimeError, csv.Error,
           zipfile.BadZipFile, zlib.error)  # fmt: skip


class UnexpectedData(ValueError):
    """A fetched file fails its check (checksum, count or form); the message names it and what to do."""


@dataclass(frozen=True)
class Manifest:
    """One entry of manifests.json (fields: see this module); a `NAME.fetched.json` has only files and counts."""

    files: dict[str, str]
    needed: Sequence[str] = ()
    counts: dict[str, int] = field(default_factory=dict)
    converted: Sequence[str] = ()

    def here(self, data: Path) -> list[str]:
        """The files of the manifest that are present, also as broken links."""
        return [file for file in self.files if os.path.lexists(data / file)]


@cache
def known() -> Mapping[str, Manifest]:
    """Dataset -> its manifest."""
    return {name: Manifest(**entry) for name, entry in json.loads(LIST.read_text(encoding="utf-8")).items()}


def check(name: str) -> None:
    """Raise DamagedData if the dataset is incomplete, or a file of it is truncated or changed.

    A dataset that is absent as a whole passes, and so does one without a manifest.
    """
    data = official_data()
    faults = list(_faults(name, data)) if name in known() else []
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        fetched = name in entry_points(group=GROUP).names
        remedy = f"Fetch it again: python -m lab data fetch {name}" if fetched else "Restore these files, or remove all"
        raise DamagedData(
            f"{name}'s official data in {data} is not whole: {'; '.join(faults[:MOST_FAULTS])}{more}. {remedy}. Or use "
            f"data='synthetic'. If it is what you mean to use, accept it: python -m lab data fetch {name} --as-is"
        )


def accept(name: str) -> Path:
    """Accept the dataset's present files as complete from now on, and return its folder.

    Raises ValueError for a dataset without a manifest.
    Raises DamagedData if a file cannot be read or a needed file is missing. Raises OSError.
    """
    if name not in known():
        raise ValueError(f"no dataset {name!r} has a manifest; there are: {', '.join(known())}")
    manifest, data, files = known()[name], official_data(), dict[str, str]()
    for file in manifest.here(data):
        try:
            files[file] = _sha256(data / file)
        except UNREADABLE as error:
            raise DamagedData(f"{data / file} cannot be read ({error}); fetch or restore it") from None
    missing = [file for file in manifest.needed if file not in files]
    if missing:
        raise DamagedData(f"{name} cannot be used without {', '.join(missing)}, which {data} does not have")
    fetched = Manifest(files, counts=_counts(data, manifest))
    write_atomically(data / f"{name}{FETCHED}", json.dumps(asdict(fetched), indent=1).encode())
    return data / name


def _set_aside(name: str, data: Path) -> None:
    """Rename damaged files that fetching would not replace: folders in place of files, and files that are not needed.

    Other damaged files stay until they are fetched, so that the dataset counts as damaged and not as absent.
    """
    for file in _damaged(name, data):
        path = data / file
        if file not in known()[name].needed or (path.is_dir() and not path.is_symlink()):
            path.rename(path.with_name(f"{path.name}.damaged"))


def _unexpected(name: str, data: Path) -> list[str]:
    """What is wrong with a dataset that was just fetched; files that are converted are not compared."""
    manifest = known().get(name, Manifest({}))
    fixed = [file for file in manifest.here(data) if file not in manifest.converted]
    faults = [_fault(data, file, [manifest.files[file]]) for file in fixed]
    return [*filter(None, faults), *_miscounted(data, manifest, manifest.counts)]


def _faults(name: str, data: Path) -> Iterator[str]:
    manifest, fetched = known()[name], _fetched(data / f"{name}{FETCHED}")
    for folder in sorted({file.partition("/")[0] for file in manifest.files}):
        try:
            if os.path.lexists(data / folder):  # also true for a broken link
                os.listdir(data / folder)
        except OSError as error:
            yield f"{data / folder} is no folder that can be read ({error.strerror})"
            return
    yield from _damaged(name, data).values()
    present = manifest.here(data)
    yield from (f"{file} is missing" for file in manifest.needed if present and file not in present)
    yield from _miscounted(data, manifest, fetched.counts or manifest.counts)


def _damaged(name: str, data: Path) -> dict[str, str]:
    """Damaged file -> what is wrong with it."""
    manifest, fetched = known()[name], _fetched(data / f"{name}{FETCHED}")
    faults = {
        file: _fault(data, file, [source.files[file] for source in (manifest, fetched) if file in source.files])
        for file in manifest.here(data)
    }
    return {file: fault for file, fault in faults.items() if fault}


def _fault(data: Path, file: str, accepted: Sequence[str]) -> str:
    """What is wrong with a file; "" if its content has one of the accepted hashes."""
    try:
        known_content = _sha256(data / file) in accepted
    except UNREADABLE as error:
        return f"{file} cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if known_content else f"{file} is cut or changed: its content has another sha256 than it should"


def _sha256(path: Path) -> str:
    status = path.stat()
    # ctime, too: copying keeps the mtime, and an editor can set it back.
    return _hashed(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@cache
def _hashed(path: Path, *state: int) -> str:
    """sha256 of a file's unpacked content. state: its size and times, the key of the cache."""
    packed = path.suffix == ".gz" and not path.name.endswith(".tar.gz")
    with gzip.open(path, "rb") if packed else open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _counts(data: Path, manifest: Manifest) -> dict[str, int]:
    return {pattern: sum(1 for _ in data.glob(pattern)) for pattern in manifest.counts}


def _miscounted(data: Path, manifest: Manifest, wanted: Mapping[str, int]) -> list[str]:
    """The first pattern with too few or too many files, as a message; [] if none, or if no files are present."""
    counts = _counts(data, manifest)
    wrong = [pattern for pattern in counts if any(counts.values()) and counts[pattern] != wanted.get(pattern)]
    return [f"{pattern} has {counts[pattern]:,} files, not {wanted.get(pattern, 0):,}" for pattern in wrong[:1]]


def _fetched(path: Path) -> Manifest:
    """The manifest of what was fetched; empty if it cannot be read, so that only the official manifest counts."""
    if not path.exists():
        return Manifest({})
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(Manifest).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return Manifest({})


@dataclass(frozen=True)
class Dataset:
    """One dataset. Both functions get its folder, `official_data() / name`.

    about: its content and size, in one line. present: whether the folder has everything that the code reads.
    fetch: download, check and convert into the folder, reporting progress through its second argument; an interrupted
    fetch resumes when it is called again.
    """

    name: str
    about: str
    present: Callable[[Path], bool]
    fetch: Callable[[Path, Report], None]

    @property
    def folder(self) -> Path:
        return official_data() / self.name

    @property
    def here(self) -> bool:
        """Whether the dataset is present. Raises DamagedData if it is incomplete or changed."""
        check(self.name)
        return self.present(self.folder)


def registered() -> dict[str, Dataset]:
    """All datasets by name. Raises ImportError, naming the entry point, if one cannot be loaded."""
    datasets = {}
    # By entry points, since this library must not import worlds, which build on it.
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            datasets[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            raise ImportError(f"dataset {entry.name!r} is registered as {entry.value}, which fails: {error}") from error
    return datasets


def named(name: str) -> Dataset:
    """The dataset of that name. Raises ValueError, which lists the known names."""
    known = registered()
    if name not in known:
        names = ", ".join(known) or "none; install the suite with: python -m pip install -e ."
        raise ValueError(f"no dataset {name!r}; there are: {names}")
    return known[name]


def fetch(name: str, report: Report) -> Path:
    """Fetch a dataset unless it is already present and complete, and return its folder.

    A download that cannot be converted, or differs from the manifest, is set aside, so that the next call fetches it
    again. Raises ValueError for an unknown name, UnexpectedData, and OSError, after which the next call resumes.
    """
    dataset = named(name)
    try:
        present = dataset.here
    except DamagedData as error:
        report(str(error).partition(" Fetch it again")[0])
        _set_aside(name, official_data())
        present = False
    if present:
        report(f"{name} is already in {dataset.folder}")
        return dataset.folder
    dataset.folder.mkdir(parents=True, exist_ok=True)
    try:
        dataset.fetch(dataset.folder, report)
    except (OSError, MemoryError):  # faults of the network or the machine
        raise
    except PARSING as error:
        raise UnexpectedData(_rejected(dataset, str(error) or repr(error))) from error
    except Exception as error:  # the hub client's own, such as a timeout that is no OSError
        remedy = f"run the same command again, it goes on: python -m lab data fetch {name}"
        raise DownloadFailed(f"{name} could not be fetched: {error!r}; {remedy}") from error
    faults = _unexpected(name, official_data())
    # Checked again: a conversion may succeed and still lack something that the code reads.
    if faults or not dataset.present(dataset.folder):
        raise UnexpectedData(_rejected(dataset, "; ".join(faults) or f"{dataset.folder} lacks a part of it"))
    return accept(name) if name in known() else dataset.folder


def check_kind(data: str) -> str:
    """Returns a value of `data` as it is. Raises ValueError for one that is none of KINDS."""
    if data not in KINDS:
        raise ValueError(f"data={data!r}; choose one of {', '.join(map(repr, KINDS))}{hint(str(data), KINDS)}")
    return data


def choose_data(data: str, present: bool, what: str) -> str:
    """Resolve a notebook's `data` parameter to "official" or "synthetic".

    data: "auto" (official if `present`, else synthetic), "official" or "synthetic". what: the dataset's name.
    Raises DamagedData if the dataset is incomplete or damaged, unless data="synthetic".
    Raises MissingData for data="official" if the dataset is absent, ValueError for another value.
    """
    if check_kind(data) != "synthetic":
        check(what)
    if data == "official" and not present:
        raise MissingData(
            f"{what}'s official data is not in {official_data()}. Fetch it with: python -m lab data fetch {what}, "
            "or set LAB_DATA to a folder that has it, or use data='synthetic'"
        )
    return "official" if data != "synthetic" and present else "synthetic"


def _rejected(dataset: Dataset, why: str) -> str:
    raw, aside = dataset.folder / "raw", dataset.folder / REJECTED
    where = f"; what was downloaded is now in {aside}" if raw.exists() else ""
    if raw.exists():
        shutil.rmtree(aside, ignore_errors=True)
        raw.replace(aside)
    return (
        f"what was fetched of {dataset.name} is not what this suite was made for: {why}{where}. Fetch it again with: "
        f"python -m lab data fetch {dataset.name}"
    )
