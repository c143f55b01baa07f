"""Serper's search and scrape, before a server that answers in its shape, and when the service fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.faults import Unavailable
from worlds.base import WorldDied
from worlds.web.protocol import Hit
from worlds.web.serper import Serper, hits

KEY = "a-key-that-nobody-has"


@contextmanager
def service(*answers: tuple[int, str]) -> Iterator[tuple[Serper, list[dict[str, object]]]]:
    """Serper before a server that gives some answers in turn, and what it was asked."""
    asked: list[dict[str, object]] = []
    left = iter(answers)

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(json.loads(body) | {"key": self.headers["X-API-KEY"]})
            status, text = next(left)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        yield Serper(KEY, f"{base}/search", f"{base}/scrape", seconds=5, pause=0), asked
        server.shutdown()


def test_without_a_key_the_first_search_says_which_variable_to_set() -> None:
    with pytest.raises(Unavailable, match="export SERPER_API_KEY"):
        Serper().search("museums")


@pytest.mark.parametrize("answer", [(403, '{"message": "Unauthorized."}'), (400, '{"message": "Not enough credits"}')])
def test_a_key_that_is_refused_or_spent_stops_the_run_and_is_not_told(answer: tuple[int, str]) -> None:
    for verb in ("search", "scrape"):
        with service(answer) as (serper, asked):
            with pytest.raises(Unavailable, match="refuses the key in SERPER_API_KEY") as caught:
                getattr(serper, verb)("http://a.invalid/")
            assert KEY not in str(caught.value) and asked[0]["key"] == KEY


def test_a_rate_limit_is_waited_for() -> None:
    with service((429, "{}"), (503, "busy"), (200, '{"organic": []}')) as (serper, asked):
        assert serper.search("museums") == [] and len(asked) == 3
        assert asked[0] == {"q": "museums", "num": 10, "key": KEY}


@pytest.mark.parametrize("answer", [(500, "oops"), (200, "<html>"), (200, "[]")])
def test_a_service_that_keeps_failing_is_a_dead_world(answer: tuple[int, str]) -> None:
    with service(*[answer] * 3) as (serper, asked), pytest.raises(WorldDied, match="does not answer"):
        serper.search("museums")
    assert len(asked) == 3
    with pytest.raises(WorldDied):  # nobody is there any more
        serper.scrape("http://a.invalid/")


def test_a_page_that_cannot_be_scraped_and_a_query_that_is_refused_are_values() -> None:
    with service((500, '{"message": "Scraping failed"}'), (400, "no"), (302, "")) as (serper, asked):
        assert serper.scrape("http://a.invalid/").error == "500 Scraping failed"
        assert serper.search("?") == []
        assert serper.search("no redirect is followed") == []
    assert len(asked) == 3


def test_a_scraped_page_comes_as_markdown_with_its_title() -> None:
    answer = {"text": "plain", "markdown": "# M", "metadata": {"title": "T"}, "credits": 2}
    with service((200, json.dumps(answer)), (200, '{"text": "plain", "metadata": []}')) as (serper, asked):
        page = serper.scrape("http://a.invalid/")
        assert (page.title, page.text, page.error) == ("T", "# M", "")
        assert serper.scrape("http://a.invalid/").text == "plain"
    assert asked[0] == {"url": "http://a.invalid/", "includeMarkdown": True, "key": KEY}


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=3))
ROW = st.fixed_dictionaries({}, optional={"title": JSON, "link": st.none() | st.text(max_size=5), "snippet": JSON})


@given(st.fixed_dictionaries({}, optional={"organic": JSON | st.lists(ROW, max_size=4)}))
def test_results_of_any_form_are_hits_or_left_out(answer: dict[str, object]) -> None:
    found = hits(answer)
    assert all(isinstance(one, Hit) and one.url and isinstance(one.title, str) for one in found)
    assert [one.position for one in found] == list(range(1, len(found) + 1))
