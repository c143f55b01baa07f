"""Floors of SDP's benchmarks: agents without skill, and SDP with null models as the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from agents.experiments import acting_worlds
from agents.experiments.floors import floors, panel
from lab.models import engines
from lab.models.engines import ORACLE
from lab.runs.floors import CONSTANT, DO_NOTHING, EXPERT, FIRST, LAST, PLACEBO, RANDOM, Panel
from sdp.experiments import audit, travelplanner

TEXTS = {PLACEBO: "SDP's placebo asks for texts here, which no null model writes"}


def trips() -> Panel:
    """SDP on TravelPlanner only asks for one of the listed options, so null models can play complete episodes."""
    null = {name: travelplanner.Setup(engine=name) for name in engines.NULLS}
    acting = acting_worlds.TravelPlanner()
    return Panel(
        floors(acting, listed=False)
        | {FIRST: null[FIRST], LAST: null[LAST], RANDOM: null[RANDOM]}
        | {f"{FIRST}, shuffled": travelplanner.Setup(engine=f"{FIRST}?shuffle=1")}
        | {f"{PLACEBO}, {name}": travelplanner.Setup(engine=name, placebo=0.0) for name in (FIRST, RANDOM)}
        | {EXPERT: acting_worlds.TravelPlanner(engine=ORACLE)}
    )


@dataclass(frozen=True, kw_only=True)
class Reported(acting_worlds.AssistantBench):
    """AssistantBench with Table 3's synthetic questions, for which no rule was written."""

    def decided(self) -> Self:
        setup = super().decided()
        unsplit = setup.data == "synthetic" and not self.split
        return replace(self, split="reporting").decided() if unsplit else setup


def assistantbench() -> Panel:
    """As many synthetic questions as a real model was recorded on."""
    return panel(Reported(), synthetic=24, lacks=TEXTS)


def hotpotqa() -> Panel:
    return panel(acting_worlds.HotpotQA(), lacks=TEXTS)


def musique() -> Panel:
    return panel(acting_worlds.MuSiQue(), lacks=TEXTS)


def scienceworld() -> Panel:
    """An episode of 500 actions takes up to half a minute, so few tasks are played by default."""
    return panel(acting_worlds.ScienceWorld(), limit=6, synthetic=1, lacks=TEXTS)


def agentprocessbench() -> Panel:
    """Validate on labelled steps: constant verdicts, a coin, and the kind of the step alone."""
    names = {"always certify": FIRST, "never certify": LAST, RANDOM: RANDOM}
    agents = {name: audit.Setup(engine=engine) for name, engine in names.items()}
    acts = f"steps are judged, and nobody acts; {FIRST} always certifies"
    lacks = {DO_NOTHING: acts, CONSTANT: acts}
    return Panel(agents | {"certify searches": audit.ByKind()}, "", top=1.0, lacks=lacks)
