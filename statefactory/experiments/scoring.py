"""From predictions to rewards and EPIC distances, with an embedding, a convention and a goal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, Literal, NamedTuple

import numpy as np

from lab.machine import progress
from statefactory.benchmark import Pair
from statefactory.embeddings import DEFAULT, Embedder, open_embedder
from statefactory.epic import epic_distances
from statefactory.extraction import Trace
from statefactory.predictors import Predictor
from statefactory.predictors.factored import trace_flags, trace_rewards
from statefactory.routing import PAPER, Convention
from statefactory.state import Entity, State, entities, from_level, in_sentences
from statefactory.trust import NONE, Flags, with_constant

Goal = Literal["online", "offline", "offline_task"]
# BlocksWorld's positions in other words, as the same facts: how much of a reward rests on the wording. A function of a
# block and its position in the observation's own words. "searched" names the block again, which the fragments of Eq. 5
# do not do: it was chosen among about 150, on 119 of PlanBench's tasks outside the benchmark, by the distance that it
# gave.
WORDINGS: Mapping[str, Callable[[str, str], str]] = {
    "observed": lambda block, position: position,
    "short": lambda block, position: position.replace("top of ", "").replace("the ", ""),
    "searched": lambda block, position: f"{_short(block)} {_short(WORDINGS['short'](block, position))}",
}
A_BATCH = 1024  # texts; between two batches a stopped run has lost nothing


class Prediction(NamedTuple):
    """What was predicted for a pair: what was extracted along each trajectory, or else the rewards themselves.

    traces: one a trajectory, the positive's first. rewards: one a step, the positive's before the negatives'; flags:
    those of the rewards that the predictor itself raised, or ().
    """

    pair: Pair
    traces: tuple[Trace, ...] = ()
    rewards: Sequence[float] = ()
    flags: Flags = ()


@dataclass(frozen=True)
class Scoring:
    """How extracted states become rewards.

    goal: "online", as interpreted step by step; "offline", the state that the expert's last step led to, all of it, for
    the whole pair; "offline_task", of that state the objects that the task's own goal names, if any. The latter two are
    an oracle's knowledge, and what they give is simulated (§4.3, Table 14). ignored: names of goal attributes that are
    left out, and with them the goals that have no other. wording: of BlocksWorld's positions as the rules state them,
    see WORDINGS. The last two are for objects with attributes.
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


def rewards(predictions: Iterable[Prediction], scoring: Scoring = STANDARD) -> list[np.ndarray]:
    """The rewards of each pair, shape (steps of all trajectories,), the positive's before the negatives'."""
    worded = [_worded(prediction, scoring) for prediction in predictions]
    _embed((trace for prediction in worded for trace in prediction.traces), scoring)
    return [
        np.concatenate([_rewards(trace, prediction, scoring) for trace in prediction.traces])
        if prediction.traces
        else np.array(prediction.rewards, dtype=float)
        for prediction in worded
    ]


def flags(predictions: Iterable[Prediction], scored: Iterable[np.ndarray], scoring: Scoring = STANDARD) -> list[Flags]:
    """Flags of each pair's rewards, one set a step as in `rewards`, which gave `scored`."""
    embedder = embedder_of(scoring.embedding)
    raised = [
        tuple(
            step
            for trace in prediction.traces
            for step in trace_flags(*_compared(trace, prediction, scoring), embedder, scoring.convention)
        )
        or prediction.flags
        or (NONE,) * len(prediction.pair.shaped)
        for prediction in (_worded(prediction, scoring) for prediction in predictions)
    ]
    return [with_constant(of_pair, rewards) for of_pair, rewards in zip(raised, scored, strict=True)]


def distances(predictions: Sequence[Prediction], scoring: Scoring = STANDARD) -> np.ndarray:
    """The EPIC distance of each pair, shape (pairs,)."""
    return distances_from(predictions, rewards(predictions, scoring))


def distances_from(predictions: Sequence[Prediction], scored: Sequence[np.ndarray]) -> np.ndarray:
    """The EPIC distance of each pair, shape (pairs,). scored: its rewards, as `rewards` gives them."""
    pairs = [prediction.pair for prediction in predictions]
    return epic_distances(scored, [p.shaped for p in pairs], [p.task for p in pairs])


def distances_of(pairs: Sequence[Pair], predictor: Predictor[Any]) -> np.ndarray:
    """EPIC distances of a predictor's rewards on pairs, shape (pairs,)."""
    predicted = [predictor.predict_pair(pair) for pair in pairs]
    return epic_distances(predicted, [pair.shaped for pair in pairs], [pair.task for pair in pairs])


