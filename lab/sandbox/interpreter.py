"""The interpreter that runs programs, and the host files that it needs after it has started."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.sandbox.program import SandboxUnavailable

# Loads every extension module of the standard library, and prints which files the process then maps.
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
ALSO_NEEDED = ("/etc/ld.so.cache", "/usr/share/zoneinfo", "/dev/urandom")
PACKAGES = ("site-packages", "dist-packages")


def environment(home: str) -> dict[str, str]:
    """All variables that a program sees. The hash seed and the time zone make it print the same on every machine."""
    return {"LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "PYTHONHASHSEED": "0", "TZ": "UTC"}


@dataclass(frozen=True)
class Interpreter:
    """executable: the interpreter behind a virtual environment. library: folders of the standard library.

    readable: the files and folders that it needs once it runs; installed packages are not among them.
    """

    executable: Path
    library: tuple[Path, ...]
    readable: tuple[Path, ...]

    def command(self, *arguments: str) -> list[str]:
        """Without site packages, the user's or the starting folder's modules and bytecode files; always in UTF-8."""
        return [str(self.executable), "-P", "-s", "-S", "-B", "-X", "utf8", *arguments]


@cache
def interpreter() -> Interpreter:
    """The interpreter that runs this process. Raises SandboxUnavailable if it does not say what it needs."""
    executable = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    probe = [str(executable), "-I", "-S", "-c", PROBE]
    try:
        answer = subprocess.run(probe, capture_output=True, check=True, timeout=60, env={}, cwd="/")
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"the interpreter {executable} does not say what it needs: {error}") from error
    needed = json.loads(answer.stdout)
    folders = {Path(path).resolve() for path in needed["folders"]}
    library = tuple(sorted(folder for folder in folders if not folders & set(folder.parents)))
    # Rights on a folder hold for all within it, so the library is granted entry by entry, without its packages.
    entries = {path for folder in library for path in folder.iterdir() if path.name not in PACKAGES}
    files = {Path(path) for path in (*needed["mapped"], *ALSO_NEEDED)}
    return Interpreter(executable, library, tuple(sorted(path for path in entries | files if path.exists())))
