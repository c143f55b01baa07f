"""Questions over the synthetic encyclopedia: a reader of the paragraphs alone comes to one answer, hop by hop."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encyclopedia_reader import answers, read
from lab.machine.reading import read_yaml
from worlds.encyclopedia import Question, articles, paragraphs, questions
from worlds.encyclopedia.chains import SHARED_NAMES, split_step
from worlds.encyclopedia.drafts import draft
from worlds.encyclopedia.facts import facts
from worlds.encyclopedia.layout import kind_of
from worlds.encyclopedia.names import alias, name, title
from worlds.encyclopedia.questions import MIXES, PARAGRAPHS
from worlds.encyclopedia.questions import question as made_of
from worlds.encyclopedia.relations import LINKS
from worlds.encyclopedia.templates import SPLITS, Template, templates

SIZE = 2_000
EACH = [(split, style) for split, style in product(SPLITS, MIXES)]
TEMPLATES = {one.name: one for split in SPLITS for one in templates(split)}


@pytest.fixture(scope="module")
def asked() -> list[Question]:
    return [one for split, style in EACH for one in questions(4, 150, split, style, SIZE)]


@pytest.fixture(scope="module")
def unanswerable() -> list[Question]:
    return [one for split, style in EACH for one in questions(4, 40, split, style, SIZE, unanswerable=1)]


def subject(hop: str, wording: str) -> str:
    """What a hop is about, taken out of its wording."""
    found = re.fullmatch(re.escape(wording).replace(re.escape("{x}"), "(.+)"), hop)
    assert found is not None, (hop, wording)
    return found[1]


def reading(question: Question) -> list[list[tuple[int, str]]]:
    """What the paragraphs shown say to each hop, answers going into later hops as they stand there."""
    template, said = TEMPLATES[question.template], []
    for turn, hop in enumerate(question.decomposition):
        place = 0 if template.compare else turn
        about, kind = subject(hop.question, template.hops[place]), None
        if reference := re.fullmatch(r"#(\d)", about):
            assert 1 <= int(reference[1]) == turn
            about = question.decomposition[turn - 1].answer
        else:
            found = re.match(rf"the ({'|'.join(SHARED_NAMES)}) (.+)", about)
            kind, about = found.groups() if found else (None, about)
            assert about in question.question
        said.append(answers(template.steps[place], about, kind, question.paragraphs))
    return said


def concluded(template: Template, question: Question, found: list[str]) -> str:
    """The answer to a question that follows from what its hops found."""
    if template.compare is None:
        return found[-1]
    if template.compare == "same":
        return "yes" if found[0] == found[1] else "no"
    first, second = map(amount, found)
    if template.compare in ("less", "more"):
        return "yes" if (first < second) == (template.compare == "less") else "no"
    winner = 0 if (first < second) == (template.compare == "least") else 1
    about = subject(question.decomposition[winner].question, template.hops[0])
    return re.sub(rf"^the ({'|'.join(SHARED_NAMES)}) ", "", about)


def amount(said: str) -> float:
    try:
        return datetime.strptime(said, "%d %B %Y").timestamp()
    except ValueError:
        return float(said.split()[0].replace(",", ""))


def test_a_reader_of_the_paragraphs_finds_one_answer(asked: list[Question]) -> None:
    for question in asked:
        said = reading(question)
        assert all(len(found) == 1 for found in said), question
        for hop, ((number, answer),) in zip(question.decomposition, said, strict=True):
            assert number == hop.paragraph and answer in (hop.answer, *hop.aliases)
        assert concluded(TEMPLATES[question.template], question, [answer for ((_, answer),) in said]) in (
            question.answer,
            *question.aliases,
        )


@settings(max_examples=15)
@given(st.integers(0, 2**63), st.sampled_from(EACH), st.integers(1_000, 5_000_000))
def test_so_does_one_of_any_encyclopedia(seed: int, kind: tuple, size: int) -> None:
    (question,) = questions(seed, 1, *kind, size)
    assert [[number for number, _ in found] for found in reading(question)] == [[number] for number in question.gold]
    assert all(one.number < size for one in question.paragraphs)


def test_the_fact_graph_gives_the_same_answers(asked: list[Question]) -> None:
    for question in asked:
        template = TEMPLATES[question.template]
        steps = template.steps * 2 if template.compare else template.steps
        for step, hop in zip(steps, question.decomposition, strict=True):
            assert hop.paragraph is not None
            if "<" in step:
                kind, relation = split_step(step)
                value = hop.paragraph
                assert kind in (kind_of(value), "person") and relation in facts(4, value)
            else:
                value = facts(4, hop.paragraph)[step]
            if "<" in step or step in LINKS:
                assert {hop.answer, *hop.aliases} >= {name(4, value), alias(4, value) or hop.answer, title(4, value)}


def test_the_paragraphs_are_those_of_the_encyclopedia(asked: list[Question]) -> None:
    corpus = list(paragraphs(4, SIZE))
    for question in asked:
        numbers = [one.number for one in question.paragraphs]
        assert [corpus[number] for number in numbers] == list(question.paragraphs)
        style = "hotpotqa" if "hotpotqa" in question.id else "musique"
        assert len(set(numbers)) == PARAGRAPHS[style]
        assert set(question.gold) == {hop.paragraph for hop in question.decomposition} <= set(numbers)


def test_gold_paragraphs_are_anywhere_among_those_shown(asked: list[Question]) -> None:
    places = Counter(
        [one.number for one in question.paragraphs].index(number) * 5 // len(question.paragraphs)
        for question in asked
        for number in question.gold
    )
    assert min(places.values()) > 0.7 * max(places.values())


def test_distractors_are_of_the_kinds_asked_for_and_mentioned_ones(asked: list[Question]) -> None:
    for question in asked:
        kinds = {kind_of(number) for number in question.gold}
        others = [one.number for one in question.paragraphs if one.number not in question.gold]
        assert sum(kind_of(number) in kinds for number in others) >= len(others) / 2
    with_namesakes = [
        question
        for question in asked
        if len({read(one)[1]["name"] for one in question.paragraphs}) < len(question.paragraphs)
    ]
    assert len(with_namesakes) > len(asked) / 20


def test_no_question_names_what_is_to_be_found(asked: list[Question]) -> None:
    for question in asked:
        padded = f" {re.sub(r'[^a-z0-9]+', ' ', question.question.lower())} "
        for hop in question.decomposition:
            for answer in (hop.answer, *hop.aliases):
                assert f" {re.sub(r'[^a-z0-9]+', ' ', answer.lower())} " not in padded


def test_a_hop_is_missing_from_an_unanswerable_question(unanswerable: list[Question]) -> None:
    for question in unanswerable:
        assert (question.answerable, question.answer, question.aliases) == (False, "", ())
        (lacking,) = [turn for turn, hop in enumerate(question.decomposition) if hop.paragraph is None]
        assert len(question.gold) == len(question.decomposition) - 1
        assert reading(question)[lacking] == []


def test_what_is_missing_is_mentioned_nowhere_else(asked: list[Question], unanswerable: list[Question]) -> None:
    # The same questions come out, with and without an answer.
    gold = {one.question: one.gold for one in asked}
    for question in unanswerable:
        (missing,) = set(gold[question.question]) - set(question.gold)
        called = {name(4, missing), alias(4, missing) or name(4, missing)}
        for one in question.paragraphs:
            _, fields = read(one)
            assert not called & {value for field, value in fields.items() if field in LINKS}


@pytest.mark.parametrize(("split", "style"), EACH)
def test_a_longer_list_begins_with_the_shorter(split: str, style: str) -> None:
    assert questions(9, 20, split, style)[:8] == questions(9, 8, split, style)


def test_no_question_is_asked_twice(asked: list[Question]) -> None:
    for split, style in EACH:
        texts = [one.question for one in asked if f"{style}_{split}" in one.id]
        assert len(set(texts)) == len(texts) == 150
    assert len({one.id for one in asked}) == len(asked)


def test_types_and_hops_are_mixed_as_in_the_benchmarks(asked: list[Question]) -> None:
    types = Counter(one.type for one in asked if "hotpotqa" in one.id)
    hops = Counter(one.id[0] for one in asked if "musique" in one.id)
    assert 0.7 < types["bridge"] / types.total() < 0.88 and types["comparison"] > types["yes/no"] > 5
    assert hops["2"] > hops["3"] > hops["4"] > 30


def test_yes_is_about_as_frequent_as_no() -> None:
    rng = Random(0)
    for template in TEMPLATES.values():
        if template.type == "yes/no":
            drafts = [draft(1, rng, template, 200_000) for _ in range(200)]
            said = Counter(one.answer for one in drafts if one is not None)
            assert 0.3 < said["yes"] / said.total() < 0.7, template


def test_the_two_sets_of_templates_share_neither_names_nor_wordings() -> None:
    writing, reporting = (templates(split) for split in SPLITS)
    for part in (lambda one: {one.question}, lambda one: {one.name.split("/")[1]}, lambda one: set(one.hops)):
        assert not set().union(*map(part, writing)) & set().union(*map(part, reporting))
    chains = [{(one.start, one.steps, one.compare) for one in split} for split in (writing, reporting)]
    # Some chains are asked for in both, and most in one of them.
    assert 10 <= len(chains[0] & chains[1]) <= len(chains[1]) / 2


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_each_template_makes_questions_that_bear_its_name(template: Template) -> None:
    made = made_of(0, Random(0), template, 500, 10, False, "name")
    assert made is not None and (made.template, made.type) == (template.name, template.type)


def test_each_wording_of_a_hop_is_used() -> None:
    for split in SPLITS:
        wordings = read_yaml(Path(articles.__file__).with_name(f"{split}.yaml"))[0]["hops"]
        assert set(wordings) == {step for one in templates(split) for step in one.steps}


def test_a_template_says_the_kind_of_what_may_have_namesakes() -> None:
    for template in TEMPLATES.values():
        if template.start in SHARED_NAMES:
            assert template.start in template.question, template


def test_a_relation_that_several_may_have_is_not_gone_against() -> None:
    with pytest.raises(ValueError, match="there may be several"):
        split_step("film<director")
    for template in TEMPLATES.values():
        for step in template.steps:
            assert "<" not in step or split_step(step)
        # The article that says it would answer the next hop, too.
        assert not any("<" in step for step in template.steps[:-1])


def test_unknown_names_and_too_small_an_encyclopedia_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'reporting'"):
        questions(0, 1, "report")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="did you mean 'musique'"):
        questions(0, 1, style="musiqe")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="1,000"):
        questions(0, 1, size=999)
