"""The parts of every notebook's page: answer box, key figure, and a table of this run next to paper and recordings.

Box and figure are computed from stored results. The register declares which metrics of which table a notebook displays,
and the names of its methods (`register.Shows`); otherwise the figure is the forest plot of its claims.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.notebooks import answers, expected, register, scoreboard
from lab.notebooks.register import Shows
from lab.results import dots, plots, tables
from lab.results.display import Shown
from lab.results.exports import EMPTY
from lab.results.plots import FEW
from lab.results.stored import COMMITTED, FLOOR, Stored
from lab.runs.study_results import NO_HEADLINE

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown
    from matplotlib.figure import Figure

DPI, WIDTH = 100, 800  # a figure of 8 inches is 800 pixels wide
MOST_METRICS, MOST_ROWS = 3, 12  # maximal size of the table
MOST_PANELS = 3  # of a figure
MOST_LINES = 11  # lines in a panel; methods with a value of ours have priority


def answer(notebook: str) -> None:
    """Display the answer box of a notebook and its key figure."""
    from IPython.display import display

    for data, metadata in bundles(notebook):
        display(data, metadata=metadata, raw=True)


def bundles(notebook: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The outputs of `answer`, as (data, metadata) pairs. Equal results give equal bytes."""
    box = {"text/markdown": answers.text(notebook), "text/plain": "<IPython.core.display.Markdown object>"}
    outputs: list[tuple[dict[str, Any], dict[str, Any]]] = [(box, {})]
    if key_figure := image(notebook):
        encoded, alternative = base64.b64encode(key_figure.png).decode("ascii"), key_figure.title
        shown = {"alt": alternative, "width": WIDTH}  # a committed figure has more dots per inch
        outputs.append(({"image/png": encoded, "text/plain": alternative}, {"image/png": shown}))
    return outputs


class Image(NamedTuple):
    """A key figure as a PNG. title: the finding, also its alternative text."""

    png: bytes
    title: str


def image(notebook: str) -> Image | None:
    """The key figure of a notebook as a PNG; None if nothing of it is stored."""
    import matplotlib
    import matplotlib.pyplot as plt

    # A page about more than one table displays the figure with its own name.
    drawings = {item.drawing: item.title for item in _items(notebook)}
    if not _items(notebook):
        drawings[notebook] = (
            next(iter(answers.sentences(notebook)), "") if "/" in notebook else "All of it in one figure"
        )
    for drawing, title in drawings.items():
        if drawing and (path := COMMITTED / f"{drawing}.png").exists():
            return Image(path.read_bytes(), title)
    # Select the backend outside of rc_context, whose exit would otherwise reset it and hide figures of later cells.
    plt.switch_backend(matplotlib.get_backend())
    with matplotlib.rc_context():
        plots.style()
        if (chart := figure(notebook)) is None:
            return None
        buffer = io.BytesIO()
        chart.savefig(buffer, format="png", dpi=DPI, metadata=plots.NO_METADATA[".png"])
        plt.close(chart)
    return Image(buffer.getvalue(), " ".join(chart.get_suptitle().split()))


def figure(notebook: str, stored: Stored | None = None) -> Figure | None:
    """The key figure of a notebook; None if nothing of it is stored."""
    stored = stored or Stored()
    layouts = _shows(notebook, stored.rows(notebook, notebook))
    panels = [(metric, lines_of(shows, metric, notebook, stored)) for shows in layouts for metric in shows.metrics]
    panels = [panel for panel in panels if panel[1]][:MOST_PANELS]  # the table has the other metrics
    if panels:
        return dots.draw(panels, title_of(*panels[0]), decimals=_decimals(panels))
    own = [finding for finding in scoreboard.findings(register.committed()) if finding.claim.notebook == notebook]
    own = [finding for finding in own if finding.on_a_model and finding.n >= FEW]
    return scoreboard.forest(own) if own else None


