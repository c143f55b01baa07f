"""A problem, and the request that tells of it: written, and read back."""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENING = "Hello! Could you suggest something to cook? These ingredients are in my kitchen:"
# What an ingredient or a dish may look like: words of letters, hyphens and apostrophes, a blank between two.
NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|['-]| (?! ))*")
LONGEST = 60  # characters of such a name; the book's longest has 36


@dataclass(frozen=True)
class RecipeProblem:
    """ingredients: what the user has, in the order of the request."""

    ingredients: tuple[str, ...]


def worded(problem: RecipeProblem) -> str:
    """The request: a sentence, then an ingredient a line, as in the paper's example (C.2.2)."""
    return "\n".join([OPENING, *problem.ingredients]) + "\n"


def parsed(text: str) -> RecipeProblem | None:
    """The problem that a request tells of; None if it lists nothing. Lines that look like no name say nothing."""
    _, opening, after = text.partition(OPENING)
    lines = (line.strip() for line in (after if opening else text).split("\n"))
    ingredients = tuple(line for line in lines if is_name(line))
    return RecipeProblem(ingredients) if ingredients else None


def is_name(text: str) -> bool:
    """Whether the text could be the name of an ingredient or a dish, going by its looks."""
    return len(text) <= LONGEST and bool(NAME.fullmatch(text))
