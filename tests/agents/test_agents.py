"""Agents that answer in one call: from nothing, from the paragraphs of a question, and from the gold ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.chain_of_thought import chain_of_thought
from agents.direct import direct
from agents.experiments.one_call import HotpotQA, MultiHop, MuSiQue
from agents.prompts import CHAIN_OF_THOUGHT, DIRECT, QuestionFields
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.runs import collecting
from standins.agents.noise import another_name
from worlds.multihop.questions import Paragraph
from worlds.multihop.world import as_text, from_text

EXPERIMENTS: tuple[type[MultiHop], ...] = (HotpotQA, MuSiQue)


def played(setup: MultiHop) -> list[Any]:
    return list(collecting.collect(setup, 0, "").episodes.values())


EVIDENCE: tuple[Any, ...] = ("none", "shown", "gold")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("agent", ["direct", "chain of thought"])
def test_rules_answer_from_paragraphs_and_know_nothing_without(experiment: type[MultiHop], agent: Any) -> None:
    setup = experiment(data="synthetic", split="writing", limit=6, agent=agent)
    scores = {each: [one.result["em"] for one in played(replace(setup, evidence=each))] for each in EVIDENCE}
    assert scores == {"none": [0.0] * 6, "shown": [1.0] * 6, "gold": [1.0] * 6}


def test_what_was_given_to_read_is_counted_as_seen() -> None:
    setup = HotpotQA(data="synthetic", split="writing", limit=2)
    seen = {each: {one.result["gold_seen"] for one in played(replace(setup, evidence=each))} for each in EVIDENCE}
    assert seen == {"none": {0.0}, "shown": {1.0}, "gold": {1.0}}


def test_each_answer_is_one_call() -> None:
    assert {one.result["calls"] for one in played(HotpotQA(data="synthetic", limit=3))} == {1}


@pytest.mark.parametrize("prompt", [DIRECT, CHAIN_OF_THOUGHT])
def test_evidence_stands_first_and_a_closed_book_has_none(prompt: Any) -> None:
    open_book = prompt.render(QuestionFields(evidence="[A]\nB.", question="Who?", form="a name"))[-1]["content"]
    closed = prompt.render(QuestionFields(evidence="", question="Who?", form="a name"))[-1]["content"]
    assert open_book.startswith("[A]\nB.\n\nQuestion: Who?")
    assert closed.startswith("Question: Who?")


@pytest.mark.parametrize("agent", [direct, chain_of_thought])
def test_noise_answers_with_another_name_of_the_evidence(agent: Callable[..., str]) -> None:
    task = HotpotQA(data="synthetic", split="writing").world().tasks("writing")[0]
    world = HotpotQA(data="synthetic").world().apart()
    evidence = as_text(world.reset(task).facts["paragraphs"])
    right = agent(Ledger(connected("rules")), task.goal, "a name", evidence)
    wrong = agent(Ledger(connected("rules@0?seed=1")), task.goal, "a name", evidence)
    assert wrong != right
    assert wrong in evidence


def test_a_name_is_found_only_where_there_is_one() -> None:
    assert another_name("Velmara", ["Velmara met nobody."], Random(0)) == "somebody else"
    assert another_name("Velmara", ["Velmara met Kalan Boro."], Random(0)) == "Kalan Boro"


line = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="[]"), min_size=1)


@settings(max_examples=50)
@given(st.lists(st.tuples(line, line), max_size=4))
def test_paragraphs_are_read_back_from_their_text(pairs: list[tuple[str, str]]) -> None:
    paragraphs = [Paragraph(*pair) for pair in pairs]
    assert from_text(f"{as_text(paragraphs)}\n\nQuestion: who?") == paragraphs
