"""Recipe Generator: a sensible book, tools that know it, a checker that a brute-force check agrees with, rules."""

from __future__ import annotations

import importlib.util
import re
import string
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_checked import assert_both_agree
from procllm.conditions import network_of
from procllm.domains import Instance, domain
from procllm.domains.recipes import (
    EXTRA,
    LONGEST,
    OPENING,
    TABLE,
    TOOLS,
    RecipeProblem,
    all_ingredients,
    book,
    instances,
    is_name,
    parsed,
    worded,
)
from procllm.files import REQUEST, SPECIFICATION
from procllm.network import TOP, Network, read
from procllm.trajectory import Trajectory
from standins.procllm.recipes import NONE, RULES, program

RECIPES = domain("recipes")
ANSWERED = RECIPES.network.task(TOP).effect
EXAMPLE = "Salmon and Potato Tray Bake"  # the specification's


def some(number: int = 0, extra: int = EXTRA) -> Instance:
    return instances(number + 1, 0, extra)[number]


def right(instance: Instance) -> list[str]:
    """Every dish that can be made."""
    return [dish for dish, needed in book().items() if all(name in instance.problem.ingredients for name in needed)]


@cache
def tools() -> ModuleType:
    """The tools, loaded from where they lie."""
    spec = importlib.util.spec_from_file_location("recipes_under_test", TOOLS / "recipes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the book


def test_the_book_has_hundreds_of_dishes_that_differ_by_plain_names_of_one_spelling() -> None:
    assert len(book()) >= 300 and len(all_ingredients()) >= 120
    assert (
        len({dish.casefold() for dish in book()}) == len({frozenset(each) for each in book().values()}) == len(book())
    )
    assert all(4 <= len(set(each)) == len(each) <= 12 for each in book().values())
    assert all(name.isascii() and is_name(name) and len(name) <= LONGEST for name in (*book(), *all_ingredients()))
    stems = {re.sub("[^a-z]", "", name.lower()).removesuffix("s").removesuffix("e") for name in all_ingredients()}
    assert len(stems) == len(all_ingredients()) and not {*book()} & {*all_ingredients()}
    assert EXAMPLE in RECIPES.specification and not [dish for dish in book() if dish in RECIPES.specification]


def test_the_table_has_a_dish_a_line_in_order_and_is_the_book() -> None:
    head, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    dishes = [line.split(",")[0] for line in lines]
    assert head == "dish,ingredients" and dishes == sorted(dishes, key=str.casefold) == list(book())
    assert all(line == f"{dish},{'; '.join(book()[dish])}" for dish, line in zip(dishes, lines, strict=True))


# --- the tools


def test_the_tools_say_what_the_book_says_both_ways() -> None:
    for dish, needed in book().items():
        assert tools().get_ingredient_from_dish(dish) == list(needed)
    for name in all_ingredients():
        assert tools().get_dish_from_ingredient(name) == [dish for dish in book() if name in book()[dish]]


@given(st.text())
def test_a_name_that_the_book_does_not_have_gives_an_empty_list(name: str) -> None:
    known = {each.casefold() for each in (*book(), *all_ingredients())}
    if name.strip().casefold() not in known:
        assert tools().get_ingredient_from_dish(name) == tools().get_dish_from_ingredient(name) == []


def test_case_does_not_matter_and_what_is_returned_can_be_changed() -> None:
    found = tools().get_dish_from_ingredient(" gArLiC\n")
    assert found == tools().get_dish_from_ingredient("Garlic")
    found.clear()
    assert tools().get_dish_from_ingredient("Garlic")


def test_the_specifications_import_works_in_the_sandbox() -> None:
    line = next(line.strip() for line in RECIPES.tools_specification.splitlines() if line.startswith("  from "))
    assert line == "from tools.recipes import get_dish_from_ingredient, get_ingredient_from_dish"
    printed = sandboxed(f"{line}\nprint(*get_ingredient_from_dish('pad thai'), *get_dish_from_ingredient('Soap'))")
    assert printed == " ".join(book()["Pad Thai"]) + "\n"


def sandboxed(code: str) -> str:
    """What a program prints in the sandbox, with the tools beside it."""
    from lab.sandbox import run_untrusted

    needs_a_sandbox()
    ran = run_untrusted(code, some().tools)
    assert ran.ok, ran.stderr
    return ran.stdout


def needs_a_sandbox() -> None:
    from lab.sandbox import refusal

    if reason := refusal():
        pytest.skip(reason)


# --- problems


@pytest.mark.slow
@pytest.mark.parametrize("extra", [0, 4, 12])
def test_a_request_has_all_that_one_dish_needs_and_some_more(extra: int) -> None:
    for instance in instances(len(book()), 0, extra):
        listed = instance.problem.ingredients
        assert len(set(listed)) == len(listed) and set(listed) <= set(all_ingredients())
        assert any(len(book()[dish]) + extra == len(listed) for dish in right(instance)), instance.id


@pytest.mark.parametrize(("count", "extra"), [(-1, 4), (100_000, 4), (1, -1), (1, 100)])
def test_numbers_that_the_book_does_not_allow_are_refused(count: int, extra: int) -> None:
    with pytest.raises(ValueError, match=r"count=|extra="):
        instances(count, 0, extra)


@given(st.lists(st.sampled_from(all_ingredients()), min_size=1, unique=True))
def test_a_request_reads_back(ingredients: list[str]) -> None:
    problem = RecipeProblem(tuple(ingredients))
    assert parsed(worded(problem)) == problem and worded(problem).startswith(OPENING)


@pytest.mark.parametrize("text", ["", "\n\n", OPENING, f"{OPENING}\n- ?\n12", "1. Garlic\n2. Leeks"])
def test_a_text_that_lists_nothing_is_no_problem(text: str) -> None:
    assert parsed(text) is None


# --- the checker beside a brute-force check that goes through the table's text


@cache
def table() -> list[tuple[str, list[str]]]:
    """Lower-case dish and ingredients, cut out of the table by hand."""
    lines = TABLE.read_text(encoding="utf-8").strip().split("\n")[1:]
    return [(line[: line.index(",")].lower(), line[line.index(",") + 1 :].split("; ")) for line in lines]


def brute_force(instance: Instance, answer: str) -> tuple[bool, bool, bool]:
    """format, in the book, can be made; ASCII answers only."""
    text = answer.strip(string.whitespace)
    words = text.replace("-", " ").replace("'", " ").split(" ")
    letters = all(not word or word.isalpha() for word in words)
    if not (0 < len(text) <= 60 and text[0].isalpha() and letters and "  " not in text):
        return False, False, False
    pages = [needed for dish, needed in table() if dish == text.lower()]
    had = instance.request.split("\n")[1:]
    return True, bool(pages), any(sum(name in had for name in needed) == len(needed) for needed in pages)


def random_answer(instance: Instance, random: Random) -> str:
    """A right answer, or one with a fault of some kind."""
    dish = random.choice(right(instance))
    near = tools().get_dish_from_ingredient(random.choice(instance.problem.ingredients))
    kind = random.choice(["right"] * 6 + ["near"] * 3 + ["any", "made up", "exchanged", "made up"] + ["format"] * 3)
    if kind == "format":
        other = random.choice(list(book()))
        return random.choice(
            [f"{dish}\n{other}", f"Dish: {dish}", f"You can make {dish}.", "", " \n", f"1. {dish}", f"**{dish}**",
             f'{{"dish": "{dish}"}}', f"{dish}, {other}", ", ".join(book()[dish]), f"{dish} " * 9, f"{dish}  {other}",
             f"```\n{dish}\n```", f"{dish}\n\nIngredients:\n" + "\n".join(book()[dish])]
        )  # fmt: skip
    chosen = {
        "right": dish,
        "near": random.choice(near),
        "any": random.choice(list(book())),
        "made up": f"{random.choice(instance.problem.ingredients)} {random.choice(['Soup', 'Stir-Fry', 'Bake'])}",
        "exchanged": " ".join(reversed(dish.split())),
    }[kind]
    chosen = random.choice([chosen, chosen.lower(), chosen.upper(), chosen.swapcase()])
    return random.choice(["", " ", "\n", "\t"]) + chosen + random.choice(["", "\n", " \r\n"])


@pytest.mark.slow
def test_the_checker_and_a_brute_force_check_agree_on_a_thousand_answers() -> None:
    problems = [each for extra in (0, 4, 12, 40) for each in instances(60, 1, extra)]
    assert_both_agree(RECIPES, problems, random_answer, brute_force, 100)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "no answer"),
        (" \n\t", "no answer"),
        ("{dish}\n{dish}", "2 lines"),
        ("Here you are:\n\n{dish}", "3 lines"),
        ("Dish: {dish}", "more than the name"),
        ("{dish}.", "more than the name"),
        ("a" * 61, "61 characters"),
        ("Stone Soup", "no dish 'Stone Soup'"),
        (EXAMPLE, "no dish"),
        ("{other}", "needs "),
    ],
)
def test_the_reason_names_the_first_fault(answer: str, reason: str) -> None:
    instance = some()
    other = next(dish for dish in book() if dish not in right(instance))
    assert reason in RECIPES.check(instance, answer.format(dish=right(instance)[0], other=other)).reason


