"""Figures: the charts that notebooks share, the texts in them, and files that come out the same every time."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import base64
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from lab.results import dots, plots, tables
from lab.results.text import LONGEST, drawable, fitted, flags, most_width, width, wrapped, wrapped_names
from odd_texts import ODD


@pytest.fixture
def results() -> pd.DataFrame:
    return tables.table(
        [
            tables.rate_row("SDP", "rules", "pass %", 60, 120),
            tables.rate_row("ReAct", "rules", "pass %", 6, 120),
            tables.rate_row("SDP", "rules@0.7", "pass %", 9, 40, evidence="simulated"),
        ]
    )


def test_a_shown_figure_is_the_file_with_its_alternative_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path))
    seen = []
    monkeypatch.setattr("IPython.display.display", lambda data, **how: seen.append((data, how["metadata"])))
    figure = plt.figure(figsize=(4, 2))
    plots.show(figure, "empty", "nothing")
    ((data, metadata),) = seen
    assert base64.b64decode(data["image/png"]) == (tmp_path / "empty.png").read_bytes()
    assert metadata == {"image/png": {"alt": "nothing", "width": 400}} and data["text/plain"] == "nothing"
    assert not plt.fignum_exists(figure.number), "the cell's end would draw it again"


@pytest.mark.slow
def test_a_figure_has_the_same_bytes_twice(
    results: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plots.style()
    files = []
    for folder in ("first", "second"):
        monkeypatch.setenv("LAB_FIGURES", str(tmp_path / folder))
        axes = plots.bars_with_intervals(results, "method", "value", "ci_low", "ci_high", hue="backbone")
        plots.label_evidence(axes.figure, results)
        files.append([path.read_bytes() for path in plots.save(axes.figure, "bars")])
        plt.close(axes.figure)
    assert files[0] == files[1]
    assert files[0][0].startswith(b"\x89PNG") and files[0][1].startswith(b"%PDF")
    for word in (b"CreationDate", b"Producer", b"matplotlib"):
        assert word not in files[0][0] + files[0][1]


def test_bars_keep_their_values_and_whiskers(results: pd.DataFrame) -> None:
    axes = plots.bars_with_intervals(results, "method", "value", "ci_low", "ci_high", hue="backbone")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["SDP", "ReAct"]
    assert [bar.get_height() for bar in axes.patches][:3] == [50.0, 5.0, 22.5]
    whisker = axes.collections[0].get_segments()[0]
    assert [y for _, y in whisker] == pytest.approx([results["ci_low"][0], results["ci_high"][0]])


def test_a_dollar_sign_in_a_label_begins_no_formula() -> None:
    plots.style()
    axes = plots.bars_with_intervals(
        pd.DataFrame({"x": ["$a_b$ {", "$x^{"], "y": [1.0, 2.0], "l": 0.0, "h": 3.0}), "x", "y", "l", "h"
    )
    assert [label.get_parse_math() for label in axes.get_xticklabels()] == [False, False]
    axes.figure.canvas.draw()


@pytest.mark.slow
def test_lines_run_in_the_order_of_x_with_a_band_each() -> None:
    frame = pd.DataFrame(
        {"k": [3, 1, 2], "f1": [0.3, 0.1, 0.2], "low": [0.2, 0.0, 0.1], "high": [0.4, 0.2, 0.3], "method": "SDP"}
    )
    axes = plots.lines_with_bands(frame, "k", "f1", "method", "low", "high")
    assert axes.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert len(axes.collections) == 1
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["SDP"]


def test_a_figure_says_the_evidence_backbone_and_n_of_its_numbers(results: pd.DataFrame) -> None:
    line = plots.evidence_line(results)
    assert line == "measured · rules · n = 120; simulated · rules@0.7 · n = 40"
    axes = plots.bars_with_intervals(results, "method", "value", "ci_low", "ci_high", hue="backbone")
    plots.label_evidence(axes.figure, results)
    assert axes.figure.get_supxlabel() == line


def test_given_colors_hold_whichever_of_the_names_there_are() -> None:
    colors = {"a": "red", "b": "green", "c": "blue"}
    frame = pd.DataFrame({"x": ["1", "1"], "y": [1.0, 2.0], "low": 0.0, "high": 3.0, "who": ["c", "a"]})
    axes = plots.bars_with_intervals(frame, "x", "y", "low", "high", "who", colors=colors)
    handles, names = axes.get_legend_handles_labels()
    assert names == ["a", "c"]
    assert [handle[0].get_facecolor()[:3] for handle in handles] == [to_rgb("red"), to_rgb("blue")]


def test_one_legend_has_what_any_panel_has_and_the_panels_have_none() -> None:
    figure, panels = plt.subplots(1, 2)
    colors = {"a": "red", "b": "green"}
    for axes, who in zip(panels, "ab", strict=True):
        frame = pd.DataFrame({"x": ["1"], "y": [1.0], "low": 0.0, "high": 3.0, "who": [who]})
        plots.bars_with_intervals(frame, "x", "y", "low", "high", "who", axes, colors)
    plots.one_legend(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert not any(axes.get_legend() for axes in panels)


def test_a_bar_of_few_tasks_is_hollow_and_says_its_n_in_place_of_an_interval() -> None:
    frame = pd.DataFrame({"who": ["many", "few"], "value": [50.0, 50.0], "low": [40.0, 1.0], "high": [60.0, 99.0]})
    axes = plots.bars_with_intervals(frame.assign(n=[100, 2]), "who", "value", "low", "high", n="n")
    many, few = axes.patches
    assert many.get_facecolor()[3] == 1 and few.get_facecolor()[3] == 0
    assert [text.get_text() for text in axes.texts] == ["n=2"]
    (segments,) = [lines.get_segments() for lines in axes.collections]
    assert [len(segment) for segment in segments] == [2, 0]


def test_a_line_of_evidence_that_is_too_long_goes_on_in_the_next() -> None:
    figure, _ = plt.subplots(figsize=(4, 3))
    rows = [{"evidence": "measured", "backbone": f"a model of a long name {n}", "n": 20} for n in range(4)]
    plots.label_evidence(figure, pd.DataFrame(rows))
    lines = figure.get_supxlabel().splitlines()
    assert len(lines) == 4 and "; ".join(lines) == plots.evidence_line(pd.DataFrame(rows))


# --- texts of a known width ------------------------------------------------------------------------------------------


@given(st.text(max_size=80), st.floats(0.3, 4), st.integers(1, 3))
def test_texts_keep_to_their_room(text: str, room: float, lines: int) -> None:
    assert width(fitted(text, room, 9), 9) <= room
    broken = wrapped(text, room, 9, lines)
    assert len(broken) <= lines and all(width(line, 9) <= room for line in broken)


def test_a_text_that_fits_is_kept_whole() -> None:
    assert fitted("soapbar 2", 2, 9) == "soapbar 2"
    assert wrapped("one two three four", 20, 9, 2) == ["one two three four"]
    halves = wrapped("one two three four", width("one two three", 9), 9, 2)
    assert " ".join(halves) == "one two three four" and len(halves) == 2


@given(st.lists(st.tuples(st.floats(0, 8), st.lists(st.text("ab ", min_size=1, max_size=40), min_size=1, max_size=3)),
                max_size=9))  # fmt: skip
def test_no_flag_covers_another_or_its_pole(drawn: list[tuple[float, list[str]]]) -> None:
    placed = flags(sorted(drawn, key=lambda flag: flag[0]), 8)
    for number, flag in enumerate(placed):
        right = flag.x + max(width(line, 8) for line in flag.lines)
        for other in placed[number + 1 :]:
            top = other.bottom + len(other.lines) * 8 * 1.2 / 72
            assert other.x > right or flag.bottom >= top


@given(st.text() | st.sampled_from(ODD), st.floats(0.3, 2), st.integers(1, 4))
@settings(max_examples=150)
@example("m-choose-departing-flight", 0.7, 3)
def test_wrapped_names_have_room_and_lose_nothing_but_what_an_ellipsis_says(text: str, room: float, most: int) -> None:
    lines = wrapped_names(text, room, 9, most)
    assert len(lines) <= most
    assert all(most_width(line, 9) <= room for line in lines)
    whole, shown = ("".join(part.split()) for part in (drawable(text), "".join(lines)))
    assert shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1]))


def test_a_name_is_cut_only_where_it_must() -> None:
    assert wrapped_names("m-choose-departing-flight", 1.15, 8, 3) == ("m-choose-", "departing-flight")
    assert wrapped_names("take notes", 1.75, 9, 4) == ("take notes",)
    assert wrapped_names("", 1, 9, 4) == ()
    assert wrapped_names("i" * (LONGEST + 1), 100, 9, 4)[-1].endswith("…")


@pytest.mark.parametrize(
    ("engine", "evidence", "who"),
    [
        ("oracle@0.6", "simulated", dots.SIMULATED),
        ("none", "measured", dots.NOBODY),
        ("first", "measured", dots.NOBODY),
        ("rules", "measured", dots.RULES),
        ("qwen2.5-coder-0.5b (local, openvino), Perceive: rules, exact world model", "measured", dots.SMALL),
        ("gpt-4o", "measured", dots.BIG),
    ],
)
def test_the_colour_of_a_dot_says_who_answered(engine: str, evidence: str, who: str) -> None:
    assert dots.who(engine, evidence) == who


def test_each_model_of_a_paper_has_its_value_in_the_figure() -> None:
    figure = dots.draw([("success, %", [dots.Line("Human-TN", (dots.Dot(50),), paper=(39.5, 11.6))])], "title")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["39.5", "11.6"]
    plt.close(figure)
