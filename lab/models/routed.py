"""Routing by operator: one backbone for all operators but those that have another (SDP, §6: operator replacement)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.models import engines
from lab.models.backbone import Answer, Backbone
from lab.models.prompts import Prompt


class Routed:
    """A backbone that has each prompt answered by the backbone of its operator, in any case; by `rest` without one.

    engine: of all of them, for labels and evidence. address: for manifests, with the parts that differ. tasks: those
    that every recording among them holds.
    """

    def __init__(self, rest: Backbone, others: Mapping[str, Backbone]) -> None:
        self.rest, self.others = rest, {operator.lower(): other for operator, other in others.items()}
        # Of a recording's own parts, the one that answers this operator.
        self.engine = rest.engine.with_others({name: other.engine.of(name) for name, other in self.others.items()})
        whole, parts = engines.split(address_of(rest))
        parts |= {name: engines.said_of(address_of(other), name) for name, other in self.others.items()}
        self.address = engines.joined(whole, {name: part for name, part in parts.items() if part != whole})
        held = [set(tasks) for each in (rest, *others.values()) if (tasks := getattr(each, "tasks", ()))]
        self.tasks = sorted(set.intersection(*held)) if held else []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises what the operator's own backbone raises."""
        return self._of(prompt).ask(prompt, sample=sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash of the operator's own backbone."""
        return self._of(prompt).request(prompt, sample=sample, **fields)

    def try_out(self) -> None:
        """Try every server among the backbones. Raises EndpointUnavailable."""
        for each in (self.rest, *self.others.values()):
            if hasattr(each, "try_out"):
                each.try_out()

    @property
    def served(self) -> list[dict[str, Any]]:
        """What is known of every server among the backbones."""
        return [record for each in (self.rest, *self.others.values()) for record in getattr(each, "served", [])]

    def _of(self, prompt: Prompt) -> Backbone:
        return self.others.get(prompt.operator.lower(), self.rest)


def address_of(backbone: Backbone) -> str:
    """Where the answers come from, for a manifest: an endpoint's address, a local model's hash, else "rules"."""
    return getattr(backbone, "address", "rules")
