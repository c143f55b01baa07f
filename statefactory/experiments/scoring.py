"""Computes rewards and EPIC distances from predictions, given an embedding, a convention and a goal."""

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
# Paraphrases of BlocksWorld's positions, to measure how much rewards depend on wording. Functions of a block and its
# position as the observation words it. "searched" repeats the block's name, which the fragments of Eq. 5 do not. It was
# selected by its distance among about 150 wordings, on 119 of PlanBench's tasks outside the benchmark.
WORDINGS: Mapping[str, Callable[[str, str], str]] = {
    "observed": lambda block, position: position,
    "short": lambda block, position: position.replace("top of ", "").replace("the ", ""),
    "searched": lambda block, position: f"{_short(block)} {_short(WORDINGS['short'](block, position))}",
}
A_BATCH = 1024  # texts; an interrupted run keeps all finished batches


class Prediction(NamedTuple):
    """A predictor's output for a pair: the traces of both trajectories, or the rewards themselves.

    traces: one per trajectory, the positive's first. rewards: one per step, the positive's before the negatives'.
    flags: those that the predictor stored with its rewards, or ().
    """

    pair: Pair
    traces: tuple[Trace, ...] = ()
    rewards: Sequence[float] = ()
    flags: Flags = ()


@dataclass(frozen=True)
class Scoring:
    """Settings for computing rewards from extracted states.

    goal: "online", as interpreted step by step; "offline", for the whole pair the complete state after the expert's
    last step; "offline_task", only those objects of that state that the task's goal names, if any. The latter two use
    an oracle's knowledge, so their results are simulated (§4.3, Table 14). ignored: names of goal attributes to drop;
    goal objects with no other attributes are dropped too. wording: of BlocksWorld's positions as extracted by rules,
    see WORDINGS. `ignored` and `wording` require objects with attributes.
    """

    embedding: str = DEFAULT
    convention: Convention = PAPER
    goal: Goal = "online"
    ignored: tuple[str, ...] = ()
    wording: str = "observed"


STANDARD = Scoring()  # as in the paper's Table 1


@cache
def embedder_of(name: str) -> Embedder:
    """The embedder of that name, opened once per process, so that its model and vectors are reused."""
    return open_embedder(name)


def rewards(predictions: Iterable[Prediction], scoring: Scoring = STANDARD) -> list[np.ndarray]:
    """The rewards of each pair, shape (steps of all trajectories,), the positive's before the negatives'."""
    worded = [_worded(prediction, scoring) for prediction in predictions]
    embed_all((trace for prediction in worded for trace in prediction.traces), scoring)
    return [
        np.concatenate([_rewards(trace, prediction, scoring) for trace in prediction.traces])
        if prediction.traces
        else np.array(prediction.rewards, dtype=float)
        for prediction in worded
    ]


def flags(predictions: Iterable[Prediction], scored: Iterable[np.ndarray], scoring: Scoring = STANDARD) -> list[Flags]:
    """Flags of each pair's rewards, one set per step. scored: the result of `rewards`."""
    embedder = embedder_of(scoring.embedding)
    flags_by_pair = [
        tuple(
            step
            for trace in prediction.traces
            for step in trace_flags(*_compared(trace, prediction, scoring), embedder, scoring.convention)
        )
        or prediction.flags
        or (NONE,) * len(prediction.pair.shaped)
        for prediction in (_worded(prediction, scoring) for prediction in predictions)
    ]
    return [with_constant(pair_flags, rewards) for pair_flags, rewards in zip(flags_by_pair, scored, strict=True)]


def distances(predictions: Sequence[Prediction], scoring: Scoring = STANDARD) -> np.ndarray:
    """The EPIC distance of each pair, shape (pairs,)."""
    return distances_from(predictions, rewards(predictions, scoring))


def distances_from(predictions: Sequence[Prediction], scored: Sequence[np.ndarray]) -> np.ndarray:
    """The EPIC distance of each pair, shape (pairs,). scored: the result of `rewards`."""
    pairs = [prediction.pair for prediction in predictions]
    return epic_distances(scored, [p.shaped for p in pairs], [p.task for p in pairs])


