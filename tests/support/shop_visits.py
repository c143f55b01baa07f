"""The shop's reader against the visits of its simulator.

Sessions are played by the expert and at random. True are the page, the query on a page of results, the product looked
at with its price and chosen options, and the purchase. Other products count on neither side, nor does what texts say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

from standins.statefactory import webshop
from standins.statefactory.fidelity import Compared, Fact, facts
from standins.statefactory.languages import Entities
from standins.statefactory.webshop.wishes import name_of
from worlds.base import NoSolution
from worlds.webshop import load
from worlds.webshop.expert import Expert

STEPS = 12  # of a random session
PLACES = {"search": "search page", "item": "product page", "done": "order confirmation page"}


def visits(games: int, seed: int = 0, data: str = "synthetic") -> Iterator[Compared]:
    """The steps of so many tasks of a shop, each played by the expert, where one is, and at random."""
    world = load(data, seed=seed)
    expert = Expert(world)
    tasks = [task for split in world.splits for task in world.tasks(split)]
    for task in islice(tasks, games):
        with suppress(NoSolution):
            yield from _visit(world, task, expert.actions(task))
        yield from _visit(world, task, _random(world, Random(f"webshop fidelity {seed} {task.id}")))


def _random(world: Any, random: Random) -> Iterator[str]:
    for _ in range(STEPS):
        actions = world.valid_actions()
        if not actions:
            return
        yield random.choice(actions)


def _visit(world: Any, task: Any, actions: Iterable[str]) -> Iterator[Compared]:
    step = world.reset(task)
    known, unparsed = webshop.read((), "", step.text)
    yield _compared(world, known, step.facts, unparsed)
    for action in actions:
        step = world.step(action)
        known, unparsed = webshop.read(known, action, step.text)
        yield _compared(world, known, step.facts, unparsed)


def _compared(world: Any, known: Entities, said: Mapping[str, Any], unparsed: tuple[str, ...]) -> Compared:
    product = world.catalogue.by_asin.get(said.get("product"))
    true = _true(product, said)
    about = {"agent", _title(product) if product else ""}
    names = {name for _, name, _ in true} | {"location", "looking-at"}
    read = {fact for fact in facts(known) if fact[0] in about and fact[1] in names}
    return Compared(frozenset(read), true, unparsed)


def _true(product: Any, said: Mapping[str, Any]) -> frozenset[Fact]:
    true = {("agent", "location", _place(said))}
    if said["page"] == "results":
        true.add(("agent", "query", said["query"]))
    if product:
        status = webshop.BOUGHT if said["page"] == "done" else webshop.OPEN
        chosen = {name: said["chosen"].get(name, webshop.NOT_CHOSEN) for name in product.options}
        values = {"price": product.price_tag, "status": status} | {name_of(n): value for n, value in chosen.items()}
        true |= {(_title(product), name, value) for name, value in values.items()}
        true.add(("agent", "looking-at", _title(product)))
    return frozenset(true)


def _title(product: Any) -> str:
    return product.name or webshop.PRODUCT  # one official product has no title


def _place(said: Mapping[str, Any]) -> str:
    if said["page"] == "results":
        return f"search results page {said['number']}"
    return PLACES.get(said["page"], f"{said['page']} page")
