"""The loops of ReAct and of the agents that also plan or reflect. Each function plays one task to its end.

The prompts have no examples: chat models keep the format without them, and the errors that remain are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from agents.answers import Act, Graph, Judged, Plan, Sentence, SubGoal, read
from agents.history import STEPS, History
from agents.planning_prompts import (
    PromptOf,
    Report,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.play import A, Play

BLANK = "____"  # the placebo's text of a step: it takes a line of the plan and says nothing
REPEATED = "Nothing was done: this action was done before. Plan another one, or answer with it again."
MEMORY = 3  # the newest lessons, which Reflexion keeps
END = re.compile(r"(done|failed)\[(.*)\]", re.DOTALL)  # how TDP's executor ends a sub-goal
WHOLE = "What the task asks for."  # the only sub-goal if no graph could be read
NOTED = "The sub-goal is left."


def react(play: Play) -> None:
    """ReAct (Yao et al. 2022): thought, action and observation, repeated until the episode is over."""
    while not play.over:
        play.act()


def plan_and_solve(play: Play) -> None:
    """Plan-and-Solve (Wang et al. 2023): plan first, then carry the plan out; without a plan it is ReAct.

    The paper writes plan and solution in one answer; here the solution is acted out in the environment. The planner's
    prompt asks for the paper's steps: understand the problem, extract what is given, then devise the plan. The plan is
    never revised. The model sees it next to the history and decides itself which step it has reached.
    """
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)


def plan_and_act(play: Play) -> None:
    """Plan-and-Act (Erdogan et al. 2025): a planner writes steps, an executor acts, and the planner plans again.

    The paper trains both; here both are prompted. By default it replans after every action (dynamic replanning). With
    the setting `replan="failure"` it replans only after a malformed answer or an invalid action.
    """
    plan = planned(play)
    while not play.over:
        play.act(plan=plan)
        if play.settings.replan == "each" or play.history.turns[-1].fault:
            plan = planned(play, plan)


def goalact(play: Play) -> None:
    """GoalAct (Chen et al. 2025): a global plan, rewritten before every action; the agent takes its first step.

    As in the authors' code, a repeated action is sent back once, to be planned again. Two things differ: their skills
    (search, code, write) are the environment's actions here, and the answer is one of these actions, so no separate
    prompt reads it from the history at the end.
    """
    plan: list[str] = []
    while not play.over:
        plan = planned(play, plan)
        play.act(kept=partial(_sent_back, play.history), plan=plan, now=plan[0] if plan else "")


def _sent_back(history: History, act: Act) -> str:
    """The note on a repeated action; "" for a new action, and directly after an action was sent back."""
    acted = [turn for turn in history.turns if turn.action or turn.observation == REPEATED]
    done = act.action in {turn.action for turn in acted}
    return REPEATED if done and acted[-1].action else ""


def planned(play: Play, before: Sequence[str] = ()) -> list[str]:
    """Ask the planner for the steps that remain; `before` if its answer cannot be read."""
    plan = _asked(play, plan_prompt, Plan, plan=list(before))
    return list(before) if plan is None else blanked(play, plan.steps)


def _asked(play: Play, prompt: PromptOf, kind: type[A], **shown: Any) -> A | None:
    prompt_here = prompt(play.environment.name, play.settings.by_schema)
    return play.ask(prompt_here, partial(read, kind=kind), **shown)


def blanked(play: Play, texts: Sequence[str]) -> list[str]:
    """The texts, or as many blanks if the settings ask for the placebo."""
    return [BLANK] * len(texts) if play.settings.blank else list(texts)


def reflexion(play: Play) -> None:
    """Reflexion (Shinn et al. 2023): ReAct in several trials, with a verbal reflection after each failed one.

    A trial starts the task again, which not every world would allow an agent. The setting `success` decides whether a
    trial failed: by the model's own judgement of the history, or by the environment's score, which is privileged on
    most worlds. The caps hold for all trials together; each trial has an equal share of the steps. The last trial
    counts.
    """
    settings = play.settings
    lessons: list[str] = []
    end = _trial(play, lessons)
    for _ in range(settings.trials - 1):
        play.end(settings.end(play.history))  # the trial is over, and the episode only by a cap
        if play.over or _solved(play):
            break
        lessons = [*lessons, *_lesson(play, lessons)][-MEMORY:]
        if play.over:
            break
        play.again()
        end = _trial(play, lessons)
    play.end(end)


def _trial(play: Play, lessons: list[str]) -> str:
    """Act until the trial ends; return how it ended."""
    last = play.history.steps + -(-play.settings.steps // play.settings.trials)
    while not play.over and play.history.steps < last:
        play.act(lessons=lessons)
    return play.history.end or STEPS


def _solved(play: Play) -> bool:
    if play.settings.success == "score":
        return bool(play.environment.result()["score"] >= 1)
    judged = _asked(play, judge_prompt, Judged)
    return judged is not None and judged.solved


def _lesson(play: Play, lessons: list[str]) -> list[str]:
    lesson = _asked(play, lesson_prompt, Sentence, lessons=lessons)
    return blanked(play, [lesson.text]) if lesson else []


def tdp(play: Play) -> None:
    """TDP, task-decoupled planning (Li et al. 2026): a graph of sub-goals, each worked on in a context of its own.

    This is our reading: TDP's code is not public, and the SDP paper, which reproduces it, only says where it stands
    among planners. A supervisor writes a directed acyclic graph of sub-goals. An executor works on each sub-goal, in an
    order that the graph allows. It sees the task, its sub-goal and the results of the sub-goals that this one depends
    on, but none of their actions; it ends with a result or a failure. After a failure, and if the graph is used up
    before the task is over, the supervisor sees all results and writes the remaining graph again. Results are kept.
    """
    reports: list[Report] = []
    open_goals: list[SubGoal] = []
    while not play.over:
        if not open_goals:
            open_goals = _supervised(play, reports)
        goal = open_goals.pop(0)  # sub-goals depend on lower numbers only, so these were all worked on
        reports.append(_worked_on(play, goal, [report for report in reports if report.number in goal.after]))
        if reports[-1].failed:
            open_goals = []


def _supervised(play: Play, reports: Sequence[Report]) -> list[SubGoal]:
    """Ask the supervisor for the sub-goals that remain, in the order of their numbers."""
    play.forget()
    first = len(reports) + 1
    prompt = graph_prompt(play.environment.name, play.settings.by_schema)
    graph = play.ask(prompt, lambda value: read(value, Graph).checked(first), reports=list(reports), first=first)
    goals = graph.goals if graph else [SubGoal(number=first, goal=WHOLE, after=list(range(1, first)))]
    texts = blanked(play, [goal.goal for goal in goals])
    return [goal.model_copy(update={"goal": text}) for goal, text in zip(goals, texts, strict=True)]


def _worked_on(play: Play, goal: SubGoal, needed: list[Report]) -> Report:
    """Work on a sub-goal for at most `settings.scope` answers; return the report on it."""
    play.forget()
    prompt = sub_goal_prompt(play.environment.name, play.settings.by_schema)
    for _ in range(play.settings.scope):
        act = play.act(prompt, _noted, now=goal.goal, reports=needed)
        if act and (end := END.fullmatch(act.action)):
            return Report(number=goal.number, goal=goal.goal, result=end[2].strip(), failed=end[1] == "failed")
    return Report(number=goal.number, goal=goal.goal, result="not reached in time", failed=True)


def _noted(act: Act) -> str:
    return NOTED if END.fullmatch(act.action) else ""
