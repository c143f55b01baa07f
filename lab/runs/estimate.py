"""What more episodes would cost: the tokens and seconds that a run recorded, times a model's price."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lab.machine.progress import duration
from lab.machine.weights import seconds_of
from lab.models import engines, usage
from lab.models.local import runtime_of
from lab.results.statistics import Interval, bootstrap_mean
from lab.runs.catalogue import find
from lab.runs.manifest import Manifest
from lab.runs.run import read_lines

Speed = Callable[[float, float], float]  # tokens in and out -> seconds
COUNTED = ("calls", "tokens_in", "tokens_out")


class NothingToMultiply(ValueError):
    """The run recorded no tokens."""


class UnknownPrice(ValueError):
    """The price file does not have the model."""


class Share(NamedTuple):
    """What an operator, or all, took an episode, with 95 % intervals over episodes. seconds: None where unknown."""

    operator: str
    calls: float
    tokens_in: float
    tokens_out: float
    usd: Interval
    seconds: Interval | None


@dataclass(frozen=True)
class Estimate:
    """run: its folder's name. recorded: episodes it rests on. without_tokens: those of them that recorded none."""

    run: str
    engine: str
    model: str
    recorded: int
    without_tokens: int
    shares: list[Share]  # one for each operator
    total: Share


def estimate(run: str, model: str) -> Estimate:
    """What an episode like the run's would cost with `model` at the price file's rates.

    run: as for `lab.runs.catalogue.find`. Tokens are those of the tokenizer of the model that the run was recorded
    with, answers from the cache included. A local model is free, and its seconds are those tokens at its speed in
    weights.yaml, on two cores and with nothing kept of an earlier prompt. Operators that rules answered would be
    answered by rules again, and are left out.
    Raises MissingRun, NothingToMultiply, UnknownPrice, DamagedFile.
    """
    folder, stated, model = find(run), model, model.partition("?")[0]
    engine = Manifest.read(folder).engine
    episodes = list({line["task"]: line["usage"] for line in read_lines(folder / "usage.jsonl")}.values())
    without = sum(not _sum(_operators(episode), "tokens_in") for episode in episodes)
    if without == len(episodes):
        raise NothingToMultiply(
            f"{folder} (engine {engine!r}, {len(episodes)} episodes) recorded no tokens: there is nothing to multiply. "
            f"Run some episodes on a model first, such as: python -m lab run NOTEBOOK -p engine {model} -p limit 20"
        )
    prices = usage.prices(str(usage.price_file()))
    speed = None
    if (chosen := engines.parse(stated)).kind == "local":
        speed = partial(seconds_of, chosen.name, runtime_of(chosen))
        prices = {model: {"input": 0.0, "output": 0.0}}
    if model not in prices:
        raise UnknownPrice(
            f"{usage.price_file()} has no price for {model}; it has: {', '.join(prices) or 'none'}. "
            f"Add a line, in dollars per million tokens:\n{json.dumps(model)}: {{input: 0.00, output: 0.00}}"
        )
    shares = []
    for name in sorted({name for episode in episodes for name in _operators(episode)}):
        alone = [{one: took for one, took in _operators(episode).items() if one == name} for episode in episodes]
        shares.append(_share(name, alone, prices[model], speed))
    total = _share("all", episodes, prices[model], speed)
    return Estimate(folder.name, engine, model, len(episodes), without, shares, total)


def lines(found: Estimate, episodes: int, workers: int) -> Iterator[str]:
    """The report: a table by operator, then dollars and wall time of this many episodes."""
    yield f"{found.run} (engine {found.engine}, {found.recorded} episodes) at the price of {found.model}; an episode:"
    yield from _table([*found.shares, found.total])
    usd = Interval(*(dollars * episodes for dollars in found.total.usd))
    yield f"{episodes:,} episodes: {usd.value:,.2f} dollars {usd.ends('{:,.2f}'.format)}"
    yield f"  {_time(found.total.seconds, episodes, workers)}"
    yield "In brackets: 95 % bootstrap intervals over episodes. Tokens as the recorded model's tokenizer counts them."
    if "rules" in engines.parse(found.engine).kinds:
        yield "Operators that rules answered cost nothing and are not in the table."
    if found.recorded == 1:
        yield "One episode says nothing about the spread: record more."
    if found.without_tokens:
        yield f"{found.without_tokens} of {found.recorded} episodes recorded no tokens, and count as costing nothing."


def _operators(episode: Any) -> dict[str, dict[str, Any]]:
    """An episode's usage by operator, of those that a model answered; without its first call, it has none."""
    return {name: took for name, took in (episode or {}).items() if not took["paths"].keys() <= set(usage.RULES_PATHS)}


def _sum(operators: Mapping[str, Mapping[str, Any]], name: str) -> float:
    return sum(took[name] for took in operators.values())


def _share(operator: str, episodes: Sequence[Any], rates: Mapping[str, float], speed: Speed | None) -> Share:
    columns = {name: [_sum(_operators(episode), name) for episode in episodes] for name in COUNTED}
    pairs = list(zip(columns["tokens_in"], columns["tokens_out"], strict=True))
    usd = bootstrap_mean([(into * rates["input"] + out * rates["output"]) / 1e6 for into, out in pairs])
    means = {name: sum(column) / len(episodes) for name, column in columns.items()}
    if speed:
        return Share(operator, **means, usd=usd, seconds=bootstrap_mean([speed(into, out) for into, out in pairs]))
    took = [took for episode in episodes for took in _operators(episode).values()]
    calls, asked = (sum(t["calls"] - t["cached"] * skipped for t in took) for skipped in (0, 1))
    # As if no answer had come from the cache: a cache hit takes no time.
    waited = [_sum(_operators(episode), "seconds") * calls / asked for episode in episodes] if asked else []
    return Share(operator, **means, usd=usd, seconds=bootstrap_mean(waited) if asked else None)


def _table(shares: Sequence[Share]) -> Iterator[str]:
    head = ("operator", "calls", "tokens in", "tokens out", "dollars", "", "seconds")
    rows = [
        (
            share.operator, f"{share.calls:,.1f}", f"{share.tokens_in:,.0f}", f"{share.tokens_out:,.0f}",
            f"{share.usd.value:.4f}", share.usd.ends("{:.4f}".format),
            f"{share.seconds.value:,.1f}" if share.seconds else "unknown",
        )
        for share in shares
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  " + "  ".join((row[0].ljust(widths[0]), *cells))


def _time(seconds: Interval | None, episodes: int, workers: int) -> str:
    if seconds is None:
        return "wall time unknown: every answer came from the cache"
    waited = seconds.text(lambda second: duration(second * episodes / workers))
    at_once = "one at a time" if workers == 1 else f"{workers} at a time, if the server answers each as fast as then"
    return f"{waited} of waiting for the model, {at_once}"
