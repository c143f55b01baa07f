"""The benchmark on its five worlds: which tasks, what the trajectories look like, kills, and the paper's baseline."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from statefactory.benchmark.build import SHIPPED, Built, _open, build, close_all, opened
from statefactory.benchmark.domains import PRINTED_GAMES, named
from statefactory.benchmark.schema import DOMAINS, read_pairs
from statefactory.benchmark.trajectories import shares_segment
from statefactory.experiments.scoring import distances_of
from statefactory.experiments.table3 import distances_of_labels, expert_labels
from statefactory.predictors.baselines import Monotonic

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
QUICK = ("webshop", "blocksworld")


def needs(*files: str) -> pytest.MarkDecorator:
    missing = [name for name in files if not (DATA / name).exists()]
    return pytest.mark.skipif(bool(missing), reason=f"LAB_DATA has no {', '.join(missing)}")


needs_alfworld = needs("alfworld/alfworld_all_games.jsonl.gz")
needs_examples = needs("rewardprediction/paper_example_rewards.json", "alfworld/alfworld_all_games.jsonl.gz")
needs_scienceworld = needs("rewardprediction/scienceworld_191.json", "rewardprediction/scienceworld_191_gold.jsonl.gz")
needs_webshop = needs("webshop/products_1000.jsonl.gz")
needs_blocksworld = needs("blocksworld/generated_basic_501.jsonl.gz")


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    yield
    close_all()


def made(domain: str, folder: Path, limit: int, workers: int = 1, seed: int = 0) -> Built:
    return build(domain, "synthetic", seed, limit, workers, folder, show_progress=False)


def content(done: Built) -> tuple[bytes, bytes]:
    return done.jsonl.read_bytes(), done.parquet.read_bytes()


@pytest.mark.parametrize(
    "domain", [name if name in QUICK else pytest.param(name, marks=pytest.mark.campaign) for name in DOMAINS]
)
def test_pairs_of_made_data_follow_the_rule_of_their_domain(tmp_path: Path, domain: str) -> None:
    done = made(domain, tmp_path, limit=4)
    pairs, rule = done.pairs(), named(domain).rule
    assert len(pairs) == 4 and done.about["skipped"] == {}
    shipped = {pair.task: pair for pair in read_pairs(SHIPPED / f"{domain}.parquet")}
    assert pairs == [shipped[pair.task] for pair in pairs], (
        "refresh data/synthetic/rewardprediction; see build's docstring"
    )
    for pair in pairs:
        positive, negative = pair.positive, pair.negative
        experts = [step.reward.is_expert for step in positive.trajectory]
        core = [step for step in positive.trajectory if step.reward.is_expert]
        before, after = experts.index(True), experts[::-1].index(True)
        assert core[-1].reward.raw == 1.0 and before + after <= 3 and (rule.sides == "both" or not after)
        if rule.expert == "linear":
            assert [step.reward.shaped for step in core] == [n / len(core) for n in range(1, len(core) + 1)]
        assert len(negative.trajectory) == len(positive.trajectory)
        assert max(step.reward.raw for step in negative.trajectory) < 1
        assert not shares_segment(negative.actions, [step.action for step in core], 2)
        assert positive.goal_description and positive.initial_observation == negative.initial_observation
        assert all(step.action and step.observation for row in pair.rows for step in row.trajectory)


def test_all_made_pairs_of_seed_0_come_from_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["statefactory.benchmark.build"], "ROOT", tmp_path)
    done = build("scienceworld", "synthetic")
    assert not done.fresh and tmp_path in done.jsonl.parents and len(done.pairs()) == done.about["pairs"] == 30
    assert done.parquet.read_bytes() == (SHIPPED / "scienceworld.parquet").read_bytes()
    assert build("scienceworld", "synthetic") == done  # kept from then on


@pytest.mark.campaign
def test_a_killed_java_process_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    killer = threading.Thread(target=kill_java, daemon=True)
    killer.start()
    disturbed = made("scienceworld", tmp_path / "killed", 3)
    killer.join(1)
    assert not killer.is_alive(), "nothing was killed"
    assert content(made("scienceworld", tmp_path / "calm", 3)) == content(disturbed)


def kill_java() -> None:
    """Kill the Java process in the middle of an episode, once."""
    while True:
        for there in list(_open.values()):
            world = there.world
            if getattr(world, "pid", None) and len(getattr(world, "_history", ())) > 2:
                os.kill(world.pid, signal.SIGKILL)
                return
        time.sleep(0.005)


# --- official data ----------------------------------------------------------------------------------------------


def tasks(domain: str, seed: int = 0) -> list[object]:
    return list(opened(named(domain), "official", seed).tasks.values())


@pytest.mark.official
@needs_alfworld
def test_alfworld_has_56_games_of_each_type_and_those_that_the_paper_prints() -> None:
    chosen = tasks("alfworld", 1)
    assert Counter(Counter(task.task_type for task in chosen).values()) == {56: 6}
    assert {task.game for task in chosen} >= set(PRINTED_GAMES)


@pytest.mark.slow
@pytest.mark.official
@needs_examples
def test_the_printed_games_are_labelled_as_printed() -> None:
    examples = json.loads((DATA / "rewardprediction" / "paper_example_rewards.json").read_text())["pairs"]
    printed = {example["game"]: example["pos"] for example in examples if "game" in example}
    there = opened(named("alfworld"), "official", 0)
    found = {task.game: task for task in there.tasks.values() if task.game in printed}
    assert set(found) == set(printed) == set(PRINTED_GAMES)
    for game, task in found.items():
        steps = len(there.plan(task))
        expected = [step / steps for step in range(1, steps + 1)]
        assert printed[game][:steps] == pytest.approx(expected, abs=0.0051)
        assert printed[game][steps:] in ([], [1])  # a random step after success keeps 1


@pytest.mark.campaign
@pytest.mark.official
@needs_scienceworld
def test_scienceworld_has_the_191_listed_episodes() -> None:
    listed = json.loads((DATA / "rewardprediction" / "scienceworld_191.json").read_text())
    chosen = {(task.name, task.variation) for task in tasks("scienceworld")}
    assert chosen == {(item["task"], item["variation"]) for item in listed} and len(chosen) == 191


@pytest.mark.official
@needs_blocksworld
def test_blocksworld_has_250_of_the_500() -> None:
    ids = {task.id for task in tasks("blocksworld")}
    assert len(ids) == 250 and "blocksworld-001" not in ids


@pytest.mark.official
@needs_webshop
def test_webshop_has_300_goals_that_can_be_fulfilled() -> None:
    assert len({task.id for task in tasks("webshop")}) == 300


# --- the monotonic row of Table 1 -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.official
@needs_blocksworld
def test_blocksworld_gives_the_papers_monotonic_value(tmp_path: Path) -> None:
    done = build("blocksworld", "official", 0, 0, 1, tmp_path, show_progress=False)
    pairs = done.pairs()
    assert len(pairs) == 250 and done.about["skipped"] == {} and done.about["unpadded"] == 0
    labels = expert_labels(pairs)
    values = [distances_of_labels(labels, "blocksworld", seed).mean() for seed in range(10)]
    assert distances_of(pairs, Monotonic()).mean() == pytest.approx(values[0])
    assert distances_of(pairs, Monotonic()).mean() == pytest.approx(0.589, abs=0.015)
