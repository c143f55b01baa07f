"""Blocks World: problems as the paper has them, a checker that a brute-force check agrees with, rules that solve."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_checked import assert_both_agree
from procllm.domains import Instance, domain
from procllm.domains.blocks import COLOURS, GOAL, NoProblem, bottom_up, instances, parsed

BLOCKS = domain("blocks")
SIZES = st.integers(2, 12).flatmap(lambda b: st.tuples(st.just(b), st.integers(2, b)))
EXAMPLE = """
the blue block is on the table
the gray block is on top of the blue block
the red block is on top of the gray block
the red block is clear
the cyan block is clear
the cyan block is on the table
"""


def some(b: int = 5, h: int = 3, seed: int = 0) -> Instance:
    return instances(1, seed, b, h)[0]


def solution(instance: Instance) -> str:
    """A plan as text: every block to the table, then the goal from below."""
    lines = []
    for tower in instance.problem.start.towers:
        for upper, lower in reversed(list(zip(tower[1:], tower, strict=False))):
            lines += [f"unstack {upper} {lower}", f"put {upper}"]
    for upper, lower in instance.problem.goal:
        lines += [f"pick {upper}", f"stack {upper} {lower}"]
    return "\n".join(lines)


# --- problems


@given(SIZES, st.integers(0, 50))
def test_a_problem_has_b_blocks_and_one_goal_stack_of_h_that_is_not_there_yet(size: tuple[int, int], seed: int) -> None:
    b, h = size
    problem = some(b, h, seed).problem
    assert len(problem.start.blocks) == b and problem.start.holding is None
    stack = [problem.goal[0][1], *(upper for upper, _ in problem.goal)]
    assert len(problem.goal) == h - 1 and len(set(stack)) == h and set(stack) <= set(problem.start.blocks)
    assert [lower for _, lower in problem.goal] == stack[:-1]
    assert not problem.start.facts().issuperset(("on", *pair) for pair in problem.goal)


@given(SIZES, st.integers(0, 50))
def test_every_problem_is_solvable_and_its_request_reads_back(size: tuple[int, int], seed: int) -> None:
    instance = some(*size, seed)
    assert BLOCKS.check(instance, solution(instance)).solved
    assert parsed(instance.request) == instance.problem


@pytest.mark.parametrize(("b", "h", "count"), [(1, 1, 1), (3, 1, 1), (3, 4, 1), (13, 3, 1), (3, 2, -1), (3, 2, 1000)])
def test_sizes_that_do_not_exist_are_refused(b: int, h: int, count: int) -> None:
    with pytest.raises(ValueError, match=r"b=|h=|count="):
        instances(count, 0, b, h)


def test_starts_are_random_and_blocks_stand_in_every_height() -> None:
    towers = Counter(len(each.problem.start.towers) for each in instances(200, 0, 4, 2))
    assert set(towers) == {1, 2, 3, 4}
    assert {block for each in instances(50) for block in each.problem.start.blocks} == set(COLOURS)


def test_facts_are_read_in_the_order_of_the_papers_example() -> None:
    problem = parsed(f"{EXAMPLE}{GOAL}\nthe blue block is on top of the cyan block")
    assert problem.start.towers == (("blue", "gray", "red"), ("cyan",)) and problem.goal == (("blue", "cyan"),)


@pytest.mark.parametrize(
    ("lost", "goal"),
    [
        ("the red block is clear", "the blue block is on top of the cyan block"),
        ("the blue block is on the table", "the blue block is on top of the cyan block"),
        ("", "the blue block is on top of the pink block"),
        ("", ""),
        ("", "the blue block is on top of the cyan block\nthe blue block is on top of the red block"),
        ("", "the blue block is on top of the cyan block\nthe cyan block is on top of the blue block"),
    ],
)
def test_a_request_that_tells_of_no_problem_is_refused(lost: str, goal: str) -> None:
    with pytest.raises(NoProblem):
        parsed(f"{EXAMPLE.replace(lost, '') if lost else EXAMPLE}{GOAL}\n{goal}")


def test_a_goal_in_any_order_is_built_from_below() -> None:
    assert bottom_up((("c", "b"), ("y", "x"), ("b", "a"))) == (("y", "x"), ("b", "a"), ("c", "b"))


# --- the checker beside a brute-force check that keeps what each block is on, and no towers


def brute_force(instance: Instance, answer: str) -> tuple[bool, bool, bool]:
    """format, plan runs, goal; a dict from each block to what it is on stands for the state."""
    blocks = set(instance.problem.start.blocks)
    under = {line.split()[1]: "table" for line in instance.request.split(GOAL)[0].splitlines() if "table" in line}
    before, after = ([line.split() for line in part.splitlines() if "on top of" in line]
                     for part in instance.request.split(GOAL))  # fmt: skip
    under |= {words[1]: words[8] for words in before}
    actions = [line.split() for line in answer.splitlines() if line.strip()]
    arity = {"pick": 2, "put": 2, "stack": 3, "unstack": 3}
    if not actions or any(arity.get(each[0]) != len(each) or set(each[1:]) - blocks for each in actions):
        return False, False, False
    for name, block, *lower in actions:
        held = [each for each, place in under.items() if place == "hand"]
        free = block not in under.values() and not held
        if name in ("pick", "unstack"):
            if not free or under[block] != (lower or ["table"])[0]:
                return True, False, False
            under[block] = "hand"
        else:
            onto = (lower or ["table"])[0]
            if held != [block] or onto == block or (lower and onto in under.values()):
                return True, False, False
            under[block] = onto
    return True, True, all(under[words[1]] == words[8] for words in after)


def random_answer(instance: Instance, random: Random) -> str:
    """A right plan, a detour before it, a random walk, or one of these with a slip in it."""
    lines, state = [], instance.problem.start
    names = {"pick-up": "pick", "put-down": "put"}
    for _ in range(random.choice([0, 0, 4, 10])):
        action = random.choice(state.actions())
        state = state.after(action)
        lines.append(" ".join(filter(None, (names.get(action.name, action.name), action.block, action.under))))
    if state.holding:
        lines.append(f"put {state.holding}")
        holding = state.holding
        state = state.after(next(action for action in state.actions() if action.name == "put-down"))
        assert holding in state.blocks
    rest = solution(Instance("", "", type(instance.problem)(state, instance.problem.goal))).split("\n")
    lines += rest if random.random() < 0.8 else rest[: random.randrange(len(rest))]
    if random.random() < 0.6:
        lines = slipped(lines, instance, random)
    if random.random() < 0.3:
        lines = [random.choice([" ", ""]) * random.randrange(3) + line + random.choice(["", "  "]) for line in lines]
        lines.insert(random.randrange(len(lines) + 1), "")
    return "\n".join(lines)


def slipped(lines: list[str], instance: Instance, random: Random) -> list[str]:
    """The lines with one changed: exchanged, lost, doubled, of another block or name, or no action at all."""
    lines = lines or [""]
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.choice(["exchange", "lose", "double", "block", "name", "prose", "arity", "unknown"])
    words = lines[at].split() or ["pick"]
    blocks = instance.problem.start.blocks
    if kind == "exchange":
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "lose":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "block":
        lines[at] = " ".join([words[0], *(random.choice(blocks) for _ in words[1:])])
    elif kind == "name":
        lines[at] = " ".join([random.choice(["pick", "put", "stack", "unstack", "lift"]), *words[1:]])
    elif kind == "prose":
        lines[at] = random.choice([f"{at + 1}. {lines[at]}", "Here is the plan:", "```", f"({lines[at]})", "PICK red"])
    elif kind == "arity":
        lines[at] = " ".join(words[:-1] if random.random() < 0.5 else [*words, random.choice(blocks)])
    else:
        lines[at] = " ".join([words[0], *("magenta" for _ in words[1:])])
    return lines


@pytest.mark.slow
def test_the_checker_and_a_brute_force_check_agree_on_a_thousand_answers() -> None:
    problems = [each for b, h in ((2, 2), (3, 2), (4, 4), (6, 3), (9, 6)) for each in instances(20, 1, b, h)]
    assert_both_agree(BLOCKS, problems, random_answer, brute_force)


@pytest.mark.parametrize(
    ("corrupted", "reason"),
    [
        ("", "no action"),
        ("1. pick {top}", "Line 1"),
        ("pick {top}, pick {low}", "not 3"),
        ("pick", "not 0"),
        ("put magenta", "'magenta'"),
        ("Pick {top}", "only actions"),
        ("pick\t{top}", "only actions"),
        ("unstack {top} {low}\npick {top}", "Line 2"),
        ("pick {low}", "not clear"),
        ("pick {top}", "not on the table"),
        ("put {top}", "holds nothing"),
        ("unstack {top} {low}\nstack {top} {top}", "not clear"),
        ("unstack {top} {low}\nput {top}", "In the end"),
    ],
)
def test_the_reason_names_the_first_fault(corrupted: str, reason: str) -> None:
    instance = next(each for each in instances(50, 0, 3, 3) if len(each.problem.start.towers) == 1)
    low, top = instance.problem.start.towers[0][-2:]
    assert reason in BLOCKS.check(instance, corrupted.format(top=top, low=low)).reason


def test_blanks_and_carriage_returns_around_lines_are_allowed() -> None:
    instance = some()
    assert BLOCKS.check(instance, "\r\n\n  " + solution(instance).replace("\n", " \r\n\n  ") + "\n").solved


def test_only_the_stack_counts_wherever_it_stands_and_whatever_the_others_do() -> None:
    instance = some(6, 3, 2)
    others = sorted(set(instance.problem.start.blocks) - {block for pair in instance.problem.goal for block in pair})
    aside = f"\npick {others[0]}\nstack {others[0]} {others[1]}\npick {others[2]}"
    assert BLOCKS.check(instance, solution(instance) + aside).solved
