"""The simulator: towers on a table, a hand, and the four actions of the classical domain. States never change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Fact = tuple[str, ...]  # ("on", "a", "b"), ("ontable", "a"), ("clear", "a"), ("holding", "a"), ("handempty",)


class ImpossibleAction(ValueError):
    """The action's precondition does not hold; the message names both."""


class NoState(ValueError):
    """Facts that describe no state of blocks on a table; the message names the block or fact."""


@dataclass(frozen=True, slots=True, order=True)
class Action:
    """A ground operator. name: "pick-up", "put-down", "stack" or "unstack"; under: of the last two, the lower block."""

    name: str
    block: str
    under: str | None = None

    def __str__(self) -> str:
        """As PDDL plans have it: "(unstack b c)"."""
        return f"({' '.join(part for part in (self.name, self.block, self.under) if part is not None)})"

    @property
    def inverse(self) -> Action:
        """The action that takes this one back."""
        return Action(INVERSES[self.name], self.block, self.under)


INVERSES = {"pick-up": "put-down", "put-down": "pick-up", "stack": "unstack", "unstack": "stack"}


@dataclass(frozen=True, slots=True)
class State:
    """Where every block is. towers: each from the table up, sorted; holding: the block in the hand."""

    towers: tuple[tuple[str, ...], ...]
    holding: str | None = None

    @property
    def blocks(self) -> tuple[str, ...]:
        """All blocks, sorted."""
        held = () if self.holding is None else (self.holding,)
        return tuple(sorted([*(block for tower in self.towers for block in tower), *held]))

    def facts(self) -> frozenset[Fact]:
        """All predicates that hold."""
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
        """This state with one tower replaced; an empty one is no tower."""
        # Sorted again, so that equal states compare and hash as equal whatever led to them.
        kept = [tower for tower in self.towers if tower != old]
        return State(tuple(sorted([*kept, new] if new else kept)), holding)


def state_of(facts: Iterable[Fact], blocks: Iterable[str]) -> State:
    """The state that the facts describe. Raises NoState if they describe none, or not that of exactly these blocks."""
    facts, blocks = frozenset(facts), sorted(blocks)
    upper = {fact[2]: fact[1] for fact in facts if fact[0] == "on"}
    held = [fact[1] for fact in facts if fact[0] == "holding"]
    towers = tuple(sorted(_raised(fact[1], upper) for fact in facts if fact[0] == "ontable"))
    state = State(towers, held[0] if held else None)
    if list(state.blocks) != blocks or state.facts() != facts:
        missing, extra = sorted(state.facts() - facts), sorted(facts - state.facts())
        raise NoState(f"not a state of the blocks {', '.join(blocks)}: missing {missing}, impossible {extra}")
    return state


def _raised(bottom: str, upper: dict[str, str]) -> tuple[str, ...]:
    tower = [bottom]
    while (block := upper.get(tower[-1])) is not None and block not in tower:  # facts may go round in a circle
        tower.append(block)
    return tuple(tower)
