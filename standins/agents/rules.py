"""Rules for the agents' prompts on the synthetic encyclopedia, with the knowledge of SDP's rules.

For agents that answer in one call, they follow the whole chain in that call. Unlike models, rules do not get worse on
long questions: under noise only one answer can go wrong. So no row of rules or noise can show which agent is better.
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
    """The answer that follows from the paragraphs; "unknown" if the question or the evidence cannot be read."""
    return Said(answer=_follows(fields.question, _hops(fields)))


@rule(CHAIN_OF_THOUGHT)
def chain_of_thought(fields: QuestionFields) -> Reasoned:
    """The same answer, with the hops as its reasoning."""
    findings = _hops(fields)
    return Reasoned(
        reasoning=" ".join(f"{hop} {entity}." for hop, entity in findings), answer=_follows(fields.question, findings)
    )


@in_both_forms(react_prompt, multihop.NAME)
def next_action(fields: ActFields) -> Act:
    """Search for the subject of the next open hop, then for its words; finish when all hops are answered.

    The hops are the plan's if that can be followed, else the question's own.
    """
    question, hops, known = _so_far(fields)
    steps = [step for step in fields.plan if not step.startswith(FINISH)]
    answer = ""
    if fields.plan and all(map(asked, steps)):
        hops, known = steps, [entity for _, entity in answered(steps, _shown(fields))]
        answer = fields.plan[-1].removeprefix(FINISH).strip() if not steps else ""
    if len(known) == len(hops):
        return Act(thought="All is known.", action=f"finish[{answer or concluded(question, known)}]")
    return _searched(filled(hops[len(known)], known), fields) or Act(thought=GIVEN_UP, action=f"finish[{UNKNOWN}]")


@in_both_forms(plan_prompt, multihop.NAME)
def plan(fields: ActFields) -> Plan:
    """The open hops, renumbered, and the answer; only the answer if all hops are answered."""
    question, hops, known = _so_far(fields)
    if len(known) == len(hops):
        return Plan(steps=[f"{FINISH} {concluded(question, known)}"])
    return Plan(steps=[*(_renumbered(hop, known, 0) for hop in hops[len(known) :]), FINISH])


@in_both_forms(graph_prompt, multihop.NAME)
def graph(fields: SubGoalFields) -> Graph:
    """The hops that no report answers, each after those it refers to, and the answer after all of them."""
    hops = decomposed(fields.task.removeprefix(multihop.QUESTION))
    results = [report.result for report in fields.reports]
    reported = {filled(entry.goal, results): entry for entry in fields.reports}
    known: list[Report] = []
    for hop in hops:
        report = reported.get(filled(hop, [entry.result for entry in known]))
        if report is None or report.failed:
            break
        known.append(report)
    entities = [entry.result for entry in known]
    tried = len(known) < len(hops) and filled(hops[len(known)], entities) in reported
    open_hops = [] if tried else [_renumbered(hop, entities, fields.first - 1) for hop in hops[len(known) :]]
    goals = [
        SubGoal(number=number, goal=goal, after=sorted({int(entry) for entry in REFERENCE.findall(goal)}))
        for number, goal in enumerate(open_hops, start=fields.first)
    ]
    last = SubGoal(
        number=fields.first + len(goals),
        goal=f"{FINISH} {UNKNOWN}" if tried else FINISH,
        after=[entry.number for entry in known] + [entry.number for entry in goals],
    )
    return Graph(goals=[*goals, last])


@in_both_forms(sub_goal_prompt, multihop.NAME)
def towards(fields: SubGoalFields) -> Act:
    """Search until the sub-goal's own searches answer it. `next_action` handles a blank sub-goal."""
    results = {report.number: report.result for report in fields.reports}
    if fields.now.startswith(FINISH):
        question = fields.task.removeprefix(multihop.QUESTION)
        answer = fields.now.removeprefix(FINISH).strip() or concluded(question, [*results.values()])
        return Act(thought="All is known.", action=f"finish[{answer}]")
    if not asked(fields.now):
        return next_action(fields)
    hop = REFERENCE.sub(lambda match: results.get(int(match[1]), match[0]), fields.now)
    findings = answered([hop], _shown(fields))
    if findings:
        return Act(thought=f"{hop} {findings[0][1]}.", action=f"done[{findings[0][1]}]")
    return _searched(hop, fields) or Act(thought=GIVEN_UP, action="failed[nothing was found]")


