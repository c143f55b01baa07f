"""What an operator can reach through references, and a check that none can reach the history (§3.1, locality)."""

from __future__ import annotations

import gc
import inspect
from collections import Counter
from collections.abc import Collection, Iterable
from types import FunctionType, ModuleType
from typing import Any

from sdp.loop import _Log
from sdp.trajectory import Attempt, Plan, Trajectory, Transition

# The arguments of each operator, by Definition 1 and `sdp.operators`.
READS = {
    "start": [],
    "propose": ["state", "goal", "planned"],
    "view": [],
    "realize": ["state", "target", "failures", "view"],
    "act": ["action"],
    "ended": ["observation"],
    "validate": ["tail", "observation", "failures"],
    "advance": ["state", "certified", "observation"],
    "replan": ["state", "goal", "trajectory", "view"],
    "finalize": ["state", "goal", "trajectory", "view"],
}
BEYOND = ("replan", "finalize")  # operators that are given the trajectory
FAILURES = {"realize": 2, "validate": 2}  # the position of the argument with the attempts that the operator may read
HISTORY = (Trajectory, Plan, Transition, _Log)


class Leak(AssertionError):
    """An operator could have read the history."""


def signatures(adapter: Any) -> None:
    """Raise Leak for an operator whose arguments differ from READS, are not positional, or have defaults."""
    for name, expected in READS.items():
        parameters = inspect.signature(getattr(adapter, name)).parameters
        if list(parameters) != expected or any(
            parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty
            for parameter in parameters.values()
        ):
            raise Leak(f"{name} takes ({', '.join(map(str, parameters.values()))}), not ({', '.join(expected)})")


def reachable(roots: Iterable[Any], known: frozenset[int] = frozenset()) -> list[Any]:
    """Every object that code holding `roots` can reach through references; objects with `known` ids are not searched.

    Modules, classes and a function's globals are shared by all code: of a function, only its closure and its defaults
    count.
    """
    queue, seen, objects = list(roots), set(known), []
    while queue:
        item = queue.pop()
        if id(item) in seen or isinstance(item, (ModuleType, type)):
            continue
        seen.add(id(item))
        objects.append(item)
        if isinstance(item, FunctionType):
            queue += [item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__]
        else:
            queue += gc.get_referents(item)
    return objects


class Watched:
    """A wrapper between the loop and an adapter that checks what each operator could reach before it is called.

    known: ids of objects that held no history before the episode, such as a world's tables. calls: number of calls per
    operator; `start` and `act` are not checked.
    """

    def __init__(self, inner: Any, known: frozenset[int] = frozenset()) -> None:
        self.inner, self.known, self.calls = inner, known, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        operator = getattr(self.inner, name)
        if name not in READS or name in ("start", "act"):
            return operator

        def watched(*arguments: Any) -> Any:
            self.calls[name] += 1
            if name not in BEYOND:
                allowed = {id(attempt) for attempt in (arguments[FAILURES[name]] if name in FAILURES else ())}
                refuse(name, [operator, *arguments], self.known, allowed)
            return operator(*arguments)

        return watched


def refuse(name: str, roots: Iterable[Any], known: frozenset[int], allowed: Collection[int] = ()) -> None:
    """Raise Leak if the roots can reach any history, or an attempt that is not among the allowed ids."""
    for item in reachable(roots, known):
        if isinstance(item, HISTORY) or (isinstance(item, Attempt) and id(item) not in allowed):
            raise Leak(f"{name} can reach a {type(item).__name__}")
