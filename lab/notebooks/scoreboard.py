"""Display of the claims register: tiles, a forest plot, a table per paper, and a sentence per claim.

No text here states a result: all is computed from the findings of `lab/notebooks/register.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lab.notebooks.register import Item, PaperFindings
from lab.results import dots
from lab.results.claims import (
    BY_CONSTRUCTION,
    BY_NULL,
    BY_PLACEBO,
    FITTED,
    NOT_RUN,
    SHOWS_NOTHING,
    Finding,
    count,
)
from lab.results.exports import EMPTY, markdown
from lab.results.statistics import Interval
from lab.results.verdicts import AGREES, DIFFERENT, OPPOSES, REPRODUCED, TOO_SMALL, signed

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown
    from matplotlib.figure import Figure

AXES = {"%": "difference in points", "": "difference in the metric's own unit"}


def findings(judged: Iterable[PaperFindings]) -> list[Finding]:
    """The findings of all papers."""
    return [finding for paper in judged for finding in paper.findings]


def tiles(judged: Sequence[PaperFindings]) -> pd.DataFrame:
    """Four tiles, as a table with one row: numbers without a model, claims on real models, largest models, not run."""
    import pandas as pd

    flat = findings(judged)
    free = count(finding for finding in flat if not finding.claim.contrast)
    asked = count(finding for finding in flat if finding.claim.contrast)
    no_test = free[BY_CONSTRUCTION] + free[FITTED]
    here = largest({finding.model for finding in flat if finding.on_a_model})
    in_papers = "; ".join(f"{paper.paper.paper}: {', '.join(paper.paper.models)}" for paper in judged)
    return pd.DataFrame(
        {
            "numbers that need no model": [
                f"{free[REPRODUCED]} reproduced, {free[DIFFERENT]} different, {no_test} by construction or fitted"
            ],
            "claims on real models": [
                f"{asked[AGREES]} agree, {asked[OPPOSES]} oppose, {asked[BY_PLACEBO] + asked[BY_NULL]} matched by a "
                f"placebo or null model, {asked[SHOWS_NOTHING]} show nothing, {asked[TOO_SMALL]} too small"
            ],
            "largest model": [f"here {here}; in the papers {in_papers}"],
            "not run": [f"{free[NOT_RUN] + asked[NOT_RUN]}"],
        }
    )


def table(judged: PaperFindings, to_notebooks: str) -> pd.DataFrame:
    """A paper's claims, one row each. to_notebooks: relative path to the notebooks, with a final slash."""
    import pandas as pd

    return pd.DataFrame(
        {
            "item": _linked(finding, to_notebooks),
            "claim": finding.claim.sentence,
            "paper": paper_text(finding),
            "here [95 % interval], n, model": here_text(finding) or EMPTY,
            "verdict": finding.verdict.word,
        }
        for finding in judged.findings
    )


