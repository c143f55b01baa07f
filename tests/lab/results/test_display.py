from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machine.printing import visible
from lab.results import tables
from lab.results.display import LONGEST, MOST

VOID = {"br", "wbr"}


class Page(HTMLParser):
    """The rows of a page's tables, as text; fails where an element is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.rows, self.seen = [], [], set()
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}
        self.open += [] if tag in VOID else [tag]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "br":
            self.handle_data("\n")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


@pytest.fixture
def results() -> pd.DataFrame:
    """Published rows, one of them without a value, a row of this run, and one of a recording."""
    published = {"evidence": "published", "source": "Table 2"}
    rows = [
        tables.row("SDP", "Gemini", "pass %", 93.8, **published),
        tables.row("TDP", "GPT-4", "pass %", None, **published),
        tables.rate_row("SDP", "rules", "pass %", 3, 4),
        tables.rate_row("SDP", "small", "pass %", 1, 4, source="recording a"),
        tables.mean_row("SDP", "rules", "F1", [0.25, 0.5]),
    ]
    return tables.side_by_side(tables.table(rows), ["pass %", "F1"])


def test_a_results_table_marks_this_run_and_folds_and_counts_what_has_no_value(results: pd.DataFrame) -> None:
    shown = tables.shown(results)
    page = shown._repr_html_()
    assert Page(page).rows == [
        ["method", "backbone", "evidence", "n", "pass %", "F1"],
        ["SDP", "Gemini", "published", "–", "93.8", "–"],
        ["SDP", "rules", "measured", "2\u2060–\u20604", "75.0 [30.1,\u00a095.4]", "0.4 [0.2,\u00a00.5]"],
        ["SDP", "small", "measured", "4", "25.0 [4.6,\u00a069.9]", "–"],
        ["method", "backbone", "evidence", "n"],
        ["TDP", "GPT-4", "published", "–"],
    ]
    (marked,) = re.findall("<tr style.*", page)
    assert "<b>SDP</b>" in marked and ">rules<" in marked and "<code>measured</code>" in marked
    assert "<small>[30.1," in marked and "<summary>1 row without a value</summary>" in page
    assert "failed and not measured: none counted" in page
    lines = repr(shown).splitlines()
    assert [line for line in lines if line.startswith("* ")] == [lines[2]] and "75.0 [30.1, 95.4]" in lines[2]
    assert lines[-2:] == ["1 row without a value:", "   TDP  GPT-4  published  –"]


def test_where_all_is_of_this_run_nothing_is_marked_and_of_none_folded(results: pd.DataFrame) -> None:
    ours = tables.shown(results[results.index == "this run"])
    assert "<b>" not in ours._repr_html_() and "*" not in repr(ours)
    bare = tables.shown(results[results["pass %"] == "–"])
    assert "TDP" in bare._repr_html_() and "details" not in bare._repr_html_()


def test_numbers_have_the_decimals_that_they_need_and_intervals_stand_in_brackets() -> None:
    frame = pd.DataFrame(
        {
            "gain": [0.25, -0.0001, None], "ci_low": [0.1, -1.0, None], "ci_high": [0.5, None, None],
            "p (Holm)": [0.00001, 0.0125, 1.0], "steps": [7.0, 8.0, 9.0], "of": [2, 30, 4], "empty": [None] * 3,
            "verdict": [""] * 3,
        }
    ).astype({"gain": float, "ci_low": float, "ci_high": float, "empty": float})  # fmt: skip
    assert Page(tables.shown(frame, 2)._repr_html_()).rows == [
        ["gain", "p (Holm)", "steps", "of"],
        ["0.25 [0.10,\u00a00.50]", "<0.0001", "7", "2"],
        ["0.00", "0.0125", "8", "30"],
        ["–", "1.0000", "9", "4"],
    ]


def test_text_stands_left_and_figures_right() -> None:
    frame = pd.DataFrame({"who": ["2 models", "a"], "rate": ["12-18", "<5"], "of": ["3 of 4", "–"], "n": [1, 20]})
    head, first, _ = re.findall("<tr>.*", tables.shown(frame)._repr_html_())
    for row in (head, first):
        assert ["left" in cell for cell in re.findall("<t[hd].*?>", row)] == [True, False, False, False]
    assert repr(tables.shown(frame)).splitlines()[1] == "2 models  12-18  3 of 4   1"


def test_an_index_with_a_name_is_a_column_and_columns_may_have_two_levels() -> None:
    cells = [{"judge": judge, "of": of, "rate": 50.0} for judge in "xy" for of in ("SDP", "other")]
    frame = pd.DataFrame(cells).pivot(index="judge", columns="of", values=["rate"])
    page = Page(tables.shown(frame)._repr_html_())
    assert page.rows[1:] == [["", "SDP", "other"], ["x", "50", "50"], ["y", "50", "50"]]
    assert "colspan" in page.seen
    assert repr(tables.shown(frame)).splitlines()[0] == "judge  rate SDP  rate other"


def test_a_line_breaks_within_long_names_and_before_an_interval_so_that_a_wide_table_fits_its_page() -> None:
    frame = pd.DataFrame({"current_city": ["sha256:1d96 at 12:30"], "rate": ["50.0 [-1.0, 99.0]"], "text": "a " * 20})
    page = tables.shown(frame)._repr_html_()
    assert "current_<wbr>city" in page and "sha256:<wbr>1d96 at 12:30<" in page
    assert "50.0 <small>[-1.0,\u00a099.0]</small>" in page and "smaller" not in page
    assert "smaller" in tables.shown(pd.concat([frame] * 4, axis=1))._repr_html_()


def test_a_long_table_and_a_long_text_say_what_is_not_shown() -> None:
    shown = tables.shown(pd.DataFrame({"text": ["x" * 10_000] * 1500}))
    page = Page(shown._repr_html_())
    assert len(page.rows) == MOST + 1 and "1,300 more rows" in shown._repr_html_() and "1,300 more" in repr(shown)
    assert "8,000 more characters" in page.rows[1][0] and len(page.rows[1][0]) < LONGEST + 100 and "wbr" in page.seen
    assert "nothing to show" in tables.shown(pd.DataFrame({"a": []}))._repr_html_()
    assert "nothing to show" in repr(tables.shown(pd.DataFrame()))
    faults = pd.DataFrame({"n": [3, 4], "failed": [0, 1], "not measured": [0, 0], "rate": [50.0, 60.0]})
    assert repr(tables.shown(faults)) == "n  failed  rate\n3       0    50\n4       1    60\nnot measured: none counted"


TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("<>&\"'[]–,.0123456789 \n\x00\u202e\u200b")), max_size=90
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3), TEXTS)
def test_any_text_comes_out_escaped_whole_and_the_same_each_time(cells: list[tuple[str, str]], name: str) -> None:
    frame = pd.DataFrame(cells, columns=["evidence", f"a {name}"], dtype=object)
    page = tables.shown(frame)._repr_html_()
    assert page == tables.shown(frame)._repr_html_()
    found = Page(page)
    assert found.seen <= {
        *["div", "style", "table", "thead", "tbody", "tr", "th", "td", "code", "small", "br", "wbr", "p"]
    }
    plain = str.maketrans({"\u00a0": " ", "\u2060": None})
    had = [[visible(cell) for cell in row] for row in cells]
    kept = [column for column in zip(*had, strict=True) if any(column)]
    shown = [[cell.translate(plain) for cell in row] for row in found.rows[1:]]
    assert shown == [[cell.translate(plain) for cell in row] for row in zip(*kept, strict=True)]
    assert repr(tables.shown(frame)) == visible(repr(tables.shown(frame)))
