"""Table 17: one household task solved by tree search, step by step, and other searches with the same budget.

With rules, the world model is the world itself and the proposer its list of valid actions. No agent has these, so the
results are simulated. Models can replace both. No expert is used.
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

# The released game with the disc on desk 2 and the lamp on desk 1, as in the paper's trace, and a synthetic game.
TASKS = {"official": "alfworld-valid_unseen-009", "synthetic": "alfworld-made-valid_unseen-006"}
UNCHANGED = "(unchanged)"
SETTINGS = Settings(simulations=12, width=0, steps=20)


@dataclass(frozen=True)
class Case:
    """A game. data: "official" or "synthetic"."""

    task: alfworld.HouseholdTask
    data: str

    def world(self) -> alfworld.AlfWorld:
        """Open a new world."""
        return alfworld.load(self.data)


class SearchResult(NamedTuple):
    """Result of a search.

    actions: those taken by a tree search; for breadth-first search, which takes none, those that solve the task, or ().
    outcomes: number of predicted outcomes. steps, resets: of the world, to predict them. episode: of a tree search.
    """

    solved: bool
    actions: tuple[str, ...]
    outcomes: int
    steps: int
    resets: int
    episode: Episode | None = None


def case(task: str = "", data: str = "auto") -> Case:
    """Look up a game by id, by default Table 17's. Raises LookupError listing the valid ids, and MissingData."""
    world = alfworld.load(data)
    id = task or TASKS[world.data]
    split = id.split("-")[-2] if id.count("-") > 1 else ""  # of "alfworld-valid_unseen-009"
    if split not in world.splits:
        ranges = (f"{tasks[0].id} to {tasks[-1].id}" for tasks in map(world.tasks, world.splits))
        raise LookupError(f"ALFWorld has no {world.data} game {id!r}; choose one of {', '.join(ranges)}")
    return Case(task_of(world.tasks(split), id), world.data)


