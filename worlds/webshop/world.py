"""The shop as a world: its pages as text, in the official text mode `text_rich`, and one visit at a time.

A page is a list of elements; its text and its clickable elements both come from that list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple

from worlds.base import EpisodeOver, ListingWorld, Step
from worlds.webshop.catalogue import Catalogue, Product, price_of, words
from worlds.webshop.goals import SPLITS, Goal, GoalSet, ShopTask
from worlds.webshop.reward import score

RESULTS_A_PAGE = 10
BACK, NEXT, PREVIOUS, BUY, SEARCH = "Back to Search", "Next >", "< Prev", "Buy Now", "Search"
SUB_PAGES = ("Description", "Features", "Reviews")
BOUGHT = "You have successfully purchased the product."
ACTION = re.compile(r"\s*(search|click)\[(.+)\]\s*", re.IGNORECASE | re.DOTALL)
BY_NAME = "item - "  # a notation of the paper's baseline agents; on the official pages, ids are clicked
OTHER_QUERIES = 4  # listed on the search page, besides the instruction itself


class Kind(StrEnum):
    """The kind of a page element."""

    TEXT = "text"
    BUTTON = "button"
    OPTION = "option"
    PRODUCT = "product"


BEFORE = {Kind.BUTTON: "", Kind.OPTION: "  ", Kind.PRODUCT: "\n"}


class Element(NamedTuple):
    """An element of a page. clicked: whether this option is chosen, or this product was opened before."""

    text: str
    kind: Kind = Kind.TEXT
    clicked: bool = False


Page = list[Element]


def button(text: str) -> Element:
    return Element(text, Kind.BUTTON)


def heading(instruction: str) -> Page:
    return [Element("Instruction:"), Element(instruction)]


def results_page(instruction: str, results: Sequence[Product], number: int, seen: Set[str]) -> Page:
    """One page of ten results. As in the official shop there is always a next page, even an empty one."""
    page = [*heading(instruction), button(BACK), Element(f"Page {number} (Total results: {len(results)})")]
    page += [button(PREVIOUS)] if number > 1 else []  # the first page has only "Back to Search"
    page.append(button(NEXT))
    for product in results[(number - 1) * RESULTS_A_PAGE : number * RESULTS_A_PAGE]:
        page += [
            Element(product.asin, Kind.PRODUCT, product.asin in seen),
            Element(product.name),
            Element(product.price_tag),
        ]
    return page


def item_page(instruction: str, product: Product, chosen: Iterable[str]) -> Page:
    chosen_values = set(chosen)
    page = [*heading(instruction), button(BACK), button(PREVIOUS)]
    for name, values in product.options.items():
        page.append(Element(name))
        page += [Element(value, Kind.OPTION, value in chosen_values) for value in values]
    page += [Element(product.name), Element(f"Price: {product.price_tag}"), Element("Rating: N.A.")]
    return page + [button(name) for name in (*SUB_PAGES, BUY)]


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """A product's description, features or reviews."""
    texts = {
        "Description": (product.description,),
        "Features": product.features,
        "Reviews": ("No reviews found",),
    }[name]
    return [*heading(instruction), button(BACK), button(PREVIOUS), *map(Element, texts)]


def as_text(page: Page) -> str:
    """The page as text; chosen options are also named at the top, in reverse page order."""
    chosen = [element.text for element in page if element.kind is Kind.OPTION and element.clicked]
    lines = [f"You have clicked {text}." for text in reversed(chosen)]
    for element in page:
        mark = "clicked button" if element.clicked else "button"
        if element.kind is not Kind.TEXT:
            lines.append(f"{BEFORE[element.kind]}[{mark}] {element.text} [{mark}_]")
        elif element.text:  # one product has no title, and no line for it
            lines.append(element.text)
    return "\n".join(lines)


def clicks(page: Page) -> dict[str, Element]:
    """The clickable elements, by their text in lower case."""
    return {element.text.lower(): element for element in page if element.kind is not Kind.TEXT}


@dataclass(slots=True)
class Visit:
    """The state of a shopper. place: "search", "results", "item", "done" or the name of a sub-page."""

    task: ShopTask
    place: str = "search"
    query: str = ""
    results: tuple[Product, ...] = ()
    number: int = 1
    product: Product | None = None
    chosen: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    score: float = 0.0


