"""The checker: is the answer a name and nothing else, is it a dish of the book, and has the user all it needs?

Any such dish is right (§5), whichever one the problem was made from.
"""

from __future__ import annotations

from functools import cache

from procllm.domains.base import AnswerVerdict, Instance, cumulative
from procllm.domains.recipes.book import book
from procllm.domains.recipes.request import LONGEST, RecipeProblem, is_name

PARTS = ("format", "in the book", "can be made")


def check(instance: Instance, answer: str) -> AnswerVerdict:
    """The parts of Recipe Generator. Case, and blanks around the name, do not matter. Never raises."""
    problem: RecipeProblem = instance.problem
    name = answer.strip()
    if fault := format_fault(name):
        return cumulative(dict.fromkeys(PARTS, fault))
    dish = _dishes().get(name.casefold())
    if dish is None:
        return cumulative({"format": "", "in the book": f"The book has no dish {name!r}.", "can be made": ""})
    lacking = [each for each in book()[dish] if each not in problem.ingredients]
    fault = f"{dish} needs {lacking[0]}, which the user does not have." if lacking else ""
    return cumulative({"format": "", "in the book": "", "can be made": fault})


def format_fault(name: str) -> str:
    """Why a text is not the name of a dish and nothing else; "" if it looks like one."""
    if not name:
        return "There is no answer."
    if lines := len(name.splitlines()) - 1:
        return f"The answer has {lines + 1} lines; it should be the name of one dish and nothing else."
    if len(name) > LONGEST:
        return f"The answer has {len(name)} characters; it should be the name of one dish and nothing else."
    return "" if is_name(name) else f"The answer {name!r} is more than the name of a dish."


@cache
def _dishes() -> dict[str, str]:
    return {dish.casefold(): dish for dish in book()}
