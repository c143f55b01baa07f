"""Computed parts of the README and of the pages in docs/: findings, claims, regression numbers, deviations, notebooks.

A page marks such a part, and `make readme` writes the text between the markers:

    <!-- found: made by `make readme` -->
    <!-- end of found -->

PARTS lists the names. Some have arguments in brackets: `claims (ID, ID)`, `figures (NOTEBOOK: FIGURE; FIGURE)`,
`deviations (PAPER)`, `table (MODULE:FUNCTION ARGUMENT)`. A test checks that all pages are current.

The cell after a notebook's title is its answer box, computed from the register of claims. Its output comes from the
committed results, not from the notebook's run. So it is written without executing the notebook: by `make readme`, and
after each in-place run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, recordings_folder
from lab.machine.reading import damaged, read_yaml
from lab.notebooks import answers, deviations, expected, page, register, scoreboard, small_model
from lab.notebooks.documents import FOLDER, committed, load, name_of, read, tags, text_of, write
from lab.notebooks.normalise import normalise
from lab.results.exports import EMPTY, markdown

if TYPE_CHECKING:
    from nbformat import NotebookNode

TAG = "answer"
ANSWER = 'from lab.notebooks import page\n\npage.answer("{}")'
README = ROOT / "README.md"
TIMES = FOLDER / "times.yaml"
METHODS = ("procllm", "sdp", "statefactory")
TRIED = "4_explore/"  # notebooks of no paper, listed in one row
SUITE = (*METHODS, "agents", "lab", "worlds")
ITEM = re.compile(r"(Table|Figure) ([A-Z]\.)?(\d+)")
NAMED = re.compile(r"^(?:Tables?|Figures?) [A-Z\d][^:]*: ")  # dropped from titles: the next column names the item
PART = re.compile(
    r"(?P<start><!-- (?P<name>\w+)(?: \((?P<which>[^\n]*?)\))?: made by `make readme` -->\n)"
    r"(?P<text>.*?)(?P<end><!-- end of (?P=name) -->)",
    re.DOTALL,
)
LEFT_OVER = re.compile(r"<!-- (?:end of )?(\w+)(?: \([^\n]*?\))?(?:: made by `make readme`)? -->")


def pages() -> list[Path]:
    """The README, the pages of docs/ and the protocol of the recordings."""
    return [README, *sorted((ROOT / "docs").glob("*.md")), recordings_folder() / "PROTOCOL.md"]


def found(which: str) -> str:
    """The main results, a numbered sentence per line."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(answers.found(register.committed()), start=1))


def small(which: str) -> str:
    """The leading claims on small models, a sentence per line; `found` counts them."""
    return "\n".join(f"- {line}" for line in small_model.sentences(register.committed())[1:])


def tiles(which: str) -> str:
    """The scoreboard's four tiles."""
    return markdown(scoreboard.tiles(register.committed())).rstrip("\n")


def claims(which: str) -> str:
    """Claims by their ids, a sentence per line. Raises ValueError for an unknown id."""
    findings = {finding.claim.id: finding for finding in scoreboard.findings(register.committed())}
    ids = [name.strip() for name in which.split(",")]
    if unknown := [name for name in ids if name not in findings]:
        raise ValueError(f"no claim {', '.join(unknown)} in data/claims; its files list them")
    return "\n".join(f"- {scoreboard.sentence(findings[name])}" for name in ids)


def figures(which: str) -> str:
    """Regression numbers of a notebook as a table. Raises ValueError for a figure that expected.yaml does not have."""
    notebook, _, names = which.partition(":")
    stated = {entry[:3]: entry.value for entry in expected.expectations()}
    lines = [f"| `{notebook}` | {' | '.join(expected.DATA)} |", "| --- |" + " ---: |" * len(expected.DATA)]
    for figure in map(str.strip, names.split(";")):
        values = [stated.get((notebook, figure, data), EMPTY) for data in expected.DATA]
        if set(values) == {EMPTY}:
            raise ValueError(f"expected.yaml states no {figure!r} of {notebook}")
        lines.append(f"| {figure} | {' | '.join(map(str, values))} |")
    return "\n".join(lines)


