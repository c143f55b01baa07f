"""GoalAct (Chen et al. 2025): a global plan that is rewritten before every action, of which the first step is taken.

As in the authors' code, an action that was done before is sent back once, to be planned anew. What is ours: their
skills (search, code, write) are the environment's actions here, and the answer is one of these, so that no prompt of
its own reads it from the history at the end.
"""

from __future__ import annotations

from functools import partial

from agents.answers import Act
from agents.environment import Environment
from agents.history import History
from agents.plans import planned
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.models.backbone import Backbone

REPEATED = "Nothing was done: this action was done before. Plan another one, or answer with it again."


def goalact(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """Play one task; see `agents.play.Play` for what is told, counted and raised."""
    play = Play(environment, backbone, settings, watch)
    plan: list[str] = []
    while not play.over:
        plan = planned(play, plan)
        play.act(kept=partial(_sent_back, play.history), plan=plan, now=plan[0] if plan else "")
    return play.history


def _sent_back(history: History, act: Act) -> str:
    """What is told of an action that was done before, unless an action has just been sent back."""
    acted = [turn for turn in history.turns if turn.action or turn.observation == REPEATED]
    done = act.action in {turn.action for turn in acted}
    return REPEATED if done and acted[-1].action else ""