def _embed(traces: Iterable[Trace], scoring: Scoring) -> None:
    """Embed all texts in large batches, each kept at once; a trajectory's own batch then finds them."""
    states = {state for trace in traces for state in (*trace.states, *trace.goals)}
    known = {entity for state in states for entity in entities(state, scoring.convention.apart)}
    texts = {entity.identity for entity in known}
    texts |= {text for entity in known for a in entity.attributes for text in (a.name, a.value)}
    ordered = sorted(texts - {""}, key=lambda text: (len(text), text))  # those of one length together
    with progress.bar(len(ordered), "embedding", show=len(ordered) > A_BATCH) as bar:
        starts = list(range(0, len(ordered), A_BATCH))
        # Each process in an order of its own: notebooks side by side then share the work instead of doing it twice.
        Random(os.getpid()).shuffle(starts)
        for start in starts:
            batch = ordered[start : start + A_BATCH]
            embedder_of(scoring.embedding).embed(batch)
            bar.update(len(batch))


def _rewards(trace: Trace, prediction: Prediction, scoring: Scoring) -> np.ndarray:
    trace, goal = _compared(trace, prediction, scoring)
    return trace_rewards(trace, embedder_of(scoring.embedding), scoring.convention, goal)


def _compared(trace: Trace, prediction: Prediction, scoring: Scoring) -> tuple[Trace, State | None]:
    """The trace with the goals that count, and the goal that an oracle puts in their place, if any."""
    goal = None if scoring.goal == "online" else _reached(prediction, scoring)
    if scoring.ignored:
        trace = replace(trace, goals=tuple(_without(_objects(goal), scoring.ignored) for goal in trace.goals))
    return trace, goal


def _worded(prediction: Prediction, scoring: Scoring) -> Prediction:
    """With the states of BlocksWorld in the wording of the scoring."""
    if prediction.pair.positive.domain != "blocksworld" or scoring.wording == STANDARD.wording:
        return prediction
    distinct = {state for trace in prediction.traces for state in (*trace.states, *trace.goals)}
    states = {state: reworded(_objects(state), scoring.wording) for state in distinct}
    traces = (
        replace(trace, states=tuple(states[s] for s in trace.states), goals=tuple(states[g] for g in trace.goals))
        for trace in prediction.traces
    )
    return prediction._replace(traces=tuple(traces))


def _reached(prediction: Prediction, scoring: Scoring) -> State:
    """The state that the expert's last step led to."""
    trace, steps = prediction.traces[0], prediction.pair.positive.trajectory
    last = max((number for number, step in enumerate(steps) if step.reward.is_expert), default=-1)
    if scoring.goal != "offline_task":
        return trace.states[last]
    named = {entity.identity for entity in _objects(trace.goals[last])}
    kept = tuple(entity for entity in _objects(trace.states[last]) if entity.identity in named)
    return kept or trace.states[last]


def _objects(state: State) -> tuple[Entity, ...]:
    """The state's objects. Raises TypeError at the levels of sentences, which have none."""
    objects = tuple(entity for entity in state if isinstance(entity, Entity))
    if len(objects) != len(state):
        raise TypeError("this scoring is of objects with attributes; use the method 'statefactory'")
    return objects


def _without(goal: tuple[Entity, ...], names: tuple[str, ...]) -> tuple[Entity, ...]:
    """The goal without attributes of these names; entities that had no other are left out."""
    kept = (replace(e, attributes=tuple(a for a in e.attributes if a.name not in names)) for e in goal)
    return tuple(
        entity for entity, before in zip(kept, goal, strict=True) if entity.attributes or not before.attributes
    )


def reworded(known: Sequence[Entity], wording: str) -> tuple[Entity, ...]:
    """The blocks with their positions in one of WORDINGS, as fragments or sentences, as they were."""
    blocks = []
    for entity in known:
        (plain,) = from_level((entity,))
        values = {a: WORDINGS[wording](plain.identity, a.value) if a.name == "position" else a.value
                  for a in plain.attributes}  # fmt: skip
        changed = replace(plain, attributes=tuple(replace(a, value=value) for a, value in values.items()))
        # Read back from sentences, it is written as sentences again.
        blocks.append(changed if plain == entity else in_sentences(changed))
    return tuple(blocks)


def _short(block: str) -> str:
    return block.replace(" block", "", 1)
