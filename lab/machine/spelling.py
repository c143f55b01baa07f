"""Hints for a word that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(word: str, known: Iterable[str], nearness: float = 0.6) -> str:
    """ "; did you mean 'rules'?" where a known word is near this one, else "".

    nearness: that it must have, as difflib counts it, in [0, 1].
    """
    # Capitals alone make no other word; the known one is shown as it is written.
    written = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), written, 1, nearness)
    return f"; did you mean {written[near[0]]!r}?" if near else ""
