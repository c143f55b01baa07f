"""Deviations from the papers: a row an entry, every file has its table on the page, and a faulty entry is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.machine.paths import ROOT
from lab.machine.reading import DamagedFile
from lab.notebooks import deviations, front_page

ENTRY = '- {kind: setting, where: "A.1", paper: "it | says", here: "we do", file: "Makefile", switch: "b"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deviations, "FOLDER", tmp_path)
    return tmp_path


def test_every_file_has_its_table_on_the_page() -> None:
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    files = {path.stem for path in deviations.FOLDER.glob("*.yaml")}
    assert "sdp" in files and all(f"<!-- deviations ({name}): made by" in page for name in files)
    assert len(deviations.entries("sdp")) > 60


def test_an_entry_is_a_row_of_a_table(folder: Path) -> None:
    (folder / "sdp.yaml").write_text(ENTRY, encoding="utf-8")
    text = front_page.differences("sdp")
    assert "| A.1 | it \\| says | we do | [setting](../Makefile) | `b` |" in text
    assert deviations.table("sdp").to_dict("records")[0]["switch"] == "b"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (ENTRY.replace("setting", "typo"), "entry 2.*typo"),
        (ENTRY.replace("Makefile", "none.py"), "entry 2.*there is no file 'none.py'"),
        (ENTRY.replace("we do", ""), "entry 2.*have to say something"),
        (ENTRY.replace("switch", "swich"), "entry 2.*swich"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, entry: str, why: str) -> None:
    (folder / "sdp.yaml").write_text(ENTRY + entry, encoding="utf-8")
    with pytest.raises(DamagedFile, match=why):
        deviations.entries("sdp")
