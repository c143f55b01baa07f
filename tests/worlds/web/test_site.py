"""What the synthetic web has, from its seed: sound pages, faulty ones beside them, and a search over both."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worlds.assistantbench.synthetic import synthetic_site
from worlds.encyclopedia.facts import facts
from worlds.multihop.words import words
from worlds.web.faults import CHANGING, FAULTS, HOSTS, INJECTED, OLD_YEAR
from worlds.web.reading import read
from worlds.web.site import FAULTY, SNIPPET, Site, snippet
from worlds.web.tables import TABLES

SITE = synthetic_site(0, FAULTY)
SOUND = {url: one for url, one in SITE.resources.items() if one.fault is None}


def rows(text: str) -> list[list[str]]:
    """The rows of the Markdown table in a page, as cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines[2:]]


def test_a_seed_makes_the_same_web_again_and_another_seed_another_one() -> None:
    small, again, other = Site(3, articles=300), Site(3, articles=300), Site(4, articles=300)
    assert small.resources == again.resources and list(small.resources) == list(again.resources)
    assert not set(small.lists) & set(other.lists) or small.lists != other.lists


def test_a_web_without_faults_has_the_same_sound_pages() -> None:
    whole, clean = Site(3, articles=300), Site(3, articles=300, faults=0)
    titles = {url: one.title for url, one in whole.resources.items() if one.fault is None}
    assert titles == {url: one.title for url, one in clean.resources.items()}
    assert not clean.lures and any(one.fault for one in whole.resources.values())


def test_no_two_pages_have_the_same_address() -> None:
    assert len(SOUND) == SITE.articles + len(SITE.lists)
    assert all(url == one.url and url.split("/")[2] in SITE.hosts for url, one in SITE.resources.items())


def test_beside_the_lists_every_kind_of_fault_is_as_frequent_as_the_others() -> None:
    beside = Counter(one.fault for one in SITE.resources.values() if one.of in SITE.lists)
    assert set(beside) == set(FAULTS) and beside.total() == FAULTY * len(SITE.lists)
    assert max(beside.values()) - min(beside.values()) <= 1


def test_a_faulty_page_has_the_title_of_the_sound_one_and_stands_elsewhere() -> None:
    for one in SITE.resources.values():
        if one.fault:
            assert SITE.resources[one.of].fault is None and SITE.resources[one.of].title == one.title
            assert one.url.startswith(f"http://{HOSTS[one.fault]}/") and one.url != one.of


def test_outdated_lists_are_dated_lack_rows_and_contradict_the_current_ones() -> None:
    old = [one for one in SITE.resources.values() if one.fault == "outdated" and one.of in SITE.lists]
    assert len(old) > 5
    for one in old:
        before, now = read(one.html).text, read(SITE.resources[one.of].html).text
        assert str(OLD_YEAR) in before and "2025" in now and "2025" not in before
        assert 0 < len(rows(before)) < len(rows(now))
        if set(SITE.lists[one.of].table.columns) & set(CHANGING):
            assert not set(map(tuple, rows(before))) & set(map(tuple, rows(now)))


def test_duplicates_say_the_same_in_another_order() -> None:
    for one in SITE.resources.values():
        if one.fault == "duplicate" and one.of in SITE.lists:
            again, first = rows(read(one.html).text), rows(read(SITE.resources[one.of].html).text)
            assert sorted(again) == sorted(first)


def test_short_pages_have_fewer_than_100_characters_and_no_sound_page_has() -> None:
    short = [one for one in SITE.resources.values() if one.fault == "short"]
    assert all(0 < len(read(one.html).text) < 100 for one in short)
    assert all(len(one.text) > 100 or len(read(one.html).text) > 100 for one in SOUND.values())


def test_an_injected_text_is_read_and_its_lure_is_on_no_other_page() -> None:
    injected = [one for one in SITE.resources.values() if one.fault in INJECTED]
    assert len(SITE.lures) == len(injected) > 20
    everything = set(words(" ".join(f"{one.text} {one.title}" for one in SOUND.values())))
    for one in injected:
        assert one.lure in read(one.html).text and one.lure.lower() not in everything
        assert SITE.fell_for(f"The answer is {one.lure.upper()}.") is one
    assert SITE.fell_for("42") is None


def test_a_list_has_all_of_its_kind_with_the_values_of_the_encyclopedia() -> None:
    page = next(page for page in SITE.lists.values() if page.table is TABLES["museums"])
    decade = int(page.place[4:8])
    assert list(page.rows) == [
        number
        for number in range(SITE.articles)
        if "architect" in facts(0, number) and decade <= facts(0, number)["founded"] < decade + 10
    ]
    url = next(url for url, one in SITE.lists.items() if one is page)
    tickets = [int(row[2]) for row in rows(read(SITE.resources[url].html).text)]
    assert tickets == [facts(0, number)["ticket"] for number in page.rows]


def test_a_search_finds_a_list_and_what_stands_beside_it() -> None:
    url, page = next((url, page) for url, page in SITE.lists.items() if page.table is TABLES["festivals"])
    hits = SITE.search(page.title)
    assert len(SITE.beside(url)) == FAULTY
    assert {url, *(one.url for one in SITE.beside(url))} <= {hit.url for hit in hits}
    assert [hit.position for hit in hits] == list(range(1, 11))
    assert all(0 < len(hit.snippet) <= SNIPPET + 2 for hit in hits)
    assert [hit.position for hit in SITE.search(page.title, 10, page=2)][:1] == [11]
    assert SITE.search("xylophone zzz") == []


@pytest.mark.parametrize("query", ["", "...", "the of", "\ud800", "a" * 5000])
def test_odd_queries_find_something_or_nothing(query: str) -> None:
    assert isinstance(SITE.search(query), list)


@settings(max_examples=50)
@given(st.text(max_size=400), st.text(max_size=30))
def test_a_snippet_is_short_and_of_the_page(text: str, query: str) -> None:
    found = snippet(text, query)
    assert len(found) <= SNIPPET + 2 and found.removesuffix(" …") in text
