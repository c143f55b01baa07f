"""Multi-hop questions over an encyclopedia: HotpotQA (Yang et al. 2018) and MuSiQue (Trivedi et al. 2022).

`load` gives the world, with the official questions at hand or a small synthetic set; `world_of` makes one of any
questions and paragraphs. Metrics are in `worlds.multihop.metrics`, the search in `worlds.multihop.retriever`. The
answers are in `worlds.multihop.expert`, which nothing that an agent is given imports.

The official corpora at hand are small, 12,479 paragraphs for HotpotQA and 10,024 for MuSiQue; results of the open
setting on them are not comparable with those on HotpotQA's "fullwiki" of five million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from lab.machine.printing import hint
from worlds.multihop import official
from worlds.multihop.questions import DATASETS, EVIDENCE, Hop, HopTask, Paragraph, Question
from worlds.multihop.retriever import Retriever
from worlds.multihop.stored import indexed
from worlds.multihop.synthetic import synthetic_paragraphs, synthetic_questions
from worlds.multihop.world import SETTINGS, TOP, MultiHop

__all__ = [
    "DATASETS", "EVIDENCE", "SETTINGS", "Hop", "HopTask", "MultiHop", "Paragraph", "Question", "Retriever", "indexed",
    "load", "retriever_of", "world_of",
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

    Splits of synthetic ones are the two sets of question templates: see `worlds.multihop.synthetic`.

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


def world_of(
    questions: Mapping[str, Sequence[Question]],
    paragraphs: Callable[[], Iterable[Paragraph]],
    key: Any,
    setting: str = "open",
    **options: Any,
) -> MultiHop:
    """The world of any questions, by split, and any corpus. options: those of `MultiHop`.

    paragraphs, key: the corpus, as `indexed` takes them; it is read only in the open setting, and then once.
    """
    return MultiHop(questions, indexed(key, paragraphs) if setting == "open" else None, setting, **options)


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