def distances_of(pairs: Sequence[Pair], predictor: Predictor[Any]) -> np.ndarray:
    """EPIC distances of a predictor's rewards on pairs, shape (pairs,)."""
    predicted = [predictor.predict_pair(pair) for pair in pairs]
    return epic_distances(predicted, [pair.shaped for pair in pairs], [pair.task for pair in pairs])


def embed_all(traces: Iterable[Trace], scoring: Scoring) -> None:
    """Embed all texts in large batches, each cached at once, so that trajectories then have only cache hits."""
    states = {state for trace in traces for state in (*trace.states, *trace.goals)}
    all_entities = {entity for state in states for entity in entities(state, scoring.convention.apart)}
    texts = {entity.identity for entity in all_entities}
    texts |= {text for entity in all_entities for a in entity.attributes for text in (a.name, a.value)}
    ordered = sorted(texts - {""}, key=lambda text: (len(text), text))  # batches of similar lengths
    with progress.bar(len(ordered), "embedding", show=len(ordered) > A_BATCH) as bar:
        starts = list(range(0, len(ordered), A_BATCH))
        # Each process has its own order, so that parallel notebooks share the work instead of duplicating it.
        Random(os.getpid()).shuffle(starts)
        for start in starts:
            batch = ordered[start : start + A_BATCH]
            embedder_of(scoring.embedding).embed(batch)
            bar.update(len(batch))


def _rewards(trace: Trace, prediction: Prediction, scoring: Scoring) -> np.ndarray:
    trace, goal = _compared(trace, prediction, scoring)
    return trace_rewards(trace, embedder_of(scoring.embedding), scoring.convention, goal)


def _compared(trace: Trace, prediction: Prediction, scoring: Scoring) -> tuple[Trace, State | None]:
    """The trace without ignored goal attributes, and the oracle's goal that replaces its goals, if any."""
    goal = None if scoring.goal == "online" else _reached(prediction, scoring)
    if scoring.ignored:
        trace = replace(trace, goals=tuple(_without(_objects(goal), scoring.ignored) for goal in trace.goals))
    return trace, goal


def _worded(prediction: Prediction, scoring: Scoring) -> Prediction:
    """The prediction with BlocksWorld's states in the wording of the scoring."""
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
    """The state after the expert's last step, or of it the objects that the goal names ("offline_task")."""
    trace, steps = prediction.traces[0], prediction.pair.positive.trajectory
    last = max((number for number, step in enumerate(steps) if step.reward.is_expert), default=-1)
    if scoring.goal != "offline_task":
        return trace.states[last]
    named = {entity.identity for entity in _objects(trace.goals[last])}
    goal_objects = tuple(entity for entity in _objects(trace.states[last]) if entity.identity in named)
    return goal_objects or trace.states[last]


def _objects(state: State) -> tuple[Entity, ...]:
    """The state's objects. Raises TypeError for levels without objects with attributes."""
    objects = tuple(entity for entity in state if isinstance(entity, Entity))
    if len(objects) != len(state):
        raise TypeError("this scoring needs objects with attributes; use the method 'statefactory'")
    return objects


def _without(goal: tuple[Entity, ...], names: tuple[str, ...]) -> tuple[Entity, ...]:
    """The goal without attributes of these names. Entities that had no other attributes are dropped."""
    reduced = (replace(e, attributes=tuple(a for a in e.attributes if a.name not in names)) for e in goal)
    return tuple(
        entity for entity, original in zip(reduced, goal, strict=True) if entity.attributes or not original.attributes
    )


def reworded(known: Sequence[Entity], wording: str) -> tuple[Entity, ...]:
    """The blocks with their positions in one of WORDINGS, as fragments or sentences like the original."""
    blocks = []
    for entity in known:
        (plain,) = from_level((entity,))
        values = {a: WORDINGS[wording](plain.identity, a.value) if a.name == "position" else a.value
                  for a in plain.attributes}  # fmt: skip
        changed = replace(plain, attributes=tuple(replace(a, value=value) for a, value in values.items()))
        # If the original had sentences, the result has sentences again.
        blocks.append(changed if plain == entity else in_sentences(changed))
    return tuple(blocks)


def _short(block: str) -> str:
    return block.replace(" block", "", 1)
