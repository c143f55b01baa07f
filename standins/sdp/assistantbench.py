"""Rules for AssistantBench's prompts on the synthetic web, and their noise.

They look up a question's meaning by its text in the synthetic data, as an oracle would; everything else they read in
the prompt. From a page they take its title, its table and the sentences of an article (`assistantbench_rows`), so text
that addresses its reader is never taken for a fact. They do not know official questions: NoRule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import get_args

from lab.models.rules import corruption, rule, verdict
from sdp.adapters.assistantbench import prompts
from sdp.adapters.assistantbench.prompts import MOST_STEPS, MOST_TOOLS, UNCERTAIN, Result, Step
from standins.agents.noise import another_name
from standins.sdp.assistantbench_rows import (
    Condition,
    Meaning,
    Row,
    as_object,
    computed,
    meaning,
    narrowed,
    row,
    rows_of,
    with_details,
)

TESTS = {"below": "below", "above": "above", "from": "at least", "is": "equal to", "isnt": "other than"}
NUMBERS = ("count", "share", "sum", "mean", "gap")  # verbs whose result is a number
WITHOUT = 2  # pages to read if no title is the candidate's


@rule(prompts.DECOMPOSE)
def decompose(fields: prompts.DecomposeFields) -> prompts.Steps:
    """The steps of the question, without as many as are planned, whatever those say."""
    remaining = steps(fields.question)[len(fields.planned) :]
    return prompts.Steps(steps=remaining[:1] if fields.single else remaining)


@rule(prompts.TOOLS)
def tools(fields: prompts.ToolsFields) -> prompts.Tools:
    """First the list, then the pages of the candidates with missing facts."""
    question, kind = meaning(fields.question), step_of(fields).kind
    if kind not in ("collect", "extract"):
        return prompts.Tools(search=[], scrape=[])
    return collecting(fields, question) if kind == "collect" else extracting(fields, question)


@rule(prompts.REPLAN)
def replan(fields: prompts.ToolsFields) -> prompts.Tools:
    """The whole question as a query, and the pages that are still unread."""
    return prompts.Tools(search=[fields.question], scrape=unread(fields.results))


@rule(prompts.FINDING)
def finding(fields: prompts.FindingFields) -> prompts.Found:
    """The items in which the step results."""
    return prompts.Found(items=concluded(fields)[: prompts.MOST_ITEMS])


@rule(prompts.JUDGE)
def judge(fields: prompts.JudgeFields) -> prompts.Judged:
    """Whether the items are exactly the step's result; a marked gap may stay after another try."""
    expected = concluded(fields)
    if fields.items != expected:
        wrong = next((item for item in fields.items if item not in expected), "") or "something is missing"
        return prompts.Judged(reason=f"the pages do not say so: {wrong[:60]}", passed=False)
    gaps = [item for item in expected if UNCERTAIN in item or gap(row(item), fields)]
    may_stay = fields.uncertainty == "marked" and fields.tries > 0
    if gaps and not may_stay:
        return prompts.Judged(reason=f"not certain: {', '.join(row(item).name for item in gaps)}", passed=False)
    return prompts.Judged(reason="the pages say so", passed=True)


@rule(prompts.FINALIZE)
def finalize(fields: prompts.AnswerFields) -> prompts.Answer:
    """The items of the last step, in the form that the question asks for."""
    question = meaning(fields.question)
    items = fields.found[-1].items if fields.found else []
    if items and question.verb in NUMBERS:
        return prompts.Answer(items=[items[0].rpartition(": ")[2]])
    rows = map(row, items)
    if question.keys:
        objects = [as_object(candidate, question.keys) for candidate in rows]
        return prompts.Answer(items=[json.dumps(item, ensure_ascii=False) for item in objects])
    return prompts.Answer(items=[candidate.name for candidate in rows])


def steps(text: str) -> list[Step]:
    """The steps of a question."""
    question = meaning(text)
    in_list = [condition for condition in question.conditions if condition.relation not in question.details]
    looked_up = [condition for condition in question.conditions if condition.relation in question.details]
    steps = [Step(kind="collect", goal=f"All {question.query} are listed, with what the list says of each.")]
    if in_list:
        steps.append(Step(kind="filter", goal=f"Those are left whose {described(in_list)}."))
    if question.details:
        steps.append(Step(kind="extract", goal=f"The {' and the '.join(question.details)} of each one left is known."))
    if looked_up:
        steps.append(Step(kind="filter", goal=f"Those are left whose {described(looked_up)}."))
    if question.verb not in ("names", "json"):
        goal = f"The {question.verb} of those left is known {question.measure}".strip()
        steps.append(Step(kind="compute", goal=goal))
    return steps[:MOST_STEPS]


def described(conditions: Sequence[Condition]) -> str:
    return " and ".join(f"{relation} is {TESTS[test]} {value}" for relation, test, value in conditions)


def step_of(fields: prompts.ToolsFields | prompts.FindingFields | prompts.JudgeFields) -> Step:
    """The step; if its kind is unknown, the next step of the question in the prompt."""
    if fields.kind in get_args(prompts.Kind):
        return Step.model_construct(kind=fields.kind, goal=fields.goal)
    plan = steps(fields.question)
    return plan[min(len(fields.found), len(plan) - 1)]


