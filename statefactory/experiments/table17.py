"""Table 17: one household task by tree search, step by step; and what other searches do with the same budget.

With rules, the world model is the world itself and the proposer its list of valid actions: no agent has them, so that
all of it is simulated. Models can stand in for both. No expert is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, NamedTuple

import pandas as pd

from agents.history import FINISHED
from agents.worlds.games import ALFWORLD
from lab.machine.reading import check_fields
from lab.models.backbone import Backbone
from lab.models.connect import connected
from lab.models.engines import routed
from lab.results import tables
from lab.results.exports import readable
from lab.results.text import shortened
from statefactory.benchmark.schema import Reward, Row, StepRecord
from statefactory.embeddings import DEFAULT
from statefactory.experiments.predictions import EXTRACTING
from statefactory.experiments.scoring import embedder_of
from statefactory.extraction import read_trace
from statefactory.planning import proposals
from statefactory.planning.lookahead import Exact, Lookahead, Meter, Prompted
from statefactory.planning.mcts import Episode, Planner, Settings, plan
from statefactory.planning.prompts import PREDICT
from statefactory.planning.proposals import PROPOSE, Listed
from statefactory.predictors import Path, Predictor
from statefactory.predictors.baselines import AtRandom
from statefactory.predictors.factored import StateFactory
from statefactory.walkthrough import walk
from worlds import alfworld
from worlds.base import task_of
from worlds.pool import Pool

# The released game with the disc on desk 2 and the lamp on desk 1, as in the paper's trace; and a synthetic one.
TASKS = {"official": "alfworld-valid_unseen-009", "synthetic": "alfworld-made-valid_unseen-006"}
UNCHANGED = "(unchanged)"
SETTINGS = Settings(simulations=12, width=0, steps=20)


@dataclass(frozen=True)
class Case:
    """A game. data: "official" or "synthetic"; seed: of the synthetic ones."""

    task: alfworld.HouseholdTask
    data: str
    seed: int = 0

    def world(self) -> alfworld.AlfWorld:
        """Another world, in which nobody plays yet."""
        return alfworld.load(self.data, self.seed)


class SearchResult(NamedTuple):
    """What a search came to. outcomes: how often it foresaw one. steps, resets: that the world played for that.

    actions: that were taken, or for a search that takes none, those that solve the task; () where it found none.
    episode: of a tree search.
    """

    solved: bool
    actions: tuple[str, ...]
    outcomes: int
    steps: int
    resets: int
    episode: Episode | None = None


def case(task: str = "", data: str = "auto", seed: int = 0) -> Case:
    """The game of an id, by default Table 17's. Raises LookupError naming the ids that there are, and MissingData."""
    world = alfworld.load(data, seed)
    id = task or TASKS[world.data]
    split = id.split("-")[-2] if id.count("-") > 1 else ""  # of "alfworld-valid_unseen-009"
    if split not in world.splits:
        ranges = (f"{tasks[0].id} to {tasks[-1].id}" for tasks in map(world.tasks, world.splits))
        raise LookupError(f"ALFWorld has no {world.data} game {id!r}; choose one of {', '.join(ranges)}")
    return Case(task_of(world.tasks(split), id), world.data, seed)


@dataclass(frozen=True)
class Setup:
    """Who answers in a search. engine: everyone that is asked; engines: who answers single operators instead.

    proposer, world_model: a model in place of the valid actions, and of the world itself.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict)
    proposer: Literal["valid", "model"] = "valid"
    world_model: Literal["exact", "model"] = "exact"

    def __post_init__(self) -> None:
        """Raises Mismatch for another word."""
        check_fields(self)

    @cached_property
    def backbone(self) -> Backbone:
        """Raises as `connect` does, and BadEngine."""
        return connected(str(routed(self.engine, self.engines, (*EXTRACTING, PROPOSE, PREDICT), "Table 17")))

    @property
    def evidence(self) -> str:
        """Simulated where an answer is the world's own."""
        asks = self.proposer == self.world_model == "model"
        return self.backbone.engine.evidence if asks else "simulated"

    def predictor(self, backbone: Backbone | None = None) -> StateFactory:
        """StateFactory with fragments as values, as Table 17 prints them."""
        return StateFactory(backbone or self.backbone, embedder_of(DEFAULT), values="fragments")


