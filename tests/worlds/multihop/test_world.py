"""The world of questions: search, answer, nothing told before; answers judged as the official evaluations judge."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.base import EpisodeOver
from worlds.multihop import DATASETS, HopTask, MultiHop, Paragraph, Question, indexed, load
from worlds.multihop.expert import Expert
from worlds.multihop.metrics import hotpotqa, judged, musique, normalised, recall

FILM, DIRECTOR = Paragraph("Parasite (film)", "It was directed by Bong."), Paragraph("Bong", "Bong is from Daegu.")
OTHERS = [Paragraph(f"Town {number}", f"Town {number} is a town in the south.") for number in range(10)]
SHOWN = (FILM, *OTHERS[:8], DIRECTOR)
ASKED = Question(
    HopTask("q1", "Where is the director of Parasite from?", "hotpotqa"), "Daegu", hops=2, gold=(FILM, DIRECTOR),
    paragraphs=SHOWN,
)  # fmt: skip
CLOSED = Question(HopTask("q2", "Is it so?", "hotpotqa", "question_only"), "yes")
QUESTIONS = {"annotated_full": [ASKED], "question_only": [CLOSED]}


@pytest.fixture
def world() -> MultiHop:
    return MultiHop(QUESTIONS, indexed("twelve paragraphs", lambda: [FILM, DIRECTOR, *OTHERS]), top=2)


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("setting", ["open", "distractor"])
def test_the_expert_answers_every_made_question_from_its_evidence(dataset: str, setting: str) -> None:
    with load(dataset, setting, "synthetic") as world:
        expert = Expert(world)
        for task in [task for split in world.splits for task in world.tasks(split)]:
            last = world.replay(task, expert.actions(task))[-1]
            assert last.done and last.score == 1
            assert last.facts["gold_seen"] == 1


def test_a_search_shows_paragraphs_and_an_answer_ends_the_episode(world: MultiHop) -> None:
    task = world.tasks("annotated_full")[0]
    first, found, last = world.replay(task, ["search Parasite", "ANSWER: the city Daegu"])
    assert "Where is the director" in first.text and first.facts == {"paragraphs": ()}
    assert FILM.text in found.text and found.facts["paragraphs"][0] == FILM
    assert last.done and last.score == pytest.approx(2 / 3)
    assert last.facts == {"answer": "the city Daegu", "em": 0, "f1": last.score, "gold_seen": 0.5}
    with pytest.raises(EpisodeOver, match="q1"):
        world.step("search Bong")


@given(st.lists(st.text(max_size=20) | st.sampled_from(["search Bong", "search", "answer", "answer  ", "SEARCH x"])))
def test_nothing_is_told_of_the_answer_before_it_is_given(actions: list[str]) -> None:
    world = MultiHop(QUESTIONS, setting="distractor")
    steps = [world.reset(ASKED.task)]
    for action in actions:
        if not action.lower().strip().startswith("answer") or action.strip() == "answer":
            steps.append(world.step(action))
    for step in steps:
        assert not step.done and step.score == 0
        assert not {"em", "f1", "gold_seen", "answer"} & set(step.facts)
    assert world.step("answer daegu").facts["em"] == 1


def test_the_distractor_setting_shows_its_paragraphs_and_searches_nothing() -> None:
    world = MultiHop(QUESTIONS, setting="distractor")
    assert world.splits == ("annotated_full",)  # the other question has no paragraphs
    step = world.reset(ASKED.task)
    assert step.facts["paragraphs"] == SHOWN
    assert all(paragraph.text in step.text for paragraph in SHOWN)
    assert "`search" not in step.text
    assert "can be done here" in world.step("search Bong").text
    assert world.step("answer Daegu").facts["gold_seen"] == 1


@pytest.mark.parametrize("action", ["", "look", "answer", "search", "search   ", "answer:", "searching for Bong"])
def test_an_unknown_action_is_refused_in_words(world: MultiHop, action: str) -> None:
    world.reset(ASKED.task)
    step = world.step(action)
    assert not step.done and "`search QUERY`" in step.text and "`answer TEXT`" in step.text


def test_evidence_that_is_not_known_is_not_counted(world: MultiHop) -> None:
    assert world.replay(CLOSED.task, ["answer yes"])[-1].facts["gold_seen"] is None


def test_the_listed_actions_are_searches_that_work(world: MultiHop) -> None:
    step = world.reset(ASKED.task)
    assert step.actions == (f"search {ASKED.task.goal}",)
    step = world.step(step.actions[0])
    assert f"search {FILM.title}" in step.actions
    for action in step.actions:
        assert world.step(action).facts["paragraphs"]


def test_a_wrong_word_is_answered_with_the_right_ones(world: MultiHop) -> None:
    with pytest.raises(ValueError, match="no split 'test'.*annotated_full, question_only"):
        world.tasks("test")
    with pytest.raises(ValueError, match="'distractor', 'open'"):
        MultiHop(QUESTIONS, setting="fullwiki")
    with pytest.raises(ValueError, match="retriever"):
        MultiHop(QUESTIONS)
    with pytest.raises(ValueError, match="'hotpotqa', 'musique'"):
        load("hotpot")
    with pytest.raises(LookupError, match="not of this world"):
        world.reset(HopTask("q1", "Another question?", "hotpotqa"))
    with pytest.raises(EpisodeOver, match="before reset"):
        world.step("answer x")


TEXT = st.text(st.sampled_from("abcé theanyesno.,!-'0 \t") | st.characters(), max_size=30)


@pytest.mark.parametrize(("text", "normal"), [
    ("The  Eiffel Tower!", "eiffel tower"),
    ("a, b", "b"),  # punctuation goes first, and an article is a word of its own then
    ("U.S.A.", "usa"),
    ("an-other theatre", "another theatre"),
    ("“Rush”", "“rush”"),  # only ASCII's punctuation goes
    ("The", ""),
    ("31 March 2020", "31 march 2020"),
])  # fmt: skip
def test_an_answer_is_normalised_as_squad_does(text: str, normal: str) -> None:
    assert normalised(text) == normal


@pytest.mark.parametrize(("said", "right", "em", "f1"), [
    ("Rush", "rush", 1, 1),
    ("the band Rush", "Rush", 0, 2 / 3),
    ("York York York", "New York", 0, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),  # a word counts as often as both
    ("yes", "Yes.", 1, 1),
    ("yes it is", "yes", 0, 0),  # no partial credit beside yes, no and noanswer
    ("no", "no man's land", 0, 0),
    ("noanswer", "the answer", 0, 0),
    ("the", "a", 1, 0),  # equal, but no word is shared
    ("Paris", "London", 0, 0),
])  # fmt: skip
def test_hotpotqa(said: str, right: str, em: float, f1: float) -> None:
    assert hotpotqa(said, right) == (em, pytest.approx(f1, abs=0))


@pytest.mark.parametrize(("said", "right", "em", "f1"), [
    ("FIFA", ["International Federation of Association Football", "FIFA"], 1, 1),
    ("yes it is", ["yes"], 0, 1 / 2),  # MuSiQue knows no special words
    ("the", ["a"], 1, 1),
    ("the", ["Rush"], 0, 0),
    ("the Rush of 1974", ["Rush", "Rush 1974"], 0, 4 / 5),
])  # fmt: skip
def test_musique(said: str, right: list[str], em: float, f1: float) -> None:
    assert musique(said, right) == (em, pytest.approx(f1, abs=0))


@given(st.text(string.ascii_letters + " ", max_size=30), TEXT)
def test_case_punctuation_and_in_f1_the_order_of_words_change_nothing(said: str, right: str) -> None:
    assert musique(f" {string.punctuation}{said.swapcase()} ", [right]) == musique(said, [right])
    backwards = " ".join(reversed(normalised(said).split()))
    assert musique(said, [right]).f1 == musique(backwards, [right]).f1


@given(TEXT, st.lists(TEXT, min_size=1, max_size=4))
def test_f1_and_em_are_shares_and_an_alias_never_lowers_them(said: str, answers: list[str]) -> None:
    few, all_ = musique(said, answers[:1]), musique(said, answers)
    assert few.em <= all_.em and few.f1 <= all_.f1
    assert all_.em in (0, 1) and 0 <= all_.f1 <= 1
    assert all_.em <= all_.f1  # what is equal shares all its words, or neither has one


@given(TEXT, TEXT)
def test_f1_is_the_same_with_the_sides_changed(said: str, right: str) -> None:
    assert hotpotqa(said, right).f1 == pytest.approx(hotpotqa(right, said).f1)
    assert hotpotqa(said, right).f1 <= musique(said, [right]).f1


def test_a_question_is_judged_by_its_own_dataset() -> None:
    question = Question(HopTask("1", "Is it?", "hotpotqa"), "yes")
    assert judged("yes indeed", question).f1 == 0
    assert judged("yes indeed", Question(HopTask("1", "Is it?", "musique"), "yes")).f1 == pytest.approx(2 / 3)
    assert judged("FIFA", Question(HopTask("1", "Who?", "hotpotqa"), "Federation", ("FIFA",))) == (1, 1)


def test_evidence_counts_only_where_it_is_known() -> None:
    gold = [Paragraph("A", "one"), Paragraph("A", "two")]
    assert recall({gold[0]}, gold) == 0.5 and recall([*gold, Paragraph("B", "")], gold) == 1
    with pytest.raises(ValueError, match="annotated"):
        recall(gold, [])
