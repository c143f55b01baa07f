"""HotpotQA's and MuSiQue's development questions and paragraphs, as far as published samples contain them.

The corpora are small, 12,479 and 10,024 paragraphs; HotpotQA's "fullwiki" has five million and MuSiQue's corpus 84,000.
Finding evidence is easier here, so results are not comparable with results on those.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Set
from hashlib import sha256
from pathlib import Path
from typing import Any

from lab.machine.faults import DamagedData, MissingData
from worlds.multihop.questions import EVIDENCE, Hop, HopTask, Paragraph, Question

NAME = "multihop"  # the folder in `official_data()`
PARTS = ("questions", "full_context", "corpus")
WHOLE_SPLIT = "hotpotqa_dev_all_qa.jsonl.gz"  # all questions of HotpotQA's development split, without evidence
FULL = {"hotpotqa": 10, "musique": 19}  # least paragraphs of a complete context; two of HotpotQA's have gold ones only
# Fields that the rows of each file must have.
QA = {"question", "answer"}
ASKED = {*QA, "id", "evidence", "gold_pids"}
CORPUS = {"pid", "title", "text"}
SHOWN = {"hotpotqa": {"dev_index", "context"}, "musique": {"id", "paragraphs"}}


def present(folder: Path, dataset: str) -> bool:
    """Whether the folder has all required files of a dataset."""
    return all((folder / f"{dataset}_{part}.jsonl.gz").exists() for part in PARTS)


def missing(folder: Path, dataset: str) -> MissingData:
    """The error for missing data."""
    return MissingData(
        f"{dataset}'s official data is not in {folder}. It was gathered from published samples, and nothing downloads "
        f"it: set LAB_DATA to a folder that has {NAME}/{dataset}_*.jsonl.gz, or use data='synthetic'"
    )


def checksum(folder: Path, dataset: str) -> str:
    """SHA-256 of a corpus file, the key of its cached index. Raises MissingData."""
    try:
        return sha256((folder / f"{dataset}_corpus.jsonl.gz").read_bytes()).hexdigest()
    except FileNotFoundError:
        raise missing(folder, dataset) from None


def corpus(folder: Path, dataset: str) -> Iterator[Paragraph]:
    """The paragraphs of a corpus, in its order. Raises MissingData, DamagedData."""
    for row in rows(folder / f"{dataset}_corpus.jsonl.gz", CORPUS):
        yield Paragraph(row["title"], row["text"])


def questions(folder: Path, dataset: str) -> dict[str, list[Question]]:
    """The questions by class of EVIDENCE; each class is a split.

    A question with known gold paragraphs that are not all in the corpus counts as "question_only". So do HotpotQA's
    other development questions, which have no evidence, if their file is present. Raises MissingData, DamagedData.
    """
    contexts = {name_of(row): row for row in rows(folder / f"{dataset}_full_context.jsonl.gz", SHOWN[dataset])}
    question_rows = list(rows(folder / f"{dataset}_questions.jsonl.gz", ASKED))
    corpus_evidence = Evidence(folder, dataset, question_rows, contexts)
    by_evidence: dict[str, list[Question]] = {evidence: [] for evidence in EVIDENCE}
    for number, row in enumerate(question_rows):
        question = question_of(row, number, dataset, contexts.get(name_of(row)), corpus_evidence)
        by_evidence[question.task.evidence].append(question)
    if dataset == "hotpotqa" and (folder / WHOLE_SPLIT).exists():
        annotated = {row["dev_index"] for row in question_rows}
        for number, row in enumerate(rows(folder / WHOLE_SPLIT, {"dev_index", *QA})):
            if row["dev_index"] not in annotated:
                by_evidence["question_only"].append(question_of(row, number, dataset, None, corpus_evidence))
    return {evidence: of_class for evidence, of_class in by_evidence.items() if of_class}


class Evidence:
    """The paragraphs of a corpus that its questions refer to, by their id and, in HotpotQA, by their title."""

    def __init__(
        self, folder: Path, dataset: str, asked: list[Mapping[str, Any]], contexts: Mapping[Any, Mapping[str, Any]]
    ) -> None:
        # In MuSiQue many paragraphs share a title; in HotpotQA a title has one paragraph.
        paragraph_ids = {pid for row in asked for pid in row["gold_pids"] or ()}
        paragraph_ids |= {paragraph["pid"] for row in contexts.values() for paragraph in row.get("paragraphs", ())}
        titles = {title for row in contexts.values() for title, _ in row.get("context", ())}
        self.by_id: dict[str, Paragraph] = {}
        self.by_title: dict[str, Paragraph] = {}
        for row in rows(folder / f"{dataset}_corpus.jsonl.gz", CORPUS):
            if row["pid"] in paragraph_ids:
                self.by_id[row["pid"]] = Paragraph(row["title"], row["text"])
            if row["title"] in titles:
                self.by_title[row["title"]] = Paragraph(row["title"], row["text"])

    def shown(self, context: Mapping[str, Any]) -> list[Paragraph]:
        """The paragraphs of a question's context, in the corpus's version: both settings show the same texts."""
        if "paragraphs" in context:
            return [self.by_id[paragraph["pid"]] for paragraph in context["paragraphs"]]
        return [
            self.by_title.get(title) or Paragraph(title, " ".join(sentences)) for title, sentences in context["context"]
        ]


def question_of(
    row: Mapping[str, Any], number: int, dataset: str, context: Mapping[str, Any] | None, there: Evidence
) -> Question:
    """The question of a row. number: index of the row, used in the id where the dataset's own id is unknown."""
    gold = tuple(there.by_id[pid] for pid in row.get("gold_pids") or ())
    evidence = row.get("evidence", "question_only")
    if row.get("gold_in_corpus") is False:
        evidence, gold = "question_only", ()
    shown = there.shown(context) if context else []
    name = row.get("id") or f"{dataset}-{row.get('dev_index', number):04d}"
    steps = row.get("question_decomposition") or ()
    if shown and steps:
        gold = tuple(dict.fromkeys(shown[step["paragraph_support_idx"]] for step in steps))
    hops = [Hop(step["question"], step["answer"], shown[step["paragraph_support_idx"]]) for step in steps if shown]
    return Question(
        task=HopTask(name, row["question"], dataset, evidence),
        answer=row["answer"],
        aliases=tuple(row.get("answer_aliases") or ()),
        hops=2 if dataset == "hotpotqa" else row.get("hops") or 0,
        kind=row.get("type") or "",
        gold=gold,
        decomposition=tuple(hops),
        paragraphs=tuple(shown) if len(shown) >= FULL[dataset] else (),
    )


def name_of(row: Mapping[str, Any]) -> Any:
    """A row's key in all files of a dataset: its id; in HotpotQA, where some ids are unknown, its index."""
    return row.get("dev_index", row["id"])


def rows(path: Path, fields: Set[str]) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, as a stream. fields: required in every row.

    Raises MissingData, or DamagedData naming the line.
    """
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                number += 1
                row = json.loads(line)
                if not isinstance(row, dict) or not fields <= row.keys():
                    raise ValueError(f"it has not all of the fields {', '.join(sorted(fields))}")
                yield row
    except FileNotFoundError:
        raise missing(path.parent, path.name.partition("_")[0]) from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DamagedData(
            f"{path} is damaged in line {number}: {error}. Restore it, or use data='synthetic'"
        ) from error
