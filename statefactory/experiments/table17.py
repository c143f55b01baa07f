"""Table 17: one household task by tree search, step by step; and what other searches do with the same budget.

The world model is the world itself, and the proposer its list of valid actions: both are privileged, so that all of it
is simulated. No expert is asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.history import FINISHED
from agents.worlds.alfworld import household
from lab.models.connect import connected
from lab.results.exports import readable
from lab.results.text import shortened
from statefactory.benchmark.schema import Reward, Row, StepRecord
from statefactory.experiments.scoring import embedder_of
from statefactory.extraction import read_trace
from statefactory.planning.guides import AtRandom
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.mcts import Episode, Planner, Settings, plan
from statefactory.planning.paths import Path
from statefactory.planning.pool import Pool
from statefactory.planning.proposals import Listed
from statefactory.planning.world_models import Exact
from statefactory.predictors import Predictor
from statefactory.predictors.factored import StateFactory
from statefactory.walkthrough import walk
from worlds import alfworld
from worlds.base import task_of

if TYPE_CHECKING:
    import pandas as pd

# The released game with the disc on desk 2 and the lamp on desk 1, as in the paper's trace; and a made one.
TASKS = {"official": "alfworld-valid_unseen-009", "made": "alfworld-made-valid_unseen-006"}
EVIDENCE = "simulated"
UNCHANGED = "(unchanged)"
SETTINGS = Settings(simulations=12, width=0, steps=20)
Guide = Callable[[int], Predictor[Any]]  # seed -> what values the leaves


@dataclass(frozen=True)
class Case:
    """A game. data: "official" or "made"; seed: of the made ones."""

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


def predictor(engine: str = "rules", embedding: str = "all-MiniLM-L6-v2") -> StateFactory:
    """StateFactory with fragments as values, as Table 17 prints them."""
    return StateFactory(connected(engine), embedder_of(embedding), values="fragments")


def solve(of: Case, guide: Predictor[Any], settings: Settings = SETTINGS, seed: int = 0) -> Found:
    """Play the game by tree search. guide: values the leaves. seed: of the order in which actions are proposed."""
    pool, world = Pool(of.world, of.task), of.world()
    planner = Planner(Lookahead(guide, Exact(pool)), Listed(pool, seed), settings)
    try:
        episode = plan(household(world, of.task), of.task.goal, planner)
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


def compared(
    of: Case, guides: dict[str, Guide], settings: Sequence[Settings], budget: int, seeds: int = 3
) -> pd.DataFrame:
    """Searches with the same budget of foreseen outcomes: how often they solve the game, and what it takes them.

    guides: title -> what values the leaves. Each is tried with all the settings, and the seeds 0 to `seeds` - 1 decide
    in which order actions are proposed. Columns: search, width, simulations, solved (a share of the seeds), and means
    over the seeds: actions (of the solved ones), outcomes, world steps, world resets.
    """
    import pandas as pd

    searches: dict[tuple[str, Any, Any], Callable[[int], Found]] = {
        (title, each.width or "all", each.simulations): partial(_guided, of, guide, replace(each, outcomes=budget))
        for title, guide in guides.items() for each in settings
    }  # fmt: skip
    searches["breadth-first", "all", None] = lambda seed: breadth_first(of, budget, seed)
    lines = []
    for about, search in searches.items():
        found = [search(seed) for seed in range(seeds)]
        lengths = [len(each.actions) for each in found if each.solved]
        counted = ("solved", "outcomes", "steps", "resets")
        means = [sum(getattr(each, name) for each in found) / seeds for name in counted]
        lines.append([*about, means[0], sum(lengths) / len(lengths) if lengths else None, *means[1:], seeds, EVIDENCE])
    columns = ["search", "width", "simulations", "solved", "actions", "outcomes", "world steps", "world resets"]
    return pd.DataFrame(lines, columns=[*columns, "n", "evidence"])


def placebo(seed: int) -> AtRandom:
    """Random numbers as values."""
    return AtRandom(seed)


def _guided(of: Case, guide: Guide, settings: Settings, seed: int) -> Found:
    return solve(of, guide(seed), settings, seed)


def _row(of: Case, path: Path) -> Row:
    """The path as a trajectory, with the observation before any action as its first step."""
    steps = [("", path.first), *path.steps]
    unknown = Reward(0.0, 0.0, False)
    records = tuple(StepRecord(action, observation, unknown) for action, observation in steps)
    return Row(of.task.id, "alfworld", of.task.id, "positive", "tree search", of.data, of.seed, "", path.goal, records)
