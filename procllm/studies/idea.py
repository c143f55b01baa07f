"""ProcLLM's idea in one episode: the network says what to work on and what to verify (Figure 2)."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from lab.models.connect import connect
from procllm.conditions import HUMAN, network_of
from procllm.domains import domain
from procllm.loop import play
from procllm.plots import draw_idea
from procllm.trajectory import Trajectory

SHOWN = "move group 2"  # the task whose steps are drawn


class Idea(NamedTuple):
    """The episode and its figure."""

    orders: Trajectory
    figure: Figure


def idea(engine: str = "rules", seed: int = 0) -> Idea:
    """Play one episode and draw it. engine: who acts and verifies."""
    units = domain("units")
    (problem,) = units.instances(1, seed)
    orders = play(units, problem, network_of(HUMAN, units), connect(engine))
    iterations = [number for number, step in enumerate(orders.steps, 1) if step.task == SHOWN]
    wrote = orders.notes.partition("## group 2 moves\n")[2].partition("##")[0]
    title = f"Surround {problem.problem.target}: send each group of units to a place beside it"
    evidence = f"measured in one episode of synthetic data; acting and verifying: {engine}"
    return Idea(orders, draw_idea(units, orders, iterations[-1], title, evidence, wrote))
