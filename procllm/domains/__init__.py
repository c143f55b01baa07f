"""Domains: documents, instances, tools, a checker and a network (C, D). The four of §5, and a reader's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from lab.machine.printing import hint
from procllm.files import paths
from procllm.network import Network, read


@dataclass(frozen=True)
class Instance:
    """One problem.

    id: stable, sorts in order. request: the text of files/request.txt. problem: typed data for the checker, which no
    agent sees. tools: name in the sandbox -> host folder that the solver may read.
    """

    id: str
    request: str
    problem: Any
    tools: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerVerdict:
    """The checker's verdict on an answer. parts: name -> whether it holds, in order. reason: the first fault.

    A part holds only if all parts before it hold, as in the columns of Table 1.
    """

    parts: Mapping[str, bool]
    reason: str = ""

    @property
    def solved(self) -> bool:
        """Whether every part holds."""
        return all(self.parts.values())


@dataclass(frozen=True)
class Domain:
    """The documents, instances, checker and networks of a domain.

    specification, tools_specification: texts of the documents; the latter is empty for a domain without tools.
    human: the hand-made network as JSON. llm: the network of appendix E with its tasks, order and files in our words,
    or "".
    printed_effects: head -> effect, where appendix D asks for more or less than `human` does.
    check(instance, answer text) -> AnswerVerdict; it uses no solver.
    instances(count, seed, **size) -> the first `count` instances of that seed. sized: the names of a size's numbers.
    solver: whether the agent has solver.py. rule: answers a request for the engine `rules`, in a reader's own domain;
    the domains of §5 have rules of their own.
    """

    name: str
    title: str
    specification: str
    human: str
    check: Callable[[Instance, str], AnswerVerdict]
    instances: Callable[..., list[Instance]]
    tools_specification: str = ""
    solver: bool = False
    sized: tuple[str, ...] = ()
    rule: Callable[[str], str] | None = None
    llm: str = ""
    printed_effects: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of this domain's workspace."""
        return paths(self.solver, bool(self.tools_specification))

    @cached_property
    def network(self) -> Network:
        """The hand-made network, validated. Raises BadNetwork."""
        return read(self.human, self.paths)


def cumulative(parts: Mapping[str, str]) -> AnswerVerdict:
    """A verdict from the fault of each part ("" if none); all parts after a failed one fail as well."""
    holds, reason = {}, ""
    for name, fault in parts.items():
        reason = reason or fault
        holds[name] = not reason
    return AnswerVerdict(holds, reason)


NAMES = ("travel", "recipes", "blocks", "units")
registered: dict[str, Domain] = {}  # readers' own, by name


def register(domain: Domain) -> Domain:
    """Register a reader's own domain by its name, replacing an earlier one of that name.

    Raises ValueError for the name of a domain of §5.
    Raises BadNetwork for an invalid network.
    """
    if domain.name in NAMES:
        raise ValueError(f"The name {domain.name!r} is one of the paper's domains, {', '.join(NAMES)}; choose another")
    _ = domain.network
    registered[domain.name] = domain
    return domain


def domain(name: str) -> Domain:
    """The domain with this name, one of NAMES or a registered one. Raises ValueError for any other name."""
    if name in registered:
        return registered[name]
    if name not in NAMES:
        known = (*NAMES, *registered)
        raise ValueError(
            f"No domain {name!r}{hint(name, known) or ';'} choose one of {', '.join(known)}, or give one of "
            "your own as Episodes(own=...) (docs/task-networks.md)"
        )
    return import_module(f"procllm.domains.{name}").DOMAIN
