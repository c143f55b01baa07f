"""Checks of `python -m lab doctor`: the packages and files that embeddings need on this machine."""

from __future__ import annotations

from lab.machine.doctor import INSTALL, Check, package_check
from lab.machine.weights import WrongHash
from statefactory.embeddings import MissingEmbedder, weights

PACKAGES = ("torch", "transformers", "sentence-transformers")


def checks() -> list[Check]:
    """Checks of the required packages, the default model's files, and the other models' files."""
    default, *other_entries = weights.KNOWN.values()
    return [
        *(package_check(name, f"package {name}") for name in PACKAGES),
        default_files(default),
        *map(other, other_entries),
    ]


def default_files(known: weights.Entry) -> Check:
    """Check that every file of the default model has its pinned checksum."""
    try:
        weights.checked(known)
    except (MissingEmbedder, WrongHash) as error:
        return Check(f"embedding model {known.name}", False, str(error), INSTALL)
    return Check(f"embedding model {known.name}", True, "files as pinned")


def other(known: weights.Entry) -> Check:
    """Check, as optional, that the files of another known model are on this machine."""
    fix = f"python -m lab model get {known.pinned}" if known.pinned else f"hf download {known.hub}"
    return Check(f"embedding model {known.name}", weights.present(known), known.about, fix, optional=True)
