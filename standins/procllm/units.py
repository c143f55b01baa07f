"""Rules for Unit Movement: group the units, then move each group. They read only the prompt."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice, permutations
from typing import NamedTuple

from procllm.actions import Action, Verify, Write
from procllm.domains import Instance
from procllm.domains.units import SIDES, BadAnswer, MovementProblem, NoProblem, check, parsed, read_moves
from procllm.files import ANSWER, NOTES, REQUEST
from standins.procllm.view import Judgement, View, note, product_in, sections

LINE = re.compile(r"group ([1-3]) goes to (\w+): (\w+(?:, \w+)*)")
TRIED = 10_000  # most assignments of groups to places that are tried; four places have 24


class Group(NamedTuple):
    """number: 1 to 3. place: the neighbour of the target where the group goes. units: in the order of the request."""

    number: int
    place: str
    units: tuple[str, ...]


def grouped(problem: MovementProblem) -> list[Group]:
    """Three groups, sent to different places so that as many units as possible travel along one edge."""
    signs: dict[str, list[str]] = {}  # call sign, the text before a unit's number -> units
    for unit in problem.units:
        signs.setdefault(unit.rpartition("_")[0], []).append(unit)
    groups = list(signs.values())
    # Three equal parts, if the call signs do not make three groups that are large enough.
    if len(groups) != SIDES or any(len(group) < problem.need for group in groups):
        groups = [list(problem.units)[number::SIDES] for number in range(SIDES)]
    reach = [Counter(place for unit in units for place in problem.network[problem.units[unit]]) for units in groups]
    options = islice(permutations(dict.fromkeys(problem.neighbours), SIDES), TRIED)
    best = max(options, key=lambda places: sum(count[place] for count, place in zip(reach, places, strict=True)))
    return [Group(*fields) for fields in zip(range(1, SIDES + 1), best, map(tuple, groups), strict=True)]


def written(groups: Sequence[Group]) -> str:
    """The groups as text for `read_groups`."""
    return "\n".join(f"group {number} goes to {place}: {', '.join(units)}" for number, place, units in groups)


def read_groups(text: str) -> list[Group] | None:
    """The groups of a text that `written` wrote, by number; None if there are not exactly three."""
    lines = [match for line in text.split("\n") if (match := LINE.fullmatch(line.strip()))]
    groups = sorted(Group(int(line[1]), line[2], tuple(line[3].split(", "))) for line in lines)
    return groups if [group.number for group in groups] == [1, 2, 3] else None


def fault_of(groups: Sequence[Group], problem: MovementProblem) -> str:
    """Why the groups do not reach the goal, as text; "" if they do."""
    placed = Counter(unit for group in groups for unit in group.units)
    if unknown := next((unit for unit in placed if unit not in problem.units), None):
        return f"There is no unit {unknown}"
    if twice := next((unit for unit, times in placed.items() if times > 1), None):
        return f"{twice} is in two groups, or twice in one"
    if missing := next((unit for unit in problem.units if unit not in placed), None):
        return f"{missing} is in no group"
    if astray := next((group for group in groups if group.place not in problem.neighbours), None):
        return f"Group {astray.number} goes to {astray.place}, which is not next to {problem.target}"
    if len({group.place for group in groups}) < len(groups):
        return "Two groups go to the same place"
    weak = next((group for group in groups if len(group.units) < problem.need), None)
    return f"Group {weak.number} has {len(weak.units)} of {problem.need} units" if weak else ""


# Product that a task or effect asks for -> its words. The first match counts; a single "group 2" comes before all.
PRODUCTS = {
    "answer": r"answer\.txt|answer file|final answer|write (the |an |your )?answer",
    "grouping": r"\bgroup|strateg|\bassign",
    "actions": r"\bjson\b|\blist of\b",
    "moves": r"\bmoves?\b|\bmovements?\b|\bactions?\b|\bplan\b|\borders?\b",
}
# Tasks about notes on a document may name moves too; they have words of DOCUMENTS and none of REACHED.
DOCUMENTS = r"\brules\b|information|details|copy|initial|repeat|allowed|available|format|specification"
REACHED = r"\bfinal\b|achieve|\breach|fulfil|satisf|\bsolve|\basks for|for the turn"


class UnitsRules:
    """The rules for Unit Movement."""

    name = "units"

    def recognises(self, specification: str) -> bool:
        """Whether the problem specification mentions units and their moves."""
        return all(word in specification for word in ("unit_id", "action_type", "location"))

    def act(self, view: View) -> Action:
        """Note the grouping, then each group's moves, then make the product that the task asks for, then verify."""
        try:
            problem = parsed(view.sections.get("request", ""))
        except NoProblem:
            return Write(NOTES, "")
        product = product_of(f"{view.task} {view.effect}") or ("moves" if view.wanted("notes") else "answer")
        groups = read_groups(view.sections.get("grouping", ""))
        if groups is None or (product == "grouping" and view.rejected):
            return note("grouping", written(grouped(problem)))
        if product == "grouping":
            return Verify()
        return _moved(view, product, groups)

    def judge(self, effect: str, files: Mapping[str, str]) -> Judgement | None:
        """Whether the groups, the moves in the notes or the answer achieve the effect."""
        notes, product = sections(files.get(NOTES, "")), product_of(effect)
        if product is None or (product == "answer" and ANSWER not in files):
            return None
        groups = read_groups(notes.get("grouping", ""))
        if product.startswith("group "):
            return _judged_group(int(product[-1]), groups, notes)
        try:
            problem = parsed(files.get(REQUEST) or notes.get("request", ""))
        except NoProblem as error:
            return Judgement(False, f"{error}.")
        if product == "grouping":
            fault = fault_of(groups, problem) if groups else "The notes do not say of three groups where they go"
            return Judgement(not fault, f"{fault}." if fault else "Three groups with all units go to three places.")
        if product == "answer":
            return _judged_moves(problem, files[ANSWER])
        return _judged_moves(problem, notes.get("actions", "" if product == "actions" else _of_groups(notes)))


