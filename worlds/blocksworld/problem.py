"""A problem (start state and goal) as values and as PDDL text, and the task made from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worlds.blocksworld.state import Action, Fact, State, block_name, goal_text, in_order, state_of

ARITY = {"clear": 1, "handempty": 0, "holding": 1, "on": 2, "ontable": 1}
OPERATORS = {"pick-up": 1, "put-down": 1, "stack": 2, "unstack": 2}


@dataclass(frozen=True, slots=True)
class BlocksProblem:
    """A start state and a goal, which is a conjunction of facts in the order given."""

    start: State
    goal: tuple[Fact, ...]

    def __post_init__(self) -> None:
        if not self.goal:
            raise ValueError("the goal has no fact")
        names = [block_name(block) for block in self.start.blocks]
        if len(set(names)) < len(names):
            raise ValueError(f"two blocks have the same name in words: {', '.join(sorted(names))}")
        for fact in self.goal:
            check_fact(fact, self.start.blocks)

    @property
    def goal_text(self) -> str:
        return goal_text(self.goal)

    def solved_by(self, state: State) -> bool:
        """Whether the goal holds in the state."""
        return state.facts().issuperset(self.goal)

    def to_pddl(self, name: str = "blocks") -> str:
        """The problem in PDDL, for the domain blocksworld-4ops; the same text for the same problem."""
        # All sorted: `official.DIGEST` hashes this text, which must not depend on the order of a set.
        blocks = " ".join(sorted(self.start.blocks, key=in_order))
        start = " ".join(map(_pddl, sorted(self.start.facts())))
        goal = " ".join(map(_pddl, self.goal))
        return (
            f"(define (problem {name})\n  (:domain blocksworld-4ops)\n  (:objects {blocks})\n"
            f"  (:init {start})\n  (:goal (and {goal})))\n"
        )


def problem_of(blocks: Iterable[str], start: Iterable[Fact], goal: Iterable[Fact]) -> BlocksProblem:
    """The problem with these facts. Raises ValueError naming the fault (NoState if the start is no state)."""
    blocks, start = sorted(blocks), list(start)
    for fact in start:
        check_fact(fact, blocks)
    return BlocksProblem(state_of(start, blocks), tuple(goal))


def check_fact(fact: Fact, blocks: Sequence[str]) -> None:
    """Raise ValueError unless this is a fact of the domain about these blocks."""
    if not fact or ARITY.get(fact[0]) != len(fact) - 1:
        raise ValueError(f"{_pddl(fact)} is no fact of this domain, whose predicates are {', '.join(ARITY)}")
    for block in fact[1:]:
        if block not in blocks:
            raise ValueError(f"{_pddl(fact)} names {block!r}, which is none of the objects {', '.join(blocks)}")


def from_pddl(text: str) -> BlocksProblem:
    """The problem in a PDDL text. Raises ValueError naming the fault (NoState if the start is no state)."""
    sections = {part[0]: part[1:] for part in _parsed(text) if isinstance(part, list) and part}
    try:
        objects, start, (goal,) = sections[":objects"], sections[":init"], sections[":goal"]
    except (KeyError, ValueError) as error:
        raise ValueError(f"a problem needs :objects, :init and one :goal; this one has {sorted(sections)}") from error
    facts = goal[1:] if goal[:1] == ["and"] else [goal]  # PDDL allows a goal of one fact without "and"
    return problem_of(objects, map(_fact, start), map(_fact, facts))


def read_operator(text: str) -> Action:
    """A plan's step, "(unstack b c)", as an action. Raises ValueError for another text."""
    name, *blocks = text.lower().replace("(", " ").replace(")", " ").split() or [""]
    if OPERATORS.get(name) != len(blocks):
        raise ValueError(f"{text!r} is no step of a plan; the operators are {', '.join(OPERATORS)}")
    return Action(name, *blocks)


def _pddl(fact: Fact) -> str:
    return f"({' '.join(fact)})"


def _fact(parsed: object) -> Fact:
    if not isinstance(parsed, list) or not all(isinstance(word, str) for word in parsed):
        raise ValueError(f"{parsed!r} is no fact")
    return tuple(parsed)


def _parsed(text: str) -> list:
    """The text as nested lists of words. Raises ValueError where brackets do not match."""
    # PDDL ignores case, and a semicolon begins a comment.
    lines = (line.split(";")[0] for line in text.lower().splitlines())
    stack: list[list] = [[]]
    for token in " ".join(lines).replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token)
        elif len(stack) == 1:
            raise ValueError("a bracket closes that was never opened")
        else:
            inner = stack.pop()
            stack[-1].append(inner)
    if len(stack) > 1 or len(stack[0]) != 1 or not isinstance(stack[0][0], list):
        raise ValueError("this is not one PDDL definition with matching brackets")
    return stack[0][0]


@dataclass(frozen=True, slots=True)
class BlocksTask:
    """One problem. goal: its text; problem: start and goal as values."""

    id: str
    goal: str
    problem: BlocksProblem

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self.problem.start.blocks)
