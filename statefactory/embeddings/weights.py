"""Locates the files of embedding models, and computes the fingerprints that identify them in the cache.

Pinned files are listed in lab/machine/weights.yaml. This module adds models of the Hugging Face hub, the user's
folders, and the paper's preprocessing of each model's texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.machine import weights
from lab.machine.faults import MissingData, Unavailable

NEVER_READ = ("onnx/*", "openvino/*", "coreml/*", "*.h5", "*.ot", "*.msgpack", "*.gguf")


class MissingEmbedder(Unavailable):
    """An embedding model, or a package that runs it, is missing. The message says what to do."""


@dataclass(frozen=True)
class Entry:
    """An embedding model. One of `pinned`, `hub` and `folder` says where its files are.

    pinned: a name in lab/machine/weights.yaml. hub: an address on the Hugging Face hub; its files must be cached or
    downloadable. folder: the user's folder. prefix: prepended to each text. modules: number of the model's first
    modules to use; None for all.
    """

    name: str
    about: str = ""
    pinned: str = ""
    hub: str = ""
    folder: str = ""
    prefix: str = ""
    modules: int | None = None


# Table 15's models. The official program prepends "passage: " to Gemma's texts and averages its last layer. It uses
# none of the instructions that bge's authors recommend for queries.
KNOWN: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("all-MiniLM-L6-v2", "23 million weights, 384 numbers a text; the paper's choice", "all-MiniLM-L6-v2"),
        Entry("all-mpnet-base-v2", "109 million weights, 768 numbers a text", pinned="mpnet"),
        Entry("nli-distilroberta-base-v2", "82 million weights, 768 numbers a text",
              hub="sentence-transformers/nli-distilroberta-base-v2"),
        Entry("bge-base-en-v1.5", "109 million weights, 768 numbers a text", hub="BAAI/bge-base-en-v1.5"),
        Entry("embeddinggemma-300m", "303 million weights, 768 numbers a text; behind a licence on the hub",
              hub="google/embeddinggemma-300m", prefix="passage: ", modules=2),
    )
}  # fmt: skip


def entry(name: str) -> Entry:
    """Look up a model: one of KNOWN, else a folder, else an address on the hub."""
    if name in KNOWN:
        return KNOWN[name]
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
    """sha256 over all files, or the hub's commit, without loading the model. Part of the key of every cached vector."""
    if known.pinned:
        return _digest(weights.named(known.pinned).files)
    if known.folder:
        return _of_folder(Path(known.folder).resolve())
    return f"{known.hub}@{located(known).name}"


def located(known: Entry, download: bool = True) -> Path:
    """The folder of the model's files. download: whether they may be downloaded. Raises MissingEmbedder."""
    if known.pinned:
        try:
            return weights.located(known.pinned)
        except MissingData as error:
            raise MissingEmbedder(f"{known.name}: {error}") from None
    return Path(known.folder) if known.folder else _from_hub(known.name, known.hub, download)


def checked(known: Entry) -> Path:
    """As `located`, and compares pinned files with their hashes, once per process. Raises WrongHash."""
    folder = located(known)
    if known.pinned:
        _check(known.pinned, weights.named(known.pinned).below)
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
        except Exception as error:  # the hub's many errors: no such model, offline, gated, unknown
            reason = error
    raise MissingEmbedder(
        f"The embedding model {name} is neither a folder here nor among the files of the Hugging Face hub that this "
        f"machine has, and the hub did not give {hub} ({type(reason).__name__}). Where the hub can be reached: "
        f"hf download {hub} (after `hf auth login` if its authors ask for one); then copy the folder here and give its "
        "path as the name"
    )


@cache
def _check(pinned: str, below: Path) -> None:
    weights.checked(weights.named(pinned), below)


@cache
def _of_folder(folder: Path) -> str:
    names = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    # Skip hidden files: git and the hub's client write them, and they change without the model.
    visible = {name: path for name, path in names.items() if not any(part.startswith(".") for part in name.parts)}
    return _digest({name.as_posix(): weights.sha256_of(path) for name, path in visible.items()})


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256("\n".join(f"{file} {files[file]}" for file in sorted(files)).encode()).hexdigest()