def rows(judged: Iterable[PaperFindings]) -> pd.DataFrame:
    """The claims as data, one row each: numbers in the claim's unit with their 95 % intervals.

    published, value: NaN if it is no number, which is then in `published_text` or `text`. first, second: the sides of
    a comparison; `value` is their difference. placebo, null: their differences to the second.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "paper": paper.paper.paper,
            "item": finding.claim.item,
            "claim": finding.claim.id,
            "says": finding.claim.says,
            "notebook": finding.claim.notebook,
            "unit": finding.claim.unit,
            "published": _interval(finding.paper).value,
            "published_text": _no_number(finding.paper),
            "source": finding.source,
            **_named_ends("value", "ci", finding.here),
            "text": _no_number(finding.here),
            "n": finding.n or None,
            "model": finding.model,
            "data": finding.data,
            **dict(zip(("first", "second"), finding.sides or (None, None), strict=True)),
            **_named_ends("placebo", "placebo", finding.placebo),
            "null model": finding.null[0] if finding.null else "",
            **_named_ends("null", "null", finding.null[1] if finding.null else None),
            "p (Holm)": finding.p,
            "headroom": finding.headroom,
            "verdict": finding.verdict.word,
            # With a number, the verdict's detail would repeat it.
            "why": finding.claim.why if isinstance(finding.here, Interval) else _why(finding),
        }
        for paper in judged
        for finding in paper.findings
    )


def _named_ends(value: str, ends: str, stated: Any) -> dict[str, float]:
    return dict(zip((value, f"{ends}_low", f"{ends}_high"), _interval(stated), strict=True))


def _interval(stated: Any) -> Interval:
    """A value as an interval; NaN if it is no number."""
    if isinstance(stated, Interval):
        return stated
    number = isinstance(stated, (int, float)) and not isinstance(stated, bool)
    return Interval(float(stated) if number else math.nan, math.nan, math.nan)


def _no_number(stated: Any) -> str:
    """The value as text if it is no number; "" for numbers and None."""
    return "" if stated is None or not math.isnan(_interval(stated).value) else str(stated)


def _why(finding: Finding) -> str:
    return " ".join(filter(None, [finding.verdict.detail, finding.claim.why]))


def details(judged: Iterable[PaperFindings]) -> pd.DataFrame:
    """All verdicts with the values behind them: sides, placebo, null model, source of the published value."""
    import pandas as pd

    return pd.DataFrame(
        {
            "claim": finding.claim.id,
            "verdict": finding.verdict.word,
            "why": _why(finding) or EMPTY,
            "both sides": " and ".join(f"{side:.3g}" for side in finding.sides) if finding.sides else EMPTY,
            "placebo less the second": signed(finding.placebo) if finding.placebo else EMPTY,
            "strongest null model less the second": f"{finding.null[0]}: {signed(finding.null[1])}"
            if finding.null
            else EMPTY,
            "headroom": EMPTY if finding.headroom is None else f"{finding.headroom:.2f}",
            "data": finding.data or EMPTY,
            "source of the paper's value": finding.source or EMPTY,
        }
        for finding in findings(judged)
    )


def items(judged: Iterable[PaperFindings], to_notebooks: str) -> pd.DataFrame:
    """All tables and figures of the papers with notebook or page, number of claims, and a note on what is missing.

    to_notebooks: relative path to the notebooks, with a final slash.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "paper": paper.paper.paper,
            "items": ", ".join(item.items),
            "what it shows": item.title,
            "notebook or page": _place(item, to_notebooks),
            "claims": sum(finding.claim.item in item.items for finding in paper.findings),
            "note": item.note or EMPTY,
        }
        for paper in judged
        for item in paper.paper.items
    )


def _place(item: Item, to_notebooks: str) -> str:
    if item.page:
        return f"[{item.page}]({to_notebooks}../{item.page})"
    return f"[{item.notebook}]({to_notebooks}{item.notebook}.ipynb)" if item.notebook else EMPTY


def folded(frame: pd.DataFrame, summary: str) -> Markdown:
    """A collapsed table. summary: its title, which opens it by a click."""
    from IPython.display import Markdown

    return Markdown(summarised(frame, summary))


def summarised(frame: pd.DataFrame, summary: str) -> str:
    """A collapsed table as text. summary: its title."""
    return f"<details><summary>{summary}</summary>\n\n{markdown(frame)}\n</details>"


def headlines(judged: Iterable[PaperFindings]) -> list[Finding]:
    """The findings of the headline claims."""
    return [finding for finding in findings(judged) if finding.claim.headline]


def forest(shown: Sequence[Finding]) -> Figure:
    """A forest plot of claims: our difference, the paper's, and those of placebo and strongest null model.

    Differences in points, in a metric's own unit, and those of which less is better have separate panels. A claim that
    was not run shows only the paper's value; claims without any number are left out.
    """
    lines: dict[str, list[dots.Line]] = {}
    for finding in shown:
        if line := _line(finding):
            axis = AXES[finding.claim.unit] + (", lower is better" if finding.claim.lower else "")
            lines.setdefault(axis, []).append(line)
    run = [finding for finding in shown if finding.on_a_model]
    title = f"{count(run)[AGREES]} of {len(run)} comparisons confirm their claim and beat placebo and null model"
    return dots.draw([*lines.items()] or [("", [])], title, zero=True)


def _line(finding: Finding) -> dots.Line | None:
    """A claim's line of the plot; None if neither the paper nor this suite has a number."""
    here = finding.here if isinstance(finding.here, Interval) else None
    paper = (finding.paper,) if isinstance(finding.paper, (int, float)) else ()
    if here is None and not paper:
        return None
    dot = dots.Dot(*here, dots.who(finding.model), finding.n) if here else None
    null, placebo = finding.rival and finding.rival[1].value, finding.placebo and finding.placebo.value
    return dots.Line(finding.claim.sentence, (dot,) if dot else (), paper, null, placebo)


