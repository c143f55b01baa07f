"""The doctor: checks what each part needs on this machine, and prints the command that installs what is missing.

A part registers its checks in pyproject.toml, group `lab.doctor`: name = "module:function", a function without
arguments that returns a list of `Check`. A paper registers the contracts of its adapters in group `lab.contracts`: a
function of an experiment and an engine that returns such a list, or None for another paper's experiment.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import NamedTuple

from lab.machine import datasets
from lab.machine.faults import MissingData
from lab.machine.paths import ROOT, answer_cache, official_data

GROUP = "lab.doctor"
CONTRACTS = "lab.contracts"
INSTALL = "python -m pip install -r requirements.txt"
ROOMY = 2e9  # bytes; about the size of an environment with all benchmarks' data


class Check(NamedTuple):
    """The result of one check. fix: the command to type if it failed. optional: the offline engine works without it."""

    what: str
    ok: bool
    detail: str = ""
    fix: str = ""
    optional: bool = False


def diagnose() -> dict[str, list[Check]]:
    """Part -> its checks, `lab` first; checks that fail to run are reported as a failed check."""
    parts = {"lab": own_checks()}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            parts[entry.name] = entry.load()()
        except MissingData as error:  # its message says what to do
            parts[entry.name] = [Check("official data", False, str(error))]
        except Exception as error:  # a broken part is a finding; the other parts are still checked
            parts[entry.name] = [Check(entry.value, False, f"{type(error).__name__}: {error}", INSTALL)]
    return parts


def contracts(name: str, engine: str = "") -> dict[str, list[Check]]:
    """Check the contracts of an experiment. Returns {name: checks}. name: as in `4_explore/ablate`, or module:NAME.

    engine: by default the experiment's own. Raises BadSetting, a ValueError, for an experiment that no paper checks.
    """
    from lab.runs.experiment import BadSetting
    from lab.runs.playable import PLAYABLE

    experiment = PLAYABLE.named(name)
    for entry in sorted(entry_points(group=CONTRACTS), key=lambda entry: entry.name):
        if (checks := entry.load()(experiment, engine)) is not None:
            return {name: checks}
    raise BadSetting(f"No contracts are known of {name}; name an experiment of SDP, a class of sdp.Certifying")


def healthy(parts: Mapping[str, list[Check]]) -> bool:
    """Whether every check that is not optional is ok."""
    return all(check.ok or check.optional for checks in parts.values() for check in checks)


def lines(parts: Mapping[str, list[Check]], bad: str = "MISSING") -> Iterator[str]:
    """The report, line by line. bad: the word for a check that is not ok and not optional."""
    for part, checks in parts.items():
        yield part
        for check in checks:
            state = "ok" if check.ok else "missing, optional" if check.optional else bad
            yield f"  {check.what}: {state}" + (f" ({check.detail})" if check.detail else "")
            if not check.ok and check.fix:
                yield f"      {check.fix}"


def own_checks() -> list[Check]:
    """Checks of the library's own needs."""
    from packaging.specifiers import SpecifierSet

    from lab.runs.workers import INSTALL as dask

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = SpecifierSet(project["requires-python"])
    python = ".".join(map(str, sys.version_info[:3]))
    free = shutil.disk_usage(ROOT).free
    return [
        Check(f"Python {supported}", supported.contains(python), python, "make PYTHON=/path/to/such/a/python3"),
        *_packages(),
        # Entry points come from the installed package: without it, worlds' checks and datasets are not found.
        package_check("explicit-state", "the suite is installed", fix="python -m pip install -e ."),
        *_endpoint(),
        *_models(),
        package_check("distributed", "distributed, for runs on a Dask cluster", True, dask),
        *_data(),
        Check(
            "disk space", free > ROOMY, f"{free / 1e9:.1f} GB free", "make room: 2 GB are comfortable", optional=True
        ),
        _cache(),
    ]


def pins(requirements: Path = ROOT / "requirements.txt") -> dict[str, str]:
    """Package name -> pinned version, from a requirements file.

    Skips other lines, and packages whose marker excludes this machine (`; sys_platform == "linux"`).
    """
    from packaging.markers import Marker

    texts = (line.split("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines())
    pinned = (text.partition(";") for text in texts if "==" in text.partition(";")[0])
    applicable = (pin.strip() for pin, _, marker in pinned if not marker or Marker(marker).evaluate())
    return dict(pin.split("==", 1) for pin in applicable)


def _packages() -> list[Check]:
    """Check for missing packages, and for versions other than the pinned ones."""
    pinned = pins()
    installed = {name: _installed(name) for name in pinned}
    missing = sorted(name for name, present in installed.items() if present is None)
    mismatched = sorted(
        f"{name} {present}, not {pinned[name]}"
        for name, present in installed.items()
        # A local part such as +cpu marks a build of the same version.
        if present is not None and present.split("+")[0] != pinned[name]
    )
    return [
        Check("packages", not missing, ", ".join(missing) or f"{len(pinned)} installed", INSTALL),
        Check("pinned versions", not mismatched, "; ".join(mismatched), INSTALL, optional=True),
    ]


def package_check(name: str, what: str = "", optional: bool = False, fix: str = INSTALL) -> Check:
    """Check that a package is installed. name: on the package index. what: its name in the report."""
    installed = _installed(name)
    return Check(what or name, installed is not None, installed or "not installed", fix, optional)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _endpoint() -> list[Check]:
    # Never print the key itself: users paste this report into issues.
    return [
        Check(name, bool(os.environ.get(name)), "set" if os.environ.get(name) else "unset", f"export {name}=…", True)
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    ]


def _models() -> list[Check]:
    from lab.machine import weights
    from lab.models.local import INSTALL, PACKAGE

    return [
        package_check(PACKAGE, f"{PACKAGE}, for the engine local", True, INSTALL),
        *(
            Check(f"model {name}", model.present, model.about, f"python -m lab model get {name}", optional=True)
            for name, model in weights.known().items()
        ),
    ]


def _data() -> list[Check]:
    try:
        folder = official_data()
    except MissingData as error:
        return [Check("official data", False, str(error))]
    where = "LAB_DATA" if os.environ.get("LAB_DATA") else "default; LAB_DATA is unset"
    fix = "mkdir -p data/official, or set LAB_DATA to the folder that has the data"
    checks = [Check(f"official data in {folder}", folder.is_dir(), where, fix, optional=True)]
    try:
        registered = datasets.registered()
    except ImportError as error:
        return [*checks, Check("datasets", False, str(error), INSTALL, optional=True)]
    for name in sorted(
        datasets.known().keys() - registered.keys()
    ):  # not fetched by a command: for tests and experts only
        try:
            datasets.check(name)
        except MissingData as error:
            checks.append(Check(f"data of {name}", False, str(error), optional=True))
    for name, dataset in registered.items():
        fix = f"python -m lab data fetch {name}"
        try:
            checks.append(Check(f"dataset {name}", dataset.here, dataset.about, fix, optional=True))
        except MissingData as error:  # incomplete or damaged: "auto" cannot choose
            checks.append(Check(f"dataset {name}", False, str(error), fix))
    return checks


def _cache() -> Check:
    folder = answer_cache().parent
    fix = "set LAB_CACHE to a file in a folder that you may write to"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Try to write: permission bits do not bind root, and mean little on network folders.
        with tempfile.TemporaryFile(dir=folder):
            return Check("answer cache can be written", True, str(answer_cache()))
    except OSError as error:
        return Check("answer cache can be written", False, str(error), fix)
