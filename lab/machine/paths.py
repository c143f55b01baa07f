"""Paths: the repository's folders, and those that environment variables name in their place."""

from __future__ import annotations

import os
from pathlib import Path

from lab.machine.faults import MissingData

# In each function below `or`, not a default: an empty variable, as scripts export it, counts as unset.
ROOT = Path(__file__).resolve().parent.parent.parent


def official_data() -> Path:
    """The folder of official benchmark data: `LAB_DATA`, else `data/official` in the repository, which may be absent.

    Raises MissingData if `LAB_DATA`, or what is in the other's place, is no folder that can be read: synthetic data
    instead would answer another question.
    """
    named = os.environ.get("LAB_DATA")
    folder = Path(named or ROOT / "data" / "official")
    if named or os.path.lexists(folder):
        try:
            os.listdir(folder)
        except OSError as error:
            raise MissingData(
                f"{'LAB_DATA names' if named else 'Official data belongs in'} a folder that is not there or cannot be "
                f"read: {error.filename} ({error.strerror}). Point LAB_DATA to the folder of official data (mkdir -p "
                "makes an empty one to fetch into), or " + ("unset it: unset LAB_DATA" if named else f"remove {folder}")
            ) from None
    return folder


def published_data() -> Path:
    """The folder of numbers that the papers report."""
    return ROOT / "data" / "published"


def runs_folder() -> Path:
    """`LAB_RUNS` if set, else `runs/` in the repository."""
    return Path(os.environ.get("LAB_RUNS") or ROOT / "runs")


def answer_cache() -> Path:
    """The file of cached answers, `LAB_CACHE` if set, else `data/cache/answers.sqlite`; other caches lie beside it."""
    return Path(os.environ.get("LAB_CACHE") or ROOT / "data" / "cache" / "answers.sqlite")


def recordings_folder() -> Path:
    """`LAB_RECORDINGS` if set, else `data/recordings` in the repository."""
    return Path(os.environ.get("LAB_RECORDINGS") or ROOT / "data" / "recordings")


def shown(path: Path) -> str:
    """A path for a message: inside the repository, relative to it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def notebook_name() -> str:
    """The stem of the notebook that runs in this process, "" outside of one.

    `LAB_NOTEBOOK` comes from our runner, `JPY_SESSION_NAME` from Jupyter's server.
    """
    return Path(os.environ.get("LAB_NOTEBOOK") or os.environ.get("JPY_SESSION_NAME") or "").stem
