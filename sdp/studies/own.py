"""A study of a reader's own benchmark: SDP with its ablations and its placebo, and an agent that acts beside it."""

from __future__ import annotations

from typing import Any

from agents.experiments.acting import RANDOM, REACT, Acting
from lab.runs.study import Metric, Study, register
from sdp.experiments.certifying import Certifying
from sdp.studies.conditions import PLACEBO, SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE, agent, rejections


def of_own(name: str, certifying: type[Certifying], acting: type[Acting] | None = None, **other: Any) -> Study:
    """A study of the benchmark that both experiments play: SDP, SDP without Validate, without Replan, its placebo.

    With `acting`, also ReAct and an agent that draws one of the valid actions. Rows are scores in percent and steps.
    other: fields of `Study`, such as `options`; `conditions` come behind these.
    """
    benchmark = certifying.benchmark or certifying.method
    loops, agents = (SDP, WITHOUT_VALIDATE, WITHOUT_REPLAN, PLACEBO), (agent(REACT), agent(RANDOM))
    # No condition is marked as recorded: so a real model plays all of them, the reader's own included.
    played: dict[str, Any] = {"extra": False, "recorded": False}
    conditions = [loop.but(loop.name, plays={benchmark: certifying}, **played) for loop in loops]
    conditions += [method.but(method.name, plays={benchmark: acting}, **played) for method in agents if acting]
    metrics = (Metric("{benchmark} score"), Metric("{benchmark} steps", "steps", "mean", scale=1))
    fields: dict[str, Any] = {"metrics": metrics, "against": SDP.name, "matched": rejections, **other}
    fields["conditions"] = (*conditions, *fields.get("conditions", ()))
    return register(Study(name, (benchmark,), **fields))
