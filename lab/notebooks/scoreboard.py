"""The scoreboard: every table and figure of the three papers, which notebook has it, and what came out.

`notebooks/scoreboard.yaml` lists them, and names the stored rows that carry a verdict (lab/results/verdicts.py). Here
the rows are looked up; nothing is computed anew. A row is taken from this run's figures where its notebook ran with its
defaults on the same data as the committed one, else from the committed figures.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.reading import damaged, read_table, read_yaml
from lab.notebooks.documents import FOLDER
from lab.notebooks.expected import Reported, Value, reported
from lab.results import figures
from lab.results.exports import EMPTY
from lab.results.verdicts import REPRODUCED, count_verdict, word

if TYPE_CHECKING:
    import pandas as pd

LISTED = FOLDER / "scoreboard.yaml"
STATES = {
    "here": "every row of it is computed, by the backbone named as evidence",
    "partly": "some of its rows are",
    "to come": "none is yet",
    "nothing to compute": "a diagram, a prompt, or settings",
}


class Cell(NamedTuple):
    """A number or a claim of a paper, and where its verdict is stored.

    rows, where: a table's stem under `figures/`, and the columns that choose its rows. Or figure, value: what a
    notebook reports, and what the paper has. notebook: which made them, the entry's own unless told. why: shown where
    the value did not come out.
    """

    says: str
    rows: str = ""
    where: Mapping[str, Any] = {}
    figure: str = ""
    value: Value | None = None
    notebook: str = ""
    why: str = ""


class Entry(NamedTuple):
    """One line: tables or figures of a paper. cells: model-free values. claims: contrasts, for real models."""

    paper: str
    items: tuple[str, ...]
    title: str
    state: str
    notebook: str = ""
    note: str = ""
    figures: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    claims: tuple[Cell, ...] = ()


class Judged(NamedTuple):
    """A verdict that was found. backbone: whose claim it is, "" for a model-free cell."""

    cell: Cell
    verdict: str
    backbone: str = ""


class Line(NamedTuple):
    """An entry with its verdicts, and what its stored rows rest on ("measured: rules")."""

    entry: Entry
    cells: tuple[Judged, ...]
    claims: tuple[Judged, ...]
    evidence: str


class Stored:
    """The stored rows, of this run or committed."""

    def __init__(self, place: str = "auto") -> None:
        """place: "auto", see the module; or a folder of figures, whatever it was run on."""
        self._own = figures.folder() if place == "auto" else Path(place)
        self._chosen = place != "auto"

    def folder(self, notebook: str) -> Path:
        """Where a notebook's figures are taken from."""
        own, kept = reported(notebook, self._own), reported(notebook, figures.COMMITTED)
        fits = own is not None and kept is not None and own.data == kept.data and not own.changed
        return self._own if self._chosen or fits else figures.COMMITTED

    def report(self, notebook: str) -> Reported | None:
        """What a notebook reported."""
        return reported(notebook, self.folder(notebook))

    def rows(self, stem: str, notebook: str) -> pd.DataFrame | None:
        """A stored table; None where it was not written. Raises DamagedFile."""
        path = self.folder(notebook) / f"{stem}.csv"
        return read_table(path) if os.path.lexists(path) else None


def entries(path: Path = LISTED) -> list[Entry]:
    """Read scoreboard.yaml. Raises ValueError, naming the entry, for a malformed one."""
    return [_entry(given, path) for given in read_yaml(path)]


def board(listed: Sequence[Entry], stored: Stored) -> list[Line]:
    """Each entry with the verdicts that its stored rows carry."""
    return [
        Line(
            entry,
            tuple(one for cell in entry.cells for one in verdicts(entry, cell, stored)),
            tuple(one for cell in entry.claims for one in verdicts(entry, cell, stored)),
            _evidence(entry, stored),
        )
        for entry in listed
    ]


def verdicts(entry: Entry, cell: Cell, stored: Stored) -> list[Judged]:
    """The verdicts stored for a cell or a claim: one each row that it chooses; none where nothing was judged."""
    notebook = cell.notebook or entry.notebook
    if cell.figure:
        came = stored.report(notebook)
        value = came.values.get(cell.figure) if came else None
        return [] if value is None else [Judged(cell, str(count_verdict(cell.value, value)))]
    rows = stored.rows(cell.rows, notebook)
    if rows is None or "verdict" not in rows:
        return []
    for column, wanted in cell.where.items():
        if column not in rows:
            raise damaged(stored.folder(notebook) / f"{cell.rows}.csv", f"it has no column {column}")
        rows = rows[rows[column].astype(str) == str(wanted)]
    return [
        Judged(cell, row["verdict"], str(row.get("backbone", "")) if cell in entry.claims else "")
        for row in rows.to_dict("records")
        if word(row["verdict"])
    ]


