"""Chains through the fact graph: from an entity along relations, each hop read off one article.

A hop is only taken where a reader of the articles could take it. The article is about the entity and gives all its
names; or, for a hop against a relation, it is about the answer and calls the entity as the hop before does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.encyclopedia.articles import mention
from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import (
    LINKS,
    ONE_TO_ONE,
    PLACES,
    SIZE,
    Value,
    at,
    is_a,
    kind_of,
    other_writings,
    written,
)
from scripts.encyclopedia.names import alias, has_homonym, name, title
from worlds.encyclopedia import SHARED_NAMES


@dataclass(frozen=True, slots=True)
class Found:
    """What a hop finds in an article.

    step: the relation, or "festival<town" for one against a relation. called: the entity that the hop is about, as the
    question or the hop before calls it; kind: its kind where the hop says it. article: whose article it is. value: as
    the fact graph has it. answer: as the article writes it; others: further right answers.
    """

    step: str
    called: str
    kind: str | None
    article: int
    value: Value
    answer: str
    others: tuple[str, ...]

    @property
    def about(self) -> str:
        return f"the {self.kind} {self.called}" if self.kind else self.called


def spoken(seed: int, number: int) -> str:
    """A name that tells an entity from all others of its kind."""
    if not has_homonym(seed, number):
        return name(seed, number)
    return title(seed, number) if kind_of(number) == "film" else alias(seed, number) or name(seed, number)


def names_of(seed: int, number: int) -> tuple[str, ...]:
    """All that an entity is called, its title included; the first tells it from others of its kind."""
    names = (spoken(seed, number), name(seed, number), alias(seed, number), title(seed, number))
    return tuple(dict.fromkeys(one for one in names if one))


def chain(seed: int, start: int, called: str, steps: Sequence[str]) -> Iterator[Found]:
    """The hops from an entity that the question calls so, up to the first that cannot be taken."""
    entity, kind = start, kind_of(start) if kind_of(start) in SHARED_NAMES else None
    for step in steps:
        found = (against if "<" in step else along)(seed, entity, called, kind, step)
        if found is None:
            return
        yield found
        entity, called, kind = found.value, found.answer, None


def along(seed: int, entity: int, called: str, kind: str | None, relation: str) -> Found | None:
    """What an entity's own article says of it."""
    stated = facts(seed, entity)
    if relation not in stated:
        return None
    value = stated[relation]
    if relation in LINKS:
        answer = mention(seed, entity, relation, value)
        others = tuple(one for one in names_of(seed, value) if one != answer)
    else:
        answer, others = written(relation, value), other_writings(relation, value)
    return Found(relation, called, kind, entity, value, answer, others)


def against(seed: int, entity: int, called: str, kind: str | None, step: str) -> Found | None:
    """The entity that has this one as the value of a relation, if its article calls this one so."""
    wanted, relation = split_step(step)
    # One-to-one relations stay within a block, but for those from children to parents, of the block before.
    candidates = (at(entity // SIZE + later, place) for later in (0, 1) for place in PLACES[wanted])
    for one in candidates:
        if is_a(one, wanted) and facts(seed, one).get(relation) == entity:
            names = names_of(seed, one)
            own = mention(seed, one, relation, entity) == called
            return Found(step, called, kind, one, one, names[0], names[1:]) if own else None
    return None


def split_step(step: str) -> tuple[str, str]:
    """Kind and relation of a step against a relation. Raises ValueError where its answer need not be the only one."""
    kind, relation = step.split("<")
    if (kind, relation) not in ONE_TO_ONE:
        raise ValueError(f"{step}: there may be several; relations to go against are {sorted(ONE_TO_ONE)}")
    return kind, relation


def answers_otherwise(seed: int, found: Found, number: int) -> bool:
    """Whether another article gives the hop another answer, to a reader who only goes by names."""
    stated = facts(seed, number)
    if number == found.article:
        return False
    if "<" in found.step:
        kind, relation = split_step(found.step)
        same = is_a(number, kind) and relation in stated
        return same and mention(seed, number, relation, stated[relation]) == found.called
    kinds = {found.kind, kind_of(number)} if found.kind else {None}
    return found.step in stated and len(kinds) == 1 and found.called in names_of(seed, number)


def links(seed: int, number: int) -> list[int]:
    """The entities that an article names."""
    return [value for relation, value in facts(seed, number).items() if relation in LINKS]
