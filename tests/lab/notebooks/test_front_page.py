"""What the README lists by itself: runs of numbers, states, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.machine.reading import DamagedFile
from lab.notebooks import front_page
from lab.notebooks.scoreboard import Entry


def test_tables_and_figures_of_a_paper_are_drawn_together() -> None:
    entries = [
        Entry("A", ("Table 4", "Table 20"), "", "here", "n"),
        Entry("A", ("Table 3", "Table 5", "Figure A.1", "Figure 4"), "", "here", "n"),
        Entry("B", ("§6 reading", "held-out tasks"), "", "here", "n"),
    ]
    assert front_page._items(entries) == "A Figures 4, A.1, Tables 3–5, 20; B §6"
    assert front_page._items([]) == "–"


@pytest.mark.parametrize(
    ("states", "told"),
    [(["here", "here"], "here"), (["here", "partly"], "partly"), (["here", "nothing to compute"], "here"), ([], "–")],
)
def test_a_notebook_is_partly_there_as_soon_as_one_of_its_tables_is(states: list[str], told: str) -> None:
    assert front_page._state(Entry("A", ("Table 1",), "", state, "n") for state in states) == told


def test_a_notebook_without_its_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = tmp_path / "times.yaml"
    text = front_page.TIMES.read_text(encoding="utf-8")
    times.write_text(text.replace("notebook: 0_tour", "notebook: 0_trip"), encoding="utf-8")
    monkeypatch.setattr(front_page, "TIMES", times)
    with pytest.raises(DamagedFile, match="a line for each notebook and no other; see 0_tour, 0_trip"):
        front_page.notebooks()


def test_the_readme_is_filled_in_place_and_a_lost_marker_is_named() -> None:
    text = front_page.README.read_text(encoding="utf-8")
    filled = front_page.filled(text)
    assert front_page.filled(filled) == filled and filled.count("\n") == text.count("\n")
    with pytest.raises(ValueError, match="README.md has lost the lines .*notebooks.*; put them back"):
        front_page.filled(text.replace("<!-- end of notebooks -->", ""))
