"""The synthetic encyclopedia's articles: repeatable, of any size, true to their facts, with unique titles."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import tracemalloc
from collections import Counter
from functools import _lru_cache_wrapper
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encyclopedia_reader import names, read
from worlds.encyclopedia import Paragraph, paragraphs
from worlds.encyclopedia.articles import MOST, mention, paragraph, sentences
from worlds.encyclopedia.facts import facts
from worlds.encyclopedia.layout import COUNTRY_EVERY, KINDS, PEOPLE, SIZE, kind_of
from worlds.encyclopedia.names import alias, name, namesakes, title
from worlds.encyclopedia.people import NOW
from worlds.encyclopedia.relations import LINKS, ONE_TO_ONE, written
from worlds.encyclopedia.words import LONG, SHORT, long_word, short_word

PRINT_HASH = """
import gc
import hashlib
from worlds.encyclopedia import paragraphs, questions
said = [*paragraphs(7, 3_000), *questions(7, 20, "reporting", unanswerable=0.3)]
print(hashlib.sha256(repr(said).encode()).hexdigest())
"""
seeds = st.integers(0, 2**63)
numbers = st.integers(0, MOST - 1)


def test_another_process_writes_the_same_encyclopedia() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PRINT_HASH], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


def test_a_smaller_encyclopedia_is_the_beginning_of_a_larger_one() -> None:
    large = list(paragraphs(3, 1_000))
    assert list(paragraphs(3, 777)) == large[:777]
    # Made alone, and in another order, an article is the same.
    assert [paragraph(3, number) for number in reversed(range(1_000))] == large[::-1]


def test_another_seed_writes_about_others() -> None:
    one, other = ({article.title for article in paragraphs(seed, 1_000)} for seed in (0, 1))
    assert len(one & other) < 5


def test_titles_are_unique_and_so_are_other_names() -> None:
    size = 30_000
    assert len({title(0, number) for number in range(size)}) == size
    others = Counter(alias(0, number) for number in range(size))
    del others[None]
    assert max(others.values()) == 1


@settings(max_examples=30)
@given(seeds, st.sets(st.integers(0, LONG - 1), min_size=2, max_size=50))
def test_no_two_numbers_have_the_same_word(seed: int, chosen: set[int]) -> None:
    assert len({long_word(seed, number) for number in chosen}) == len(chosen)
    short = {number % SHORT for number in chosen}
    assert len({short_word(seed, number) for number in short}) == len(short)


@settings(max_examples=100)
@given(seeds, numbers)
def test_an_article_says_all_its_facts_and_nothing_else(seed: int, number: int) -> None:
    article, stated = paragraph(seed, number), facts(seed, number)
    kind, said = read(article)
    assert kind == ("person" if kind_of(number) in PEOPLE else kind_of(number))
    assert names(article, said) >= {name(seed, number)} | {one for one in [alias(seed, number)] if one}
    for relation, value in stated.items():
        if relation == "occupation":
            assert said["role"].endswith(value)
        elif relation in LINKS:
            assert said[relation] == mention(seed, number, relation, value)
            assert said[relation] in (name(seed, value), alias(seed, value))
        else:
            assert said[relation] == written(relation, value)
    assert set(said) <= {*stated, "name", "alias", "short", "role", "they", "They", "their"}


@settings(max_examples=100)
@given(seeds, numbers)
def test_links_go_to_the_same_block_or_earlier_ones(seed: int, number: int) -> None:
    linked = [value for relation, value in facts(seed, number).items() if relation in LINKS]
    assert all(0 <= value < (number // SIZE + 1) * SIZE and value != number for value in linked)


@settings(max_examples=100)
@given(seeds, numbers)
def test_dates_and_places_fit_together(seed: int, number: int) -> None:
    def of(other: int, relation: str) -> int:
        return facts(seed, other)[relation]

    stated, kind = facts(seed, number), kind_of(number)
    year = next((stated[one] for one in ("year", "founded", "independent", "death") if one in stated), 0)
    assert year <= NOW
    if kind in ("film", "novel", "album", "company", "museum"):
        makers = ("director", "star", "composer", "author", "performer", "founder", "architect")
        for maker in (stated[one] for one in makers if one in stated):
            assert of(maker, "birth").year + 18 <= year <= facts(seed, maker).get("death", NOW)
        for source in (stated[one] for one in ("studio", "publisher", "label") if one in stated):
            assert of(source, "founded") <= year
        if "basis" in stated:
            assert of(stated["basis"], "year") <= year
    if kind in ("country", "region"):
        home = of(stated["capital"], "region")
        assert number in (home, of(home, "country"))
    if kind in PEOPLE:
        for elder in (stated[one] for one in ("parent", "teacher") if one in stated):
            assert of(elder, "birth").year + 18 <= stated["birth"].year
        if "parent" in stated:
            assert name(seed, number).split()[-1] == name(seed, stated["parent"]).split()[-1]
        if "spouse" in stated:
            assert of(stated["spouse"], "spouse") == number
        if "award" in stated:
            assert of(stated["award"], "founded") <= stated.get("death", NOW)


def test_relations_that_are_said_to_be_one_to_one_are() -> None:
    for kind, relation in ONE_TO_ONE:
        values = [
            value
            for number in range(6_000)
            if kind in (kind_of(number), "person" if kind_of(number) in PEOPLE else "")
            and (value := facts(1, number).get(relation)) is not None
        ]
        assert len(values) > 50 and max(Counter(values).values()) == 1, (kind, relation)


def test_namesakes_are_told_apart_by_their_titles() -> None:
    suffixes: Counter[str] = Counter()
    for number in range(5_000):
        for other in namesakes(2, number):
            assert name(2, other) == name(2, number) and title(2, other) != title(2, number)
            assert number in namesakes(2, other)
            suffixes[title(2, number).removeprefix(name(2, number))] += 1
    assert {"", " (film)", " (album)", " (novelist)", " (architect)"} <= set(suffixes)
    assert any(suffix.endswith("0 film)") for suffix in suffixes)


def test_articles_call_others_by_their_other_names_too() -> None:
    said = Counter(
        mention(0, number, relation, value) == name(0, value)
        for number in range(3_000)
        for relation, value in facts(0, number).items()
        if relation in LINKS and alias(0, value) is not None
    )
    assert 0.15 < said[False] / said.total() < 0.4


def test_sentences_of_a_group_state_the_same() -> None:
    from string import Formatter

    pronouns = {"name", "short", "they", "They", "their"}
    for kind, groups in sentences().items():
        for fields, patterns in groups:
            for pattern in patterns:
                used = {field for _, field, _, _ in Formatter().parse(pattern) if field}
                assert used - pronouns == fields, (kind, pattern)


def test_all_kinds_have_articles() -> None:
    kinds = Counter(kind_of(number) for number in range(SIZE * COUNTRY_EVERY * 2))
    assert set(kinds) == set(KINDS) and kinds["country"] == 2


def held() -> int:
    """Bytes that code of the worlds has allocated: other threads of a test process allocate, too."""
    snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/worlds/*")])
    return sum(statistic.size for statistic in snapshot.statistics("filename"))


def test_paragraphs_are_streamed_with_constant_memory() -> None:
    for kept in gc.get_objects():
        if type(kept) is _lru_cache_wrapper and kept.__module__.startswith("worlds."):
            kept.cache_clear()  # what is counted from here on would replace what was not
    stream = paragraphs(0, MOST)
    tracemalloc.start()
    try:
        consumed(stream, 4_000)  # fills the caches
        early = held()
        consumed(stream, 3_000)
        late = held()
    finally:
        tracemalloc.stop()
    # 3,000 articles would be 1.5 MB more.
    assert late - early < 500_000, (early, late)


def consumed(stream: object, count: int) -> str:
    told = hashlib.sha256()
    for article in islice(stream, count):  # type: ignore[call-overload]
        told.update(article.text.encode())
    return told.hexdigest()


def test_the_last_of_five_million_has_an_article() -> None:
    assert isinstance(paragraph(0, MOST - 1), Paragraph)


@pytest.mark.parametrize("size", [-1, MOST + 1])
def test_an_impossible_size_is_refused_at_once(size: int) -> None:
    with pytest.raises(ValueError, match="5,000,000"):
        paragraphs(0, size)