def concluded(fields: prompts.FindingFields | prompts.JudgeFields) -> list[str]:
    """The items in which a step results, by what the prompt holds."""
    question, kind, force = meaning(fields.question), step_of(fields).kind, fields.uncertainty == "forced"
    before = [row(item) for item in fields.found[-1].items] if fields.found else []
    if kind == "collect":
        rows = rows_of(fields.pages, question)
        return [(Row(entry.name, entry.facts) if force else entry).line for entry in rows]
    if kind == "filter":
        return [candidate.line for candidate in narrowed(before, question)]
    if kind == "extract":
        return [with_details(candidate, fields.pages, question, force).line for candidate in before]
    return computed(before, len(fields.found[0].items) if fields.found else 0, question)


def gap(candidate: Row, fields: prompts.ToolsFields | prompts.JudgeFields) -> bool:
    """Whether an extraction lacks a fact about the candidate."""
    details = meaning(fields.question).details
    return step_of(fields).kind == "extract" and any(not candidate.value(relation) for relation in details)


def collecting(fields: prompts.ToolsFields, question: Meaning) -> prompts.Tools:
    queries = [query for query in (question.query, fields.question) if query not in fields.tried]
    lists = [result for result in fields.results if question.lists(result.title)]
    if not lists:
        return prompts.Tools(search=queries[:1], scrape=[])
    return prompts.Tools(search=[], scrape=unread(lists))


def extracting(fields: prompts.ToolsFields, question: Meaning) -> prompts.Tools:
    """For candidates with missing facts: unread pages with their title, and a search for those not searched yet."""
    last = fields.refused[-1].items if fields.refused and fields.refused[-1].items else []
    rows = [row(item) for item in (last or (fields.found[-1].items if fields.found else []))]
    incomplete = [candidate for candidate in rows if gap(candidate, fields) or candidate.doubtful & {*question.details}]
    search, scrape = list[str](), list[int]()
    for name in (candidate.name for candidate in incomplete):
        if name not in fields.tried:
            search.append(name)
            continue
        results = [result for result in fields.results if result.state == "unread"]
        titled = [result for result in results if name in (result.title, result.title.partition(" (")[0])]
        scrape += unread(titled or [result for result in results if result.query == name][:WITHOUT])
    return prompts.Tools(search=search[:MOST_TOOLS], scrape=list(dict.fromkeys(scrape))[:MOST_TOOLS])


def unread(results: Sequence[Result]) -> list[int]:
    return [result.number for result in results if result.state == "unread"][:MOST_TOOLS]


@corruption(prompts.DECOMPOSE)
def without_one(fields: prompts.DecomposeFields, answer: prompts.Steps, random: Random) -> prompts.Steps:
    """A plan without one of its steps; if there is only one, the whole question is its goal."""
    if len(answer.steps) > 1:
        index = random.randrange(len(answer.steps))
        return prompts.Steps(steps=[*answer.steps[:index], *answer.steps[index + 1 :]])
    return prompts.Steps(steps=[prompts.Step(kind="collect", goal=fields.question)])


@corruption(prompts.TOOLS)
def elsewhere(fields: prompts.ToolsFields, answer: prompts.Tools, random: Random) -> prompts.Tools:
    """A search for another name from the question, and a random result."""
    query = another_name((answer.search or [""])[0], [fields.question], random)
    numbers = [result.number for result in fields.results]
    return prompts.Tools(search=[query], scrape=[random.choice(numbers)] if numbers else [])


corruption(prompts.REPLAN)(elsewhere)


@corruption(prompts.FINDING)
def misread(fields: prompts.FindingFields, answer: prompts.Found, random: Random) -> prompts.Found:
    """One item removed, or with another name or result; if there are no items, a name from the pages."""
    if not answer.items:
        texts = [page.text for page in fields.pages]
        return prompts.Found(items=[f"{another_name('', [*texts, fields.question], random)}:"])
    index = random.randrange(len(answer.items))
    if len(answer.items) > 1 and random.random() < 0.5:
        return prompts.Found(items=[*answer.items[:index], *answer.items[index + 1 :]])
    name, _, facts = answer.items[index].partition(": ")
    if re.fullmatch(r"-?\d+(\.\d+)?", facts):  # the result of a calculation
        result = another_number(float(facts), random)
        return prompts.Found(items=[*answer.items[:index], f"{name}: {result}", *answer.items[index + 1 :]])
    texts = [*(page.text for page in fields.pages), *(item for finding in fields.found for item in finding.items)]
    wrong = f"{another_name(name, [*texts, fields.question], random)}: {facts}"
    return prompts.Found(items=[*answer.items[:index], wrong, *answer.items[index + 1 :]])


def another_number(right: float, random: Random) -> str:
    """The result times .5, .8, 1.25 or 2, rounded, and never the right one."""
    wrong = right * random.choice((0.5, 0.8, 1.25, 2))
    wrong = float(round(wrong)) if right == int(right) else round(wrong, 2)
    return f"{wrong if wrong != right else right + 1:.10g}"


@corruption(prompts.JUDGE)
def misjudged(fields: prompts.JudgeFields, answer: prompts.Judged, random: Random) -> prompts.Judged:
    return prompts.Judged(reason="the pages seem to say otherwise", passed=not answer.passed)


@verdict(prompts.JUDGE)
def passes(answer: prompts.Judged) -> bool:
    return answer.passed


@corruption(prompts.FINALIZE)
def another(fields: prompts.AnswerFields, answer: prompts.Answer, random: Random) -> prompts.Answer:
    """A name from a finding or the question."""
    texts = [fields.question, *(item for finding in fields.found for item in finding.items)]
    return prompts.Answer(items=[another_name((answer.items or [""])[0], texts, random)])
