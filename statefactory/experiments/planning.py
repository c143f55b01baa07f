"""Table 2: agents that are shown rewards beside agents that are not, on the same tasks (§4.4, Appendix C.6).

An episode is one method on one task. Who foresees what a candidate leads to stands beside each number: with the exact
world model, the world itself tried out, all predictors are told what is true, and no agent is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from agents.environment import Environment
from agents.experiments import acting_scienceworld, acting_worlds
from agents.experiments.acting import Acting
from agents.experiments.worlds import of_thread
from agents.history import ACT, History
from agents.play import Settings
from agents.stand_in import knowing
from lab.models.backbone import Backbone, Ledger
from lab.models.connect import connected
from lab.models.engines import ORACLE, parse
from lab.results import tables
from lab.results.outcomes import Judged
from lab.runs import collecting, contest, recordings
from lab.runs.contest import Contest, Entry, entry
from lab.runs.experiment import BadSetting
from lab.runs.run import Episode
from statefactory.experiments.predictions import EXTRACTING, INSTRUCTIONS, JUDGING
from statefactory.planning.guides import Actions, AtRandom, Oracle, nearer
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.paths import Path
from statefactory.planning.pool import Pool
from statefactory.planning.prompts import CHOOSE, PREDICT
from statefactory.planning.rewarded import FEWEST, K, rewarded
from statefactory.planning.stand_in import further
from statefactory.planning.world_models import Exact, Prompted
from statefactory.predictors import METHODS as PREDICTORS
from statefactory.predictors import Given, Predictor
from statefactory.predictors.monotonic import Monotonic
from worlds.base import NoSolution

if TYPE_CHECKING:
    import pandas as pd

SUCCESS = "success"
PENALTY = 0.05  # lambda of Eq. 15, see `Lookahead`
WorldModel = Literal["exact", "prompted"]
Progress = Callable[[Actions], float]


class Method(NamedTuple):
    """A row of Table 2. predictor: of `statefactory.predictors.METHODS`, or one that `Guided.predictor` knows; "" for
    none. operators: that it asks. penalised: whether repetitions are.
    """

    predictor: str = ""
    operators: tuple[str, ...] = ()
    penalised: bool = True


REACT, STATEFACTORY, JUDGE, LEARNED = "ReAct", "ReAct + StateFactory", "ReAct + judge", "ReAct + learned reward"
METHODS = {
    REACT: Method(),
    STATEFACTORY: Method("statefactory", EXTRACTING),
    JUDGE: Method("judge_analytic", JUDGING),
    LEARNED: Method("learned"),
    "ReAct + oracle": Method("oracle"),  # the ceiling
    "ReAct + random": Method("random"),  # placebos from here on: as many questions, and nothing known
    "ReAct + constant": Method("constant", penalised=False),
    "ReAct + penalty alone": Method("constant"),
}
ADAPTER = "all"  # the learned reward model: the one that was trained on all worlds


@dataclass(frozen=True, kw_only=True)
class Guided(Acting):
    """ReAct on a world, as C.6.1 has it or with rewards. agent is ReAct in any case.

    guided: a key of METHODS. world_model: who foresees; "exact" is privileged. penalty: lambda of Eq. 15. `settings`
    caps an episode's calls at twice its steps for each question of a turn, unless it says otherwise.
    """

    guided: str = REACT
    world_model: WorldModel = "exact"
    penalty: float = PENALTY

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    name: ClassVar[str]
    worlds_at_once: ClassVar[int] = 6  # of the pool; at least the candidates and the path itself

    @abstractmethod
    def world(self) -> Any: ...

    @abstractmethod
    def opened(self) -> Any: ...

    @abstractmethod
    def named(self, task: str) -> Any: ...

    @abstractmethod
    def progress(self, task: Any, pool: Pool) -> Progress:
        """The true progress after some actions, in [0, 1]; privileged."""

    @property
    def by(self) -> Method:
        """Raises BadSetting for a method that there is not."""
        if self.guided not in METHODS:
            raise BadSetting(f"guided={self.guided!r}: choose one of {', '.join(METHODS)}")
        return METHODS[self.guided]

    def operators(self) -> tuple[str, ...]:
        foreseen = (PREDICT,) if self.world_model == "prompted" else ()
        return (CHOOSE, ACT, *self.by.operators, *foreseen) if self.by.predictor else (ACT,)

    def capped(self) -> Settings:
        """The settings with the cap of calls: what twice as many turns as steps would take."""
        most = K.get(self.name, FEWEST)
        foreseen = most * (self.world_model == "prompted")
        questions = 2 + (most + 1) * len(self.by.operators) + foreseen if self.by.predictor else 1
        return replace(self.settings, calls=self.settings.calls or 2 * self.settings.steps * questions)

    def episode(
        self, task: str, ledger: Ledger, watch: Callable[[History], None] = lambda history: None
    ) -> tuple[History, dict[str, Any]]:
        """See `Acting.episode`; with rewards, the same stand-in answers, and `further` prompts."""
        if not self.by.predictor:
            return super().episode(task, ledger, watch)
        # Before the episode begins, in the world that all three may share.
        expert = self.expert(task) if parse(self.engine).of(ACT).name == ORACLE else None
        path, environment, settings = self.begun(task), self.environment(task), self.capped()
        looking = partial(self.looking, task, environment)
        known = further(environment.name, connected(self.engine), settings.schema) if expert else {}
        with knowing(environment, expert, known) if expert else nullcontext():
            history = rewarded(environment, ledger, looking, path, settings=settings, watch=watch)
        return history, environment.result()

    def begun(self, task: str) -> Path:
        """What a predictor is told before any action."""
        given = self.named(task)
        first = self.world().reset(given)
        return Path(first.facts.get("goal", given.goal), first.text)

    def looking(self, task: str, environment: Environment, backbone: Backbone) -> Lookahead[Any]:
        """The predictor with its world model. The pool's worlds stay open for the thread's next episode."""
        key = ("pool", type(self).__qualname__, self.data, self.seed)
        pool = of_thread(key, lambda: Pool(self.opened, None, self.worlds_at_once)).on(self.named(task))
        exact = self.world_model == "exact"
        model = Exact(pool) if exact else Prompted(backbone, self.name, environment.tools)
        return Lookahead(self.predictor(task, pool, backbone), model, self.penalty * self.by.penalised)

    def predictor(self, task: str, pool: Pool, backbone: Backbone) -> Predictor[Any]:
        """What rates candidates. Raises what the oracle's planner raises, and MissingBackbone."""
        match self.by.predictor:
            case "oracle":
                return Oracle(self.progress(self.named(task), pool))
            case "random":
                return AtRandom(self.seed)
            case "constant":
                return Monotonic(self.settings.steps)
            case "learned":
                from statefactory.reward_models.adapters import SHIPPED
                from statefactory.reward_models.predictor import LearnedReward

                return LearnedReward(SHIPPED / ADAPTER)
            case name:
                return PREDICTORS[name].make(backbone, Given(INSTRUCTIONS.get(self.name, "")))

    def judged(self, episode: Episode) -> Judged:
        """Success: whether the full score was reached."""
        judged = super().judged(episode)
        return judged._replace(score=float((judged.score or 0.0) >= 1))


