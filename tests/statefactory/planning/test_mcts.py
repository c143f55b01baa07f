"""Tree search: what a tree must add up to, what it finds, what it may spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chat_server as chat
from agents.environment import InWorld
from agents.history import CALLS, FINISHED, NO_ANSWER, STEPS
from agents.worlds.games import BLOCKSWORLD
from chat_server import ChatServer
from hall_world import Hall, hall
from lab.models.connect import connect
from plain_routing import HashedEmbedder
from statefactory.planning.lookahead import Exact, Lookahead, Meter, Outcome
from statefactory.planning.mcts import Episode, Node, Planner, Settings, best_line, frame, in_order, plan, snapshot
from statefactory.planning.proposals import Listed, Prompted
from statefactory.predictors import Path, Predictor
from statefactory.predictors.baselines import AtRandom
from statefactory.predictors.factored import StateFactory
from worlds import blocksworld
from worlds.pool import Pool

ROOMS = 3
BLOCKS = blocksworld.load("synthetic")
TASK = BLOCKS.tasks("test")[3]
HASHED = HashedEmbedder()


class East(Predictor[int]):
    """Knows what the hall's walker has reached: a memory is the room, and a score its share of the way."""

    def start(self, goal: str, observation: str = "") -> int:
        return 0

    def advance(self, memory: int, action: str, observation: str) -> int:
        return int(observation.rstrip(".").split()[-1])

    def score(self, memory: int) -> float:
        return max(0, memory) / ROOMS


class Dreaming:
    """A world model that takes every action for a step to the east."""

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        return [Outcome(f"You are in room {len(path.steps) + 1}.") for _ in actions]


def in_hall(fragile: bool = False) -> InWorld:
    return InWorld(Hall(fragile=fragile), hall(ROOMS), "hall", "go east; go west; hum; look around; sing")


def walker(
    guide: Predictor[Any] | None = None, world_model: Any = None, fragile: bool = False, **about: Any
) -> Planner:
    pool = Pool(partial(Hall, fragile=fragile), hall(ROOMS))
    given = Settings(**{"simulations": 8, "width": 0, "steps": 12} | about)
    return Planner(Lookahead(guide or East(), world_model or Exact(pool)), Listed(pool), given)


def walk(planner: Planner, fragile: bool = False) -> Episode:
    return plan(in_hall(fragile), hall(ROOMS).goal, planner)


def ends(node: Node) -> int:
    """The visits that ended at a node."""
    return node.visits - sum(child.visits for child in node.children or ())


@given(st.integers(0, 99), st.integers(1, 25), st.integers(0, 4), st.booleans())
@settings(max_examples=30)
def test_values_are_means_of_gains_over_the_root_and_visits_add_up(
    seed: int, simulations: int, width: int, fragile: bool
) -> None:
    """Without a discount: the mean over all visits of score less the root's, less what repetitions cost."""
    planner = walker(AtRandom(seed), None, fragile, width=width, discount=1.0)
    episode = planner.begin("Reach room 3.", "You are in room 0.")
    for _ in range(simulations):
        planner.simulate(episode)
    root, penalties = episode.root, {id(episode.root): 0.0}
    reached = 0.0
    nodes = list(in_order(root))
    for node, parent in nodes:
        if parent >= 0:
            penalties[id(node)] = penalties[id(nodes[parent][0])] + (node.gain - node.reward)
        assert ends(node) >= 0
        reached += ends(node) * (node.score - root.score - penalties[id(node)])
    assert root.visits == simulations == sum(ends(node) for node, _ in nodes)
    assert root.total / simulations == pytest.approx(reached / simulations, abs=1e-9)
    assert episode.outcomes == len(nodes) - 1


