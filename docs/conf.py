"""Settings of the book (`make book`): the README, docs/ and the notebooks as they are committed, none executed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.explore import claims_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SECTIONS = {
    "To use": [
        *("docs/setup", "docs/models", "docs/episodes", "docs/scale-out", "docs/data"),
        *("docs/worlds", "docs/rewards", "docs/task-networks", "docs/sandbox"),
    ],
    "To understand and change": [
        "docs/glossary",
        "docs/evidence",
        "docs/floors",
        "docs/configuration",
        "docs/deviations",
        "docs/architecture",
        "docs/your-own",
        "CONTRIBUTING",
    ],
    "Notebooks": ["notebooks/0_*"],
    "SDP": ["notebooks/1_sdp/*"],
    "StateFactory": ["notebooks/2_statefactory/*"],
    "ProcLLM": ["notebooks/3_procllm/*"],
    "To try things out": ["notebooks/4_explore/*"],
}

project = "Explicit state in language agents"
author = copyright = "The explicit-state suite authors"
extensions = ["myst_nb"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "docs/*.md", "notebooks/**.ipynb", "figures/**.md"]
html_theme = "furo"
html_title = project
highlight_language = "none"  # of blocks that name none, which are commands
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
# Elsewhere, and what must not be walked through: an environment, runs, the benchmarks' data.
exclude_patterns = [".*", "build", "data", "runs", "tests", "benchmarks", "**/.ipynb_checkpoints"]
# Links to code and folders of the repository, which the book does not hold; tables, which stand in no list of contents.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]


EXPLORER = "explorer.html"  # beside the book's pages, for which Sphinx has no source


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the book's contents and the claims explorer below the README, which needs neither on its own."""
    if docname == root_doc:
        source[0] += f'\n\n<p><a href="{EXPLORER}">All claims, to filter, with the tasks that decided them</a></p>'
        for caption, pages in SECTIONS.items():
            listed = "\n".join(["```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *pages, "```"])
            source[0] += f"\n\n{listed}\n"


def add_entrance(app: Sphinx, error: Exception | None) -> None:
    """index.html, which web servers and people look for, and the claims explorer."""
    if error is None:
        claims_page.write(Path(app.outdir) / EXPLORER)
        entrance = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">\n'
        (Path(app.outdir) / "index.html").write_text(entrance, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_entrance)
