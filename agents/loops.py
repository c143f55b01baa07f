"""The short loops: ReAct, and the agents that plan in words beside it. Each plays one task to its end.

Without examples: chat models need none to keep the form, and what they then get wrong is what is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agents.answers import Act, Plan, read
from agents.history import History
from agents.planning_prompts import plan_prompt
from agents.play import Play

BLANK = "____"  # a step of the placebo: it has a place in the plan and says nothing
REPEATED = "Nothing was done: this action was done before. Plan another one, or answer with it again."


def react(play: Play) -> None:
    """ReAct (Yao et al. 2022): a thought, an action, an observation, and again."""
    while not play.over:
        play.act()


def plan_and_solve(play: Play) -> None:
    """Plan-and-Solve (Wang et al. 2023): a plan first, then carried out step by step; without a plan it is ReAct.

    The paper writes plan and solution in one answer; in an environment the solution is acted. What it asks of a plan
    (understand the problem, extract what is given, then devise the steps) stands in the planner's prompt. The plan is
    never revised: who acts has it beside the history, and decides alone where in it the episode is.
    """
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)


def plan_and_act(play: Play) -> None:
    """Plan-and-Act (Erdogan et al. 2025): a planner writes steps, an executor acts, and the planner plans again.

    The paper trains both; here both are prompted. It replans after every action (dynamic replanning), which is the
    default; by the setting `replan` only after an answer that could not be used.
    """
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)
        if play.settings.replan == "each" or play.history.turns[-1].fault:
            plan = planned(play, plan)


def goalact(play: Play) -> None:
    """GoalAct (Chen et al. 2025): a global plan, rewritten before every action, of which the first step is taken.

    As in the authors' code, an action that was done before is sent back once, to be planned again. What is ours: their
    skills (search, code, write) are the environment's actions here, and the answer is one of these, so that no prompt
    of its own reads it from the history at the end.
    """
    plan: list[str] = []
    while not play.over:
        plan = planned(play, plan)
        play.act(kept=partial(_sent_back, play.history), plan=plan, now=plan[0] if plan else "")


def _sent_back(history: History, act: Act) -> str:
    """What is told of an action that was done before, unless an action has just been sent back."""
    acted = [turn for turn in history.turns if turn.action or turn.observation == REPEATED]
    done = act.action in {turn.action for turn in acted}
    return REPEATED if done and acted[-1].action else ""


def planned(play: Play, before: Sequence[str] = ()) -> list[str]:
    """The steps that are still to be taken, by one call of the planner; those from before if no answer can be read."""
    prompt = plan_prompt(play.environment.name, play.settings.by_schema)
    plan = play.ask(prompt, partial(read, kind=Plan), plan=list(before))
    return list(before) if plan is None else blanked(play, plan.steps)


def blanked(play: Play, texts: Sequence[str]) -> list[str]:
    """The texts, or as many blanks where the settings ask for the placebo."""
    return [BLANK] * len(texts) if play.settings.blank else list(texts)
