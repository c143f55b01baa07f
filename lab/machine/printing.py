"""Text for a terminal: what others wrote made fit to be shown, rows in columns, hints for an unknown word."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence

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


def hint(word: str, known: Iterable[str], nearness: float = 0.6) -> str:
    """ "; did you mean 'rules'?" where a known word is near this one, else "".

    nearness: that it must have, as difflib counts it, in [0, 1].
    """
    # Capitals alone make no other word; the known one is shown as it is written.
    written = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), written, 1, nearness)
    return f"; did you mean {written[near[0]]!r}?" if near else ""