@dataclass(frozen=True, kw_only=True)
class BlocksWorld(acting_worlds.BlocksWorld, Guided):
    """The oracle counts the steps of a shortest plan from where the blocks are."""

    listed: bool = True

    method: ClassVar[str] = "planning-blocksworld"
    metric: ClassVar[str] = SUCCESS

    def progress(self, task: Any, pool: Pool) -> Progress:
        from worlds.blocksworld.expert import state_after, steps_left

        problem = task.problem
        at_first = steps_left(problem, problem.start)
        return lambda actions: nearer(steps_left(problem, state_after(problem, actions)), at_first)


@dataclass(frozen=True, kw_only=True)
class AlfWorld(acting_worlds.AlfWorld, Guided):
    """The oracle counts the steps of a plan from the facts of the game."""

    listed: bool = True

    method: ClassVar[str] = "planning-alfworld"
    metric: ClassVar[str] = SUCCESS

    def progress(self, task: Any, pool: Pool) -> Progress:
        """Raises NoSolution for a game that the planner cannot solve."""
        from worlds.alfworld.expert import steps_left

        at_first = steps_left(pool.world(()), task)
        if at_first is None:
            raise NoSolution(f"the planner finds no way to solve {task.id}, so its progress is not known")

        def reached(actions: Actions) -> float:
            if pool.at(actions).done:
                return 1.0
            left = steps_left(pool.world(actions), task)
            return 0.0 if left is None else nearer(left, at_first)

        return reached


