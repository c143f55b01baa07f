"""A reader's own domain that is answered in one go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.models.connect import connected
from procllm import play
from procllm.domains.own import in_one_go
from procllm.rules import agent


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
        lambda request: str(answer(numbers(request))),
    )  # fmt: skip
    instances = domain.instances(2, 4)
    assert [one.id for one in instances] == ["4 3 5", "4 3 6"]
    played = [play(domain, one, domain.network, connected("rules"), horizon=20) for one in instances]
    assert [one.success for one in played] == [solved, solved]
