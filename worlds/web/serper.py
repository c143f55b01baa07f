"""The real web, by Serper's search and scrape (https://serper.dev), with a key in SERPER_API_KEY.

Serper's machines fetch the pages, never this one. Serper does not document its answer to a page that it cannot read, so
every error except those of the key or a rate limit counts as the page's.
"""

from __future__ import annotations

import json
import os
import time
from functools import cache
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from lab.machine.faults import Unavailable
from worlds.base import WorldDied
from worlds.web.protocol import HITS, Hit, Page
from worlds.web.reading import LONGEST

KEY = "SERPER_API_KEY"
SEARCH, SCRAPE = "https://google.serper.dev/search", "https://scrape.serper.dev"
SECONDS = 30.0  # timeout; a scrape of a large page takes ten
MOST = 20_000_000  # bytes of an answer
TRIES = 3


class Refused(Exception):
    """The service rejects a request; the message says why."""


class SameAddress(HTTPRedirectHandler):
    """Follows no redirect: that would send the key to another host."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class Serper:
    """A `Web` behind Serper's endpoints. Any number of threads may use it."""

    def __init__(
        self, key: str = "", search: str = SEARCH, scrape: str = SCRAPE, seconds: float = SECONDS, pause: float = 2.0
    ) -> None:
        """key: default SERPER_API_KEY. search, scrape: addresses. seconds: timeout. pause: before a retry, growing."""
        self._key = key or os.environ.get(KEY, "").strip()
        self.addresses = {"search": search, "scrape": scrape}
        self.seconds, self.pause = seconds, pause

    def search(self, query: str, num: int = HITS) -> list[Hit]:
        """The results of a search, [] if the query is rejected. Raises Unavailable, WorldDied."""
        if not query.strip():
            return []
        try:
            return hits(self._ask("search", {"q": query, "num": num}))
        except Refused:
            return []

    def scrape(self, url: str) -> Page:
        """A page as Serper reads it. Raises Unavailable, WorldDied."""
        try:
            answer = self._ask("scrape", {"url": url, "includeMarkdown": True})
        except Refused as error:
            return Page(url, error=str(error))
        text = str(answer.get("markdown") or answer.get("text") or "")
        metadata = answer.get("metadata")
        title = str(metadata.get("title", "")) if isinstance(metadata, dict) else ""
        return Page(url, url, title, text[:LONGEST] + ("\n[the page goes on]" if len(text) > LONGEST else ""))

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a request, with retries. Raises Refused, Unavailable for the key, WorldDied if all tries fail."""
        if not self._key:
            raise Unavailable(f"searching the web needs a key of serper.dev: export {KEY}=…, or use data='synthetic'")
        problem = ""
        for attempt in range(TRIES):
            time.sleep(self.pause * attempt)
            try:
                return self._once(self.addresses[verb], body)
            except HTTPError as error:
                problem = f"{error.code} {message(error)}"
                if error.code in (401, 403) or "credit" in problem.lower():
                    reason = f"Serper refuses the key in {KEY} ({problem}); check it and its credits"
                    raise Unavailable(reason) from None
                if error.code != 429 and (error.code < 500 or verb == "scrape"):
                    raise Refused(problem) from None
            except (OSError, HTTPException, ValueError) as error:
                problem = str(error) or type(error).__name__
                if verb == "scrape" and isinstance(error, TimeoutError):
                    raise Refused(f"no answer within {self.seconds:g} seconds") from None
        raise WorldDied(f"{self.addresses[verb]} does not answer: {problem}. Run again; what was found is kept")

    def _once(self, address: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-API-KEY": self._key, "Content-Type": "application/json"}
        request = Request(address, json.dumps(body).encode(), headers)
        with opener(address).open(request, timeout=self.seconds) as response:
            answer = json.loads(response.read(MOST))
        if not isinstance(answer, dict):
            raise ValueError("the answer is no JSON object")
        return answer


@cache
def opener(address: str) -> OpenerDirector:
    """The opener for an address, cached since it takes 10 ms to make. Requests to this machine bypass the proxy."""
    is_local = urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    return build_opener(SameAddress, *([ProxyHandler({})] if is_local else []))


def hits(answer: dict[str, Any]) -> list[Hit]:
    """The organic results that have an address."""
    listed = answer.get("organic")
    rows = [row for row in listed if isinstance(row, dict) and row.get("link")] if isinstance(listed, list) else []
    return [
        Hit(str(row.get("title", "")), str(row["link"]), str(row.get("snippet", "")), position)
        for position, row in enumerate(rows, start=1)
    ]


def message(error: HTTPError) -> str:
    """The reason that an error response gives, truncated."""
    try:
        answer = json.loads(error.read(10_000))
        return str(answer["message"])[:300]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return str(error.reason)
