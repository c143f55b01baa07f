"""From predictions to EPIC distances: of a method in a run, with an embedding, a convention and a goal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lab.machine import progress
from lab.models.engines import Engine, parse
from lab.results import tables
from statefactory.benchmark import Pair, Row
from statefactory.embeddings import DEFAULT, Embedder, open_embedder
from statefactory.epic import epic_distances
from statefactory.experiments import scores
from statefactory.experiments.statistics import title
from statefactory.extraction import Trace
from statefactory.predictors import METHODS, operators_of
from statefactory.predictors.factored import trace_rewards
from statefactory.routing import PAPER, Convention
from statefactory.rules import blocksworld
from statefactory.state import Entity, State, entities

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from lab.results.outcomes import Outcomes

Goal = Literal["online", "offline", "offline_task"]
A_BATCH = 1024  # texts; between two batches a stopped run has lost nothing


class Predicted(Protocol):
    """What a run predicted, as `statefactory.experiments.predictions.Results` has it."""

    @property
    def setup(self) -> Any: ...
    @property
    def backbone(self) -> str: ...
    @property
    def pairs(self) -> Mapping[str, list[Pair]]: ...
    def trace(self, method: str, domain: str, row: Row) -> Trace | None: ...
    def rewards(self, method: str, domain: str, row: Row) -> np.ndarray: ...
    def pair_outcomes(self, method: str) -> dict[str, Outcomes]: ...


@dataclass(frozen=True)
class Scoring:
    """How extracted states become rewards.

    goal: "online", as interpreted step by step; "offline", the state that the expert's last step led to, all of it, for
    the whole pair; "offline_task", of that state the objects that the task's own goal names, if any. The latter two are
    an oracle's knowledge, and what they give is simulated (§4.3, Table 14). ignored: names of goal attributes that are
    left out, and with them the goals that have no other. wording: of BlocksWorld's positions as the rules state them,
    see `statefactory.rules.blocksworld.WORDINGS`. The last two are for objects with attributes.
    """

    embedding: str = DEFAULT
    convention: Convention = PAPER
    goal: Goal = "online"
    ignored: tuple[str, ...] = ()
    wording: str = "observed"


STANDARD = Scoring()  # as in the paper's Table 1


@cache
def embedder_of(name: str) -> Embedder:
    """The embedder of that name, opened once a process, with its model and all vectors that it has seen."""
    return open_embedder(name)


def rewards(results: Predicted, method: str, scoring: Scoring = STANDARD) -> Iterator[tuple[str, Pair, np.ndarray]]:
    """Domain, pair and its predicted rewards, the positive's steps before the negative's, for every pair."""
    import numpy as np

    _embed(results, method, scoring)
    for domain, pairs in results.pairs.items():
        for pair in pairs:
            of = [_of_row(results, method, domain, pair, row, scoring) for row in pair.rows]
            yield domain, pair, np.concatenate(of)


def distances(results: Predicted, method: str, scoring: Scoring = STANDARD) -> dict[str, np.ndarray]:
    """Domain -> EPIC distances, a value a pair."""
    predicted: dict[str, list[np.ndarray]] = {domain: [] for domain in results.pairs}
    for domain, _, of in rewards(results, method, scoring):
        predicted[domain].append(of)
    return {
        domain: epic_distances(of, [pair.shaped for pair in results.pairs[domain]], _tasks(results.pairs[domain]))
        for domain, of in predicted.items()
    }


def rows(results: Predicted, method: str, scoring: Scoring = STANDARD, name: str = "") -> list[tables.Row]:
    """The rows of a results table. name: in place of the method's title."""
    found = distances(results, method, scoring)
    evidence = evidence_of(results, method, scoring)
    source = f"this run, {results.setup.data} data"
    backbone = answering(results, method).label if asks(method) else "none"
    return scores.rows(
        name or title_of(results, method), backbone, found, source, evidence, results.pair_outcomes(method)
    )


def answering(results: Predicted, method: str) -> Engine:
    """Who answered what a method asks; a run of several methods may have other engines for those of others."""
    return parse(results.backbone).among(operators_of(method))


def asks(method: str) -> bool:
    """Whether a method asks a backbone anything; raw text is its own state."""
    return method != "raw" and bool(operators_of(method))


def evidence_of(results: Predicted, method: str, scoring: Scoring = STANDARD) -> str:
    """ "simulated" where noise answered or an oracle's goal is used, else "measured"."""
    if scoring.goal != "online":
        return "simulated"
    return answering(results, method).evidence if asks(method) else "measured"


def title_of(results: Predicted, method: str) -> str:
    """The method's name in tables; states that rules extracted say so."""
    name = METHODS[method].title
    return f"{name}, rule-extracted" if answering(results, method).by_rules and asks(method) else name


def frame(results: Predicted, scoring: Scoring = STANDARD) -> pd.DataFrame:
    """The results table of all the run's methods, with the number of texts that the embedding model cut, if any."""
    table = tables.table(row for method in results.setup.methods for row in rows(results, method, scoring))
    cut = getattr(embedder_of(scoring.embedding), "cut", 0)
    return table.assign(**{"cut texts": cut}) if cut else table


