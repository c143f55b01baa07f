"""What the README lists by itself: all notebooks, and how large the methods are. Written by `make readme`.

The list comes from the notebooks' titles, `notebooks/scoreboard.yaml` and `notebooks/times.yaml`; lines are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT
from lab.machine.reading import damaged, read_yaml
from lab.notebooks import deviations, scoreboard
from lab.notebooks.documents import FOLDER, committed, name_of, read

README = ROOT / "README.md"
TIMES = FOLDER / "times.yaml"
METHODS = ("procllm", "sdp", "statefactory")
TRIED = "4_explore/"  # of no paper, and listed in one row
SUITE = (*METHODS, "agents", "lab", "worlds")
ITEM = re.compile(r"(Table|Figure) ([A-Z]\.)?(\d+)")
NAMED = re.compile(r"^(?:Tables?|Figures?) [A-Z\d][^:]*: ")  # of a title: the column beside it says which


def notebooks() -> str:
    """The list of notebooks as a table in Markdown, with links from the repository's root.

    Raises DamagedFile where times.yaml lacks a notebook or has one too many.
    """
    listed = scoreboard.entries()
    times = {entry["notebook"]: entry["seconds"] for entry in read_yaml(TIMES)}
    names = [name_of(path) for path in committed()]
    if odd := sorted(set(names) ^ set(times)):
        raise damaged(TIMES, f"it has to have a line for each notebook and no other; see {', '.join(odd)}", "Mend it")
    lines = ["| notebook | in the paper | time | state |", "| --- | --- | --- | --- |"]
    tried = {}
    for path, name in zip(committed(), names, strict=True):
        entries = [entry for entry in listed if entry.notebook == name]
        title = NAMED.sub("", read(path).cells[0].source.splitlines()[0].removeprefix("# "))
        link = f"[{title[0].upper()}{title[1:]}](notebooks/{name}.ipynb)"
        if name.startswith(TRIED):
            tried[link] = times[name]
        else:
            lines.append(f"| {link} | {_items(entries)} | {times[name]} s | {_state(entries)} |")
    lines.append(f"| To try things out: {'; '.join(tried)} | – | {max(tried.values())} s | – |")
    if missing := [entry for entry in listed if entry.state == "to come"]:
        lines.append(f"| no notebook yet | {_items(missing)} | | to come |")
    return "\n".join(lines)


def size() -> str:
    """One sentence: the lines of the methods, of which a paper's are the modules at the top of its package."""
    methods = {
        package: sum(map(_length, (path for path in (ROOT / package).glob("*.py") if path.stem != "plots")))
        for package in METHODS
    }
    whole = sum(_length(path) for package in SUITE for path in (ROOT / package).rglob("*.py"))
    each = ", ".join(f"`{package}` {_round(lines)}" for package, lines in methods.items())
    return f"The three methods are {_round(sum(methods.values()))} lines ({each}) of {_round(whole)}."


def filled(text: str) -> str:
    """A README with both in place of what stands between their markers. Raises ValueError for a marker that is gone."""
    for name, made in (("notebooks", notebooks()), ("size", size())):
        start, end = f"<!-- {name}: made by `make readme` -->\n", f"<!-- end of {name} -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise ValueError(f"README.md has lost the lines {start.strip()} and {end.strip()}; put them back")
        before, _, rest = text.partition(start)
        text = f"{before}{start}{made}\n{end}" + rest.partition(end)[2]
    return text


def main() -> None:
    """Write both into the README, and the page of deviations."""
    write_atomically(README, filled(README.read_text(encoding="utf-8")).encode("utf-8"))
    deviations.write()


def _items(entries: Iterable[scoreboard.Entry]) -> str:
    """ "SDP Figure 2", or "StateFactory Figure 2, Tables 3–5, 18": runs of numbers are drawn together."""
    papers: dict[str, dict[str, dict[str, list[int]]]] = {}
    for entry in entries:
        for item in entry.items:
            if found := ITEM.fullmatch(item):
                kind, appendix, number = found.groups(default="")
                papers.setdefault(entry.paper, {}).setdefault(kind, {}).setdefault(appendix, []).append(int(number))
            elif item.startswith("§"):
                papers.setdefault(entry.paper, {}).setdefault(item.split()[0], {})
    return (
        "; ".join(
            f"{paper} {', '.join(_numbered(kind, numbers) for kind, numbers in sorted(kinds.items()))}"
            for paper, kinds in papers.items()
        )
        or "–"
    )


def _numbered(kind: str, numbers: dict[str, list[int]]) -> str:
    """ "Tables 3–5, 18" or "Figures 4, A.2". numbers: by what stands before them, "" or a letter of an appendix."""
    told = [
        f"{appendix}{first}" + (f"–{appendix}{last}" if last > first else "")
        for appendix, some in sorted(numbers.items())
        for first, last in _runs(sorted(some))
    ]
    return " ".join(filter(None, [kind + "s" * (sum(map(len, numbers.values())) > 1), ", ".join(told)]))


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = numbers[0]
    for number, after in pairwise([*numbers, numbers[-1] + 2]):
        if after > number + 1:
            yield first, number
            first = after


def _state(entries: Iterable[scoreboard.Entry]) -> str:
    states = {entry.state for entry in entries} - {"nothing to compute"}
    return "partly" if "partly" in states else "here" if "here" in states else "–"


def _length(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def _round(lines: int) -> str:
    return f"{round(lines, -2):,}"


if __name__ == "__main__":
    main()