@dataclass(frozen=True, kw_only=True)
class ScienceWorld(acting_scienceworld.Setup, Guided):
    """The oracle is the world's own score. No points are told: what a step is worth is the predictor's to say."""

    settings: Settings = Settings(steps=50)
    lengths: tuple[str, ...] = ("short",)
    listed: bool = True
    points: bool = False

    name: ClassVar[str] = "scienceworld"
    method: ClassVar[str] = "planning-scienceworld"
    metric: ClassVar[str] = SUCCESS
    worlds_at_once: ClassVar[int] = 2  # each is a Java process, and to replay takes it most of a second

    def progress(self, task: Any, pool: Pool) -> Progress:
        return lambda actions: pool.at(actions).score


WORLDS: Mapping[str, Any] = {"AlfWorld": AlfWorld, "BlocksWorld": BlocksWorld, "ScienceWorld": ScienceWorld}

# Tasks by world where the limit is -1; 0 for all. Of official data as many as show the paper's differences, but for
# ScienceWorld, where a candidate costs a replay in a Java process.
SLICES: Mapping[str, Mapping[str, int]] = {
    "made": {"AlfWorld": 6, "BlocksWorld": 20, "ScienceWorld": 1},
    "official": {"AlfWorld": 0, "BlocksWorld": 100, "ScienceWorld": 20},
}


@dataclass(frozen=True, kw_only=True)
class Planning(Contest):
    """Methods on the tasks of some worlds; those that cannot be played here are left out, see `left_out`.

    datasets: of WORLDS. methods: of METHODS. limits: tasks by world, in place of `limit`, which is -1 for those of
    SLICES. world_model, penalty: see
    `Guided`. steps: the cap of an episode. schema: bind answers to a schema, in place of free text.
    """

    engine: str = f"{ORACLE}@0.6"
    datasets: tuple[str, ...] = ("AlfWorld", "BlocksWorld")
    methods: tuple[str, ...] = tuple(METHODS)
    limits: Mapping[str, int] = field(default_factory=dict)
    world_model: WorldModel = "exact"
    penalty: float = PENALTY
    steps: int = 50
    schema: bool = False

    method: ClassVar[str] = "statefactory-planning"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "statefactory")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "limits", "datasets", "methods")
    metric: ClassVar[str] = SUCCESS
    processes: ClassVar[int] = 1

    def decided(self) -> Planning:
        """With `data` and the methods that can be played decided. Raises BadSetting where there is none."""
        missing = left_out(self)
        methods = tuple(name for name in self.methods if name not in missing)
        if not methods:
            raise BadSetting(f"methods={self.methods}: none of them can be played; {'; '.join(missing.values())}")
        found = {self.part(dataset, methods[0]).decided().data for dataset in self.datasets}
        data = "official" if found == {"official"} else "made"
        if self.limit >= 0:
            return replace(self, methods=methods, data=data)
        limits = {dataset: self.limits.get(dataset, SLICES[data][dataset]) for dataset in self.datasets}
        return replace(self, methods=methods, data=data, limits=limits, limit=0)

    def part(self, dataset: str, method: str) -> Any:
        if dataset not in WORLDS or method not in METHODS:
            known = f"datasets of {', '.join(WORLDS)} and methods of {', '.join(METHODS)}"
            raise BadSetting(f"{method!r} on {dataset!r}: choose {known}")
        return WORLDS[dataset](
            engine=self.engine, data=self.data, seed=self.seed, limit=self.limits.get(dataset, self.limit),
            guided=method, world_model=self.world_model, penalty=self.penalty,
            settings=Settings(steps=self.steps, schema=self.schema),
        )  # fmt: skip


