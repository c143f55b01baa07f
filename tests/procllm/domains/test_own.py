"""A reader's own domain that is answered in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lab.models.connect import connected
from lab.runs.experiment import BadSetting
from procllm import domains, play
from procllm.conditions import HUMAN, LLM, NONE, PLACEBO
from procllm.domains import NAMES, Domain, domain, register
from procllm.domains.own import in_advance, in_one_go
from procllm.experiments.episodes import _text_of
from procllm.network import BadNetwork, write
from procllm.studies.conditions import of_own
from standins.procllm import agent
from worlds.base import PlainTask, Step, World
from worlds.benchmark import Benchmark


@pytest.mark.parametrize(("answer", "solved"), [(sum, True), (len, False)])
def test_it_is_asked_answered_verified_and_checked(
    answer: Callable[[list[int]], int], solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "registered", {})

    def told(task: str) -> str:
        return f"Add up {task}."

    def numbers(request: str) -> list[int]:
        return [int(word) for word in request.removeprefix("Add up ").rstrip(".").split()]

    domain = in_one_go(
        "adder", "An adder adds numbers up.", "the sum", lambda n, seed: [f"{seed} 3 {i}" for i in range(5, 5 + n)],
        told, lambda task, written: "" if int(written) == sum(map(int, task.split())) else "another number",
        lambda request: str(answer(numbers(request))),
    )  # fmt: skip
    instances = domain.instances(2, 4)
    assert [one.id for one in instances] == ["4 3 5", "4 3 6"]
    played = [play(domain, one, domain.network, connected("rules"), horizon=20) for one in instances]
    assert [one.success for one in played] == [solved, solved]


def repeating(name: str, about: str, answer: str) -> Domain:
    """A domain whose every request is answered by the same word."""
    domain = in_one_go(
        name, about, "the word", lambda n, seed: [f"{name}-{i}" for i in range(n)], lambda task: "Say it.",
        lambda task, written: "" if written == answer else "another word", lambda request: answer,
    )  # fmt: skip
    return register(domain)


def test_a_readers_domain_takes_no_other_domain_for_its_own_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "registered", {})
    for name in ("plan", "user", "e"):  # words of every specification
        repeating(name, f"This is about the word {name}.", name)
    for name in NAMES:
        rules = agent.rules_for([domain(name).specification])
        assert rules and rules.name == name
    blocks = domain("blocks")
    assert play(blocks, blocks.instances(1)[0], blocks.network, connected("rules")).success


def test_of_two_domains_with_nearly_one_specification_each_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "registered", {})
    about = "The user asks for a word. Write this word to answer.txt, in small letters and without a full stop: {}"
    own = [repeating(name, about.format(name), name) for name in ("yes", "no")]
    for each in own:
        assert play(each, each.instances(1)[0], each.network, connected("rules"), horizon=20).success
        rules = agent.rules_for([each.specification.replace("without a full stop", "with a stop")])  # noise, say
        assert rules and rules.name == each.name
    assert agent.rules_for(["Something else altogether."]) is None


@pytest.mark.slow
def test_a_study_of_it_has_the_conditions_of_the_papers_and_an_edited_domain_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "registered", {})
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    word = repeating("word", "This is about one word.", "word")
    study = of_own("own-word", word)
    results = study.run(engine="rules@0.7", limit=6, workers=1)
    rows = results.frame().set_index(["method", "metric"])
    assert {method for method, _ in rows.index} == {HUMAN, PLACEBO, NONE}
    for (_, metric), row in rows.iterrows():
        assert row["ci_low"] <= row["value"] <= row["ci_high"] and row["n"] == 6, metric
    assert {*results.compare()["method"]} == {HUMAN, PLACEBO}

    def inputs(of: Domain) -> Any:
        return of_own("own-word", of).trial(limit=2).resolved().parameters()["inputs"]

    assert inputs(word) == inputs(replace(word)) != inputs(replace(word, specification="Of another word."))
    shorter = replace(word.network, methods=(replace(word.network.methods[0], subtasks=()),))
    assert inputs(replace(word, human=write(shorter))) != inputs(word)
    with pytest.raises(BadSetting, match="has no network of Word; name a model as `maker`"):
        study.run(engine="rules", conditions=[LLM], limit=1)
    with pytest.raises(BadSetting, match=r"sizes: \[3\]: a size of Word is no numbers"):
        study.run(engine="rules", options={"sizes": [[3]]}, limit=1)


def test_a_domain_that_cannot_be_used_is_refused_when_a_study_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "registered", {})
    word = repeating("word", "This is about one word.", "word")
    with pytest.raises(ValueError, match="'blocks' is one of the paper's domains"):
        of_own("own", replace(word, name="blocks"))
    with pytest.raises(BadNetwork, match="No method has the task"):
        of_own("own", replace(word, human="{}"))
    with pytest.raises(ValueError, match="No domain 'wrod'; did you mean 'word'\\? choose one of travel, .*, word"):
        domain("wrod")


class Stairs(World):
    """`up` climbs a stair; the task says how many there are."""

    def tasks(self, split: str) -> list[PlainTask]:
        return [PlainTask(f"stairs-{count}", f"Climb {count} stairs.", count) for count in (2, 3, 4)]

    def reset(self, task: Any) -> Step:
        self.left = task.about
        return Step(f"{self.left} stairs are left.")

    def step(self, action: str) -> Step:
        assert self.left, "nothing is done after the end"
        self.left -= action == "up"
        return Step(f"{self.left} stairs are left.", float(not self.left), not self.left)


@dataclass(frozen=True, kw_only=True)
class Climbs(Benchmark):
    benchmark = "climbs"
    steep: bool = False

    def opened(self) -> Stairs:
        return Stairs()


@pytest.mark.parametrize(("more", "reason"), [(0, ""), (3, ""), (-1, "the plan ends with a score of 0.00: 1 stairs")])
def test_a_plan_that_is_written_in_advance_is_played_by_the_world_until_it_ends(
    more: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "registered", {})

    def plan(request: str) -> str:
        return "\n\n".join(["up "] * (int(request.split()[0]) + more))

    climbs = in_advance(Climbs(), "Stairs are climbed by: up.", lambda task: Climbs().begun(task).now.text, plan)
    instances = climbs.instances(2, 0)
    assert [each.request for each in instances] == ["2 stairs are left.", "3 stairs are left."]
    for instance in instances:
        assert climbs.check(instance, plan(instance.request)).reason.startswith(reason)
        assert play(climbs, instance, climbs.network, connected("rules"), horizon=20).success == (not reason)


def test_another_world_or_another_setting_of_it_is_another_run() -> None:
    def inputs(of: Benchmark) -> Any:
        return _text_of(in_advance(of, "Stairs.", str, str))

    assert inputs(Climbs()) == inputs(Climbs()) != inputs(Climbs(steep=True))
