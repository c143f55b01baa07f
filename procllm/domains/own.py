"""A reader's own domain whose answer is written in one step: requests, a check, and a network for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from procllm.domains import AnswerVerdict, Domain, Instance, cumulative
from procllm.files import ANSWER, NOTES, REQUEST, SPECIFICATION
from procllm.network import Method, Network, write

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

    about: the problem specification. goal: what answer.txt has to hold, in words. tasks(count, seed): ids of the tasks.
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
