"""Set-up: the pins are what pyproject.toml comes to, and every way to install them gets the same packages."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from lab.machine import doctor, install
from lab.machine.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
BASE = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {extra: [Requirement(text) for text in texts] for extra, texts in PROJECT["optional-dependencies"].items()}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CUDA = set(re.findall(r"^CUDA := (.*)$", MAKEFILE, re.MULTILINE)[0].split())
LEFT_OUT = CUDA | set(PYPROJECT["tool"]["uv"]["exclude-dependencies"])
# Games of the two worlds whose engine depends on jericho, which declares spaCy, where spaCy cannot be imported.
WITHOUT_SPACY = """
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {"spacy", "en_core_web_sm"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
from importlib import import_module
for name, split, games in ("alfworld", "valid_unseen", {}), ("textworld", "test", {"games": {"test": 1}}):
    with import_module(f"worlds.{name}").load("synthetic", **games) as world:
        task = world.tasks(split)[0]
        world.reset(task)
        for action in import_module(f"worlds.{name}.expert").Expert(world).actions(task):
            step = world.step(action)
        print(name, step.done, step.score)
"""


def pins(name: str = "requirements.txt") -> dict[str, str]:
    return {canonicalize_name(package): version for package, version in doctor.pins(ROOT / name).items()}


def missed(needs: Iterable[Requirement], pinned: dict[str, str]) -> tuple[set[str], set[str]]:
    """What the requirements and theirs, from the installed packages' metadata, come to: packages, and unmet bounds."""
    packages, unmet, seen, waiting = set[str](), set[str](), set[str](), [(need, "") for need in needs]
    while waiting:
        need, extra = waiting.pop()
        name = canonicalize_name(need.name)
        if name in LEFT_OUT or need.marker and not need.marker.evaluate({"extra": extra}):
            continue
        packages.add(name)
        if not need.specifier.contains(pinned.get(name, "0"), prereleases=True):
            unmet.add(f"{need} ({pinned.get(name, 'not pinned')})")
        for wanted in {"", *need.extras}:
            if (asked := f"{name}[{wanted}]") not in seen:
                seen.add(asked)
                waiting += [(Requirement(text), wanted) for text in distribution(name).requires or ()]
    return packages, unmet


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_the_pins_are_what_pyproject_comes_to(extra: str) -> None:
    pinned = pins() | (pins(f"requirements-{extra}.txt") if extra else {})
    try:
        others = {name for name in pinned if distribution(name).version.split("+")[0] != pinned[name]}
        packages, unmet = missed([*BASE, *EXTRAS.get(extra, ())], pinned)
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not installed here")
    if others:
        pytest.skip(f"installed in other versions than pinned: {', '.join(sorted(others))}")
    assert packages == set(pinned) and not unmet, "make pins"


def test_the_hashed_list_pins_the_same_versions() -> None:
    hashed = (ROOT / "requirements-hashes.txt").read_text(encoding="utf-8")
    versions = re.findall(r"^([a-z].*?) \\$", hashed, re.MULTILINE)
    listed = re.findall(r"^([a-z].*)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions == [line for line in listed if not line.startswith("torch==")]
    assert all("--hash=sha256:" in block for block in re.split(r"^[a-z]", hashed, flags=re.MULTILINE)[1:])


def test_no_list_names_an_index() -> None:
    for path in [*ROOT.glob("requirements*.txt"), ROOT / "pyproject.toml", ROOT / "environment.yml"]:
        assert not re.search(r"://|^--?(index|extra|find)", path.read_text(encoding="utf-8"), re.MULTILINE), path.name


def test_makefile_and_conda_ask_for_the_pythons_of_pyproject() -> None:
    assert SpecifierSet(PROJECT["requires-python"]) == SpecifierSet(">=3.11.2,<3.14")
    assert "(3, 11, 2) <= sys.version_info < (3, 14)" in MAKEFILE
    assert "python >=3.11.2,<3.14" in (ROOT / "environment.yml").read_text(encoding="utf-8")


def test_an_old_python_is_answered_with_one_line(tmp_path: object) -> None:
    ran = subprocess.run(
        ["make", "PYTHON=/bin/false", "CONDA=", f"VENV={tmp_path}/venv", f"{tmp_path}/venv/.explicit-state"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode != 0 and "needs Python 3.11.2 to 3.13" in ran.stderr.splitlines()[0]


def test_uv_is_told_where_pip_looks() -> None:
    listed = (
        ":env:.find-links='/own'\nglobal.extra-index-url='one two'\nglobal.find-links='/all'\n"
        "global.index-url='mirror'\nglobal.timeout='60'\ninstall.index-url='nearer'\n"
    )
    assert install.places(listed) == {
        "UV_DEFAULT_INDEX": "nearer",
        "UV_INDEX": "one two",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/own",
    }
    assert install.places("") == {}


@pytest.mark.slow
def test_textworld_and_alfworld_play_without_spacy() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_SPACY], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout == "alfworld True 1.0\ntextworld True 1.0\n", ran.stderr