def differences(which: str) -> str:
    """A method's differences from its paper, as a table. which: name of a file in data/deviations."""
    return "\n".join([deviations.HEAD, *(deviation.line for deviation in deviations.entries(which))])


def table(which: str) -> str:
    """The table that a function returns. which: "MODULE:FUNCTION ARGUMENT". Raises ValueError if it cannot load."""
    name, _, argument = which.partition(" ")
    module, _, function = name.partition(":")
    try:
        compute = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"cannot load the function of table ({which}): {error}; write MODULE:FUNCTION ARGUMENT"
        ) from None
    return markdown(compute(argument)).rstrip("\n")


def notebooks(which: str = "") -> str:
    """The list of notebooks, and of pages with tables of a paper, with links from the repository's root.

    Raises DamagedFile if times.yaml does not list exactly the committed notebooks.
    """
    judged = register.committed()
    times = {entry["notebook"]: entry["seconds"] for entry in read_yaml(TIMES)}
    names = [name_of(path) for path in committed()]
    if odd := sorted(set(names) ^ set(times)):
        raise damaged(TIMES, f"it has to have a line for each notebook and no other; see {', '.join(odd)}", "Mend it")
    lines = ["| notebook | in the paper | time | verdicts |", "| --- | --- | --- | --- |"]
    explored = {}
    for path, name in zip(committed(), names, strict=True):
        title = NAMED.sub("", read(path).cells[0].source.splitlines()[0].removeprefix("# "))
        link = f"[{title[0].upper()}{title[1:]}](notebooks/{name}.ipynb)"
        if name.startswith(TRIED):
            explored[link] = times[name]
        else:
            lines.append(f"| {link} | {_items(judged, name)} | {times[name]} s | {_verdicts(judged, name)} |")
    computed = dict.fromkeys(item.page for paper in judged for item in paper.paper.items if item.page)
    lines += [f"| [{_title(ROOT / name)}]({name}) | {_items(judged, name)} | – | – |" for name in computed]
    lines.append(f"| To try things out: {'; '.join(explored)} | – | {max(explored.values())} s | – |")
    return "\n".join(lines)


def size(which: str = "") -> str:
    """A sentence with the lines of the methods (the modules at the top of their packages) and of the suite."""
    methods = {
        package: sum(map(_length, (path for path in (ROOT / package).glob("*.py") if path.stem != "plots")))
        for package in METHODS
    }
    total = sum(_length(path) for package in SUITE for path in (ROOT / package).rglob("*.py"))
    counts = ", ".join(f"`{package}` {_round(lines)}" for package, lines in methods.items())
    return (
        f"The three methods are {_round(sum(methods.values()))} lines ({counts}) of about {round(total, -3):,}; "
        "the rest is worlds, benchmarks, stand-ins, experiments, plots and `lab`."
    )


PARTS: Mapping[str, Callable[[str], str]] = {
    "found": found, "small": small, "tiles": tiles, "claims": claims, "figures": figures, "deviations": differences,
    "notebooks": notebooks, "size": size, "table": table,
}  # fmt: skip


