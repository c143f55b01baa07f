"""The map for a newcomer: what each command of `python -m lab` does, with an example."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

WIDTH = 100  # columns


class Command(NamedTuple):
    """One command. example: what stands behind `python -m lab`; words in capitals are the reader's to fill in."""

    name: str
    help: str
    example: str


COMMANDS = {
    "Set up": (
        Command("doctor", "what is missing on this machine, and the line that installs it", "doctor"),
        Command("data", "official benchmark data: which datasets there are, and which are here", "data"),
        Command("data fetch", "download and convert a dataset", "data fetch NAME"),
        Command("model", "small models for the engine `local` and for embeddings", "model"),
        Command("model get", "download a model", "model get qwen2.5-coder-0.5b"),
        Command("try", "ask a model one question of each operator: answer, how it was bound, speed, price",
                "try local"),
    ),
    "Notebooks": (
        Command("explore", "open JupyterLab on copies of the notebooks, to be changed at will", "explore"),
        Command("run", "execute notebooks with papermill, and check their numbers; all if none is named",
                "run 0_tour -p engine rules@0.8"),
        Command("record", "run a notebook on a model, and keep its answers for `replay:`",
                "record NOTEBOOK -p engine local --minutes 30"),
    ),
    "Studies and their runs": (
        Command("eval", "play a study, methods on benchmarks, or a sweep over its options; says first what models take",
                "eval sdp-table5 --engine rules@0.8 --limit 10"),
        Command("show", "the runs that are here; one of them, an episode of it, or two runs compared task by task",
                "show RUN --beside RUN"),
    ),
    "Upkeep": (
        Command("check", "find claims without their rows, and notebooks that are out of form or stale", "check 0_tour"),
        Command("expect", "accept the numbers of a run as those to expect from now on", "expect 0_tour"),
    ),
}  # fmt: skip
HELP = {command.name: command.help for group in COMMANDS.values() for command in group}


def lines() -> Iterator[str]:
    """The map, line by line."""
    yield "Research on language agents, in notebooks. All notebooks run offline; -p engine chooses a model."
    for group, commands in COMMANDS.items():
        yield f"\n{group}"
        for command in commands:
            yield from (_entry(command.name, command.help), f"{'':16}python -m lab {command.example}")
    yield "\npython -m lab COMMAND --help has the options of a command; README.md, how to begin."


def _entry(name: str, text: str) -> str:
    return textwrap.fill(f"  {name:<14}{text}", WIDTH, subsequent_indent=" " * 16)
