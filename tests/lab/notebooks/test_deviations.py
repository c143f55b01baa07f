"""Deviations from the papers: the page is that of the files, whichever are there, and a faulty entry is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.machine.reading import DamagedFile
from lab.notebooks import deviations

ENTRY = '- {kind: setting, where: "A.1", paper: "it | says", here: "we do", file: "Makefile", switch: "b"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deviations, "FOLDER", tmp_path)
    return tmp_path


def test_the_committed_page_is_that_of_the_files() -> None:
    assert deviations.PAGE.read_text(encoding="utf-8") == deviations.page(), "run: make readme"
    assert "sdp" in deviations.papers() and len(deviations.entries("sdp")) > 60


def test_the_page_has_a_table_for_each_paper_that_has_a_file(folder: Path) -> None:
    assert deviations.page() == deviations.HEAD
    for paper in ("procllm", "sdp"):
        (folder / f"{paper}.yaml").write_text(ENTRY, encoding="utf-8")
    text = deviations.page()
    assert text.index("## SDP") < text.index("## ProcLLM") and "StateFactory" not in text
    assert "| A.1 | it \\| says | we do | [setting](../Makefile) | `b` |" in text
    assert deviations.table("sdp").to_dict("records")[0]["switch"] == "b"


@pytest.mark.parametrize(
    ("name", "entry", "why"),
    [
        ("sdp", ENTRY.replace("setting", "typo"), "entry 2.*typo"),
        ("sdp", ENTRY.replace("Makefile", "none.py"), "entry 2.*there is no file 'none.py'"),
        ("sdp", ENTRY.replace("we do", ""), "entry 2.*have to say something"),
        ("sdp", ENTRY.replace("switch", "swich"), "entry 2.*swich"),
        ("other", ENTRY, "no paper is called 'other'"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, name: str, entry: str, why: str) -> None:
    (folder / f"{name}.yaml").write_text(ENTRY + entry, encoding="utf-8")
    with pytest.raises(DamagedFile, match=why):
        deviations.page()
