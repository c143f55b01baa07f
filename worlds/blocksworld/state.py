"""The simulator (towers on a table, a hand, four actions; states are immutable), and its texts, worded as in PlanBench.

An observation names, in this order, the clear blocks, the hand, which block is on top of which, and the blocks on the
table, each in the order of the blocks. This is PlanBench's order for initial states. The observations in the
StateFactory paper's Tables 22-25 fit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

Fact = tuple[str, ...]  # ("on", "a", "b"), ("ontable", "a"), ("clear", "a"), ("holding", "a"), ("handempty",)
# The first twelve, for blocks a to l, are PlanBench's; the others are ours.
COLOURS = (
    "red", "blue", "orange", "yellow", "white", "magenta", "black", "cyan", "green", "violet", "silver", "gold",
    "brown", "pink", "grey", "turquoise", "beige", "maroon", "olive", "navy", "teal", "purple", "lime", "coral",
    "indigo", "ivory", "khaki", "lavender", "bronze", "copper", "crimson", "scarlet", "amber", "aqua", "azure", "cream",
    "emerald", "jade", "lemon", "lilac", "mint", "mustard", "ochre", "peach", "plum", "ruby", "rust", "salmon",
    "sapphire", "tan",
)  # fmt: skip
ACTIONS = {
    "pick-up": "pick up the {}",
    "put-down": "put down the {}",
    "stack": "stack the {} on top of the {}",
    "unstack": "unstack the {} from on top of the {}",
}
# In the order of an observation.
PREDICATES = {
    "clear": "the {} is clear",
    "handempty": "the hand is empty",
    "holding": "the hand is currently holding {}",
    "on": "the {} is on top of the {}",
    "ontable": "the {} is on the table",
}
PATTERNS = {name: re.compile(text.replace("{}", "(.+?)")) for name, text in ACTIONS.items()}
CLAUSES = {name: re.compile(text.replace("{}", "(.+?)")) for name, text in PREDICATES.items()}


class ImpossibleAction(ValueError):
    """The action's precondition does not hold; the message names both."""


class NoState(ValueError):
    """The facts describe no possible state of blocks on a table; the message names the block or fact."""


@dataclass(frozen=True, slots=True, order=True)
class Action:
    """A ground operator. name: "pick-up", "put-down", "stack" or "unstack"; under: the lower block for the last two."""

    name: str
    block: str
    under: str | None = None

    def __str__(self) -> str:
        """The action as in a PDDL plan: "(unstack b c)"."""
        return f"({' '.join(part for part in (self.name, self.block, self.under) if part is not None)})"


@dataclass(frozen=True, slots=True)
class State:
    """The position of every block. towers: each from the table up, sorted; holding: the block in the hand."""

    towers: tuple[tuple[str, ...], ...]
    holding: str | None = None

    @property
    def blocks(self) -> tuple[str, ...]:
        """All blocks, sorted."""
        in_hand = () if self.holding is None else (self.holding,)
        return tuple(sorted([*(block for tower in self.towers for block in tower), *in_hand]))

    def facts(self) -> frozenset[Fact]:
        """All facts that hold."""
        return frozenset(self._facts())

    def _facts(self) -> Iterator[Fact]:
        yield ("handempty",) if self.holding is None else ("holding", self.holding)
        for tower in self.towers:
            yield "ontable", tower[0]
            yield "clear", tower[-1]
            yield from (("on", upper, lower) for lower, upper in zip(tower, tower[1:], strict=False))

    def actions(self) -> tuple[Action, ...]:
        """The possible actions, sorted."""
        return tuple(sorted(self._actions()))

    def _actions(self) -> Iterator[Action]:
        for tower in self.towers:
            if self.holding is not None:
                yield Action("stack", self.holding, tower[-1])
            elif len(tower) == 1:
                yield Action("pick-up", tower[0])
            else:
                yield Action("unstack", tower[-1], tower[-2])
        if self.holding is not None:
            yield Action("put-down", self.holding)

    def after(self, action: Action) -> State:
        """The state that the action leads to. Raises ImpossibleAction."""
        if action not in self._actions():
            raise ImpossibleAction(f"{action} is not possible in {self}")
        match action:
            case Action("pick-up", block):
                return self._with((block,), (), block)
            case Action("put-down", block):
                return self._with((), (block,), None)
            case Action("stack", block, under):
                tower = self._tower(under)
                return self._with(tower, (*tower, block), None)
            case Action(_, block):
                tower = self._tower(block)
                return self._with(tower, tower[:-1], block)

    def _tower(self, top: str | None) -> tuple[str, ...]:
        return next(tower for tower in self.towers if tower[-1] == top)

    def _with(self, old: tuple[str, ...], new: tuple[str, ...], holding: str | None) -> State:
        """This state with the tower `old` replaced by `new`; () is no tower."""
        # Sorted again, so that equal states compare and hash as equal, whatever led to them.
        others = [tower for tower in self.towers if tower != old]
        return State(tuple(sorted([*others, new] if new else others)), holding)


