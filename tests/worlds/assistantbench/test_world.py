"""AssistantBench as a world: synthetic questions over the synthetic web, official ones with a key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.machine.faults import DamagedData, MissingData, Unavailable
from worlds.assistantbench import AssistantBench, WebTask, load, official
from worlds.assistantbench.expert import Expert
from worlds.assistantbench.official import write_submission
from worlds.assistantbench.scorer import gold_of
from worlds.base import EpisodeOver, NoSolution
from worlds.web.site import Site

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / official.NAME
needs_data = pytest.mark.skipif(not official.present(DATA), reason="LAB_DATA names no data of AssistantBench")


@pytest.fixture(scope="module")
def world() -> Iterator[AssistantBench]:
    with load("synthetic") as made:
        yield made


@pytest.mark.parametrize("split", ["writing", "reporting"])
def test_the_expert_reads_all_evidence_and_answers_with_full_score(world: AssistantBench, split: str) -> None:
    expert = Expert(world)
    for task in world.tasks(split)[:30]:
        last = world.replay(task, expert.actions(task))[-1]
        assert last.done and last.score == 1 and last.facts["evidence_read"] == 1


def test_a_question_is_searched_for_read_and_answered(world: AssistantBench) -> None:
    task = world.tasks("writing")[0]
    step = world.reset(task)
    assert task.goal in step.text and step.score == 0 and step.actions == (f"search {task.goal}",)
    found = world.step(step.actions[0])
    assert [hit.url for hit in found.facts["hits"]] == [line[2:] for line in found.text.splitlines()[2::3]]
    scrape = next(action for action in found.actions if action.startswith("scrape http://guide.example/lists"))
    page = world.step(scrape)
    assert page.facts["page"].text and scrape not in page.actions
    last = world.step("Answer: something else")
    assert last.done and last.score < 1 and last.facts["answer"] == "something else"
    assert "accuracy" not in page.facts
    with pytest.raises(EpisodeOver):
        world.step("search more")


def test_what_a_page_says_is_quoted_line_by_line(world: AssistantBench) -> None:
    assert isinstance(world.web, Site)
    for lure, resource in world.web.lures.items():
        step = world.replay(world.tasks("writing")[0], [f"scrape {resource.url}"])[-1]
        own = [line for line in step.text.splitlines() if not line.startswith("> ")]
        assert own == [f"{resource.url} says:"] and lure in step.text


def test_a_page_that_cannot_be_read_and_an_unknown_action_are_answered_in_words(world: AssistantBench) -> None:
    task = world.tasks("reporting")[0]
    replies = world.replay(task, ["scrape http://10.0.0.1/", "search xylophone", "click 3", "answer", "search"])
    said = [step.text for step in replies]
    assert "could not be read: 10.0.0.1 is a private address" in said[1]
    assert said[2].startswith("Nothing was found")
    assert all("nothing that can be done here" in text for text in said[3:])
    assert not any(step.done for step in replies)


def test_an_answer_that_the_official_scorer_cannot_take_says_so(world: AssistantBench) -> None:
    numbers = (task for task in world.tasks("writing") if str(world.hidden(task).answer).isdigit())
    last = world.replay(next(numbers), ["answer [5]"])[-1]
    assert last.score == 0 and last.facts["has_answer"] == 1 and "hand in a number" in last.facts["unscorable"]


def test_a_task_shows_no_answer_and_belongs_to_its_world(world: AssistantBench) -> None:
    with pytest.raises(LookupError, match="is not of this world"):
        world.reset(WebTask("made_web_writing_0_00000", "Another question?"))
    other = world.apart()
    other.reset(other.tasks("writing")[1])
    assert other.web is world.web


@needs_data
@pytest.mark.official
def test_official_questions_are_answered_by_their_gold_answers_and_the_test_split_has_none() -> None:
    with load("official") as world:
        expert = Expert(world)
        assert all(world.replay(task, expert.actions(task))[-1].score == 1 for task in world.tasks("dev"))
        hidden = world.tasks("test")[0]
        last = world.replay(hidden, ["answer anything"])[-1]
        assert last.done and last.score == 0 and last.facts["accuracy"] is None
        with pytest.raises(NoSolution):
            expert.actions(hidden)
        world.reset(hidden)
        with pytest.raises(Unavailable, match="SERPER_API_KEY"):
            world.step("search anything")


@needs_data
@pytest.mark.official
def test_official_questions_are_taken_where_they_can_be_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().data == "synthetic"
    monkeypatch.setenv("SERPER_API_KEY", "a-key-that-nobody-has")
    assert load().data == "official"


@needs_data
@pytest.mark.official
def test_the_questions_are_all_there_and_their_answers_of_the_known_kinds() -> None:
    dev, test = official.questions(DATA, "dev"), official.questions(DATA, "test")
    assert (len(dev), len(test)) == (33, 181)
    assert len({one.task.id for one in dev + test}) == 214
    kinds = [gold_of(str(one.answer))[1] for one in dev]
    assert {kind: kinds.count(kind) for kind in kinds} == {"string": 17, "number": 9, "string list": 5, "json": 2}
    assert {one.answer for one in test} == {None}


def test_questions_that_are_not_there_or_damaged_are_named(tmp_path: Path) -> None:
    assert not official.present(tmp_path)
    with pytest.raises(MissingData, match="LAB_DATA"):
        official.questions(tmp_path, "dev")
    for damaged in ('{"id": 1, "task": "Which?"}', "[]", "{", "\udcff"):
        (tmp_path / "dev33.jsonl").write_bytes(damaged.encode("utf-8", "surrogateescape"))
        with pytest.raises(DamagedData, match="dev33.jsonl .*Restore it"):
            official.questions(tmp_path, "dev")


def test_a_submission_has_a_line_for_each_task_in_the_official_order(tmp_path: Path) -> None:
    tasks, path = [WebTask(id, "?") for id in "cab"], tmp_path / "predictions.jsonl"
    assert write_submission(path, {"a": '["x", "ü"]', "b": ""}, tasks) == 1
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [{"id": "c", "answer": ""}, {"id": "a", "answer": '["x", "ü"]'}, {"id": "b", "answer": ""}]
    with pytest.raises(ValueError, match="none with the id 'd'"):
        write_submission(path, {"d": "x"}, tasks)