def this_run(notebook: str, *runs: Any) -> Markdown:
    """The computed results of runs in sentences, and the changed parameters. runs: objects with a method `answer`.

    Also sets the suite's style for later figures.
    """
    from IPython.display import Markdown

    plots.style()
    changed = [*expected.changed(notebook)]
    first = f"**This run**, with {', '.join(changed)}:" if changed else "**This run**:"
    lines = [line for run in runs for line in run.answer().splitlines() if NO_HEADLINE not in line]
    return Markdown("\n".join([first, "", *(f"- {line}" for line in lines)]))


def table(notebook: str, rows: pd.DataFrame, metrics: Sequence[str] = ()) -> Shown:
    """The table of a notebook's page: a row per method and engine that answered, at most MOST_METRICS metrics.

    rows: a results table with this run, the paper and recordings (`Results.beside_published`). Run and evidence are in
    the files and in the folded tables. metrics: by default those of the key figure.
    """
    import pandas as pd

    shows = next(item.shows for item in _items(notebook) if item.shows)
    metrics = [*(metrics or shows.metrics)][:MOST_METRICS]
    selected = rows[rows["metric"].isin(metrics) & rows["value"].notna()]
    selected = _named(selected, shows)
    decimals = 3 if shows.lower else 1
    lines: dict[tuple[str, str], dict[str, str]] = {}
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for row in selected.sort_values("n", kind="stable", na_position="first").to_dict("records"):
        answered = _published(row) if row["evidence"] == "published" else _answered(row)
        line = lines.setdefault((row["method"], answered), dict.fromkeys(metrics, EMPTY))
        line[row["metric"]] = tables.with_interval(row, decimals)
        counts.setdefault((row["method"], answered), {})[row["metric"]] = row["n"]
    # Rows are sorted by n, so of several runs of a model the one with the most tasks is kept.
    order = {name: index for index, name in enumerate(selected["method"].drop_duplicates())}
    keys = sorted(lines, key=lambda key: order[key[0]])
    frame = pd.DataFrame(
        [
            {"method": key[0], "answered by": key[1], "n": tables.span(pd.Series(counts[key])), **lines[key]}
            for key in keys
        ]
    )
    return tables.shown(frame.head(MOST_ROWS), decimals)


def _published(row: Mapping[str, Any]) -> str:
    """Text for a published row: "paper", with the model if it names one."""
    return f"paper ({row['backbone']})" if _text(row["backbone"]) else "paper"


def _answered(row: Mapping[str, Any]) -> str:
    """Text for a row of ours: the model that answered, or "rules (no model)", "simulated" or "nobody"."""
    who = dots.who(_text(row["backbone"]), row["evidence"])
    return _model(row["backbone"]) if who in (dots.SMALL, dots.BIG) else who


def _items(notebook: str) -> list[register.Item]:
    return [item for paper in register.papers() for item in paper.items if item.notebook == notebook]


def _shows(notebook: str, rows: pd.DataFrame | None) -> list[Shows]:
    """The layouts of the key figure: the register's, or all metrics of `rows` if no table of a paper is on the page."""
    if items := _items(notebook):
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
    rows = _named(rows, shows)
    lines = [_line(str(method), group) for method, group in rows.groupby("method", sort=False)]
    lines = [line for line in lines if line.paper or any(dot.n != 1 for dot in line.dots)]
    chosen = sorted(lines, key=lambda line: not line.dots)[:MOST_LINES]
    return [line for line in lines if line in chosen] + _null(shows.metrics[metric], shows.lower, stored)


def _named(rows: pd.DataFrame, shows: Shows) -> pd.DataFrame:
    """The rows with the methods' names of the figure, in the register's order."""
    if shows.by == "backbone":
        return rows.assign(method=rows["backbone"])
    if shows.methods:
        listed, order = rows["method"].isin(shows.methods), [*dict.fromkeys(shows.methods.values())]
        named = rows[listed].assign(method=rows["method"].map(shows.methods))
        return named.sort_values("method", key=lambda names: names.map(order.index), kind="stable")
    return rows


