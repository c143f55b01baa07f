"""TDP, task-decoupled planning (Li et al. 2026): a graph of sub-goals, each worked on in a context of its own.

Our reading: no code of it is public, and the SDP paper, which reproduces it, gives no more than its place among
planners. A supervisor writes a directed acyclic graph of sub-goals. Each is worked on, in an order that the graph
allows, by an executor that sees the task, its sub-goal and the results of those it depends on, but none of their
actions; it ends its part with a result or a failure. After a failure, and where the graph is used up before the task is
over, the supervisor sees all results and writes the rest anew; what was reached stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.answers import Act, Graph, SubGoal, read
from agents.loops import blanked
from agents.planning_prompts import Report, graph_prompt, sub_goal_prompt
from agents.play import Play

END = re.compile(r"(done|failed)\[(.*)\]", re.DOTALL)
WHOLE = "What the task asks for."  # the sub-goal where no graph could be read
NOTED = "The sub-goal is left."


def tdp(play: Play) -> None:
    """Play one task."""
    reports: list[Report] = []
    open_goals: list[SubGoal] = []
    while not play.over:
        if not open_goals:
            open_goals = _supervised(play, reports)
        goal = open_goals.pop(0)  # numbers grow along the graph, so that all that it needs was worked on
        reports.append(_worked_on(play, goal, [one for one in reports if one.number in goal.after]))
        if reports[-1].failed:
            open_goals = []


def _supervised(play: Play, reports: Sequence[Report]) -> list[SubGoal]:
    """The graph of what is still to be reached, in the order of its numbers."""
    play.forget()
    first = len(reports) + 1
    prompt = graph_prompt(play.environment.name, play.settings.by_schema)
    found = play.ask(prompt, lambda value: read(value, Graph).checked(first), reports=list(reports), first=first)
    goals = found.goals if found else [SubGoal(number=first, goal=WHOLE, after=list(range(1, first)))]
    texts = blanked(play, [one.goal for one in goals])
    return [one.model_copy(update={"goal": text}) for one, text in zip(goals, texts, strict=True)]


def _worked_on(play: Play, goal: SubGoal, needed: list[Report]) -> Report:
    """What became of a sub-goal, which has `settings.scope` answers."""
    play.forget()
    prompt = sub_goal_prompt(play.environment.name, play.settings.by_schema)
    for _ in range(play.settings.scope):
        act = play.act(prompt, _noted, now=goal.goal, reports=needed)
        if act and (end := END.fullmatch(act.action)):
            return Report(number=goal.number, goal=goal.goal, result=end[2].strip(), failed=end[1] == "failed")
    return Report(number=goal.number, goal=goal.goal, result="not reached in time", failed=True)


def _noted(act: Act) -> str:
    return NOTED if END.fullmatch(act.action) else ""
