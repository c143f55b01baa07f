"""Positive and negative trajectories: padding, labels, the filter, and randomness that hangs on nothing else."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hall_world import Hall, HallTask, domain, eastwards, fixed, hall, with_rule
from statefactory.benchmark.domains import BACK, Domain, from_the_search_page, shortest
from statefactory.benchmark.labels import RULES, Padding
from statefactory.benchmark.schema import Row
from statefactory.benchmark.trajectories import (
    Move,
    NoNegative,
    PairBuild,
    fault_of,
    make_pair,
    play_negative,
    play_positive,
    random_walk,
    shares_segment,
)
from worlds import blocksworld, webshop
from worlds.base import NoSolution, Step
from worlds.blocksworld.expert import Expert
from worlds.webshop.expert import Expert as Shopper

LENGTHS = st.integers(2, 9)
SEEDS = st.integers(0, 10_000)
ACTIONS = st.lists(st.sampled_from("abcd"), max_size=12)


def made(rooms: int, seed: int, of: Domain | None = None, goes_on: bool = True, fragile: bool = False) -> PairBuild:
    task = hall(rooms)
    return make_pair(Hall(goes_on, fragile), task, eastwards(task), "guide", (of or domain()).recipe(seed))


def parts(row: Row) -> tuple[list[float], list[float], list[float]]:
    """The shaped values before, in and after the expert's segment, which is in one piece."""
    experts = [number for number, step in enumerate(row.trajectory) if step.reward.is_expert]
    first, last = experts[0], experts[-1]
    assert experts == list(range(first, last + 1))
    return row.shaped[:first], row.shaped[first : last + 1], row.shaped[last + 1 :]


@given(LENGTHS, SEEDS)
def test_a_positive_is_the_plan_with_up_to_three_random_steps_around_it(rooms: int, seed: int) -> None:
    row = made(rooms, seed).pair.positive
    before, core, after = parts(row)
    assert len(before) + len(after) <= 3
    assert core == [step / len(core) for step in range(1, len(core) + 1)]
    assert before == [0.0] * len(before) and after == [1.0] * len(after)
    assert all(0 <= value <= 1 for value in row.shaped)
    assert [step.action for step in row.trajectory if step.reward.is_expert] == ["go east"] * rooms
    assert row.trajectory[len(before) + len(core) - 1].observation == f"You are in room {rooms}."


@given(LENGTHS, SEEDS)
def test_a_negative_is_as_long_as_its_positive_flat_zero_and_away_from_the_goal(rooms: int, seed: int) -> None:
    pair = made(rooms, seed).pair
    assert len(pair.negative.trajectory) == len(pair.positive.trajectory)
    assert set(pair.negative.shaped) == {0.0}
    assert not any(step.reward.is_expert or step.reward.raw >= 1 for step in pair.negative.trajectory)
    assert not shares_segment(pair.negative.actions, ["go east"] * rooms, 2)


@given(LENGTHS, SEEDS, st.sampled_from(["kept", "native", "zero"]))
def test_steps_after_success_are_labelled_as_the_rule_says(rooms: int, seed: int, after: str) -> None:
    row = made(rooms, seed, with_rule(domain(), after=after)).pair.positive
    before, _, shaped = parts(row)
    raw = [step.reward.raw for step in row.trajectory][len(row.trajectory) - len(shaped) :]
    assert shaped == {"kept": [1.0] * len(raw), "zero": [0.0] * len(raw), "native": raw}[after]


@given(LENGTHS, SEEDS)
def test_native_labels_are_the_worlds_scores_in_both_trajectories(rooms: int, seed: int) -> None:
    pair = made(rooms, seed, domain(rule="scienceworld")).pair
    assert [step.reward.raw for row in pair.rows for step in row.trajectory] == pair.shaped


@given(SEEDS)
def test_sides_say_which_of_the_random_steps_are_played(seed: int) -> None:
    drawn = {
        sides: replace(RULES["alfworld"], sides=sides).draw(domain().recipe(seed).random("a", "padding"))
        for sides in ("both", "cut", "before", "none")
    }
    before, after = drawn["both"]
    assert drawn == {"both": (before, after), "cut": (before, 0), "before": (before + after, 0), "none": (0, 0)}


