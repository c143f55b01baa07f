"""What TextWorld needs on this machine, for `python -m lab doctor`."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.util import find_spec
from pathlib import Path

from lab.machine.doctor import INSTALL, Check, package_check
from worlds.textworld.compiled import cache_folder

COMPILERS = Path("thirdparty", "inform7-6M62", "share", "inform7", "Compilers")
PROGRAMS = ("ni", "inform6")


def checks() -> list[Check]:
    """The packages, the compiler that one of them brings, and the folder of compiled games."""
    return [package_check("textworld"), package_check("jericho"), inform(), folder()]


def inform() -> Check:
    """Whether Inform 7's two programs run. The wheel has them for Linux on x86-64 only."""
    what = "Inform 7, which compiles the games"
    spec = find_spec("textworld")
    if spec is None or spec.origin is None:
        return Check(what, False, "it comes with the package textworld", INSTALL)
    try:
        for program in PROGRAMS:
            subprocess.run([Path(spec.origin).parent / COMPILERS / program], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        detail = f"does not run on {platform.system()}, {platform.machine()}: {error}"
        return Check(what, False, detail, "use Linux on x86-64: the package textworld brings Inform 7 for that alone")
    return Check(what, True, "runs")


def folder() -> Check:
    """Whether games can be kept: the cache folder, or the nearest one above it that exists, can be written."""
    folder = cache_folder()
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK)
    return Check("folder of compiled games", writable, str(folder), "set LAB_CACHE to a file in a folder you can write")
