"""Agents that answer in one call: from nothing, from the paragraphs of a question, and from the gold ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.experiments.one_call import PROMPTS, HotpotQA, MultiHop, MuSiQue
from agents.prompts import QuestionFields
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.runs import collecting
from standins.agents.noise import another_name
from worlds.multihop.questions import Paragraph
from worlds.multihop.world import as_text, from_text

EXPERIMENTS: tuple[type[MultiHop], ...] = (HotpotQA, MuSiQue)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("agent", ["direct", "chain of thought"])
def test_rules_answer_from_paragraphs_and_know_nothing_without(experiment: type[MultiHop], agent: Any) -> None:
    setup = experiment(data="synthetic", split="writing", limit=6, agent=agent)
    for evidence, (em, seen) in {"none": (0.0, 0.0), "shown": (1.0, 1.0), "gold": (1.0, 1.0)}.items():
        episodes = collecting.collect(replace(setup, evidence=evidence), 0, "").episodes.values()  # type: ignore[arg-type]
        assert [[e.result[name] for name in ("em", "gold_seen", "calls")] for e in episodes] == [[em, seen, 1]] * 6


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_evidence_stands_first_and_a_closed_book_has_none(prompt: Any) -> None:
    open_book = prompt.render(QuestionFields(evidence="[A]\nB.", question="Who?", form="a name"))[-1]["content"]
    closed = prompt.render(QuestionFields(evidence="", question="Who?", form="a name"))[-1]["content"]
    assert open_book.startswith("[A]\nB.\n\nQuestion: Who?")
    assert closed.startswith("Question: Who?")


@pytest.mark.parametrize("agent", PROMPTS)
def test_noise_answers_with_another_name_of_the_evidence(agent: Any) -> None:
    setup = HotpotQA(data="synthetic", split="writing", agent=agent)
    task = setup.world().tasks("writing")[0]
    evidence = as_text(setup.opened().reset(task).facts["paragraphs"])
    right, wrong = (
        setup.ask(Ledger(connected(engine)), task.goal, "a name", evidence) for engine in ("rules", "rules@0?seed=1")
    )
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
