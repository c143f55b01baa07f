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
# As in Lucene, which the official shop uses. bm25s has Lucene's scoring, stop words and (with PyStemmer) stemmer, is
# maintained, and needs only numpy; tantivy, the alternative, has fixed k1 and b and breaks ties by segment.
K1, B = 0.9, 0.4
STEMMER = "porter"
WORD = r"(?u)\b\w+\b"  # includes words of one letter, such as sizes
NO_PRICE = 100.0  # dollars; the engine's price if the catalogue has none


class SearchEngine:
    """BM25 search over texts; results are positions in the given sequence."""

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
        """Positions of at most 50 texts with a word of the query, best first; ties in the given order."""
        import numpy as np

        query_words = [word for word in stemmed([query])[0] if word and word in self.index.vocab_dict]
        if not query_words:
            return ()
        scores = self.index.get_scores(query_words)
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
    """One product, after the official engine's cleaning.

    asin: its id. name: the title. query: the search that it was collected with, which is its kind. path: its
    categories, from widest to narrowest. pricing: one price or the two bounds of a range, in dollars. options: option
    name -> values, both in lower case, in page order. attributes: short phrases such as "easy clean", mined from its
    text. No product of the official file has a rating or reviews.
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
        """The product's text in the official index, which has only the first of its features."""
        option_texts = [f"{name}: {', '.join(values)}" for name, values in self.options.items()]
        return " ".join([self.name, self.description, *self.features[:1], ", and ".join(option_texts)]).lower()

    @property
    def prose(self) -> tuple[str, str, str]:
        """The texts in which a requested attribute is searched: title, features, description; in lower case."""
        return self.name.lower(), " ".join(self.features).lower(), self.description.lower()


@dataclass(frozen=True, slots=True)
class Instruction:
    """A request, and the product that its writer had in mind.

    options: the requested option values; None if the engine adds a combination of the product's options to the text.
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
    """A product's price in dollars; within a range, the engine samples it once."""
    if len(product.pricing) == 1:
        return product.pricing[0]
    # Seeded per product, so that a price does not depend on earlier calls for other products.
    return Random(f"webshop price {seed} {product.asin}").uniform(*product.pricing)


def product_from_record(record: Mapping[str, Any]) -> Product:
    """One line of the compact official catalogue, or one product of the official files after `official.cleaned`."""
    return Product(
        asin=record["asin"],
        name=record["Title"],
        query=record["query"],
        # "›" separates the categories, from widest to narrowest.
        path=tuple(part.strip() for part in record["product_category"].split("›")),
        pricing=tuple(record["pricing"] or (NO_PRICE,)),
        description=record["Description"],
        features=tuple(record["BulletPoints"]),
        options={name: tuple(dict.fromkeys(values)) for name, values in record["options"].items()},
        attributes=tuple(record["Attributes"]),
    )
