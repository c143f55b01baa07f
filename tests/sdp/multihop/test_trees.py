"""SDP's loop over recorded question trees: which recorded answer is taken, what certifies it, and the table of all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models.backbone import Ledger, MalformedAnswer
from sdp.adapters.multihop.adapter import HOP, Policy
from sdp.adapters.multihop.prompts import QUERY
from sdp.adapters.multihop.trees import UNRECORDED, TreeBackbone, says, uncertified
from sdp.experiments.multihop import MuSiQue, answer_of
from sdp.studies import trees as experiment
from sdp.trajectory import Trajectory
from worlds.multihop import Question
from worlds.multihop.trees import Tree, file_of

SETUP = MuSiQue(data="synthetic", split="writing", limit=6, engine="rules", policy=Policy(hops="guess", strict=True))
UNCHECKED = replace(SETUP, settings=replace(SETUP.settings, validate=False))
WRONG = "Nowhere Atall"


def questions() -> list[Question]:
    world = SETUP.world()
    return [world.hidden(world.named(task)) for task in SETUP.tasks()]


def tree_of(question: Question, open_book: Mapping[int, str] = {}, chosen: Mapping[int, str] = {}) -> dict[str, Any]:
    """A recorded tree of a question: right in every answer, but for some nodes' open-book ones and choices."""
    said: list[str] = []
    nodes = []
    for asked, right in [*((hop.question, hop.answer) for hop in question.decomposition), ("", question.answer)]:
        place = len(nodes)
        filled = asked
        for number, one in enumerate(said, start=1):
            filled = filled.replace(f"#{number}", one)
        said.append(chosen.get(place, right))
        nodes.append({
            "question_text": asked or question.task.goal, "question": filled or question.task.goal,
            "sons": [] if asked else list(range(place)), "ob_answer": [open_book.get(place, right), -0.3],
            "cb_answer": [right, -0.1], "answer": [said[-1], -0.1],
        })  # fmt: skip
    return {"question": question.task.goal, "gold_answers": [question.answer], "tree": nodes}


def play(question: Question, setup: MuSiQue = SETUP, **recorded: Any) -> tuple[Trajectory, dict[str, Any]]:
    backbone = TreeBackbone(Tree.model_validate(tree_of(question, **recorded)))
    trajectory = setup.episode(question.task.id, Ledger(backbone))
    return trajectory, setup.result(trajectory)


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.task.id)
def test_validate_rejects_a_wrong_answer_and_takes_the_next_recorded_one(question: Question) -> None:
    trajectory, result = play(question, open_book={0: WRONG})
    assert [attempt.k for attempt in trajectory.attempts][:2] == [0, 1] and not trajectory.replans
    assert result["em"] == 1 and trajectory.reached_goal
    cited = {finding["title"] for finding in trajectory.states[-1]["findings"]}
    assert cited == {paragraph.title for paragraph in question.gold}
    assert play(question, UNCHECKED, open_book={0: WRONG, len(question.decomposition): WRONG})[1]["em"] == 0


def test_what_the_system_never_asked_is_no_answer_and_the_question_itself_is_left() -> None:
    forced = []
    for question in questions():
        trajectory, result = play(question, open_book={0: WRONG}, chosen={0: WRONG})
        unrecorded = [attempt for attempt in trajectory.attempts if UNRECORDED in attempt.reason]
        assert len(unrecorded) == SETUP.settings.budget + 1
        first, replanned, *_ = trajectory.plans
        assert replanned.predicates[0] == first.predicates[0], "what is certified stays"
        assert replanned.predicates[1].about == {"question": question.task.goal} and result["em"] == 1
        forced.append(result["forced"])
    assert set(forced) == {True, False}, "a paragraph about the last hop seldom names what the question does"


def test_where_nothing_is_certified_the_first_recorded_answer_is_forced() -> None:
    question = replace(questions()[1], answer=WRONG, decomposition=())
    trajectory, _ = play(question)
    assert trajectory.end == "malformed plan" and trajectory.forced and answer_of(trajectory) == WRONG
    assert {attempt.k for attempt in trajectory.attempts if attempt.kind == HOP} == {0}


def test_a_tree_that_no_plan_holds_and_a_prompt_that_it_does_not_answer_are_malformed() -> None:
    known = questions()[0]
    trajectory, _ = play(replace(known, decomposition=known.decomposition * 3))
    assert trajectory.end == "malformed plan" and not trajectory.attempts
    with pytest.raises(MalformedAnswer, match=r"answers no sdp.multihop.query"):
        TreeBackbone(Tree.model_validate(tree_of(known))).ask(QUERY, question="", asked="", found=[], tried=[])