class WebShop(ListingWorld):
    """A shop with a single purchase per episode: `search[...]` on the search page, `click[...]` everywhere.

    Case does not matter. A product is clicked by its id, as `click[item - ID]` or as `click[item - TITLE]`. Any other
    action, also `click[search]`, changes nothing and shows the page again. The score is 0 until the purchase, which
    ends the episode, and then the reward of `worlds.webshop.reward`.

    The official shop differs in one point: it accepts `search[...]` on every page, though only one has a search bar.
    """

    goes_on = False
    splits = SPLITS

    def __init__(
        self,
        catalogue: Catalogue,
        goal_set: GoalSet,
        data: str,
        seed: int = 0,
        list_actions: bool = True,
    ) -> None:
        self.catalogue = catalogue
        self.data = data
        self.seed = seed
        self.list_actions = list_actions
        self._goal_set = goal_set
        self._known = {task.id: task for tasks in goal_set.tasks.values() for task in tasks}
        self._visit: Visit | None = None

    def tasks(self, split: str) -> Sequence[ShopTask]:
        """The tasks of a split. Raises ValueError for an unknown split, naming the known ones."""
        if split not in self.splits:
            raise ValueError(f"WebShop has no split {split!r}; choose one of {', '.join(self.splits)}")
        return self._goal_set.tasks[split]

    def reset(self, task: ShopTask) -> Step:
        """Open the search page. Raises LookupError for a task of another shop (other data, or another seed)."""
        # An id is not enough: the synthetic shops of all seeds have the same ids.
        if self._known.get(task.id) != task:
            raise LookupError(f"task {task.id!r} is not of this shop ({self.data} data, seed {self.seed})")
        self._visit = Visit(task)
        return self._shown()

    def step(self, action: str) -> Step:
        """Search or click. Raises EpisodeOver after the purchase and before any `reset`."""
        visit = self._visit
        if visit is None:
            raise EpisodeOver("WebShop.step was called before reset")
        if visit.place == "done":
            raise EpisodeOver(f"{visit.task.id} ended with the purchase; call reset")
        match = ACTION.fullmatch(action)
        verb, text = (match[1].lower(), match[2].strip().lower()) if match else ("", "")
        if verb == "search" and visit.place == "search" and text:
            visit.place, visit.query, visit.number = "results", text, 1
            visit.results = self.catalogue.search(text)
        elif verb == "click":
            self._click(visit, text)
        return self._shown()

    def valid_actions(self) -> tuple[str, ...]:
        """The valid actions, sorted.

        The official shop accepts any query on the search page. Listed there are the instruction itself and four kinds
        of products that it does not name, sampled by the task's id; the paper's failing shoppers type both (Tables 27
        and 29). Raises EpisodeOver before any `reset`.
        """
        visit = self._visit
        if visit is None:
            raise EpisodeOver("WebShop.valid_actions was called before reset")
        if visit.place == "done":
            return ()
        actions = [f"click[{label}]" for label in clicks(self._page(visit))]
        if visit.place == "search":
            actions += [f"search[{query}]" for query in self._queries(visit.task)]
        return tuple(sorted(set(actions)))

    def close(self) -> None:
        """End the visit; nothing else is open."""
        self._visit = None

    def hidden_goal(self, task: ShopTask) -> Goal:
        """A task's hidden goal: for experts and tests, never for an agent.

        Raises KeyError for a task of another shop.
        """
        return self._goal_set.goals[task.id]

    def _click(self, visit: Visit, text: str) -> None:
        element = clicks(self._page(visit)).get(self._product_named(visit, text))
        if element is None:
            return
        if element.kind is Kind.PRODUCT:
            visit.place, visit.product, visit.chosen = "item", self.catalogue.by_asin[element.text], {}
            visit.seen.add(element.text)
        elif element.kind is Kind.OPTION and visit.product is not None:
            name = next(name for name, values in visit.product.options.items() if element.text in values)
            visit.chosen[name] = element.text
        else:
            self._press(visit, element.text)

    def _product_named(self, visit: Visit, text: str) -> str:
        """The text to click: for `item - TITLE` and `item - ID` the id of that product, if it is on the page."""
        if visit.place != "results" or not text.startswith(BY_NAME):
            return text
        name_or_id = text.removeprefix(BY_NAME).strip()
        first = (visit.number - 1) * RESULTS_A_PAGE
        page = visit.results[first : first + RESULTS_A_PAGE]
        ids = (product.asin.lower() for product in page if product.name.strip().lower() == name_or_id)
        return next(ids, name_or_id)

    def _press(self, visit: Visit, button: str) -> None:
        if button == BACK:
            self._visit = Visit(visit.task)  # products seen before are no longer marked
        elif button == PREVIOUS and visit.place == "results":
            visit.number -= 1
        elif button == PREVIOUS and visit.place == "item":
            visit.place, visit.product, visit.chosen = "results", None, {}
        elif button == PREVIOUS:  # of a sub-page
            visit.place = "item"
        elif button == NEXT:
            visit.number += 1
        elif button in SUB_PAGES:
            visit.place = button
        elif button == BUY and visit.product is not None:
            cost, goal = price_of(visit.product, self.seed), self.hidden_goal(visit.task)
            visit.score = score(visit.product, visit.chosen.values(), cost, goal).total
            visit.place = "done"

    def _shown(self) -> Step:
        visit = self._visit
        assert visit is not None, "shown only within a visit"
        return Step(
            text=as_text(self._page(visit)),
            score=visit.score,
            done=visit.place == "done",
            actions=self.valid_actions() if self.list_actions else (),
            facts=facts(visit),
        )

    def _page(self, visit: Visit) -> Page:
        goal = visit.task.goal
        if visit.place == "search":
            return [Element("WebShop"), *heading(goal), button(SEARCH)]
        if visit.place == "results":
            return results_page(goal, visit.results, visit.number, visit.seen)
        if visit.place == "done" or visit.product is None:
            return [Element(BOUGHT)]
        if visit.place == "item":
            return item_page(goal, visit.product, visit.chosen.values())
        return sub_page(goal, visit.product, visit.place)

    def _queries(self, task: ShopTask) -> list[str]:
        """Queries to list, from what an agent knows. If the hidden kind were left out, its absence would reveal it."""
        goal_words = words(task.goal)
        others = [query for query, kind_words in self.catalogue.query_words.items() if not kind_words <= goal_words]
        return [task.goal, *Random(f"webshop queries {task.id}").sample(others, min(OTHER_QUERIES, len(others)))]


def facts(visit: Visit) -> Mapping[str, Any]:
    """The observation as typed values: the page, and the products that it shows or is about."""
    values: dict[str, Any] = {"page": visit.place.lower()}
    if visit.place == "results":
        first = (visit.number - 1) * RESULTS_A_PAGE
        page = visit.results[first : first + RESULTS_A_PAGE]
        values |= {"query": visit.query, "number": visit.number, "products": tuple(product.asin for product in page)}
    elif visit.product is not None:
        values |= {"product": visit.product.asin, "chosen": dict(visit.chosen)}
    return values
