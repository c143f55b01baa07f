"""Table 17: one household task by tree search, step by step; and what other searches do with the same budget.

With rules, the world model is the world itself and the proposer its list of valid actions: no agent has them, so that
all of it is simulated. Models can stand in for both. No expert is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agents.history import FINISHED
from agents.worlds.alfworld import NAME, TOOLS, household
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
from statefactory.planning.budget import Meter
from statefactory.planning.guides import AtRandom
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.mcts import Episode, Planner, Settings, plan
from statefactory.planning.paths import Path
from statefactory.planning.prompts import PREDICT
from statefactory.planning.proposals import PROPOSE, Listed
from statefactory.planning.world_models import Exact, Prompted
from statefactory.predictors import Predictor
from statefactory.predictors.factored import StateFactory
from statefactory.walkthrough import walk
from worlds import alfworld
from worlds.base import task_of
from worlds.pool import Pool

if TYPE_CHECKING:
    import pandas as pd

# The released game with the disc on desk 2 and the lamp on desk 1, as in the paper's trace; and a synthetic one.
TASKS = {"official": "alfworld-valid_unseen-009", "synthetic": "alfworld-made-valid_unseen-006"}
UNCHANGED = "(unchanged)"
SETTINGS = Settings(simulations=12, width=0, steps=20)
Guide = Callable[[int], Predictor[Any] | None]  # seed -> what values the leaves; None for StateFactory


@dataclass(frozen=True)
class Case:
    """A game. data: "official" or "synthetic"; seed: of the synthetic ones."""

    task: alfworld.HouseholdTask
    data: str
    seed: int = 0

    def world(self) -> alfworld.AlfWorld:
        """Another world, in which nobody plays yet."""
        return alfworld.load(self.data, self.seed)


class Found(NamedTuple):
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
    """The game of an id, by default Table 17's. Raises NoTask, ValueError for a split, MissingData."""
    world = alfworld.load(data, seed)
    id = task or TASKS[world.data]
    split = id.split("-")[-2] if id.count("-") > 1 else ""  # of "alfworld-valid_unseen-009"
    return Case(task_of(world.tasks(split), id), world.data, seed)


@dataclass(frozen=True)
class Setup:
    """Who answers in a search. engine: everyone that is asked; engines: who answers single operators instead.

    proposer, world_model: a model in place of the valid actions, and of the world itself. calls: of models in an
    episode; 0 for any number. embedding: of the states and goals that are compared.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict)
    proposer: Literal["valid", "model"] = "valid"
    world_model: Literal["exact", "model"] = "exact"
    calls: int = 0
    embedding: str = DEFAULT

    def __post_init__(self) -> None:
        """Raises ValueError for another word."""
        for name, words in (("proposer", ("valid", "model")), ("world_model", ("exact", "model"))):
            if getattr(self, name) not in words:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(words)}")

    @property
    def backbone(self) -> Backbone:
        """Raises as `connect` does, and UnknownOperator."""
        return connected(str(routed(self.engine, self.engines, (*EXTRACTING, PROPOSE, PREDICT), "Table 17")))

    @property
    def evidence(self) -> str:
        """Simulated where an answer is the world's own."""
        asks = self.proposer == self.world_model == "model"
        return self.backbone.engine.evidence if asks else tables.EVIDENCE[-1]

    def predictor(self, backbone: Backbone | None = None) -> StateFactory:
        """StateFactory with fragments as values, as Table 17 prints them."""
        return StateFactory(backbone or self.backbone, embedder_of(self.embedding), values="fragments")

    def planner(self, pool: Pool, settings: Settings, seed: int, guide: Predictor[Any] | None = None) -> Planner[Any]:
        """guide: values the leaves in the place of StateFactory. seed: of the order of valid actions."""
        meter = Meter(self.backbone, self.calls)
        world_model = Exact(pool) if self.world_model == "exact" else Prompted(meter, NAME, TOOLS)
        proposer = Listed(pool, seed) if self.proposer == "valid" else proposals.Prompted(meter, NAME, TOOLS)
        return Planner(Lookahead(guide or self.predictor(meter), world_model), proposer, settings, meter)


