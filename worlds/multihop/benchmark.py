"""HotpotQA and MuSiQue as benchmarks, by the official exact match."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from worlds.benchmark import Benchmark
from worlds.multihop import HopTask, MultiHop, load


@dataclass(frozen=True, kw_only=True)
class MultiHopQuestions(Benchmark):
    """Some questions of a dataset.

    setting: "distractor", where ten or twenty paragraphs come with a question, or "open", where they are searched.
    split: the templates of synthetic questions, or how well evidence is annotated; "" for the first.
    """

    setting: Literal["distractor", "open"] = "distractor"

    dataset: ClassVar[str]
    package: ClassVar[str] = "multihop"
    reported: ClassVar[str] = ""
    read_by_rules: ClassVar[str] = "synthetic"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "setting")
    metric: ClassVar[str] = "exact match"

    def world(self) -> MultiHop:
        """The questions and, in the open setting, what is searched; shared by all episodes."""
        return _world(self.dataset, self.setting, self.data)

    def opened(self) -> MultiHop:
        return self.world().apart()

    def named(self, task: str) -> HopTask:
        return self.world().named(task)

    def options(self) -> dict[str, Any]:
        return {"setting": self.setting}


class HotpotQAQuestions(MultiHopQuestions):
    """HotpotQA (A.5)."""

    dataset: ClassVar[str] = "hotpotqa"
    benchmark: ClassVar[str] = "HotpotQA"


class MuSiQueQuestions(MultiHopQuestions):
    """MuSiQue (A.6)."""

    dataset: ClassVar[str] = "musique"
    benchmark: ClassVar[str] = "MuSiQue"


@cache
def _world(dataset: str, setting: str, data: str) -> MultiHop:
    return load(dataset, setting, data, list_actions=False)
