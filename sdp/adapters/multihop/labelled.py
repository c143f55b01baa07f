"""Our Validate prompts on another agent's steps, which people labelled.

A step of AgentProcessBench has no plan, so its predicate is derived from the step itself. Our reading:

    a search       a hop. The sub-question is the query; the finding claims that this was found, and helps to answer
                   the question; the observation is what the search showed. Asked by A.5's VERIFY.
    an answer      the answer predicate. The chain holds, for each earlier search, the paragraph with most words of its
                   query and of the answer (the fallback of A.5). Asked by A.6's CONSISTENT.
    anything else  a hop whose sub-question is the question and whose finding is what the agent wrote; the observation
                   is the reply, mostly that no tool was called.

As in Eq. 3, Validate reads the predicate and the observation, but no history: not the thoughts of the step, and not the
earlier steps, which only reach an answer as its chain. The filters of A.5 and A.6, which reject some words before any
prompt, are left out: the audit is about the prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lab.models.backbone import Backbone
from sdp.adapters.multihop.adapter import Policy
from sdp.adapters.multihop.filters import ranked
from sdp.adapters.multihop.prompts import CONSISTENT, VERIFY, CertifiedFinding
from worlds.agentprocessbench import Page, Step, before

# The same words to a model under other names, since rules and stored answers belong to a prompt's name: the synthetic
# encyclopedia's rule reads no other texts, and a reason may quote the labelled slice, so it is not stored.
HOP = replace(VERIFY, name="sdp.labelled.hop", unkept=("reason",))
ANSWER = replace(CONSISTENT, name="sdp.labelled.answer", unkept=("reason",))
SHOWN = Policy().shown  # paragraphs that a model is shown at most, the newest ones
LONGEST = 1000  # characters of a finding in the agent's own words


def certified(step: Step, backbone: Backbone) -> bool:
    """Whether our Validate prompt certifies a step. Raises MalformedAnswer, MissingData."""
    if step.answer is not None:
        return bool(backbone.ask(ANSWER, **of_answer(step, before(step))).value.consistent)
    return bool(backbone.ask(HOP, **of_hop(step)).value.supported)


def of_hop(step: Step) -> dict[str, Any]:
    """The prompt's fields for a step that gives no answer."""
    if not step.pages:
        claim = _searched(step) if step.queries else {"asked": step.question, "finding": step.said[:LONGEST]}
        return {"title": "reply", "text": step.reply} | claim
    first, *others = step.pages[-SHOWN:]
    text = "\n".join([first.text, *(f"[{page.title}] {page.text}" for page in others)])
    return {"title": first.title, "text": text} | _searched(step)


def of_answer(step: Step, earlier: Sequence[Step]) -> dict[str, Any]:
    """The prompt's fields for a final answer after the earlier steps of its trajectory."""
    answer = step.answer or ""
    chain = {page: query for before_step in earlier for query, page in _read(before_step, answer)}
    findings = [CertifiedFinding(asked=query, finding=page.text, entity=page.title) for page, query in chain.items()]
    return {"question": step.question, "found": findings[-SHOWN:], "answer": answer}


def _searched(step: Step) -> dict[str, str]:
    finding = f"What was searched for is found here, and it helps to answer this question: {step.question}"
    return {"asked": "; ".join(step.queries), "finding": finding}


def _read(step: Step, answer: str) -> Iterator[tuple[str, Page]]:
    """Each query with the paragraph that has most words of it and of the answer; queries without one are left out."""
    for query in step.queries:
        for index in ranked(step.pages, f"{query} {answer}")[:1]:
            yield query, step.pages[index]
