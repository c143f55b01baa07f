"""What every notebook's page has: answer box, key figure, and one table of this run beside paper and recordings.

Box and figure are computed from stored results. The register says which metrics of which table a notebook shows, and
how its methods are called (`register.Shows`); without it, the figure is the forest plot of its claims.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.notebooks import expected, register, scoreboard
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

DPI = 100  # a figure of 8 inches is 800 pixels wide
MOST_METRICS, MOST_ROWS = 3, 12  # of the table
MOST_IN_FIGURE = 16  # lines of all panels, so that it stays on the first screen
MOST_LINES = 14  # of a panel; methods with a value made here come first


def answer(notebook: str) -> None:
    """Display the answer box of a notebook and its key figure."""
    from IPython.display import display

    for data, metadata in bundles(notebook):
        display(data, metadata=metadata, raw=True)


def bundles(notebook: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What `answer` displays, as (data, metadata) of a notebook's outputs: equal results give equal bytes."""
    box = {"text/markdown": scoreboard.answer_text(notebook), "text/plain": "<IPython.core.display.Markdown object>"}
    shown: list[tuple[dict[str, Any], dict[str, Any]]] = [(box, {})]
    if drawn := image(notebook):
        encoded, alternative = base64.b64encode(drawn.png).decode("ascii"), drawn.title
        shown.append(({"image/png": encoded, "text/plain": alternative}, {"image/png": {"alt": alternative}}))
    return shown


class Image(NamedTuple):
    """A key figure as a PNG. title: the finding, its text where there are no pictures."""

    png: bytes
    title: str


def image(notebook: str) -> Image | None:
    """The key figure of a notebook; None where nothing of it is stored."""
    import matplotlib
    import matplotlib.pyplot as plt

    # A page that is about no single table shows the figure of its own name.
    drawings = {item.drawing: item.title for item in _items(notebook)}
    drawings |= {notebook: "All of it in one figure"} if "/" not in notebook else {}
    for drawing, title in drawings.items():
        if drawing and (path := COMMITTED / f"{drawing}.png").exists():
            return Image(path.read_bytes(), title)
    # Chosen here, not in the context: its end would undo what shows the figures of later cells.
    plt.switch_backend(matplotlib.get_backend())
    with matplotlib.rc_context():
        plots.style()
        if (drawn := figure(notebook)) is None:
            return None
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=DPI, metadata=plots.NO_METADATA[".png"])
        plt.close(drawn)
    return Image(buffer.getvalue(), " ".join(drawn.get_suptitle().split()))


def figure(notebook: str, stored: Stored | None = None) -> Figure | None:
    """The key figure of a notebook; None where nothing of it is stored."""
    stored = stored or Stored()
    shown = [item.shows for item in _items(notebook) if item.shows]
    panels = [(metric, lines_of(shows, metric, notebook, stored)) for shows in shown for metric in shows.metrics]
    panels = [panel for panel in panels if panel[1]]
    while len(panels) > 1 and sum(len(lines) for _, lines in panels) > MOST_IN_FIGURE:
        panels.pop()  # the table has the other metrics
    if panels:
        return dots.draw(panels, title_of(*panels[0]), decimals=_decimals(panels))
    own = [finding for finding in scoreboard.findings(register.committed()) if finding.claim.notebook == notebook]
    own = [finding for finding in own if finding.on_a_model and finding.n >= FEW]
    return scoreboard.forest(own) if own else None


def this_run(notebook: str, *runs: Any) -> Markdown:
    """What runs say, computed; with the parameters that are not at their defaults. runs: with a method `answer`.

    Figures that follow have the suite's look.
    """
    from IPython.display import Markdown

    plots.style()
    changed = [*expected.changed(notebook)]
    first = f"**This run**, with {', '.join(changed)}:" if changed else "**This run**:"
    lines = [line for run in runs for line in run.answer().splitlines() if NO_HEADLINE not in line]
    return Markdown("\n".join([first, "", *(f"- {line}" for line in lines)]))


def table(notebook: str, rows: pd.DataFrame, metrics: Sequence[str] = ()) -> Shown:
    """One row a method and who answered it, at most MOST_METRICS metrics: the table of a notebook's page.

    rows: a results table, of this run beside the paper and recordings (`Results.beside_published`). n, run and evidence
    are in the files and in the folded tables. metrics: by default those of the key figure.
    """
    import pandas as pd

    shows = next(item.shows for item in _items(notebook) if item.shows)
    metrics = [*(metrics or shows.metrics)][:MOST_METRICS]
    wanted = rows[rows["metric"].isin(metrics) & rows["value"].notna()]
    wanted = _named(wanted, shows)
    decimals = 3 if shows.lower else 1
    lines: dict[tuple[str, str], dict[str, str]] = {}
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for row in wanted.sort_values("n", kind="stable", na_position="first").to_dict("records"):
        answered = _published(row) if row["evidence"] == "published" else _answered(row)
        line = lines.setdefault((row["method"], answered), dict.fromkeys(metrics, EMPTY))
        line[row["metric"]] = tables.with_interval(row, decimals)
        counts.setdefault((row["method"], answered), {})[row["metric"]] = row["n"]
    # Of several runs of one model the one with the most tasks was written last, and is kept.
    order = {name: index for index, name in enumerate(wanted["method"].drop_duplicates())}
    keys = sorted(lines, key=lambda key: order[key[0]])
    frame = pd.DataFrame(
        [
            {"method": key[0], "answered by": key[1], "n": tables.span(pd.Series(counts[key])), **lines[key]}
            for key in keys
        ]
    )
    return tables.shown(frame.head(MOST_ROWS), decimals)


