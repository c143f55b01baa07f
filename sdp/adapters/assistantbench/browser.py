"""Search and scrape as in A.4: with caches, the top result read automatically, and a blacklist of sites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from worlds.assistantbench import AssistantBench, WebTask
from worlds.web.protocol import Hit, Page

SHORTEST = 100  # characters; a shorter page is a failure (A.4)
WIDER = 3  # pages that the second source of evidence reads
GONE = ("answered 404", "answered 410")  # failures of a single link, which say nothing about the site


class SearchResult(NamedTuple):
    """A result of a search, with its query and the state of its page."""

    query: str
    hit: Hit
    state: str


@dataclass(frozen=True, slots=True)
class BrowserView:
    """The view: all searches and pages so far, also those of rejected attempts. JSON leaves out the texts."""

    queries: tuple[str, ...]
    pages: tuple[Page, ...]
    blacklist: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        pages = [{"url": page.url} | ({"error": fault(page)} if fault(page) else {}) for page in self.pages]
        return {"queries": list(self.queries), "pages": pages, "blacklist": list(self.blacklist)}


@dataclass
class Browser:
    """The world of an episode, with A.4's caches. Only `act` changes it.

    queries, uses: in order, with repetitions; the pages in `uses` are the evidence of the step that asked for them.
    answered: the submitted answer, "" if there is none.
    """

    world: AssistantBench
    searches: dict[str, Sequence[Hit]] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    blacklist: dict[str, str] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    answered: str = ""

    def start(self, task: WebTask) -> None:
        self.world.reset(task)
        self.answered = ""
        for record in (self.searches, self.pages, self.blacklist, self.queries, self.uses):
            record.clear()

    def gather(self, queries: Iterable[str], urls: Iterable[str], top: bool) -> bool:
        """Run the tools of one attempt; return whether any of them gave something that was not in the caches.

        top: a search reads its top result, or nothing if that site is on the blacklist; else its first result that is
        not on it.
        """
        fresh = [self.scrape(url) for url in urls]
        for query in queries:
            fresh.append(self.search(query))
            hits = self.searches.get(query, ())
            allowed = (hit.url for hit in (hits[:1] if top else hits) if host(hit.url) not in self.blacklist)
            fresh.append(self.scrape(next(allowed, "")))
        return any(fresh)

    def widen(self, words: str, since: int) -> None:
        """The second source of evidence: a search in the step's own words, and the next unread results.

        In the paper this is a model with its own search (A.4). since: index of the step's first query.
        """
        self.search(words)
        listed = reversed(self.listed(since, len(self.searches)))
        unread = [result.hit.url for result in listed if result.state == "unread"]
        first = [hit.url for hit in self.searches.get(words, ()) if hit.url in unread]
        for url in list(dict.fromkeys([*first, *unread]))[:WIDER]:
            self.scrape(url)

    def search(self, query: str) -> bool:
        """Search, unless the query has no words or was searched before; return whether the results are new."""
        if not any(map(str.isalnum, query)):
            return False
        self.queries.append(query)
        if query in self.searches:
            return False
        self.searches[query] = self.world.step(f"search {query}").facts.get("hits", ())
        return True

    def scrape(self, url: str) -> bool:
        """Read a page, unless it was read or its site is on the blacklist; return whether there is a new text.

        A failure puts the site on the blacklist, except if the page is gone.
        """
        if not url or host(url) in self.blacklist:
            return False
        new = url not in self.pages
        if new:
            page = self.pages[url] = self.world.step(f"scrape {url}").facts["page"]
            if (error := fault(page)) and not any(words in error for words in GONE):
                self.blacklist[host(url)] = error
        readable = not fault(self.pages[url])
        if readable:
            self.uses.append(url)
        return new and readable

    def answer(self, text: str) -> None:
        """Submit an answer. The first one counts, though a control may reject it and submit again."""
        if text and not self.answered:
            self.answered = text
            self.world.step(f"answer {text}")

    def read(self, since: int) -> tuple[Page, ...]:
        """The pages of `uses` from index `since` on, without repetitions, in order."""
        return tuple(self.pages[url] for url in dict.fromkeys(self.uses[since:]))

    def listed(self, since: int, top: int) -> list[SearchResult]:
        """The first `top` results of each query from index `since` on, no address twice."""
        results: dict[str, SearchResult] = {}
        for query in dict.fromkeys(self.queries[since:]):
            for hit in self.searches[query][:top]:
                results.setdefault(hit.url, SearchResult(query, hit, self._state(hit.url)))
        return list(results.values())

    def desk(self) -> BrowserView:
        return BrowserView(tuple(self.searches), tuple(self.pages.values()), tuple(self.blacklist))

    def _state(self, url: str) -> str:
        if url in self.pages:
            return "failed" if fault(self.pages[url]) else "read"
        return "blocked" if host(url) in self.blacklist else "unread"


def fault(page: Page) -> str:
    """Why a page cannot be used as evidence, "" if it can."""
    return page.error or (f"fewer than {SHORTEST} characters" if len(page.text.strip()) < SHORTEST else "")


def host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:  # not an address
        return ""
