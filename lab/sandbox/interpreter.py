"""The host files that a bare interpreter needs: the only ones, beside the given files, that a sandbox shows."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.sandbox.faults import BackendRefused

# Loads every extension module of the standard library, and tells which files the process then maps.
PROBE = """
import importlib, json, os, pkgutil, sys
folders = [path for path in sys.path if os.path.isdir(path)]
for module in pkgutil.iter_modules([path for path in folders if path.endswith("lib-dynload")]):
    if not module.name.startswith(("_test", "_xx", "xx", "_tkinter")):
        try:
            importlib.import_module(module.name)
        except Exception:
            pass
mapped = {line.split(maxsplit=5)[5].rstrip() for line in open("/proc/self/maps") if "/" in line}
print(json.dumps({"folders": folders, "mapped": sorted(path for path in mapped if os.path.isfile(path))}))
"""
ALSO = ("/etc/ld.so.cache", "/usr/share/zoneinfo")
PACKAGES = ("site-packages", "dist-packages")


def environment(home: str) -> dict[str, str]:
    """All variables that a program sees. The seed makes sets, and so programs, come out the same each time."""
    return {"LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "PYTHONHASHSEED": "0"}


@dataclass(frozen=True)
class Interpreter:
    """executable: the interpreter behind a virtual environment. library: folders of the standard library.

    packages: folders of installed packages that lie within these, to be hidden. shared: single files it loads.
    """

    executable: Path
    library: tuple[Path, ...]
    packages: tuple[Path, ...]
    shared: tuple[Path, ...]

    def command(self, *arguments: str) -> list[str]:
        """Without site packages, the user's or the starting folder's modules and bytecode files; always in UTF-8."""
        return [str(self.executable), "-P", "-s", "-S", "-B", "-X", "utf8", *arguments]


@cache
def interpreter() -> Interpreter:
    """The interpreter that runs this process, as the file behind its virtual environment."""
    executable = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    probe = [str(executable), "-I", "-S", "-c", PROBE]
    try:
        answer = subprocess.run(probe, capture_output=True, check=True, timeout=60, env={}, cwd="/")
    except (OSError, subprocess.SubprocessError) as error:
        raise BackendRefused(f"the interpreter {executable} does not say what it needs: {error}") from error
    found = json.loads(answer.stdout)
    folders = {Path(path).resolve() for path in found["folders"]}
    # The outermost alone: what lies within them comes along.
    library = tuple(sorted(folder for folder in folders if not _within(folder, tuple(folders - {folder}))))
    packages = tuple(folder / name for folder in library for name in PACKAGES if (folder / name).is_dir())
    shared = {Path(path) for path in (*found["mapped"], *ALSO) if Path(path).exists()} - {executable}
    return Interpreter(
        executable, library, packages, tuple(sorted(path for path in shared if not _within(path, library)))
    )


def _within(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
