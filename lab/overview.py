"""The map for a newcomer: what each command of `python -m lab` does, with an example, and where the code is."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from lab.machine.paths import ROOT

WIDTH = 100  # columns


class Command(NamedTuple):
    """One command. example: what stands behind `python -m lab`; words in capitals are the reader's to fill in."""

    name: str
    about: str
    example: str


COMMANDS = {
    "Look at what is here": (
        Command("doctor", "what is missing on this machine, and the line that installs it", "doctor"),
        Command("data list", "official benchmark data: which datasets there are, and which are here", "data list"),
        Command("model list", "small models for the engine `local` and for embeddings", "model list"),
    ),
    "Get more of it": (
        Command("data fetch", "download and convert a dataset", "data fetch NAME"),
        Command("model get", "download a model", "model get qwen2.5-coder-0.5b"),
    ),
    "Try a model": (
        Command("try", "ask a model one question of each operator: answer, how it was bound, speed, price",
                "try local"),
    ),
    "Run notebooks": (
        Command("explore", "open JupyterLab on copies of the notebooks, to be changed at will", "explore"),
        Command("run", "execute notebooks with papermill", "run 0_tour -p engine rules@0.8"),
        Command("reproduce", "execute every notebook and check the expected figures", "reproduce --jobs 4"),
        Command("record", "run a notebook on a model, and keep its answers for `replay:`",
                "record NOTEBOOK -p engine local --minutes 30"),
    ),
    "Run studies": (
        Command("eval", "play a study, methods on benchmarks, or a sweep over its options; says first what models take",
                "eval sdp-table5 --engine rules@0.8 --limit 10"),
    ),
    "See what a score is worth": (
        Command("floors", "what agents without any skill score on a benchmark, and its ceiling",
                "floors TravelPlanner --data synthetic"),
    ),
    "Find runs": (
        Command("runs", "the runs that are here, a line each, the newest first: what, when and state", "runs gpt-4o"),
        Command("show", "a run in words, or one of its episodes step by step", "show RUN TASK"),
        Command("compare", "two runs on the tasks that both have: difference, test, what flipped", "compare RUN RUN"),
        Command("prune", "say which old runs could go; with --yes, delete them", "prune --older 30"),
    ),
    "Look at episodes": (
        Command("report", "runs as pages to look at or send: headline, failures, every episode step by step",
                "report RUN --one-file"),
        Command("export", "trajectories as chat messages, which datasets.load_dataset reads",
                "export RUN --format parquet"),
    ),
    "Check": (
        Command("claims", "every claim of the papers with the numbers here and its verdict; fails if one is void",
                "claims Table 2"),
        Command("check", "find claims without their rows, and notebooks that are out of form or stale", "check 0_tour"),
        Command("expect", "accept the numbers of a run as those to expect from now on", "expect 0_tour"),
    ),
}  # fmt: skip
ABOUT = {command.name: command.about for group in COMMANDS.values() for command in group}
FOLDERS = {
    "notebooks/": "one notebook a table or figure; open them with: make lab",
    "figures/": "what the committed notebooks draw and tabulate",
    "data/": "small data that comes with the code, published numbers, recordings of models",
}


def lines() -> Iterator[str]:
    """The map, line by line."""
    yield "Research on language agents, in notebooks. All notebooks run offline; -p engine chooses a model."
    for group, commands in COMMANDS.items():
        yield f"\n{group}"
        for command in commands:
            yield from (_entry(command.name, command.about), f"{'':16}python -m lab {command.example}")
    yield "\nWhere things are"
    yield from (_entry(name, about) for name, about in {**FOLDERS, **_packages()}.items())
    yield "\npython -m lab COMMAND --help has the options of a command; README.md, how to begin."


def _packages() -> dict[str, str]:
    """Each package of the checkout with the first line of its docstring: lab need not know which there are."""
    texts = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("*/__init__.py"))}
    told = {name: ast.get_docstring(ast.parse(text)) or "" for name, text in texts.items()}
    return {f"{name}/": told[name].partition("\n")[0] for name in told}


def _entry(name: str, about: str) -> str:
    return textwrap.fill(f"  {name:<14}{about}", WIDTH, subsequent_indent=" " * 16)
