"""Multi-hop questions over an encyclopedia: HotpotQA (Yang et al. 2018) and MuSiQue (Trivedi et al. 2022).

`load` gives the world, with the official questions at hand or a small synthetic set; `MultiHop` takes any questions,
and with `indexed` any paragraphs. Metrics are in `worlds.multihop.metrics`, the search in `worlds.multihop.retriever`.
The answers are in `worlds.multihop.expert`, which nothing that an agent is given imports.

The official corpora at hand are small, 12,479 paragraphs for HotpotQA and 10,024 for MuSiQue; results of the open
setting on them are not comparable with those on HotpotQA's "fullwiki" of five million.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from lab.machine.printing import hint
from worlds.benchmark import Benchmark
from worlds.multihop import official
from worlds.multihop.questions import (
    DATASETS,
    EVIDENCE,
    Hop,
    HopTask,
    Paragraph,
    Question,
    synthetic_paragraphs,
    synthetic_questions,
)
from worlds.multihop.retriever import Retriever, indexed
from worlds.multihop.world import SETTINGS, TOP, MultiHop

__all__ = [
    "DATASETS", "EVIDENCE", "SETTINGS", "Hop", "HopTask", "HotpotQAQuestions", "MuSiQueQuestions", "MultiHop",
    "MultiHopQuestions", "Paragraph", "Question", "Retriever", "indexed", "load", "retriever_of",
]  # fmt: skip


def load(
    dataset: str = "hotpotqa",
    setting: str = "open",
    data: str = "auto",
    top: int = TOP,
    titles: bool = True,
    list_actions: bool = True,
) -> MultiHop:
    """The questions of a dataset; the official ones' splits are the classes of `EVIDENCE` that there are.

    Splits of synthetic ones are the two sets of question templates: see `worlds.multihop.questions`.

    dataset: "hotpotqa" or "musique". setting: "distractor" or "open", as `MultiHop` says. data: "auto" (official where
    present, else synthetic), "official" or "synthetic". top: how many paragraphs a search shows. titles: whether those
    with a title that the query names come first.
    Raises MissingData if official data is asked for and absent, DamagedData, ValueError for another word.
    """
    chosen = chosen_data(dataset, data)
    questions: Mapping[str, Sequence[Question]] = (
        official.questions(official_data() / official.NAME, dataset)
        if chosen == "official"
        else synthetic_questions(dataset)
    )
    retriever = retriever_of(dataset, chosen) if setting == "open" else None
    return MultiHop(questions, retriever, setting, chosen, top, titles, list_actions)


def retriever_of(dataset: str, data: str = "auto") -> Retriever:
    """The search over a dataset's corpus, with options as those of `load`; kept in the cache folder."""
    if chosen_data(dataset, data) == "synthetic":
        paragraphs = synthetic_paragraphs()
        return indexed(paragraphs, lambda: paragraphs)  # few enough to be the key themselves
    folder = official_data() / official.NAME
    return indexed(official.checksum(folder, dataset), partial(official.corpus, folder, dataset))


def chosen_data(dataset: str, data: str) -> str:
    """Resolve `data` to "official" or "synthetic"; raises what `load` does."""
    if dataset not in DATASETS:
        raise ValueError(
            f"dataset={dataset!r}; choose one of {', '.join(map(repr, DATASETS))}{hint(dataset, DATASETS)}"
        )
    folder = official_data() / official.NAME
    there = official.present(folder, dataset)
    if data == "official" and not there:
        raise official.missing(folder, dataset)  # choose_data would name a download, and there is none
    return choose_data(data, there, official.NAME)


@dataclass(frozen=True, kw_only=True)
class MultiHopQuestions(Benchmark):
    """Some questions of a dataset.

    setting: "distractor", where ten or twenty paragraphs come with a question, or "open", where they are searched.
    split: the templates of synthetic questions, or how well evidence is annotated; "" for the first.
    """

    setting: Literal["distractor", "open"] = "distractor"

    dataset: ClassVar[str]
    package: ClassVar[str] = "multihop"
    shared: ClassVar[bool] = True
    reported: ClassVar[str] = ""
    read_by_rules: ClassVar[str] = "synthetic"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "setting")
    metric: ClassVar[str] = "exact match"

    def named(self, task: str) -> HopTask:
        named: HopTask = self.world().named(task)
        return named

    def options(self) -> dict[str, Any]:
        return {"dataset": self.dataset, "setting": self.setting, "list_actions": False}


class HotpotQAQuestions(MultiHopQuestions):
    """HotpotQA (A.5)."""

    dataset: ClassVar[str] = "hotpotqa"
    benchmark: ClassVar[str] = "HotpotQA"


class MuSiQueQuestions(MultiHopQuestions):
    """MuSiQue (A.6)."""

    dataset: ClassVar[str] = "musique"
    benchmark: ClassVar[str] = "MuSiQue"
