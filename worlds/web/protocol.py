"""The two verbs with which an agent reads the web, and what they bring; addresses and texts are data, never orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

HITS = 10  # results of a search, as Serper's default


class Hit(NamedTuple):
    """A result of a search. position: from 1."""

    title: str
    url: str
    snippet: str
    position: int


@dataclass(frozen=True, slots=True)
class Page:
    """What became of a scrape.

    url: as it was asked for. address: of the page that was read, after redirects. text: in Markdown, tables included.
    error: "" or why there is no text, in words for an agent to read.
    """

    url: str
    address: str = ""
    title: str = ""
    text: str = ""
    error: str = ""


class Web(Protocol):
    """A search engine and a reader of pages. A bad address or page is an error in `Page`, never an exception.

    What answers nobody raises: WorldDied for a service that is gone, Unavailable for a key that is wrong or spent.
    """

    def search(self, query: str, num: int = HITS) -> list[Hit]: ...

    def scrape(self, url: str) -> Page: ...

    def close(self) -> None: ...