def by_rules(methods: Sequence[str]) -> dict[str, str]:
    """Engines by operator for `engines`, where an expert acts: rules answer the predictors that they can answer."""
    asked = {operator for name in methods for operator in METHODS[name].operators}
    return {operator: "rules" for operator in EXTRACTING if operator in asked}


def left_out(setup: Planning) -> dict[str, str]:
    """The methods of a contest that cannot be played here, with the reason."""
    found = {}
    if JUDGE in setup.methods and parse(setup.engine).of(JUDGING[0]).by_rules:
        found[JUDGE] = f"no rule judges progress: name a model, as in engines={{{JUDGING[0]!r}: 'local'}}"
    if LEARNED in setup.methods and (reason := no_reward_model()):
        found[LEARNED] = reason
    return found


def no_reward_model() -> str:
    """Why the trained reward model cannot be played here; "" where it can."""
    if lacking := [name for name in ("torch", "transformers", "peft") if not find_spec(name)]:
        return f"a learned reward needs {', '.join(lacking)}; see the README"
    from statefactory.reward_models import adapters, backbones

    try:
        backbones.located(adapters.read(adapters.SHIPPED / ADAPTER).recipe.base)
    except (adapters.UnusableAdapter, backbones.MissingBackbone) as error:
        return str(error)
    return ""


Results = contest.Results[Planning]


def collect(setup: Planning, workers: int = 0, cluster: str = "", **options: Any) -> Results:
    """`lab.runs.collecting.collect` of methods side by side, with its arguments."""
    return collecting.collect(setup, contest.Results, workers, cluster, **options)


def metric(dataset: str) -> str:
    """As `data/published/statefactory_tables.csv` has it."""
    return f"Success rate, {dataset}"


def frame(results: Results) -> pd.DataFrame:
    """A results table: the success rate of each method in percent, with its Wilson interval."""
    return tables.table(_row(results, dataset, method) for dataset, method in results.parts)


def _row(results: Results, dataset: str, method: str) -> tables.Row:
    setup, scores = results.setup, results.scores(dataset, method)
    # Whoever acts: the true progress is knowledge that no agent has.
    evidence = "simulated" if METHODS[method].predictor == "oracle" else results.evidence
    told = {"exact": "exact world model (privileged)", "prompted": "prompted world model"}[setup.world_model]
    source = f"this run, {setup.data} data" + (f", {told}" if METHODS[method].predictor else "")
    outcomes = results.outcomes(str(Entry(dataset, method, task)) for task in scores)
    return tables.rate_row(
        method, results.backbone, metric(dataset), int(sum(scores.values())), len(scores), evidence, source, outcomes
    )  # fmt: skip


def with_published(results: Results) -> pd.DataFrame:
    """The paper's rows, the run's, and those of recordings by other backbones."""
    import pandas as pd

    known = recordings.rows(Planning.method)
    known = known[~known["backbone"].isin([results.backbone])]
    return pd.concat([tables.published("Table 2", "statefactory"), frame(results), known], ignore_index=True)


def comparisons(results: Results) -> pd.DataFrame:
    """Each method less plain ReAct on the same tasks (see `lab.runs.contest.comparisons`); the paper claims one."""
    return contest.comparisons(results, REACT, [name for name in METHODS if name != STATEFACTORY], claimed=1)


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by world, method and operator."""
    return collecting.costs(results, lambda task: {"world": entry(task).dataset, "method": entry(task).method})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))
