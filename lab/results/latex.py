"""Tables in LaTeX, as in a paper: methods in rows, metrics in columns, booktabs rules, and a caption."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lab.results.display import ANSWERS, FAULTS, SOURCE, columns_of, is_text
from lab.results.exports import EMPTY

if TYPE_CHECKING:
    import pandas as pd

BACKBONE, EVIDENCE, N = "backbone", "evidence", "n"
ABOUT = (BACKBONE, EVIDENCE, N, *FAULTS, ANSWERS)  # columns between a method's name and its values
EXPLAINED = {
    "published": "published: the papers' own values",
    "measured": "measured: made here",
    "simulated": "simulated: noise, or knowledge that no agent has, stands in for a model's skill",
}
LONG = 50  # characters; a column with a longer cell has line breaks
LINK = re.compile(r"\[([^]]*)\]\([^()\s]*\)")  # a Markdown link, which is replaced by its text
MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
INTERVAL = re.compile(r"(?<=\d) (\{\[\}[^\s{}]+, [^\s{}]+\{\]\})")  # of an escaped cell
ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "[": "{[}",  # LaTeX would read a cell that starts with a bracket as the optional argument of \\
        "]": "{]}",
        "–": "--",
        "−": "$-$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "→": r"$\to$",
        "×": r"$\times$",
        "\n": " ",
    }
)


def latex(reading: pd.DataFrame, caption: str, label: str, decimals: int = 3) -> str:
    """A `table` environment for the booktabs package, with all special characters escaped.

    Columns and rows without a value are left out; intervals are small. In a results table (from `side_by_side` or
    `spread`) published, measured and simulated rows have headings with n and faults. It has a column of backbones if
    there are several, but no column on how a model's answers were read.
    caption: without the final dot; sentences on evidence, brackets and n are appended. decimals: maximal number.
    """
    import pandas as pd

    columns = dict(columns_of(reading, decimals))
    texts = pd.DataFrame(columns).set_axis(map(str, reading.columns[[*columns]]), axis=1)
    results = reading.index.name == SOURCE and EVIDENCE in texts
    descriptive = [name for name in texts if results and name in ABOUT]
    values = [*texts][[*texts].index(descriptive[-1]) + 1 :] if descriptive else [*texts]
    filled = _filled(texts[values]).any(axis=1)
    texts = texts[filled] if filled.any() else texts
    columns_kept = _kept(texts, descriptive)
    cells = [[*texts[name]] for name in columns_kept]
    width = min(0.25, 0.6 / max(1, sum(map(_is_long, cells))))
    titles = [
        name.capitalize() if descriptive and name.islower() and is_text(column) else name
        for name, column in zip(columns_kept, cells, strict=True)
    ]
    sentences = " ".join([f"{caption}.", *_notes(texts, descriptive)])
    body = _blocks(texts, descriptive, columns_kept) if descriptive else [r"\midrule", *_lines(texts[columns_kept])]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escaped(sentences)}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{''.join(_kind(column, width) for column in cells)}}}",
            r"\toprule",
            _line(titles),
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _kept(texts: pd.DataFrame, descriptive: Sequence[str]) -> list[str]:
    """The columns that are not empty; of the descriptive ones only the backbone, if there are several backbones."""
    if not len(texts):
        return [*texts]
    several = BACKBONE in descriptive and texts[BACKBONE].nunique() > 1
    dropped = [name for name in descriptive if name != BACKBONE or not several]
    return [name for name in texts if name not in dropped and _filled(texts[name]).any()]


def _notes(texts: pd.DataFrame, descriptive: Sequence[str]) -> Iterator[str]:
    """The sentences of a caption on evidence, intervals, n, and the backbone if all rows share it."""
    if BACKBONE in descriptive and texts[BACKBONE].nunique() == 1:
        yield f"Backbone: {texts[BACKBONE].iloc[0]}."
    if explanations := [
        sentence for word, sentence in EXPLAINED.items() if descriptive and word in set(texts[EVIDENCE])
    ]:
        yield f"{'; '.join(explanations).capitalize()}."
    if any(INTERVAL.search(escaped(cell)) for row in texts.to_numpy() for cell in row):
        yield "Brackets: 95 % intervals."
    if N in descriptive and _filled(texts[N]).any():
        yield "n: tasks, episodes or steps that a value is taken over."


def _blocks(texts: pd.DataFrame, descriptive: Sequence[str], kept: Sequence[str]) -> Iterator[str]:
    """The rows of each kind of evidence, under a heading."""
    for word in [word for word in EXPLAINED if word in set(texts[EVIDENCE])]:
        rows = texts[texts[EVIDENCE] == word]
        counts = [f"{name} = {span}" for name in (N, *FAULTS) if name in descriptive and (span := _span(rows[name]))]
        yield r"\midrule"
        yield rf"\multicolumn{{{len(kept)}}}{{l}}{{\emph{{{escaped(', '.join([word, *counts]))}}}}} \\"
        yield from _lines(rows[kept])


def _span(cells: pd.Series) -> str:
    """The counts of a block, which may be ranges: a number if all are equal, else lowest and highest; "" for zeros."""
    counts = [int(count) for cell in cells for count in re.findall(r"\d+", cell)]
    low, high = min(counts, default=0), max(counts, default=0)
    return "" if not high else str(high) if low == high else f"{low}–{high}"


def _lines(texts: pd.DataFrame) -> Iterator[str]:
    return (_line(cells) for cells in texts.to_numpy())


def _line(cells: Sequence[str]) -> str:
    return " & ".join(INTERVAL.sub(r" {\\scriptsize \1}", escaped(cell)) for cell in cells) + r" \\"


def escaped(text: str) -> str:
    """A text escaped for LaTeX; the hyphen of a negative number becomes a minus."""
    return MINUS.sub("−", LINK.sub(r"\1", text)).translate(ESCAPED)


def _kind(cells: Sequence[str], width: float) -> str:
    """A column's alignment: numbers right, text left. width: of a column with long text, in line widths."""
    if not is_text(cells):
        return "r"
    return rf"p{{{width:.2g}\linewidth}}" if _is_long(cells) else "l"


def _is_long(cells: Sequence[str]) -> bool:
    return max(map(len, cells), default=0) > LONG


def _filled(texts: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    return ~texts.isin([EMPTY, ""])
