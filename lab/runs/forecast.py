"""Forecast of the calls, tokens, money and time of planned runs.

Planned episodes are multiplied by the usage per episode of the same method in earlier runs and recordings. A number
that no run or recording supports is reported as unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import progress
from lab.machine.faults import DamagedFile
from lab.machine.paths import shown
from lab.machine.weights import seconds_of
from lab.models import backbone, engines
from lab.runs import recordings
from lab.runs.catalogue import called, folders, index
from lab.runs.manifest import Manifest
from lab.runs.recordings import Recording, read_usage
from lab.runs.run import EPISODES, USAGE, read_lines

if TYPE_CHECKING:
    import pandas as pd

SPENT = ("calls", "tokens_in", "tokens_out", "seconds", "cached")


class _PastUsage(NamedTuple):
    """The usage of a run or recording. usage: columns "operator" and those of SPENT; seconds are NaN if unknown."""

    engine: engines.Engine
    usage: pd.DataFrame
    parameters: Mapping[str, Any]
    episodes: int
    where: str


@dataclass(frozen=True)
class Estimate:
    """The estimate for one method with one model. played: its episodes that are already on disk.

    engine: the model; if it is one of several engines, all of them, too. calls to seconds: for the episodes that
    remain; None if unknown. seconds: time waiting for the model. source: the run or recording behind the estimate.
    missing: why something is unknown, and how to find out.
    """

    engine: str
    method: str
    episodes: int
    played: int
    calls: float | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    dollars: float | None = None
    seconds: float | None = None
    source: str = ""
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        remaining = self.episodes - self.played
        parts = [f"{remaining:,} of {self.episodes:,} episodes" if self.played else f"{remaining:,} episodes"]
        if self.calls is not None:
            parts += [f"{self.calls:,.0f} calls", f"{self.tokens_in:,.0f} tokens in, {self.tokens_out:,.0f} out"]
        parts += [f"{self.dollars:,.2f} dollars"] if self.dollars is not None else []
        source = f" (as {self.source})" if self.source else ""
        return "\n    ".join([f"{self.engine}, {self.method}: {', '.join(parts)}{source}", *self.missing])


def forecast(planned: Iterable[Manifest]) -> list[Estimate]:
    """Estimates for the remaining episodes of planned runs, one for each method and each model of an engine.

    A run that is planned twice counts once. Answers of rules and recordings are free and left out.
    """
    groups: dict[tuple[str, str], dict[str, Manifest]] = {}
    for run in planned:
        groups.setdefault((run.engine, run.method), {})[run.digest] = run
    return [
        _estimate(model, engine, method, list(runs.values()))
        for (engine, method), runs in groups.items()
        for model in dict.fromkeys(part.text for part in engines.parse(engine).parts if part.kind in engines.MODELS)
    ]


def _estimate(model: str, engine: str, method: str, runs: Sequence[Manifest]) -> Estimate:
    """The estimate for a model that answers all or some operators of an engine, in runs of a method.

    Based on the most similar run or recording: preferably of this model, else of the same model with other options,
    else of any model. Another model's seconds are not used: a local model's are then computed from tokens and speed.
    """
    target, full = engines.parse(model), engines.parse(engine)
    runtime = engines.OPENVINO if target.kind == "local" else None
    name = model if model == engine else f"{model} in '{engine}'"
    estimate = Estimate(name, method, sum(len(run.tasks) for run in runs), sum(map(played, runs)))
    candidates: list[tuple[tuple[Any, ...], _PastUsage, pd.DataFrame]] = []
    for past in [*_runs(method), *recordings.read_all(method, _recorded)]:
        operators = [operator for operator in past.usage["operator"].unique() if full.of(operator).text == target.text]
        parts = [past.engine.of(operator) for operator in operators]
        usage = past.usage[past.usage["operator"].isin(operators)]
        if usage["tokens_in"].sum() <= 0 or any(part.kind not in engines.MODELS for part in parts):
            continue
        same_model = all(part.name == target.name and part.options.get(engines.RUNTIME) == runtime for part in parts)
        same_options = same_model and all(part.text == model for part in parts)
        same_settings = sum(past.parameters.get(name) == value for name, value in runs[0].parameters.items())
        candidates.append(((same_options, same_model, same_settings, past.episodes), past, usage))
    if not candidates:
        why = f"calls, dollars and hours unknown: no run of a model on {method} yet; try a limit of 2 first"
        return replace(estimate, missing=(why,))
    (_, same_model, *_), past, usage = max(candidates, key=lambda entry: entry[0])
    share = (estimate.episodes - estimate.played) / past.episodes
    calls, tokens_in, tokens_out = (share * float(usage[name].sum()) for name in ("calls", "tokens_in", "tokens_out"))
    uncached, seconds = int((usage["calls"] - usage["cached"]).sum()), None
    if same_model and uncached and usage["seconds"].notna().all():
        # Time per uncached call: cache hits take no time.
        seconds = calls * float(usage["seconds"].sum()) / uncached
    elif runtime and not same_model:
        seconds = seconds_of(target.name, tokens_in, tokens_out)
    source = f"{past.episodes:,} episode{'s' * (past.episodes > 1)} of {past.engine} took in {past.where}"
    dollars, missing = backbone.price(target.name, round(tokens_in), round(tokens_out)), []
    if dollars is None:
        missing.append(f"dollars unknown: {shown(backbone.PRICES)} has no price for {target.name}; add a line")
    if seconds is None:
        missing.append(f"hours unknown: {source} tells no seconds of {model}; try a limit of 2 first")
    return replace(
        estimate, calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, dollars=dollars, seconds=seconds,
        source=source, missing=tuple(missing),
    )  # fmt: skip


def played(run: Manifest) -> int:
    """Number of episodes of a planned run that are on disk."""
    folder = index() / run.digest
    return len({line["task"] for line in read_lines(folder / EPISODES)} & set(run.tasks))


def _runs(method: str) -> Iterator[_PastUsage]:
    """The usage of all runs of a method in which a model answered. Damaged runs are reported and left out."""
    import pandas as pd

    for folder in folders():
        try:
            run = Manifest.read(folder)
            engine = engines.parse(run.engine).at(run.address)
            if run.method != method or engine.kinds.isdisjoint(engines.MODELS):
                continue
            episodes = {line["task"]: line["usage"] or {} for line in read_lines(folder / USAGE)}
        except DamagedFile as error:
            progress.say(f"the estimate leaves out a run: {error}")
            continue
        rows = [{"operator": name, **took} for episode in episodes.values() for name, took in episode.items()]
        spent = pd.DataFrame(rows, columns=["operator", *SPENT])
        yield _PastUsage(engine, spent, run.parameters, len(episodes), called(folder))


def _recorded(name: str, recording: Recording) -> _PastUsage:
    """The usage of a recording."""
    # usage.csv does not count cache hits. A row that has some lacks its seconds.
    spent = read_usage(name, recording).rename(columns={"tokens in": "tokens_in", "tokens out": "tokens_out"})
    engine = engines.parse(recording.engine).at(recording.address)
    return _PastUsage(engine, spent.assign(cached=0), recording.parameters, len(recording.tasks), f"recording {name}")
