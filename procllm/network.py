"""Task networks: read them from JSON, validate them and write them back (paper §3, figure 1, D).

A method decomposes a task into subtasks. Two JSON formats are read. Appendix D: a method has `task`, `subtasks` with
the keys `subtask1`..., `effect` and `effect_files`. Figure 1: subtasks have the keys `1`..., and `name`, `verify` and
`verify_files` replace `task`, `effect` and `effect_files`. Subtasks run in ascending order of the numbers in their
keys, as in all networks that the paper prints, although its prompt for a model (E.3) asks for the reverse.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from procllm.files import resolved

TOP = "process user request"  # the task that every episode starts with (§4)
# Figure 1's key -> appendix D's; figure 1 mixes both in one network.
SPELLINGS = {"name": "task", "verify": "effect", "verify_files": "effect_files"}
KEYS = ("task", "subtasks", "effect", "effect_files")
# Limits far above any sensible network: a model may write nonsense of any size.
MOST_METHODS, MOST_TASKS = 200, 1000


class BadNetwork(ValueError):
    """An invalid task network; the message names the method or task and its fault."""


@dataclass(frozen=True)
class Method:
    """How to do a task, and how to verify that it is done.

    head: the method's own name. task: the task that it decomposes. subtasks: in the order in which they run; empty if
    the task is worked on directly. effect: what holds once the task is done. files: paths of the files that show the
    effect.
    """

    head: str
    task: str
    effect: str
    files: tuple[str, ...]
    subtasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A task to work on: a method's task, or a primitive task, which no method matches."""

    name: str
    effect: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Network:
    """A sequence of methods. An episode starts with the task `TOP`. The paper's No-TN has no methods (§5)."""

    methods: tuple[Method, ...]

    def find_first_relevant(self, task: str) -> Method | None:
        """The first method that matches the task's name; None if the task is primitive (Algorithm 1, line 24)."""
        return next((method for method in self.methods if method.task == task), None)

    def task(self, name: str, files: Sequence[str] = ()) -> Task:
        """The task with this name. A primitive task states no effect, so "done: NAME" has to hold in `files`."""
        method = self.find_first_relevant(name)
        return Task(name, method.effect, method.files) if method else Task(name, f"done: {name}", tuple(files))

    def tree(self, task: str = TOP) -> Iterator[tuple[int, str]]:
        """Depth and name of each task in the decomposition tree of `task`, parents before their subtasks."""
        pending = [(0, task)]
        while pending:
            depth, name = pending.pop()
            yield depth, name
            method = self.find_first_relevant(name)
            pending += [(depth + 1, subtask) for subtask in reversed(method.subtasks)] if method else []

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Heads of methods that are never used: no task decomposes into their task, or an earlier method matches it."""
        reached = {name for _, name in self.tree()}
        return tuple(
            method.head
            for method in self.methods
            if method.task not in reached or self.find_first_relevant(method.task) is not method
        )


def check(network: Network, known: Iterable[str] = ()) -> Network:
    """Validate a network and return it. known: the workspace's paths; if given, effect files must be among them.

    Raises BadNetwork for a cycle, a missing task, effect or effect file, an unknown file, no method for the top task, a
    subtask that differs from a method's task only in case or spaces, and a network above the size limits. `read` has
    rejected duplicate heads.
    """
    known = tuple(known)
    if len(network.methods) > MOST_METHODS:
        raise BadNetwork(f"The network has {len(network.methods)} methods; at most {MOST_METHODS} are read")
    for method in network.methods:
        for key, value in (("task", method.task), ("effect", method.effect), ("effect_files", method.files)):
            if not value:
                raise BadNetwork(f"Method {method.head!r} has no {key}; a method needs task, effect, effect_files")
        unknown = [file for file in method.files if known and file not in known]
        if unknown:
            raise BadNetwork(f"Method {method.head!r} is verified by {unknown[0]!r}; the files are {', '.join(known)}")
    _refuse_misspelt(network)
    if not network.find_first_relevant(TOP):
        raise BadNetwork(f"No method has the task {TOP!r}, with which every episode starts")
    # Cycles first: counting the tasks of a cyclic tree would never end.
    _refuse_cycle(network)
    _refuse_endless(network)
    return network


def _refuse_misspelt(network: Network) -> None:
    """Reject a task spelt almost like a method's: it would be primitive, and the method silently never be used."""
    by_spelling = {" ".join(method.task.casefold().split()): method for method in network.methods}
    needed = [("The first task", TOP)]
    needed += [(f"Subtask of {method.head!r},", task) for method in network.methods for task in method.subtasks]
    for subject, task in needed:
        similar = by_spelling.get(" ".join(task.casefold().split()))
        if similar and not network.find_first_relevant(task):
            raise BadNetwork(
                f"{subject} {task!r} is not spelt as the task of {similar.head!r}, {similar.task!r}; make them alike"
            )