def test_the_number_of_random_steps_is_uniform_and_so_is_where_they_stand() -> None:
    draws = [RULES["alfworld"].draw(domain().recipe(seed).random("a", "padding")) for seed in range(8000)]
    for total in range(4):
        share = [draw for draw in draws if sum(draw) == total]
        assert len(share) == pytest.approx(2000, abs=200)
        for before in range(total + 1):
            expected = len(share) / (total + 1)
            assert share.count(Padding(before, total - before)) == pytest.approx(expected, abs=150)


def test_beginnings_that_break_the_plan_are_drawn_again() -> None:
    task = hall(4)
    played = [play_positive(Hall(fragile=True), task, eastwards(task), domain().recipe(seed)) for seed in range(60)]
    again = [positive for positive in played if positive.redraws]
    assert again and all(positive.used == positive.drawn for positive in played)
    for positive in played:
        rooms = [move.observation for move in positive.moves[: positive.used.before]]
        assert not rooms or rooms[-1] != "You are in room -1."


class Touchy(Hall):
    """Whoever hums in the first room has to go much further."""

    def step(self, action: str) -> Step:
        if self.room == 0 and action == "hum":
            self.task = hall(99)
        if self.room == 0 and action == "go east":
            self.room = 1
            return self._answer()
        return super().step(action)

    def valid_actions(self) -> tuple[str, ...]:
        return ("go east", "hum") if self.room else ("hum",)


def test_a_plan_that_lives_with_no_random_beginning_gets_none_and_that_is_counted() -> None:
    task, recipes = hall(3), [replace(domain().recipe(seed), admissible=False, beginnings=3) for seed in range(50)]
    recipe = next(r for r in recipes if r.rule.draw(r.random(task.id, "padding")).before == 2)
    positive = play_positive(Touchy(), task, eastwards(task), recipe)
    assert (positive.used.before, positive.drawn.before, positive.redraws) == (0, 2, 6)


def test_a_plan_that_never_works_is_an_error_that_names_the_task() -> None:
    with pytest.raises(ValueError, match="hall-009.*hum; go east"):
        play_positive(Hall(), hall(9), fixed(["hum", "go east"]), domain().recipe(0))


class Waxed(Hall):
    """Whoever has sung cannot hum any more."""

    sung = False

    def reset(self, task: HallTask) -> Step:
        self.sung = False
        return super().reset(task)

    def step(self, action: str) -> Step:
        self.sung = self.sung or action == "sing"
        return super().step(action)

    def valid_actions(self) -> tuple[str, ...]:
        return tuple(action for action in super().valid_actions() if action != "hum" or not self.sung)


@pytest.mark.parametrize("told", ["by the list", "by the words", "not at all"])
def test_a_beginning_after_which_a_step_is_refused_is_drawn_again(told: str) -> None:
    task, plan = hall(1), fixed(["hum", "go east"])
    sung = []
    for seed in range(80):
        recipe = replace(domain().recipe(seed), admissible=told == "by the list",
                         refusals=("Nothing happens.",) if told == "by the words" else ())  # fmt: skip
        positive = play_positive(Waxed(), task, plan, recipe)
        sung.append("sing" in [move.action for move in positive.moves[: positive.used.before]])
    assert any(sung) == (told == "not at all")


def test_a_plan_may_be_refused_what_it_is_always_refused() -> None:
    for seed in range(20):
        positive = play_positive(Hall(), hall(2), fixed(["dance", "go east", "go east"]), domain().recipe(seed))
        assert positive.expert == ("dance", "go east", "go east") and positive.used.before == positive.drawn.before


class Narrow(Hall):
    """A hall where one can only go on."""

    def valid_actions(self) -> tuple[str, ...]:
        return ("go east",)


def test_a_task_of_which_nothing_is_a_negative_says_why() -> None:
    recipe = replace(domain().recipe(0), negatives=50)
    with pytest.raises(NoNegative, match="none of 50 random trajectories of hall-002.*50 reached the goal"):
        play_negative(Narrow(), hall(2), ("go east", "go east"), 5, recipe)
    with pytest.raises(NoNegative, match="50 shared a segment with the expert"):
        play_negative(Narrow(), hall(9), ("go east", "go east"), 5, recipe)


@given(LENGTHS, SEEDS)
def test_a_step_that_ends_the_episode_in_failure_is_taken_back(rooms: int, seed: int) -> None:
    result = made(rooms, seed, fragile=True)
    negative = result.pair.negative
    assert len(negative.trajectory) == len(result.pair.positive.trajectory)
    assert "You are in room -1." not in negative.observations
    world = Hall(fragile=True)
    world.reset(hall(rooms))
    assert [world.step(action).text for action in negative.actions] == negative.observations