def test_the_placebo_certifies_at_its_rate_and_the_same_alike() -> None:
    question = questions()[1]
    never, always = (
        SETUP.episode(question.task.id, Ledger(TreeBackbone(Tree.model_validate(tree_of(question)), certify=rate)))
        for rate in (0.0, 1.0)
    )
    assert never.forced and all(attempt.k for attempt in always.attempts)


TEXT = "The Bells of Figehun is a 1974 film. It was directed by Élven Briavath, who was born in Hiazetrus."


@pytest.mark.parametrize(
    ("asked", "answer", "said"),
    [
        ("Who is the director of the film The Bells of Figehun?", "Elven Briavath", ""),
        ("Who is the director of the film The Bells of Figehun?", "Elven", ""),
        ("Who is the director of the film The Bells of Figehun?", "Elve", "does not have its words"),
        ("Who is the director of the film Another Drum?", "Elven Briavath", "is not about the same"),
        ("Was The Bells of Figehun a film?", "Yes.", "no paragraph can say yes or no"),
        ("Is The Bells of Figehun older than Rush?", "the bells of figehun", "names it already"),
        ("Who?", "...", "no paragraph can say"),
    ],
)
def test_the_string_certificate_is_of_the_answer_and_its_subject(asked: str, answer: str, said: str) -> None:
    found = uncertified("The Bells of Figehun", TEXT, asked, answer)
    assert said in found and bool(found) == bool(said)


@given(st.lists(st.sampled_from(["Élan", "the", "U.S.", "1,974", "born", "a"]), min_size=1), st.data())
def test_a_text_says_each_run_of_its_own_words(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    run = words[start : data.draw(st.integers(start + 1, len(words)))]
    assert says(" ".join(words), " ".join(run).upper()) == any(word not in ("the", "a") for word in run)
    assert not says(" ".join(words), " ".join([*run, "else"]))


def test_all_conditions_are_set_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    monkeypatch.setattr(experiment, "SETUPS", {"MuSiQue": SETUP})
    (tmp_path / "multihop").mkdir()
    with gzip.open(file_of(tmp_path / "multihop", "musique"), "wt", encoding="utf-8") as file:
        for question in questions():
            last = len(question.decomposition)
            file.write(json.dumps(tree_of(question, open_book={0: WRONG, last: WRONG}, chosen={last: WRONG})) + "\n")
    episodes = experiment.episodes(seeds=2)
    assert len(episodes) == 6 * (4 + 2)  # the placebo twice
    rows = experiment.rows(episodes).set_index(["method", "metric"])["value"]
    assert rows[experiment.FULL, "MuSiQue EM"] == rows[experiment.FULL, "MuSiQue F1"] == 100
    assert rows[experiment.FILTERED, "MuSiQue EM"] == 100, "the closed-book answer stands in a paragraph"
    assert rows[experiment.OWN, "MuSiQue EM"] == rows[experiment.EVERY, "MuSiQue EM"] == 0
    assert rows[experiment.WITHOUT, "MuSiQue EM"] == 0 < rows[experiment.PLACEBO, "MuSiQue EM"] < 100
    compared = experiment.comparisons(episodes).set_index("compared")
    against = compared.loc[f"{experiment.FULL} − {experiment.WITHOUT}"]
    assert (against["n"], against["gained"], against["lost"], against["p"]) == (6, 6, 0, 2 / 2**6)
    assert (compared["p (Holm)"] >= compared["p"]).all()
    unrecorded = episodes.groupby("condition")["unrecorded"].mean()
    assert unrecorded[experiment.WITHOUT] == 1 and unrecorded[experiment.FULL] == 0
    reach = experiment.reach().iloc[0]
    assert reach["with a tree"] == reach["with two answers or more"] == 6 and reach["questions with paragraphs"] == 100


@pytest.mark.slow
@pytest.mark.skipif(not experiment.present(), reason="LAB_DATA names no recorded trees")
@pytest.mark.official
def test_the_official_questions_that_have_a_tree_are_played() -> None:
    setup = experiment.SETUPS["HotpotQA"]
    found = experiment.playable(setup)
    assert len(found) == 42
    episodes = experiment.played(setup, found, seeds=1)
    right = episodes.groupby("condition")["em"].sum().drop(experiment.PLACEBO)
    assert right.to_dict() == {experiment.OWN: 24, experiment.FULL: 25, experiment.WITHOUT: 21, experiment.FILTERED: 28}
