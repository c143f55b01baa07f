"""The list pages of the synthetic web: the topics and columns of their tables.

Facts that a table leaves out, its `details`, are in the entities' own articles.
"""

from __future__ import annotations

from dataclasses import dataclass

HEADINGS = {
    "town": "Town", "ticket": "Ticket (dollars)", "closed": "Closed on", "founded": "Founded", "elevation":
    "Elevation (metres)", "population": "Inhabitants", "year": "Year", "genre": "Genre", "style": "Style", "performer":
    "Performer", "author": "Author", "price": "Price (dollars)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """A kind of list page: entities of one kind, grouped by a shared value.

    by: the grouping relation, or "decade" of the foundation. title: with {place} for the shared value. one: the noun
    for a row. details: facts that are not in the table.
    """

    name: str
    kind: str
    by: str
    title: str
    one: str
    columns: tuple[str, ...]
    details: tuple[str, ...]


TABLES = {
    table.name: table
    for table in (
        Table("museums", "museum", "decade", "Museums opened in {place}", "museum", ("town", "ticket", "closed"),
              ("walk",)),
        Table("festivals", "festival", "month", "Festivals in {place}", "festival", ("town", "ticket"),
              ("visitors", "founded")),
        Table("businesses", "business", "service", "Prices of {place}", "name", ("town", "price"),
              ("walk", "closed")),
        Table("universities", "university", "country", "Universities of {place}", "university", ("town", "founded"),
              ("students",)),
        Table("towns", "town", "region", "Towns of {place}", "town", ("population", "elevation"), ("founded",)),
        Table("films", "film", "studio", "Films made by {place}", "film", ("year", "genre"), ("runtime",)),
        Table("albums", "album", "label", "Albums released by {place}", "album", ("performer", "year", "style"),
              ("tracks",)),
        Table("novels", "novel", "publisher", "Novels published by {place}", "novel", ("author", "year", "genre"),
              ("pages",)),
    )
}  # fmt: skip
