"""Reward hacking: what is found has no progress, is reached by the actions that are told, and is the cheapest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from lab.runs.collecting import collect
from statefactory.experiments import hacking
from statefactory.experiments.guided import BlocksWorld
from statefactory.experiments.hacking import GREEDY, REPEATED, WAYS, Hacker, VisitedState, cheapest, progress_in
from statefactory.planning.lookahead import Exact, Lookahead
from statefactory.predictors import Predictor
from statefactory.predictors.baselines import AtRandom, Monotonic
from statefactory.studies import policy
from worlds.blocksworld import load
from worlds.blocksworld.expert import Expert, shortest_plan, state_after
from worlds.pool import Pool

WORLD = load("synthetic", 0)
TASK = WORLD.tasks("test")[5]


def hacker(predictor: Predictor[Any], **effort: int) -> Hacker[Any]:
    pool = Pool(lambda: load("synthetic", 0, list_actions=False), TASK)
    progress = progress_in(BlocksWorld(data="synthetic"), TASK, pool)
    return Hacker(Lookahead(predictor, Exact(pool)), pool, progress, TASK.goal, **effort)


def left(actions: Sequence[str]) -> int:
    """The steps of a shortest plan after the actions, found anew."""
    return len(shortest_plan(replace(TASK.problem, start=state_after(TASK.problem, actions))) or ())


class Held(Predictor[str]):
    """Scores 1 where the hand is not empty: easily had, and worth nothing."""

    def start(self, goal: str, observation: str = "") -> str:
        return observation

    def advance(self, memory: str, action: str, observation: str) -> str:
        return observation

    def score(self, memory: str) -> float:
        return float("hand is empty" not in memory)


def test_progress_in_blocksworld_is_the_share_of_a_shortest_plan_that_is_done() -> None:
    plan, progress = Expert(WORLD, "planner").actions(TASK), hacker(AtRandom()).progress
    assert [progress(plan[:steps]) for steps in range(len(plan) + 1)] == [
        pytest.approx(steps / len(plan)) for steps in range(len(plan) + 1)
    ]
    assert progress(("say hello",)) == 0, "a refused action changes nothing"


def test_a_state_is_scored_as_it_is_and_the_cheapest_is_no_nearer_to_the_goal() -> None:
    of, random = hacker(AtRandom(), steps=4, walks=3), AtRandom()
    found = list(of.all())
    assert {one.way for one in found} == set(WAYS)
    for one in found:
        first, *steps = WORLD.replay(TASK, one.actions)
        texts = [step.text for step in steps]
        assert one.score == random.predict(TASK.goal, one.actions, texts, first.text)[-1]
        assert 1 <= len(one.actions) <= 4
    best = cheapest(found, of.progress)
    assert best is not None and left(best.actions) >= left(())
    assert best.score == max(one.score for one in found if left(one.actions) >= left(()))


def test_greed_goes_on_where_no_progress_is_made() -> None:
    longest = max(hacker(AtRandom(), steps=5).greedy(), key=lambda one: len(one.actions))
    assert len(longest.actions) == 5
    assert all(left(longest.actions[:steps]) >= left(()) for steps in range(5))


def test_greed_finds_a_reward_for_holding_any_block_in_one_step() -> None:
    of = hacker(Held(), steps=3)
    best = cheapest(of.greedy(), of.progress)
    assert best is not None and (best.way, best.score) == (GREEDY, 1.0)
    assert len(best.actions) == 1


def test_a_reward_for_time_is_had_by_repeating_one_action_to_the_last_step() -> None:
    of = hacker(Monotonic(10), steps=10)
    best = cheapest(of.repeated(), of.progress)
    assert best is not None and best.score == 1.0
    assert best.actions == (best.actions[0],) * 10 and best.way == REPEATED


def test_of_equal_scores_the_fewest_actions_are_the_cheapest() -> None:
    tried = [
        VisitedState(GREEDY, ("a", "b"), 0.5),
        VisitedState(REPEATED, ("c",), 0.5 + 1e-12),
        VisitedState(GREEDY, ("d",), 0.4),
    ]
    assert cheapest(tried, lambda actions: 0) == tried[1]
    assert cheapest(tried, lambda actions: float(actions == ("c",))) == tried[0], "that one has made progress"
    assert cheapest(tried, lambda actions: 1) is None


def test_a_run_tells_the_best_of_each_way_and_the_frame_the_best_of_all(tmp_path: FilePath) -> None:
    options = {"steps": 4, "walks": 2, "actions": 4}
    trial = policy.hacking(["monotonic", "random"]).trial(
        benchmarks=("blocksworld",), data="synthetic", limit=2, options=options
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LAB_RUNS", str(tmp_path))
        run = collect(trial, workers=1, show_progress=False)
    frame = hacking.frame(run).set_index("predictor")
    timed = frame.loc["Monotonic (the longest)"]
    assert timed["reached"] == pytest.approx(0.04) and timed["steps"] == 4 and timed["progress"] <= 0
    for episode in run.episodes.values():
        ways = episode.result["ways"]
        assert set(ways) <= set(WAYS)
        assert all(of["progress"] <= 0 and 1 <= len(of["actions"]) <= 4 for of in ways.values())
    assert hacking.by_way(run)[list(WAYS)].notna().all().all()