def state_of(facts: Iterable[Fact], blocks: Iterable[str]) -> State:
    """The state that the facts describe. Raises NoState if they describe none, or not exactly these blocks."""
    facts, blocks = frozenset(facts), sorted(blocks)
    upper = {fact[2]: fact[1] for fact in facts if fact[0] == "on"}
    in_hand = [fact[1] for fact in facts if fact[0] == "holding"]
    towers = tuple(sorted(_raised(fact[1], upper) for fact in facts if fact[0] == "ontable"))
    state = State(towers, in_hand[0] if in_hand else None)
    if list(state.blocks) != blocks or state.facts() != facts:
        missing, extra = sorted(state.facts() - facts), sorted(facts - state.facts())
        raise NoState(f"not a state of the blocks {', '.join(blocks)}: missing {missing}, impossible {extra}")
    return state


def _raised(bottom: str, upper: dict[str, str]) -> tuple[str, ...]:
    tower = [bottom]
    while (block := upper.get(tower[-1])) is not None and block not in tower:  # facts may go round in a circle
        tower.append(block)
    return tuple(tower)


def letters(index: int) -> str:
    """A block's PDDL name: a to z, then aa, ab and so on."""
    name = ""
    while index >= 0:
        index, letter = divmod(index, 26)
        name, index = chr(ord("a") + letter) + name, index - 1
    return name


@cache
def block_name(block: str) -> str:
    """A block's name as text: "red block" for a; after the last colour "red block 2"; "b1 block" for other names."""
    if not re.fullmatch("[a-z]{1,2}", block):
        return f"{block} block"
    index = 0
    for letter in block:
        index = index * 26 + ord(letter) - ord("a") + 1
    number, colour = divmod(index - 1, len(COLOURS))
    return f"{COLOURS[colour]} block" + (f" {number + 1}" if number else "")


def block_of(name: str) -> str:
    """The block with this name: the inverse of `block_name`."""
    match = re.fullmatch(r"(\w+) block(?: (\d+))?", name)
    if match is None or match[1] not in COLOURS:
        return name.removesuffix(" block")
    return letters(COLOURS.index(match[1]) + len(COLOURS) * (int(match[2] or 1) - 1))


def in_order(block: str) -> tuple[int, str]:
    """A sort key: a to z before aa."""
    return len(block), block


def clause(fact: Fact) -> str:
    """A fact as text: "the red block is on the table"."""
    return PREDICATES[fact[0]].format(*map(block_name, fact[1:]))


def observation(state: State) -> str:
    """All facts of a state as text, separated by commas, without a full stop."""
    ranks = list(PREDICATES)  # a dict keeps its order, which is that of an observation
    facts = sorted(state.facts(), key=lambda fact: (ranks.index(fact[0]), [in_order(block) for block in fact[1:]]))
    return ", ".join(map(clause, facts))


def facts_of(text: str) -> tuple[Fact, ...] | None:
    """The facts in an observation or a goal; None if a clause is no fact."""
    facts = []
    for clause in re.split(r", (?:and )?| and ", " ".join(text.split()).lower().removesuffix(".")):
        matches = ((name, pattern.fullmatch(clause)) for name, pattern in CLAUSES.items())
        name, match = next((pair for pair in matches if pair[1]), ("", None))
        if match is None:
            return None
        facts.append((name, *map(block_of, match.groups())))
    return tuple(facts)


def goal_text(goal: Iterable[Fact]) -> str:
    """The goal as text, in the order given: "A", "A and B", "A, B and C"."""
    *clauses, last = map(clause, goal)
    return f"{', '.join(clauses)} and {last}" if clauses else last


def action_text(action: Action) -> str:
    """An action as text: "unstack the orange block from on top of the red block"."""
    blocks = [action.block] if action.under is None else [action.block, action.under]
    return ACTIONS[action.name].format(*map(block_name, blocks))


def read_action(text: str, blocks: Sequence[str]) -> Action | None:
    """The action that the text names; case, spaces and a full stop do not matter. None if it names no action or block.

    Does not check whether the action is possible.
    """
    words = " ".join(text.split()).lower().removesuffix(".").rstrip()
    by_name = {block_name(block).lower(): block for block in blocks}
    for name, pattern in PATTERNS.items():
        if match := pattern.fullmatch(words):
            action_blocks = [by_name[word] for word in match.groups() if word in by_name]
            return Action(name, *action_blocks) if len(action_blocks) == len(match.groups()) else None
    return None
