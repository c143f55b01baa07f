"""What planned runs will take: their episodes, times what episodes of the same method took in runs and recordings.

Nothing is guessed: what no run or recording tells is unknown, and is said to be.
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
    """What a run or recording took. usage: rows of an operator and the columns of SPENT; seconds NaN where unknown."""

    engine: engines.Engine
    usage: pd.DataFrame
    parameters: Mapping[str, Any]
    episodes: int
    where: str


@dataclass(frozen=True)
class Estimate:
    """What is planned of one method with one model. played: episodes of it that are on disk already.

    engine: the model, and where it is one among several engines, all of them. seconds: of waiting for the model. What
    is unknown is None. source: who says so. missing: why something is unknown, and what helps.
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
        left = self.episodes - self.played
        parts = [f"{left:,} of {self.episodes:,} episodes" if self.played else f"{left:,} episodes"]
        if self.calls is not None:
            parts += [f"{self.calls:,.0f} calls", f"{self.tokens_in:,.0f} tokens in, {self.tokens_out:,.0f} out"]
        parts += [f"{self.dollars:,.2f} dollars"] if self.dollars is not None else []
        source = f" (as {self.source})" if self.source else ""
        return "\n    ".join([f"{self.engine}, {self.method}: {', '.join(parts)}{source}", *self.missing])


def forecast(planned: Iterable[Manifest]) -> list[Estimate]:
    """Returns what is left to play of planned runs, a share for each method and each of an engine's models.

    A run that is planned twice is played once. What rules and recordings answer is free, and is left out.
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
    """The model's share of runs of a method with an engine, of which it is a part or the whole.

    It takes what it took in the run or recording that is most like the first of these runs. Without a run of this
    model, one of the same model with other options counts, then one of any model, whose seconds say nothing: those of a
    local model are then reckoned from the tokens and its speed.
    """
    wanted, whole = engines.parse(model), engines.parse(engine)
    runtime = engines.OPENVINO if wanted.kind == "local" else None
    name = model if model == engine else f"{model} in '{engine}'"
    estimate = Estimate(name, method, sum(len(run.tasks) for run in runs), sum(map(played, runs)))
    known: list[tuple[tuple[Any, ...], _PastUsage, pd.DataFrame]] = []
    for past in [*_runs(method), *recordings.read_all(method, _recorded)]:
        asked = [operator for operator in past.usage["operator"].unique() if whole.of(operator).text == wanted.text]
        answering = [past.engine.of(operator) for operator in asked]
        used = past.usage[past.usage["operator"].isin(asked)]
        if used["tokens_in"].sum() <= 0 or any(part.kind not in engines.MODELS for part in answering):
            continue
        same_model = all(
            part.name == wanted.name and part.options.get(engines.RUNTIME) == runtime for part in answering
        )
        same_options = same_model and all(part.text == model for part in answering)
        same_settings = sum(past.parameters.get(name) == value for name, value in runs[0].parameters.items())
        known.append(((same_options, same_model, same_settings, past.episodes), past, used))
    if not known:
        why = f"calls, dollars and hours unknown: no run of a model on {method} yet; try a limit of 2 first"
        return replace(estimate, missing=(why,))
    (_, same_model, *_), past, used = max(known, key=lambda entry: entry[0])
    share = (estimate.episodes - estimate.played) / past.episodes
    calls, tokens_in, tokens_out = (share * float(used[name].sum()) for name in ("calls", "tokens_in", "tokens_out"))
    uncached, seconds = int((used["calls"] - used["cached"]).sum()), None
    if same_model and uncached and used["seconds"].notna().all():
        # As if no answer had come from the cache: a cache hit takes no time.
        seconds = calls * float(used["seconds"].sum()) / uncached
    elif runtime and not same_model:
        seconds = seconds_of(wanted.name, tokens_in, tokens_out)
    source = f"{past.episodes:,} episode{'s' * (past.episodes > 1)} of {past.engine} took in {past.where}"
    dollars, missing = backbone.price(wanted.name, round(tokens_in), round(tokens_out)), []
    if dollars is None:
        missing.append(f"dollars unknown: {shown(backbone.PRICES)} has no price for {wanted.name}; add a line")
    if seconds is None:
        missing.append(f"hours unknown: {source} tells no seconds of {model}; try a limit of 2 first")
    return replace(
        estimate, calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, dollars=dollars, seconds=seconds,
        source=source, missing=tuple(missing),
    )  # fmt: skip


def played(run: Manifest) -> int:
    """Episodes of a planned run that are on disk."""
    folder = index() / run.digest
    return len({line["task"] for line in read_lines(folder / EPISODES)} & set(run.tasks))


def _runs(method: str) -> Iterator[_PastUsage]:
    """What the runs of a method took, of those in which a model answers."""
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
    """What a recording took."""
    # A row without seconds had answers from the cache, and its file does not say how many.
    spent = read_usage(name, recording).rename(columns={"tokens in": "tokens_in", "tokens out": "tokens_out"})
    engine = engines.parse(recording.engine).at(recording.address)
    return _PastUsage(engine, spent.assign(cached=0), recording.parameters, len(recording.tasks), f"recording {name}")
