"""The shop's language: its pages, and its shoppers' wishes.

A state has the agent, with its current page, and the products that it saw. The agent's search query is its own words
and no evidence: it is read and then dropped. A product's identity is its title. Its attributes are the price, the
rating, every option with the chosen value, the phrases in its texts (`wishes.phrases`), and its status: "in the search
results", "being looked at", "looked at before" or "purchased".

The rules were written on the synthetic shop, seeds 7 and 11. The word table of `wishes` was written with official train
goals at hand, and then reduced to words that any shopper may use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.statefactory.forms import Facts, as_entities, as_facts
from standins.statefactory.languages import Entities, Reading
from standins.statefactory.webshop.pages import Page, page
from standins.statefactory.webshop.wishes import Wish, is_wish, name_of, phrases, share, stem, stems, wish
from statefactory.state import Attribute, Entity, entity

AGENT, PRODUCT = "agent", "product"
LISTED, OPEN, LEFT, BOUGHT = "in the search results", "being looked at", "looked at before", "purchased"
NOT_CHOSEN = "not chosen"
ACTION = re.compile(r"\s*(search|click)\[(.+)\]\s*$", re.IGNORECASE | re.DOTALL)
SUB_PAGES = ("description", "features", "reviews", "attributes")
KEPT = 3  # how many of the best fitting products in the results are relevant
ABOUT = ("location", "looking-at")
FITS = 0.5  # least share of the words of a kind in a title
DOLLARS = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)")


def is_goal(goal: str) -> bool:
    """Whether a task is a shopper's wish."""
    return is_wish(goal)


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an action and its page."""
    current = page(observation)
    if current.kind == "unknown":
        return Reading(tuple(known), current.unparsed)
    facts = as_facts(known)
    agent = facts.setdefault(AGENT, {})
    READERS[current.kind](facts, agent, current, action)
    return Reading(as_entities(facts), current.unparsed)


def _search(facts: Facts, agent: dict[str, str], shown: Page, action: str) -> None:
    _leave(facts, agent)
    agent["location"] = "search page"


def _results(facts: Facts, agent: dict[str, str], shown: Page, action: str) -> None:
    _leave(facts, agent)
    agent["location"] = f"search results page {shown.number}"
    agent["results"] = shown.total
    match = ACTION.match(action)
    if match and match[1].lower() == "search":
        # The agent's own words, only for the fidelity check: `relevant` drops them.
        agent["query"] = match[2].strip().lower()
    for title, price in shown.listed:
        product = _seen(facts, title)
        product["price"] = price
        product.setdefault("status", LISTED)


def _item(facts: Facts, agent: dict[str, str], shown: Page, action: str) -> None:
    product = _seen(facts, shown.title)
    if agent.get("looking-at") != (shown.title or PRODUCT):
        _leave(facts, agent)
    agent |= {"location": "product page", "looking-at": shown.title or PRODUCT}
    product |= {"price": shown.price, "rating": shown.rating.lower(), "status": OPEN}
    product |= {name_of(option.name): option.chosen or NOT_CHOSEN for option in shown.options}


def _text(facts: Facts, agent: dict[str, str], shown: Page, action: str) -> None:
    """Read a product's sub-page. Reviews are opinions and state no facts about the product."""
    match = ACTION.match(action)
    clicked = match[2].strip().lower() if match else ""
    if clicked in SUB_PAGES:
        agent["location"] = f"{clicked} page"
    product = facts.setdefault(agent.setdefault("looking-at", PRODUCT), {"status": OPEN})
    if agent.get("location") != "reviews page":
        _note(product, *shown.texts)


def _bought(facts: Facts, agent: dict[str, str], shown: Page, action: str) -> None:
    agent["location"] = "order confirmation page"
    facts.setdefault(agent.get("looking-at", PRODUCT), {})["status"] = BOUGHT


READERS = {"search": _search, "results": _results, "item": _item, "text": _text, "bought": _bought}


def _seen(facts: Facts, title: str) -> dict[str, str]:
    product = facts.setdefault(title or PRODUCT, {})
    _note(product, title)
    return product


def _note(product: dict[str, str], *texts: str) -> None:
    for text in texts:
        for phrase in phrases(text):
            product.setdefault(name_of(phrase), phrase)


