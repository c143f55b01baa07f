"""The progress line of a run, displayed in a terminal, in a notebook's cell, or in the terminal behind a kernel.

    sdp synthetic -Validate 312/10,000 · 4 waiting: 429 · $1.80 · 41.0 minutes left

In a notebook it is a separate output that is updated in place and ends as `sdp synthetic -Validate 10,000/10,000`.
The notebook runner reads the line from the file that `LAB_PROGRESS` names; a log, which cannot be rewritten, gets one
line per minute. A display that fails (a kernel's broken socket, a closed terminal, a full disk) is ignored and does not
stop the run.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from lab.machine.files import write_atomically
from lab.machine.printing import visible

# A warning of tqdm in notebooks: several libraries import it, and it asks for widgets that are never used.
warnings.filterwarnings("ignore", "IProgress not found")

STATUS = "LAB_PROGRESS"
PASSING = "passing"  # metadata of outputs that only matter while a cell runs; normalising a notebook removes them
PAUSE = 0.3  # seconds between two updates in a terminal or a cell
LOG_PAUSE = 60.0  # the same in a log

Show = Callable[..., None]  # (line, is it the last one, must it be displayed at once)
_active: list[Bar] = []  # the bars of this process, innermost last
_waiting: dict[int, str] = {}  # thread -> why it waits
_lock = threading.RLock()  # reentrant: code that draws a bar may itself report something


class Bar:
    """Progress of a run. total: number of items. done: the number that an earlier session finished.

    alike: items take about the same time, so the remaining time can be estimated.
    """

    def __init__(
        self, total: int, title: str, done: int = 0, shows: list[Show] | None = None, alike: bool = True
    ) -> None:
        self.total, self.title, self.done, self.alike = total, title, done, alike
        self.remark = ""
        self._earlier, self._began = done, time.monotonic()
        self._dollars: float | None = 0.0
        self._tokens = 0
        self._shows = shows or []

    def update(self, count: int = 1) -> None:
        """Count `count` more items as done."""
        self.done += count
        self.show()

    def spend(self, tokens: int, dollars: float | None) -> None:
        """Add the cost of a call. dollars: None if the price is unknown; the line then reports tokens."""
        self._tokens += tokens
        self._dollars = None if self._dollars is None or dollars is None else self._dollars + dollars

    def book(self, usage: Mapping[str, Any] | None) -> None:
        """Add an episode's usage by operator (`lab.models.backbone.by_operator`)."""
        for totals in (usage or {}).values():
            if isinstance(totals, Mapping):  # experiments need not use a model
                self.spend(totals["tokens_in"] + totals["tokens_out"], totals["usd"])

    def show(self, last: bool = False, urgent: bool = False) -> None:
        """Display the line, at a limited rate; a last or urgent line always."""
        with _lock:
            for show in self._shows:
                with suppress(Exception):
                    show(self.text(last), last, urgent)

    def text(self, last: bool = False) -> str:
        """The line. last: only the part that is of interest afterwards and equal after every run."""
        parts = [f"{self.title} {self.done:,}/{self.total:,}"]
        if last:
            return parts[0]
        parts += [f"{count} waiting: {why}" for why, count in Counter(_waiting.values()).items()]
        # Tokens if the price is unknown; rules have neither.
        spent = f"{self._tokens:,} tokens" if self._dollars is None else f"${self._dollars:,.2f}"
        parts += [self.remark, spent if self._dollars is None or self._dollars else ""]
        if self.alike and self._earlier < self.done < self.total:
            pace = (time.monotonic() - self._began) / (self.done - self._earlier)
            parts.append(f"{duration(pace * (self.total - self.done))} left")
        return visible(" · ".join(filter(None, parts)))


@contextmanager
def bar(total: int, title: str, done: int = 0, show: bool = True, alike: bool = True) -> Iterator[Bar]:
    """A progress line for the duration of the context; `note` and `waits` write to the innermost line."""
    line = Bar(total, title, done, _places() if show else [], alike)
    _active.append(line)
    line.show()
    try:
        yield line
    finally:
        _active.remove(line)
        line.show(last=True)


