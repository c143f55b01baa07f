"""Task networks: methods that decompose tasks, read from JSON, checked, and written back (paper §3, figure 1, D).

Two shapes are read. Appendix D: a method has `task`, `subtasks` with keys `subtask1`..., `effect` and `effect_files`.
Figure 1: the keys of subtasks are `1`..., and `name`, `verify` and `verify_files` stand for `task`, `effect` and
`effect_files`. Subtasks run in the order in which the numbers of their keys count up; so do those of all networks that
the paper prints, though its prompt for a model (E.3) asks for the reverse.
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
# Another spelling -> ours; figure 1 uses both within one network.
SPELLINGS = {"name": "task", "verify": "effect", "verify_files": "effect_files"}
KEYS = ("task", "subtasks", "effect", "effect_files")
# Far above any network that says how a task is done; a model may write any nonsense.
MOST_METHODS, MOST_TASKS = 200, 1000


class BadNetwork(ValueError):
    """A task network that cannot be used; the message names the method or task and what is wrong with it."""


@dataclass(frozen=True)
class Method:
    """How a task is done, and how one sees that it is done.

    head: the method's own name. task: what it decomposes. subtasks: in the order they run; empty for a task that is
    worked on as it is. effect: what holds once the task is done. files: paths of the files that show it.
    """

    head: str
    task: str
    effect: str
    files: tuple[str, ...]
    subtasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """A task as it is worked on: a method's, or one that no method matches and that is then primitive."""

    name: str
    effect: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Network:
    """Methods in order. The empty network is No-TN's (§5); `top` is the task it starts with."""

    methods: tuple[Method, ...]

    def find_first_relevant(self, task: str) -> Method | None:
        """The first method that matches the task's name, or None: the task is primitive (Algorithm 1, line 24)."""
        return next((method for method in self.methods if method.task == task), None)

    def task(self, name: str, files: Sequence[str] = ()) -> Task:
        """The task of that name. A primitive one has no effect of its own: its name says it, seen in `files`."""
        method = self.find_first_relevant(name)
        return Task(name, method.effect, method.files) if method else Task(name, f"done: {name}", tuple(files))

    def tree(self, task: str = TOP) -> Iterator[tuple[int, str]]:
        """Depth and name of each task that the top decomposes into, parents before their subtasks."""
        pending = [(0, task)]
        while pending:
            depth, name = pending.pop()
            yield depth, name
            method = self.find_first_relevant(name)
            pending += [(depth + 1, subtask) for subtask in reversed(method.subtasks)] if method else []

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Heads of methods that never come to use: nothing decomposes into their task, or an earlier one matches."""
        reached = {name for _, name in self.tree()}
        return tuple(
            method.head
            for method in self.methods
            if method.task not in reached or self.find_first_relevant(method.task) is not method
        )


def check(network: Network, known: Iterable[str] = ()) -> Network:
    """The network itself, if it can be used. known: the workspace's paths, where its files are to be checked too.

    Raises BadNetwork for a cycle, a missing task, effect or effect file, an unknown file, no method for the top task,
    a subtask that only a capital or a space keeps from its method, and a network of absurd size. Heads are unique
    already: `read` refuses a second one.
    """
    known = tuple(known)
    if len(network.methods) > MOST_METHODS:
        raise BadNetwork(f"The network has {len(network.methods)} methods; at most {MOST_METHODS} are read")
    for method in network.methods:
        for what, value in (("task", method.task), ("effect", method.effect), ("effect_files", method.files)):
            if not value:
                raise BadNetwork(f"Method {method.head!r} has no {what}; a method needs task, effect, effect_files")
        unknown = [file for file in method.files if known and file not in known]
        if unknown:
            raise BadNetwork(f"Method {method.head!r} is verified by {unknown[0]!r}; the files are {', '.join(known)}")
    _refuse_misspelt(network)
    if not network.find_first_relevant(TOP):
        raise BadNetwork(f"No method has the task {TOP!r}, with which every episode starts")
    # In this order: counting the tasks of a tree with a circle would never end.
    _refuse_cycle(network)
    _refuse_endless(network)
    return network


def _refuse_misspelt(network: Network) -> None:
    """A task that is nearly a method's would be primitive, and the method would silently never be used."""
    spelt = {" ".join(method.task.casefold().split()): method for method in network.methods}
    needed = [("The first task", TOP)]
    needed += [(f"Subtask of {method.head!r},", task) for method in network.methods for task in method.subtasks]
    for which, task in needed:
        near = spelt.get(" ".join(task.casefold().split()))
        if near and not network.find_first_relevant(task):
            raise BadNetwork(
                f"{which} {task!r} is not spelt as the task of {near.head!r}, {near.task!r}; make them alike"
            )


