"""What the SDP loop itself takes, without a model and a world; the limit is 0.3 ms a step, writing included."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from sdp.loop import Settings, run_episode
from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory

MS_A_STEP = 0.3
STEPS = 1000
GOAL = Predicate("The counter has reached the last number.")
FAILS = 4  # of each five attempts, as an agent in trouble


@dataclass(frozen=True)
class Counting(Adapter[dict[str, int], str, int]):
    """Operators that do next to nothing; every fifth attempt is certified, so that each target needs a Replan."""

    tries: count[int]

    def start(self) -> tuple[dict[str, int], Predicate]:
        return {"number": 0}, GOAL

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        return [Predicate(f"The counter is at {n}.", "count", {"number": n}) for n in range(STEPS // 5)] + [goal]

    def realize(self, state: Any, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        return "count on"

    def act(self, action: str) -> int:
        return next(self.tries)

    def validate(self, tail: Sequence[Predicate], observation: int, failures: Sequence[Attempt]) -> Verdict:
        return Verdict(int(observation % (FAILS + 1) == FAILS), "as the count stands")

    def advance(self, state: Any, certified: Sequence[Predicate], observation: int) -> dict[str, int]:
        return {"number": state["number"] + 1}

    def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        return trajectory.plans[-1].predicates[trajectory.certified :]


def test_the_loop_and_the_writing_of_its_trajectory_take_at_most_0_3_ms_a_step(benchmark: Any, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"

    def episode() -> Trajectory:
        trajectory = run_episode("count", Counting(count()), Settings(step_cap=STEPS))
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(trajectory.to_json()) + "\n")
        return trajectory

    trajectory = benchmark.pedantic(episode, rounds=7, warmup_rounds=1)
    assert len(trajectory.attempts) == STEPS and trajectory.replans == STEPS // (FAILS + 1)
    ms = 1000 * benchmark.stats.stats.median / STEPS
    benchmark.extra_info.update(ms_a_step=round(ms, 4), share_of_limit=round(ms / MS_A_STEP, 3))
    assert ms <= MS_A_STEP