@dataclass(frozen=True)
class Setup:
    """Engines of a search. engine: answers all prompts. engines: operator -> engine that replaces it.

    proposer: "model" replaces the list of valid actions. world_model: "model" replaces the world itself.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict)
    proposer: Literal["valid", "model"] = "valid"
    world_model: Literal["exact", "model"] = "exact"

    def __post_init__(self) -> None:
        """Raises Mismatch for an invalid value."""
        check_fields(self)

    @cached_property
    def backbone(self) -> Backbone:
        """The backbone of these engines. Raises as `connect`, and BadEngine."""
        return connected(str(routed(self.engine, self.engines, (*EXTRACTING, PROPOSE, PREDICT), "Table 17")))

    @property
    def evidence(self) -> str:
        """The engines' evidence; "simulated" if the world itself proposes actions or predicts outcomes."""
        asks = self.proposer == self.world_model == "model"
        return self.backbone.engine.evidence if asks else "simulated"

    @property
    def widest(self) -> int:
        """The largest width of a search: 0 for all valid actions; a model proposes at most MOST_PROPOSED."""
        return 0 if self.proposer == "valid" else proposals.MOST_PROPOSED

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

    seed: of the order of valid actions. guide: values the leaves, by default StateFactory.
    """
    pool, world, meter = Pool(case.world, case.task), case.world(), Meter(setup.backbone)
    prompt_arguments = (meter, ALFWORLD.name, ALFWORLD.tools)
    world_model = Exact(pool) if setup.world_model == "exact" else Prompted(*prompt_arguments)
    proposer = Listed(pool, seed) if setup.proposer == "valid" else proposals.Prompted(*prompt_arguments)
    planner = Planner(Lookahead(guide or setup.predictor(meter), world_model), proposer, settings, meter)
    with closing(pool), closing(world):
        episode = plan(ALFWORLD.environment(world, case.task), case.task.goal, planner)
    solved = episode.history.end == FINISHED  # an ALFWorld game ends when it is won
    return SearchResult(solved, episode.path.actions, episode.outcomes, pool.steps, pool.resets, episode)


def breadth_first(case: Case, outcomes: int, seed: int = 0) -> SearchResult:
    """Breadth-first search over valid actions, until one ends the game or the budget of outcomes is used."""
    with closing(Pool(case.world, case.task)) as pool:
        proposer, waiting = Listed(pool, seed), deque([Path(case.task.goal, pool.at(()).text)])
        predicted = 0
        while waiting and predicted < outcomes:
            path = waiting.popleft()
            for action in proposer.actions(path, outcomes - predicted):
                predicted += 1
                step = pool.at((*path.actions, action))
                waiting.append(path.then(action, step.text))
                if step.done:
                    return SearchResult(True, waiting[-1].actions, predicted, pool.steps, pool.resets)
        return SearchResult(False, (), predicted, pool.steps, pool.resets)


def trace(case: Case, result: SearchResult, guide: StateFactory, width: int = 70) -> pd.DataFrame:
    """The steps taken, in Table 17's columns. State and goal show what the step changed.

    The first step's gain is over s_0, which has no row. width: characters of a text.
    """
    assert result.episode is not None, "of a tree search"
    path, turns = result.episode.path, result.episode.history.turns
    observations = [observation for _, observation in path.steps]
    memories = guide.follow(path.goal, path.actions, observations, path.first)
    walked = walk(_row(case, path), read_trace(guide.result(memories)["trace"]), guide.embedder)
    steps = range(2, len(walked) + 1)  # step 1 is s_0, before any action
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
    """Compare searches with the same budget of predicted outcomes: success and costs.

    The placebo has random values at the leaves. Seeds 0 to `seeds` - 1 shuffle the order of proposed actions.
    Columns: search, width, simulations, solved (share of seeds), and means over seeds: actions (of solved ones),
    outcomes, world steps, world resets.
    """
    searches: dict[tuple[str, Any, Any], list[SearchResult]] = {}
    for title in ("StateFactory", "random values"):
        for search_settings in settings:
            limited = replace(search_settings, outcomes=budget)
            searches[title, search_settings.width or "all", search_settings.simulations] = [
                solve(case, setup, limited, seed, AtRandom(seed) if title == "random values" else None)
                for seed in range(seeds)
            ]
    searches["breadth-first", "all", None] = [breadth_first(case, budget, seed) for seed in range(seeds)]
    rows = []
    for key, results in searches.items():
        lengths = [len(result.actions) for result in results if result.solved]
        solved, length = fmean(result.solved for result in results), fmean(lengths) if lengths else None
        means = (fmean(getattr(result, name) for result in results) for name in ("outcomes", "steps", "resets"))
        rows.append([*key, solved, length, *means, seeds, setup.evidence])
    columns = ["search", "width", "simulations", "solved", "actions", "outcomes", "world steps", "world resets"]
    return pd.DataFrame(rows, columns=[*columns, "n", "evidence"])


def _row(case: Case, path: Path) -> Row:
    """The path as a trajectory, with s_0's observation as its first step."""
    steps = [("", path.first), *path.steps]
    unknown = Reward(0.0, 0.0, False)
    records = tuple(StepRecord(action, observation, unknown) for action, observation in steps)
    return Row(case.task.id, "alfworld", case.task.id, "positive", "tree search", case.data, 0, "", path.goal, records)


OPEN, CLOSED = "outcomes foreseen", "outcomes foreseen, closed drawer"  # metrics; the full budget if unsolved


