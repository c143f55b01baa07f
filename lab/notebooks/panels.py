"""The panels of a page's key figure: methods with our values, published ones and the strongest null model.

The register declares which metrics of which table a notebook displays, and the names of its methods
(`register.Shows`). A panel is drawn by `lab.results.dots`, and summed up in a title and in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lab.notebooks import register, scoreboard
from lab.notebooks.register import Shows
from lab.results import dots, tables
from lab.results.stored import FLOOR, Stored

if TYPE_CHECKING:
    import pandas as pd

MODELS = (dots.SMALL, dots.BIG)
MOST_PANELS = 3  # of a figure; the page's table has the other metrics
MOST_LINES = 11  # lines in a panel; methods with a value of ours have priority


class Panel(NamedTuple):
    """A panel. lines: the methods and the strongest null model. lower: whether lower values are better."""

    metric: str
    lines: list[dots.Line]
    lower: bool


def of(notebook: str, stored: Stored) -> list[Panel]:
    """The panels of a notebook's key figure, at most MOST_PANELS; empty if nothing of it is stored."""
    layouts = layouts_of(notebook, stored.rows(notebook, notebook))
    every = [
        Panel(metric, lines_of(shows, metric, notebook, stored), shows.lower)
        for shows in layouts
        for metric in shows.metrics
    ]
    return [panel for panel in every if panel.lines][:MOST_PANELS]


def items_of(notebook: str) -> list[register.Item]:
    """The tables and figures of the papers that are on a notebook's page."""
    return [item for paper in register.listed() for item in paper.items if item.notebook == notebook]


def layouts_of(notebook: str, rows: pd.DataFrame | None) -> list[Shows]:
    """The layouts of the key figure: the register's, or all metrics of `rows` if no table of a paper is on the page."""
    if items := items_of(notebook):
        return [item.shows for item in items if item.shows]
    if rows is None or not {*tables.COLUMNS} <= {*rows}:
        return []
    return [Shows(table=notebook, metrics=dict.fromkeys(rows["metric"], ""))]


def lines_of(shows: Shows, metric: str, notebook: str, stored: Stored) -> list[dots.Line]:
    """The lines of a panel: the methods in the table's order, at most MOST_LINES, then the strongest null model.

    If there are too many methods, those with a value of ours have priority.
    """
    rows = stored.rows(shows.table, notebook)
    if rows is None:
        return []
    rows = rows[(rows["metric"] == metric) & rows["value"].notna()]
    rows = named(rows, shows)
    lines = [_line(str(method), group) for method, group in rows.groupby("method", sort=False)]
    lines = [line for line in lines if line.paper or line.dots]
    chosen = sorted(lines, key=lambda line: not line.dots)[:MOST_LINES]
    return [line for line in lines if line in chosen] + _null(shows.metrics[metric], shows.lower, stored)


def named(rows: pd.DataFrame, shows: Shows) -> pd.DataFrame:
    """The rows with the methods' names of the figure, in the register's order."""
    if shows.by == "backbone":
        return rows.assign(method=rows["backbone"].map(model_label))
    if shows.methods:
        listed, order = rows["method"].isin(shows.methods), [*dict.fromkeys(shows.methods.values())]
        named = rows[listed].assign(method=rows["method"].map(shows.methods))
        return named.sort_values("method", key=lambda names: names.map(order.index), kind="stable")
    return rows


def _line(method: str, rows: pd.DataFrame) -> dots.Line:
    published = rows[rows["evidence"] == "published"]
    own = rows[rows["evidence"] != "published"].sort_values("n", kind="stable", ascending=False)
    own = own[own["n"] != 1]  # a single task says nothing
    own = own.assign(model=own["backbone"].map(model_label), data=own.get("data", ""))
    own = own.drop_duplicates(["model", "evidence"])  # keeps the most tasks
    values = [
        dots.Dot(
            row.value,
            row.ci_low,
            row.ci_high,
            dots.who(text_or_empty(row.backbone), row.evidence),
            _count(row.n),
            row.model,
            text_or_empty(row.data),
        )  # fmt: skip
        for row in own.sort_values("model").itertuples()
    ]
    values.sort(key=lambda dot: dots.WHO.index(dot.who))
    published = published.drop_duplicates("value")
    models = tuple(map(text_or_empty, published["backbone"]))
    return dots.Line(method, tuple(values), tuple(published["value"]), models=models)


def _null(benchmark: str, lower: bool, stored: Stored) -> list[dots.Line]:
    """A line with the strongest null model of a benchmark, over all its tasks; empty without one."""
    agents = stored.agents(benchmark, FLOOR)
    if not agents:
        return []
    best = (min if lower else max)(agents, key=lambda agent: agent.mean(agent.values))
    value = best.mean(best.values) * (1 if lower else 100)
    return [dots.Line(dots.NULL_MODEL, null=value, note=f"{best.side.condition}, n = {len(best.values)}, {best.data}")]


