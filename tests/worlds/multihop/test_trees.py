"""Recorded question trees: what is read of a node, which questions they belong to, and what damage is told."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab.machine.faults import DamagedData, MissingData
from worlds.multihop import HopTask, Question, official
from worlds.multihop.metrics import normalised
from worlds.multihop.trees import ModelAnswer, Tree, file_of, matched, trees

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / official.NAME
THERE = all(file_of(DATA, dataset).exists() for dataset in ("hotpotqa", "musique"))


def node(asked: str, open_book: str, closed_book: str, **more: Any) -> dict[str, Any]:
    """A node as the files have it; its second answer is the more probable one."""
    return {
        "question_text": asked, "question": asked, "sons": [], "ob_answer": [open_book, -0.5],
        "cb_answer": [closed_book, -0.1, "a chain of thought"], "answer": [closed_book, -0.1],
    } | more  # fmt: skip


def row(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"question": "Who wrote the song?", "gold_answers": None, "tree": list(nodes)}


def write(folder: Path, *found: dict[str, Any]) -> None:
    with gzip.open(file_of(folder, "musique"), "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in found)


def test_a_tree_is_read_with_its_sub_questions_and_what_was_answered_to_each(tmp_path: Path) -> None:
    first = node("Which song?", "“Stan”", "Unknown")
    second = node("Who wrote <1>?", "Eminem", "eminem.", child_answer=["Dido", -0.2])
    write(tmp_path, row(first, second, node("Who wrote the song?", "", "Eminem", sons=[0, 1])))
    tree = trees(tmp_path, "musique")[0]
    assert [hop.asked for hop in tree.hops] == ["Which song?", "Who wrote #1?"] and tree.gold == ()
    assert [hop.answers for hop in tree.hops] == [("“Stan”",), ("Eminem", "Dido")]
    assert tree.root.answers == ("Eminem",) and tree.root.chosen == ModelAnswer("Eminem", -0.1)


def test_a_tree_belongs_to_the_question_of_the_same_words() -> None:
    tree = Tree.model_validate(row(node("Who wrote the song?", "Dido", "Dido")))
    asked = {"a": "who wrote a song", "b": "Who sang the song?"}
    questions = [Question(HopTask(task, goal, "musique"), "Dido") for task, goal in asked.items()]
    assert matched([tree], questions) == {"a": tree}


@pytest.mark.parametrize(("tree", "said"), [
    (
        row(node("Who?", "A", "B"), node("Whose?", "A", "B", answer=["A"], child_answer=None)),
        "line 2: tree.1.answer",
    ),
    (row(node("Who?", "A", "B", ob_answer=None)), "line 2: tree.0.ob_answer"),
    (row(node("Who?", "A", "B", sons=[0])), r"line 2: .*node 0 has the sons \[0\]"),
    (row(), "line 2: tree: "),
    ({"question": "Who?"}, "line 2: it has not all of the fields gold_answers, question, tree"),
])  # fmt: skip
def test_a_malformed_tree_is_named_with_its_line(tmp_path: Path, tree: dict[str, Any], said: str) -> None:
    write(tmp_path, row(node("Who?", "A", "B")), tree)
    with pytest.raises(DamagedData, match=f"probtree_musique_llm_trees.jsonl.gz is damaged in {said}"):
        trees(tmp_path, "musique")


def test_trees_that_are_not_there_are_named_with_where_to_put_them(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match="LAB_DATA to a folder that has multihop/probtree_hotpotqa"):
        trees(tmp_path, "hotpotqa")


@pytest.mark.skipif(not THERE, reason="LAB_DATA names no recorded trees")
@pytest.mark.official
@pytest.mark.parametrize(("dataset", "known"), [("hotpotqa", 500), ("musique", 256)])
def test_the_recorded_system_goes_on_with_the_most_probable_of_what_is_read_as_answers(
    dataset: str, known: int
) -> None:
    found = trees(DATA, dataset)
    assert len(found) == 500 and sum(bool(tree.gold) for tree in found) == known
    assert max(len(tree.hops) for tree in found) == 4, "as many as a plan may have"
    for leaf in (node for tree in found for node in tree.nodes if not node.sons):
        usable = [one for one in (leaf.open_book, leaf.closed_book) if one.text.strip() in leaf.answers]
        best = max(usable, key=lambda one: one.logprob)
        assert normalised(best.text) == normalised(leaf.chosen.text)
