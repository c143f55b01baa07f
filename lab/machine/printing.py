"""Text of a model, a program or a server, made fit to be shown."""

from __future__ import annotations

import re
import unicodedata

UNUSUAL = re.compile(r"\r\n|[^ -~\t\n]")


def visible(text: str) -> str:
    r"""The text with what cannot be seen as escapes (`\x00`, `\x1b`, `\u202e`); blanks, tabs and line ends stay.

    Raw, it could clear a terminal, forge a line that nobody wrote, or hide one; and a half of a character cannot even
    be written. For what is shown alone: what is stored, scored or sent to a model stays as it is.
    """
    return text if text.isprintable() else UNUSUAL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    one = found[0]
    seen = one.isprintable() or one == "\r\n" or unicodedata.category(one) == "Zs"  # all kinds of blanks
    return one if seen else one.encode("unicode_escape").decode("ascii")