def costliest(results: Predicted, method: str, scoring: Scoring = STANDARD, most: int = 5) -> pd.DataFrame:
    """The pairs of each domain that cost most, the worst first, in numbers that say what went wrong.

    rises: Pearson's rho within the positive, how well the reward climbs. positive, negative: the mean rewards, which
    should be near the mean truth and near 0. end: the reward at the positive's last expert step, which should be 1.
    """
    import pandas as pd

    found = distances(results, method, scoring)
    lines = []
    places = dict.fromkeys(results.pairs, 0)
    for domain, pair, predicted in rewards(results, method, scoring):
        distance = found[domain][places[domain]]
        places[domain] += 1
        lines.append({"domain": title(domain), "task": pair.task, "distance": distance, **_about(pair, predicted)})
    table = pd.DataFrame(lines).sort_values(["domain", "distance", "task"], ascending=[True, False, True])
    order = [title(domain) for domain in results.pairs]
    worst = table.groupby("domain", sort=False).head(most)
    worst = worst.sort_values("domain", key=lambda names: names.map(order.index), kind="stable").reset_index(drop=True)
    return worst.assign(backbone=answering(results, method).label, evidence=evidence_of(results, method, scoring))


def _about(pair: Pair, predicted: np.ndarray) -> Mapping[str, float]:
    steps = pair.positive.trajectory
    positive, negative = predicted[: len(steps)], predicted[len(steps) :]
    expert = [number for number, step in enumerate(steps) if step.reward.is_expert]
    rho = 1 - 2 * epic_distances([positive], [pair.positive.shaped])[0] ** 2
    return {
        "steps": len(steps), "rises": rho, "positive": positive.mean(), "truth": sum(pair.positive.shaped) / len(steps),
        "negative": negative.mean(), "end": positive[expert[-1]] if expert else positive[-1],
    }  # fmt: skip


def _embed(results: Predicted, method: str, scoring: Scoring) -> None:
    """Embed all texts of the run in large batches, each kept at once; a trajectory's own batch then finds them."""
    texts: set[str] = set()
    for domain, pairs in results.pairs.items():
        traces = (_trace(results, method, domain, row, scoring) for pair in pairs for row in pair.rows)
        states = {state for trace in traces if trace for state in (*trace.states, *trace.goals)}
        for entity in {entity for state in states for entity in entities(state, scoring.convention.apart)}:
            texts |= {entity.identity, *(text for a in entity.attributes for text in (a.name, a.value))}
    ordered = sorted(texts - {""}, key=lambda text: (len(text), text))  # those of one length together
    long = len(ordered) > A_BATCH
    with progress.bar(len(ordered), f"embedding for {METHODS[method].title}", show=long) as bar:
        starts = list(range(0, len(ordered), A_BATCH))
        # Each process in an order of its own: notebooks side by side then share the work instead of doing it twice.
        Random(os.getpid()).shuffle(starts)
        for start in starts:
            batch = ordered[start : start + A_BATCH]
            embedder_of(scoring.embedding).embed(batch)
            bar.update(len(batch))


def _of_row(results: Predicted, method: str, domain: str, pair: Pair, row: Row, scoring: Scoring) -> np.ndarray:
    trace = _trace(results, method, domain, row, scoring)
    if trace is None:
        return results.rewards(method, domain, row)
    goal = None if scoring.goal == "online" else _reached(results, method, domain, pair.positive, scoring)
    if scoring.ignored:
        trace = replace(trace, goals=tuple(_without(_objects(of), scoring.ignored) for of in trace.goals))
    return trace_rewards(trace, embedder_of(scoring.embedding), scoring.convention, goal)


def _trace(results: Predicted, method: str, domain: str, row: Row, scoring: Scoring) -> Trace | None:
    """What was extracted, in the wording of the scoring; None where the episode failed."""
    trace = results.trace(method, domain, row)
    if trace is None or domain != "blocksworld" or scoring.wording == STANDARD.wording:
        return trace
    distinct = dict.fromkeys((*trace.states, *trace.goals))
    said = {state: blocksworld.reworded(_objects(state), scoring.wording) for state in distinct}
    return replace(trace, states=tuple(said[s] for s in trace.states), goals=tuple(said[g] for g in trace.goals))


def _reached(results: Predicted, method: str, domain: str, positive: Row, scoring: Scoring) -> State:
    """The state that the expert's last step led to; () where the episode failed."""
    trace = _trace(results, method, domain, positive, scoring)
    if trace is None:
        return ()
    last = max((number for number, step in enumerate(positive.trajectory) if step.reward.is_expert), default=-1)
    if scoring.goal != "offline_task":
        return trace.states[last]
    named = {entity.identity for entity in _objects(trace.goals[last])}
    kept = tuple(entity for entity in _objects(trace.states[last]) if entity.identity in named)
    return kept or trace.states[last]


def _objects(state: State) -> tuple[Entity, ...]:
    """The state's objects. Raises TypeError at the levels of sentences, which have none."""
    found = tuple(entity for entity in state if isinstance(entity, Entity))
    if len(found) != len(state):
        raise TypeError("this scoring is of objects with attributes; use the method 'statefactory'")
    return found


def _without(goal: tuple[Entity, ...], names: tuple[str, ...]) -> tuple[Entity, ...]:
    """The goal without attributes of these names; entities that had no other are left out."""
    kept = (replace(e, attributes=tuple(a for a in e.attributes if a.name not in names)) for e in goal)
    return tuple(
        entity for entity, before in zip(kept, goal, strict=True) if entity.attributes or not before.attributes
    )


def _tasks(pairs: list[Pair]) -> list[str]:
    return [pair.task for pair in pairs]
