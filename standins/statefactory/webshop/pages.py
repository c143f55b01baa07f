"""Parser of the shop's pages, by their buttons and the few fixed lines. The instruction is left out.

A page repeats the task under "Instruction:"; that text is a wish, not something that was seen.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["search", "results", "item", "text", "bought", "unknown"]
BOUGHT = "You have successfully purchased the product."
CLICKED = re.compile(r"You have clicked .*\.$")
BUTTON = re.compile(r"\s*\[(button|clicked button)\] (.*) \[\1_\]$")
NUMBER = re.compile(r"Page (\d+) \(Total results: (\d+)\)$")
PRICE_TAG = re.compile(r"\$[\d.,]+(?: to \$[\d.,]+)?$")
OTHER_END = re.compile(r"\s*(?:Your score|Thank you for shopping|Your code|Purchased)")  # says how well the agent did
NOTHING = "No reviews found"
FIXED = frozenset({"Back to Search", "Next >", "< Prev", "Buy Now", "Search",
                   "Description", "Features", "Reviews", "Attributes"})  # fmt: skip


class Listed(NamedTuple):
    """A product in a list of results."""

    title: str
    price: str


class Option(NamedTuple):
    """An option of a product. values: the choices. chosen: "" if none is."""

    name: str
    values: tuple[str, ...]
    chosen: str


class Page(NamedTuple):
    """The parts of a page; a part that this kind of page lacks is empty. texts: the prose of a product's sub-page."""

    kind: Kind
    number: str = ""
    total: str = ""
    listed: tuple[Listed, ...] = ()
    title: str = ""
    price: str = ""
    rating: str = ""
    options: tuple[Option, ...] = ()
    texts: tuple[str, ...] = ()
    unparsed: tuple[str, ...] = ()


class Line(NamedTuple):
    """A line of a page. button: the label of its button, "" for text. clicked: whether the button was clicked."""

    text: str
    button: str = ""
    clicked: bool = False


@lru_cache(maxsize=256)
def page(observation: str) -> Page:
    """Parse the page that an observation shows."""
    if observation.strip() == BOUGHT:
        return Page("bought")
    lines = _without_instruction([_line(text) for text in observation.split("\n") if text.strip()])
    refused = tuple(line.text for line in lines if OTHER_END.match(line.text))
    parsed = _page([line for line in lines if line.text not in refused])
    return parsed._replace(unparsed=(*parsed.unparsed, *refused))


def _page(lines: list[Line]) -> Page:
    buttons = {line.button for line in lines}
    if not buttons & FIXED:
        return Page("unknown", unparsed=tuple(line.text for line in lines))
    if "Search" in buttons:
        foreign = (line.text for line in lines if line.button not in FIXED and line.text != "WebShop")
        return Page("search", unparsed=tuple(foreign))
    if "Buy Now" in buttons:
        return _item(lines)
    number = next(filter(None, (NUMBER.match(line.text) for line in lines)), None)
    if number:
        return _results(lines, number)
    texts = tuple(line.text for line in lines if not line.button)
    unknown = tuple(line.text for line in lines if line.button and line.button not in FIXED)
    return Page("text", texts=tuple(text for text in texts if text != NOTHING), unparsed=unknown)


def _line(text: str) -> Line:
    match = BUTTON.match(text)
    return Line(text, match[2], match[1] == "clicked button") if match else Line(text)


def _without_instruction(lines: list[Line]) -> list[Line]:
    """The lines without the task and without those on clicked options, which the page shows elsewhere too."""
    start = next((number for number, line in enumerate(lines) if line.text == "Instruction:"), None)
    if start is None:
        return lines
    # The page also marks a chosen option on its button.
    before = [line for line in lines[:start] if not CLICKED.match(line.text)]
    end = next((n for n in range(start, len(lines)) if lines[n].button in FIXED), len(lines))
    return before + lines[end:]


def _results(lines: list[Line], number: re.Match[str]) -> Page:
    products: list[list[str]] = []  # for each product, the texts after its button
    foreign: list[str] = []
    for line in lines:
        if line.button in FIXED or line.text == number[0]:
            continue
        if line.button:
            products.append([])
        else:
            (products[-1] if products else foreign).append(line.text)
    products_listed: list[Listed] = []
    for texts in products:
        price = next((text for text in texts if PRICE_TAG.match(text)), "")
        title, *other_texts = [text for text in texts if text != price] or [""]
        if price:
            products_listed.append(Listed(title, price))
        foreign += other_texts if price else texts  # without a price tag it is no product
    return Page("results", number[1], number[2], tuple(products_listed), unparsed=tuple(foreign))


def _item(lines: list[Line]) -> Page:
    options: list[Option] = []
    foreign: list[str] = []
    title = price = rating = ""
    for line, next_line in zip(lines, [*lines[1:], Line("")], strict=True):
        if line.button in FIXED:
            continue
        if line.button and options:
            name, values, chosen = options.pop()
            options.append(Option(name, (*values, line.button), line.button if line.clicked else chosen))
        elif line.text.startswith("Price: "):
            price = line.text.removeprefix("Price: ")
        elif line.text.startswith("Rating: "):
            rating = line.text.removeprefix("Rating: ")
        elif next_line.text.startswith("Price: "):
            title = line.text
        elif next_line.button and next_line.button not in FIXED and not line.button:
            options.append(Option(line.text, (), ""))
        else:
            foreign.append(line.text)
    return Page("item", title=title, price=price, rating=rating, options=tuple(options), unparsed=tuple(foreign))