@dataclass(frozen=True)
class Searches:
    """A tree search step by step on one game, and all searches under one budget on two games.

    shown, found: the game of the step-by-step search, and its result. open: `compared` on Table 17's game, from `data`.
    closed: `compared` for searches over all valid actions, on a synthetic game whose object is in a closed drawer.
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
        """The step-by-step search in Table 17's columns."""
        return trace(self.shown, self.found, self.setup.predictor()).assign(evidence=self.setup.evidence)

    @property
    def note(self) -> str:
        """Evidence, engine and data of the search, for the figure of its tree."""
        parts = self.setup.evidence, self.setup.backbone.engine.label, f"{self.shown.data} data", self.shown.task.id
        return " · ".join(parts)

    def rows(self) -> pd.DataFrame:
        """Both comparisons as a results table: OPEN and CLOSED, means over the orders of proposed actions."""
        backbone, evidence = self.setup.backbone.engine.label, self.setup.evidence
        all_actions = self._widest(self.open)  # these searches come first, since both games have them
        frames = (
            (OPEN, self.data, pd.concat([self.open[all_actions], self.open[~all_actions]])),
            (CLOSED, "synthetic", self.closed),
        )
        return tables.table(
            tables.row(_named(line), backbone, metric, line["outcomes"], evidence=evidence, n=line["n"],
                       source=f"this run, {data} data")
            for metric, data, frame in frames
            for line in frame.to_dict("records")
        )  # fmt: skip

    def answer(self) -> str:
        """Sentences on the result of the step-by-step search, and on all searches in both games."""
        goal, solved = self.shown.task.goal.strip().rstrip("."), "solved" if self.found.solved else "not solved"
        lines = [
            f"{goal} ({self.shown.data} data): {solved} in {len(self.found.actions)} actions, with "
            f"{self.found.outcomes} outcomes foreseen."
        ]
        for metric, frame in ((OPEN, self.open), (CLOSED, self.closed)):
            lines.append(f"{metric}, at most {self.budget}: {'; '.join(map(_sentence, frame.to_dict('records')))}.")
        return "\n".join(lines)

    def _widest(self, frame: pd.DataFrame) -> pd.Series:
        """Whether a line's search is over as many actions as the proposer gives."""
        return frame["width"] == (self.setup.widest or "all")

    def figures(self) -> dict[str, tuple[float, str]]:
        """Numbers to check: name -> (value, data that it requires, or "")."""
        checked = {}
        for suffix, required_data, frame in (("", "", self.open), (", closed drawer", "synthetic", self.closed)):
            statefactory = frame[(frame["search"] == "StateFactory") & self._widest(frame)]
            for kind, line in zip(("tree search", "greedy"), statefactory.to_dict("records"), strict=True):
                checked[f"solved, {kind}{suffix}"] = float(line["solved"]), required_data
                checked[f"outcomes foreseen, {kind}{suffix}"] = float(line["outcomes"]), required_data
        baselines = self.open[self.open["search"] != "StateFactory"]
        checked["solved, placebo or breadth-first"] = float(baselines["solved"].max()), ""
        checked["reward at the end, synthetic game"] = round(float(self.trace["Reward"].iloc[-1]), 3), "synthetic"
        return checked


def searched(
    engine: str = "rules", proposer: Any = "valid", world_model: Any = "exact", data: str = "auto", task: str = "",
    closed: str = "alfworld-made-train-006", simulations: int = 12, budget: int = 300,
) -> Searches:  # fmt: skip
    """Search Table 17's game and the closed-drawer game, with two orders of the proposed actions.

    task, closed: ids of games, see `case`. Raises as `case`, `Setup` and `Settings`, before any search starts.
    """
    setup, main, drawer = Setup(engine, {}, proposer, world_model), case(task, data), case(closed, "synthetic")
    stepwise = main if task else case(data="synthetic")
    limited, unlimited = (
        [Settings(simulations, width, steps=20) for width in (3, 8)],
        Settings(simulations, setup.widest, steps=20),
    )
    full = [unlimited, replace(unlimited, simulations=1)]
    comparisons = compared(main, setup, [*limited, *full], budget, 2), compared(drawer, setup, full, budget, 2)
    return Searches(setup, stepwise, solve(stepwise, setup, unlimited), main.data, budget, *comparisons)


def _named(line: Mapping[str, Any]) -> str:
    """A search's name: the value function and the kind of search."""
    if line["search"] == "breadth-first":
        return "breadth-first"
    return f"{line['search']}, " + ("greedy" if line["simulations"] == 1 else f"tree search, K = {line['width']}")


def _sentence(line: Mapping[str, Any]) -> str:
    return f"{_named(line)}: {line['outcomes']:.0f} ({line['solved']:.0%} solved)"