def table(lines: Iterable[Line], to_notebooks: str = "", to_figures: str | None = None) -> pd.DataFrame:
    """The scoreboard for reading, with links in Markdown. to_notebooks, to_figures: the ways there, with a slash."""
    import pandas as pd

    to_figures = _to_figures() if to_figures is None else to_figures
    return pd.DataFrame(
        {
            "paper": line.entry.paper,
            "in the paper": ", ".join(line.entry.items),
            "what it shows": line.entry.title,
            "state": line.entry.state + (f": {line.entry.note}" if line.entry.note else ""),
            "verdict": _counted(line) or EMPTY,
            "evidence": line.evidence or EMPTY,
            "where": _links(line.entry, to_notebooks, to_figures) or EMPTY,
        }
        for line in lines
    )


def details(lines: Iterable[Line]) -> pd.DataFrame:
    """Every verdict with the numbers that it rests on, and why, where a value did not come out."""
    import pandas as pd

    columns = ["paper", "in the paper", "what", "backbone", "verdict", "explanation"]
    return pd.DataFrame(
        [
            (line.entry.paper, ", ".join(line.entry.items), one.cell.says, one.backbone or EMPTY, one.verdict,
             (one.cell.why if word(one.verdict) != REPRODUCED else "") or EMPTY)
            for line in lines
            for one in (*line.cells, *line.claims)
        ],
        columns=columns,
    )  # fmt: skip


def summary(lines: Sequence[Line]) -> pd.DataFrame:
    """How many tables and figures of each paper are in which state, and how its model-free cells came out."""
    import pandas as pd

    found = []
    for paper in dict.fromkeys(line.entry.paper for line in lines):
        of = [line for line in lines if line.entry.paper == paper]
        states = Counter(line.entry.state for line in of for _ in line.entry.items)
        words = Counter(word(one.verdict) for line in of for one in line.cells)
        found.append(
            {"paper": paper, "listed": sum(states.values())}
            | {state: states[state] for state in STATES}
            | {"model-free cells": sum(words.values()), REPRODUCED: words[REPRODUCED]}
            | {"claims on a real model": sum(len(line.claims) for line in of)}
        )
    return pd.DataFrame(found).set_index("paper")


def unexplained(one: Judged) -> bool:
    """Whether a model-free cell did not come out and nobody says why."""
    return not one.backbone and word(one.verdict) != REPRODUCED and not one.cell.why


def _entry(given: Mapping[str, Any], path: Path) -> Entry:
    try:
        lists = {name: tuple(given.get(name, ())) for name in ("items", "figures")}
        cells = {name: tuple(Cell(**cell) for cell in given.get(name, ())) for name in ("cells", "claims")}
        entry = Entry(**{**given, **lists, **cells})
    except (TypeError, AttributeError) as error:
        raise damaged(path, f"{given!r} is no entry: {error}") from error
    here = f"{path.name}: {entry.paper}, {', '.join(entry.items)}"
    if entry.state not in STATES:
        raise ValueError(f"{here} has the state {entry.state!r}; choose one of {', '.join(STATES)}")
    if entry.state in ("here", "partly") and not entry.notebook:
        raise ValueError(f"{here} is {entry.state}; name its notebook")
    if entry.state != "here" and not entry.note:
        raise ValueError(f"{here} is {entry.state}; say in its note what is not here, or why")
    return entry


def _counted(line: Line) -> str:
    """ "4 of 6 REPRODUCED, 2 DIFFERENT; direction: 3 TOO SMALL TO SAY"."""
    words = Counter(word(one.verdict) for one in line.cells)
    cells = ", ".join(
        f"{count} of {len(line.cells)} {name}" if name == REPRODUCED else f"{count} {name}"
        for name, count in sorted(words.items(), key=lambda item: item[0] != REPRODUCED)
    )
    directions = Counter(word(one.verdict).removeprefix("direction: ") for one in line.claims)
    claims = ", ".join(f"{count} {name}" for name, count in sorted(directions.items()))
    return "; ".join(filter(None, (cells, f"direction: {claims}" if claims else "")))


def _evidence(entry: Entry, stored: Stored) -> str:
    """Which backbones the stored rows name, by the word of evidence."""
    found: dict[str, dict[str, None]] = {}
    for stem in entry.figures:
        rows = stored.rows(stem, entry.notebook)
        for row in rows.to_dict("records") if rows is not None and "evidence" in rows else ():
            backbones = found.setdefault(str(row["evidence"]), {})
            if row["evidence"] != "published" and isinstance(row.get("backbone"), str):
                backbones[row["backbone"]] = None
    return "; ".join(f"{evidence}: {', '.join(of)}" if of else evidence for evidence, of in found.items())


def _links(entry: Entry, to_notebooks: str, to_figures: str) -> str:
    notebooks = dict.fromkeys([entry.notebook, *(cell.notebook for cell in (*entry.cells, *entry.claims))])
    links = [f"[{name.split('/')[-1]}]({to_notebooks}{name}.ipynb)" for name in notebooks if name]
    for stem in entry.figures:
        for suffix, kind in ((".md", "table"), (".png", "drawn")):
            if (figures.COMMITTED / f"{stem}{suffix}").exists():
                links.append(f"[{kind}]({to_figures}{stem}{suffix})")
    return ", ".join(links)


def _to_figures() -> str:
    """From where a notebook runs: a user's copies have a link to the committed figures beside them."""
    return "figures/" if Path("figures").is_symlink() else "../figures/"