def title_of(panel: Panel) -> str:
    """The figure's title: the values of the first method that was run, and the paper's where they can be compared.

    If the first method has no published value and no model answered: the lowest and the highest method.
    """
    metric, lines, _ = panel
    pairs = [(dot.value, line.label.strip(), dot) for line in lines for dot in line.dots]
    first = next((line for line in lines if line.dots), lines[0])
    if len(pairs) > 1 and not any(line.paper or any(dot.who in MODELS for dot in line.dots) for line in lines):
        low, high = (choose(pairs, key=lambda pair: pair[0]) for choose in (min, max))
        if low[0] == high[0]:
            return f"{metric}: {_number(low[0])} for all"
        ends = [f"{_number(value)} ({label}, {dot.who.partition(' (')[0]})" for value, label, dot in (low, high)]
        return f"{metric}: {' to '.join(ends)}"
    values_of: dict[str, list[float]] = {}
    for dot in first.dots:
        values_of.setdefault("" if dot.name and dot.name in first.label else f" {_by(dot)}", []).append(dot.value)
    parts = ["–".join(map(_number, sorted({min(values), max(values)}))) + who for who, values in values_of.items()]
    parts += [f"{' and '.join(map(_number, first.paper))} published"] if _comparable(first) or not first.dots else []
    return f"{metric}: {first.label.strip()} {', '.join(parts)}"


def _comparable(line: dots.Line) -> bool:
    """Whether a published value has a counterpart here: of a model, or of a method that needs none."""
    return bool(line.paper) and any(dot.who in (dots.NOBODY, *MODELS) for dot in line.dots)


def decimals(drawn: Sequence[Panel]) -> int:
    """Decimals of a figure: three for values in [-1, 1], one for percentages."""
    return decimals_of(dot.value for panel in drawn for line in panel.lines for dot in line.dots)


def decimals_of(values: Iterable[float]) -> int:
    """Decimals of values: three if all are in [-1, 1], one for percentages and counts."""
    return 3 if max(map(abs, values), default=math.inf) <= 1 else 1


def sentence(panel: Panel, decimals: int, data: str = "") -> str:
    """The panel in a sentence: the first method that was run, and the best of each other kind of method.

    They are compared on answers of the same kind as the first method's first dot. If a model gave that one, the best
    method that only rules answered, or nobody, follows. The published value follows only where it can be compared.
    data: of this page's runs, where the table does not tell; named unless models answered. "" if nothing was run.
    """
    answered = [line for line in panel.lines if line.dots]
    if not answered:
        return ""
    first, others = answered[0], answered[1:]
    by_who = {dot.who: dot for dot in reversed(first.dots)}  # one per kind, the first
    texts = [f"{_valued(dot, decimals)}{_answerer(first, dot)}" for dot in by_who.values()]
    data, by_model = first.dots[0].data or data, first.dots[0].who in MODELS
    on = f", {data} data" if data and not by_model else ""
    parts = [f"{panel.metric}{on}: {first.label.strip()} {'; '.join(reversed(texts))}"]
    if _comparable(first):
        parts.append(f"published: {' and '.join(f'{value:.{decimals}f}' for value in first.paper)}")
    same = [(line.label.strip(), dot) for line in others for dot in line.dots if dot.who == first.dots[0].who]
    placebos = [pair for pair in same if dots.PLACEBO in pair[0].lower()]
    without = [
        (line.label.strip(), dot)
        for line in others
        for dot in line.dots
        if by_model and {dot.who for dot in line.dots} <= {dots.NOBODY, dots.RULES}
    ]
    kinds = {
        "best other model" if without else "best other": [pair for pair in same if pair not in placebos],
        "best without a model": without,
        "placebo": placebos,
    }
    for kind, pairs in kinds.items():
        if pairs:
            label, dot = (min if panel.lower else max)(pairs, key=lambda pair: pair[1].value)
            parts.append(f"{kind}: *{label}* {_valued(dot, decimals)}")
    for line in panel.lines:
        if line.null is not None and (not on or data in line.note):
            parts.append(f"null model ({line.note}) {line.null:.{decimals}f}")
    return f"{'; '.join(parts)}."


def _answerer(line: dots.Line, dot: dots.Dot) -> str:
    """Who answered and n: " by gpt-4o, n = 60". A model in the line's label is not repeated."""
    who = f"simulated ({dot.name})" if dot.who == dots.SIMULATED else _by(dot)
    who = "" if dot.who in MODELS and dot.name in line.label else f" {who}"
    return f"{who}, n = {dot.n:,}" if dot.n else who


def _valued(dot: dots.Dot, decimals: int) -> str:
    ends = "" if math.isnan(dot.low) else f" [{dot.low:.{decimals}f}, {dot.high:.{decimals}f}]"
    return f"{dot.value:.{decimals}f}{ends}"


def _by(dot: dots.Dot) -> str:
    """Who answered, for a title: "by gpt-4o", "simulated"."""
    return dot.who if dot.who == dots.SIMULATED else f"by {dot.name if dot.who in MODELS else dot.who}"


def _number(value: float) -> str:
    return f"{value:.3f}" if 0 < abs(value) < 1 else f"{value:.1f}"


def model_label(backbone: object) -> str:
    """A backbone's label without runtime and options."""
    return scoreboard.short(text_or_empty(backbone))


def text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: float) -> int:
    return 0 if math.isnan(value) else int(value)
