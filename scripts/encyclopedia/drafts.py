"""Questions before their paragraphs: a template filled with entities, its hops and the answer that follows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from scripts.encyclopedia.chains import Found, chain, names_of, spoken
from scripts.encyclopedia.layout import PLACES, at, is_a
from scripts.encyclopedia.names import alias, has_homonym
from scripts.encyclopedia.templates import Template

BY_ALIAS = 0.1  # share of questions that name what they start from by its other name
PARTNERS = 40  # entities that are tried as the second of a comparison


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its hops, as texts and as what they find, and its answer; aliases: further right answers."""

    text: str
    hops: tuple[str, ...]
    found: tuple[Found, ...]
    answer: str
    aliases: tuple[str, ...]


def draft(seed: int, rng: Random, template: Template, blocks: int) -> Draft | None:
    """A question of a template over the first blocks of an encyclopedia; None where the entity drawn has no answer."""
    start = drawn(rng, template.start, blocks)
    asked = compared(seed, rng, template, start, blocks) if template.compare else chained(seed, rng, template, start)
    if asked is None or any(leaks(asked.text, found) for found in asked.found):
        return None
    articles = {found.article for found in asked.found}
    return asked if len(articles) == len(asked.found) and max(articles) < at(blocks, 0) else None


def drawn(rng: Random, kind: str, blocks: int) -> int:
    """An entity of a kind, each as likely."""
    while True:
        number = at(rng.randrange(blocks), rng.choice(PLACES[kind]))
        if is_a(number, kind):
            return number


def chained(seed: int, rng: Random, template: Template, start: int) -> Draft | None:
    other = alias(seed, start) if rng.random() < BY_ALIAS and not has_homonym(seed, start) else None
    called = other or spoken(seed, start)
    found = tuple(chain(seed, start, called, template.steps))
    if len(found) < len(template.steps):
        return None
    hops = tuple(hop.format(x=f"#{turn}" if turn else found[0].about) for turn, hop in enumerate(template.hops))
    return Draft(template.question.format(x=called), hops, found, found[-1].answer, found[-1].others)


def compared(seed: int, rng: Random, template: Template, first: int, blocks: int) -> Draft | None:
    """Two entities and what one step finds for each. Yes and no are meant to be as frequent."""
    same = rng.random() < 0.5
    one = next(chain(seed, first, spoken(seed, first), template.steps), None)
    for _ in range(PARTNERS):
        second = drawn(rng, template.start, blocks)
        two = next(chain(seed, second, spoken(seed, second), template.steps), None)
        if one is None or two is None or first == second:
            continue
        equal = one.value == two.value
        # What is the same has to be called the same; and only "same" is asked of equal values, as often as not.
        if equal == (one.answer == two.answer) and equal == (template.compare == "same" and same):
            break
    else:
        return None
    first_is_less = one.value < two.value
    aliases: list[str] = []
    if template.compare in ("least", "most"):
        answer, *aliases = names_of(seed, first if first_is_less == (template.compare == "least") else second)
    else:
        true = equal if template.compare == "same" else first_is_less == (template.compare == "less")
        answer = "yes" if true else "no"
    text = template.question.format(x=one.called, y=two.called)
    hops = tuple(template.hops[0].format(x=found.about) for found in (one, two))
    return Draft(text, hops, (one, two), answer, tuple(aliases))


def leaks(text: str, found: Found) -> bool:
    """Whether a question names what one of its hops is to find."""
    answers = "|".join(map(re.escape, (found.answer, *found.others)))
    return re.search(rf"(?<!\w)({answers})(?!\w)", text, re.IGNORECASE) is not None