@in_both_forms(judge_prompt, multihop.NAME)
def judged(fields: ActFields) -> Judged:
    """Whether the last action is the answer that follows from the observations."""
    before = fields.model_copy(update={"turns": fields.turns[:-1], "plan": [], "lessons": []})
    expected = next_action(before).action
    last = fields.turns[-1].action if fields.turns else ""
    solved = last == expected and last.startswith("finish[") and last != f"finish[{UNKNOWN}]"
    return Judged(reason=f"What follows is {expected}, and the last action is {last or 'none'}.", solved=solved)


@in_both_forms(lesson_prompt, multihop.NAME)
def lesson(fields: ActFields) -> Sentence:
    """The hops in order."""
    hops = decomposed(fields.task.removeprefix(multihop.QUESTION))
    return Sentence(text=f"Find out first what comes first: {' '.join(hops) or GIVEN_UP}"[:MOST_WORDS])


@in_both_forms(lambda world, by_schema=False: think_prompt(by_schema), multihop.NAME)
def thought(fields: ThinkFields) -> Sentence:
    """An answered hop that no thought states yet, else the open hop, else the answer."""
    findings = answered(decomposed(fields.question), from_text(fields.evidence))
    known = [entity for _, entity in findings]
    hops = decomposed(fields.question)
    sentences = [f"{hop} {entity}." for hop, entity in findings]
    if len(findings) < len(hops):
        sentences.append(filled(hops[len(findings)], known))
    unstated = [sentence for sentence in sentences if sentence not in fields.thoughts]
    answer = concluded(fields.question, known) if len(findings) == len(hops) else UNKNOWN
    return Sentence(text=unstated[0] if unstated else f"{ENDING} {answer}.")


def answered(hops: Sequence[str], paragraphs: list[Paragraph]) -> list[tuple[str, str]]:
    """The hops as asked, each with the paragraphs' answer, up to the first hop without one."""
    findings: list[tuple[str, str]] = []
    for hop in hops:
        asked_hop = filled(hop, [entity for _, entity in findings])
        entity = next((e for paragraph in paragraphs if (e := answer_in(*paragraph, asked_hop))), "")
        if not entity:
            break
        findings.append((asked_hop, entity))
    return findings


def _so_far(fields: ActFields) -> tuple[str, list[str], list[str]]:
    """The question, its hops, and the observed answers to the first of them."""
    question = fields.task.removeprefix(multihop.QUESTION)
    hops = decomposed(question)
    return question, hops, [entity for _, entity in answered(hops, _shown(fields))]


def _shown(fields: ActFields) -> list[Paragraph]:
    return from_text("\n\n".join(turn.observation for turn in fields.turns))


def _searched(hop: str, fields: ActFields) -> Act | None:
    """The next search for a hop: for its subject, then for its words; None after both."""
    subject = asked(hop)
    candidates = [*([f"search[{subject.subject}]"] if subject else []), f"search[{hop}]"]
    done = {turn.action for turn in fields.turns}
    action = next((candidate for candidate in candidates if candidate not in done), "")
    return Act(thought=f"Still open: {hop}", action=action) if action else None


def _renumbered(hop: str, known: Sequence[str], first: int) -> str:
    """A hop with known answers in place of references; other references are renumbered from `first` on."""

    def replaced(match: re.Match[str]) -> str:
        number = int(match[1])
        return known[number - 1] if number <= len(known) else f"#{number - len(known) + first}"

    return REFERENCE.sub(replaced, hop)


def _hops(fields: QuestionFields) -> list[tuple[str, str]]:
    """The hops with their answers; empty unless the evidence answers all."""
    hops = decomposed(fields.question)
    findings = answered(hops, from_text(fields.evidence))
    return findings if len(findings) == len(hops) else []


def _follows(question: str, found: list[tuple[str, str]]) -> str:
    return concluded(question, [entity for _, entity in found])
