"""A run that is interrupted and goes on: whether an experiment of one's own plays nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lab.machine.scratch import scratch_folder
from lab.runs.experiment import Experiment


class Resumed(NamedTuple):
    """kept: episodes that were there after the interruption. played: those after it. untouched: the first stayed as
    they were, byte for byte.
    """

    kept: int
    played: int
    untouched: bool


def interrupted(collect: Callable[..., Any], setup: Experiment, after: int) -> Resumed:
    """Play an experiment in a folder of its own, cut its file off after so many episodes, and play it again.

    collect: `lab.collect`, or a paper's.
    """
    with scratch_folder("interrupted-") as folder:
        file = folder / "episodes.jsonl"
        collect(setup, run=str(folder), show_progress=False)
        kept = file.read_bytes().splitlines(keepends=True)[:after]
        file.write_bytes(b"".join(kept))
        collect(setup, run=str(folder), show_progress=False)
        lines = file.read_bytes().splitlines(keepends=True)
    return Resumed(len(kept), len(lines) - len(kept), lines[: len(kept)] == kept)
