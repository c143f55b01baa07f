"""The official questions and corpora, how the search does on them, and what is said where they lack or are damaged."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab.machine.faults import DamagedData, MissingData
from worlds.multihop import DATASETS, MultiHop, load, official
from worlds.multihop.metrics import evidence_found

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / official.NAME
there = all(official.present(DATA, dataset) for dataset in DATASETS)
needs_data = pytest.mark.skipif(not there, reason="LAB_DATA names no multi-hop data")
COUNTS = {
    "hotpotqa": {"annotated_full": 498, "annotated_titles": 403, "matched": 822, "question_only": 61 + 7405 - 1784},
    "musique": {"annotated_full": 386, "matched": 269, "question_only": 607},
}
FIRST = 60  # questions of a dataset that are searched for


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache") / "answers.sqlite")


@pytest.fixture
def world(request: pytest.FixtureRequest, cache: str, monkeypatch: pytest.MonkeyPatch) -> MultiHop:
    monkeypatch.setenv("LAB_CACHE", cache)
    return load(request.param, "open", "official")


@pytest.mark.slow
@needs_data
@pytest.mark.official
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_questions_are_all_there_with_their_evidence(dataset: str) -> None:
    questions = official.questions(DATA, dataset)
    assert {split: len(some) for split, some in questions.items()} == COUNTS[dataset]
    everything = [question for some in questions.values() for question in some]
    assert len({question.task.id for question in everything}) == len(everything)
    for question in everything:
        annotated = question.task.evidence.startswith("annotated")
        assert bool(question.gold) == annotated
        assert not question.paragraphs or set(question.gold) <= set(question.paragraphs)
        assert len(question.gold) == (question.hops if annotated else 0)
    shown = [question for question in everything if question.paragraphs]
    assert len(shown) == {"hotpotqa": 496, "musique": 386}[dataset]


@pytest.mark.slow
@needs_data
@pytest.mark.official
@pytest.mark.parametrize(("world", "least"), [("hotpotqa", 0.70), ("musique", 0.20)], indirect=["world"])
def test_the_evidence_is_found_about_as_often_as_published(world: MultiHop, least: float) -> None:
    assert world.retriever is not None
    asked = [world.hidden(task) for task in world.tasks("annotated_full")[:FIRST]]
    shares = {titles: evidence_found(world.retriever, asked, 10, titles).count(1) / FIRST for titles in (False, True)}
    assert shares[True] >= shares[False] >= least - 0.1
    assert shares[True] >= least


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one question of each kind."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    folder = tmp_path / official.NAME
    corpus = [{"pid": f"hp00000{number}", "title": f"T{number}", "text": f"Text {number}."} for number in range(3)]
    row = {"answer": "Rush", "type": "bridge", "id": None, "gold_pids": None, "gold_in_corpus": None}
    write(folder / "hotpotqa_corpus.jsonl.gz", corpus)
    write(
        folder / "hotpotqa_questions.jsonl.gz",
        [
            row | {"id": "a1", "dev_index": 5, "question": "Who?", "evidence": "annotated_full"}
            | {"gold_pids": ["hp000000", "hp000002"], "gold_in_corpus": True},
            row | {"dev_index": 7, "question": "What?", "evidence": "matched"},
            row | {"dev_index": 9, "question": "When?", "evidence": "annotated_titles"}
            | {"gold_pids": ["hp000001"], "gold_in_corpus": False},
        ],
    )  # fmt: skip
    context = [[f"T{number}", ["Text", f"{number}."]] for number in range(3)]
    write(folder / "hotpotqa_full_context.jsonl.gz", [{"id": "a1", "dev_index": 5, "context": context}])
    return folder


def test_questions_are_told_apart_by_their_evidence(small: Path) -> None:
    found = official.questions(small, "hotpotqa")
    assert {split: [question.task.id for question in some] for split, some in found.items()} == {
        "annotated_full": ["a1"],
        "matched": ["hotpotqa-0007"],
        "question_only": ["hotpotqa-0009"],  # one of its two gold paragraphs is not in the corpus
    }
    full = found["annotated_full"][0]
    assert [paragraph.title for paragraph in full.gold] == ["T0", "T2"]
    assert full.paragraphs == ()  # three are too few for a distractor setting
    assert found["question_only"][0].gold == () and full.kind == "bridge"


def test_gold_is_in_the_order_of_the_hops_where_a_decomposition_is_known(tmp_path: Path) -> None:
    pids = [f"mq{number}" for number in range(19)]
    corpus = [{"pid": pid, "title": pid.upper(), "text": "Text."} for pid in pids]
    hops = [{"question": f"hop {at}", "answer": f"answer {at}", "paragraph_support_idx": at} for at in (7, 3, 7)]
    row = {"question": "Who?", "answer": "Rush", "id": "3hop__1", "evidence": "annotated_full"}
    asked = row | {"gold_pids": ["mq3", "mq7"], "question_decomposition": hops, "hops": 3}
    write(tmp_path / "musique_corpus.jsonl.gz", corpus)
    write(tmp_path / "musique_questions.jsonl.gz", [asked, asked | {"id": "unknown", "hops": None}])
    shown = [{"pid": pid} for pid in pids]
    write(tmp_path / "musique_full_context.jsonl.gz", [{"id": "3hop__1", "paragraphs": shown}])
    first, second = official.questions(tmp_path, "musique")["annotated_full"]
    assert [paragraph.title for paragraph in first.gold] == ["MQ7", "MQ3"]
    assert [(hop.question, hop.answer, hop.paragraph and hop.paragraph.title) for hop in first.decomposition] == [
        ("hop 7", "answer 7", "MQ7"), ("hop 3", "answer 3", "MQ3"), ("hop 7", "answer 7", "MQ7"),
    ]  # fmt: skip
    assert len(first.paragraphs) == 19 and first.hops == 3
    # Without a full record the order is unknown.
    assert [paragraph.title for paragraph in second.gold] == ["MQ3", "MQ7"]
    assert second.decomposition == () and second.hops == 0


@pytest.mark.parametrize("part", official.PARTS)
def test_a_file_that_lacks_is_named_and_how_to_go_on(small: Path, part: str) -> None:
    (small / f"hotpotqa_{part}.jsonl.gz").unlink()
    with pytest.raises(MissingData, match="hotpotqa's official data is not in .*LAB_DATA.*data='synthetic'"):
        load("hotpotqa", data="official")
    with pytest.raises(MissingData, match="hotpotqa"):
        list(official.rows(small / f"hotpotqa_{part}.jsonl.gz", set()))


def test_a_damaged_file_is_named_with_its_line(small: Path) -> None:
    path = small / "hotpotqa_corpus.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DamagedData, match=r"hotpotqa_corpus.jsonl.gz is damaged in line \d"):
        list(official.corpus(small, "hotpotqa"))
    write(small / "hotpotqa_corpus.jsonl.gz", [{"title": "T"}])
    with pytest.raises(DamagedData, match="line 1.*pid, text, title"):
        list(official.corpus(small, "hotpotqa"))


def test_other_data_than_the_suite_was_made_for_is_refused(small: Path) -> None:
    with pytest.raises(DamagedData, match="hotpotqa_corpus.jsonl.gz is cut or changed.*--as-is"):
        load("hotpotqa", data="official")
    assert load("hotpotqa", data="synthetic").data == "synthetic"