def _leave(facts: Facts, agent: dict[str, str]) -> None:
    product = facts.get(agent.pop("looking-at", ""))
    if product and product.get("status") == OPEN:
        product["status"] = LEFT


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, the products looked at or bought, and the KEPT others that fit the wish best.

    Attributes of a product: its status, its price if the wish has a limit, the wish's options, and phrases about its
    features.
    """
    wanted = wish(goal)
    agent = next((e for e in known if e.identity == AGENT), None)
    opened = agent.value("looking-at") if agent else None
    reduced = [_agent(e) if e.identity == AGENT else _product(wanted, e) for e in known]
    chosen = {e.identity for e in reduced if e.identity in (AGENT, opened) or e.value("status") in (LEFT, BOUGHT)}
    scores = {e.identity: _fit(wanted, e) for e in reduced if e.identity not in chosen}
    # filter: a product that does not fit the wish at all is not added to reach the number.
    chosen.update(sorted(filter(scores.get, scores), key=lambda name: -scores[name])[:KEPT])
    return tuple(e for e in reduced if e.identity in chosen)


def _fit(wanted: Wish, product: Entity) -> int:
    """How many words of the kind, and how many whole features, a product's title and phrases contain."""
    phrase_stems = stems(
        " ".join([product.identity, *(a.value for a in product.attributes if a.name == name_of(a.value))])
    )
    return len(phrase_stems & stems(wanted.kind)) + sum(stems(feature) <= phrase_stems for feature in wanted.features)


def _agent(agent: Entity) -> Entity:
    return Entity(AGENT, tuple(a for a in agent.attributes if a.name in ABOUT))


def _product(wanted: Wish, product: Entity) -> Entity:
    named = {"status", *(name_of(name) for name, _ in wanted.options)} | ({"price"} if wanted.price_cap else set())
    features = [stems(feature) for feature in wanted.features]
    attributes = (a for a in product.attributes if a.name in named or _says(a, features))
    return Entity(product.identity, tuple(attributes))


def _says(attribute: Attribute, features: list[frozenset[str]]) -> bool:
    if attribute.name != name_of(attribute.value):
        return False
    phrase = frozenset(map(stem, attribute.value.split()))
    return any(feature and (phrase <= feature or feature <= phrase) for feature in features)


def blueprint(goal: str) -> Entities:
    """One product of the kind, with its features, options and price, and purchased."""
    wanted = wish(goal)
    attributes = {name_of(feature): feature for feature in wanted.features}
    attributes |= {name_of(name): value for name, value in wanted.options}
    if wanted.price_cap:
        attributes["price"] = f"lower than {wanted.price_cap} dollars"
    return (entity(wanted.kind, attributes | {"status": BOUGHT}),)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal, with the product on whose page the agent is in place of its kind, if that product may be the right one.

    It may be if its title has half of the words of the kind, it offers the requested options, and it costs less than
    the limit. Only its name is taken, and stays.
    """
    current, asked = page(observation), wish(goal)
    waiting = [e.identity for e in wanted[:1]] == [asked.kind]
    # Anchored once: a product that is looked at later does not replace it (Table 10, 3c).
    if not waiting or current.kind != "item" or not current.title or not _can_be(asked, current):
        return tuple(wanted)
    first, *others = wanted
    return (Entity(current.title, first.attributes), *others)


def _can_be(asked: Wish, shown: Page) -> bool:
    dollars = [float(amount.replace(",", "")) for amount in DOLLARS.findall(shown.price)]
    return (
        share(stems(asked.kind), stems(shown.title)) >= FITS
        and all(_offers(shown, name, value) for name, value in asked.options)
        # A range of prices depends on the options; the upper end is right for all. A product without a price is not
        # below a limit.
        and (not asked.price_cap or bool(dollars) and max(dollars) < float(asked.price_cap))
    )


def _offers(shown: Page, name: str, value: str) -> bool:
    """Whether a value can be chosen, in the wish's words or with others around them, or is in the title."""
    offered = [own for option in shown.options if option.name == name for own in option.values]
    return value in offered or bool(stems(value)) and any(stems(value) <= stems(own) for own in [*offered, shown.title])
