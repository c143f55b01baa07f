"""The progress bar of a run, and notes beside it that say why the run waits."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_active: list[Any] = []  # the bars of this process, innermost last
_lock = threading.Lock()


@contextmanager
def bar(total: int, title: str, done: int = 0, show: bool = True) -> Iterator[Any]:
    """A tqdm bar; `note` writes beside the innermost one. done: how much of `total` an earlier session did."""
    from tqdm.auto import tqdm  # a widget in a notebook, which normalising takes out; a line in a terminal

    line = tqdm(total=total, desc=title, initial=done, disable=not show, dynamic_ncols=True, file=sys.stderr)
    _active.append(line)
    try:
        yield line
    finally:
        _active.remove(line)
        line.close()


def note(message: str) -> None:
    """Say `message` in the progress line; in a worker process, which has none, on a line of its own in stderr."""
    with _lock:
        if _active:
            _active[-1].set_postfix_str(message, refresh=True)
        elif message:
            print(message, file=sys.stderr, flush=True)
