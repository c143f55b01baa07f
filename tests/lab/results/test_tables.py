"""The results table, the published numbers, and the files that tables are written to; LaTeX as in a paper."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lab.machine.faults import DamagedFile, MissingData
from lab.results import exports, stored, tables
from lab.results.exports import markdown
from lab.results.latex import latex
from lab.results.outcomes import Outcomes, Readings


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of published numbers with the kinds of cell that the real files have."""
    lines = [
        "table,row_method,backbone,metric,value,source",
        "Table 2,SDP,Gemini,pass %,93.8,arXiv 1",
        "Table 2,ReAct,Gemini,pass %,12-18,arXiv 1",
        "Table 2,ReAct,,F1,,not recovered",
        "Table 2,TDP,Gemini,pass %,25%,arXiv 1",
        '"Table 3, ours",SDP,,EM,1.5,arXiv 1',
    ]
    (tmp_path / "sdp_tables.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "procllm_tables.csv").write_text("\n".join([lines[0], "Table 3,X,,EM,1,arXiv 2", lines[1]]) + "\n")
    monkeypatch.setattr(tables, "published_data", lambda: tmp_path)
    return tmp_path


def refused(**fields: Any) -> None:
    tables.row("SDP", metric="F1", value=1.0, **fields)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: refused(backbone="rules", evidence="guessed", source="x", n=3), "'guessed'.*published, measured, sim"),
        (lambda: refused(backbone="", evidence="measured", source="x"), "lacks backbone and n"),
        (lambda: refused(backbone="", evidence="simulated", source="x"), "lacks backbone and n"),
        (lambda: tables.published("Table 2"), "is in procllm, sdp; say which"),
        (lambda: tables.published("Table 9"), "Table 2; Table 3; Table 3, ours"),
        (lambda: tables.side_by_side(tables.table([tables.rate_row("SDP", "rules", "pass %", 1, 4)] * 2), ["pass %"]),
         "two measured values of pass % for SDP, rules"),
        (lambda: tables.write(tables.table([]), "../elsewhere"), "leads out of"),
    ],
)  # fmt: skip
def test_what_no_table_can_hold_is_refused(published: Path, act: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        act()


def test_a_rate_is_in_percent_with_its_wilson_interval() -> None:
    row = tables.rate_row("SDP", "rules", "pass %", 45, 180)
    assert (row["value"], row["n"], row["evidence"]) == (25.0, 180, "measured")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((19.24, 31.80), abs=0.01)


def test_published_cells_stay_empty_or_text_and_are_never_guessed(published: Path) -> None:
    frame = tables.published("Table 2", paper="sdp")
    assert list(frame.columns) == [*tables.COLUMNS, "text"]
    assert set(frame["evidence"]) == {"published"}
    assert frame["value"].fillna(-1).tolist() == [93.8, -1, -1, 25.0]
    assert frame["text"].tolist() == ["", "12-18", "", "25%"]
    (published / "sdp_tables.csv").unlink()
    with pytest.raises(MissingData, match="sdp_tables.csv"):
        tables.published("Table 2", paper="sdp")


def test_a_published_rate_has_the_interval_of_its_stated_n_and_has_to_be_a_rate_of_it(published: Path) -> None:
    head = "table,row_method,backbone,metric,value,n,source"
    lines = [head, "Table 1,A,,hotel,11.6,43,arXiv 3", "Table 1,B,,hotel,11.6,,arXiv 3"]
    file = published / "procllm_tables.csv"
    file.write_text("\n".join([*lines, ""]))
    counted, alone = tables.published("Table 1").to_dict("records")
    expected = tables.rate_row("A", "", "hotel", 5, 43, "published")
    assert [counted[name] for name in ("ci_low", "ci_high", "n")] == [expected[n] for n in ("ci_low", "ci_high", "n")]
    assert counted["value"] == 11.6 and math.isnan(alone["n"]) and math.isnan(alone["ci_low"])
    for value, n in (("11.6", "20"), ("11.6", "0"), ("11.6", "few"), ("", "43"), ("240", "10")):
        file.write_text("\n".join([*lines, f"Table 1,C,,hotel,{value},{n},arXiv 3", ""]))
        with pytest.raises(DamagedFile, match="line 4.* no rate in percent of its n"):
            tables.published("Table 1")


def test_published_stands_beside_measured_and_every_row_says_its_evidence(published: Path) -> None:
    made = tables.table(
        [
            tables.rate_row("SDP", "rules", "pass %", 1, 4, outcomes=Outcomes(4, failed=1)),
            tables.mean_row("SDP", "rules", "F1", [0.5, 0.5]),
            tables.rate_row("New", "rules@0.7", "pass %", 4, 4, evidence="simulated"),
        ]
    )
    shown = tables.side_by_side(pd.concat([made, tables.published("Table 2", paper="sdp")]), ["pass %", "F1"])
    assert shown.values.tolist() == [
        ["SDP", "Gemini", "published", "–", "–", "–", "93.8", "–"],
        ["SDP", "rules", "measured", "2–4", "1", "0", "25.0 [4.6, 69.9]", "0.5 [0.5, 0.5]"],
        ["New", "rules@0.7", "simulated", "4", "–", "–", "100.0 [51.0, 100.0]", "–"],
        ["ReAct", "Gemini", "published", "–", "–", "–", "12-18", "–"],
        ["ReAct", "–", "published", "–", "–", "–", "–", "–"],
        ["TDP", "Gemini", "published", "–", "–", "–", "25%", "–"],
    ]


def test_markdown_escapes_pipes_and_html_and_keeps_one_line_a_row() -> None:
    text = markdown(pd.DataFrame({"a|b": ["x|y\nz", "\\"], "n": [0.1234567891, 2.0]}))
    assert text == "| a\\|b | n |\n| --- | ---: |\n| x\\|y z | 0.123457 |\n| \\\\ | 2 |\n"
    text = markdown(pd.DataFrame({"<b>": ["<script>alert(1)</script>", "p <= 0.05, a<1, x->y"]}))
    assert text.splitlines()[::2] == ["| &lt;b> |", "| &lt;script>alert(1)&lt;/script> |"]
    assert text.splitlines()[3] == "| p <= 0.05, a<1, x->y |"


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("=1+1", False), ('=HYPERLINK("http://x")', False), (" =A1", False), ("@SUM(1)", False), ("\t=1", False),
        ("+cmd|' /C calc'!A0", False), ("-2+3+cmd|' /C calc'!A0", False), ("-0.5", True), ("-1e-3", True),
        ("-Validate", True), ("= full", True), ("+0.5 [-0.1, 0.9]", True), ("a = b", True),
    ],
)  # fmt: skip
def test_a_cell_that_a_spreadsheet_would_run_is_text_in_the_csv(cell: str, kept: bool) -> None:
    text = exports.csv(pd.DataFrame({cell: [cell], "n": [-1.5]}))
    inert = cell if kept else f"'{cell}"
    assert list(csv.reader(io.StringIO(text))) == [[inert, "n"], [inert, "-1.5"]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of figures."""
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "figures"))
    return tmp_path / "figures"


def test_csv_and_parquet_hold_the_rows_and_markdown_and_latex_what_is_read(folder: Path, published: Path) -> None:
    made = [tables.rate_row("S, D", "rules", "pass %", 1, 3), tables.mean_row("S, D", "rules", "F1", [0.1, 0.7])]
    rows = pd.concat([tables.published("Table 2", paper="sdp"), tables.table(made)], ignore_index=True)
    paths = tables.write(rows, "1_sdp/table2")
    assert [path.relative_to(folder).as_posix() for path in paths] == [
        f"1_sdp/table2.{end}" for end in ("md", "csv", "parquet", "tex")
    ]
    assert sorted(path.name for path in (folder / "1_sdp").iterdir()) == sorted(path.name for path in paths)
    expected = rows.replace({"": None, "–": None})
    for back in (pd.read_csv(paths[1]), pd.read_parquet(paths[2])):
        pd.testing.assert_frame_equal(back[[*tables.NUMBERS]], rows[[*tables.NUMBERS]], check_exact=True)
        assert (
            back.astype(object).where(back.notna(), None).equals(expected.astype(object).where(expected.notna(), None))
        )
    assert paths[0].read_text() == exports.markdown(tables.side_by_side(rows, ["pass %", "F1"]))


def test_what_is_no_results_table_is_written_as_it_is_with_typed_columns(folder: Path) -> None:
    cells = {
        "who": "ab",
        "mixed": ["x", 3],
        "n": [3, "–"],
        "rate": [1 / 3, None],
        "low": [0.1, None],
        "high": [0.9, None],
    }
    counts = pd.DataFrame({name: list(column) for name, column in cells.items()})
    markdown, text, packed, _ = tables.write(counts, "plain", decimals=2)
    back = pd.read_parquet(packed)
    assert [kind.kind for kind in back.dtypes[["n", "rate", "low", "high"]]] == ["f"] * 4
    assert back["mixed"].tolist() == ["x", "3"] and back["rate"][0] == 1 / 3
    assert text.read_text().splitlines()[1:] == [f"a,x,3,{1 / 3},0.1,0.9", "b,3,,,,"]
    assert markdown.read_text().splitlines()[2] == "| a | x | 3 | 0.33 [0.10, 0.90] |"


def test_nothing_that_is_committed_glues_a_value_to_its_interval_and_numbers_read_as_numbers() -> None:
    paths = sorted(stored.COMMITTED.rglob("*.csv"))
    assert len(paths) > 90
    for path in paths:
        with path.open(encoding="utf-8") as file:
            glued = [cell for line in csv.reader(file) for cell in line if re.search(r"\d \[", cell)]
        assert not glued, path
        frame = pd.read_csv(path)
        numbers = frame[[name for name in (*tables.NUMBERS, *tables.SHARES) if name in frame]]
        assert frame.empty or all(kind.kind in "if" for kind in numbers.dtypes), path
    assert not [*stored.COMMITTED.rglob("*.parquet")], "their bytes change with pyarrow"


def test_single_tasks_are_left_out_where_there_are_others() -> None:
    rows = tables.table(tables.mean_row(name, "rules", "score", [1.0] * n, evidence="measured", source="this run")
                        for name, n in (("A", 1), ("B", 3)))  # fmt: skip
    paper = tables.table([tables.row("A", "gpt", "score", 2.0, evidence="published", source="Table 1")])
    every = pd.concat([paper, rows])
    assert tables.telling(every)["method"].tolist() == ["A", "B"]
    assert tables.telling(every[every["method"] == "A"])["n"].tolist()[1:] == [1], "nothing else is there"


def test_what_was_not_measured_bounds_the_value() -> None:
    made = tables.table(
        [
            tables.rate_row("SDP", "rules", "pass %", 6, 8, outcomes=Outcomes(8, 1, 2)),
            tables.mean_row("SDP", "rules", "F1", [0.5, 1.0], outcomes=Outcomes(2, 0, 2), top=1.0),
            tables.mean_row("SDP", "rules", "steps", [3, 5], outcomes=Outcomes(2, 0, 2)),
        ]
    )
    assert made["bound_low"].tolist()[:2] == [60.0, 0.375] and made["bound_high"].tolist()[:2] == [80.0, 0.875]
    assert made["bound_low"].isna().tolist() == [False, False, True], "steps have no highest value"
    (shown,) = tables.side_by_side(made, ["pass %", "F1"]).to_dict("records")
    assert (shown["n"], shown["failed"], shown["not measured"]) == ("2–8", "0–1", "2")
    assert shown["pass %"].endswith("(with all measured: 60.0 to 80.0)")


def test_how_a_models_answers_were_read_stands_beside_its_scores() -> None:
    outcomes = Outcomes(4, readings=Readings(200, 1.5, 0.5, 3.0))
    read = tables.rate_row("SDP", "gpt-4o", "pass", 1, 4, outcomes=outcomes)
    shown = tables.side_by_side(tables.table([read, tables.rate_row("SDP", "rules", "pass", 1, 4)]), ["pass"])
    assert shown[tables.ANSWERS].tolist() == ["1.5 malformed, 0.5 truncated, 3.0 repaired", "–"]
    rules = tables.side_by_side(tables.table([tables.rate_row("SDP", "rules", "pass", 1, 4)]), ["pass"])
    assert tables.ANSWERS not in rules


# --- LaTeX -----------------------------------------------------------------------------------------------------------


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
