"""The pages of the shop as text, in the official text mode `text_rich`, and what can be clicked on them.

A page is a list of elements; its text and its clicks are both read off the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from enum import StrEnum
from typing import NamedTuple

from worlds.webshop.catalogue import Product

RESULTS_A_PAGE = 10
BACK, NEXT, PREVIOUS, BUY, SEARCH = "Back to Search", "Next >", "< Prev", "Buy Now", "Search"
# "Attributes" is last because the official shop does not link to it; `item_page` leaves it out by its place.
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
BOUGHT = "You have successfully purchased the product."


class Kind(StrEnum):
    """What an element of a page is."""

    TEXT = "text"
    BUTTON = "button"
    OPTION = "option"
    PRODUCT = "product"


class Element(NamedTuple):
    """text: what it says. clicked: whether this option is chosen, or this product was looked at before."""

    text: str
    kind: Kind = Kind.TEXT
    clicked: bool = False


Page = list[Element]


def button(text: str) -> Element:
    return Element(text, Kind.BUTTON)


def heading(instruction: str) -> Page:
    return [Element("Instruction:"), Element(instruction)]


def search_page(instruction: str) -> Page:
    return [Element("WebShop"), *heading(instruction), button(SEARCH)]


def results_page(instruction: str, results: Sequence[Product], number: int, seen: Set[str]) -> Page:
    """One page of ten results. As in the official shop there is always a next page, be it empty."""
    page = [*heading(instruction), button(BACK), Element(f"Page {number} (Total results: {len(results)})")]
    page += [button(PREVIOUS)] if number > 1 else []  # the first page goes back by "Back to Search" alone
    page.append(button(NEXT))
    for product in results[(number - 1) * RESULTS_A_PAGE : number * RESULTS_A_PAGE]:
        page += [
            Element(product.asin, Kind.PRODUCT, product.asin in seen),
            Element(product.name),
            Element(product.price_tag),
        ]
    return page


def item_page(instruction: str, product: Product, chosen: Iterable[str], show_attributes: bool) -> Page:
    taken = set(chosen)
    page = [*heading(instruction), button(BACK), button(PREVIOUS)]
    for name, values in product.options.items():
        page.append(Element(name))
        page += [Element(value, Kind.OPTION, value in taken) for value in values]
    page += [Element(product.name), Element(f"Price: {product.price_tag}"), Element(f"Rating: {product.rating}")]
    return page + [button(name) for name in (SUB_PAGES if show_attributes else SUB_PAGES[:-1])] + [button(BUY)]


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """A product's description, features, reviews or attributes."""
    texts = {
        "Description": (product.description,),
        "Features": product.features,
        "Reviews": product.reviews or ("No reviews found",),
        "Attributes": (*product.attributes, product.category, product.query, " › ".join(product.path)),
    }[name]
    return [*heading(instruction), button(BACK), button(PREVIOUS), *map(Element, texts)]


def done_page() -> Page:
    return [Element(BOUGHT)]


def as_text(page: Page) -> str:
    """The page in words; options chosen are also named at its top, the last on the page first."""
    chosen = [element.text for element in page if element.kind is Kind.OPTION and element.clicked]
    lines = [line(element) for element in page if element.text]  # one product has no title, and no line for it
    return "\n".join([f"You have clicked {text}." for text in reversed(chosen)] + lines)


def line(element: Element) -> str:
    if element.kind is Kind.TEXT:
        return element.text
    before = {Kind.BUTTON: "", Kind.OPTION: "  ", Kind.PRODUCT: "\n"}[element.kind]
    mark = "clicked button" if element.clicked else "button"
    return f"{before}[{mark}] {element.text} [{mark}_]"


def clicks(page: Page) -> dict[str, Element]:
    """What can be clicked, by its text in lower case."""
    return {element.text.lower(): element for element in page if element.kind is not Kind.TEXT}