def filled(text: str, page: str = "README.md") -> str:
    """A page with all parts computed. Raises ValueError for an unknown part, or one that lost a marker."""
    for name in LEFT_OVER.findall(PART.sub("", text)):
        if name in PARTS:
            raise ValueError(f"{page} has lost the line before or after the part {name}; restore it")

    def computed(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in PARTS:
            raise ValueError(f"{page} wants a part {name!r}; choose from {', '.join(PARTS)}")
        return f"{match['start']}{PARTS[name](match['which'] or '')}\n{match['end']}"

    return PART.sub(computed, text)


def answered(notebook: NotebookNode, name: str) -> NotebookNode:
    """A copy with the current answer box after the title, unless it is neither an item of a paper nor an overview."""
    listed = {item.notebook for paper in register.papers() for item in paper.items} | {*answers.OVERVIEWS}
    clean = normalise(notebook)
    clean.cells = [cell for cell in clean.cells if TAG not in tags(cell)]
    if name in listed and clean.cells:
        clean.cells.insert(1, _answer_cell(name))
    return normalise(clean)


def stale() -> list[Path]:
    """The committed notebooks whose answer box is not current."""
    return [path for path in committed() if text_of(answered(read(path), name_of(path))) != text_of(read(path))]


def refresh(notebooks: Sequence[Path] | None = None) -> None:
    """Write the current answer boxes into notebooks, by default into all committed ones."""
    for cached in (register.committed, register.about, register.recorded):
        cached.cache_clear()  # an in-place run may have written new results
    for path in committed() if notebooks is None else notebooks:
        notebook = read(path)
        new = answered(notebook, name_of(path))
        if text_of(new) != text_of(notebook):
            write(new, path)


def _answer_cell(name: str) -> NotebookNode:
    import nbformat

    load()
    outputs = [nbformat.v4.new_output("display_data", data, metadata=extra) for data, extra in page.bundles(name)]
    return nbformat.v4.new_code_cell(
        ANSWER.format(name), outputs=outputs, execution_count=1, metadata={"tags": [TAG]}, id="answer"
    )


def main() -> None:
    """Write all parts into all pages, and the answer boxes into the notebooks."""
    refresh()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        write_atomically(path, filled(text, path.name).encode("utf-8"))


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _items(judged: Iterable[register.PaperFindings], name: str) -> str:
    """The items of a notebook or page as text: "SDP Figure 2", or "StateFactory Figure 2, Tables 3–5, 18"."""
    papers: dict[str, dict[str, dict[str, list[int]]]] = {}
    for paper in judged:
        for entry in (entry for entry in paper.paper.items if name in (entry.notebook, entry.page)):
            for item in entry.items:
                if match := ITEM.fullmatch(item):
                    kind, appendix, number = match.groups(default="")
                    kinds = papers.setdefault(paper.paper.paper, {})
                    kinds.setdefault(kind, {}).setdefault(appendix, []).append(int(number))
                elif item.startswith("§"):
                    papers.setdefault(paper.paper.paper, {}).setdefault(item.split()[0], {})
    return (
        "; ".join(
            f"{paper} {', '.join(_numbered(kind, numbers) for kind, numbers in sorted(kinds.items()))}"
            for paper, kinds in papers.items()
        )
        or EMPTY
    )


def _verdicts(judged: Iterable[register.PaperFindings], notebook: str) -> str:
    """The verdicts on a notebook's claims, such as "2 DIFFERENT, 3 NOT RUN"; "–" if there are none."""
    counts = Counter(f.verdict.word for f in scoreboard.findings(judged) if f.claim.notebook == notebook)
    return ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or EMPTY


def _numbered(kind: str, numbers: dict[str, list[int]]) -> str:
    """ "Tables 3–5, 18" or "Figures 4, A.2". numbers: prefix ("" or the letter of an appendix) -> numbers."""
    ranges = [
        f"{appendix}{first}" + (f"–{appendix}{last}" if last > first else "")
        for appendix, series in sorted(numbers.items())
        for first, last in _runs(sorted(series))
    ]
    return " ".join(filter(None, [kind + "s" * (sum(map(len, numbers.values())) > 1), ", ".join(ranges)]))


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = numbers[0]
    for number, after in pairwise([*numbers, numbers[-1] + 2]):
        if after > number + 1:
            yield first, number
            first = after


def _length(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def _round(lines: int) -> str:
    return f"{round(lines, -2):,}"


if __name__ == "__main__":
    main()
