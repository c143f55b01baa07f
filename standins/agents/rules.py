"""The rules engine's answers to the agents' prompts on the synthetic encyclopedia: they know what SDP's rules know.

Those of agents that answer at once follow the whole chain in one call. Rules do not tire of long questions as models
do: under noise, one answer that goes wrong is all that can go wrong, so that no row of rules or noise says which agent
is better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.answers import MOST_WORDS, Act, Graph, Judged, Plan, Sentence, SubGoal
from agents.planning_prompts import (
    Report,
    SubGoalFields,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.prompts import (
    CHAIN_OF_THOUGHT,
    DIRECT,
    ENDING,
    ActFields,
    QuestionFields,
    Reasoned,
    Said,
    ThinkFields,
    react_prompt,
    think_prompt,
)
from agents.worlds import multihop
from lab.models.rules import rule
from standins.agents import noise  # noqa: F401  (registers how these answers go wrong)
from standins.agents.travelplanner import in_both_forms
from standins.encyclopedia.hops import answer_in, asked, concluded, decomposed
from worlds.multihop.questions import Paragraph, filled
from worlds.multihop.world import from_text

UNKNOWN, GIVEN_UP = "unknown", "The question cannot be read, or nothing answers it."
FINISH = "Finish with the answer:"  # the last step of a plan
REFERENCE = re.compile(r"#(\d+)")


@rule(DIRECT)
def direct(fields: QuestionFields) -> Said:
    """What follows from the paragraphs; "unknown" where the question or the evidence is not there to read."""
    return Said(answer=_follows(fields.question, _hops(fields)))


@rule(CHAIN_OF_THOUGHT)
def chain_of_thought(fields: QuestionFields) -> Reasoned:
    """The same, hop by hop."""
    found = _hops(fields)
    return Reasoned(
        reasoning=" ".join(f"{hop} {entity}." for hop, entity in found), answer=_follows(fields.question, found)
    )


@in_both_forms(react_prompt, multihop.NAME)
def next_action(fields: ActFields) -> Act:
    """Search for whom the next open hop is about, then in its words, and finish in the end.

    The hops are those of the plan where it can be followed, else the question's own.
    """
    question, hops, known = _so_far(fields)
    steps = [step for step in fields.plan if not step.startswith(FINISH)]
    told = ""
    if fields.plan and all(map(asked, steps)):
        hops, known = steps, [entity for _, entity in answered(steps, _shown(fields))]
        told = fields.plan[-1].removeprefix(FINISH).strip() if not steps else ""
    if len(known) == len(hops):
        return Act(thought="All is known.", action=f"finish[{told or concluded(question, known)}]")
    return _searched(filled(hops[len(known)], known), fields) or Act(thought=GIVEN_UP, action=f"finish[{UNKNOWN}]")


@in_both_forms(plan_prompt, multihop.NAME)
def plan(fields: ActFields) -> Plan:
    """The open hops, numbered anew, and the answer; the answer alone where all is known."""
    question, hops, known = _so_far(fields)
    if len(known) == len(hops):
        return Plan(steps=[f"{FINISH} {concluded(question, known)}"])
    return Plan(steps=[*(_renumbered(hop, known, 0) for hop in hops[len(known) :]), FINISH])


@in_both_forms(graph_prompt, multihop.NAME)
def graph(fields: SubGoalFields) -> Graph:
    """The hops that no report answers, each after those it refers to, and the answer after all of them."""
    hops = decomposed(fields.task.removeprefix(multihop.QUESTION))
    results = [report.result for report in fields.reports]
    reported = {filled(one.goal, results): one for one in fields.reports}
    known: list[Report] = []
    for hop in hops:
        report = reported.get(filled(hop, [one.result for one in known]))
        if report is None or report.failed:
            break
        known.append(report)
    entities = [one.result for one in known]
    tried = len(known) < len(hops) and filled(hops[len(known)], entities) in reported
    open_hops = [] if tried else [_renumbered(hop, entities, fields.first - 1) for hop in hops[len(known) :]]
    goals = [
        SubGoal(number=number, goal=goal, after=sorted({int(one) for one in REFERENCE.findall(goal)}))
        for number, goal in enumerate(open_hops, start=fields.first)
    ]
    last = SubGoal(
        number=fields.first + len(goals),
        goal=f"{FINISH} {UNKNOWN}" if tried else FINISH,
        after=[one.number for one in known] + [one.number for one in goals],
    )
    return Graph(goals=[*goals, last])


@in_both_forms(sub_goal_prompt, multihop.NAME)
def towards(fields: SubGoalFields) -> Act:
    """Search until the sub-goal is answered by what its own searches showed; a blank one is left to `next_action`."""
    results = {report.number: report.result for report in fields.reports}
    if fields.now.startswith(FINISH):
        question = fields.task.removeprefix(multihop.QUESTION)
        told = fields.now.removeprefix(FINISH).strip() or concluded(question, [*results.values()])
        return Act(thought="All is known.", action=f"finish[{told}]")
    if not asked(fields.now):
        return next_action(fields)
    hop = REFERENCE.sub(lambda match: results.get(int(match[1]), match[0]), fields.now)
    found = answered([hop], _shown(fields))
    if found:
        return Act(thought=f"{hop} {found[0][1]}.", action=f"done[{found[0][1]}]")
    return _searched(hop, fields) or Act(thought=GIVEN_UP, action="failed[nothing was found]")


@in_both_forms(judge_prompt, multihop.NAME)
def judged(fields: ActFields) -> Judged:
    """Whether the task was finished with the answer that follows from what was shown."""
    before = fields.model_copy(update={"turns": fields.turns[:-1], "plan": [], "lessons": []})
    right = next_action(before).action
    last = fields.turns[-1].action if fields.turns else ""
    solved = last == right and last.startswith("finish[") and last != f"finish[{UNKNOWN}]"
    return Judged(reason=f"What follows is {right}, and the last action is {last or 'none'}.", solved=solved)


@in_both_forms(lesson_prompt, multihop.NAME)
def lesson(fields: ActFields) -> Sentence:
    """The hops, one after the other."""
    hops = decomposed(fields.task.removeprefix(multihop.QUESTION))
    return Sentence(text=f"Find out first what comes first: {' '.join(hops) or GIVEN_UP}"[:MOST_WORDS])


@in_both_forms(lambda world, by_schema=False: think_prompt(by_schema), multihop.NAME)
def thought(fields: ThinkFields) -> Sentence:
    """What a hop that is not told yet is answered by, else the open hop, else the answer."""
    found = answered(decomposed(fields.question), from_text(fields.evidence))
    known = [entity for _, entity in found]
    hops = decomposed(fields.question)
    sentences = [f"{hop} {entity}." for hop, entity in found]
    if len(found) < len(hops):
        sentences.append(filled(hops[len(found)], known))
    left = [sentence for sentence in sentences if sentence not in fields.thoughts]
    answer = concluded(fields.question, known) if len(found) == len(hops) else UNKNOWN
    return Sentence(text=left[0] if left else f"{ENDING} {answer}.")


def answered(hops: Sequence[str], paragraphs: list[Paragraph]) -> list[tuple[str, str]]:
    """Each hop as it is asked and what the paragraphs say, up to the first that they do not answer."""
    found: list[tuple[str, str]] = []
    for hop in hops:
        said = filled(hop, [entity for _, entity in found])
        entity = next((here for one in paragraphs if (here := answer_in(*one, said))), "")
        if not entity:
            break
        found.append((said, entity))
    return found


def _so_far(fields: ActFields) -> tuple[str, list[str], list[str]]:
    """The question, its hops, and what was shown to answer the first of them."""
    question = fields.task.removeprefix(multihop.QUESTION)
    hops = decomposed(question)
    return question, hops, [entity for _, entity in answered(hops, _shown(fields))]


def _shown(fields: ActFields) -> list[Paragraph]:
    return from_text("\n\n".join(turn.observation for turn in fields.turns))


def _searched(hop: str, fields: ActFields) -> Act | None:
    """The next search for a hop, by whom it is about and then by its words; None after both."""
    subject = asked(hop)
    tries = [*([f"search[{subject.subject}]"] if subject else []), f"search[{hop}]"]
    done = {turn.action for turn in fields.turns}
    action = next((each for each in tries if each not in done), "")
    return Act(thought=f"Still open: {hop}", action=action) if action else None


def _renumbered(hop: str, known: Sequence[str], first: int) -> str:
    """A hop with what is known of those it refers to; the others are numbered on from `first`."""

    def one(match: re.Match[str]) -> str:
        number = int(match[1])
        return known[number - 1] if number <= len(known) else f"#{number - len(known) + first}"

    return REFERENCE.sub(one, hop)


def _hops(fields: QuestionFields) -> list[tuple[str, str]]:
    """The hops where the evidence answers all of them, else none."""
    hops = decomposed(fields.question)
    found = answered(hops, from_text(fields.evidence))
    return found if len(found) == len(hops) else []


def _follows(question: str, found: list[tuple[str, str]]) -> str:
    return concluded(question, [entity for _, entity in found])
