"""What planned runs will take: their episodes, times what episodes of the same method took in runs and recordings.

Nothing is guessed: what no run or recording tells is unknown, and is said to be.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine.paths import recordings_folder, runs_folder
from lab.models import engines, usage
from lab.runs.recordings import manifests
from lab.runs.run import EPISODES, FAULTS, USAGE, Manifest, index, read_lines

COUNTED = ("calls", "tokens_in", "tokens_out")


@dataclass(frozen=True)
class Accounts:
    """What runs hold and took. not_measured: episodes that the machine kept from being played.

    dollars: None where a price or tokens are unknown. Cache hits are among the calls; they cost nothing.
    """

    episodes: int = 0
    not_measured: int = 0
    calls: int = 0
    dollars: float | None = 0.0

    @classmethod
    def of(cls, folders: list[Path]) -> Accounts:
        """Of these run folders."""
        episodes = not_measured = calls = 0
        prices: list[float | None] = []
        for folder in folders:
            played = {line["task"] for line in read_lines(folder / EPISODES)}
            episodes += len(played)
            not_measured += len({line["task"] for line in read_lines(folder / FAULTS)} - played)
            for took in _usages(folder):
                calls += sum(operator["calls"] for operator in took.values())
                prices += [operator["usd"] for operator in took.values()]
        return cls(
            episodes, not_measured, calls, None if None in prices else sum((price or 0.0 for price in prices), 0.0)
        )


class Planned(NamedTuple):
    """A run that is to be played. calls: how many rules made in it; None where they could not play it."""

    manifest: Manifest
    calls: int | None


class Taken(NamedTuple):
    """What an episode took on average. seconds: of waiting for the model; None where unknown. source: who says so."""

    engine: str
    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float | None
    source: str


@dataclass(frozen=True)
class Share:
    """What is planned of one method with one model. played: episodes of it that are on disk already.

    missing: what is unknown, and why and what helps; empty if nothing is.
    """

    engine: str
    method: str
    episodes: int
    played: int
    calls: float | None
    tokens_in: float | None
    tokens_out: float | None
    dollars: float | None
    seconds: float | None
    source: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        left = self.episodes - self.played
        told = [f"{left:,} of {self.episodes:,} episodes" if self.played else f"{left:,} episodes"]
        told += [f"{self.calls:,.0f} calls"] if self.calls is not None else []
        if self.tokens_in is not None:
            told.append(f"{self.tokens_in:,.0f} tokens in, {self.tokens_out:,.0f} out")
        told += [f"{self.dollars:,.2f} dollars"] if self.dollars is not None else []
        rest = f" ({self.source})" if self.source else ""
        return "\n    ".join([f"{self.engine}, {self.method}: {', '.join(told)}{rest}", *self.missing])


def forecast(planned: Iterable[Planned]) -> list[Share]:
    """What is left to play of planned runs, a share for each method and model.

    A run that is planned twice is played once. Runs without a model are free, and are left out.
    """
    groups: dict[tuple[str, str], dict[str, Planned]] = {}
    for one in planned:
        manifest = one.manifest
        if engines.parse(manifest.engine).kind in engines.MODELS:
            groups.setdefault((manifest.engine, manifest.method), {})[manifest.digest] = one
    return [_share(engine, method, list(runs.values())) for (engine, method), runs in groups.items()]


def taken(engine: str, method: str, parameters: Mapping[str, Any]) -> Taken | None:
    """What an episode of the method took: in the run or recording of the engine that is most like these parameters.

    Without one of this engine, of the same model with other options; then of any model, whose seconds say nothing.
    """
    found = [*_runs(method), *_recordings(method)]
    if not found:
        return None
    wanted = engines.parse(engine)

    def likeness(one: tuple[Taken, Mapping[str, Any], int]) -> tuple[Any, ...]:
        took, held, episodes = one
        same = sum(held.get(name) == value for name, value in parameters.items())
        return took.engine == engine, engines.parse(took.engine).name == wanted.name, same, episodes

    best = max(found, key=likeness)[0]
    return best if engines.parse(best.engine).name == wanted.name else best._replace(seconds=None)


def _share(engine: str, method: str, runs: Sequence[Planned]) -> Share:
    episodes, played = sum(len(run.manifest.tasks) for run in runs), sum(_played(run.manifest) for run in runs)
    left = episodes - played
    took = taken(engine, method, runs[0].manifest.parameters)
    if took is None:
        known = [run.calls for run in runs if run.calls is not None]
        # Rules played all episodes, and what they made in those that are on disk is not told apart.
        by_rules = sum(known) if len(known) == len(runs) and not played else None
        why = f"tokens, dollars and hours unknown: no run of a model on {method} yet; try -p limit 2 first"
        source = "as many calls as rules made; a model makes fewer or more" if by_rules is not None else ""
        return Share(engine, method, episodes, played, by_rules, None, None, None, None, source, (why,))
    calls, into, out = (left * number for number in (took.calls, took.tokens_in, took.tokens_out))
    seconds = None if took.seconds is None else left * took.seconds
    missing = []
    model = engines.parse(engine).name
    dollars = usage.price(model, round(into), round(out))
    if dollars is None:
        missing.append(f"dollars unknown: {usage.price_file()} has no price for {model}; add a line")
    if seconds is None:
        missing.append(f"hours unknown: {took.source} tells no seconds of {engine}; try -p limit 2 first")
    return Share(
        engine, method, episodes, played, calls, into, out, dollars, seconds, f"as {took.source}", tuple(missing)
    )


def _played(run: Manifest) -> int:
    """Episodes of a planned run that are on disk."""
    folder = index() / run.digest
    return len({line["task"] for line in read_lines(folder / EPISODES)} & set(run.tasks))


def _usages(folder: Path) -> list[dict[str, dict[str, Any]]]:
    """What each episode took, by operator; of one that was repeated, the last."""
    lines = {line["task"]: line["usage"] for line in read_lines(folder / USAGE)}
    return [took or {} for took in lines.values()]


def _runs(method: str) -> Iterator[tuple[Taken, Mapping[str, Any], int]]:
    """What the runs of a method took, with their parameters and number of episodes; of those that took tokens."""
    runs = runs_folder()
    for path in sorted([*runs.glob("*/manifest.json"), *runs.glob("*/*/manifest.json")]):
        held = json.loads(path.read_text())
        if held.get("method") != method or engines.parse(held["engine"]).kind not in engines.MODELS:
            continue
        episodes = _usages(path.parent)
        took = [operator for episode in episodes for operator in episode.values()]
        if not sum(operator["tokens_in"] for operator in took):
            continue
        calls, into, out = (sum(operator[name] for operator in took) / len(episodes) for name in COUNTED)
        # As if no answer had come from the cache: a cache hit takes no time.
        asked = sum(operator["calls"] - operator["cached"] for operator in took)
        seconds = calls * sum(operator["seconds"] for operator in took) / asked if asked else None
        source = f"{_counted(len(episodes))} of {held['engine']} took in {path.parent.relative_to(runs)}"
        yield Taken(held["engine"], calls, into, out, seconds, source), held["parameters"], len(episodes)


def _recordings(method: str) -> Iterator[tuple[Taken, Mapping[str, Any], int]]:
    for name, about in manifests().items():
        if about["method"] != method:
            continue
        with (recordings_folder() / name / "usage.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        episodes = len(about["tasks"])
        calls, into, out = (
            sum(float(line[column]) for line in lines) / episodes for column in ("calls", "tokens in", "tokens out")
        )
        # A row without seconds had answers from the cache.
        timed = all(line["seconds"] for line in lines)
        seconds = sum(float(line["seconds"]) for line in lines) / episodes if timed else None
        source = f"{_counted(episodes)} of {about['engine']} took in recording {name}"
        yield Taken(about["engine"], calls, into, out, seconds, source), about["parameters"], episodes


def _counted(episodes: int) -> str:
    return "1 episode" if episodes == 1 else f"{episodes:,} episodes"
