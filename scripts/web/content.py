"""What pages of the synthetic web say, before it is HTML: articles, and list pages with their tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from scripts.encyclopedia.articles import text
from scripts.encyclopedia.chains import spoken
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.names import title
from scripts.encyclopedia.relations import Facts
from scripts.web import markup
from scripts.web.tables import ListPage, cell, heading

Stated = Callable[[int], Facts]  # number -> what a page says of the entity


@dataclass(frozen=True, slots=True)
class Content:
    """A page's title, its paragraphs, and its table, if it has one; updated: a date as the reader sees it."""

    title: str
    updated: str
    lines: tuple[str, ...]
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """What a search engine keeps of it."""
        table = [markup.plain(self.headings, self.rows)] if self.rows else []
        return " ".join([*self.lines, *table])

    def html(self, host: str) -> str:
        table = markup.table(self.headings, self.rows) if self.rows else ""
        body = markup.paragraphs(*self.lines) + "\n" + table
        return markup.document(host, self.title, self.updated, body, about=self.lines[0][:150])


def article(seed: int, number: int, updated: str, stated: Facts | None = None) -> Content:
    """An entity's article. stated: what it says in place of the entity's facts."""
    return Content(title(seed, number), updated, (text(seed, number, stated),))


def listing(seed: int, page: ListPage, updated: str, stated: Stated | None = None) -> Content:
    """A list page. stated: what it says of its entities in place of their facts."""
    said = stated or (lambda number: facts(seed, number))
    return Content(
        page.title,
        updated,
        (f"{page.title}, with the facts that visitors ask for most.",),
        (page.table.one.capitalize(), *(heading(page, seed, column) for column in page.table.columns)),
        tuple(
            (spoken(seed, number), *(cell(seed, said(number), column) for column in page.table.columns))
            for number in page.rows
        ),
    )


def slug(title: str) -> str:
    """A title as a part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
