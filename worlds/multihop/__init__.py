"""Multi-hop questions over an encyclopedia: HotpotQA (Yang et al. 2018) and MuSiQue (Trivedi et al. 2022).

`load` opens the world with the available official questions or a small synthetic set; `MultiHop` takes any questions,
and with `indexed` any paragraphs. Metrics are in `worlds.multihop.metrics`, the search in `worlds.multihop.retriever`.
The answers are in `worlds.multihop.expert`; nothing that an agent is given imports it.

The available official corpora are small, 12,479 paragraphs for HotpotQA and 10,024 for MuSiQue. Results of the open
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
    """Open the questions of a dataset.

    Splits of official questions are the classes of `EVIDENCE` that occur; splits of synthetic ones are the two sets of
    question templates (see `worlds.multihop.questions`).

    dataset: "hotpotqa" or "musique". setting: "distractor" or "open", see `MultiHop`. data: "auto" (official where
    present, else synthetic), "official" or "synthetic". top: number of paragraphs that a search shows. titles: whether
    paragraphs whose title the query names come first.
    Raises MissingData if official data is asked for and absent, DamagedData, ValueError for other values.
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
    """The search over a dataset's corpus, with the options of `load`; its index is kept in the cache folder."""
    if chosen_data(dataset, data) == "synthetic":
        paragraphs = synthetic_paragraphs()
        return indexed(paragraphs, lambda: paragraphs)  # the paragraphs are few enough to be the key
    folder = official_data() / official.NAME
    return indexed(official.checksum(folder, dataset), partial(official.corpus, folder, dataset))


def chosen_data(dataset: str, data: str) -> str:
    """Resolve `data` to "official" or "synthetic"; raises what `load` does."""
    if dataset not in DATASETS:
        raise ValueError(
            f"dataset={dataset!r}; choose one of {', '.join(map(repr, DATASETS))}{hint(dataset, DATASETS)}"
        )
    folder = official_data() / official.NAME
    is_present = official.present(folder, dataset)
    if data == "official" and not is_present:
        raise official.missing(folder, dataset)  # choose_data would name a download, and there is none
    return choose_data(data, is_present, official.NAME)


@dataclass(frozen=True, kw_only=True)
class MultiHopQuestions(Benchmark):
    """Questions of a dataset.

    setting: "distractor", where a question comes with ten or twenty paragraphs, or "open", where they are searched.
    split: a set of templates for synthetic questions, a class of EVIDENCE for official ones; "" for the first split.
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
        task_record: HopTask = self.world().named(task)
        return task_record

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
