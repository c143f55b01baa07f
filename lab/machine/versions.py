"""Provenance of a result: a hash of the suite's own sources, the git commit, the versions of installed packages."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from functools import cache

from lab.machine.paths import ROOT

SOURCES = ("*.py", "*.md")  # *.md: prompts' texts
NOTED = ("numpy", "pandas", "scipy", "pydantic", "openai", "joblib")


def code_hash(packages: Iterable[str] = ()) -> str:
    """Hash of the Python sources and prompt texts of the given packages, by default of all."""
    return _hash_of(tuple(sorted(packages or (path.parent.name for path in ROOT.glob("*/__init__.py")))))


@cache  # once per process: imported code stays as it was, even if files are edited meanwhile
def _hash_of(packages: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    files = (file for package in packages for pattern in SOURCES for file in (ROOT / package).rglob(pattern))
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def git_commit() -> str:
    """The commit of the checkout, with `+` if files differ from it; "unknown" outside git."""
    try:
        commit = _git("rev-parse", "HEAD")
        # Untracked files do not count: a run's own outputs would mark all later runs as run with changed code.
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


@cache
def package_versions() -> dict[str, str]:
    """Versions of the packages that a number may depend on."""
    from importlib.metadata import version

    return {name: version(name) for name in NOTED}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
