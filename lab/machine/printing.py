"""Text for a terminal: escaping of foreign text, aligned columns, hints for an unknown word."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence

UNUSUAL = re.compile(r"\r\n|[^ -~\t\n]")


def visible(text: str) -> str:
    r"""The text with invisible characters escaped (`\x00`, `\x1b`, `\u202e`); blanks, tabs and line ends stay.

    Raw, it could clear a terminal, or forge or hide a line; and a lone surrogate cannot be printed at all. Only for
    display: text that is stored, scored or sent to a model stays as it is.
    """
    return text if text.isprintable() else UNUSUAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    is_visible = (
        character.isprintable() or character == "\r\n" or unicodedata.category(character) == "Zs"
    )  # Zs: all kinds of blanks
    return character if is_visible else character.encode("unicode_escape").decode("ascii")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as columns of equal width."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def hint(word: str, known: Iterable[str], nearness: float = 0.6) -> str:
    """ "; did you mean 'rules'?" if a known word resembles this one, else "".

    nearness: the minimum similarity, in [0, 1], as computed by difflib.
    """
    # Case is ignored for matching; the known word is displayed in its own spelling.
    spellings = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), spellings, 1, nearness)
    return f"; did you mean {spellings[matches[0]]!r}?" if matches else ""
