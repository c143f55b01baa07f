"""The four domains of §5, a package each: documents, instances, tools, checker, hand-made network and rules."""

from __future__ import annotations

from importlib import import_module

from procllm.domains.base import AnswerVerdict, Domain, Instance

__all__ = ["NAMES", "Domain", "AnswerVerdict", "Instance", "domain"]

NAMES = ("travel", "recipes", "blocks", "units")


def domain(name: str) -> Domain:
    """The domain of that name, one of NAMES. Raises ValueError for another."""
    if name not in NAMES:
        raise ValueError(f"No domain {name!r}; choose one of {', '.join(NAMES)}")
    return import_module(f"procllm.domains.{name}").DOMAIN
