"""Plots: one style for all figures, charts that notebooks share, and byte-identical saving."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.files import write_atomically
from lab.notebooks import injected
from lab.results.stored import path_of

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import HTML
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BASE = "seaborn-v0_8-whitegrid"  # one of matplotlib's own styles
# Colors of groups, in their order; they stay apart for color-blind readers.
COLORS = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
DPI = 150
DISPLAYED = 100  # pixels of a page per inch
WIDTH = 800  # pixels of a displayed figure
FEW = 10  # rates from fewer tasks say next to nothing, and look different
LETTERS_AN_INCH = 17  # in the line below a figure
SETTINGS = {
    "figure.figsize": (6.4, 4.0),
    "figure.constrained_layout.use": True,
    "font.size": 12,
    "axes.titlesize": "medium",
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.title_fontsize": 12,
    "axes.linewidth": 1.25,
    "grid.linewidth": 1.0,
    "xtick.major.pad": 9.5,
    "ytick.major.pad": 9.5,
    "xtick.minor.pad": 7.4,
    "ytick.minor.pad": 7.4,
    "patch.edgecolor": "white",
    "patch.force_edgecolor": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "font.family": "DejaVu Sans",  # bundled with matplotlib, so that a figure looks the same on every machine
    "pdf.fonttype": 42,  # text in a PDF stays text, and journals reject Type 3 fonts
    "svg.hashsalt": "lab",
    "text.parse_math": False,  # dollar signs in labels are no formulas
}
# A date or a program version in a file would change its bytes from run to run.
NO_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None},
}


def style() -> None:
    """Set the suite's style for all later figures; call it once at the top of a notebook."""
    import matplotlib.style
    from matplotlib.rcsetup import cycler

    injected.check()
    matplotlib.style.use([BASE, {**SETTINGS, "axes.prop_cycle": cycler(color=COLORS)}])


def save(figure: Figure, stem: str) -> list[Path]:
    """Write `figures/<stem>.png` (150 dpi) and `.pdf` atomically. Equal figures give equal bytes. Returns the paths.

    Call it last: artists keep the positions of this first drawing, since constrained layout costs as much as a drawing.
    """
    import matplotlib

    paths = []
    for suffix, metadata in NO_METADATA.items():
        buffer = io.BytesIO()
        with matplotlib.rc_context({key: SETTINGS[key] for key in ("pdf.fonttype", "svg.hashsalt")}):
            figure.savefig(buffer, format=suffix[1:], dpi=DPI, metadata=metadata)
        figure.set_layout_engine("none")
        path = path_of(stem, suffix)
        write_atomically(path, buffer.getvalue())
        paths.append(path)
    return paths


def show(figure: Figure, stem: str, alternative: str) -> None:
    """Write a figure as `save` does, display the PNG, and close it. alternative: what it shows, for readers of text."""
    import matplotlib.pyplot as plt
    from IPython.display import display

    png, _ = save(figure, stem)
    plt.close(figure)
    picture = {"image/png": base64.b64encode(png.read_bytes()).decode("ascii"), "text/plain": alternative}
    width = round(DISPLAYED * figure.get_figwidth())
    display(picture, metadata={"image/png": {"alt": alternative, "width": width}}, raw=True)


def folded(title: str, figure: Figure, stem: str) -> HTML:
    """Write a figure as `save` does; returns it collapsed under its title, and closes it."""
    import matplotlib.pyplot as plt
    from IPython.display import HTML

    png, _ = save(figure, stem)
    plt.close(figure)
    encoded, text = base64.b64encode(png.read_bytes()).decode("ascii"), html.escape(title)
    picture = f'<img src="data:image/png;base64,{encoded}" alt="{text}" width="{WIDTH}">'
    return HTML(f"<details><summary>{text}</summary>{picture}</details>")


def lines_with_bands(
    frame: pd.DataFrame, x: str, y: str, hue: str, low: str, high: str, axes: Axes | None = None
) -> Axes:
    """A line per value of `hue`, in first-seen order, with the band between the columns `low` and `high`."""
    import matplotlib.pyplot as plt

    axes = axes or plt.subplots()[1]
    for name, color in colored(frame[hue]).items():
        line = frame[frame[hue] == name].sort_values(x)
        axes.plot(line[x], line[y], marker="o", color=color, label=str(name))
        axes.fill_between(line[x], line[low], line[high], color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel=x, ylabel=y)
    axes.legend(title=hue)
    return axes


