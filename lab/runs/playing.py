"""One episode: plays a task once and says who failed, the agent or the machine.

Runs wherever the episode runs: in this process, on a thread, in a worker process, on a cluster.
"""

from __future__ import annotations

import re
import sqlite3
import sysconfig
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from lab.machine import progress
from lab.machine.faults import BackendDied, MissingData, Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import redact
from lab.models.backbone import MalformedAnswer
from lab.models.client import EndpointError
from lab.models.rendering import PromptTooLong
from lab.runs.run import Episode

# Errors of the operating system (a full disk, a deleted file) are failures of the machine, whichever code raised them:
# no agent touches the machine itself, and errors of its program in the sandbox are results of that program.
OF_THE_MACHINE = (BackendDied, EndpointError, OSError, MemoryError, sqlite3.Error)
OF_THE_AGENT = (MalformedAnswer, PromptTooLong)  # raised by lab, about what the agent asked or its model answered
NO_THREAD = "can't start new thread"  # Python's RuntimeError at a limit of threads or memory
LIBRARIES = re.compile(rf"<frozen|{re.escape(sysconfig.get_path('stdlib'))}/|.*/(site|dist)-packages/")
OWN = (
    "lab",
    "sdp",
    "statefactory",
    "procllm",
    "standins",
    "agents",
    "worlds",
)  # packages that may be installed among libraries
ACCOUNTS = "played"  # attribute of an episode's error: what the episode took until then, a `Played`
TRACEBACK_LINES = 12  # enough to locate the line, short enough to read in a table


@dataclass(frozen=True)
class Played:
    """What playing one task gave: the episode's result, its usage and its recorded answers (see `lab.runs.run`)."""

    result: Any
    usage: Any = None
    answers: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """An episode that the machine kept from being measured (see `lab.results.outcomes`)."""

    task: str
    why: str


Play = Callable[[str], Played]
Ended = tuple[Episode | Fault, Played]


def play_one(play: Play, task: str) -> Ended:
    """Play a task, once more where the machine failed. What fails again is not measured; other errors are the agent's.

    Raises Unavailable where every further episode would fail alike.
    """
    for again in (True, False):
        try:
            played = play(task)
            return Episode(task, played.result), played
        except Unavailable:
            raise
        except MissingData as error:  # on this worker, and so for each of its episodes
            raise Unavailable(str(error)) from None
        except (Exception, SystemExit) as error:
            if by_the_agent(error):
                return Episode(task, None, traceback_of(error)), _accounts(error)
            if not again or isinstance(error, EndpointError):  # asked again already, as long as its patience allows
                return Fault(task, traceback_of(error)), _accounts(error)
            progress.note(f"{task}: {redact(str(error))}; starting it again")
    raise AssertionError("unreachable")


def by_the_agent(error: BaseException) -> bool:
    """Whether an agent or its world failed, and not the machine: decided by where the error arose.

    The innermost frame outside of libraries decides: lab's own modules (display, cache, endpoint) are the machine's.
    """
    if isinstance(error, OF_THE_AGENT):
        return True
    if isinstance(error, OF_THE_MACHINE) or NO_THREAD in str(error):
        return False
    trace = traceback.walk_tb(error.__traceback__)
    packages = [package for frame, _ in trace if (package := _package(frame))]
    return packages[-1:] != ["lab"]


def _package(frame: FrameType) -> str:
    """The top-level package that a frame's code belongs to; "" for a library's, and for generated code."""
    package = str(frame.f_globals.get("__name__") or "").partition(".")[0]
    return package if package in OWN or not LIBRARIES.match(frame.f_code.co_filename) else ""


def traceback_of(error: BaseException) -> str:
    """An error with the end of its traceback, fit to be stored."""
    # Messages may quote a server, so all is redacted; paths are made relative so that a run reads the same anywhere.
    trace = "".join(traceback.format_exception(error, limit=-TRACEBACK_LINES, chain=False))
    return redact(trace.replace(f"{ROOT}/", ""))


def _accounts(error: BaseException) -> Played:
    """What an episode took that raised; its accounts came with the error."""
    played = getattr(error, ACCOUNTS, None)
    return played if isinstance(played, Played) else Played(None)
