"""Computed parts of the README and of docs/: runs of numbers, markers, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.machine.reading import DamagedFile
from lab.notebooks import front_page
from lab.notebooks.register import Item, Paper, PaperFindings


def paper(name: str, *items: tuple[str, ...]) -> PaperFindings:
    listed = tuple(Item(items=of, title="", notebook="n") for of in items)
    return PaperFindings(Paper(paper=name, published="", models=(), items=listed, claims=()), ())


def test_tables_figures_and_sections_of_a_paper_are_listed() -> None:
    judged = [
        paper("A", ("Table 4", "Table 20"), ("Table 3", "Table 5", "Figure A.1", "Figure 4")),
        paper("B", ("§6 reading", "held-out tasks")),
    ]
    assert front_page._items(judged, "n") == "A Figures 4, A.1, Tables 3–5, 20; B §6"
    assert front_page._items([], "n") == "–"


def test_a_page_of_docs_is_listed_with_its_items() -> None:
    lines = [line for line in front_page.notebooks().splitlines() if "docs/configuration.md" in line]
    assert len(lines) == 1 and "SDP Tables 7–11" in lines[0]


def test_a_notebook_without_its_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = tmp_path / "times.yaml"
    text = front_page.TIMES.read_text(encoding="utf-8")
    times.write_text(text.replace("notebook: 0_tour", "notebook: 0_trip"), encoding="utf-8")
    monkeypatch.setattr(front_page, "TIMES", times)
    with pytest.raises(DamagedFile, match="a line for each notebook and no other; see 0_tour, 0_trip"):
        front_page.notebooks()


def test_a_page_is_filled_in_place_and_a_lost_marker_is_named() -> None:
    text = front_page.README.read_text(encoding="utf-8")
    filled = front_page.filled(text)
    assert front_page.filled(filled) == filled
    with pytest.raises(ValueError, match="README.md has lost the line before or after the part notebooks"):
        front_page.filled(text.replace("<!-- end of notebooks -->", ""))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("claims (nobody-said-so)", "no claim nobody-said-so in data/claims"),
        ("figures (0_tour: no such)", "expected.yaml states no 'no such' of 0_tour"),
        ("table (lab.results.exports:rows all)", "cannot load the function of table .lab.results.exports:rows all."),
        ("weather", "wants a part 'weather'; choose from found, small, tiles"),
    ],
)
def test_an_unknown_part_claim_or_figure_is_named(part: str, said: str) -> None:
    name = part.split(" ")[0]
    with pytest.raises(ValueError, match=said):
        front_page.filled(f"<!-- {part}: made by `make readme` -->\n<!-- end of {name} -->\n")


@pytest.mark.slow
def test_a_claim_and_a_figure_are_written_with_their_numbers() -> None:
    text = "<!-- figures (0_tour: predicates certified): made by `make readme` -->\nold\n<!-- end of figures -->\n"
    assert "| predicates certified | – | 17 |" in front_page.filled(text) and "old" not in front_page.filled(text)