@given(st.integers(0, 99), st.integers(0, 12), st.integers(0, 4))
@settings(max_examples=20)
def test_a_snapshot_is_the_tree_as_it_was(seed: int, simulations: int, width: int) -> None:
    planner = walker(AtRandom(seed), None, True, width=width)
    episode = planner.begin("Reach room 3.", "You are in room 0.")
    for _ in range(simulations):
        planner.simulate(episode)
    copy = snapshot(episode.root)
    assert copy == episode.root and all(node.memory is None for node, _ in in_order(copy))
    told = frame(copy)
    assert len(told) == episode.outcomes + 1
    assert told["chosen"].sum() == len(list(best_line(episode.root)))


def test_a_planner_that_sees_gains_walks_straight_and_random_values_do_not() -> None:
    told = walk(walker())
    assert told.path.actions == ("go east",) * ROOMS
    assert (told.history.end, told.surprises) == (FINISHED, 0)
    assert all(len(walk(walker(AtRandom(seed), steps=6)).path.actions) > ROOMS for seed in range(3))


def test_what_was_thought_is_kept_after_a_step_and_dropped_where_the_world_says_otherwise() -> None:
    kept = walk(walker())
    assert all(before.visits > 8 for before in kept.trees[1:])  # those of the step before count on
    wrong = walk(walker(world_model=Dreaming(), steps=4, width=3))
    assert wrong.surprises > 0
    for step, before in zip(wrong.history.turns, wrong.trees[1:], strict=False):
        assert before.observation == step.observation  # the next tree begins at what was really seen


def test_episodes_end_at_the_cap_of_steps_and_where_nothing_is_proposed() -> None:
    assert walk(walker(AtRandom(1), steps=2)).history.end == STEPS

    class Silent:
        def actions(self, path: Path, count: int) -> list[str]:
            return []

    silent = replace(walker(), proposer=Silent())
    assert (walk(silent).history.end, walk(silent).history.turns) == (NO_ANSWER, ())


@given(st.integers(1, 60))
@settings(max_examples=25)
def test_no_outcome_more_is_foreseen_than_allowed(outcomes: int) -> None:
    asked: list[str] = []

    class Counting(Exact):
        def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
            asked.extend(actions)
            return super().outcomes(path, actions)

    counting = Counting(Pool(Hall, hall(ROOMS)))
    told = walk(walker(AtRandom(0), counting, outcomes=outcomes, steps=30))
    assert len(asked) == told.outcomes <= outcomes
    assert told.outcomes == outcomes or told.history.end in (FINISHED, STEPS)


@given(st.integers(1, 40))
@settings(max_examples=10)
def test_no_call_more_is_made_than_allowed(most: int) -> None:
    meter = Meter(connect("rules"), most)
    planner = blocks(StateFactory(meter, HASHED), meter, simulations=3)
    told = plan(BLOCKSWORLD.environment(BLOCKS, TASK), TASK.goal, planner)
    assert len(meter.calls) == meter.cost.calls <= most
    assert told.history.end == CALLS and told.history.cost.calls <= most


def blocks(guide: Predictor[Any], meter: Meter | None = None, **about: Any) -> Planner:
    pool = Pool(partial(blocksworld.load, "synthetic"), TASK)
    return Planner(Lookahead(guide, Exact(pool)), Listed(pool), Settings(**{"width": 3} | about), meter)


def test_a_model_is_asked_for_actions_and_again_where_no_answer_can_be_read(server: ChatServer) -> None:
    stock = {"held": "nothing", "place": "at the table", "usable": ["red block"], "aim": "free it"}
    many = chat.answer({**stock, "actions": ["look", "wait", "hum"]})  # where two were asked for; also when re-asked
    server.script(many, many, chat.answer({**stock, "actions": ["wait", " wait "]}))
    proposer = Prompted(connect("small", cache=None), "blocksworld", BLOCKSWORLD.tools)
    path = Path("Stack them.", "The red block is clear.", (("hum", "You hum."),))
    assert proposer.actions(path, 2) == ["wait"]
    shown = server.requests[-1].text
    assert (
        shown.index(BLOCKSWORLD.tools) < shown.index(path.first) < shown.index("You hum.") < shown.index("Stack them.")
    )
    server.behave(chat.says("I would rather not."))
    assert proposer.actions(path, 2) == []
