"""Paths of figures and tables that notebooks write.

The committed ones in `figures/` are written by an in-place run alone (lab/notebooks/commands.py); whoever changes a
parameter or tries other data draws into a folder of their own.
"""

from __future__ import annotations

import os
from pathlib import Path

from lab.machine.paths import ROOT, runs_folder

COMMITTED = ROOT / "figures"


def folder() -> Path:
    """`LAB_FIGURES` if set (the notebook runner sets it), else `figures/` in the folder of runs."""
    return Path(os.environ.get("LAB_FIGURES") or runs_folder() / "figures")


def path_of(stem: str, suffix: str) -> Path:
    """The file of a figure; stem may hold folders ("1_sdp/table2"), suffix has its dot.

    Raises ValueError if the stem leads out of the folder.
    """
    path = folder() / f"{stem}{suffix}"  # with_suffix would cut a stem at its last dot
    if not path.resolve().is_relative_to(folder().resolve()):
        raise ValueError(f"figure name {stem!r} leads out of {folder()}; use a plain name such as '1_sdp/table2'")
    return path
