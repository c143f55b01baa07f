"""How answers to the prompts for AssistantBench go wrong under `rules@p`: within what a model could answer there."""

from __future__ import annotations

import re
from random import Random

from lab.models.rules import corruption, verdict
from sdp.adapters.assistantbench import prompts
from standins.agents.noise import another_name


@corruption(prompts.DECOMPOSE)
def without_one(fields: prompts.DecomposeFields, answer: prompts.Steps, random: Random) -> prompts.Steps:
    """A plan that leaves a step out; of a single one, the whole question as the goal."""
    if len(answer.steps) > 1:
        place = random.randrange(len(answer.steps))
        return prompts.Steps(steps=[*answer.steps[:place], *answer.steps[place + 1 :]])
    return prompts.Steps(steps=[prompts.Step(kind="collect", goal=fields.question)])


@corruption(prompts.TOOLS)
def elsewhere(fields: prompts.ToolsFields, answer: prompts.Tools, random: Random) -> prompts.Tools:
    """A search for another name of the question, and any result that is listed."""
    query = another_name((answer.search or [""])[0], [fields.question], random)
    numbers = [one.number for one in fields.results]
    return prompts.Tools(search=[query], scrape=[random.choice(numbers)] if numbers else [])


corruption(prompts.REPLAN)(elsewhere)


@corruption(prompts.FINDING)
def misread(fields: prompts.FindingFields, answer: prompts.Found, random: Random) -> prompts.Found:
    """An item is left out, has another name or another result; where nothing was found, a name of the pages."""
    if not answer.items:
        texts = [page.text for page in fields.pages]
        return prompts.Found(items=[f"{another_name('', [*texts, fields.question], random)}:"])
    place = random.randrange(len(answer.items))
    if len(answer.items) > 1 and random.random() < 0.5:
        return prompts.Found(items=[*answer.items[:place], *answer.items[place + 1 :]])
    name, _, facts = answer.items[place].partition(": ")
    if re.fullmatch(r"-?\d+(\.\d+)?", facts):  # what a calculation came to
        result = another_number(float(facts), random)
        return prompts.Found(items=[*answer.items[:place], f"{name}: {result}", *answer.items[place + 1 :]])
    texts = [*(page.text for page in fields.pages), *(item for one in fields.found for item in one.items)]
    wrong = f"{another_name(name, [*texts, fields.question], random)}: {facts}"
    return prompts.Found(items=[*answer.items[:place], wrong, *answer.items[place + 1 :]])


def another_number(right: float, random: Random) -> str:
    """A result that is off by a fifth to the double, and never the same."""
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
    """A name that a finding or the question mentions."""
    texts = [fields.question, *(item for one in fields.found for item in one.items)]
    return prompts.Answer(items=[another_name((answer.items or [""])[0], texts, random)])
