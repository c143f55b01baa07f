"""Registry of official benchmark data: which datasets there are, whether they are here, and fetching them.

A world registers its dataset in pyproject.toml, group `lab.datasets`: name = "module:DATASET".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from lab.machine.paths import official_data

GROUP = "lab.datasets"

Report = Callable[[str], None]


class UnknownDataset(ValueError):
    """No dataset of that name is registered; the message lists those that are."""


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


def registered() -> dict[str, Dataset]:
    """All datasets by name. Raises ImportError, naming the entry point, if one cannot be loaded."""
    found = {}
    # By entry points: worlds lie above this library, and it must not import them by name.
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            raise ImportError(f"dataset {entry.name!r} is registered as {entry.value}, which fails: {error}") from error
    return found


def named(name: str) -> Dataset:
    """The dataset of that name. Raises UnknownDataset, listing the names."""
    known = registered()
    if name not in known:
        names = ", ".join(known) or "none; install the suite with: python -m pip install -e ."
        raise UnknownDataset(f"no dataset {name!r}; there are: {names}")
    return known[name]


def fetch(name: str, report: Report) -> Path:
    """Fetch a dataset unless it is already here, and return its folder."""
    dataset = named(name)
    if dataset.present(dataset.folder):
        report(f"{name} is already in {dataset.folder}")
    else:
        dataset.folder.mkdir(parents=True, exist_ok=True)
        dataset.fetch(dataset.folder, report)
        # Asked again: a conversion may pass and still leave out what the code reads.
        if not dataset.present(dataset.folder):
            raise RuntimeError(
                f"{name} was fetched, but {dataset.folder} still lacks a part of it; remove it and try again"
            )
    return dataset.folder
