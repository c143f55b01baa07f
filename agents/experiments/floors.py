"""Floors of the worlds that agents act in: agents without skill, with the world's expert as the ceiling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agents.experiments import acting, acting_worlds
from agents.experiments.acting import Acting
from lab.models.engines import ORACLE
from lab.runs.experiment import Experiment
from lab.runs.floors import CONSTANT, DO_NOTHING, EXPERT, FIRST, RANDOM, Panel

NAMES = {DO_NOTHING: acting.IDLE, CONSTANT: acting.CONSTANT, FIRST: acting.FIRST, RANDOM: acting.RANDOM}


def panel(setup: Acting, listed: bool = True, **about: Any) -> Panel:
    """The panel of a world. listed: whether the world lists valid actions. about: fields of `Panel`."""
    return Panel(floors(setup, listed) | {EXPERT: replace(setup, engine=ORACLE)}, **about)


def floors(setup: Acting, listed: bool = True) -> dict[str, Experiment]:
    """The agents without skill; if the world lists no valid actions, only those that do not choose among them."""
    agents = NAMES if listed else {name: NAMES[name] for name in (DO_NOTHING, CONSTANT)}
    return {name: replace(setup, agent=agent) for name, agent in agents.items()}


def alfworld() -> Panel:
    return panel(acting_worlds.AlfWorld(), synthetic=1)


def blocksworld() -> Panel:
    return panel(acting_worlds.BlocksWorld())


def textworld() -> Panel:
    """Compiling a game takes seconds, so few are played where that is only a first look."""
    return panel(acting_worlds.TextWorld(), synthetic=3)


def webshop() -> Panel:
    return panel(acting_worlds.WebShop())
