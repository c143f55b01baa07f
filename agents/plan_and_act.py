"""Plan-and-Act (Erdogan et al. 2025): a planner writes steps, an executor acts by them, and the planner plans again.

The paper trains both; here both are prompted. It replans after every action (dynamic replanning), which is the default;
by the setting `replan` only after an answer that could not be used.
"""

from __future__ import annotations

from agents.environment import Environment
from agents.history import History
from agents.plans import planned
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.models.backbone import Backbone


def plan_and_act(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """Play one task; see `agents.play.Play` for what is told, counted and raised."""
    play = Play(environment, backbone, settings, watch)
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)
        if settings.replan == "each" or play.history.turns[-1].fault:
            plan = planned(play, plan)
    return play.history