def _refuse_endless(network: Network) -> None:
    """Count the tasks without walking the tree, since shared subtasks can double it at every level; reject too many."""

    @cache
    def tasks_below(task: str) -> int:
        method = network.find_first_relevant(task)
        return 1 + sum(map(tasks_below, method.subtasks if method else ()))

    if tasks_below(TOP) > MOST_TASKS:
        raise BadNetwork(f"{TOP!r} decomposes into {tasks_below(TOP)} tasks; at most {MOST_TASKS} are worked off")


def _refuse_cycle(network: Network) -> None:
    """Reject a task that is its own descendant: it would be decomposed forever. Searches from every task."""
    finished: set[str] = set()

    # The recursion is at most as deep as there are methods, and `check` has limited these to MOST_METHODS.
    def descend(task: str, above: tuple[str, ...]) -> None:
        if task in above:
            raise BadNetwork(f"Tasks decompose in a circle: {' -> '.join((*above[above.index(task) :], task))}")
        method = network.find_first_relevant(task)
        for subtask in method.subtasks if method and task not in finished else ():
            descend(subtask, (*above, task))
        finished.add(task)

    for method in network.methods:
        descend(method.task, ())


def read(text: str, known: Iterable[str] = ()) -> Network:
    """Read and validate a network from JSON in either of the paper's formats. Raises BadNetwork.

    known: as in `check`; a bare file name (figure 1) stands for the one known path that ends in it.
    """
    known = tuple(known)
    try:
        raw = json.loads(text, object_pairs_hook=_without_duplicates)
    except BadNetwork:
        raise
    except ValueError as error:  # also raised for a number of thousands of digits
        raise BadNetwork(f"The network is no JSON: {error}") from None
    except RecursionError:
        raise BadNetwork("The network is nested too deeply; a method holds texts and two flat objects") from None
    if not isinstance(raw, dict):
        raise BadNetwork("The network must be a JSON object with one method per key")
    return check(Network(tuple(_method(head, value, known) for head, value in raw.items())), known)


def write(network: Network, shape: str = "appendix") -> str:
    """The network as JSON, in the format of "appendix" D or of "figure" 1. `read` returns the same network from it."""
    effect, files, number = {
        "appendix": ("effect", "effect_files", "subtask{}"),
        "figure": ("verify", "verify_files", "{}"),
    }[shape]
    raw = {
        method.head: {"task": method.task}
        | ({"subtasks": _numbered(number, method.subtasks)} if method.subtasks else {})
        | {effect: method.effect, files: _numbered("file{}", method.files)}
        for method in network.methods
    }
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise BadNetwork(f"{repeated!r} occurs twice; the second would silently replace the first")
    return dict(pairs)


def _method(head: str, raw: Any, known: tuple[str, ...]) -> Method:
    if not isinstance(raw, dict):
        raise BadNetwork(f"Method {head!r} is no JSON object")
    canonical = [SPELLINGS.get(key, key) for key in cast(dict[str, Any], raw)]
    if wrong := [key for key, name in zip(raw, canonical, strict=True) if name not in KEYS]:
        raise BadNetwork(f"Method {head!r} has {wrong[0]!r}; a method has {', '.join(KEYS)}")
    if len(set(canonical)) < len(canonical):
        raise BadNetwork(f"Method {head!r} says the same thing under two names; keep one of each of {SPELLINGS}")
    entries: dict[str, Any] = dict(zip(canonical, raw.values(), strict=True))
    files = tuple(resolved(file, known) for file in _ordered(head, "effect_files", entries.get("effect_files", {})))
    subtasks = _ordered(head, "subtasks", entries.get("subtasks", {}))
    return Method(head, _text(head, entries, "task"), _text(head, entries, "effect"), files, subtasks)


def _text(head: str, raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise BadNetwork(f"Method {head!r}: {key} must be a text")
    return _one_line(head, key, value)


def _one_line(head: str, key: str, text: str) -> str:
    """The stripped text. Raises BadNetwork unless it is one line of plain text.

    Names and effects are inserted into prompts, where a second line would look like a part of the prompt.
    """
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text.strip()):
        raise BadNetwork(f"Method {head!r}: {key} must be one line of plain text")
    return text.strip()


def _ordered(head: str, key: str, raw: Any) -> tuple[str, ...]:
    """The values in order of the number at the end of their keys, so that subtask10 comes after subtask2."""
    if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
        raise BadNetwork(f'Method {head!r}: {key} must be an object of texts, such as {{"subtask1": "..."}}')
    numbers: dict[str, int] = {}
    for name in raw:
        if not (digits := re.search(r"(?<!\d)\d{1,6}$", name)):
            raise BadNetwork(f"Method {head!r}: {key} has the key {name!r}; keys end in the number of their place")
        numbers[name] = int(digits[0])
    if len(set(numbers.values())) < len(numbers):
        raise BadNetwork(f"Method {head!r}: two keys of {key} have the same number")
    values = tuple(_one_line(head, key, raw[name]) for name in sorted(raw, key=numbers.__getitem__))
    if "" in values:
        raise BadNetwork(f"Method {head!r}: {key} holds an empty text")
    return values


def _numbered(pattern: str, values: Iterable[str]) -> dict[str, str]:
    return {pattern.format(number): value for number, value in enumerate(values, 1)}
