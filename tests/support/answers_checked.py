"""A domain's checker beside a brute-force check written for a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from procllm.domains import Domain, Instance

Parts = tuple[bool, ...]


def assert_both_agree(
    domain: Domain,
    problems: Sequence[Instance],
    answered: Callable[[Instance, Random], str],
    brute_force: Callable[[Instance, str], Parts],
    least: int = 50,
) -> None:
    """On a thousand answers: at least 250 right, 250 wrong, and `least` that fail at each part first."""
    random, seen = Random(f"{domain.name} answers"), Counter[Parts]()
    for number in range(1000):
        instance = problems[number % len(problems)]
        answer = answered(instance, random)
        verdict = domain.check(instance, answer)
        parts = tuple(verdict.parts.values())
        assert parts == brute_force(instance, answer), (instance.request, answer)
        assert verdict.solved == (verdict.reason == "")
        seen[parts] += 1
    assert 250 <= seen[True, True, True] <= 750
    assert min(seen[False, False, False], seen[True, False, False], seen[True, True, False]) >= least, seen
