"""The synthetic web: its pages by address, a search over them, and what a scrape of each brings."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worlds.assistantbench.questions import synthetic_questions, synthetic_site
from worlds.multihop.index import words
from worlds.web.reading import LONGEST, read
from worlds.web.site import FAULTS, FAULTY, INJECTED, SNIPPET, UNREADABLE, Fault, Site, snippet

SITE = synthetic_site(FAULTY)
SOUND = {url: page for url, page in SITE.resources.items() if page.fault is None}
LISTS = [url for url in SOUND if "/lists/" in url]


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
    assert SITE.search("xylophone zzz") == []


@pytest.mark.parametrize("query", ["", "...", "the of", "\ud800", "a" * 5000])
def test_odd_queries_find_something_or_nothing(query: str) -> None:
    assert isinstance(SITE.search(query), list)


@settings(max_examples=50)
@given(st.text(max_size=400), st.text(max_size=30))
def test_a_snippet_is_short_and_of_the_page(text: str, query: str) -> None:
    found = snippet(text, query)
    assert len(found) <= SNIPPET + 2 and found.removesuffix(" …") in text


SAID = {
    "dead": "404 Not Found", "forbidden": "403 Forbidden", "slow": "within 0.2 seconds",
    "large": "more than 1,000,000 bytes", "redirect away": "tracker.invalid is no allowed host",
    "redirect inside": "private address", "loop": "redirects in a circle",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_what_it_says(fault: Fault) -> None:
    resource = next(one for one in SITE.resources.values() if one.fault == fault)
    page = SITE.scrape(resource.url)
    assert page.url == resource.url
    if fault in UNREADABLE:
        assert SAID[fault] in page.error and not page.text
    else:
        assert not page.error and page.title == resource.title and page.text
        assert page.address == (resource.of if fault == "redirect" else resource.url)


def test_a_list_is_read_with_its_table_and_without_navigation_and_scripts() -> None:
    url, page = LISTS[0], SITE.resources[LISTS[0]]
    text = SITE.scrape(url).text
    assert text.count("\n| ") >= page.html.count("<tr>") - 1
    assert not any(word in text for word in ("Home", "Contact", "window.visits", "serif", "All rights reserved"))


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "guide.example", "file:///etc/passwd", "ftp://guide.example/", "https://guide.example/", "http://",
        "http:///x", "http://[::1", "http://[::1]/", "http://127.0.0.1/", "http://localhost:8888/", "http://2130706433/",
        "http://169.254.169.254/latest/meta-data/", "http://guide.example@10.0.0.1/", "http://guide.example:81/",
        "http://guide.example./", "http://guide.example.evil.invalid/", "http://guide.example\\@evil.invalid/",
        "http://guide.example/\r\nX-Header: 1", "http://gu\u0131de.example/", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_an_address_outside_of_the_made_web_is_refused(url: str) -> None:
    page = SITE.scrape(url)
    assert page.error and not page.text


@settings(max_examples=60)
@given(st.text(max_size=30), st.sampled_from(["", "http://", "http://guide.example/", "http://guide.example"]))
def test_any_text_as_an_address_brings_a_page_or_an_error(text: str, start: str) -> None:
    page = SITE.scrape(start + text)
    assert bool(page.text) != bool(page.error)


@settings(max_examples=60)
@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["<p>", "<table>", "<td", ">", "&amp;", "<!--", "x", "\0"])).map("".join)
)
def test_any_text_can_be_read(html: str) -> None:
    assert len(read(html).text) <= len(html) + 20


def test_a_page_with_too_many_elements_for_the_extractor_is_read_as_plain_text_in_time() -> None:
    began = time.process_time()
    assert read(f"<table><tr>{'<td>1</td>' * 90_000}</tr></table>").text.startswith("1\n1\n1")  # 22 s without the bound
    assert time.process_time() - began < 5


def test_a_long_page_is_cut_and_says_so() -> None:
    text = read("<html><title> A \n b</title><body>" + "<p>Many words.</p>" * 5000).text
    assert len(text) < LONGEST + 30 and text.endswith("[the page goes on]")
