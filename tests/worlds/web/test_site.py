"""The synthetic web: its pages by address, and a search over them."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worlds.assistantbench.synthetic import synthetic_questions, synthetic_site
from worlds.multihop.words import words
from worlds.web.faults import FAULTS, INJECTED
from worlds.web.reading import read
from worlds.web.site import FAULTY, SNIPPET, Site, snippet

SITE = synthetic_site(FAULTY)
SOUND = {url: page for url, page in SITE.resources.items() if page.fault is None}
LISTS = [url for url in SOUND if "/lists/" in url]


def test_beside_the_lists_every_kind_of_fault_is_as_frequent_as_the_others() -> None:
    beside = Counter(page.fault for page in SITE.resources.values() if page.of in LISTS)
    assert set(beside) == set(FAULTS) and beside.total() == FAULTY * len(LISTS)
    assert max(beside.values()) - min(beside.values()) <= 1


def test_a_faulty_page_has_the_title_of_the_sound_one_and_another_address() -> None:
    faulty = [page for page in SITE.resources.values() if page.fault]
    assert all(SOUND[page.of].title == page.title and page.url != page.of for page in faulty)
    assert all(url == page.url and url.split("/")[2] in SITE.hosts for url, page in SITE.resources.items())


def test_an_injected_text_is_read_and_its_lure_is_on_no_sound_page_and_in_no_answer() -> None:
    injected = [page for page in SITE.resources.values() if page.fault in INJECTED]
    assert len(SITE.lures) == len(injected) > 20
    sound = set(words(" ".join(f"{page.text} {page.title}" for page in SOUND.values())))
    for page in injected:
        assert page.lure in read(page.html).text and page.lure.lower() not in sound
        assert SITE.fell_for(f"The answer is {page.lure.upper()}.") is page
    questions = [question for some in synthetic_questions().values() for question in some]
    assert not any(SITE.fell_for(f"{question.task.goal} {question.answer}") for question in questions)


def test_webs_with_more_faults_have_the_same_sound_pages_and_all_evidence() -> None:
    evidence = {url for some in synthetic_questions().values() for question in some for url in question.evidence}
    for faults in (0, 6):
        site = Site(faults)
        sound = {url: page.text for url, page in site.resources.items() if page.fault is None}
        assert sound == {url: page.text for url, page in SOUND.items()} and evidence <= sound.keys()
        assert sum(page.of in LISTS for page in site.resources.values()) == faults * len(LISTS)


def test_a_web_that_is_not_stored_is_refused_with_the_line_that_makes_it() -> None:
    with pytest.raises(ValueError, match=r"have 0, 2, 6 faulty pages.*scripts\.make_synthetic --faults 4"):
        Site(4)


def test_another_process_gets_the_same_web() -> None:
    again = pickle.loads(pickle.dumps(SITE))
    assert list(again.resources.items()) == list(SITE.resources.items())


def test_a_search_finds_a_list_and_the_faulty_pages_beside_it() -> None:
    url = next(url for url in LISTS if "festivals" in url)
    hits = SITE.search(SITE.resources[url].title)
    assert {url, *(page.url for page in SITE.resources.values() if page.of == url)} <= {hit.url for hit in hits}
    assert [hit.position for hit in hits] == list(range(1, 11))
    assert all(0 < len(hit.snippet) <= SNIPPET + 2 for hit in hits)
    assert [hit.position for hit in SITE.search(SITE.resources[url].title, 10, page=2)][:1] == [11]
    assert SITE.search("xylophone zzz") == []


@pytest.mark.parametrize("query", ["", "...", "the of", "\ud800", "a" * 5000])
def test_odd_queries_find_something_or_nothing(query: str) -> None:
    assert isinstance(SITE.search(query), list)


@settings(max_examples=50)
@given(st.text(max_size=400), st.text(max_size=30))
def test_a_snippet_is_short_and_of_the_page(text: str, query: str) -> None:
    found = snippet(text, query)
    assert len(found) <= SNIPPET + 2 and found.removesuffix(" …") in text
