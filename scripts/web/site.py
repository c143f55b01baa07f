"""The pages of the synthetic web: articles of the encyclopedia, list pages over them, and faulty pages, from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from random import Random

from scripts.encyclopedia.layout import kind_of
from scripts.encyclopedia.names import title
from scripts.web.content import Content, Stated, article, listing, slug
from scripts.web.faults import faulty
from scripts.web.tables import ListPage, list_pages
from worlds.web.faults import FAULTS, Fault, Resource
from worlds.web.tables import TABLES

ARTICLES = 2_000
SHARE = 0.25  # of the articles of listed entities have a faulty page beside them
ARTICLE_FAULTS: tuple[Fault, ...] = ("dead", "forbidden", "slow", "short", "redirect", "duplicate", "outdated")
ENCYCLOPEDIA, GUIDE = "encyclopedia.example", "guide.example"


class Site:
    """All that the synthetic web has, by address, in the order of its search index.

    seed, articles: of the encyclopedia. faults: how many faulty pages stand beside each list page; 0 is a web without.
    Each kind of fault is as frequent as any other, and which page has which follows from the seed.
    """

    def __init__(self, seed: int = 0, articles: int = ARTICLES, faults: int = 2) -> None:
        self.seed, self.articles, self.faults = seed, articles, faults
        self.lists: dict[str, ListPage] = {}  # by address
        self.resources: dict[str, Resource] = {}
        found = [*self._articles(), *self._lists()]
        # In no order, since equally good results of a search come in the order of the corpus.
        Random(f"web order {seed}").shuffle(found)
        for resource in found:
            self.resources[resource.url] = resource

    def article_url(self, number: int) -> str:
        """Where an entity's own page is."""
        return address(ENCYCLOPEDIA, "wiki", title(self.seed, number))

    def _articles(self) -> Iterator[Resource]:
        listed = {table.kind for table in TABLES.values()}
        rng = Random(f"web articles {self.seed}")
        for number in range(self.articles):
            content = article(self.seed, number, dated(rng))
            sound = Resource(self.article_url(number), content.title, content.text, content.html(ENCYCLOPEDIA))
            yield sound
            if self.faults and kind_of(number) in listed and rng.random() < SHARE:

                def rewritten(updated: str, stated: Stated, number: int = number) -> Content:
                    return article(self.seed, number, updated, stated(number))

                yield faulty(self.seed, rng.choice(ARTICLE_FAULTS), sound, content, rewritten, rng)

    def _lists(self) -> Iterator[Resource]:
        rng = Random(f"web lists {self.seed}")
        kinds = cycle(rng.sample(FAULTS, len(FAULTS)))
        for page in list_pages(self.seed, self.articles):
            content = listing(self.seed, page, dated(rng))
            sound = Resource(address(GUIDE, "lists", content.title), content.title, content.text, content.html(GUIDE))
            self.lists[sound.url] = page
            yield sound

            def rewritten(updated: str, stated: Stated, page: ListPage = page) -> Content:
                return listing(self.seed, page, updated, stated)

            for fault in islice(kinds, self.faults):
                yield faulty(self.seed, fault, sound, content, rewritten, rng)


def address(host: str, folder: str, title: str) -> str:
    return f"http://{host}/{folder}/{slug(title)}"


def dated(rng: Random) -> str:
    """When a current page was last changed."""
    return f"{1 + rng.randrange(28)} March 2025"