def note(message: str) -> None:
    """Display `message` in the progress line until it is replaced ("" clears it); without a line, on its own."""
    with _lock:
        if _active:
            _active[-1].remark = message
            _active[-1].show(urgent=bool(message))
        elif message:
            say(message, passing=True)


def waits(why: str, detail: str = "") -> None:
    """Report why this thread waits, or "" when it continues; the line counts waiting threads ("4 waiting: 429").

    detail: the message if there is no progress line.
    """
    with _lock:
        if why:
            _waiting[threading.get_ident()] = why
        elif _waiting.pop(threading.get_ident(), None) is None:
            return
        if _active:
            _active[-1].show()
        elif detail:
            say(detail, passing=True)


def spend(tokens: int, dollars: float | None) -> None:
    """Add a call's price to the progress line. dollars: None if it is unknown."""
    with _lock:
        if _active:
            _active[-1].spend(tokens, dollars)
            _active[-1].show()


def say(message: str, passing: bool = False) -> None:
    """Print a message: in a notebook as a normal output of the cell, since stderr is displayed as an alarm.

    passing: the message matters only while the notebook runs; the executed copy does not store it.
    """
    message = visible(message)  # often text of a server or a model
    with suppress(Exception):
        if hasattr(shell(), "kernel"):
            from IPython.display import display

            display({"text/plain": message}, raw=True, metadata={PASSING: True} if passing else {})
        else:
            print(message, file=sys.stderr, flush=True)


@cache
def say_once(message: str) -> None:
    """Print a message once per process, however often it is reported."""
    say(message)


def duration(seconds: float) -> str:
    """ "1.5 hours", in the largest unit that fits."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"


def _places() -> list[Show]:
    """The displays of a line: the cell and the terminal behind its kernel, else stderr; and the runner's file."""
    shows: list[Show | None] = []
    if path := os.environ.get(STATUS, ""):
        shows.append(_paused(lambda text, last: write_atomically(Path(path), b"" if last else text.encode()), PAUSE))
    for make in (_in_cell, _behind_kernel) if hasattr(shell(), "kernel") else (partial(_on, sys.stderr),):
        with suppress(Exception):
            shows.append(make())
    return [show for show in shows if show]


def shell() -> Any:
    """This process's IPython, which has a `kernel` in a notebook; None without IPython imported and running."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _in_cell() -> Show:
    from IPython.display import display

    options = {"raw": True, "metadata": {PASSING: True}}
    handle = display({"text/plain": ""}, display_id=True, **options)
    return _paused(lambda text, last: handle.update({"text/plain": text}, **options), PAUSE)


def _behind_kernel() -> Show | None:
    """The terminal in which papermill was started, since a kernel's own stderr goes to its cell.

    None if there is no terminal, and in JupyterLab, whose terminal displays the server's log.
    """
    descriptor = getattr(sys.stderr, "_original_stdstream_copy", None)  # ipykernel's copy of the inherited descriptor
    if descriptor is None or "JPY_SESSION_NAME" in os.environ or not os.isatty(descriptor):
        return None
    return _on(os.fdopen(os.dup(descriptor), "w", encoding="utf-8"))


def _on(stream: TextIO) -> Show:
    """A line that is rewritten in place on a terminal; in a file or a pipe, one line below the other."""
    if not stream.isatty():
        return _paused(lambda text, last: print(text, file=stream, flush=True), LOG_PAUSE)
    from tqdm import tqdm

    line = tqdm(bar_format="{desc}", file=stream, dynamic_ncols=True)

    def show(text: str, last: bool) -> None:
        line.set_description_str(text)
        if last:
            line.close()

    return _paused(show, PAUSE)


def _paused(show: Callable[[str, bool], None], pause: float) -> Show:
    """Limit `show` to one call per `pause` seconds; last and urgent lines are always displayed."""
    shown = -pause

    def limited(text: str, last: bool, urgent: bool = False) -> None:
        nonlocal shown
        if last or urgent or time.monotonic() - shown >= pause:
            shown = time.monotonic()
            show(text, last)

    return limited