def solve(
    case: Case,
    setup: Setup = Setup(),
    settings: Settings = SETTINGS,
    seed: int = 0,
    guide: Predictor[Any] | None = None,
) -> SearchResult:
    """Play the game by tree search.

    seed: of the order of valid actions. guide: values the leaves in the place of StateFactory.
    """
    pool, world, meter = Pool(case.world, case.task), case.world(), Meter(setup.backbone)
    asked = (meter, ALFWORLD.name, ALFWORLD.tools)
    world_model = Exact(pool) if setup.world_model == "exact" else Prompted(*asked)
    proposer = Listed(pool, seed) if setup.proposer == "valid" else proposals.Prompted(*asked)
    planner = Planner(Lookahead(guide or setup.predictor(meter), world_model), proposer, settings, meter)
    with closing(pool), closing(world):
        episode = plan(ALFWORLD.environment(world, case.task), case.task.goal, planner)
    solved = episode.history.end == FINISHED  # a game of ALFWorld ends when it is won
    return SearchResult(solved, episode.path.actions, episode.outcomes, pool.steps, pool.resets, episode)


def breadth_first(case: Case, outcomes: int, seed: int = 0) -> SearchResult:
    """All valid actions after all paths, the shortest first, until one ends the game or all outcomes were foreseen."""
    with closing(Pool(case.world, case.task)) as pool:
        proposer, waiting = Listed(pool, seed), deque([Path(case.task.goal, pool.at(()).text)])
        asked = 0
        while waiting and asked < outcomes:
            path = waiting.popleft()
            for action in proposer.actions(path, outcomes - asked):
                asked += 1
                step = pool.at((*path.actions, action))
                waiting.append(path.then(action, step.text))
                if step.done:
                    return SearchResult(True, waiting[-1].actions, asked, pool.steps, pool.resets)
        return SearchResult(False, (), asked, pool.steps, pool.resets)


def trace(case: Case, result: SearchResult, guide: StateFactory, width: int = 70) -> pd.DataFrame:
    """The steps that were taken, in Table 17's columns: of state and goal what the step changed, and the gain.

    The gain of the first step is over the state before it, which has no row. width: characters of a text.
    """
    assert result.episode is not None, "of a tree search"
    path, turns = result.episode.path, result.episode.history.turns
    observations = [observation for _, observation in path.steps]
    memories = guide.follow(path.goal, path.actions, observations, path.first)
    walked = walk(_row(case, path), read_trace(guide.result(memories)["trace"]), guide.embedder)
    steps = range(2, len(walked) + 1)  # the first is the state before any action
    rewards = walked.rewards.tolist()
    return readable({
        "Step": [step - 1 for step in steps],
        "Action": list(path.actions),
        "Observation": [shortened(text, width) for text in observations],
        "State": [shortened("; ".join(walked.changed(step)) or UNCHANGED, width) for step in steps],
        "Goal interpretation": [shortened("; ".join(walked.anchored(step)) or UNCHANGED, width) for step in steps],
        "Reward": rewards[1:],
        "Gain": [after - before for before, after in zip(rewards, rewards[1:], strict=False)],
        "Chosen by": [turn.thought for turn in turns],
    })  # fmt: skip


def compared(case: Case, setup: Setup, settings: Sequence[Settings], budget: int, seeds: int = 3) -> pd.DataFrame:
    """Searches with the same budget of foreseen outcomes: how often they solve the game, and what it takes them.

    The placebo has random values at the leaves. The seeds 0 to `seeds` - 1 decide in which order actions are proposed.
    Columns: search, width, simulations, solved (a share of the seeds), and means over the seeds: actions (of the solved
    ones), outcomes, world steps, world resets.
    """
    searches: dict[tuple[str, Any, Any], list[SearchResult]] = {}
    for title in ("StateFactory", "random values"):
        for own in settings:
            within = replace(own, outcomes=budget)
            searches[title, own.width or "all", own.simulations] = [
                solve(case, setup, within, seed, AtRandom(seed) if title == "random values" else None)
                for seed in range(seeds)
            ]
    searches["breadth-first", "all", None] = [breadth_first(case, budget, seed) for seed in range(seeds)]
    lines = []
    for key, results in searches.items():
        lengths = [len(result.actions) for result in results if result.solved]
        solved, length = fmean(result.solved for result in results), fmean(lengths) if lengths else None
        means = (fmean(getattr(result, name) for result in results) for name in ("outcomes", "steps", "resets"))
        lines.append([*key, solved, length, *means, seeds, setup.evidence])
    columns = ["search", "width", "simulations", "solved", "actions", "outcomes", "world steps", "world resets"]
    return pd.DataFrame(lines, columns=[*columns, "n", "evidence"])


def _row(case: Case, path: Path) -> Row:
    """The path as a trajectory, with the observation before any action as its first step."""
    steps = [("", path.first), *path.steps]
    unknown = Reward(0.0, 0.0, False)
    records = tuple(StepRecord(action, observation, unknown) for action, observation in steps)
    return Row(
        case.task.id, "alfworld", case.task.id, "positive", "tree search", case.data, case.seed, "", path.goal, records
    )


