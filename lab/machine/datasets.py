"""Registry of official benchmark data: which datasets there are, whether they are here, and fetching them.

A world registers its dataset in pyproject.toml, group `lab.datasets`: name = "module:DATASET".
"""

from __future__ import annotations

import csv
import shutil
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from lab.machine import manifests
from lab.machine.download import DownloadFailed, Report
from lab.machine.faults import DamagedData
from lab.machine.paths import checked_data, official_data

GROUP = "lab.datasets"
# What parsers say of a page of excuses or half a file.
PARSING = (ValueError, LookupError, TypeError, AttributeError, SyntaxError, EOFError, RuntimeError, csv.Error,
           zipfile.BadZipFile, zlib.error)  # fmt: skip
REJECTED = "raw.rejected"  # in a dataset's folder: the last download that was not what it should be


class UnexpectedData(ValueError):
    """A fetched file fails its check (checksum, count or form); the message names it and what to do."""


@dataclass(frozen=True)
class Dataset:
    """One dataset. Both functions get its folder, `official_data() / name`.

    about: one line saying what it is and how large. present: whether all that the code reads is in the folder.
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
        """Whether the dataset is here. Raises DamagedData if only a part of it is, or it is not what it should be."""
        manifests.check(self.name, official_data(), checked_data())
        return self.present(self.folder)


def registered() -> dict[str, Dataset]:
    """All datasets by name. Raises ImportError, naming the entry point, if one cannot be loaded."""
    datasets = {}
    # By entry points: worlds lie above this library, and it must not import them by name.
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            datasets[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            raise ImportError(f"dataset {entry.name!r} is registered as {entry.value}, which fails: {error}") from error
    return datasets


def named(name: str) -> Dataset:
    """The dataset of that name. Raises ValueError, listing the names."""
    known = registered()
    if name not in known:
        names = ", ".join(known) or "none; install the suite with: python -m pip install -e ."
        raise ValueError(f"no dataset {name!r}; there are: {names}")
    return known[name]


def fetch(name: str, report: Report) -> Path:
    """Fetch a dataset unless it is already here and whole, and return its folder.

    A download that cannot be converted, or is not what the manifest says, is set aside, so that the next call fetches
    it again. Raises ValueError, UnexpectedData, and OSError, after which the next call resumes.
    """
    dataset = named(name)
    try:
        here = dataset.here
    except DamagedData as error:
        report(str(error).partition(" Fetch it again")[0])
        manifests.set_aside(name, official_data())
        here = False
    if here:
        report(f"{name} is already in {dataset.folder}")
        return dataset.folder
    dataset.folder.mkdir(parents=True, exist_ok=True)
    try:
        dataset.fetch(dataset.folder, report)
    except (OSError, MemoryError):  # of the network or the machine
        raise
    except PARSING as error:
        raise UnexpectedData(_rejected(dataset, str(error) or repr(error))) from error
    except Exception as error:  # the hub's client has kinds of its own, such as a time-out that is no OSError
        again = f"run the same command again, it goes on: python -m lab data fetch {name}"
        raise DownloadFailed(f"{name} could not be fetched: {error!r}; {again}") from error
    wrong = manifests.unexpected(name, official_data())
    # Asked again: a conversion may pass and still leave out what the code reads.
    if wrong or not dataset.present(dataset.folder):
        raise UnexpectedData(_rejected(dataset, "; ".join(wrong) or f"{dataset.folder} lacks a part of it"))
    if name in manifests.known():
        manifests.note(name, official_data())
    return dataset.folder


def accept(name: str) -> Path:
    """Take what is here of a dataset for whole from now on, and return its folder.

    Raises ValueError, DamagedData if a file cannot be read or none can be used without it, OSError.
    """
    if name not in manifests.known():
        raise ValueError(f"no dataset {name!r} has a manifest; there are: {', '.join(manifests.known())}")
    manifests.note(name, official_data())
    return official_data() / name


def _rejected(dataset: Dataset, why: str) -> str:
    raw, aside = dataset.folder / "raw", dataset.folder / REJECTED
    kept = f"; what was downloaded is now in {aside}" if raw.exists() else ""
    if raw.exists():
        shutil.rmtree(aside, ignore_errors=True)
        raw.replace(aside)
    return (
        f"what was fetched of {dataset.name} is not what this suite was made for: {why}{kept}. Fetch it again with: "
        f"python -m lab data fetch {dataset.name}"
    )