def _refuse_endless(network: Network) -> None:
    """Count the tasks of the tree without walking it: shared subtasks can double it at every level."""

    @cache
    def tasks_below(task: str) -> int:
        method = network.find_first_relevant(task)
        return 1 + sum(map(tasks_below, method.subtasks if method else ()))

    if tasks_below(TOP) > MOST_TASKS:
        raise BadNetwork(f"{TOP!r} decomposes into {tasks_below(TOP)} tasks; at most {MOST_TASKS} are worked off")


def _refuse_cycle(network: Network) -> None:
    """Walk down from every task; a task below itself would be decomposed for ever."""
    finished: set[str] = set()

    # Recursion is no deeper than there are methods, and MOST_METHODS was held against them before.
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
    """A network from JSON in either of the paper's shapes, checked. known: as in `check`; a file that is given by its
    last part alone (figure 1) is read as the one known path that ends so. Raises BadNetwork.
    """
    known = tuple(known)
    try:
        raw = json.loads(text, object_pairs_hook=_without_duplicates)
    except BadNetwork:
        raise
    except ValueError as error:  # a number of thousands of digits is one, too
        raise BadNetwork(f"The network is no JSON: {error}") from None
    except RecursionError:
        raise BadNetwork("The network is nested too deeply; a method holds texts and two flat objects") from None
    if not isinstance(raw, dict):
        raise BadNetwork("The network must be a JSON object with a method a key")
    return check(Network(tuple(_method(head, value, known) for head, value in raw.items())), known)


def write(network: Network, shape: str = "appendix") -> str:
    """The network as JSON, in the shape of "appendix" D or of "figure" 1. Reading it gives the same network."""
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
    heads = [name for name, _ in pairs]
    repeated = next((name for name in heads if heads.count(name) > 1), None)
    if repeated is not None:
        raise BadNetwork(f"{repeated!r} stands twice; the second would silently replace the first")
    return dict(pairs)


def _method(head: str, raw: Any, known: tuple[str, ...]) -> Method:
    if not isinstance(raw, dict):
        raise BadNetwork(f"Method {head!r} is no JSON object")
    named = [SPELLINGS.get(key, key) for key in cast(dict[str, Any], raw)]
    if wrong := [key for key, name in zip(raw, named, strict=True) if name not in KEYS]:
        raise BadNetwork(f"Method {head!r} has {wrong[0]!r}; a method has {', '.join(KEYS)}")
    if len(set(named)) < len(named):
        raise BadNetwork(f"Method {head!r} says the same thing under two names; keep one of each of {SPELLINGS}")
    plain: dict[str, Any] = dict(zip(named, raw.values(), strict=True))
    files = tuple(resolved(file, known) for file in _ordered(head, "effect_files", plain.get("effect_files", {})))
    subtasks = _ordered(head, "subtasks", plain.get("subtasks", {}))
    return Method(head, _text(head, plain, "task"), _text(head, plain, "effect"), files, subtasks)


def _text(head: str, raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if not isinstance(value, str):
        raise BadNetwork(f"Method {head!r}: {key} must be a text")
    return _one_line(head, key, value)


def _one_line(head: str, key: str, text: str) -> str:
    """The text, if it is a line of plain text: names and effects stand in prompts, where a second line would be read
    as the prompt's own.
    """
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text.strip()):
        raise BadNetwork(f"Method {head!r}: {key} must be one line of plain text")
    return text.strip()


def _ordered(head: str, key: str, raw: Any) -> tuple[str, ...]:
    """The values by the numbers at the end of their keys, so that subtask10 comes after subtask2."""
    if not isinstance(raw, dict) or not all(isinstance(value, str) for value in raw.values()):
        raise BadNetwork(f'Method {head!r}: {key} must be an object of texts, such as {{"subtask1": "..."}}')
    places: dict[str, int] = {}
    for name in raw:
        if not (number := re.search(r"(?<!\d)\d{1,6}$", name)):
            raise BadNetwork(f"Method {head!r}: {key} has the key {name!r}; keys end in the number of their place")
        places[name] = int(number[0])
    if len(set(places.values())) < len(places):
        raise BadNetwork(f"Method {head!r}: two keys of {key} have the same number")
    values = tuple(_one_line(head, key, raw[name]) for name in sorted(raw, key=places.__getitem__))
    if "" in values:
        raise BadNetwork(f"Method {head!r}: {key} holds an empty text")
    return values


def _numbered(pattern: str, values: Iterable[str]) -> dict[str, str]:
    return {pattern.format(number): value for number, value in enumerate(values, 1)}