def bars_with_intervals(
    frame: pd.DataFrame, x: str, y: str, low: str, high: str, hue: str | None = None, axes: Axes | None = None,
    colors: Mapping[str, Any] | None = None, n: str | None = None,
) -> Axes:  # fmt: skip
    """Bars of `y` over the categories `x`, grouped by `hue`, each with its interval from `low` to `high`.

    Categories keep their first-seen order. A category that a hue lacks leaves a gap; a missing interval has no whisker.
    colors: of the values of `hue`, in the order of the bars, so that a value looks the same in all figures; by default
    a palette in first-seen order. n: column with the number of tasks; a bar with fewer than FEW is hollow, without an
    interval, and labelled with its n.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    axes = axes or plt.subplots()[1]
    categories = list(dict.fromkeys(frame[x]))
    groups = [*colored(frame[hue], colors).items()] if hue else [(None, COLORS[0])]
    width = 0.8 / len(groups)
    for index, (name, color) in enumerate(groups):
        # Reindex, so that a category that this group lacks is a gap, and bars stay above their own labels.
        bars = (frame if name is None else frame[frame[hue] == name]).set_index(x).reindex(categories)
        positions = np.arange(len(categories)) + (index - (len(groups) - 1) / 2) * width
        counts = bars[n].astype(float).to_numpy() if n else np.full(len(bars), np.nan)
        # Rounding can put a bound on the wrong side of its value; matplotlib rejects negative lengths.
        whiskers = np.clip([bars[y] - bars[low], bars[high] - bars[y]], 0, None)
        whiskers[:, counts < FEW] = np.nan
        patches = axes.bar(positions, bars[y], width * 0.92, color=color, label=None if name is None else str(name))
        for bar, count in zip(patches, counts, strict=True):
            if count < FEW:
                bar.set(facecolor="none", edgecolor=color, linewidth=1.2, hatch="//")
                _say_n(axes, bar.get_x() + bar.get_width() / 2, int(count))
        axes.errorbar(positions, bars[y], whiskers, fmt="none", ecolor="0.25", elinewidth=1.2, capsize=3)
    axes.set(xlabel=x, ylabel=y, xticks=np.arange(len(categories)), xticklabels=[str(name) for name in categories])
    axes.grid(axis="x", visible=False)
    if hue:
        axes.legend(title=hue)
    return axes


def dots_with_intervals(
    frame: pd.DataFrame, y: str, x: str, low: str, high: str, hue: str, axes: Axes, colors: Mapping[str, Any]
) -> Axes:
    """A dot at `x` with its interval for each row, on a line for each category `y`, the first category at the top.

    colors: of the values of `hue`; dots of a category are slightly shifted, in this order.
    """
    import numpy as np

    categories = list(dict.fromkeys(frame[y]))
    for index, (name, color) in enumerate(colored(frame[hue], colors).items()):
        rows = frame[frame[hue] == name]
        ys = np.array([categories.index(category) for category in rows[y]]) + 0.6 * ((index + 0.5) / len(colors) - 0.5)
        lengths = np.clip([rows[x] - rows[low], rows[high] - rows[x]], 0, None)
        axes.errorbar(rows[x], ys, xerr=lengths, fmt="o", color=color, markersize=5, elinewidth=1, label=str(name))
    axes.set(yticks=range(len(categories)), yticklabels=categories, ylim=(len(categories) - 0.5, -0.5))
    axes.grid(axis="y", visible=False)
    return axes


def _say_n(axes: Axes, x: float, count: int) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    style: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "bottom", "rotation": 90}
    axes.annotate(f"n={count}", (x, 0.03), fontsize="xx-small", bbox=box, **style)


def one_legend(figure: Figure, columns: int = 0) -> None:
    """Replace the panels' legends by one legend above them. Equal names must look the same in all panels.

    columns: number of columns of the legend; 0 for one row.
    """
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        if legend := axes.get_legend():
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)  # keep the first panel's: later ones may have hollow bars
            legend.remove()
    if handles:
        figure.legend(handles.values(), handles, loc="outside upper center", ncols=columns or len(handles))


def label_evidence(figure: Figure, results: pd.DataFrame) -> None:
    """Print evidence, backbone and n of a results table below a figure, with line breaks to fit its width.

    Uses the figure's `supxlabel`, the only text below the axes that a layout reserves space for.
    """
    lines: list[str] = []
    for part in evidence_line(results).split("; "):
        if lines and len(lines[-1]) + len(part) + 2 <= LETTERS_AN_INCH * figure.get_figwidth():
            lines[-1] += f"; {part}"
        else:
            lines.append(part)
    figure.supxlabel("\n".join(lines), x=0.995, ha="right", fontsize="x-small", color="0.35")


def evidence_line(results: pd.DataFrame) -> str:
    """ "measured · rules · n = 120" for each kind of evidence and backbone, in first-seen order."""
    parts = []
    for (evidence, backbone), rows in results.groupby(["evidence", "backbone"], sort=False, dropna=False):
        counts = sorted({int(count) for count in rows["n"].dropna()})
        span = "" if not counts else f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]}–{counts[-1]}"
        parts.append(" · ".join(part for part in (evidence, backbone, span) if isinstance(part, str) and part))
    return "; ".join(parts)


def colored(names: Iterable[Any], colors: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
    """Name -> color: as in `colors`, in its order, without absent names; by default COLORS in first-seen order."""
    distinct = dict.fromkeys(names)
    if colors is not None:
        return {name: color for name, color in colors.items() if name in distinct}
    return dict(zip(distinct, cycle(COLORS), strict=False))
