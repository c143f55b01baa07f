"""Plan-and-Solve (Wang et al. 2023): a plan first, then carried out step by step.

The paper writes plan and solution in one answer; in an environment the solution is acted. What it asks of a plan
(understand the problem, extract what is given, then devise the steps) stands in the planner's prompt. The plan is never
revised: who acts has it beside the history, and decides alone where in it the episode is.
"""

from __future__ import annotations

from agents.environment import Environment
from agents.history import History
from agents.plans import planned
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.models.backbone import Backbone


def plan_and_solve(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """Play one task; see `agents.play.Play` for what is told, counted and raised. Without a plan it is ReAct."""
    play = Play(environment, backbone, settings, watch)
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)
    return play.history