def solve(
    of: Case, setup: Setup = Setup(), settings: Settings = SETTINGS, seed: int = 0, guide: Predictor[Any] | None = None,
    kept: FilePath | None = None,
) -> Found:  # fmt: skip
    """Play the game by tree search. The arguments are those of `Setup.planner`; kept: see `plan`."""
    pool, world = Pool(of.world, of.task), of.world()
    try:
        planner = setup.planner(pool, settings, seed, guide)
        episode = plan(household(world, of.task), of.task.goal, planner, kept)
    finally:
        pool.close()
        world.close()
    solved = episode.history.end == FINISHED  # a game of ALFWorld ends when it is won
    return Found(solved, episode.path.actions, episode.outcomes, pool.steps, pool.resets, episode)


def breadth_first(of: Case, outcomes: int, seed: int = 0) -> Found:
    """All valid actions after all paths, the shortest first, until one ends the game or all outcomes were foreseen."""
    pool = Pool(of.world, of.task)
    proposer, world_model = Listed(pool, seed), Exact(pool)
    waiting, asked = deque([Path(of.task.goal, pool.at(()).text)]), 0
    solution: tuple[str, ...] = ()
    try:
        while waiting and not solution and asked < outcomes:
            path = waiting.popleft()
            for action in proposer.actions(path, outcomes - asked):
                [outcome] = world_model.outcomes(path, [action])
                asked += 1
                waiting.append(path.then(action, outcome.observation))
                if outcome.done:
                    solution = waiting[-1].actions
                    break
    finally:
        pool.close()
    return Found(bool(solution), solution, asked, pool.steps, pool.resets)


def trace(of: Case, found: Found, guide: StateFactory, width: int = 70) -> pd.DataFrame:
    """The steps that were taken, in Table 17's columns: of state and goal what the step changed, and the gain.

    The gain of the first step is over the state before it, which has no row. width: characters of a text.
    """
    assert found.episode is not None, "of a tree search"
    path, turns = found.episode.path, found.episode.history.turns
    observations = [observation for _, observation in path.steps]
    memories = guide.follow(path.goal, path.actions, observations, path.first)
    walked = walk(_row(of, path), read_trace(guide.result(memories)["trace"]), guide.embedder)
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


GUIDES: Mapping[str, Guide] = {"StateFactory": lambda seed: None, "random values": AtRandom}


def compared(
    of: Case, setup: Setup, settings: Sequence[Settings], budget: int, seeds: int = 3,
    guides: Mapping[str, Guide] = GUIDES,
) -> pd.DataFrame:  # fmt: skip
    """Searches with the same budget of foreseen outcomes: how often they solve the game, and what it takes them.

    guides: title -> what values the leaves. Each is tried with all the settings, and the seeds 0 to `seeds` - 1 decide
    in which order actions are proposed. Columns: search, width, simulations, solved (a share of the seeds), and means
    over the seeds: actions (of the solved ones), outcomes, world steps, world resets.
    """
    import pandas as pd

    searches: dict[tuple[str, Any, Any], Callable[[int], Found]] = {
        (title, each.width or "all", each.simulations): partial(
            _guided, of, setup, replace(each, outcomes=budget), guide
        ) for title, guide in guides.items() for each in settings
    }  # fmt: skip
    searches["breadth-first", "all", None] = lambda seed: breadth_first(of, budget, seed)
    lines = []
    for about, search in searches.items():
        found = [search(seed) for seed in range(seeds)]
        lengths = [len(each.actions) for each in found if each.solved]
        counted = ("solved", "outcomes", "steps", "resets")
        means = [sum(getattr(each, name) for each in found) / seeds for name in counted]
        length = sum(lengths) / len(lengths) if lengths else None
        lines.append([*about, means[0], length, *means[1:], seeds, setup.evidence])
    columns = ["search", "width", "simulations", "solved", "actions", "outcomes", "world steps", "world resets"]
    return pd.DataFrame(lines, columns=[*columns, "n", "evidence"])


def _guided(of: Case, setup: Setup, settings: Settings, guide: Guide, seed: int) -> Found:
    return solve(of, setup, settings, seed, guide(seed))


def _row(of: Case, path: Path) -> Row:
    """The path as a trajectory, with the observation before any action as its first step."""
    steps = [("", path.first), *path.steps]
    unknown = Reward(0.0, 0.0, False)
    records = tuple(StepRecord(action, observation, unknown) for action, observation in steps)
    return Row(of.task.id, "alfworld", of.task.id, "positive", "tree search", of.data, of.seed, "", path.goal, records)
