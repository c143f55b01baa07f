"""Question trees that a published system recorded, ProbTree (Cao et al. 2023): what a real model asked and answered.

The system breaks a question into sub-questions (the root's sons, which may have sons), and answers each up to three
times: from the model's memory (closed book), from retrieved paragraphs (open book), and from its sons' answers. It goes
on with the answer of the highest log-probability, and a later sub-question is put with that answer in it: of what the
model would have said after another one, nothing is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from lab.machine.faults import DamagedData, MissingData
from lab.models.prompts import faults
from worlds.multihop.metrics import normalised
from worlds.multihop.official import NAME, rows
from worlds.multihop.questions import Question


class ModelAnswer(NamedTuple):
    """An answer. logprob: as recorded, the mean over the tokens of the reasoning before it; -100 for none."""

    text: str
    logprob: float


# MuSiQue's answers have their chain of thought behind.
Recorded = Annotated[ModelAnswer, BeforeValidator(lambda value: value[:2] if isinstance(value, list) else value)]
# HotpotQA's trees write <1> where MuSiQue's have #1: the answer of the first son of the same node.
Asked = Annotated[str, AfterValidator(lambda text: re.sub(r"<(\d+)>", r"#\1", text))]


class Node(BaseModel):
    """A question of a tree. asked: with references; question: as it was put, with the answers in their place.

    sons: places of its sub-questions in the tree. chosen: the answer that the system went on with.
    """

    model_config = ConfigDict(frozen=True)

    asked: Asked = Field(alias="question_text")
    question: str
    sons: tuple[int, ...]
    open_book: Recorded = Field(alias="ob_answer")
    child: Recorded | None = Field(None, alias="child_answer")
    closed_book: Recorded = Field(alias="cb_answer")
    chosen: Recorded = Field(alias="answer")

    @property
    def answers(self) -> tuple[str, ...]:
        """What was answered, each once: open book, by the sons, closed book. "Unknown" and errors are no answers."""
        once = dict[str, str]()
        for answer in (self.open_book, self.child, self.closed_book):
            if answer and answer.text.strip() and "Unknow" not in answer.text and "ERROR" not in answer.text:
                once.setdefault(normalised(answer.text), answer.text.strip())
        return tuple(once.values())


class Tree(BaseModel):
    """A question with its sub-questions, sons before their father. gold: right answers; empty if not known."""

    model_config = ConfigDict(frozen=True)

    question: str
    gold: Annotated[tuple[str, ...], BeforeValidator(lambda gold: gold or ())] = Field(alias="gold_answers")
    nodes: tuple[Node, ...] = Field(alias="tree", min_length=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for index, node in enumerate(self.nodes):
            if not all(0 <= son < index for son in node.sons):
                raise ValueError(f"node {index} has the sons {list(node.sons)}, which do not stand before it")
        return self

    @property
    def root(self) -> Node:
        return self.nodes[-1]

    @property
    def hops(self) -> tuple[Node, ...]:
        """The root's sons; of a question that was not broken up, itself."""
        return tuple(self.nodes[son] for son in self.root.sons) or (self.root,)


def file_of(folder: Path, dataset: str) -> Path:
    """Where the trees of a dataset are."""
    return folder / f"probtree_{dataset}_llm_trees.jsonl.gz"


def trees(folder: Path, dataset: str) -> list[Tree]:
    """The recorded trees of a dataset. Raises MissingData, or DamagedData naming the line and the field."""
    path, trees_read = file_of(folder, dataset), list[Tree]()
    if not path.exists():
        raise MissingData(f"{path} is missing: set LAB_DATA to a folder that has {NAME}/{path.name}")
    for number, row in enumerate(rows(path, {"question", "gold_answers", "tree"}), start=1):
        try:
            trees_read.append(Tree.model_validate(row))
        except ValidationError as error:
            raise DamagedData(f"{path} is damaged in line {number}: {faults(error)}. Restore it") from None
    return trees_read


def matched(trees_read: Iterable[Tree], questions: Iterable[Question]) -> dict[str, Tree]:
    """Task id -> tree, of the questions that have one: the trees have no ids, so it goes by the question's words."""
    of_words = {normalised(tree.question): tree for tree in trees_read}
    named = {question.task.id: normalised(question.task.goal) for question in questions}
    return {task: of_words[words] for task, words in named.items() if words in of_words}
