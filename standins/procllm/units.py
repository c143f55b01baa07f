"""What answers for Unit Movement offline: group the units, then move each group. It reads only what a prompt holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, permutations
from typing import NamedTuple

from procllm.actions import Action, Verify, Write
from procllm.domains import Instance
from procllm.domains.units import SIDES, BadAnswer, MovementProblem, NoProblem, check, parsed, read_moves
from procllm.files import ANSWER, NOTES, REQUEST
from standins.procllm.view import Judgement, View, note, product_in, sections

LINE = re.compile(r"group ([1-3]) goes to (\w+): (\w+(?:, \w+)*)")
TRIED = 10_000  # ways to send groups to places; four places have 24


class Group(NamedTuple):
    """number: 1 to 3. place: next to the target, where the group goes. units: in the order of the request."""

    number: int
    place: str
    units: tuple[str, ...]


def grouped(problem: MovementProblem) -> list[Group]:
    """Three groups, each sent where most of its units get along one edge; no two go to the same place."""
    signs: dict[str, list[str]] = {}  # by what stands before a unit's number
    for unit in problem.units:
        signs.setdefault(unit.rpartition("_")[0], []).append(unit)
    groups = list(signs.values())
    # In three equal parts, if the call signs make no three groups of the size.
    if len(groups) != SIDES or any(len(group) < problem.need for group in groups):
        groups = [list(problem.units)[number::SIDES] for number in range(SIDES)]
    near = [Counter(place for unit in units for place in problem.network[problem.units[unit]]) for units in groups]
    ways = islice(permutations(dict.fromkeys(problem.neighbours), SIDES), TRIED)
    best = max(ways, key=lambda places: sum(count[place] for count, place in zip(near, places, strict=True)))
    return [Group(*each) for each in zip(range(1, SIDES + 1), best, map(tuple, groups), strict=True)]


def written(groups: Sequence[Group]) -> str:
    """The groups as text."""
    return "\n".join(f"group {number} goes to {place}: {', '.join(units)}" for number, place, units in groups)


def read_groups(text: str) -> list[Group] | None:
    """The groups of such a text by number; None if they are not three."""
    lines = [match for line in text.split("\n") if (match := LINE.fullmatch(line.strip()))]
    groups = sorted(Group(int(line[1]), line[2], tuple(line[3].split(", "))) for line in lines)
    return groups if [group.number for group in groups] == [1, 2, 3] else None


def fault_of(groups: Sequence[Group], problem: MovementProblem) -> str:
    """What keeps the groups from reaching the goal, in words; "" if nothing does."""
    placed = Counter(unit for group in groups for unit in group.units)
    if unknown := next((unit for unit in placed if unit not in problem.units), None):
        return f"There is no unit {unknown}"
    if twice := next((unit for unit, times in placed.items() if times > 1), None):
        return f"{twice} is in two groups, or twice in one"
    if lost := next((unit for unit in problem.units if unit not in placed), None):
        return f"{lost} is in no group"
    if away := next((group for group in groups if group.place not in problem.neighbours), None):
        return f"Group {away.number} goes to {away.place}, which is not next to {problem.target}"
    if len({group.place for group in groups}) < len(groups):
        return "Two groups go to the same place"
    weak = next((group for group in groups if len(group.units) < problem.need), None)
    return f"Group {weak.number} has {len(weak.units)} of {problem.need} units" if weak else ""


# What a task or effect asks for, by its words; the first that fits. A single "group 2" comes before these.
PRODUCTS = {
    "answer": r"answer\.txt|answer file|final answer|write (the |an |your )?answer",
    "grouping": r"\bgroup|strateg|\bassign",
    "actions": r"\bjson\b|\blist of\b",
    "moves": r"\bmoves?\b|\bmovements?\b|\bactions?\b|\bplan\b|\borders?\b",
}
# Notes on a document may name moves as well; they speak of these, and of nothing that is reached.
DOCUMENTS = r"\brules\b|information|details|copy|initial|repeat|allowed|available|format|specification"
REACHED = r"\bfinal\b|achieve|\breach|fulfil|satisf|\bsolve|\basks for|for the turn"


class UnitsRules:
    """Knows Unit Movement."""

    name = "units"

    def recognises(self, specification: str) -> bool:
        """Whether the problem specification speaks of units and their moves."""
        return all(word in specification for word in ("unit_id", "action_type", "location"))

    def act(self, view: View) -> Action:
        """The grouping first, then the moves of each group, then whatever the task asks for, then Verify."""
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
        """Whether the groups, the moves in the notes or the answer reach what the effect says."""
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


def product_of(text: str) -> str | None:
    """Which of PRODUCTS a task or effect is about, or "group 1" to "group 3" for that group's moves, or None."""
    text = text.lower()
    numbers = set(re.findall(r"\bgroup ([1-3])\b", text))
    if len(numbers) == 1 and not re.search(PRODUCTS["answer"], text):
        return f"group {numbers.pop()}"
    return product_in(text, PRODUCTS, DOCUMENTS, REACHED, ("actions", "moves"))


