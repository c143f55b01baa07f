"""Text for a terminal: what a model, a program or a server said made fit to be shown, and rows in columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

UNUSUAL = re.compile(r"\r\n|[^ -~\t\n]")


def visible(text: str) -> str:
    r"""The text with what cannot be seen as escapes (`\x00`, `\x1b`, `\u202e`); blanks, tabs and line ends stay.

    Raw, it could clear a terminal, forge a line that nobody wrote, or hide one; and a half of a character cannot even
    be written. For what is shown alone: what is stored, scored or sent to a model stays as it is.
    """
    return text if text.isprintable() else UNUSUAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    seen = (
        character.isprintable() or character == "\r\n" or unicodedata.category(character) == "Zs"
    )  # all kinds of blanks
    return character if seen else character.encode("unicode_escape").decode("ascii")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as columns of equal width."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
