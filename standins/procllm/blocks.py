"""Rules for Blocks World: unstack everything, then build the goal. They read only the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial

from procllm.actions import Action, Verify, Write
from procllm.domains import Instance
from procllm.domains.blocks import (
    ACTIONS,
    BadPlan,
    Line,
    NoProblem,
    StackProblem,
    check,
    missing,
    parsed,
    read_plan,
    run,
)
from procllm.files import ANSWER, NOTES, REQUEST
from standins.procllm.view import Judgement, View, note, product_in, sections
from worlds.blocksworld.state import State

# Product that a task or effect asks for -> its words. The first match counts.
PRODUCTS = {
    "answer": r"answer\.txt|answer file|final answer|write (the |an |your )?answer",
    "unstacking": r"unstack|clear (all|every|the)\b",
    "building": r"pick and stack|\bbuild",
    "plan": r"\bplan\b|\bsteps\b|\bsequence\b|\bsolution\b|\bsolve",
}
# Tasks about notes on a document may name actions too; they have words of DOCUMENTS and none of STEPS.
DOCUMENTS = r"\brules\b|information|details|copy|initial|repeat|allowed|format|specification"
STEPS = r"\bsteps\b|\bsequence\b|\bactions (to|that)\b|\bsolve"
NOTHING = "every block stands on the table already"
LINE = re.compile(rf"(?:{'|'.join(ACTIONS)})(?: +\w+){{1,2}}")
ANYWHERE = re.compile(rf"^[\W\d]*({LINE.pattern})\W*$", re.MULTILINE)  # also after a number or a bullet


class BlocksRules:
    """The rules for Blocks World."""

    name = "blocks"

    def recognises(self, specification: str) -> bool:
        """Whether the problem specification mentions blocks and this domain's actions."""
        return all(word in specification.lower() for word in ("block", *ACTIONS))

    def act(self, view: View) -> Action:
        """First note the unstacking, then make the product that the task asks for, then verify."""
        try:
            problem = parsed(view.sections.get("request", ""))
        except NoProblem:
            return Write(NOTES, "")
        product = product_of(f"{view.task} {view.effect}") or ("plan" if view.wanted("notes") else "answer")
        if product in ("plan", "answer") and "unstacking" not in view.sections:
            return note("unstacking", unstacking(problem))
        if product == "answer":
            return Verify() if view.since_verify(f"Write {ANSWER}") else Write(ANSWER, whole(problem, view.sections))
        if product in view.sections and not view.rejected:
            return Verify()
        makers = {"unstacking": unstacking, "building": building, "plan": lambda _: whole(problem, view.sections)}
        return note(product, makers[product](problem))

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the answer, or the steps in the notes, achieve the effect when they are executed."""
        notes = sections(files.get(NOTES, ""))
        product = product_of(effect)
        if product is None or (product == "answer" and ANSWER not in files):
            return None
        try:
            problem = parsed(files.get(REQUEST) or notes.get("request", ""))
        except NoProblem as fault:
            return Judgement(False, f"{fault}.")
        # A network may name the answer as the only effect file of a plan; the answer must then hold the plan.
        if product == "answer" or (product == "plan" and NOTES not in files and ANSWER in files):
            verdict = check(Instance("", "", problem), files[ANSWER])
            return Judgement(verdict.solved, verdict.reason or "The plan runs and the goal holds in the end.")
        return _judged_steps(problem, product, notes)


def product_of(text: str) -> str | None:
    """The key of PRODUCTS that a task or effect is about, or None."""
    return product_in(text, PRODUCTS, DOCUMENTS, STEPS, ("unstacking", "building", "plan"))


def unstacking(problem: StackProblem) -> str:
    """The plan lines that put every block on the table."""
    pairs = [pair for tower in problem.start.towers for pair in reversed(list(zip(tower[1:], tower, strict=False)))]
    return "\n".join(f"unstack {upper} {lower}\nput {upper}" for upper, lower in pairs) or NOTHING


def building(problem: StackProblem) -> str:
    """The plan lines that build the goal, if all blocks are on the table."""
    return "\n".join(f"pick {upper}\nstack {upper} {lower}" for upper, lower in problem.goal)


def whole(problem: StackProblem, known: Mapping[str, str]) -> str:
    """The plan, joined from the parts in the notes, which are not checked; a missing building part is generated."""
    built = known["building"] if "building" in known else building(problem)
    return "\n".join([*steps(known.get("unstacking", "")), *steps(built)]) + "\n"


def steps(text: str) -> list[str]:
    """The lines that have the form of an action."""
    return [line.strip() for line in text.split("\n") if LINE.fullmatch(line.strip())]


def judge_notes(effect: str, request: str, notes: str) -> Judgement | None:
    """Whether some steps in a row, in notes of any layout, do what the effect says; None if no steps can tell.

    Of several attempts in the notes the wrong ones do no harm.
    """
    product = product_of(effect)
    try:
        problem = parsed(request)
    except NoProblem:
        return None
    if product not in ("unstacking", "building", "plan"):
        return None
    fault_of = partial(_covered, problem) if "misplaced" in effect else _not_flat
    fault_of = fault_of if product == "unstacking" else partial(missing, problem)
    flat = State(tuple((block,) for block in problem.start.blocks))
    starts = (flat, problem.start) if product == "building" else (problem.start,)
    plan = _plan_in(notes, problem.start.blocks)
    if any(not fault_of(state) for start in starts for state in _states(start, plan)):
        return Judgement(True, f"The steps for {product} run and lead where they should.")
    if not plan:
        return Judgement(False, f"The notes hold no steps for {product}, an action a line.")
    ran = run(starts[0], plan)
    return Judgement(False, f"Of the steps in the notes: {ran.fault or fault_of(ran.state)}.")


def _plan_in(notes: str, blocks: tuple[str, ...]) -> list[Line]:
    """The actions on these blocks, a line each, with or without numbers or bullets."""
    plan: list[Line] = []
    for text in ANYWHERE.findall(notes.lower()):
        with suppress(BadPlan):
            plan += read_plan(text, blocks)
    return [line._replace(number=number) for number, line in enumerate(plan, 1)]


def _states(start: State, plan: list[Line]) -> Iterator[State]:
    """The start, and every state to which some lines in a row lead."""
    yield start
    for first in range(len(plan)):
        for last in range(first + 1, len(plan) + 1):
            ran = run(start, plan[first:last])
            if ran.fault:
                break
            yield ran.state


def _covered(problem: StackProblem, state: State) -> str:
    """Why a block that is not where the goal wants it cannot be built on, as text; "" if all can."""
    if state.holding is not None:
        return _not_flat(state)
    facts = state.facts()
    misplaced = (block for pair in problem.goal if ("on", *pair) not in facts for block in pair)
    covered = next((block for block in misplaced if ("clear", block) not in facts), None)
    return f"After the steps the {covered} block is not clear" if covered else ""


def _judged_steps(problem: StackProblem, product: str, notes: Mapping[str, str]) -> Judgement:
    """Execute the steps of the product's section; without that section, all steps outside the documents."""
    all_on_table = State(tuple((block,) for block in problem.start.blocks))
    start = all_on_table if product == "building" else problem.start
    documents = ("request", "problem specification")
    texts = [notes[product]] if product in notes else [text for name, text in notes.items() if name not in documents]
    lines = [line for text in texts for line in steps(text)]
    if not lines and not (product == "unstacking" and notes.get(product) == NOTHING):
        return Judgement(False, f"The notes hold no steps for {product}.")
    try:
        ran = run(start, read_plan("\n".join(lines), start.blocks) if lines else [])
    except BadPlan as error:
        return Judgement(False, f"Of the steps for {product} in the notes: {error}.")
    fault = ran.fault or (_not_flat(ran.state) if product == "unstacking" else missing(problem, ran.state))
    return Judgement(not fault, f"{fault}." if fault else f"The steps for {product} run and lead where they should.")


def _not_flat(state: State) -> str:
    """Why a state does not have every block clear and the hand empty, as text; "" if it has."""
    if state.holding is not None:
        return f"After the steps the hand still holds the {state.holding} block"
    covered = next((tower[0] for tower in state.towers if len(tower) > 1), None)
    return f"After the steps the {covered} block is not clear" if covered else ""


RULES = BlocksRules()
