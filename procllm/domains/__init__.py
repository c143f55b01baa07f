"""What a domain is, the four of §5, and a reader's own: documents, instances, tools, a checker, a network (C, D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from procllm.files import paths
from procllm.network import Network, read


@dataclass(frozen=True)
class Instance:
    """One problem. id: stable, sorts in order. request: what the agent reads in files/request.txt. problem: typed, what
    the checker reads and no agent sees. tools: name in the sandbox -> host folder that the solver sees read-only.
    """

    id: str
    request: str
    problem: Any
    tools: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerVerdict:
    """What the checker says of an answer. parts: what had to hold, in order and cumulative; reason: the first fault.

    A part holds only if all before it hold, as in the columns of Table 1.
    """

    parts: Mapping[str, bool]
    reason: str = ""

    @property
    def solved(self) -> bool:
        """Whether every part holds."""
        return all(self.parts.values())


@dataclass(frozen=True)
class Domain:
    """A domain's documents and checks.

    specification, tools_specification: texts of the documents; the latter is empty where there are no tools.
    human: the hand-made network as JSON. llm: that of appendix E, its tasks, order and files in our words, or "".
    printed_effects: head -> effect, where appendix D asks for more or less than `human` does.
    check(instance, answer text) -> AnswerVerdict; it knows no solver.
    instances(count, seed, **size) -> the first `count` instances of that seed. sized: what the numbers of a size are
    called. solver: whether solver.py is there. rule: what answers a request where no model does, of a reader's own
    domain; rules play those of §5 by what they know of them.
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
        """The hand-made network, checked. Raises BadNetwork."""
        return read(self.human, self.paths)


def cumulative(parts: Mapping[str, str]) -> AnswerVerdict:
    """A verdict from what is wrong with each part ("" if nothing); what comes after a failed part fails as well."""
    held, reason = {}, ""
    for name, fault in parts.items():
        reason = reason or fault
        held[name] = not reason
    return AnswerVerdict(held, reason)


NAMES = ("travel", "recipes", "blocks", "units")
registered: dict[str, Domain] = {}  # readers' own, by name


def register(domain: Domain) -> Domain:
    """Make a reader's own domain known by its name, in the place of the one that had it.

    Raises ValueError for the name of a domain of §5, and BadNetwork for a network that cannot be used.
    """
    if domain.name in NAMES:
        raise ValueError(f"The name {domain.name!r} is one of the paper's domains, {', '.join(NAMES)}; choose another")
    _ = domain.network
    registered[domain.name] = domain
    return domain


def domain(name: str) -> Domain:
    """The domain of that name, one of NAMES or one that was registered. Raises ValueError for another."""
    if name in registered:
        return registered[name]
    if name not in NAMES:
        raise ValueError(
            f"No domain {name!r}; choose one of {', '.join((*NAMES, *registered))}, or give one of your own as "
            "Episodes(own=...) (docs/task-networks.md)"
        )
    return import_module(f"procllm.domains.{name}").DOMAIN