def _line(method: str, rows: pd.DataFrame) -> dots.Line:
    published = rows[rows["evidence"] == "published"]
    own = rows[rows["evidence"] != "published"].sort_values("n", kind="stable", ascending=False)
    own = own[own["n"] != 1] if any(own["n"] != 1) else own  # a single task says nothing
    own = own.assign(model=own["backbone"].map(_model)).drop_duplicates(["model", "evidence"])  # keeps the most tasks
    values = [
        dots.Dot(
            row.value, row.ci_low, row.ci_high, dots.who(_text(row.backbone), row.evidence), _count(row.n), row.model
        )  # fmt: skip
        for row in own.sort_values("model").itertuples()
    ]
    values.sort(key=lambda dot: dots.WHO.index(dot.who))
    return dots.Line(method, tuple(values), tuple(published["value"].drop_duplicates()))


def _null(benchmark: str, lower: bool, stored: Stored) -> list[dots.Line]:
    """A line with the strongest null model of a benchmark, over all its tasks; empty without one."""
    agents = stored.agents(benchmark, FLOOR)
    if not agents:
        return []
    best = (min if lower else max)(agents, key=lambda agent: agent.mean(agent.values))
    value = best.mean(best.values) * (1 if lower else 100)
    return [dots.Line(dots.NULL_MODEL, null=value, note=f"{best.side.condition}, n = {len(best.values)}")]


def title_of(metric: str, lines: Sequence[dots.Line]) -> str:
    """The figure's title: our values and the paper's, of the first method that a model answered, else of the first.

    If neither the paper nor a model has a value: the lowest and the highest method.
    """
    models = (dots.SMALL, dots.BIG)
    pairs = [(dot.value, line.label.strip(), dot) for line in lines for dot in line.dots]
    if len(pairs) > 1 and not any(line.paper or any(dot.who in models for dot in line.dots) for line in lines):
        low, high = (choose(pairs, key=lambda pair: pair[0]) for choose in (min, max))
        if low[0] == high[0]:
            return f"{metric}: {_number(low[0])} for all"
        ends = [label if low[1] != high[1] else f"{label} {_by(dot)}" for _, label, dot in (low, high)]
        return f"{metric}: {_number(low[0])} ({ends[0]}) to {_number(high[0])} ({ends[1]})"
    with_model = [line for line in lines if any(dot.who in models for dot in line.dots)]
    line = next(iter(with_model or [line for line in lines if line.dots] or lines))
    values_of: dict[str, list[float]] = {}
    for dot in line.dots:
        values_of.setdefault("" if dot.name and dot.name in line.label else f" {_by(dot)}", []).append(dot.value)
    parts = ["–".join(map(_number, sorted({min(values), max(values)}))) + who for who, values in values_of.items()]
    parts += [f"{' and '.join(map(_number, line.paper))} in the paper"] if line.paper else []
    return f"{line.label}: {', '.join(parts)}"


def _by(dot: dots.Dot) -> str:
    """Who answered, for a title: "by gpt-4o", "simulated"."""
    return dot.who if dot.who == dots.SIMULATED else f"by {dot.name if dot.who in (dots.SMALL, dots.BIG) else dot.who}"


def _decimals(panels: Sequence[tuple[str, Sequence[dots.Line]]]) -> int:
    """Decimals of a figure: three for values in [0, 1], one for percentages."""
    values = [dot.value for _, lines in panels for line in lines for dot in line.dots]
    return 3 if values and max(values) <= 1 else 1


def _number(value: float) -> str:
    return f"{value:.3f}" if 0 < abs(value) < 1 else f"{value:.1f}"


def _model(backbone: object) -> str:
    """A backbone's label without runtime and options."""
    return scoreboard.short(_text(backbone))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: float) -> int:
    return 0 if math.isnan(value) else int(value)