def headroom(recorded: pd.DataFrame) -> pd.DataFrame:
    """Displayed rows of real models with headroom. recorded: from `lab.results.floors.of_models`."""
    import pandas as pd

    def shown(row: dict[str, Any], column: str) -> str:
        """A score in percent; a distance, of which less is better, as it is."""
        return f"{row[column]:.3f}" if row["lower"] else f"{100 * row[column]:.1f}"

    return pd.DataFrame(
        {
            "benchmark": row["benchmark"],
            "method": row["method"],
            "model": row["model"],
            "n": f"{row['n']} ({row['data']})",
            "value": shown(row, "value"),
            "best floor": f"{shown(row, 'best floor')} ({row['floor agent']}, {row['floor on']})"
            if row["floor agent"]
            else EMPTY,
            "ceiling": shown(row, "ceiling"),
            "headroom": f"{row['headroom']:.2f}" if row["floor agent"] else EMPTY,
        }
        for row in recorded.to_dict("records")
    )


def sentence(finding: Finding) -> str:
    """A claim as text: verdict and sentence, then our numbers, those of placebo and null model, and the paper's."""
    parts = []
    if finding.sides:
        parts.append(" against ".join(f"{side:.{decimals(finding)}f}" for side in finding.sides))
    if text := here_text(finding):
        parts.append(text if finding.sides else f"here {text}")
    if finding.placebo and finding.claim.contrast:
        placebo = interval_text(finding.placebo, decimals(finding), "+")
        kind = "placebo" if "placebo" in finding.claim.contrast.placebo.lower() else "control"
        parts.append(f"{kind} *{finding.claim.contrast.placebo}*: {placebo}")
    if finding.rival:
        name, difference = finding.rival
        parts.append(f"null model `{name}`: {interval_text(difference, decimals(finding), '+')}")
    if finding.paper is not None:
        parts.append(f"paper {paper_text(finding)}")
    parts = parts or [finding.verdict.detail]  # such as the state of a planned recording
    return f"**{finding.verdict.word}**: {finding.claim.sentence}. {'; '.join(parts)}."


def paper_text(finding: Finding) -> str:
    """The published value as text; "–" if the paper states none."""
    if finding.paper is None:
        return EMPTY
    if isinstance(finding.paper, float):
        sign = "+" if finding.claim.paper and finding.claim.paper.less else ""
        return f"{finding.paper:{sign}.{decimals(finding)}f}"
    return str(finding.paper)


def here_text(finding: Finding, model: bool = True) -> str:
    """Our value or difference with its interval, n and, if asked, the model that answered; "" if there is none."""
    if finding.here is None:
        return ""
    if not isinstance(finding.here, Interval):
        return str(finding.here)
    text = interval_text(finding.here, decimals(finding), "+" if finding.sides else "")
    direction = "lower is better" if finding.claim.lower and finding.sides else ""
    return ", ".join(filter(None, [text, direction, f"n = {finding.n}", short(finding.model) if model else ""]))


def interval_text(interval: Interval, decimals: int, sign: str = "") -> str:
    """ "+5.0 [-3.3, 13.3]"."""
    ends = interval.ends(lambda end: f"{0.0 + round(end, decimals):.{decimals}f}")
    return f"{0.0 + round(interval.value, decimals):{sign}.{decimals}f} {ends}"


def short(model: str) -> str:
    """A model's name, without its runtime and the engines of other operators."""
    return model.split(" (")[0].split(",")[0]


def decimals(finding: Finding) -> int:
    """Digits after the point: one for percent, three for distances and other values."""
    return 1 if finding.claim.unit == "%" else 3


def largest(models: Iterable[str]) -> str:
    """The model with the most parameters according to its name; "none" if there are no models."""
    return short(max(models, key=dots.billions, default="none"))


def _linked(finding: Finding, to_notebooks: str) -> str:
    notebook = finding.claim.notebook
    return f"[{finding.claim.item}]({to_notebooks}{notebook}.ipynb)" if notebook else finding.claim.item
