"""No operator of the normal loop can reach the history: by its signature, and by what its arguments lead to."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import pytest

from cellar import Cellar, CellarAdapter
from lab.models.backbone import Ledger
from lab.models.connect import connect
from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, rolls
from sdp.adapters.facts import FactsAdapter
from sdp.adapters.multihop.adapter import MultiHopAdapter
from sdp.adapters.scienceworld.adapter import ScienceWorldAdapter
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.experiments.multihop import MuSiQue
from sdp.loop import Settings, _Log, run_episode
from sdp.operators import Adapter
from sdp.trajectory import Attempt, Plan, Predicate, Trajectory, Transition
from travel_episodes import LISTINGS_0, TASKS
from worlds.travelplanner.world import TravelPlanner

READS = {
    "start": [],
    "propose": ["state", "goal", "planned"],
    "view": [],
    "realize": ["state", "target", "failures", "view"],
    "act": ["action"],
    "ended": ["observation"],
    "validate": ["tail", "observation", "failures"],
    "advance": ["state", "certified", "observation"],
    "replan": ["state", "goal", "trajectory", "view"],
    "finalize": ["state", "goal", "trajectory", "view"],
}
HISTORY = (Trajectory, Plan, Transition, _Log)
ADAPTERS = [
    Adapter, FactsAdapter, TravelPlannerAdapter, MultiHopAdapter, ScienceWorldAdapter, CorridorAdapter, CellarAdapter,
]  # fmt: skip


class Leak(AssertionError):
    """An operator could have read the history."""


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("operator", READS)
def test_each_operator_takes_what_definition_1_gives_it_and_no_more(adapter: type, operator: str) -> None:
    parameters = inspect.signature(getattr(adapter, operator)).parameters
    assert list(parameters) == ["self", *READS[operator]]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters.values())


def reachable(roots: Iterable[Any], known: frozenset[int] = frozenset()) -> list[Any]:
    """Every object that code holding `roots` can reach through references; `known` ids are not looked into.

    Modules and classes are shared by all code, and so are a function's globals: of functions, only what they closed
    over and their defaults count.
    """
    queue, seen, found = list(roots), set(known), []
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, (ModuleType, type)):
            continue
        seen.add(id(thing))
        found.append(thing)
        if isinstance(thing, FunctionType):
            queue += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        else:
            queue += gc.get_referents(thing)
    return found


BEYOND = ("replan", "finalize")  # they are given the trajectory
FAILURES = {"realize": 2, "validate": 2}  # which of their arguments are attempts that they may read


class Watched:
    """An adapter between the loop and another, which looks at what each operator could reach; all but `start` and `act`
    are counted.
    """

    def __init__(self, inner: Any, known: frozenset[int] = frozenset()) -> None:
        self.inner, self.known, self.calls = inner, known, dict[str, int]()

    def __getattr__(self, name: str) -> Any:
        operator = getattr(self.inner, name)
        if name in ("start", "act"):
            return operator

        def watched(*arguments: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            if name in BEYOND:
                held = reachable(arguments, self.known)
                assert any(isinstance(thing, Attempt) for thing in held), f"{name} cannot reach the attempts"
                return operator(*arguments)
            allowed = {id(attempt) for attempt in (arguments[FAILURES[name]] if name in FAILURES else ())}
            for thing in reachable([operator, *arguments], self.known):
                if isinstance(thing, HISTORY) or (isinstance(thing, Attempt) and id(thing) not in allowed):
                    raise Leak(f"{name} can reach {type(thing).__name__}")
            return operator(*arguments)

        return watched


def test_no_operator_of_the_corridor_can_reach_the_history() -> None:
    watched = Watched(CorridorAdapter(Corridor(4, rolls(3, (0, 0, 1)))))
    trajectory = run_episode("walk", watched, Settings(budget=1, step_cap=60))
    assert trajectory.reached_goal and trajectory.replans
    assert all(watched.calls[name] for name in ("propose", "realize", "validate", "advance", "replan"))


def test_no_operator_of_the_cellar_can_reach_the_history() -> None:
    watched = Watched(CellarAdapter(Cellar([0, 0, 2, 0, 0, 0, 1, 0, 0], wanted=9)))
    trajectory = run_episode("search", watched, Settings(budget=1, step_cap=8))
    assert trajectory.forced and trajectory.replans and trajectory.transitions
    assert all(watched.calls[name] for name in READS if name not in ("start", "act"))


@dataclass(frozen=True)
class Remembering(CorridorAdapter):
    """Keeps what Replan was given."""

    memory: list[Any] = field(default_factory=list)

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        self.memory.append(trajectory)
        return super().replan(state, goal, trajectory, view)


@dataclass(frozen=True)
class Hoarding(CorridorAdapter):
    """Keeps the failures of earlier targets, where only a closure holds them."""

    keep: Callable[[Sequence[Attempt]], None] = print

    def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        self.keep(failures)
        return super().realize(state, target, failures, view)


def hoard() -> Callable[[Sequence[Attempt]], None]:
    kept: list[Attempt] = []
    return kept.extend


def closed_over() -> Callable[[Sequence[Attempt]], None]:
    kept: list[Attempt] = []

    def keep(failures: Sequence[Attempt]) -> None:
        kept.extend(failures)

    return keep


@pytest.mark.parametrize(
    "leaky",
    [Remembering(Corridor(4, [])), Hoarding(Corridor(4, []), hoard()), Hoarding(Corridor(4, []), closed_over())],
    ids=["remembers Replan's trajectory", "hoards failures in a bound method", "hoards failures in a closure"],
)
def test_the_check_catches_an_adapter_that_keeps_history(leaky: CorridorAdapter) -> None:
    leaky.world._dice = iter([0, 0, 1, 0, 1, 1, 1])
    with pytest.raises(Leak):
        run_episode("walk", Watched(leaky), Settings(budget=0))


def test_the_check_catches_a_state_that_carries_the_history() -> None:
    @dataclass(frozen=True)
    class Loaded(CorridorAdapter):
        def advance(self, state: Walker, certified: Sequence[Predicate], observation: str) -> Walker:
            return Diary(2, Attempt(0, 0, 0, 0, "", "", "", "", 1, ""))

    @dataclass(frozen=True)
    class Diary(Walker):
        read: Attempt

    with pytest.raises(Leak, match="realize can reach Attempt"):
        run_episode("walk", Watched(Loaded(Corridor(4, [1, 1, 1, 1]))))


@pytest.fixture(scope="module")
def desk() -> TravelPlanner:
    return TravelPlanner(LISTINGS_0, {})


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Policy(), Policy(undo=3), Policy(cities="propose")], ids=str)
def test_no_operator_of_travelplanner_can_reach_the_history(policy: Policy, desk: TravelPlanner) -> None:
    # The tables hold no history before the episode, and are looked into again after it.
    tables = frozenset(id(thing) for thing in reachable([desk.listings]))
    met = dict.fromkeys(READS, 0)
    for task in TASKS[30:45:5]:
        ledger = Ledger(connect("rules@0.1"), record=True)  # mistakes enough for Replan to be needed
        watched = Watched(TravelPlannerAdapter(task, desk, ledger, policy), tables)
        trajectory = run_episode(task.id, watched, Settings(budget=1), ledger)
        met = {name: count + watched.calls.get(name, 0) for name, count in met.items()}
        held = reachable([watched.inner])
        assert not any(isinstance(thing, (*HISTORY, Attempt)) for thing in held) and trajectory.attempts
    assert all(met[name] for name in ("propose", "realize", "validate", "advance", "replan"))


@pytest.mark.slow
def test_no_operator_of_multi_hop_questions_can_reach_the_history() -> None:
    setup = MuSiQue(data="synthetic", setting="open", engine="rules@0.6").resolved()
    # The index and the questions hold no history before the episode, and are looked into again after it.
    known = frozenset(id(thing) for thing in reachable([setup.world()]))
    met = dict.fromkeys(READS, 0)
    for task in setup.tasks()[:12]:
        ledger = Ledger(connect(setup.engine), record=True)
        watched = Watched(setup.adapter(task, ledger), known)
        run_episode(task, watched, Settings(budget=1, step_cap=7), ledger)
        met = {name: count + watched.calls.get(name, 0) for name, count in met.items()}
        assert not any(isinstance(thing, (*HISTORY, Attempt)) for thing in reachable([watched.inner]))
    assert all(met[name] for name in READS if name not in ("start", "act"))


def test_the_travelplanner_adapter_is_frozen(desk: TravelPlanner) -> None:
    adapter = TravelPlannerAdapter(TASKS[45], desk, connect("rules"))
    with pytest.raises(FrozenInstanceError):
        adapter.policy = Policy(undo=9)  # type: ignore[misc]
