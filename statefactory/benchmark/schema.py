"""The records of the benchmark: the published fields, and what our rows say about where a trajectory comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

Kind = Literal["positive", "negative"]
DOMAINS = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")  # the order of the paper's Table 3


@dataclass(frozen=True, slots=True)
class Reward:
    """What a step is worth. raw: the world's own score, in [0, 1]; shaped: the ground truth, in [0, 1].

    is_expert: whether the step is the expert's, not a random one. Source: Shen et al. 2026, Appendix A.1.
    """

    raw: float
    shaped: float
    is_expert: bool


@dataclass(frozen=True, slots=True)
class StepRecord:
    """An action, the observation that it led to, and the reward there. The first observation belongs to no step."""

    action: str
    observation: str
    reward: Reward


@dataclass(frozen=True, slots=True)
class Row:
    """One trajectory. `goal_description` and `trajectory` are the published fields; the others are ours.

    id: "<task>_positive" or "<task>_negative_<i>", as the official evaluator names them. source: how the trajectory
    came about, such as "walkthrough" or "random policy". data: "official", "synthetic", or "published" for the paper's
    own. initial_observation: what the world said before the first step; "" where it is not known.
    """

    id: str
    domain: str
    task: str
    kind: Kind
    source: str
    data: str
    seed: int
    initial_observation: str
    goal_description: str
    trajectory: tuple[StepRecord, ...]

    @property
    def actions(self) -> list[str]:
        return [step.action for step in self.trajectory]

    @property
    def observations(self) -> list[str]:
        return [step.observation for step in self.trajectory]

    @property
    def shaped(self) -> list[float]:
        """The ground truth, one value a step."""
        return [step.reward.shaped for step in self.trajectory]

    def to_json(self) -> dict[str, Any]:
        """Plain values; `read_row` reads them back."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Pair:
    """The trajectories of one task. Ours has one negative; the published layout allows several."""

    positive: Row
    negatives: tuple[Row, ...]

    @property
    def task(self) -> str:
        return self.positive.task

    @property
    def negative(self) -> Row:
        """The first negative."""
        return self.negatives[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        return (self.positive, *self.negatives)

    @property
    def shaped(self) -> list[float]:
        """The ground truth that a pair is scored on: the positive's steps, then the negatives'."""
        return [value for row in self.rows for value in row.shaped]


def read_row(record: Mapping[str, Any], where: str = "a row") -> Row:
    """A row from JSON. Raises ValueError naming `where` and the fields that are wrong."""
    from pydantic import ValidationError

    try:
        return _adapter().validate_python(dict(record))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise ValueError(f"{where} is no RewardPrediction trajectory: {wrong}") from None


def pairs_of(rows: Iterable[Row]) -> list[Pair]:
    """The complete pairs among the rows, sorted by task; a task without a positive or a negative gives none."""
    tasks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        tasks[row.task].append(row)
    pairs = []
    for _, members in sorted(tasks.items()):
        positives = [row for row in members if row.kind == "positive"]
        # By length first: negative_10 comes after negative_2.
        negatives = sorted((row for row in members if row.kind == "negative"), key=lambda row: (len(row.id), row.id))
        if len(positives) > 1:
            raise ValueError(f"task {positives[0].task} has {len(positives)} positive trajectories, not one")
        if positives and negatives:
            pairs.append(Pair(positives[0], tuple(negatives)))
    return pairs


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Row)
