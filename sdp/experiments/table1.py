"""Table 1 as numbers: the MDP objects that SDP's trajectories supply; and Proposition 1, tested on noisy runs."""

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

LEVEL = 0.01  # of p, where one test in twenty would fall below .05 by chance


def inputs(trajectories: Sequence[Trajectory], backbone: str) -> pd.DataFrame:
    """The four inputs of §2 and the credit signal, with what supplies each and how much of it there is."""
    objects, attempts = mdp(trajectories), sum(len(trajectory.attempts) for trajectory in trajectories)
    ended = sum(trajectory.reached_goal for trajectory in trajectories)
    credited = int(credit(trajectories)["certified"].sum())
    lines = [
        ("state space", "distinct certified states", "sdp.mdp.mdp(...).states", len(objects.states)),
        ("observation-to-state mapping", "verdicts on observations", "sdp.mdp.observation_map(...)", attempts),
        ("certified transitions", "tuples (s, a, k, s')", "sdp.mdp.mdp(...).transitions", len(objects.transitions)),
        ("termination criterion", "episodes that certified the goal", "Trajectory.reached_goal", ended),
        ("per-predicate credit", "predicates with their attempt", "sdp.mdp.credit(...)", credited),
    ]
    table = pd.DataFrame(lines, columns=["MDP input", "what SDP supplies", "in code", "count"])
    return table.assign(**_about(backbone, trajectories))


def credit_by_kind(trajectories: Sequence[Trajectory], backbone: str) -> pd.DataFrame:
    """For each predicate kind: how many, the certified share, the mean number of rejections before, the mean k."""
    kinds = credit(trajectories).groupby("kind", sort=False)
    means = kinds[["certified", "rejections", "k"]].mean()
    means.insert(0, "predicates", kinds.size())
    return means.reset_index().assign(**_about(backbone, trajectories))


def branching(objects: MDP) -> pd.DataFrame:
    """The kernel's shape: for how many (state, action) pairs how many different next states were seen."""
    kernel = objects.kernel()
    after = kernel.groupby(["state", "action"])["next_state"].nunique()
    return after.value_counts().rename_axis("next states").rename("(state, action) pairs").reset_index()


class Remembering:
    """A ledger through which the past reaches Realize, against locality: the positive control of the test.

    Once an attempt at an earlier predicate was rejected, a choice is the last option with probability `leak`, whatever
    was selected. What was rejected at the same predicate Realize may know.
    """

    def __init__(self, ledger: Ledger, leak: float, random: Random) -> None:
        self._ledger, self._leak, self._random = ledger, leak, random
        self._decided: list[str] = []
        self._here = self._before = False  # whether anything was rejected

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """As the ledger; a selection may be replaced."""
        answer = self._ledger.ask(prompt, sample=sample, **fields)
        if prompt.name != SELECT.name:
            return answer
        if fields["decided"] != self._decided:
            self._decided, self._before = fields["decided"], self._before or self._here
        self._here = bool(fields["failures"])
        leaks = self._random.random() < self._leak  # drawn in any case, so that two leaks begin alike
        return replace(answer, value=Selection(choice=len(fields["options"]))) if self._before and leaks else answer


@dataclass(frozen=True, kw_only=True)
class Leaking(Setup):
    """SDP on TravelPlanner with `Remembering` between it and who answers. Simulated."""

    leak: float = 0.3

    method: ClassVar[str] = "sdp-travelplanner-leaking"

    def adapter(self, task: str, ledger: Ledger) -> TravelPlannerAdapter:
        remembering = Remembering(ledger, self.leak, Random(f"leak {self.engine} {task}"))
        # What is not named in Remembering is the ledger's own, which no type checker can follow.
        return super().adapter(task, cast(Ledger, remembering))


def noisy_runs(
    engine: str, seeds: int, data: str, limit: int, seed: int = 0, workers: int = 0, cluster: str = "",
    leak: float = 0.0,
) -> list[Trajectory]:  # fmt: skip
    """The same queries played `seeds` times by noisy rules, such as "rules@0.7?reject=0.3".

    Few queries many times, since only certified states that are reached in more than one way can tell anything.
    leak: the share of choices that the past decides, see `Remembering`.
    """
    base = Leaking(data=data, limit=limit, seed=seed, leak=leak) if leak else Setup(data=data, limit=limit, seed=seed)
    noisy = (f"{engine}{'&' if '?' in engine else '?'}seed={seeds * seed + number}" for number in range(seeds))
    runs = (collect(base.answered_by(engine), workers, cluster, show_progress=False) for engine in noisy)
    return [trajectory for run in runs for trajectory in run.trajectories]


