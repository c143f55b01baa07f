"""The two verbs with which an agent reads the web, and their results. Page texts are data, never instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

HITS = 10  # results of a search, as Serper's default


class Hit(NamedTuple):
    """A search result. position: from 1."""

    title: str
    url: str
    snippet: str
    position: int


@dataclass(frozen=True, slots=True)
class Page:
    """The result of a scrape.

    url: the requested address. address: of the page that was read, after redirects. text: in Markdown, with tables.
    error: why there is no text, as a message for an agent; "" if there is none.
    """

    url: str
    address: str = ""
    title: str = ""
    text: str = ""
    error: str = ""


class Web(Protocol):
    """A search engine and a reader of pages. A bad address or page is an error in `Page`, never an exception.

    Raises WorldDied if the service does not answer, Unavailable if its key is wrong or its credits are used up.
    """

    def search(self, query: str, num: int = HITS) -> list[Hit]: ...

    def scrape(self, url: str) -> Page: ...

    def close(self) -> None: ...