def test_any_dish_that_can_be_made_is_right() -> None:
    several = [each for each in instances(len(book())) if len(right(each)) > 1]
    assert several
    assert all(RECIPES.check(each, dish).solved for each in several for dish in right(each))


# --- rules: the program


def test_the_program_prints_exactly_the_dishes_that_can_be_made() -> None:
    for extra in (0, 40):
        instance = some(3, extra)
        assert sandboxed(program(instance.problem)).split() == "\n".join(right(instance)).split()
    assert sandboxed(program(RecipeProblem(("Garlic", "Soap")))) == f"{NONE}\n"


@given(st.text(max_size=60))
def test_an_ingredient_is_only_text_in_the_program(name: str) -> None:
    code = compile(program(RecipeProblem((name, "Garlic"))), "solver.py", "exec")
    assert name in code.co_consts or (name, "Garlic") in code.co_consts


# --- rules: judging


def judged(effect: str, **texts: str) -> bool | None:
    """The verdict; None if there is none. texts: of the files, by their last names."""
    paths = {path.rsplit("/", 1)[-1].split(".")[0]: path for path in RECIPES.paths}
    files = {REQUEST: some().request, SPECIFICATION: RECIPES.specification}
    found = RULES.judge(effect, files | {paths[name]: text for name, text in texts.items()})
    assert found is None or found.analysis
    return None if found is None else found.satisfied


