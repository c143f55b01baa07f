"""What is missing on a machine, the line that installs it, and the registered datasets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.machine import datasets, doctor
from lab.machine.datasets import Dataset
from lab.machine.doctor import Check


class Entry:
    """An entry point, as a part's pyproject.toml would register it."""

    def __init__(self, name: str, target: object) -> None:
        self.name, self.value, self._target = name, f"somewhere:{name}", target

    def load(self) -> object:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


def register(monkeypatch: pytest.MonkeyPatch, module: object, *entries: Entry) -> None:
    monkeypatch.setattr(module, "entry_points", lambda group: list(entries))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset of one file, the only one registered."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    dataset = Dataset(
        name="toy",
        about="one small file",
        present=lambda folder: (folder / "file").exists(),
        fetch=lambda folder, report: (report("downloading"), (folder / "file").write_text("x"))[0],
    )
    register(monkeypatch, datasets, Entry("toy", dataset))
    return dataset


def test_a_missing_part_comes_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Check("java", False, "not found", "apt-get install default-jre", optional=True), Check("wheel", True)]
    broken = Entry("broken", ImportError("no module named jvm"))
    register(monkeypatch, doctor, Entry("scienceworld", lambda: found), broken)
    parts = doctor.diagnose()
    text = "\n".join(doctor.lines({"scienceworld": parts["scienceworld"]}))
    assert text == (
        "scienceworld\n  java: missing, optional (not found)\n      apt-get install default-jre\n  wheel: ok"
    )
    (check,) = parts["broken"]
    assert not check.ok and "no module named jvm" in check.detail, "a check that breaks is a finding"
    assert doctor.healthy({"a": found}) and not doctor.healthy({"a": found, "b": [check]}), (
        "optional ones decide nothing"
    )


def test_a_key_is_never_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    main(["doctor"])
    printed = capsys.readouterr()
    assert "OPENAI_API_KEY: ok (set)" in printed.out
    assert "very-secret" not in printed.out + printed.err


def test_pins_are_read_past_comments_and_those_for_another_machine_are_not_missed_on_this_one(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    here = f'here==1.0; sys_platform == "{sys.platform}"  # fast'
    file.write_text(f'# numbers\n{here}\n\n-e .\nelsewhere==2.0; sys_platform == "amiga"\n')
    assert doctor.pins(file) == {"here": "1.0"}


def test_missing_and_differing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "pins", lambda: {"a": "1.0", "b": "1.0", "c": "3.0"})
    monkeypatch.setattr(doctor, "_installed", {"a": "1.0", "c": "3.1+cpu"}.get)
    needed, versions = doctor._packages()
    assert (needed.ok, needed.detail, needed.optional) == (False, "b", False)
    assert versions.detail == "c 3.1+cpu, not 3.0"


def test_the_doctor_takes_the_pythons_of_pyproject(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, supported in (((3, 11, 1), False), ((3, 11, 2), True), ((3, 13, 9), True), ((3, 14, 0), False)):
        monkeypatch.setattr(sys, "version_info", version)
        (python,) = [check for check in doctor.own_checks() if check.what.startswith("Python ")]
        assert python.ok == supported and "3.11.2" in python.what


def test_a_dataset_is_fetched_once_into_its_own_folder(toy: Dataset, capsys: pytest.CaptureFixture) -> None:
    (check,) = [check for check in doctor.own_checks() if check.what == "dataset toy"]
    assert (check.ok, check.optional, check.fix) == (False, True, "python -m lab data fetch toy")
    assert main(["data"]) == 0
    assert "toy: one small file (not here)" in capsys.readouterr().out
    assert main(["data", "fetch", "toy"]) == 0
    assert "downloading" in capsys.readouterr().out and toy.present(toy.folder)
    assert main(["data", "fetch", "toy"]) == 0
    assert "already in" in capsys.readouterr().out
    assert main(["data", "fetch", "toys"]) == 2
    assert "no dataset 'toys'; there are: toy" in capsys.readouterr().err
