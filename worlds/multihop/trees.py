"""Recorded question trees of a published system, ProbTree (Cao et al. 2023): a real model's sub-questions and answers.

The system splits a question into sub-questions (the root's children, which may have children), and answers each up to
three times: from the model's memory (closed book), from retrieved paragraphs (open book), and from its children's
answers. It continues with the answer of the highest log-probability, which is inserted into later sub-questions. So the
recording does not show what the model would have said after another answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from lab.machine.faults import DamagedData, MissingData
from lab.models.answers import faults
from worlds.multihop.metrics import normalised
from worlds.multihop.official import NAME, rows
from worlds.multihop.questions import Question


class ModelAnswer(NamedTuple):
    """An answer. logprob: as recorded, the mean over the tokens of the reasoning before the answer; -100 for none."""

    text: str
    logprob: float


# In MuSiQue's trees an answer is followed by its chain of thought, which is dropped.
Recorded = Annotated[ModelAnswer, BeforeValidator(lambda value: value[:2] if isinstance(value, list) else value)]
# HotpotQA's trees write <1>, MuSiQue's #1: the answer of the same node's first child.
Asked = Annotated[str, AfterValidator(lambda text: re.sub(r"<(\d+)>", r"#\1", text))]


class Node(BaseModel):
    """A question of a tree. asked: with references; question: with the answers inserted, as the model got it.

    sons: indices of its sub-questions in the tree. chosen: the answer that the system continued with.
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
        """The distinct answers, in the order open book, from children, closed book; without "Unknown" and errors."""
        distinct = dict[str, str]()
        for answer in (self.open_book, self.child, self.closed_book):
            if answer and answer.text.strip() and "Unknow" not in answer.text and "ERROR" not in answer.text:
                distinct.setdefault(normalised(answer.text), answer.text.strip())
        return tuple(distinct.values())


class Tree(BaseModel):
    """A question with its sub-questions, children before parents. gold: right answers; empty if not known."""

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
        """The root's children; the root itself if the question was not split."""
        return tuple(self.nodes[son] for son in self.root.sons) or (self.root,)


def file_of(folder: Path, dataset: str) -> Path:
    """The file of a dataset's trees."""
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
    """Task id -> tree, for questions that have one. Trees have no ids, so they are matched by the question's words."""
    by_words = {normalised(tree.question): tree for tree in trees_read}
    question_words = {question.task.id: normalised(question.task.goal) for question in questions}
    return {task: by_words[words] for task, words in question_words.items() if words in by_words}
