"""A pool of copies of the planning library, each with one game's state in it.

The library keeps its state in globals, so that every game under way needs a copy of its own, which
`fast_downward.load_lib` makes. Unloading one with `close_lib` after others were loaded ends the process with a
segmentation fault at exit: copies share what C++ wants to be unique. So none is unloaded; they are lent out again.
"""

from __future__ import annotations

from ctypes import CDLL

import fast_downward

_idle: list[CDLL] = []


def borrow() -> CDLL:
    """A copy that nothing else uses."""
    try:
        return _idle.pop()
    except IndexError:
        return fast_downward.load_lib()


def give_back(library: CDLL) -> None:
    """Let go of the game in a copy, and lend it out again. Call it once."""
    library.cleanup()
    _idle.append(library)
