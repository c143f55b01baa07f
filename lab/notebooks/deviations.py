"""Where the methods differ from their papers: one file a paper, read for notebooks and written as docs/deviations.md.

data/deviations/PAPER.yaml is a list of entries, each with the fields of `Deviation`. `make readme` writes the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT
from lab.machine.reading import damaged, read_yaml, typed

if TYPE_CHECKING:
    import pandas as pd

FOLDER = ROOT / "data" / "deviations"
PAGE = ROOT / "docs" / "deviations.md"
PAPERS = {"sdp": "SDP", "statefactory": "StateFactory", "procllm": "ProcLLM"}
HEAD = """# Where the methods differ from their papers

<!-- Made by `make readme` from data/deviations/; edit those files. -->
Each line is a difference between a method as it runs here and as its paper has it, or a choice where the paper says
nothing or two things: wording of *prompts*, *settings*, the *algorithm*, or the *data*. The kind leads to the file
where it is done; the last column names the parameter that changes it, if there is one.
"""
COLUMNS = "| place | the paper | here | kind | changed by |\n| --- | --- | --- | --- | --- |\n"


class Deviation(NamedTuple):
    """A difference. where: the place in the paper. paper, here: what each says or does. file: of the repository, where
    it is done here. switch: the parameter that changes it, "" for none.
    """

    kind: Literal["prompt", "setting", "algorithm", "data"]
    where: str
    paper: str
    here: str
    file: str
    switch: str = ""


def papers() -> list[str]:
    """The papers that have a file, in the order of PAPERS. Raises DamagedFile for the file of another one."""
    there = {path.stem: path for path in FOLDER.glob("*.yaml")}
    if unknown := sorted({*there} - {*PAPERS}):
        raise damaged(there[unknown[0]], f"no paper is called {unknown[0]!r}", f"Call it one of {', '.join(PAPERS)}")
    return [paper for paper in PAPERS if paper in there]


def entries(paper: str) -> list[Deviation]:
    """The deviations from a paper, in the file's order. Raises DamagedFile, naming the entry that cannot be read."""
    path = FOLDER / f"{paper}.yaml"
    return [_entry(entry, number, path) for number, entry in enumerate(read_yaml(path), start=1)]


def table(paper: str) -> pd.DataFrame:
    """The same, a row each; its columns are the fields of `Deviation`."""
    import pandas as pd

    return pd.DataFrame(entries(paper), columns=Deviation._fields)


def page() -> str:
    """docs/deviations.md, with a table for each paper that has a file."""
    parts = [HEAD]
    for paper in papers():
        parts.append(f"\n## {PAPERS[paper]}\n{COLUMNS}" + "".join(map(_line, entries(paper))))
    return "".join(parts)


def write() -> None:
    """Write the page."""
    write_atomically(PAGE, page().encode("utf-8"))


def _entry(entry: Any, number: int, path: Path) -> Deviation:
    try:
        found = typed(entry, Deviation)
        if not (found.where and found.paper and found.here):
            raise ValueError("where, paper and here have to say something")
        if not (ROOT / found.file).is_file():
            raise ValueError(f"there is no file {found.file!r}")
    except ValueError as error:
        remedy = f"Mend the entry: give {', '.join(Deviation._fields)} (switch may be left out)"
        raise damaged(path, f"entry {number}, {entry!r}: {error}", remedy) from None
    return found


def _line(one: Deviation) -> str:
    place, paper, here = (text.replace("|", "\\|") for text in (one.where, one.paper, one.here))
    switch = f"`{one.switch}`" if one.switch else ""
    return f"| {place} | {paper} | {here} | [{one.kind}](../{one.file}) | {switch} |\n"
