"""A reader's own domain whose answer is written in one step: requests, a check, and a network for them.

`in_one_go` takes functions. `in_advance` takes a world: the answer is a plan, which the world then plays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from procllm.domains import AnswerVerdict, Domain, Instance, cumulative
from procllm.files import ANSWER, NOTES, REQUEST, SPECIFICATION
from procllm.network import Method, Network, write
from worlds.benchmark import Benchmark

NOTE = "take notes on user request"
READS = (ANSWER, REQUEST, SPECIFICATION)


def in_one_go(
    name: str,
    about: str,
    goal: str,
    tasks: Callable[[int, int], Sequence[str]],
    request: Callable[[str], str],
    fault: Callable[[str, str], str],
    rule: Callable[[str], str] | None = None,
) -> Domain:
    """The domain, with a network of three methods: take notes, write the answer, and the top task that verifies it.

    about: the problem specification. goal: required content of answer.txt. tasks(count, seed): ids of the tasks.
    request(task): the request that the agent reads. fault(task, answer): what is wrong with the answer, "" if nothing.
    rule: answers a request, for the engine `rules`.
    """
    work = f"write what {goal}"
    methods = (
        Method("m-top", "process user request", f"{ANSWER} holds {goal}", READS, (NOTE, work)),
        Method("m-note", NOTE, "the notes say what the user's request says", (NOTES, REQUEST)),
        Method("m-write", work, f"{ANSWER} holds {goal}", READS),
    )

    def instances(count: int, seed: int = 0) -> list[Instance]:
        return [Instance(task, request(task), task) for task in tasks(count, seed)]

    def check(instance: Instance, written: str) -> AnswerVerdict:
        return cumulative({"right": fault(instance.id, written)})

    return Domain(name, name.capitalize(), about, write(Network(methods)), check, instances, rule=rule)


def in_advance(
    benchmark: Benchmark, about: str, request: Callable[[str], str], rule: Callable[[str], str] | None = None
) -> Domain:
    """A domain of a benchmark's tasks: the agent writes all actions before the first one, a line each.

    An answer is right if the world, which plays its actions until it ends, comes to full score. about, request, rule:
    as for `in_one_go`.
    """

    def tasks(count: int, seed: int) -> Sequence[str]:
        return replace(benchmark, limit=count, seed=seed).tasks()

    def fault(task: str, written: str) -> str:
        world = benchmark.opened()
        step = world.reset(benchmark.named(task))
        for action in filter(None, map(str.strip, written.splitlines())):
            if step.done:
                break
            step = world.step(action)
        return "" if step.score >= 1 else f"the plan ends with a score of {step.score:.2f}: {step.text}"

    goal = "the actions that solve the task, one a line"
    return in_one_go(benchmark.benchmark, about, goal, tasks, request, fault, rule)
