"""The networks of §5 and others beside as conditions of studies, on the four domains; and what these studies share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from lab.runs.study import Condition, Metric, Settings, Study, register
from lab.runs.trial import Trial
from procllm import conditions
from procllm.domains import NAMES, domain
from procllm.experiments.episodes import MADE_BY, Episodes
from procllm.loop import HORIZON

TITLES = {name: domain(name).title for name in NAMES}
TRAVEL, RECIPES, BLOCKS, UNITS = TITLES.values()
LIMITS = {"synthetic": {TRAVEL: 6}}  # the other domains make as many as one likes
SUCCESS = Metric("success, {benchmark}", "success", "rate")


def _on(*titles: str) -> dict[str, Any]:
    """What plays these domains."""
    return {title: PLAYS[title] for title in titles}


PLAYS = {title: partial(Episodes, domain=name) for name, title in TITLES.items()}
HUMAN = Condition(conditions.HUMAN, PLAYS, {"network": conditions.HUMAN}, recorded=True)
LLM = HUMAN.but(conditions.LLM, "network", conditions.LLM)
PLACEBO = HUMAN.but(conditions.PLACEBO, "network", conditions.PLACEBO, role="placebo")
NONE = HUMAN.but(conditions.NONE, "network", conditions.NONE)
EXTENDED = HUMAN.but(conditions.EXTENDED, "network", conditions.EXTENDED, recorded=False)
HUMAN_PAPER = HUMAN.but(
    conditions.HUMAN_PAPER, "network", conditions.HUMAN_PAPER, recorded=False, plays=_on(TRAVEL, UNITS)
)
LLM_PAPER = HUMAN.but(conditions.LLM_PAPER, "network", conditions.LLM_PAPER, plays=_on(BLOCKS, UNITS))
ALL = (HUMAN, LLM, PLACEBO, NONE, EXTENDED, HUMAN_PAPER, LLM_PAPER)


def source(trial: Trial, benchmark: str) -> str:
    """The data, and who made LLM-TN's networks."""
    makers = f", LLM-TN's networks of {trial.options['maker']}" if LLM.name in trial.methods_of(benchmark) else ""
    return f"{trial.data_of(benchmark)} data{makers}"


def declared(
    name: str, benchmarks: Sequence[str], played: Sequence[Condition], options: Settings | None = None, **other: Any
) -> Study:
    """A study of success beside No-TN's. played: by default; other conditions are played where they are named."""
    extra = tuple(each.but(each.name, extra=True) for each in ALL if each not in played)
    shared = {"horizon": HORIZON, "nudge": False, "maker": MADE_BY}
    about: dict[str, Any] = {"metrics": (SUCCESS,), "metric": "success", "against": NONE.name, "source": source}
    about |= {"packages": Episodes.packages, "options": {**(options or {}), **shared}, "limits": LIMITS, **other}
    return register(Study(name, tuple(benchmarks), (*played, *extra), **about))
