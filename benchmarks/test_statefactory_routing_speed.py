"""The rewards of a trajectory from known vectors, against the same maths in plain loops; and reading known vectors.

Times are the processor's, so that what else runs on the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from plain_routing import HashedEmbedder, plain_reward
from statefactory.embeddings.cache import Cached, VectorFile
from statefactory.routing import PAPER, rewards
from statefactory.state import Entity, entity

STEPS, GOAL, STATE, ATTRIBUTES = 30, 5, 30, 4  # of a trajectory; objects of a goal and of a state; attributes of each
CHANGES = 2  # objects of the state that a step changes
NAMES = [f"property {n}" for n in range(20)]
VALUES = [f"a value of some words, number {n}" for n in range(300)]
MS_A_STEP = 0.2
FASTER = 30  # times, at least
DOMAIN = [Random(seed).choice((8, 20, 40, 60)) for seed in range(382)]  # steps of ScienceWorld's 382 trajectories
DOMAIN_SECONDS = 10
TEXTS = 20_000
READ_A_SECOND = 20_000  # texts, from a file on the disk

Trajectory = tuple[list[tuple[Entity, ...]], list[tuple[Entity, ...]]]


def thing(number: int, random: Random) -> Entity:
    return entity(f"object {number}", {name: random.choice(VALUES) for name in random.sample(NAMES, ATTRIBUTES)})


def trajectory(seed: int = 0, steps: int = STEPS, goals: int = GOAL, objects: int = STATE) -> Trajectory:
    random = Random(seed)
    goal = tuple(thing(number, random) for number in range(goals))
    state = [thing(number, random) for number in range(objects)]
    states = []
    for _ in range(steps):
        for number in random.sample(range(objects), CHANGES):
            state[number] = thing(number, random)
        states.append(tuple(state))
    return [goal] * steps, states


def as_a_model_answers(steps: Sequence[tuple[Entity, ...]]) -> list[tuple[Entity, ...]]:
    """The same, every entity a new object, as it is where each step's state is parsed from a text."""
    return [tuple(entity(e.identity, {a.name: a.value for a in e.attributes}) for e in step) for step in steps]


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("parsed", [False, True], ids=["entities cached", "entities parsed again"])
def test_a_step_takes_at_most_0_2_ms(benchmark: BenchmarkFixture, parsed: bool) -> None:
    goals, states = trajectory()
    if parsed:
        goals, states = as_a_model_answers(goals), as_a_model_answers(states)
    embedder = HashedEmbedder(384)
    rewards(goals, states, embedder)  # every vector is known now
    began = time.process_time()
    reference = [plain_reward(goal, state, embedder, PAPER) for goal, state in zip(goals, states, strict=True)]
    loops = time.process_time() - began
    found = benchmark(rewards, goals, states, embedder)
    assert found == pytest.approx(reference, abs=1e-6)
    ms = 1000 * benchmark.stats["median"] / STEPS
    ratio = loops / benchmark.stats["median"]
    benchmark.extra_info.update({"ms a step": round(ms, 4), "times faster than plain loops": round(ratio)})
    print(f"{ms:.3f} ms a step; plain loops {1000 * loops / STEPS:.1f} ms, {ratio:.0f} times as long")
    assert ms <= MS_A_STEP and ratio >= FASTER


@pytest.mark.benchmark(timer=time.process_time)
def test_a_domain_takes_seconds(benchmark: BenchmarkFixture) -> None:
    domain = [trajectory(seed, steps, goals=3, objects=10) for seed, steps in enumerate(DOMAIN)]
    embedder = HashedEmbedder(384)
    some = domain[:: len(domain) // 10]
    began = time.process_time()
    for goals, states in some:
        for goal, state in zip(goals, states, strict=True):
            plain_reward(goal, state, embedder, PAPER)
    loops = (time.process_time() - began) * sum(DOMAIN) / sum(len(goals) for goals, _ in some)
    benchmark.pedantic(lambda: [rewards(goals, states, embedder) for goals, states in domain], rounds=2)
    seconds = benchmark.stats["median"]
    benchmark.extra_info.update({"seconds": round(seconds, 2), "times faster than plain loops": round(loops / seconds)})
    print(f"{sum(DOMAIN)} steps in {seconds:.1f} s; plain loops about {loops:.0f} s")
    assert seconds <= DOMAIN_SECONDS and loops / seconds >= 8


class Unasked:
    """A model that must not be asked."""

    name = "unasked"

    def identity(self) -> str:
        return "unasked"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("every text is in the file")


class Random384(Unasked):
    """Vectors of any kind."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.random.default_rng(0).normal(size=(len(texts), 384))


@pytest.mark.benchmark(timer=time.process_time)
def test_known_texts_are_read_by_the_ten_thousand(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "embeddings.sqlite")
    texts = [f"the number of this text is {n}" for n in range(TEXTS)]
    expected = Cached(Random384(), file).embed(texts)
    found = benchmark.pedantic(
        lambda embedder: embedder.embed(texts), setup=lambda: ((Cached(Unasked(), file),), {}), rounds=5
    )
    assert (found == expected).all()
    speed = TEXTS / benchmark.stats["median"]
    benchmark.extra_info["texts a second"] = round(speed)
    assert speed >= READ_A_SECOND
