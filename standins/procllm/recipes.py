"""Rules for Recipe Generator: a program prints every dish that can be made, and the first is the answer.

They read only the prompt. The program contains the ingredients in the notes, so wrong notes give wrong dishes. When
judging, they see the effect files and no recipe book (F). The answer is shown only with the request and the problem
specification (D.2), so they can tell that it looks like one dish, not that the dish exists or can be made.
"""

from __future__ import annotations

from collections.abc import Mapping

from procllm.actions import Action, Verify, Write
from procllm.domains.recipes import RecipeProblem, is_name, parsed
from procllm.files import ANSWER, NOTES, OUTPUT, REQUEST, SOLVER
from standins.procllm.view import Judgement, View, note, product_in, sections

# Product that a task or effect asks for -> its words. The first match counts.
PRODUCTS = {
    "answer": r"\banswer|final output",
    "program": r"solver|program|\bcode\b|script|output\.txt",
    "dishes": r"\bdish|\brecipe|\bmeal|\bcook",
}
# Tasks about notes on a document may mention dishes too; they have words of DOCUMENTS and none of CHOICE.
DOCUMENTS = r"\brequest\b|specification|information|details|format|\bcopy\b|\btools?\b|\bimport"
CHOICE = r"\bchosen\b|\bchoose|\bvalid\b|\bpossible\b|\bcan be (made|cooked)|\bcandidate|\bselect|\bmatch|\bsuitable\b"
NONE = "(no dish can be made)"

PROGRAM = """\
from tools.recipes import get_dish_from_ingredient, get_ingredient_from_dish

ingredients = [
{ingredients}
]
known = {{dish for ingredient in ingredients for dish in get_dish_from_ingredient(ingredient)}}
dishes = [dish for dish in sorted(known) if set(get_ingredient_from_dish(dish)) <= set(ingredients)]
print("\\n".join(dishes) or {none!r})
"""


class RecipesRules:
    """The rules for Recipe Generator."""

    name = "recipes"

    def recognises(self, specification: str) -> bool:
        """Whether the problem specification mentions dishes and ingredients."""
        return all(word in specification.lower() for word in ("dish", "ingredient"))

    def act(self, view: View) -> Action:
        """Have a program look up the dishes, note them, answer with the first; start over if the notes lead to none."""
        problem = parsed(view.sections.get("request", ""))
        if problem is None:
            return Write(NOTES, "")
        product = product_of(view.effect) or product_of(view.task) or ("documents" if view.wanted("note") else "answer")
        if product == "documents":
            return Verify()
        if product == "program":
            return Verify() if view.since_verify(f"Write {SOLVER}") else Write(SOLVER, program(problem))
        dishes = names(view.sections.get("dishes", ""))
        if not dishes or (product == "dishes" and view.rejected):
            return _look_up(view, problem)
        if product == "dishes" or view.since_verify(f"Write {ANSWER}"):
            return Verify()
        return Write(ANSWER, dishes[0] + "\n")

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether answer, notes or program look like what the effect says."""
        product = product_of(effect)
        if product == "answer" and ANSWER in files:
            fault = _answer_fault(files)
        elif product == "program" and (SOLVER in files or OUTPUT in files):
            fault = _program_fault(files)
        elif product == "dishes" and NOTES in files:
            fault = _dishes_fault(files)
        else:
            return None
        return Judgement(not fault, fault or "It looks as it should; that the dish can be made is not seen here.")


def product_of(text: str) -> str | None:
    """The key of PRODUCTS that a task or effect is about, or None."""
    return product_in(text, PRODUCTS, DOCUMENTS, CHOICE, ("dishes",))


def program(problem: RecipeProblem) -> str:
    """A program that prints every dish that can be made. Ingredients are literals in it, so they remain plain text."""
    lines = "\n".join(f"    {name!r}," for name in problem.ingredients)
    return PROGRAM.format(ingredients=lines, none=NONE)


def names(text: str) -> list[str]:
    """The lines that have the form of a dish's name."""
    return [line.strip() for line in text.split("\n") if is_name(line.strip())]


def _look_up(view: View, problem: RecipeProblem) -> Action:
    """Note the program's output if it is shown; else run the program."""
    printed = view.output if view.last == f"Read {OUTPUT}" else view.printed
    if NONE in printed:
        return Write(NOTES, "")  # every request can be met, so the ingredients in the notes must be wrong
    return note("dishes", printed) if names(printed) else Write(SOLVER, program(problem))


def _answer_fault(files: Mapping[str, str]) -> str:
    answer, known = files[ANSWER].strip(), _found(files)
    if not answer:
        return "answer.txt is empty."
    if not is_name(answer):
        return f"answer.txt should hold the name of one dish and nothing else; it holds {answer[:60]!r}."
    if answer in _ingredients(files):
        return f"{answer} is an ingredient of the request and no dish."
    return f"{answer} is none of the dishes that were found." if known and answer not in known else ""


def _dishes_fault(files: Mapping[str, str]) -> str:
    noted = names(sections(files[NOTES]).get("dishes", ""))
    printed = names(files.get(OUTPUT, ""))
    if not noted:
        return "The notes name no dish that can be made."
    wrong = [dish for dish in noted if printed and dish not in printed]
    return f"The notes name {wrong[0]}, which the program did not print." if wrong else ""


def _program_fault(files: Mapping[str, str]) -> str:
    missing = [name for name in _ingredients(files) if SOLVER in files and repr(name) not in files[SOLVER]]
    if SOLVER in files and not files[SOLVER].strip():
        return "There is no program."
    if missing:
        return f"The program does not ask for {missing[0]}."
    return "The program printed no dish." if OUTPUT in files and not names(files[OUTPUT]) else ""


def _found(files: Mapping[str, str]) -> list[str]:
    """The dishes that the files report as found; empty if they report none."""
    return names(files.get(OUTPUT, "")) or names(sections(files.get(NOTES, "")).get("dishes", ""))


def _ingredients(files: Mapping[str, str]) -> tuple[str, ...]:
    problem = parsed(files.get(REQUEST) or sections(files.get(NOTES, "")).get("request", ""))
    return problem.ingredients if problem else ()


RULES = RecipesRules()