def judge_notes(effect: str, request: str, notes: str) -> Judgement | None:
    """Whether the orders in notes of any layout reach the goal; None for an effect about neither orders nor groups.

    Of several orders to a unit the last counts. Notes on groups need only be there: they can be put in too many ways.
    """
    product = product_of(effect)
    try:
        problem = parsed(request)
    except NoProblem:
        return None
    if product is None or product == "answer":
        return None
    if product not in ("actions", "moves"):
        return Judgement(bool(notes.strip()), "No program reads the groups in the notes.")
    places: dict[str, str] = {}
    for text in re.findall(r"\{[^{}]*\}", notes):
        with suppress(BadAnswer):
            places |= {unit: place for unit, place in read_moves(f"[{text}]") if unit in problem.units}
    moves = [{"unit_id": unit, "action_type": "move", "location": place} for unit, place in places.items()]
    return _judged_moves(problem, json.dumps(moves))


def product_of(text: str) -> str | None:
    """The key of PRODUCTS that a task or effect is about, or None; "group 1" to "group 3" for that group's moves."""
    text = text.lower()
    numbers = set(re.findall(r"\bgroup ([1-3])\b", text))
    if len(numbers) == 1 and not re.search(PRODUCTS["answer"], text):
        return f"group {numbers.pop()}"
    return product_in(text, PRODUCTS, DOCUMENTS, REACHED, ("actions", "moves"))


def heading(number: int) -> str:
    """The heading of the notes' section with a group's moves."""
    return f"group {number} moves"


def orders(group: Group) -> str:
    """The group's moves, one JSON object a line."""
    moves = ({"unit_id": unit, "action_type": "move", "location": group.place} for unit in group.units)
    return "\n".join(json.dumps(move) for move in moves)


def whole(parts: Sequence[str]) -> str:
    """The JSON list of all objects in the lines of the parts, unchecked."""
    lines = [line.strip().rstrip(",") for part in parts for line in part.split("\n")]
    return "[\n" + ",\n".join(f"  {line}" for line in lines if line.startswith("{")) + "\n]\n"


def _moved(view: View, product: str, groups: Sequence[Group]) -> Action:
    """Make the next missing piece, from the grouping to the product; a rejected product is made again."""
    wanted = [group for group in groups if product in (f"group {group.number}", "moves", "actions", "answer")]
    for group in wanted:
        name = heading(group.number)
        if name not in view.sections or (view.rejected and view.sections[name] != orders(group)):
            return note(name, orders(group))
    if product == "actions" and ("actions" not in view.sections or view.rejected):
        return note("actions", _of_groups(view.sections))
    if product == "answer" and not view.since_verify(f"Write {ANSWER}"):
        noted_list = view.sections.get("actions")
        return Write(ANSWER, _of_groups(view.sections) if noted_list is None else whole([noted_list]))
    return Verify()


def _of_groups(notes: Mapping[str, str]) -> str:
    """The JSON list of all groups' moves in the notes."""
    return whole([notes.get(heading(number), "") for number in (1, 2, 3)])


def _judged_group(number: int, groups: Sequence[Group] | None, notes: Mapping[str, str]) -> Judgement:
    """Whether every unit of the group moves once, to the group's place, and no other unit moves."""
    if groups is None:
        return Judgement(False, f"The notes do not say which units group {number} has and where it goes.")
    _, place, units = groups[number - 1]
    try:
        moves = read_moves(whole([notes.get(heading(number), "")]))
    except BadAnswer as fault:
        return Judgement(False, f"The moves of group {number} cannot be read: {fault}.")
    expected = [(unit, place) for unit in units]
    wrong_move = next(iter(sorted(set(expected) ^ set(moves))), None)
    if wrong_move or len(moves) != len(expected):
        example = f"{wrong_move[0]} and {wrong_move[1]}" if wrong_move else "a move that stands twice"
        return Judgement(False, f"Not each unit of group {number} moves to {place}, once; see {example}.")
    return Judgement(True, f"Each of the {len(expected)} units of group {number} moves to {place}.")


def _judged_moves(problem: MovementProblem, answer: str) -> Judgement:
    verdict = check(Instance("", "", problem), answer)
    return Judgement(verdict.solved, f"{verdict.reason}." if verdict.reason else "The target is surrounded.")


RULES = UnitsRules()
