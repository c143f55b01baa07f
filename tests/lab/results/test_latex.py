"""Tables in LaTeX, as in a paper."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from lab.results import tables
from lab.results.latex import latex
from lab.results.outcomes import Outcomes


def cells(text: str) -> list[list[str]]:
    """The rows of a tabular, without headings of blocks; fails where one has another number of cells."""
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\")]
    rows = [line for line in lines if not line[0].startswith(r"\multicolumn")]
    assert len({len(row) for row in rows}) == 1
    return rows


@pytest.fixture
def results() -> pd.DataFrame:
    """Published, measured and simulated rows; a method without any value, and a metric that nobody has."""
    published = {"evidence": "published", "source": "Table 2"}
    rows = [
        tables.row("SDP", "GPT-4o", "pass_rate %", 93.8, **published),
        tables.row("TDP", "GPT-4o", "pass_rate %", None, **published),
        tables.rate_row("SDP", "rules", "pass_rate %", 3, 4, outcomes=Outcomes(4, failed=1)),
        tables.mean_row("SDP", "rules", "gain", [-0.5, -0.25]),
        tables.rate_row("SDP", "rules@0.7", "pass_rate %", 1, 40, evidence="simulated"),
    ]
    return tables.table(rows)


def test_methods_are_rows_under_their_evidence_and_what_has_no_value_is_left_out(results: pd.DataFrame) -> None:
    text = latex(tables.side_by_side(results, ["pass_rate %", "gain", "nobody's"]), "Rates", "1_sdp/t")
    assert cells(text) == [
        ["Method", "Backbone", r"pass\_rate \%", "gain"],
        ["SDP", "GPT-4o", "93.8", "--"],
        ["SDP", "rules", r"75.0 {\scriptsize {[}30.1, 95.4{]}}", r"$-$0.4 {\scriptsize {[}$-$0.5, $-$0.2{]}}"],
        ["SDP", "rules@0.7", r"2.5 {\scriptsize {[}0.4, 12.9{]}}", "--"],
    ]
    assert re.findall(r"emph\{(.*)\}\}", text) == ["published", "measured, n = 2--4, failed = 1", "simulated, n = 40"]
    assert r"\begin{tabular}{llrr}" in text and text.count(r"\midrule") == 3 and r"\bottomrule" in text


def test_a_caption_says_what_is_in_the_table_and_the_label_is_its_stem(results: pd.DataFrame) -> None:
    text = latex(tables.side_by_side(results, ["pass_rate %"]), "50% & more", "1_sdp/t")
    (caption,) = re.findall(r"\\caption\{(.*)\}", text)
    assert caption.startswith(r"50\% \& more. Published: the papers' own values; measured: made here; sim")
    assert "95 \\% intervals" in caption and "n: tasks" in caption and r"\label{tab:1_sdp/t}" in text
    bare = latex(tables.side_by_side(results[:1], ["pass_rate %"]), "Rates", "t")
    assert r"\caption{Rates. Backbone: GPT-4o. Published: the papers' own values.}" in bare
    assert cells(bare) == [["Method", r"pass\_rate \%"], ["SDP", "93.8"]]


def test_any_other_table_keeps_its_columns_but_empty_ones() -> None:
    frame = pd.DataFrame({"p (Holm)": [0.00001, 0.0125], "why": ["x" * 60, "–"], "none": ["", "–"], "no": [None, None]})
    text = latex(frame.astype({"no": float}), "Tests", "t")
    assert cells(text) == [["p (Holm)", "why"], [r"\textless{}0.0001", "x" * 60], ["0.0125", "--"]]
    assert r"\begin{tabular}{rp{0.25\linewidth}}" in text and r"\caption{Tests.}" in text
    assert cells(latex(pd.DataFrame({"a": [], "b": []}), "Nothing", "t")) == [["a", "b"]]


def test_what_would_break_latex_is_escaped() -> None:
    text = latex(pd.DataFrame({"a_b %": ["[x] & y\\z", "{$#^~}", "[Table 1](../t.ipynb)", "12-18"]}), "", "t")
    assert cells(text.replace(r"\&", "AND"))[0] == [r"a\_b \%"]
    escaped = (r"{[}x{]} \& y\textbackslash{}z", r"\{\$\#\textasciicircum{}\textasciitilde{}\}", "Table 1", "12-18")
    assert all(rf"{cell} \\" in text for cell in escaped)
