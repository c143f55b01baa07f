"""Differences of the methods from their papers: one file per paper, for notebooks and docs/deviations.md.

data/deviations/PAPER.yaml is a list of entries, each with the fields of `Deviation`. `make readme` writes the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lab.machine.paths import ROOT
from lab.machine.reading import damaged, read_yaml, typed

if TYPE_CHECKING:
    import pandas as pd

FOLDER = ROOT / "data" / "deviations"
HEAD = "| place | the paper | here | kind | changed by |\n| --- | --- | --- | --- | --- |"


class Deviation(NamedTuple):
    """A difference. where: section or table of the paper. paper, here: the paper's version and ours. file: of ours, in
    the repository. switch: the parameter that changes it, "" for none.
    """

    kind: Literal["prompt", "setting", "algorithm", "data"]
    where: str
    paper: str
    here: str
    file: str
    switch: str = ""

    @property
    def line(self) -> str:
        """A row of a table in Markdown, with a link from docs/."""
        where, paper, here = (text.replace("|", "\\|") for text in (self.where, self.paper, self.here))
        switch = f"`{self.switch}`" if self.switch else ""
        return f"| {where} | {paper} | {here} | [{self.kind}](../{self.file}) | {switch} |"


def entries(paper: str) -> list[Deviation]:
    """The deviations from a paper, in the file's order. Raises DamagedFile, naming the entry that cannot be read."""
    path = FOLDER / f"{paper}.yaml"
    return [_entry(entry, number, path) for number, entry in enumerate(read_yaml(path), start=1)]


def table(paper: str) -> pd.DataFrame:
    """The deviations from a paper as a table; columns are the fields of `Deviation`."""
    import pandas as pd

    return pd.DataFrame(entries(paper), columns=Deviation._fields)


def _entry(entry: Any, number: int, path: Path) -> Deviation:
    try:
        deviation = typed(entry, Deviation)
        if not (deviation.where and deviation.paper and deviation.here):
            raise ValueError("where, paper and here have to say something")
        if not (ROOT / deviation.file).is_file():
            raise ValueError(f"there is no file {deviation.file!r}")
    except ValueError as error:
        remedy = f"Mend the entry: give {', '.join(Deviation._fields)} (switch may be left out)"
        raise damaged(path, f"entry {number}, {entry!r}: {error}", remedy) from None
    return deviation
