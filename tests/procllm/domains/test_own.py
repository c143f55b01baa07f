"""A reader's own domain that is answered in one go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.models.connect import connected
from procllm import play
from procllm.domains import NAMES, Domain, domain
from procllm.domains.own import in_one_go
from standins.procllm import agent


@pytest.mark.parametrize(("answer", "solved"), [(sum, True), (len, False)])
def test_it_is_asked_answered_verified_and_checked(
    answer: Callable[[list[int]], int], solved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "_own", dict(agent._own))

    def told(task: str) -> str:
        return f"Add up {task}."

    def numbers(request: str) -> list[int]:
        return [int(word) for word in request.removeprefix("Add up ").rstrip(".").split()]

    domain = in_one_go(
        "adder", "An adder adds numbers up.", "the sum", lambda n, seed: [f"{seed} 3 {i}" for i in range(5, 5 + n)],
        told, lambda task, written: "" if int(written) == sum(map(int, task.split())) else "another number",
    )  # fmt: skip
    agent.answering(domain, lambda request: str(answer(numbers(request))))
    instances = domain.instances(2, 4)
    assert [one.id for one in instances] == ["4 3 5", "4 3 6"]
    played = [play(domain, one, domain.network, connected("rules"), horizon=20) for one in instances]
    assert [one.success for one in played] == [solved, solved]


def repeating(name: str, about: str, answer: str) -> Domain:
    """A domain whose every request is answered by the same word."""
    domain = in_one_go(
        name, about, "the word", lambda n, seed: [f"{name}-{i}" for i in range(n)], lambda task: "Say it.",
        lambda task, written: "" if written == answer else "another word",
    )  # fmt: skip
    agent.answering(domain, lambda request: answer)
    return domain


def test_a_readers_domain_takes_no_other_domain_for_its_own_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "_own", {})
    for name in ("plan", "user", "e"):  # words of every specification
        repeating(name, f"This is about the word {name}.", name)
    for name in NAMES:
        skill = agent.skill_for([domain(name).specification])
        assert skill and skill.name == name
    blocks = domain("blocks")
    assert play(blocks, blocks.instances(1)[0], blocks.network, connected("rules")).success


def test_of_two_domains_with_nearly_one_specification_each_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "_own", {})
    about = "The user asks for a word. Write this word to answer.txt, in small letters and without a full stop: {}"
    domains = [repeating(name, about.format(name), name) for name in ("yes", "no")]
    for each in domains:
        assert play(each, each.instances(1)[0], each.network, connected("rules"), horizon=20).success
        skill = agent.skill_for([each.specification.replace("without a full stop", "with a stop")])  # noise, say
        assert skill and skill.name == each.name
    assert agent.skill_for(["Something else altogether."]) is None
