"""Saves and restores the global random states, around packages that seed or draw from them, some while imported."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()


@contextmanager
def randomness_kept() -> Iterator[None]:
    """At the end the global states of `random` and `numpy.random` are as they were; one thread at a time."""
    import numpy

    with _lock:
        before = random.getstate(), numpy.random.get_state()
        try:
            yield
        finally:
            random.setstate(before[0])
            numpy.random.set_state(before[1])
