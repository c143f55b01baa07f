"""The program that verifies: it reads notes in any layout, and rejects only what it can run or count."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from lab.models.backbone import Answer
from lab.models.connect import connect
from lab.models.prompts import Prompt
from procllm.conditions import HUMAN, LLM_PAPER, NONE, PLACEBO, network_of
from procllm.domains import domain, register
from procllm.domains.hours import HOURS
from procllm.files import ANSWER, NOTES, REQUEST, SPECIFICATION
from procllm.loop import NARROW, PROGRAM, play
from procllm.prompts import CHECKING, VerifyFields
from standins.procllm.blocks import building, unstacking
from standins.procllm.program import check
from standins.procllm.units import grouped, orders

SIZES = {"blocks": {"b": 5, "h": 3}, "units": {"n": 2, "k": 1}, "hours": {"people": 2, "entries": 4}}
BLOCKS, UNITS = domain("blocks"), domain("units")
(STACKS,) = BLOCKS.instances(1, seed=2, **SIZES["blocks"])
(MOVEMENT,) = UNITS.instances(1, seed=2, **SIZES["units"])
UNSTACKED, BUILT = unstacking(STACKS.problem), building(STACKS.problem)


class OtherHeadings:
    """The rules, with other headings in their notes than the verifier of the engine `rules` knows."""

    def __init__(self) -> None:
        self._rules = connect("rules")
        self.engine = self._rules.engine

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        if prompt.operator != "act":
            return self._rules.ask(prompt, sample, **fields)
        notes = re.sub(r"^Notes on ", "## ", fields["notes"], flags=re.MULTILINE)
        answer: Any = self._rules.ask(prompt, sample, **fields | {"notes": notes})
        text = re.sub(r"^## ", "Notes on ", answer.value.text, flags=re.MULTILINE)
        return replace(answer, value=answer.value.model_copy(update={"text": text}))


@pytest.mark.parametrize("condition", [HUMAN, LLM_PAPER, PLACEBO, NONE])
@pytest.mark.parametrize("name", SIZES)
def test_right_notes_pass_under_every_network_whatever_their_layout(name: str, condition: str) -> None:
    """Else a network that asks for notes would lose to none by the layout of the notes alone."""
    register(HOURS)
    if name == "hours" and condition == LLM_PAPER:
        pytest.skip("the paper has no network for Work hours")
    (problem,) = domain(name).instances(1, seed=2, **SIZES[name])
    network = network_of(condition, domain(name))
    backbone: Any = OtherHeadings()
    assert play(domain(name), problem, network, backbone, 40, form=NARROW, verified_by=PROGRAM).success


def passes(effect: str, **files: str) -> bool:
    paths = {"request": REQUEST, "specification": SPECIFICATION, "notes": NOTES, "answer": ANSWER}
    return check(
        VerifyFields(effect=effect, files=tuple((paths[name], text) for name, text in files.items()))
    ).satisfied


UNSTACK = "the notes hold the steps that unstack the blocks until every one is clear and the hand holds none"
CLEAR = "the notes hold the sequence of unstack and put actions that brings every misplaced block to the table"
BUILD = "the notes hold the sequence of pick and stack actions that builds the goal from blocks on the table"
PLAN = "the notes hold the whole plan that solves the blocks problem"


@pytest.mark.parametrize(
    "layout",
    [
        lambda steps: steps,
        lambda steps: (
            "### Steps\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(steps.split("\n"), 1))
        ),
        lambda steps: "\n".join(f"- {line.upper()}" for line in steps.split("\n")),
        lambda steps: f"{BLOCKS.specification}{STACKS.request}stack red red\nput nothing\n{steps}\nDone.",
        lambda steps: steps.rpartition("\n")[0] + "\n\n" + steps,  # a first attempt lacks its last step
    ],
)
def test_steps_pass_in_any_layout_and_after_a_wrong_attempt(layout: Any) -> None:
    for effect, steps in ((UNSTACK, UNSTACKED), (CLEAR, UNSTACKED), (BUILD, BUILT), (PLAN, f"{UNSTACKED}\n{BUILT}")):
        assert passes(effect, request=STACKS.request, notes=layout(steps))


def test_steps_that_are_impossible_or_lead_elsewhere_are_rejected() -> None:
    cut = UNSTACKED.rpartition("\n")[0]
    for effect, steps in (
        (UNSTACK, ""), (UNSTACK, cut), (UNSTACK, BUILT), (CLEAR, cut), (BUILD, UNSTACKED), (PLAN, BUILT),
        (PLAN, UNSTACKED), (PLAN, f"{UNSTACKED}\n{BUILT.rpartition(chr(10))[0]}"),
    ):  # fmt: skip
        assert not passes(effect, request=STACKS.request, notes=f"{STACKS.request}{steps}")


def test_orders_anywhere_in_the_notes_pass_once_the_last_ones_surround_the_target() -> None:
    effect = UNITS.network.find_first_relevant("move units").effect
    right = "\n".join(orders(group) for group in grouped(MOVEMENT.problem))
    wrong = right.replace(grouped(MOVEMENT.problem)[0].place, MOVEMENT.problem.target)
    assert passes(effect, request=MOVEMENT.request, notes=f"{UNITS.specification}My orders: [{right}]")
    assert passes(effect, request=MOVEMENT.request, notes=f"{wrong}\nBetter:\n{right}")
    for notes in ("", MOVEMENT.request, wrong, f"{right}\n{wrong}", right.replace("unit_id", "unit")):
        assert not passes(effect, request=MOVEMENT.request, notes=notes)


@pytest.mark.parametrize(("copied", "enough"), [(1.0, True), (0.85, True), (0.7, False), (0.0, False)])
def test_notes_need_most_words_of_a_request_and_half_of_a_specification(copied: float, enough: bool) -> None:
    effect = "the notes say what the user request says"
    text = " ".join(f"word{number}" for number in range(100))
    shorter = " ".join(text.split()[: int(100 * copied)])
    assert passes(effect, request=text, notes=f"- {shorter.upper()}") is enough
    rules = "the notes say what the problem specification says"
    assert passes(rules, specification=text, notes=shorter) is (copied >= 0.5)


def test_an_answer_passes_exactly_if_the_domain_accepts_it() -> None:
    register(HOURS)
    (problem,) = HOURS.instances(1, seed=2, **SIZES["hours"])
    files = {"request": problem.request, "specification": HOURS.specification}
    effect = HOURS.network.find_first_relevant("process user request").effect
    for answer in (problem.problem, f"\n {problem.problem}\n\n", problem.problem.replace("\n", " "), "", "Ada 1"):
        assert passes(effect, answer=answer, **files) == HOURS.check(problem, answer).solved


def test_what_no_program_reads_passes_once_its_files_have_text() -> None:
    groups = UNITS.network.find_first_relevant("group units").effect
    for effect, files in ((groups, {"request": MOVEMENT.request}), ("the stars are right", {})):
        assert passes(effect, notes="something", **files) and not passes(effect, notes=" ", **files)
    assert CHECKING.operator == "check"
