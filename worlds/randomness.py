"""Saves and restores the global random states around packages that seed or use them, some even on import."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()


@contextmanager
def randomness_kept() -> Iterator[None]:
    """Restore the global states of `random` and `numpy.random` at the end; one thread at a time."""
    import numpy

    with _lock:
        before = random.getstate(), numpy.random.get_state()
        try:
            yield
        finally:
            random.setstate(before[0])
            numpy.random.set_state(before[1])
