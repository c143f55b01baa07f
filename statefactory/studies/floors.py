"""Floors of RewardPrediction: rewards that ignore all texts. EPIC distance, lower is better."""

from __future__ import annotations

from lab.runs.floors import CONSTANT, FIRST, LAST, RANDOM, Panel
from statefactory.experiments.predictions import MODES
from statefactory.studies.table1 import MONOTONIC, STUDY


def rewards() -> Panel:
    """A judge whose prompts null models answer, and rewards that count steps."""
    judge, _ = MODES["judge_intuitive"]
    judged = {CONSTANT: FIRST, RANDOM: RANDOM}
    agents = {name: STUDY.trial(engine=engine, conditions=(judge,)) for name, engine in judged.items()}
    counting = {"monotonic": STUDY.trial(engine=FIRST, conditions=(MONOTONIC.name,))}
    lacks = {FIRST: "the first of a judge's scores is the constant 0", LAST: "its last one is the constant 100"}
    return Panel(agents | counting, "", top=0.0, lower=True, scale=1, lacks=lacks)
