"""Table 1 as numbers: the MDP objects in SDP's trajectories; and a test of Proposition 1 on noisy runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pandas as pd

from lab.models import engines
from lab.models.backbone import Answer, Ledger
from lab.models.prompts import Prompt
from lab.results import dots
from lab.runs.collecting import collect
from sdp.adapters.corridor import Corridor, CorridorAdapter, rolls, streaks
from sdp.adapters.travelplanner.adapter import TravelPlannerAdapter
from sdp.adapters.travelplanner.prompts import SELECT, Selection
from sdp.experiments.travelplanner import Setup
from sdp.loop import Settings, run_episode
from sdp.mdp import MDP, credit, markov_test, mdp, previous_state
from sdp.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.01  # of p; at .05 one test in twenty would be significant by chance


def inputs(trajectories: Sequence[Trajectory], backbone: str) -> pd.DataFrame:
    """The four inputs of §2 and the credit signal: what supplies each, and how many there are."""
    objects, attempts = mdp(trajectories), sum(len(trajectory.attempts) for trajectory in trajectories)
    ended = sum(trajectory.reached_goal for trajectory in trajectories)
    credited = int(credit(trajectories)["certified"].sum())
    rows = [
        ("state space", "distinct certified states", "sdp.mdp.mdp(...).states", len(objects.states)),
        ("observation-to-state mapping", "verdicts on observations", "sdp.mdp.observation_map(...)", attempts),
        ("certified transitions", "tuples (s, a, k, s')", "sdp.mdp.mdp(...).transitions", len(objects.transitions)),
        ("termination criterion", "episodes that certified the goal", "Trajectory.reached_goal", ended),
        ("per-predicate credit", "predicates with their attempt", "sdp.mdp.credit(...)", credited),
    ]
    table = pd.DataFrame(rows, columns=["MDP input", "what SDP supplies", "in code", "count"])
    return table.assign(**_about(backbone, trajectories))


def credit_by_kind(trajectories: Sequence[Trajectory], backbone: str) -> pd.DataFrame:
    """For each predicate kind: the number, the certified share, and the means of earlier rejections and of k."""
    kinds = credit(trajectories).groupby("kind", sort=False)
    means = kinds[["certified", "rejections", "k"]].mean()
    means.insert(0, "predicates", kinds.size())
    return means.reset_index().assign(**_about(backbone, trajectories))


def branching(objects: MDP) -> pd.DataFrame:
    """The kernel's shape: how many (state, action) pairs have how many different next states."""
    kernel = objects.kernel()
    after = kernel.groupby(["state", "action"])["next_state"].nunique()
    return after.value_counts().rename_axis("next states").rename("(state, action) pairs").reset_index()


