"""WebShop's expert, never given to an agent: a shopper who knows the goal and behaves like a person.

It uses short queries, sometimes reads the description, and buys the first result that fulfils the goal. That need not
be the product that the instruction was written about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from worlds.base import NoSolution
from worlds.webshop.catalogue import Product, price_of
from worlds.webshop.goals import Goal, ShopTask
from worlds.webshop.reward import same_option, score
from worlds.webshop.world import RESULTS_A_PAGE, WebShop

# Words per query -> how many of people's 2,197 published queries for the benchmark's instructions (goal_query_map) have
# that length; longer queries are left out.
WORDS_OF_A_QUERY = {2: 55, 3: 174, 4: 355, 5: 362, 6: 346}
TRIES = 6  # queries from the instruction, before words of the title are used
# Sub-pages that are read, with weights: of the 18 successful people 6 read none, 7 one and 5 more.
LOOKS = {(): 6, ("description",): 4, ("features",): 3, ("description", "features"): 5}
PRICE = re.compile(r",? and price lower than [\d.]+ dollars$")
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# Words of instructions that nobody types into a search box.
UNSEARCHED_LIST = """
a am an and are as at be been being but buy by can color could did do every find for from get give good has have hello
help i i'd i'm id if im in is it it's its just like looking made make me must my need needs nice of on one or order
pair please price put should show size so some something style that the their them these they this to too type used
using want was we where which who will with would you your
"""
UNSEARCHED = frozenset(UNSEARCHED_LIST.split())


class Expert:
    """Solves the tasks of one shop."""

    def __init__(self, world: WebShop) -> None:
        self.world = world

    def actions(self, task: ShopTask) -> tuple[str, ...]:
        """Actions that take a fresh `reset(task)` to reward 1; deterministic for a task of a shop.

        Raises NoSolution naming the task if no search result fulfils it.
        """
        goal = self.world.hidden_goal(task)
        rng = Random(f"webshop shopper {task.id} {task.goal}")
        for query in self.queries(task, goal, rng):
            results = self.world.catalogue.search(query)
            for rank, product in enumerate(results):
                chosen = self.fulfilling(product, goal)
                if chosen is not None:
                    return tuple(trip(query, rank, product, chosen, rng))
        raise NoSolution(f"no product of the shop fulfils {task.id}: {task.goal}")

    def queries(self, task: ShopTask, goal: Goal, rng: Random) -> Iterator[str]:
        """The shopper's queries in the order of trying; words of the title come last."""
        for _ in range(TRIES):
            yield short_query(task.goal, goal.product.query, rng)
        title = distinct(WORD.findall(goal.product.name.lower()))
        for length in (*WORDS_OF_A_QUERY, len(title)):
            yield " ".join(title[:length])

    def fulfilling(self, product: Product, goal: Goal) -> dict[str, str] | None:
        """The options with which buying the product gives reward 1; None if that is impossible."""
        chosen = fitting_options(product, goal.options)
        total = score(product, chosen.values(), price_of(product, self.world.seed), goal).total
        return chosen if total == 1.0 else None


def short_query(instruction: str, kind: str, rng: Random) -> str:
    """Two to six words of an instruction, in its order; words that name the kind of product are chosen first."""
    words = [word for word in distinct(WORD.findall(PRICE.sub("", instruction).lower())) if word not in UNSEARCHED]
    length = rng.choices(list(WORDS_OF_A_QUERY), list(WORDS_OF_A_QUERY.values()))[0]
    naming = set(WORD.findall(kind.lower()))
    chosen = [word for word in words if word in naming][:length]
    others = [word for word in words if word not in naming]
    chosen += rng.sample(others, min(length - len(chosen), len(others)))
    return " ".join(word for word in words if word in chosen)


def distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))


def fitting_options(product: Product, wanted: Sequence[str]) -> dict[str, str]:
    """One of the product's option values for each wanted value, in page order; exact matches before similar ones."""
    chosen: dict[str, str] = {}
    for value in wanted:
        exact = ((name, own) for name, values in product.options.items() for own in values if own == value)
        alike = ((name, own) for name, values in product.options.items() for own in values if same_option(own, value))
        free = (pair for pairs in (exact, alike) for pair in pairs if pair[0] not in chosen)
        name, own = next(free, ("", ""))
        if name:
            chosen[name] = own
    return {name: chosen[name] for name in product.options if name in chosen}


def trip(query: str, rank: int, product: Product, chosen: dict[str, str], rng: Random) -> Iterator[str]:
    """The actions from the search page to the purchase of the product at that rank of the results."""
    yield f"search[{query}]"
    yield from ["click[next >]"] * (rank // RESULTS_A_PAGE)
    yield f"click[{product.asin.lower()}]"
    choices = [f"click[{value}]" for value in chosen.values()]
    sub_pages = rng.choices(list(LOOKS), list(LOOKS.values()))[0]
    reading = [action for sub_page in sub_pages for action in (f"click[{sub_page}]", "click[< prev]")]
    yield from choices + reading if rng.random() < 0.5 else reading + choices
    yield "click[buy now]"