OPEN, CLOSED = "outcomes foreseen", "outcomes foreseen, closed drawer"  # metrics; all of the budget where unsolved


@dataclass(frozen=True)
class Searches:
    """A synthetic or named game by tree search, step by step, and two games by all searches under one budget.

    shown, found: the game step by step. open: `compared` on Table 17's game, which is of `data`. closed: of the
    searches of all valid actions, on a synthetic game whose thing lies in a closed drawer.
    """

    setup: Setup
    shown: Case
    found: SearchResult
    data: str
    budget: int
    open: pd.DataFrame
    closed: pd.DataFrame

    @cached_property
    def trace(self) -> pd.DataFrame:
        """The game step by step, in Table 17's columns."""
        return trace(self.shown, self.found, self.setup.predictor()).assign(evidence=self.setup.evidence)

    @property
    def note(self) -> str:
        """What a drawing of the tree rests on."""
        parts = self.setup.evidence, self.setup.backbone.engine.label, f"{self.shown.data} data", self.shown.task.id
        return " · ".join(parts)

    def rows(self) -> pd.DataFrame:
        """Both comparisons as a results table: OPEN and CLOSED, means over the orders of proposed actions."""
        backbone, evidence = self.setup.backbone.engine.label, self.setup.evidence
        whole = self.open["width"] == "all"  # first, since both games have these
        frames = (
            (OPEN, self.data, pd.concat([self.open[whole], self.open[~whole]])),
            (CLOSED, "synthetic", self.closed),
        )
        return tables.table(
            tables.row(_named(line), backbone, metric, line["outcomes"], evidence=evidence, n=line["n"],
                       source=f"this run, {data} data")
            for metric, data, frame in frames
            for line in frame.to_dict("records")
        )  # fmt: skip

    def answer(self) -> str:
        """What the search came to, and what each search took in both games."""
        goal, solved = self.shown.task.goal.strip().rstrip("."), "solved" if self.found.solved else "not solved"
        lines = [
            f"{goal} ({self.shown.data} data): {solved} in {len(self.found.actions)} actions, with "
            f"{self.found.outcomes} outcomes foreseen."
        ]
        for metric, frame in ((OPEN, self.open), (CLOSED, self.closed)):
            lines.append(f"{metric}, at most {self.budget}: {'; '.join(map(_sentence, frame.to_dict('records')))}.")
        return "\n".join(lines)

    def figures(self) -> dict[str, tuple[float, str]]:
        """What a reader checks: figure -> its value, and the data that it is of where that is fixed."""
        checked = {}
        for name, of, frame in (("", "", self.open), (", closed drawer", "synthetic", self.closed)):
            ours = frame[(frame["search"] == "StateFactory") & (frame["width"] == "all")]
            for how, line in zip(("tree search", "greedy"), ours.to_dict("records"), strict=True):
                checked[f"solved, {how}{name}"] = float(line["solved"]), of
                checked[f"outcomes foreseen, {how}{name}"] = float(line["outcomes"]), of
        others = self.open[self.open["search"] != "StateFactory"]
        checked["solved, placebo or breadth-first"] = float(others["solved"].max()), ""
        checked["reward at the end, synthetic game"] = round(float(self.trace["Reward"].iloc[-1]), 3), "synthetic"
        return checked


def searched(
    engine: str = "rules", proposer: Any = "valid", world_model: Any = "exact", data: str = "auto", task: str = "",
    closed: str = "alfworld-made-train-006", simulations: int = 12, budget: int = 300,
) -> Searches:  # fmt: skip
    """Play Table 17's game and the closed-drawer game, in two orders of the proposed actions.

    task, closed: ids of games, see `case`. Raises as `case`, Setup and Settings do, before any search.
    """
    setup, of, hidden = Setup(engine, {}, proposer, world_model), case(task, data), case(closed, "synthetic")
    shown = of if task else case(data="synthetic")
    narrow, wide = [Settings(simulations, width, steps=20) for width in (3, 8)], Settings(simulations, 0, steps=20)
    whole = [wide, replace(wide, simulations=1)]
    both = compared(of, setup, [*narrow, *whole], budget, 2), compared(hidden, setup, whole, budget, 2)
    return Searches(setup, shown, solve(shown, setup, wide), of.data, budget, *both)


def _named(line: Mapping[str, Any]) -> str:
    """What a search is called: who values the leaves, and how it looks for them."""
    if line["search"] == "breadth-first":
        return "breadth-first"
    return f"{line['search']}, " + ("greedy" if line["simulations"] == 1 else f"tree search, K = {line['width']}")


def _sentence(line: Mapping[str, Any]) -> str:
    return f"{_named(line)} {line['outcomes']:.0f} ({line['solved']:.0%} solved)"
