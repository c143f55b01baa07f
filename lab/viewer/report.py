"""Reports of runs to be sent to a colleague: the headline, why episodes failed, and each episode behind a link.

A folder has a file an episode, so that an index of thousands opens at once. One file has all of them; so that it opens,
too, its long texts are cut, the shorter the more there are, and of very many episodes only the steps' lines are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.machine import progress
from lab.results.exports import text
from lab.runs.showing import Shown
from lab.viewer import pages
from lab.viewer.episodes import Ended, Kept
from lab.viewer.timeline import written

INDEX = "index.html"
WHOLE = 20_000_000  # characters of episodes in one file, which a browser opens in a few seconds
SOON = 100  # episodes that need no line of progress


@dataclass(frozen=True)
class Line:
    """An episode in a report. link: its file; body: itself, where the report is one file."""

    task: str
    state: str
    score: float | None
    reason: str
    verdict: bool | None
    link: str = ""
    body: str = ""


@dataclass(frozen=True)
class Section:
    """A run in a report. tables: title -> rows, the header's first. whole: with the episodes themselves."""

    name: str
    facts: Mapping[str, str]
    tables: Mapping[str, Sequence[Sequence[str]]]
    lines: Sequence[Line]
    whole: bool


def report(folders: Sequence[Path], out: Path, one_file: bool = False, prompts: bool = False) -> Path:
    """Write a report of some runs; the path of the page to open.

    out: a folder, or the file itself with `one_file`. prompts: with prompts and answers (`Kept.timeline`), which takes
    as long as playing the episodes again without a model. Raises DamagedFile.
    """
    runs = [Kept(Path(folder)) for folder in folders]
    total = sum(len(kept.episodes) for kept in runs)
    sections = []
    with progress.bar(total, "report", show=total > SOON) as bar:
        for number, kept in enumerate(runs, start=1):
            lines = []
            for place, (task, end) in enumerate(kept.tasks().items(), start=1):
                line = Line(task, *end, _verdict(end))
                if task in kept.episodes:
                    timeline = kept.timeline(task, prompts)
                    if one_file:
                        most = pages.limit([timeline], WHOLE // total, least=0)
                        line = replace(
                            line, body=pages.timeline(timeline, most if most >= pages.SHORTEST else pages.BARE)
                        )
                    else:
                        line = replace(line, link=f"episodes/{number}-{place:05}.html")
                        timeline.html(out / line.link)
                    bar.update()
                lines.append(line)
            sections.append(_section(kept, lines, one_file))
    title = f"Report on {', '.join(each.name for each in sections)}"
    page = out if one_file else out / INDEX
    return written(page, pages.page(title, pages.rendered("report.html", title=title, runs=sections)))


def _section(kept: Kept, lines: Sequence[Line], whole: bool) -> Section:
    """What `lab show` says of a run, and its episodes."""
    shown, tables = Shown(kept), {}
    for title, frame in shown.tables.items():
        filled = frame.loc[:, (frame != "").any()]
        tables[title.capitalize()] = [
            [text(cell) for cell in row] for row in [filled.columns, *filled.to_numpy(object)]
        ]
    return Section(kept.folder.name, shown.facts, tables, lines, whole)


def _verdict(end: Ended) -> bool | None:
    """A tick for a full score, a cross for none or a failure; nobody judged the rest."""
    if end.state == "failed" or end.score == 0:
        return False
    return True if end.score == 1 else None
