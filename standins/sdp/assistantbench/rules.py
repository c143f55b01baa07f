"""The rules engine's answers to the prompts for AssistantBench, on the synthetic web.

They read what a prompt holds and nothing else: the question by `wording`, pages by `rows`. Of a page they take its
title, its table and the sentences of an article, so that no text that speaks to its reader is ever taken for a fact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import get_args

from lab.models.rules import rule
from sdp.adapters.assistantbench import prompts
from sdp.adapters.assistantbench.prompts import MOST_STEPS, MOST_TOOLS, UNCERTAIN, Result, Step
from standins.sdp.assistantbench import noise  # noqa: F401  (registers how these answers go wrong)
from standins.sdp.assistantbench.conditions import Condition
from standins.sdp.assistantbench.rows import Row, as_object, computed, narrowed, row, rows_of, with_details
from standins.sdp.assistantbench.wording import NUMBERS, Reading, read

TESTS = {
    "below": "below", "above": "above", "from": "at least", "to": "at most", "is": "equal to", "isnt": "other than"
}  # fmt: skip
WITHOUT = 2  # pages that are read where no title is that of the candidate


@rule(prompts.DECOMPOSE)
def decompose(fields: prompts.DecomposeFields) -> prompts.Steps:
    """The steps of the question as it is read; one step for a question that cannot be."""
    return prompts.Steps(steps=steps(fields.question))


@rule(prompts.TOOLS)
def tools(fields: prompts.ToolsFields) -> prompts.Tools:
    """The list first; then the pages of the candidates of which something is missing."""
    reading, step = read(fields.question), here(fields)
    if reading is None or step.kind not in ("collect", "extract"):
        return prompts.Tools(search=[] if reading or fields.tried else [fields.question], scrape=[])
    return collecting(fields, reading) if step.kind == "collect" else extracting(fields, reading)


@rule(prompts.REPLAN)
def replan(fields: prompts.ToolsFields) -> prompts.Tools:
    """The whole question as a query, and what is still unread."""
    unread = [one.number for one in fields.results if one.state == "unread"]
    return prompts.Tools(search=[fields.question], scrape=unread[:MOST_TOOLS])


@rule(prompts.FINDING)
def finding(fields: prompts.FindingFields) -> prompts.Found:
    """What the step comes to."""
    return prompts.Found(items=concluded(fields)[: prompts.MOST_ITEMS])


@rule(prompts.JUDGE)
def judge(fields: prompts.JudgeFields) -> prompts.Judged:
    """Whether the step comes to just that; a marked gap may stay after another try."""
    right = concluded(fields)
    if fields.items != right:
        wrong = next((item for item in fields.items if item not in right), "") or "something is missing"
        return prompts.Judged(reason=f"the pages do not say so: {wrong[:60]}", passed=False)
    reading = read(fields.question)
    gaps = [item for item in right if UNCERTAIN in item or gap(row(item), reading, here(fields).kind)]
    may_stay = fields.uncertainty == "marked" and fields.tries > 0
    if gaps and not may_stay:
        return prompts.Judged(reason=f"not certain: {', '.join(row(item).name for item in gaps)}", passed=False)
    return prompts.Judged(reason="the pages say so", passed=True)


@rule(prompts.FINALIZE)
def finalize(fields: prompts.AnswerFields) -> prompts.Answer:
    """What the last step left, in the form that the question asks for."""
    reading = read(fields.question)
    left = fields.found[-1].items if fields.found else []
    if reading is None or not left:
        return prompts.Answer(items=[])
    if reading.verb in NUMBERS:
        return prompts.Answer(items=[left[0].rpartition(": ")[2]])
    if reading.keys:
        return prompts.Answer(items=[json.dumps(as_object(row(one), reading.keys), ensure_ascii=False) for one in left])
    return prompts.Answer(items=[row(one).name for one in left])


def steps(question: str) -> list[Step]:
    reading = read(question)
    if reading is None:
        return [Step(kind="collect", goal=f"What the web says of: {question}")]
    found = [Step(kind="collect", goal=f"All {reading.query} are listed, with what the list says of each.")]
    in_list = [one for one in reading.conditions if one.relation not in reading.details]
    looked_up = [one for one in reading.conditions if one.relation in reading.details]
    if in_list:
        found.append(Step(kind="filter", goal=f"Those are left whose {told(in_list)}."))
    if reading.details:
        found.append(Step(kind="extract", goal=f"The {' and the '.join(reading.details)} of each one left is known."))
    if looked_up:
        found.append(Step(kind="filter", goal=f"Those are left whose {told(looked_up)}."))
    if reading.verb not in ("names", "json"):
        found.append(Step(kind="compute", goal=f"The {reading.verb} of those left is known {reading.measure}".strip()))
    return found[:MOST_STEPS]


def told(conditions: Sequence[Condition]) -> str:
    return " and ".join(f"{one.relation or 'facts'} is {TESTS[one.test]} {one.value}" for one in conditions)


def here(fields: prompts.ToolsFields | prompts.FindingFields | prompts.JudgeFields) -> Step:
    """The step; where it is of no known kind, the one that comes next, of the question that stands beside it."""
    if fields.kind in get_args(prompts.Kind):
        return Step.model_construct(kind=fields.kind, goal=fields.goal)
    whole = steps(fields.question)
    return whole[min(len(fields.found), len(whole) - 1)]


def concluded(fields: prompts.FindingFields | prompts.JudgeFields) -> list[str]:
    """The items that a step comes to, from what the prompt holds."""
    reading, step, force = read(fields.question), here(fields), fields.uncertainty == "forced"
    if reading is None:
        return []
    before = [row(item) for item in fields.found[-1].items] if fields.found else []
    if step.kind == "collect":
        rows = rows_of(fields.pages, reading)
        return [(Row(one.name, one.facts) if force else one).line for one in rows]
    if step.kind == "filter":
        return [one.line for one in narrowed(before, reading)]
    if step.kind == "extract":
        return [with_details(one, fields.pages, reading, force).line for one in before]
    return computed(before, len(fields.found[0].items) if fields.found else 0, reading)


def gap(one: Row, reading: Reading | None, kind: str) -> bool:
    """Whether an extraction has not found what it was for."""
    return kind == "extract" and reading is not None and any(not one.value(each) for each in reading.details)


def collecting(fields: prompts.ToolsFields, reading: Reading) -> prompts.Tools:
    queries = [one for one in (reading.query, fields.question) if one not in fields.tried]
    lists = [one for one in fields.results if reading.lists(one.title)]
    if not lists:
        return prompts.Tools(search=queries[:1], scrape=[])
    return prompts.Tools(search=[], scrape=unread(lists))


def extracting(fields: prompts.ToolsFields, reading: Reading) -> prompts.Tools:
    """Pages of the same title as a candidate that are still unread; a search for one that was not looked for."""
    last = fields.refused[-1].items if fields.refused and fields.refused[-1].items else []
    rows = [row(item) for item in (last or (fields.found[-1].items if fields.found else []))]
    lacking = [one for one in rows if gap(one, reading, "extract") or one.doubtful & set(reading.details)]
    search, scrape = list[str](), list[int]()
    for one in lacking:
        if one.name not in fields.tried:
            search.append(one.name)
            continue
        results = [each for each in fields.results if each.state == "unread"]
        titled = [each for each in results if one.name in (each.title, each.title.partition(" (")[0])]
        scrape += unread(titled or [each for each in results if each.query == one.name][:WITHOUT])
    return prompts.Tools(search=search[:MOST_TOOLS], scrape=list(dict.fromkeys(scrape))[:MOST_TOOLS])


def unread(results: Sequence[Result]) -> list[int]:
    return [one.number for one in results if one.state == "unread"][:MOST_TOOLS]
