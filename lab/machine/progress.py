"""One line that says how a run goes, wherever its user looks: a terminal, a cell, or the terminal behind a kernel.

    sdp made -Validate 312/10,000 · 4 waiting: 429 · $1.80 · 41.0 minutes left

In a notebook it is an output of its own that is replaced in place and ends as `sdp made -Validate 10,000/10,000`.
The notebook runner reads the line from the file that `LAB_PROGRESS` names; a log, which cannot be rewritten, gets one a
minute. A display that fails (a kernel's broken socket, a closed terminal, a full disk) is ignored: it is worth no run.
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
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from lab.machine.files import write_atomically
from lab.machine.printing import visible

# tqdm's, at the import of several libraries in a notebook: it asks for widgets, for bars that are never shown.
warnings.filterwarnings("ignore", "IProgress not found")

STATUS = "LAB_PROGRESS"
PASSING = "passing"  # metadata of a cell's outputs that only matter while it runs; normalising takes them out
PAUSE = 0.3  # seconds between two lines in a terminal or a cell
LOG_PAUSE = 60.0  # and in a log

Show = Callable[..., None]  # takes the line, whether it is the last, and whether it has to be seen at once
_active: list[Bar] = []  # the bars of this process, innermost last
_waiting: dict[int, str] = {}  # thread -> why it waits
_lock = threading.RLock()  # a bar that is drawn may be told something by what draws it


class Bar:
    """How far a run is. total: of what is counted. done: how much of it an earlier session did.

    alike: whether what is counted takes about as long each, so that it can be said how long the rest will.
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
        """Count some more as done."""
        self.done += count
        self.show()

    def spend(self, tokens: int, dollars: float | None) -> None:
        """Add what was asked. dollars: None where the price is unknown; tokens are told then."""
        self._tokens += tokens
        self._dollars = None if self._dollars is None or dollars is None else self._dollars + dollars

    def book(self, usage: Mapping[str, Any] | None) -> None:
        """Add an episode's usage by operator (`lab.models.backbone.by_operator`)."""
        for took in (usage or {}).values():
            if isinstance(took, Mapping):  # what is played need not ask a model
                self.spend(took["tokens_in"] + took["tokens_out"], took["usd"])

    def show(self, last: bool = False, urgent: bool = False) -> None:
        """Draw the line, if the last drawing was not just now; the last one and an urgent one always."""
        with _lock:
            for show in self._shows:
                with suppress(Exception):
                    show(self.text(last), last, urgent)

    def text(self, last: bool = False) -> str:
        """The line. last: only what is still of interest afterwards, and the same after every run."""
        parts = [f"{self.title} {self.done:,}/{self.total:,}"]
        if last:
            return parts[0]
        parts += [f"{count} waiting: {why}" for why, count in Counter(_waiting.values()).items()]
        # Without a price, tokens; rules take neither.
        spent = f"{self._tokens:,} tokens" if self._dollars is None else f"${self._dollars:,.2f}"
        parts += [self.remark, spent if self._dollars is None or self._dollars else ""]
        if self.alike and self._earlier < self.done < self.total:
            pace = (time.monotonic() - self._began) / (self.done - self._earlier)
            parts.append(f"{duration(pace * (self.total - self.done))} left")
        return visible(" · ".join(filter(None, parts)))


@contextmanager
def bar(total: int, title: str, done: int = 0, show: bool = True, alike: bool = True) -> Iterator[Bar]:
    """A line of progress while the context lasts; `note` and `waits` write into the innermost one."""
    line = Bar(total, title, done, _places() if show else [], alike)
    _active.append(line)
    line.show()
    try:
        yield line
    finally:
        _active.remove(line)
        line.show(last=True)


def note(message: str) -> None:
    """Say `message` in the progress line until it is replaced, "" to clear it; without one, on a line of its own."""
    with _lock:
        if _active:
            _active[-1].remark = message
            _active[-1].show(urgent=bool(message))
        elif message:
            say(message, passing=True)


def waits(why: str, detail: str = "") -> None:
    """Say why this thread waits, "" once it goes on; in the line such threads are counted ("4 waiting: 429").

    detail: what is said where no progress line is there to be written into.
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
    """Add a call's price to the progress line. dollars: None where it is unknown."""
    with _lock:
        if _active:
            _active[-1].spend(tokens, dollars)
            _active[-1].show()


def say(message: str, passing: bool = False) -> None:
    """Say something once: in a notebook as an output of the cell, not of stderr, which is shown as an alarm.

    passing: of interest only while the notebook runs, so that its executed copy does not keep it.
    """
    message = visible(message)  # often what a server or a model said
    with suppress(Exception):
        if _kernel():
            from IPython.display import display

            display({"text/plain": message}, raw=True, metadata={PASSING: True} if passing else {})
        else:
            print(message, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """ "1.5 hours", in the largest unit that is reached."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"


def _places() -> list[Show]:
    """Where a line is drawn: the cell and the terminal behind its kernel, or else stderr; and the runner's file."""
    shows: list[Show | None] = []
    if path := os.environ.get(STATUS, ""):
        shows.append(_paused(lambda text, last: write_atomically(Path(path), b"" if last else text.encode()), PAUSE))
    for make in (_in_cell, _behind_kernel) if _kernel() else (partial(_on, sys.stderr),):
        with suppress(Exception):
            shows.append(make())
    return [show for show in shows if show]


def _kernel() -> bool:
    """Whether this process is a notebook's kernel; without IPython imported it cannot be one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _in_cell() -> Show:
    from IPython.display import display

    options = {"raw": True, "metadata": {PASSING: True}}
    handle = display({"text/plain": ""}, display_id=True, **options)
    return _paused(lambda text, last: handle.update({"text/plain": text}, **options), PAUSE)


def _behind_kernel() -> Show | None:
    """The terminal in which papermill was started: a kernel's own stderr goes to its cell.

    None where there is no terminal, and in JupyterLab, whose terminal shows the server's log.
    """
    copied = getattr(sys.stderr, "_original_stdstream_copy", None)  # where ipykernel keeps the inherited descriptor
    if copied is None or "JPY_SESSION_NAME" in os.environ or not os.isatty(copied):
        return None
    return _on(os.fdopen(os.dup(copied), "w", encoding="utf-8"))


def _on(stream: TextIO) -> Show:
    """A terminal's line, rewritten in place; in a file or a pipe, lines below each other."""
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
    """`show` at most once in `pause` seconds, and always the last time and where it is urgent."""
    shown = -pause

    def now_and_then(text: str, last: bool, urgent: bool = False) -> None:
        nonlocal shown
        if last or urgent or time.monotonic() - shown >= pause:
            shown = time.monotonic()
            show(text, last)

    return now_and_then
