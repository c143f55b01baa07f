"""Benchmarks: the expert reaches full score, doing nothing none, and one that is wrong is told task by task."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from agents.experiments.acting import Acting
from agents.experiments.acting_worlds import ACTING
from lab.machine.paths import official_data
from worlds import Step, World
from worlds.alfworld import AlfWorldGames
from worlds.assistantbench import AssistantBenchQuestions
from worlds.benchmark import Benchmark
from worlds.blocksworld import BlocksWorldProblems
from worlds.multihop import HotpotQAQuestions, MuSiQueQuestions
from worlds.scienceworld import ScienceWorldTasks
from worlds.textworld import TextWorldQuests
from worlds.travelplanner import TravelPlannerQueries
from worlds.webshop import WebShopInstructions

ALL: list[type[Benchmark]] = [
    AlfWorldGames, AssistantBenchQuestions, BlocksWorldProblems, HotpotQAQuestions, MuSiQueQuestions,
    ScienceWorldTasks, TextWorldQuests, TravelPlannerQueries, WebShopInstructions,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_the_expert_reaches_full_score_and_doing_nothing_none(kind: type[Benchmark]) -> None:
    # In a thread of its own: the worlds of this one may be dead by a test's hand.
    with ThreadPoolExecutor(1) as alone:
        alone.submit(kind(data="synthetic").validate, 1).result()


@pytest.mark.parametrize("kind", [BlocksWorldProblems, MuSiQueQuestions])
def test_so_it_is_on_official_data(kind: type[Benchmark]) -> None:
    if not (official_data() / kind.package).exists():
        pytest.skip(f"no official data of {kind.benchmark}: set LAB_DATA")
    kind(data="official").validate(3)


def test_an_agent_acts_on_each_under_its_name() -> None:
    assert {one.benchmark for one in ALL} == ACTING.keys()
    assert all(issubclass(ACTING[one.benchmark], one) for one in ALL)


@dataclass(frozen=True)
class Door:
    id: str
    goal: str = "Open the door."


class Doors(World):
    def tasks(self, split: str) -> list[Door]:
        return [Door(f"door-{number}") for number in range(4)]

    def reset(self, task: Door) -> Step:
        return Step("It is shut.", float(task.id == "door-1"))

    def step(self, action: str) -> Step:
        return Step("Open." if action == "open" else "Shut.", float(action == "open"))

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Opening(Benchmark):
    benchmark: ClassVar[str] = "Doors"

    def opened(self) -> Any:
        return Doors()

    def solution(self, task: str) -> Sequence[str]:
        return ["knock"] if task == "door-2" else ["open"]


def test_what_is_wrong_with_one_is_told_task_by_task() -> None:
    with pytest.raises(ValueError, match="door-1 has a score of 1 before .*door-2 has a score of 0 at the end"):
        Opening().validate(0)
    with pytest.raises(ValueError, match="no task has a known solution"):
        type("Unsolved", (Opening,), {"solution": Benchmark.solution})().validate()


def test_a_world_that_is_begun_is_at_its_task_and_shows_its_last_answer() -> None:
    first, second = Opening().begun("door-1"), Opening().begun("door-2")
    assert first.world is not second.world and (first.now.score, second.now.score) == (1, 0)
    assert second.step("open").text == "Open."
    assert second.view() == {"text": "Open.", "actions": [], "score": 1.0} and second.task == Door("door-2")
    with pytest.raises(LookupError, match="there is no task 'door-9'"):
        Opening().begun("door-9")


def test_an_agent_acts_in_a_benchmarks_world_that_says_its_actions_in_words() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Knocking(Opening, Acting):
        method: ClassVar[str] = "knocking"

    with pytest.raises(TypeError, match="Knocking: inherit from a worlds.Benchmark and give it `tools`"):
        Knocking().environment("door-0")
    environment = type("Told", (Knocking,), {"tools": "knock, open"})().environment("door-0")
    assert (environment.name, environment.tools) == ("Doors", "knock, open")
    assert environment.begin() == "Task: Open the door.\n\nIt is shut." and environment.act("open").text == "Open."