def _published(row: Mapping[str, Any]) -> str:
    """The paper, with the model that it names."""
    return f"paper ({row['backbone']})" if _text(row["backbone"]) else "paper"


def _answered(row: Mapping[str, Any]) -> str:
    """Who answered a row that was made here; rules and simulated rows say so."""
    who = dots.who(_text(row["backbone"]), row["evidence"])
    return _model(row["backbone"]) if who in (dots.SMALL, dots.BIG) else who


def _items(notebook: str) -> list[register.Item]:
    return [item for paper in register.papers() for item in paper.items if item.notebook == notebook]


def lines_of(shows: Shows, metric: str, notebook: str, stored: Stored) -> list[dots.Line]:
    """The methods of a panel, in the order of the table, at most MOST_LINES; those with a value made here come first.

    The last line has the strongest null model.
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
    """Rows whose method is called as in the figure, in the order in which the register names them."""
    if shows.by == "backbone":
        return rows.assign(method=rows["backbone"])
    if shows.methods:
        known, order = rows["method"].isin(shows.methods), [*dict.fromkeys(shows.methods.values())]
        named = rows[known].assign(method=rows["method"].map(shows.methods))
        return named.sort_values("method", key=lambda names: names.map(order.index), kind="stable")
    return rows


def _line(method: str, rows: pd.DataFrame) -> dots.Line:
    published = rows[rows["evidence"] == "published"]
    made = rows[rows["evidence"] != "published"].sort_values("n", kind="stable", ascending=False)
    made = made[made["n"] != 1] if any(made["n"] != 1) else made  # one task says nothing
    made = made.assign(model=made["backbone"].map(_model)).drop_duplicates(["model", "evidence"])  # the most tasks
    values = [
        dots.Dot(
            row.value, row.ci_low, row.ci_high, dots.who(_text(row.backbone), row.evidence), _count(row.n), row.model
        )  # fmt: skip
        for row in made.sort_values("model").itertuples()
    ]
    values.sort(key=lambda dot: dots.WHO.index(dot.who))
    return dots.Line(method, tuple(values), tuple(published["value"].drop_duplicates()))


def _null(benchmark: str, lower: bool, stored: Stored) -> list[dots.Line]:
    """A line of the strongest null model of a benchmark, over all its tasks; none of no benchmark."""
    agents = stored.agents(benchmark, FLOOR)
    if not agents:
        return []
    best = (min if lower else max)(agents, key=lambda agent: agent.mean(agent.values))
    value = best.mean(best.values) * (1 if lower else 100)
    return [dots.Line(f"null model: {best.side.condition} (n = {len(best.values)})", null=value)]


def title_of(metric: str, lines: Sequence[dots.Line]) -> str:
    """The finding: the first method that a model answered, else the first, beside the paper's value.

    Where neither the paper nor a model has a value: the lowest and the highest method.
    """
    models = (dots.SMALL, dots.BIG)
    drawn = [(dot.value, line.label) for line in lines for dot in line.dots]
    if len(drawn) > 1 and not any(line.paper or any(dot.who in models for dot in line.dots) for line in lines):
        ends = (f"{_number(value)} ({label.strip()})" for value, label in (min(drawn), max(drawn)))
        return f"{metric}: {' to '.join(ends)}"
    asked = [line for line in lines if any(dot.who in models for dot in line.dots)]
    line = next(iter(asked or [line for line in lines if line.dots] or lines))
    made: dict[str, list[float]] = {}
    for dot in line.dots:
        made.setdefault("" if dot.name and dot.name in line.label else f" {_by(dot)}", []).append(dot.value)
    parts = ["–".join(map(_number, sorted({min(values), max(values)}))) + who for who, values in made.items()]
    parts += [f"{' and '.join(map(_number, line.paper))} in the paper"] if line.paper else []
    return f"{line.label}: {', '.join(parts)}"


def _by(dot: dots.Dot) -> str:
    """Who answered, for a title: "by gpt-4o", "simulated"."""
    return dot.who if dot.who == dots.SIMULATED else f"by {dot.name if dot.who in (dots.SMALL, dots.BIG) else dot.who}"


def _decimals(panels: Sequence[tuple[str, Sequence[dots.Line]]]) -> int:
    """Of values in [0, 1] three, of percentages one."""
    values = [dot.value for _, lines in panels for line in lines for dot in line.dots]
    return 3 if values and max(values) <= 1 else 1


def _number(value: float) -> str:
    return f"{value:.3f}" if 0 < abs(value) < 1 else f"{value:.1f}"


def _model(backbone: object) -> str:
    """A backbone without its runtime and options."""
    return scoreboard.short(_text(backbone))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: float) -> int:
    return 0 if math.isnan(value) else int(value)
