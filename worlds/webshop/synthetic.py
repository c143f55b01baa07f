"""A synthetic catalogue and its instructions: invented products in the format of the official ones, from a seed.

The kinds of products, with their vocabulary, are in `data/synthetic/webshop_kinds.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from worlds.frozen import read_rows
from worlds.webshop.catalogue import NO_PRICE, Catalogue, Instruction, Product

PRODUCTS, BRANDS = 600, 60
INSTRUCTIONS = {"train": 60, "test": 60}
WITHOUT_PRICE, WITH_RANGE, WITHOUT_OPTIONS = 0.05, 0.12, 0.3  # shares of products, about as in the official catalogue
OPENINGS = ("Find me", "i am looking for", "i want", "i need", "show me")
ID_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SYLLABLES = (
    "al", "bren", "cor", "dal", "el", "fen", "gar", "hol", "is", "jun", "kel", "lor", "mav", "nor", "or", "pel", "quin",
    "ros", "sil", "tam", "ul", "ver", "wes", "yar", "zan",
)  # fmt: skip
ENDINGS = ("a", "by", "co", "den", "ea", "field", "ika", "li", "mere", "o", "ora", "ton", "via", "wick")
LINES = ("Classic", "Deluxe", "Essential", "Everyday", "Heritage", "Mini", "Original", "Premium", "Select", "Studio")


class ProductKind(NamedTuple):
    """A kind of product. query: its search term. names: nouns for titles. prices: lowest and highest, in dollars.

    For the reward, products with the same query, or with two categories in common, are of one kind.
    """

    category: str
    path: Sequence[str]
    query: str
    names: Sequence[str]
    attributes: Sequence[str]
    uses: Sequence[str]
    options: Mapping[str, Sequence[str]]
    prices: tuple[float, float]


def synthetic_catalogue(seed: int) -> Catalogue:
    """600 products of 15 kinds in 10 departments, the same for the same seed."""
    rng = Random(f"webshop catalogue {seed}")
    brands = sorted({(rng.choice(SYLLABLES) + rng.choice(ENDINGS)).capitalize() for _ in range(BRANDS)})
    kinds = [ProductKind(**row) for row in read_rows("webshop_kinds.jsonl")]
    products: dict[str, Product] = {}
    names: set[str] = set()
    while len(products) < PRODUCTS:
        product = synthetic_product(rng, kinds[len(products) % len(kinds)], rng.choice(brands))
        if product.asin not in products and product.name not in names:
            products[product.asin] = product
            names.add(product.name)
    # Shuffled, since search results with equal scores come in this order, which should not reveal the kind.
    shuffled = list(products.values())
    rng.shuffle(shuffled)
    return Catalogue(shuffled)


def synthetic_instructions(catalogue: Catalogue, seed: int) -> dict[str, list[Instruction]]:
    """60 instructions per split, each about a different product."""
    rng = Random(f"webshop instructions {seed}")
    chosen = iter(rng.sample(catalogue.products, sum(INSTRUCTIONS.values())))
    return {
        split: [synthetic_instruction(rng, next(chosen)) for _ in range(number)]
        for split, number in INSTRUCTIONS.items()
    }


def synthetic_product(rng: Random, kind: ProductKind, maker: str) -> Product:
    name, use = rng.choice(kind.names), rng.choice(kind.uses)
    attributes = tuple(rng.sample(kind.attributes, rng.randint(2, 4)))
    title_phrases = [phrase.title() for phrase in attributes[:2]]
    without_options = rng.random() < WITHOUT_OPTIONS
    return Product(
        asin="B0" + "".join(rng.choices(ID_LETTERS, k=8)),
        name=f"{maker} {rng.choice(LINES)} {name}, {', '.join(title_phrases)}, for {use.title()}",
        query=kind.query,
        path=tuple(kind.path),
        pricing=made_pricing(rng, kind.prices),
        description=f"The {name.lower()} by {maker} is {' and '.join(attributes)}. Made for {use}.",
        features=tuple(f"{phrase.upper()} - what you expect of {name.lower()} for {use}" for phrase in attributes),
        options={} if without_options else {option: some_of(rng, values) for option, values in kind.options.items()},
        attributes=attributes,
    )


def some_of(rng: Random, values: Sequence[str]) -> tuple[str, ...]:
    """Two or more of the values, in their order."""
    chosen = rng.sample(values, rng.randint(2, len(values)))
    return tuple(value for value in values if value in chosen)


def made_pricing(rng: Random, bounds: tuple[float, float]) -> tuple[float, ...]:
    if rng.random() < WITHOUT_PRICE:
        return (NO_PRICE,)
    prices = sorted(round(rng.uniform(*bounds), 2) for _ in range(2))
    return tuple(prices) if rng.random() < WITH_RANGE else (prices[0],)


def synthetic_instruction(rng: Random, product: Product) -> Instruction:
    requested = tuple(rng.sample(product.attributes, rng.randint(1, 2)))
    return Instruction(product.asin, f"{rng.choice(OPENINGS)} {', '.join(requested)} {product.query}", requested)