def walks(remembering: bool, count: int, seed: int = 0, rooms: int = 6) -> list[Trajectory]:
    """Walks through a corridor by dice: a world with chance, where the prefix could say something of the next state.

    remembering: the dice tend to repeat, which no certified state tells and which breaks the proposition's assumption.
    """
    dice = streaks if remembering else rolls
    return [
        run_episode("walk", CorridorAdapter(Corridor(rooms, dice(count * seed + number))), Settings(budget=1))
        for number in range(count)
    ]


def rejections_before(trajectory: Trajectory, transition: int) -> Any:
    """A prefix: how many attempts had been rejected on the way to the state."""
    state = trajectory.transitions[transition].before
    return sum(attempt.k == 0 and attempt.state < state for attempt in trajectory.attempts)


def proposition_1(
    trips: Sequence[Trajectory], leaking: Sequence[Trajectory], backbone: str, count: int, permutations: int, seed: int
) -> pd.DataFrame:
    """The test of Eq. 7 on two worlds, each with a positive control: what the prefix says of the next state.

    trips, leaking: TravelPlanner's without and with a leak of `noisy_runs`; the prefix is the number of rejections on
    the way. count: walks through a corridor by fair dice, and by dice that remember; there the prefix is the certified
    state before s.
    """
    tests = {
        "TravelPlanner, Validate that errs": (trips, rejections_before, backbone),
        "TravelPlanner, rejections leak into choices (locality broken)": (leaking, rejections_before, backbone),
        "corridor, fair dice": (walks(False, count, seed), previous_state, "none"),
        "corridor, dice that remember (assumption broken)": (walks(True, count, seed), previous_state, "none"),
    }
    return pd.DataFrame(
        {"world": world, **markov_test(runs, prefix, permutations, seed)._asdict(), **_about(who, runs)}
        for world, (runs, prefix, who) in tests.items()
    )


def numbers(tests: pd.DataFrame) -> Iterator[tuple[str, bool, str]]:
    """What is expected of `proposition_1`: a sentence, whether it holds, and its data where that is always the same."""
    honest, leaking, fair, remembering = tests["p_value"]
    yield "Proposition 1 is not rejected on TravelPlanner", bool(honest > LEVEL), ""
    yield "Proposition 1 is rejected where rejections leak into choices", bool(leaking <= LEVEL), ""
    yield "Proposition 1 is not rejected with fair dice", bool(fair > LEVEL), "synthetic"
    yield "Proposition 1 is rejected where dice remember", bool(remembering <= LEVEL), "synthetic"


def told(tests: pd.DataFrame) -> str:
    """In how many worlds the prefix says something of the next state; tests: of `proposition_1`."""
    found = [name for name, p in zip(tests["world"], tests["p_value"], strict=True) if p <= LEVEL]
    return f"The past tells more than the certified state in {len(found)} of {len(tests)} worlds (p ≤ {LEVEL:g})"


def draw(tests: pd.DataFrame) -> Figure:
    """What the prefix says of the next state beyond shuffled prefixes, in bits, a dot a world; see `proposition_1`."""
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
    """What the trajectories of Table 2 supply. made: by all of them together."""

    trajectories: Sequence[Trajectory]
    made: MDP
    backbone: str

    @classmethod
    def of(cls, run: Any) -> Objects:
        """run: of SDP on a benchmark."""
        return cls(run.trajectories, mdp(run.trajectories), run.backbone)

    def answer(self) -> str:
        """Counts of states and certified transitions."""
        return (
            f"{self.backbone}: {len(self.trajectories)} episodes give {len(self.made.states)} certified states "
            f"({len(self.made.initial)} initial, {len(self.made.terminal)} terminal) and "
            f"{len(self.made.transitions)} certified transitions."
        )


def _about(backbone: str, episodes: Sequence[Trajectory]) -> dict[str, Any]:
    who = engines.parse(backbone)
    return {"evidence": who.evidence, "backbone": who.label, "n": len(episodes)}
