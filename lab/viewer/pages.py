"""Timelines as HTML: nested `<details>` and inline CSS, no scripts, so that they also work in a committed notebook.

The environment that renders the templates escapes all text, and makes invisible characters `visible`, so no template
can forget it. A page that is written to a file also forbids scripts and requests.
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
LONGEST, SHORTEST = 4000, 160  # limits, in characters, of a text in a notebook (see `limit`); files have full texts
BUDGET = 600_000  # characters of a timeline in a notebook
# On each element, since JupyterLab drops our style sheet from untrusted notebooks, such as those of a fresh clone.
WRAPPED = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:break-word"


def timeline(shown: Any, most: int | None = None) -> str:
    """A `lab.viewer.timeline.Timeline` as HTML.

    most: characters of each text, or FULL; by default as many as fit into a notebook.
    """
    return macro("parts.html", "timeline", shown, limit([shown]) if most is None else most)


def side_by_side(shown: Any, most: int | None = None) -> str:
    """A `lab.viewer.timeline.SideBySide` as HTML."""
    return macro("parts.html", "side_by_side", shown, limit(shown.timelines) if most is None else most)


def fragment(body: str) -> str:
    """HTML for a notebook, with its style sheet."""
    return f"{_environment().globals['opening']}{body}</div>"


def page(title: str, body: str, scripts: str = "'none'") -> str:
    """A complete HTML file. scripts: the allowed scripts, as a source of the content security policy."""
    content = fragment(body).replace(f' style="{WRAPPED}"', "")  # never part of a text, where quotes are escaped
    return _environment().get_template("page.html").render(title=title, body=content, scripts=scripts)


def rendered(template: str, **values: Any) -> str:
    """Render a template of this package."""
    return _environment().get_template(template).render(**values)


def limit(timelines: Sequence[Any], budget: int = BUDGET) -> int:
    """Characters of each text such that all texts together have about `budget`, between SHORTEST and LONGEST."""
    texts = sum(len(details(step)) for timeline in timelines for step in timeline.steps)
    return max(SHORTEST, min(LONGEST, budget // max(1, texts)))


def macro(template: str, name: str, *values: Any) -> str:
    """Call a macro of a template of this package."""
    return getattr(_environment().get_template(template).module, name)(*values)


def _shown(value: Any) -> Any:
    """Make the value of a template's expression visible, before it is escaped."""
    return value if hasattr(value, "__html__") else visible(str(value))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=_shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    environment.globals |= {
        "marks": MARKS,
        "diverged": DIVERGED,
        "details": details,
        "longest": LINE,
        "wrapped": WRAPPED,
    }
    environment.globals["opening"] = f'<div class="lab-view"><style>{style}</style>'
    return environment
