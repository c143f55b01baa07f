"""Usage accounting: tokens, seconds and money, by operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.machine.paths import ROOT

PRICES = ROOT / "data" / "prices.yaml"
RULES_PATHS = ("rules", "corrupted", "null")  # of answers that rules and null models gave, which cost nothing


@dataclass(frozen=True, slots=True)
class Call:
    """One answered prompt.

    path: how the answer was read: "rules", "corrupted", "null", "schema", "strict", "repaired" or "reasked", "text" if
    it is free text; "malformed" if no usable answer came, "failed" if the request did. tokens_in, tokens_out: as the
    server counted them, re-asks included. seconds: wall time, waiting included. took: the same, but of a cache hit that
    of the model when it was asked; 0 where nobody kept it. usd: None where the model's price or the tokens are unknown.
    cached: a cache hit, which is free. retries: requests without a reply. cut: the prompt exceeded the engine's
    `context` and was truncated (lab/models/rendering.py). truncated: how many answers, first and re-ask, ended at
    `max_tokens`. other_model: which model answered, where the answer names another one than the engine.
    """

    operator: str
    prompt: str
    path: str
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    took: float = 0.0
    usd: float | None = 0.0
    cached: bool = False
    retries: int = 0
    cut: bool = False
    truncated: int = 0
    other_model: str = ""

    @property
    def paid(self) -> bool:
        """Whether a model was asked: neither rules, a null model nor the cache answered."""
        return not self.cached and self.path not in RULES_PATHS


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls and tokens; what a trajectory keeps, since they depend on the answers alone and not on the machine."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


def cost_of(calls: Iterable[Call]) -> Cost:
    """Sum of the calls."""
    total = Cost()
    for call in calls:
        total = total + Cost(1, call.tokens_in, call.tokens_out)
    return total


def by_operator(calls: Iterable[Call]) -> dict[str, dict[str, float | int | None | dict[str, int]]]:
    """Totals for each operator: calls, cached, tokens, seconds, usd (None as soon as one price is unknown), paths.

    `cut`, `truncated` and `other_model` are among them only where there were such calls.
    """
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.operator, []).append(call)
    return {operator: _totals(group) for operator, group in sorted(groups.items())}


def _totals(calls: list[Call]) -> dict[str, float | int | None | dict[str, int]]:
    paths: dict[str, int] = {}
    for call in calls:
        paths[call.path] = paths.get(call.path, 0) + 1
    prices = [call.usd for call in calls]
    totals = asdict(cost_of(calls)) | {
        "cached": sum(call.cached for call in calls),
        "retries": sum(call.retries for call in calls),
        "seconds": round(sum(call.seconds for call in calls), 6),
        # A sum without the unknown part would look like a price.
        "usd": None if None in prices else sum(price or 0.0 for price in prices),
        "paths": paths,
    }
    rare = {"cut": sum(call.cut for call in calls), "truncated": sum(call.truncated for call in calls)}
    rare["other_model"] = sum(bool(call.other_model) for call in calls)
    return totals | {name: count for name, count in rare.items() if count}


def summed(parts: Sequence[Mapping[str, Any]], timed: bool = True) -> dict[str, Any]:
    """An operator's totals over episodes (`by_operator`), for a table.

    timed: False where seconds say nothing, as those of rules, which would also differ at each run. They are left empty
    where answers came from the cache.
    """
    prices = [part["usd"] for part in parts]
    paths: Counter[str] = Counter()
    for part in parts:
        paths.update(part["paths"])
    timed = timed and not any(part["cached"] for part in parts)
    return {
        "calls": sum(part["calls"] for part in parts),
        "tokens in": sum(part["tokens_in"] for part in parts),
        "tokens out": sum(part["tokens_out"] for part in parts),
        "retries": sum(part["retries"] for part in parts),
        "truncated": sum(part.get("truncated", 0) for part in parts),
        "seconds": round(sum(part["seconds"] for part in parts), 1) if timed else None,
        "dollars": None if None in prices else sum(prices),
        "paths": ", ".join(f"{path} {count}" for path, count in sorted(paths.items())),
    }


def price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Dollars for a call, from the price file (dollars per million tokens); None if the model is not in it."""
    rates = prices(str(PRICES)).get(model)
    if rates is None:
        return None
    return (tokens_in * rates["input"] + tokens_out * rates["output"]) / 1e6


@cache
def prices(path: str) -> Mapping[str, Mapping[str, float]]:
    """The price file: model -> {input, output}, dollars per million tokens. Raises ValueError naming a bad entry."""
    from lab.machine import yaml12

    table = yaml12.load(Path(path).read_text()) or {}
    for model, rates in table.items():
        if not isinstance(rates, dict) or set(rates) != {"input", "output"}:
            raise ValueError(f"{path}: {model} needs exactly 'input' and 'output', dollars per million tokens")
    return table
