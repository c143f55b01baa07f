"""Paths: the repository's folders, and the environment variables that replace them."""

from __future__ import annotations

import os
from pathlib import Path

from lab.machine.faults import MissingData

# All functions below use `or` instead of a default: an empty variable, as scripts export it, counts as unset.
ROOT = Path(__file__).resolve().parent.parent.parent


def official_data() -> Path:
    """The folder of official benchmark data: `LAB_DATA`, else `data/official` in the repository, which may be absent.

    Raises MissingData if `LAB_DATA`, or an existing `data/official`, is not a readable folder: falling back to
    synthetic data would answer another question.
    """
    stated = os.environ.get("LAB_DATA")
    folder = Path(stated or ROOT / "data" / "official")
    if stated or os.path.lexists(folder):
        try:
            os.listdir(folder)
        except OSError as error:
            raise MissingData(
                f"{'LAB_DATA names' if stated else 'Official data belongs in'} a folder that is not there or cannot be "
                f"read: {error.filename} ({error.strerror}). Point LAB_DATA to the folder of official data (mkdir -p "
                "makes an empty one to fetch into), or "
                + ("unset it: unset LAB_DATA" if stated else f"remove {folder}")
            ) from None
    return folder


def published_data() -> Path:
    """The folder of numbers that the papers report."""
    return ROOT / "data" / "published"


def runs_folder() -> Path:
    """`LAB_RUNS` if set, else `runs/` in the repository."""
    return Path(os.environ.get("LAB_RUNS") or ROOT / "runs")


def answer_cache() -> Path:
    """The answer cache: `LAB_CACHE` if set, else `data/cache/answers.sqlite`. Other caches are in the same folder.

    `LAB_CACHE` names a file, or a folder that exists, which then holds `answers.sqlite`.
    """
    if not (named := os.environ.get("LAB_CACHE")):
        return ROOT / "data" / "cache" / "answers.sqlite"
    return Path(named, "answers.sqlite") if os.path.isdir(named) else Path(named)


def recordings_folder() -> Path:
    """`LAB_RECORDINGS` if set, else `data/recordings` in the repository."""
    return Path(os.environ.get("LAB_RECORDINGS") or ROOT / "data" / "recordings")


def shown(path: Path) -> str:
    """A path for a message, relative to the repository if inside it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def notebook_name() -> str:
    """The name, without suffix, of the notebook that runs in this process; "" outside a notebook.

    `LAB_NOTEBOOK` comes from our runner, `JPY_SESSION_NAME` from Jupyter's server.
    """
    return Path(os.environ.get("LAB_NOTEBOOK") or os.environ.get("JPY_SESSION_NAME") or "").stem
