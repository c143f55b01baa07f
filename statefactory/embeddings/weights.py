"""Where a model's files lie, and the hash by which they are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from lab.models import weights
from statefactory.embeddings.vectors import MissingEmbedder

LIST = Path(__file__).with_name("known.yaml")
NEVER_READ = ("onnx/*", "openvino/*", "coreml/*", "*.h5", "*.ot", "*.msgpack", "*.gguf")


@dataclass(frozen=True)
class Entry:
    """One model; known.yaml explains the fields. folder: where the user says that the files are."""

    name: str
    about: str = ""
    package: str = ""
    distribution: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    hub: str = ""
    folder: str = ""
    prefix: str = ""
    modules: int | None = None


@cache
def entries() -> Mapping[str, Entry]:
    """The models of known.yaml, by name."""
    import yaml

    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return {name: Entry(name, **fields) for name, fields in listed.items()}


def entry(name: str) -> Entry:
    """The model of that name: one of known.yaml, else a folder, else an address on the hub."""
    if name in entries():
        return entries()[name]
    if Path(name).is_dir():
        return Entry(name, folder=name)
    return Entry(name, hub=name if "/" in name else f"sentence-transformers/{name}")


def present(known: Entry) -> bool:
    """Whether the files are on this machine."""
    try:
        located(known, download=False)
    except MissingEmbedder:
        return False
    return True


def fingerprint(known: Entry) -> str:
    """What the files are known by: a hash over all of them, or the hub's commit; nothing is loaded."""
    if known.package:
        return _digest(known.files)
    if known.model:
        return _digest(weights.named(known.model).files)
    if known.folder:
        return _of_folder(Path(known.folder).resolve())
    return f"{known.hub}@{located(known).name}"


def located(known: Entry, download: bool = True) -> Path:
    """The folder of the files. download: whether the hub may be asked for them. Raises MissingEmbedder."""
    if known.package:
        return _in_package(known)
    if known.model:
        try:
            return weights.located(known.model)
        except weights.MissingModel as error:
            raise MissingEmbedder(f"{known.name}: {error}") from None
    return Path(known.folder) if known.folder else _from_hub(known.name, known.hub, download)


def checked(known: Entry) -> Path:
    """The folder of the files, compared with their pinned hashes once a process. Raises WrongHash."""
    folder = located(known)
    if known.package:
        _check(folder, tuple(known.files.items()), known.distribution)
    elif known.model:
        _check_model(known.model)
    return folder


def _in_package(known: Entry) -> Path:
    # Its code is not imported: whoever made the package need not be trusted, only the pinned files are read.
    spec = find_spec(known.package)
    places = [Path(place) / "model" for place in (spec.submodule_search_locations or ())] if spec else []
    folder = next((place for place in places if all((place / file).is_file() for file in known.files)), None)
    if folder is None:
        raise MissingEmbedder(
            f"The files of {known.name} come with the package {known.distribution}, which is not installed or not "
            "whole. Install it with: python -m pip install -r requirements.txt"
        )
    return folder


def _from_hub(name: str, hub: str, download: bool) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(huggingface_hub.snapshot_download(hub, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        reason: Exception = error
    if download and not isinstance(reason, HFValidationError):
        try:
            return Path(huggingface_hub.snapshot_download(hub, ignore_patterns=list(NEVER_READ)))
        except Exception as error:  # the hub's many ways to say no: none, offline, gated, unknown
            reason = error
    raise MissingEmbedder(
        f"The embedding model {name} is neither a folder here nor among the files of the Hugging Face hub that this "
        f"machine has, and the hub did not give {hub} ({type(reason).__name__}). Where the hub can be reached: "
        f"hf download {hub} (after `hf auth login` if its authors ask for one); then copy the folder here and give its "
        "path as the name"
    )


@cache
def _check(folder: Path, files: tuple[tuple[str, str], ...], distribution: str) -> None:
    for file, pinned in files:
        found = weights.sha256_of(folder / file)
        if found != pinned:
            raise weights.WrongHash(
                f"{folder / file} has sha256 {found}, and {pinned} is pinned in {LIST.name}. Install the package anew: "
                f"python -m pip install --force-reinstall --no-deps {distribution}"
            )


@cache
def _check_model(name: str) -> None:
    weights.checked(weights.named(name), weights.folder())


@cache
def _of_folder(folder: Path) -> str:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not _hidden(path.relative_to(folder)))
    return _digest({path.relative_to(folder).as_posix(): weights.sha256_of(path) for path in files})


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256("\n".join(f"{file} {files[file]}" for file in sorted(files)).encode()).hexdigest()