class Remembering:
    """A ledger that leaks the past into Realize, against locality: the positive control of the test.

    After a rejected attempt at an earlier predicate, each choice is replaced by the last option with probability
    `leak`. Rejections at the same predicate cause no leak, since Realize may know them.
    """

    def __init__(self, ledger: Ledger, leak: float, random: Random) -> None:
        self._ledger, self._leak, self._random = ledger, leak, random
        self._decided: list[str] = []
        self._here = self._before = False  # whether an attempt at this, or at an earlier, predicate was rejected

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask like the ledger; a selection may be replaced."""
        answer = self._ledger.ask(prompt, sample=sample, **fields)
        if prompt.name != SELECT.name:
            return answer
        if fields["decided"] != self._decided:
            self._decided, self._before = fields["decided"], self._before or self._here
        self._here = bool(fields["failures"])
        leaks = self._random.random() < self._leak  # sampled in any case, so that runs with different leaks begin alike
        return replace(answer, value=Selection(choice=len(fields["options"]))) if self._before and leaks else answer


@dataclass(frozen=True, kw_only=True)
class Leaking(Setup):
    """SDP on TravelPlanner, with `Remembering` between the adapter and the engine. Simulated."""

    leak: float = 0.3

    method: ClassVar[str] = "sdp-travelplanner-leaking"

    def adapter(self, task: str, ledger: Ledger) -> TravelPlannerAdapter:
        remembering = Remembering(ledger, self.leak, Random(f"leak {self.engine} {task}"))
        # Attributes that Remembering does not define are the ledger's, which no type checker can follow.
        return super().adapter(task, cast(Ledger, remembering))


def noisy_runs(
    engine: str, seeds: int, data: str, limit: int, seed: int = 0, workers: int = 0, cluster: str = "",
    leak: float = 0.0,
) -> list[Trajectory]:  # fmt: skip
    """The same queries played `seeds` times by noisy rules, such as "rules@0.7?reject=0.3".

    Few queries many times: only certified states that are reached in more than one way are informative.
    leak: the share of choices that depend on the past, see `Remembering`.
    """
    base = Leaking(data=data, limit=limit, seed=seed, leak=leak) if leak else Setup(data=data, limit=limit, seed=seed)
    noisy = (f"{engine}{'&' if '?' in engine else '?'}seed={seeds * seed + number}" for number in range(seeds))
    runs = (collect(base.answered_by(engine), workers, cluster, show_progress=False) for engine in noisy)
    return [trajectory for run in runs for trajectory in run.trajectories]


def walks(remembering: bool, count: int, seed: int = 0) -> list[Trajectory]:
    """Walks through six rooms by dice: a world with chance, in which the prefix could predict the next state.

    remembering: the dice tend to repeat, which no certified state shows; this breaks the proposition's assumption.
    """
    dice = streaks if remembering else rolls
    return [
        run_episode("walk", CorridorAdapter(Corridor(6, dice(count * seed + number))), Settings(budget=1))
        for number in range(count)
    ]


def rejections_before(trajectory: Trajectory, transition: int) -> Any:
    """A prefix: the number of rejected attempts before the state was certified."""
    state = trajectory.transitions[transition].before
    return sum(attempt.k == 0 and attempt.state < state for attempt in trajectory.attempts)


def proposition_1(
    trips: Sequence[Trajectory], leaking: Sequence[Trajectory], backbone: str, count: int, permutations: int, seed: int
) -> pd.DataFrame:
    """The test of Eq. 7 on two worlds, each with a positive control: does the prefix predict the next state?

    trips, leaking: `noisy_runs` on TravelPlanner without and with a leak; the prefix is the number of rejections so
    far. count: number of walks through a corridor with fair dice, and with dice that remember; there the prefix is the
    certified state before s.
    """
    tests = {
        "TravelPlanner, Validate that errs": (trips, rejections_before, backbone),
        "TravelPlanner, rejections leak into choices (locality broken)": (leaking, rejections_before, backbone),
        "corridor, fair dice": (walks(False, count, seed), previous_state, "none"),
        "corridor, dice that remember (assumption broken)": (walks(True, count, seed), previous_state, "none"),
    }
    return pd.DataFrame(
        {"world": world, **markov_test(runs, prefix, permutations, seed)._asdict(), **_about(engine, runs)}
        for world, (runs, prefix, engine) in tests.items()
    )


def numbers(tests: pd.DataFrame) -> Iterator[tuple[str, bool, str]]:
    """What `proposition_1` should show: a sentence, whether it holds, and its data if that is always the same."""
    honest, leaking, fair, remembering = tests["p_value"]
    yield "Proposition 1 is not rejected on TravelPlanner", bool(honest > LEVEL), ""
    yield "Proposition 1 is rejected where rejections leak into choices", bool(leaking <= LEVEL), ""
    yield "Proposition 1 is not rejected with fair dice", bool(fair > LEVEL), "synthetic"
    yield "Proposition 1 is rejected where dice remember", bool(remembering <= LEVEL), "synthetic"


def told(tests: pd.DataFrame) -> str:
    """A sentence: in how many worlds the prefix predicts the next state; tests: of `proposition_1`."""
    rejected = [name for name, p in zip(tests["world"], tests["p_value"], strict=True) if p <= LEVEL]
    return f"The past tells more than the certified state in {len(rejected)} of {len(tests)} worlds (p ≤ {LEVEL:g})"


def draw(tests: pd.DataFrame) -> Figure:
    """The information of the prefix on the next state minus that of shuffled prefixes, in bits: one dot per world."""
    lines = [
        dots.Line(
            row.world, (dots.Dot(row.information - row.expected, who=dots.who(row.backbone, row.evidence), n=row.n),)
        )
        for row in tests.itertuples()
    ]
    label = "bits that the past tells of the next state, less shuffled"
    return dots.draw([(label, lines)], told(tests), zero=True)


@dataclass(frozen=True)
class Objects:
    """The MDP objects of Table 2's trajectories. made: from all of them together."""

    trajectories: Sequence[Trajectory]
    made: MDP
    backbone: str

    @classmethod
    def of(cls, run: Any) -> Objects:
        """run: SDP on a benchmark."""
        return cls(run.trajectories, mdp(run.trajectories), run.backbone)

    def answer(self) -> str:
        """The numbers of states and certified transitions, in a sentence."""
        return (
            f"{self.backbone}: {len(self.trajectories)} episodes give {len(self.made.states)} certified states "
            f"({len(self.made.initial)} initial, {len(self.made.terminal)} terminal) and "
            f"{len(self.made.transitions)} certified transitions."
        )


def _about(backbone: str, episodes: Sequence[Trajectory]) -> dict[str, Any]:
    engine = engines.parse(backbone)
    return {"evidence": engine.evidence, "backbone": engine.label, "n": len(episodes)}