class DeadEnd(Hall):
    """A hall where one can only fall into the pit."""

    def valid_actions(self) -> tuple[str, ...]:
        return ("go west",)


def test_a_task_where_every_step_fails_says_so() -> None:
    with pytest.raises(NoNegative, match="3 ended early"):
        play_negative(DeadEnd(fragile=True), hall(2), ("go east",), 5, replace(domain().recipe(0), negatives=3))


@given(ACTIONS, ACTIONS.filter(bool), st.integers(1, 4))
def test_a_shared_segment_is_found_exactly_where_the_actions_contain_one(
    actions: list[str], expert: list[str], length: int
) -> None:
    used = min(length, len(expert))
    pieces = ["".join(expert[start : start + used]) for start in range(len(expert) - used + 1)]
    assert shares_segment(actions, expert, length) == any(piece in "".join(actions) for piece in pieces)


def test_one_shared_step_is_no_segment() -> None:
    """The paper's Table 25 shares its first step with Table 24."""
    moves = [Move(action, "", 0.0, False) for action in ("unstack", "stack", "unstack")]
    assert fault_of(moves, ["unstack", "put down", "pick up"], 2) == ""
    assert "shared" in fault_of(moves, ["pick up", "stack", "unstack"], 2)


@settings(max_examples=30)
@given(st.lists(LENGTHS, min_size=1, max_size=4, unique=True), SEEDS)
def test_a_pair_hangs_on_its_task_and_seed_alone(order: list[int], seed: int) -> None:
    world, recipe = Hall(), domain().recipe(seed)
    together = [make_pair(world, hall(n), eastwards(hall(n)), "guide", recipe) for n in order]
    assert together == [made(n, seed) for n in order]


def test_a_random_walk_draws_from_all_valid_actions_of_each_state() -> None:
    world, seen = Hall(), set()
    for seed in range(30):
        world.reset(hall(9))
        seen |= {move.action for move in random_walk(world, domain().recipe(seed).random("a", "walk"), 5)}
    assert seen == {"go east", "go west", "hum", "look around", "sing"}


# --- plans after random beginnings -----------------------------------------------------------------------------------

pytest.importorskip("clingo")
BLOCKS = blocksworld.load("synthetic", count=12, list_actions=False)
SHOP = webshop.load("synthetic", list_actions=False)
TASKS = list(BLOCKS.tasks("test"))


@settings(max_examples=40)
@given(st.sampled_from(TASKS), st.integers(1, 3), st.integers(0, 10_000))
def test_blocks_are_planned_from_where_the_beginning_led(task: blocksworld.BlocksTask, steps: int, seed: int) -> None:
    usual = Expert(BLOCKS).actions(task)
    BLOCKS.reset(task)
    begun = [move.action for move in random_walk(BLOCKS, Random(seed), steps)]
    plan = shortest(BLOCKS, task, usual, begun)
    last = [BLOCKS.step(action) for action in plan]
    assert not plan or last[-1].score == 1.0
    assert len(usual) - steps <= len(plan) <= len(usual) + steps  # each step can be taken back by one


def test_a_problem_without_a_plan_is_an_error_that_names_it() -> None:
    task = TASKS[0]
    first, second, *_ = task.problem.start.blocks
    impossible = (("on", first, second), ("on", second, first))
    problem = blocksworld.BlocksProblem(task.problem.start, impossible)
    with pytest.raises(NoSolution, match="blocksworld-odd"):
        shortest(BLOCKS, SimpleNamespace(id="blocksworld-odd", problem=problem), (), ())


@settings(max_examples=40)
@given(st.integers(0, 59), st.integers(1, 3), st.integers(0, 10_000))
def test_a_shopper_goes_back_to_the_search_page_first(number: int, steps: int, seed: int) -> None:
    task = SHOP.tasks("test")[number]
    usual = Shopper(SHOP).actions(task)
    SHOP.reset(task)
    begun = list(random_walk(SHOP, Random(seed), steps))
    plan = from_the_search_page(SHOP, task, usual, [move.action for move in begun])
    assert plan in (usual, (BACK, *usual))
    if not begun[-1].over:
        assert [SHOP.step(action) for action in plan][-1].score == 1.0
