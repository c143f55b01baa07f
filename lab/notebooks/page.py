"""The parts of every notebook's page: answer box, key figure, and a table of this run next to paper and recordings.

Box and figure are computed from stored results. The register declares which metrics of which table a notebook displays,
and the names of its methods (`register.Shows`); otherwise the figure is the forest plot of its claims.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.notebooks import answers, expected, panels, register, scoreboard
from lab.results import dots, plots, tables
from lab.results.claims import BadClaim
from lab.results.display import Shown
from lab.results.exports import EMPTY
from lab.results.plots import FEW
from lab.results.stored import COMMITTED, Stored
from lab.runs.study_results import NO_HEADLINE

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown
    from matplotlib.figure import Figure

# Titles of figures of pages about more than one table.
TITLES = {"0_floors": "Agents without skill and ceilings, every benchmark", "0_scoreboard": "Headline claims",
          "0_small_model": "Claims on recorded models"}  # fmt: skip
DPI, WIDTH = 100, 800  # a figure of 8 inches is 800 pixels wide
MOST_METRICS, MOST_ROWS = 3, 12  # maximal size of the table


def answer(notebook: str) -> None:
    """Display the answer box of a notebook and its key figure.

    If the box names a figure that no run has stored yet, the error stands in its place: this run may store it, and
    `lab run --in-place` makes the box again afterwards.
    """
    from IPython.display import display

    try:
        parts = bundles(notebook)
    except BadClaim as error:
        parts = [(_markdown(answers.boxed([f"- {error}"])), {})]
    for data, metadata in parts:
        display(data, metadata=metadata, raw=True)


def bundles(notebook: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The outputs of `answer`, as (data, metadata) pairs. Equal results give equal bytes."""
    outputs: list[tuple[dict[str, Any], dict[str, Any]]] = [(_markdown(answers.text(notebook)), {})]
    if key_figure := image(notebook):
        encoded, alternative = base64.b64encode(key_figure.png).decode("ascii"), key_figure.title
        shown = {"alt": alternative, "width": WIDTH}  # a committed figure has more dots per inch
        outputs.append(({"image/png": encoded, "text/plain": alternative}, {"image/png": shown}))
    if rows := answers.headroom(notebook):
        outputs.append((_markdown(rows), {}))
    return outputs


def _markdown(text: str) -> dict[str, Any]:
    return {"text/markdown": text, "text/plain": "<IPython.core.display.Markdown object>"}


class Image(NamedTuple):
    """A key figure as a PNG. title: the finding, also its alternative text."""

    png: bytes
    title: str


def image(notebook: str) -> Image | None:
    """The key figure of a notebook as a PNG; None if nothing of it is stored."""
    import matplotlib
    import matplotlib.pyplot as plt

    # A page about more than one table displays the figure with its own name.
    drawings = {item.drawing: item.title for item in panels.items_of(notebook)}
    if not panels.items_of(notebook):
        drawings[notebook] = (
            next(iter(answers.sentences(notebook)), "") if "/" in notebook else TITLES.get(notebook, "")
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


def figure(notebook: str) -> Figure | None:
    """The key figure of a notebook; None if nothing of it is stored."""
    if drawn := panels.of(notebook, Stored()):
        lines = [(panel.metric, panel.lines) for panel in drawn]
        return dots.draw(lines, panels.title_of(drawn[0]), decimals=panels.decimals(drawn))
    own = [finding for finding in register.about(notebook) if finding.on_a_model and finding.n >= FEW]
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
    return Markdown("\n".join([first, "", *(f"- {answers.engines_as_code(line)}" for line in lines)]))


def table(notebook: str, rows: pd.DataFrame, metrics: Sequence[str] = ()) -> Shown:
    """The table of a notebook's page: a row per method and engine that answered, at most MOST_METRICS metrics.

    rows: a results table with this run, the paper and recordings (`Results.beside_published`). Run and evidence are in
    the files and in the folded tables. metrics: by default those of the key figure. If rows are left out, the last one
    says how many.
    """
    import pandas as pd

    shows = next(item.shows for item in panels.items_of(notebook) if item.shows)
    metrics = [*(metrics or shows.metrics)][:MOST_METRICS]
    stated = rows["value"].notna() | rows.get("text", pd.Series("", rows.index)).fillna("").ne("")
    selected = tables.telling(rows[rows["metric"].isin(metrics) & stated])
    selected = panels.named(selected, shows)
    decimals = panels.decimals_of(selected["value"].dropna())
    lines: dict[tuple[str, str], dict[str, str]] = {}
    counts: dict[tuple[str, str], dict[str, float]] = {}
    for row in selected.sort_values("n", kind="stable", na_position="first").to_dict("records"):
        answered = _published(row) if row["evidence"] == "published" else _answered(row)
        line = lines.setdefault((row["method"], answered), dict.fromkeys(metrics, EMPTY))
        line[row["metric"]] = tables.display_cell(row, decimals)
        counts.setdefault((row["method"], answered), {})[row["metric"]] = row["n"]
    # Rows are sorted by n, so of several runs of a model the one with the most tasks is kept.
    order = {name: index for index, name in enumerate(selected["method"].drop_duplicates())}
    run_here = {*selected.loc[selected["evidence"] != "published", "method"]}
    keys = _fitting(sorted(lines, key=lambda key: order[key[0]]), run_here)
    frame = pd.DataFrame(
        [
            {"method": key[0], "answered by": key[1], "n": tables.span(pd.Series(counts[key])), **lines[key]}
            for key in keys
        ]
    )
    if left_out := len(lines) - len(keys):
        left = pd.DataFrame([{"method": f"{left_out} more rows, folded below"}])
        frame = pd.concat([frame, left]).fillna(EMPTY)
    return tables.shown(frame, decimals)


def _fitting(keys: list[tuple[str, str]], run_here: Container[str]) -> list[tuple[str, str]]:
    """At most MOST_ROWS of these (method, answered by) pairs, in order; methods that were run here have priority."""
    if len(keys) <= MOST_ROWS:
        return keys
    first = sorted(keys, key=lambda key: key[0] not in run_here)[: MOST_ROWS - 1]  # and a row on what is left out
    return [key for key in keys if key in first]


def _published(row: Mapping[str, Any]) -> str:
    """Text for a published row: "published", with the model if it names one."""
    return f"published ({row['backbone']})" if panels.text_or_empty(row["backbone"]) else "published"


def _answered(row: Mapping[str, Any]) -> str:
    """Text for a row of ours: the model that answered, "rules (no model)", "nobody", or "simulated" with its engine."""
    who, label = dots.who(panels.text_or_empty(row["backbone"]), row["evidence"]), panels.model_label(row["backbone"])
    if who == dots.SIMULATED and label:
        return f"{who} ({label})"
    return label if who in panels.MODELS else who