def heading(number: int) -> str:
    """The notes' section with the moves of a group."""
    return f"group {number} moves"


def orders(group: Group) -> str:
    """The group's moves, a JSON object a line."""
    moves = ({"unit_id": unit, "action_type": "move", "location": group.place} for unit in group.units)
    return "\n".join(json.dumps(move) for move in moves)


def whole(parts: Sequence[str]) -> str:
    """The JSON list of all lines of the parts, as they stand."""
    lines = [line.strip().rstrip(",") for part in parts for line in part.split("\n")]
    return "[\n" + ",\n".join(f"  {line}" for line in lines if line.startswith("{")) + "\n]\n"


def _moved(view: View, product: str, groups: Sequence[Group]) -> Action:
    """The next piece between the grouping and the product; a rejected product is made again."""
    wanted = [group for group in groups if product in (f"group {group.number}", "moves", "actions", "answer")]
    for group in wanted:
        name = heading(group.number)
        if name not in view.sections or (view.rejected and view.sections[name] != orders(group)):
            return note(name, orders(group))
    if product == "actions" and ("actions" not in view.sections or view.rejected):
        return note("actions", _of_groups(view.sections))
    if product == "answer" and not view.since_verify(f"Write {ANSWER}"):
        listed = view.sections.get("actions")
        return Write(ANSWER, _of_groups(view.sections) if listed is None else whole([listed]))
    return Verify()


def _of_groups(notes: Mapping[str, str]) -> str:
    """The list of all groups' moves, as the notes have them."""
    return whole([notes.get(heading(number), "") for number in (1, 2, 3)])


def _judged_group(number: int, groups: Sequence[Group] | None, notes: Mapping[str, str]) -> Judgement:
    """Whether each unit of the group has one move, to where the grouping sends it, and no other unit has one."""
    if groups is None:
        return Judgement(False, f"The notes do not say which units group {number} has and where it goes.")
    _, place, units = groups[number - 1]
    try:
        moves = read_moves(whole([notes.get(heading(number), "")]))
    except BadAnswer as fault:
        return Judgement(False, f"The moves of group {number} cannot be read: {fault}.")
    expected = [(unit, place) for unit in units]
    odd = next(iter(sorted(set(expected) ^ set(moves))), None)
    if odd or len(moves) != len(expected):
        shown = f"{odd[0]} and {odd[1]}" if odd else "a move that stands twice"
        return Judgement(False, f"Not each unit of group {number} moves to {place}, once; see {shown}.")
    return Judgement(True, f"Each of the {len(expected)} units of group {number} moves to {place}.")


def _judged_moves(problem: MovementProblem, answer: str) -> Judgement:
    verdict = check(Instance("", "", problem), answer)
    return Judgement(verdict.solved, f"{verdict.reason}." if verdict.reason else "The target is surrounded.")


RULES = UnitsRules()