def test_an_answer_is_judged_by_its_looks_alone() -> None:
    assert judged(ANSWERED, answer=f"{right(some())[0]}\n")
    assert judged(ANSWERED, answer="Stone Soup")  # no recipe book is in the effect files
    for corrupted in ("", "\n", "Pad Thai\nLarb", "Dish: Pad Thai", "I am sorry, I do not know.", "a" * 61):
        assert judged(ANSWERED, answer=corrupted) is False
    assert judged(ANSWERED, answer=some().problem.ingredients[0]) is False


def test_a_program_has_to_ask_for_every_ingredient_and_to_print_dishes() -> None:
    effect = "solver.py finds the dishes and output.txt lists them"
    right_program = program(some().problem)
    assert judged(effect, solver=right_program, output="Larb\n")
    assert judged(effect, solver=right_program.replace(some().problem.ingredients[2], "Soap"), output="Larb\n") is False
    assert judged(effect, solver=right_program, output="") is False and judged(effect, solver="") is False


# --- the whole loop, in the sandbox


def played(instance: Instance, condition: str, engine: str = "rules", network: Network | None = None) -> Trajectory:
    from lab.models.connect import connect
    from procllm.loop import play

    needs_a_sandbox()
    return play(RECIPES, instance, network or network_of(condition, RECIPES), connect(engine))


@pytest.mark.campaign
@pytest.mark.parametrize("condition", ["Human-TN", "No-TN"])
def test_rules_solve_every_one_of_twenty_requests(condition: str) -> None:
    assert [each.id for each in instances(20, 1, 8) if not played(each, condition).verdict.solved] == []


def test_rules_solve_a_request_under_a_network_of_another_kind() -> None:
    text = """{
      "a": {"task": "process user request",
            "subtasks": {"1": "read the documents", "2": "run a program", "3": "choose"},
            "effect": "answer.txt holds a valid recipe",
            "effect_files": {"1": "answer.txt", "2": "request.txt", "3": "problem_specification.txt"}},
      "b": {"task": "run a program", "effect": "output.txt lists dishes",
            "effect_files": {"1": "solver.py", "2": "output.txt", "3": "problem_specification.txt"}},
      "c": {"task": "choose", "effect": "the notes hold the possible dishes",
            "effect_files": {"1": "notes.txt", "2": "output.txt"}}}"""  # the notes hold the specification
    run = played(some(), "", network=read(text, RECIPES.paths))
    assert run.verdict.solved and run.ended == "done"


def test_the_tools_need_the_standard_library_alone() -> None:
    lines = Path(TOOLS / "recipes.py").read_text(encoding="utf-8").splitlines()
    imported = [line for line in lines if line.startswith(("import ", "from "))]
    assert imported == ["from __future__ import annotations", "import csv", "import os"]
