"""Timelines as HTML: nested `<details>` and inline CSS, no scripts, so that it also works in a committed notebook.

All text is escaped, and what cannot be seen is shown as `visible` has it, by the environment that renders the templates
and not by each of them: none can forget it. A page that is written to a file forbids scripts and requests besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.printing import visible
from lab.viewer.steps import DIVERGED, LINE, MARKS, details

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).parent / "templates"
FULL = 0  # no limit
LONGEST, SHORTEST = 4000, 160  # characters of a text in a notebook, by how many there are; files have them in full
BUDGET = 600_000  # characters of a timeline in a notebook
# On each element: JupyterLab drops our style sheet from a notebook that it does not trust, as it does a fresh clone's.
WRAPPED = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:break-word"


def timeline(shown: Any, most: int | None = None) -> str:
    """A `lab.viewer.timeline.Timeline` as HTML.

    most: characters of a text, or FULL; by default what a notebook can carry.
    """
    return macro("parts.html", "timeline", shown, limit([shown]) if most is None else most)


def side_by_side(shown: Any, most: int | None = None) -> str:
    """A `lab.viewer.timeline.SideBySide` as HTML."""
    return macro("parts.html", "side_by_side", shown, limit(shown.timelines) if most is None else most)


def fragment(body: str) -> str:
    """What stands in a notebook: it brings its style with it."""
    return f"{_environment().globals['opening']}{body}</div>"


def page(title: str, body: str, scripts: str = "'none'") -> str:
    """A whole HTML file. scripts: those that may run, as the source of a content security policy."""
    whole = fragment(body).replace(f' style="{WRAPPED}"', "")  # of texts, in which quotes are escaped, it is no part
    return _environment().get_template("page.html").render(title=title, body=whole, scripts=scripts)


def rendered(template: str, **values: Any) -> str:
    """A template of this package."""
    return _environment().get_template(template).render(**values)


def limit(timelines: Sequence[Any], budget: int = BUDGET) -> int:
    """How many characters of each text can be shown where all together may have `budget`."""
    texts = sum(len(details(step)) for timeline in timelines for step in timeline.steps)
    return max(SHORTEST, min(LONGEST, budget // max(1, texts)))


def macro(template: str, name: str, *values: Any) -> str:
    """A macro of a template of this package."""
    return getattr(_environment().get_template(template).module, name)(*values)


def _shown(value: Any) -> Any:
    """What each expression of a template becomes before it is escaped."""
    return value if hasattr(value, "__html__") else visible(str(value))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=_shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    made.globals |= {"marks": MARKS, "diverged": DIVERGED, "details": details, "longest": LINE, "wrapped": WRAPPED}
    made.globals["opening"] = f'<div class="lab-view"><style>{style}</style>'
    return made
