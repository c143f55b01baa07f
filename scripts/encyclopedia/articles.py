"""Articles: one paragraph an entity, its facts in sentences that other articles of its kind word differently.

`paragraphs` streams them. An article is the same whatever the size of the encyclopedia; one that ends within a block of
20 may name a few of the block's further entities, which then have no article.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from scripts.encyclopedia.facts import facts
from scripts.encyclopedia.layout import LINKS, Facts, kind_of, written
from scripts.encyclopedia.names import alias, gender, given_and_family, has_homonym, name, title
from scripts.encyclopedia.words import FIELDS, draws
from worlds.encyclopedia import PEOPLE, sentences

MOST = 5_000_000  # names are unique up to this number of articles
PRONOUNS = {"female": ("she", "She", "her"), "male": ("he", "He", "his"), None: ("it", "It", "its")}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """An article. number: its place in the encyclopedia, from 0."""

    number: int
    title: str
    text: str


def paragraphs(seed: int = 0, size: int = 10_000) -> Iterator[Paragraph]:
    """The first `size` articles of the encyclopedia of a seed, in order and with constant memory.

    Raises ValueError for a size that is negative or above 5 million, beyond which names would repeat.
    """
    if not 0 <= size <= MOST:
        raise ValueError(f"an encyclopedia has 0 to {MOST:,} paragraphs, not {size:,}")
    return (paragraph(seed, number) for number in range(size))


def paragraph(seed: int, number: int) -> Paragraph:
    return Paragraph(number, title(seed, number), text(seed, number))


def text(seed: int, number: int, stated: Facts | None = None) -> str:
    """The sentences of an article. stated: what it says in place of the entity's facts, as an old page would."""
    words, bits = wordings(seed, number, stated or facts(seed, number)), draws(seed, number)
    opening, *others = groups_of(kind_of(number), tuple(words))
    turn = bits[FIELDS["order"]] % len(others)
    chosen, said = bits[FIELDS["sentences"]], []
    for patterns in (opening, *others[turn:], *others[:turn]):
        chosen, pattern = divmod(chosen, len(patterns))
        said.append(patterns[pattern].format_map(words))
    return " ".join(said)


def wordings(seed: int, number: int, stated: Facts) -> dict[str, str]:
    """What an article puts for each field of its sentences: facts as it writes them, names and pronouns."""
    person = kind_of(number) in PEOPLE
    they, They, their = PRONOUNS[gender(seed, number) if person else None]
    own, other = name(seed, number), alias(seed, number)
    words = {"name": own, "they": they, "They": They, "their": their}
    if other is not None:
        words["alias"] = other
    if person:
        words["short"] = given_and_family(seed, number)[1]
        occupation = stated["occupation"]
        words["role"] = ("an " if occupation[0] in "aeiou" else "a ") + occupation
    for relation, value in stated.items():
        if relation in LINKS:
            words[relation] = mention(seed, number, relation, value)
        else:
            words[relation] = written(relation, value)
    return words


def mention(seed: int, number: int, relation: str, linked: int) -> str:
    """What an article calls an entity that it links to: its name, or every fourth time its other name.

    People with a namesake go by their full name.
    """
    by_name = draws(seed, number)[FIELDS["mentions"]] >> 2 * LINKS[relation] & 3
    if by_name and not has_homonym(seed, linked):
        return name(seed, linked)
    return alias(seed, linked) or name(seed, linked)


@lru_cache(maxsize=1024)
def groups_of(kind: str, words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The groups of sentences for which an entity of a kind has the words."""
    return [patterns for fields, patterns in sentences()[kind] if fields <= set(words)]
