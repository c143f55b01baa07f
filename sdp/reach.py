"""What an operator can reach through references, and the watch that lets none reach the history (§3.1, locality)."""

from __future__ import annotations

import gc
import inspect
from collections import Counter
from collections.abc import Collection, Iterable
from types import FunctionType, ModuleType
from typing import Any

from sdp.loop import _Log
from sdp.trajectory import Attempt, Plan, Trajectory, Transition

# What each operator takes, by Definition 1 and `sdp.operators`.
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
BEYOND = ("replan", "finalize")  # they are given the trajectory
FAILURES = {"realize": 2, "validate": 2}  # which of their arguments are attempts that they may read
HISTORY = (Trajectory, Plan, Transition, _Log)


class Leak(AssertionError):
    """An operator could have read the history."""


def signatures(adapter: Any) -> None:
    """Raise Leak for an operator that takes anything but what READS says, each by position and without default."""
    for name, wanted in READS.items():
        parameters = inspect.signature(getattr(adapter, name)).parameters
        if list(parameters) != wanted or any(
            parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty
            for parameter in parameters.values()
        ):
            raise Leak(f"{name} takes ({', '.join(map(str, parameters.values()))}), not ({', '.join(wanted)})")


def reachable(roots: Iterable[Any], known: frozenset[int] = frozenset()) -> list[Any]:
    """Every object that code holding `roots` can reach through references; `known` ids are not looked into.

    Modules and classes are shared by all code, and so are a function's globals: of functions, only what they closed
    over and their defaults count.
    """
    queue, seen, found = list(roots), set(known), []
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, (ModuleType, type)):
            continue
        seen.add(id(thing))
        found.append(thing)
        if isinstance(thing, FunctionType):
            queue += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        else:
            queue += gc.get_referents(thing)
    return found


class Watched:
    """An adapter between the loop and another, which looks at what each operator could reach before it is called.

    known: ids of what held no history before the episode, such as a world's tables. calls: how often each was called;
    `start` and `act` are not watched.
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
    """Raise Leak where any history, or an attempt that is not among the allowed ids, can be reached from the roots."""
    for thing in reachable(roots, known):
        if isinstance(thing, HISTORY) or (isinstance(thing, Attempt) and id(thing) not in allowed):
            raise Leak(f"{name} can reach a {type(thing).__name__}")
