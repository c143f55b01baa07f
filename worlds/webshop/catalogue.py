"""The shop's catalogue: products, the instructions written about them, and a search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

from lab.machine.doctor import INSTALL

RESULTS = 50
# What Lucene's searcher uses in the official shop. bm25s has its scoring, stop words and (with PyStemmer) its stemmer,
# is kept up, and is numpy alone; tantivy, the other candidate, has fixed k1 and b and breaks ties by segment.
K1, B = 0.9, 0.4
STEMMER = "porter"
WORD = r"(?u)\b\w+\b"  # with words of one letter, as sizes are
NO_PRICE = 100.0  # dollars; what the engine charges where the catalogue names no price


class SearchEngine:
    """An index of texts by their position."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Raises ImportError, saying how to install it, if a package is missing."""
        try:
            import bm25s
            import Stemmer  # noqa: F401
        except ImportError as error:
            raise ImportError(f"WebShop's search needs a package: {error}. Install it with: {INSTALL}") from error
        self.index = bm25s.BM25(k1=K1, b=B, method="lucene")
        self.index.index(stemmed(texts), show_progress=False)

    def search(self, query: str) -> tuple[int, ...]:
        """Positions of at most 50 texts with a word of the query, best first; equally good ones in the given order."""
        import numpy as np

        known = [word for word in stemmed([query])[0] if word and word in self.index.vocab_dict]
        if not known:
            return ()
        scores = self.index.get_scores(known)
        best = np.argsort(-scores, kind="stable")[:RESULTS]
        return tuple(int(position) for position in best if scores[position] > 0)


def stemmed(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text, stemmed, without stop words."""
    import bm25s
    import Stemmer

    return bm25s.tokenize(
        list(texts),
        token_pattern=WORD,
        stopwords="en",
        stemmer=Stemmer.Stemmer(STEMMER),
        return_ids=False,
        show_progress=False,
    )


@dataclass(frozen=True, slots=True)
class Product:
    """One product as the engine's cleaning leaves it.

    asin: its id. name: the title. query: the search that it was collected with, its kind. path: the
    categories it lies in, from the widest to the narrowest. pricing: one price or the two bounds of a range, in
    dollars. options: option name -> values, both in lower case, in page order. attributes: short phrases such as "easy
    clean", mined from its text. No product of the official file has a rating or reviews.
    """

    asin: str
    name: str
    query: str
    path: tuple[str, ...]
    pricing: tuple[float, ...]
    description: str = ""
    features: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()

    @property
    def price_tag(self) -> str:
        return " to ".join(f"${price}" for price in self.pricing)

    @property
    def searchable(self) -> str:
        """What the official index holds of a product: of its features, the first alone."""
        offered = [f"{name}: {', '.join(values)}" for name, values in self.options.items()]
        return " ".join([self.name, self.description, *self.features[:1], ", and ".join(offered)]).lower()

    @property
    def prose(self) -> tuple[str, str, str]:
        """The texts that an asked-for attribute is looked up in: title, features, description; in lower case."""
        return self.name.lower(), " ".join(self.features).lower(), self.description.lower()


@dataclass(frozen=True, slots=True)
class Instruction:
    """What somebody asks for, with a product that they had in mind.

    options: the option values that the text asks for; None where the engine adds one combination of the product's
    options to the text.
    """

    asin: str
    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] | None = None


class Catalogue:
    """Products in a fixed order, with a search over them."""

    def __init__(self, products: Sequence[Product]) -> None:
        self.products = tuple(products)
        self.by_asin = {product.asin: product for product in self.products}

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """The kinds of products sold, sorted."""
        return tuple(sorted({product.query for product in self.products}))

    @cached_property
    def query_words(self) -> dict[str, frozenset[str]]:
        """The words of each kind, in the order of `queries`."""
        return {query: words(query) for query in self.queries}

    @cached_property
    def engine(self) -> SearchEngine:
        return SearchEngine([product.searchable for product in self.products])

    def search(self, query: str) -> tuple[Product, ...]:
        """At most 50 products, the best match first; none if no word of the query is known."""
        return tuple(self.products[position] for position in self.engine.search(query))


def words(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(re.findall(r"\w+", text.lower()))


def price_of(product: Product, seed: int) -> float:
    """What a product costs, in dollars: the engine draws it once between the bounds of a range."""
    if len(product.pricing) == 1:
        return product.pricing[0]
    # Seeded by product, so that a price does not depend on which others were asked for before.
    return Random(f"webshop price {seed} {product.asin}").uniform(*product.pricing)


def product_from_record(record: Mapping[str, Any]) -> Product:
    """One line of the compact official catalogue, or one product of the official files after `official.cleaned`."""
    return Product(
        asin=record["asin"],
        name=record["Title"],
        query=record["query"],
        # "›" parts the categories, from the widest to the narrowest.
        path=tuple(part.strip() for part in record["product_category"].split("›")),
        pricing=tuple(record["pricing"] or (NO_PRICE,)),
        description=record["Description"],
        features=tuple(record["BulletPoints"]),
        options={name: tuple(dict.fromkeys(values)) for name, values in record["options"].items()},
        attributes=tuple(record["Attributes"]),
    )
