"""The harness of every experiment: an experiment says what is played, and this module how.

A paper subclasses `Experiment`: its settings, its tasks, and how one episode is played. `collect` does the rest, for
all papers alike: connect the engine, open or resume the run, wait while another process writes to it, play on threads,
processes or a cluster within a budget, keep usage and answers, replay a recording with the settings it was made with,
and count what was scored, failed and not measured (see `lab.results.outcomes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_type_hints

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.paths import runs_folder
from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.models.cache import tell_damaged
from lab.models.connect import connected
from lab.models.usage import by_operator, summed
from lab.results.outcomes import Judged, Outcomes, Score
from lab.runs import budget, recordings
from lab.runs.execution import ACCOUNTS, Played, play_all
from lab.runs.run import Episode, Manifest, Run, folder_for, when_free
from lab.viewer import generic
from lab.viewer.timeline import Exchange, Timeline

if TYPE_CHECKING:
    import pandas as pd

THREADS = 8  # at a time with an endpoint, which is waited for
NOT_KEPT = {"kept": False}  # metadata of a field that does not make two runs different
NOT_TOLD = {"told": False}  # of one that does, and that nobody wants to read in a folder's name

T = TypeVar("T")


class ReplayMismatch(ValueError):
    """A setting was asked for that a recording was not made with."""


class BadSetting(ValueError):
    """A setting that no run can have; the message names it."""


class NothingMeasured(Unavailable):
    """The machine kept every episode from being measured, so there is nothing to show."""


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One method on some tasks, answered by one engine.

    Subclasses are frozen dataclasses that add the settings of their paper; they are sent to worker processes.

    engine: see `lab.models.engines`. engines: who answers single operators instead, such as {"verify": "gpt-4o"}; a
    resolved experiment has all of them in `engine`. data: "auto" (official where present, else made), "official" or
    "made". limit: how many tasks, spread evenly; 0 for all. seed: of made data and of noise.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=NOT_KEPT)
    data: str = "auto"
    limit: int = 0
    seed: int = 0

    method: ClassVar[str]  # what is run; recordings are found by it
    packages: ClassVar[tuple[str, ...]]  # of the suite, whose source code the results depend on
    selection: ClassVar[tuple[str, ...]] = ("data", "limit")  # settings that say which tasks; a recording decides them
    processes: ClassVar[int] = 2  # at a time by default where rules answer
    metric: ClassVar[str] = ""  # what `judged` scores, such as "success"; "" where a single episode has no score
    headline: ClassVar[str] = ""  # what `scores` are, where that is no score of single episodes

    @abstractmethod
    def tasks(self) -> Sequence[str]:
        """Ids of the tasks, in the order in which they are played. Raises ValueError if there are none."""

    @abstractmethod
    def play(self, task: str, ledger: Ledger) -> Any:
        """Play one episode; returns its result, JSON. Raises MalformedAnswer and its like where the agent fails."""

    def calls(self, task: str) -> Mapping[str, int]:
        """How often an episode asks each operator, where that is known before it is played; else nothing."""
        return {}

    def operators(self) -> tuple[str, ...]:
        """The operators that ask a backbone, as it is set up, by `Prompt.operator`; `engines` takes no others."""
        return ()

    def decided(self) -> Self:
        """The same with everything decided that depends on what is on this machine: data, domains."""
        return self

    def group(self, task: str) -> str:
        """What a task is compared within: of a run that was stopped, only groups that are whole are shown."""
        return task

    def judged(self, episode: Episode) -> Judged:
        """What an episode came to, for lists and reports; it reads the result, and plays nothing."""
        return Judged(0.0 if self.metric else None, generic.cause(episode.error)) if episode.failed else Judged(None)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """What a run's headline is the mean of, from the episodes of whole groups; those that failed are among them.

        By default what `judged` says of each. Its name is `headline`, else `metric`.
        """
        judged = {task: self.judged(episode) for task, episode in episodes.items()}
        return [Score(task, one.score, one.reason) for task, one in judged.items() if one.score is not None]

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """An episode as steps to look at. exchanges: its prompts and answers, in order, where they are at hand."""
        return generic.timeline(episode, exchanges)

    @classmethod
    def kept(cls, manifest: Manifest) -> Self:
        """The settings of a run, from its manifest. Raises ValueError for one that this class did not write."""
        setup = cls(engine=manifest.engine)
        return replace(setup, **setup._known(manifest.parameters))

    @property
    def condition(self) -> str:
        """A few words for the run's folder and progress line: the data, and each setting that is not the default."""
        return " ".join([self.data, *_differences(self)])

    def parameters(self) -> dict[str, Any]:
        """What makes two runs different besides engine, tasks and code, and what a replay adopts; JSON."""
        from pydantic_core import to_jsonable_python

        kept = (each.name for each in fields(self) if each.metadata.get("kept", True))
        return {name: to_jsonable_python(getattr(self, name)) for name in kept if name != "engine"}

    def resolved(self) -> Self:
        """The same as it is played: all engines in one string, noisy ones with their seed, a replay's settings.

        A recording that answers single operators must agree with the settings; it does not decide them.
        Raises what `lab.models.connect.connect` raises, UnknownOperator, ReplayMismatch, and BadSetting for a value of
        another type: in a notebook that no runner checks, this is the first to look.
        """
        self._check()
        asked, setup = engines.with_others(self.engine, self.engines), self
        if asked.kind == "replay":
            setup = self._as_recorded(recorded_parameters(connected(asked.text)))
        answering = engines.routed(self.engine, self.engines, setup.operators(), self.method)
        if answering.kind == "replay" and answering.text != asked.text:
            # Every operator has an engine of its own, and so another one answers the rest: it decides.
            return replace(setup, engine=str(answering), engines={}).resolved()
        for operator, other in answering.routes.items():
            if other.kind == "replay":
                setup._agree(operator, other.text)
        return replace(setup, engine=engines.seeded(str(answering), setup.seed), engines={}).decided()

    @classmethod
    def recorded(cls) -> list[str]:
        """The recordings of this method."""
        return recordings.names(cls.method)

    def answered_by(self, engine: str) -> Self:
        """The same with another engine, for all operators."""
        return replace(self, engine=engine, engines={})

    def _check(self) -> None:
        from pydantic import TypeAdapter, ValidationError

        hints = get_type_hints(type(self))
        for each in fields(self):
            value = getattr(self, each.name)
            try:
                TypeAdapter(hints[each.name]).validate_python(value, strict=True)
            except ValidationError as error:
                said = error.errors()[0]["msg"]
                raise BadSetting(f"{each.name}={value!r} of {type(self).__module__}.Setup: {said}") from None

    def _as_recorded(self, recorded: Mapping[str, Any]) -> Self:
        """The recording's settings in place of those left at their defaults and of those that select tasks."""
        known = self._known(recorded)
        for each in fields(self):
            asked, there = getattr(self, each.name), known.get(each.name)
            default = each.default_factory() if each.default_factory is not MISSING else each.default
            if each.name in known.keys() - set(self.selection) and asked not in (there, default):
                raise ReplayMismatch(
                    f"{self.engine} was recorded with {each.name}={there!r}, not {asked!r}; drop that setting, or "
                    "record a run with it"
                )
        return replace(self, **known)

    def _agree(self, operator: str, engine: str) -> None:
        """Raise ReplayMismatch unless the recording that answers an operator was made with the settings here."""
        known = self._known(recorded_parameters(connected(engine)))
        for name in sorted(known.keys() - set(self.selection)):
            if known[name] != getattr(self, name):
                raise ReplayMismatch(
                    f"{engine} is to answer {operator} and was recorded with {name}={known[name]!r}, not "
                    f"{getattr(self, name)!r}; set that, or record a run with what is set"
                )

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """A recording's settings that are settings here, typed."""
        from pydantic import TypeAdapter

        hints = get_type_hints(type(self))
        ours = recorded.keys() & {each.name for each in fields(self)}
        return {name: TypeAdapter(hints[name]).validate_python(recorded[name]) for name in ours}


S = TypeVar("S", bound=Experiment)


@dataclass(frozen=True)
class Results(Generic[S]):
    """What a run came to. setup: as it was played. backbone: what stands beside each number.

    episodes: those that count, scored or failed by the agent, by task in the run's order. not_measured: task -> why, of
    those that the machine kept from being played. usage: task -> what its episode took, by operator.
    """

    setup: S
    backbone: str
    episodes: Mapping[str, Episode]
    not_measured: Mapping[str, str]
    usage: Mapping[str, Any]
    folder: Path

    @property
    def evidence(self) -> str:
        """ "simulated" where noise stood in for a model's skill, else "measured"."""
        return engines.parse(self.backbone).evidence

    @property
    def by_rules(self) -> bool:
        """Whether rules alone answered, also where what they answered is replayed."""
        return engines.parse(self.backbone).by_rules

    @property
    def by_a_model(self) -> bool:
        """Whether a real model answered, alone or beside rules without noise: what a verdict on a direction is for."""
        return not self.by_rules and self.evidence == "measured"

    def outcomes(self, tasks: Iterable[str] | None = None, unit: Callable[[str], str] = str) -> Outcomes:
        """How the episodes came out, all or those of these tasks.

        unit: task -> what is counted, where a number's n counts something of several episodes, a pair, say.
        """
        wanted = [*self.episodes, *self.not_measured] if tasks is None else list(tasks)
        counted = {unit(task) for task in wanted if task in self.episodes}
        failed = {unit(task) for task in wanted if task in self.episodes and self.episodes[task].failed}
        return Outcomes(len(counted), len(failed), len({unit(task) for task in wanted if task in self.not_measured}))


R = TypeVar("R", bound=Results[Any])


def collect(
    setup: Experiment,
    into: Callable[..., R] = Results,  # type: ignore[assignment]  # a default decides R, which mypy cannot express
    workers: int = 0,
    cluster: str = "",
    *,
    run: str = "",
    record: bool | None = None,
    show_progress: bool = True,
) -> R:
    """Play what the run does not have yet, and give the whole run as `into`: `Results`, or a paper's subclass of it.

    workers: how many episodes at a time; 0 for 8 threads with an endpoint, one at a time with a local model, processes
    with rules where the run is long enough for them. cluster: the address of a Dask scheduler, "tcp://host:8786" (see
    lab/runs/cluster.py); workers=0 is then every thread that it has. run: a folder (a name goes under `runs/`) in place
    of one that is named after notebook, engine and condition. record: keep the answers for `replay:`; by default only a
    model's.
    A run that another process writes is waited for. Where the budget of `lab record` is spent, the results are those of
    the finished groups.
    Raises ManifestMismatch if the folder holds another experiment, BudgetSpent if nothing was finished,
    NothingMeasured, another Unavailable where nothing answers, and what the experiment raises.
    """
    if workers < 0:
        raise BadSetting(
            f"workers={workers}: state how many episodes to play at a time, or 0 for what suits the engine"
        )
    setup = setup.resolved()
    backbone, kinds = connected(setup.engine), engines.parse(setup.engine).kinds
    tasks = held_by(backbone, setup.tasks())
    address = getattr(backbone, "address", "rules")
    read_by = f"{type(setup).__module__}:{type(setup).__qualname__}"
    manifest = Manifest.of(setup.method, setup.engine, address, setup.parameters(), tasks, setup.packages, read_by)
    folder = runs_folder() / run if run else folder_for(manifest, setup.condition)
    episode = partial(play_booked, setup, not kinds.isdisjoint(engines.MODELS) if record is None else record)
    threads = 1 if "local" in kinds else THREADS if "endpoint" in kinds else setup.processes
    crew = workers or (0 if cluster else threads)
    with when_free(lambda: Run(folder, manifest)) as opened:
        spent = None
        try:
            backend = "threading" if "endpoint" in kinds else "loky"
            title = f"{setup.method} {setup.condition}"
            if asked := _asked_of_models(setup, opened.pending()):
                progress.say(
                    f"{title}: {asked:,} calls of a model before it ends, less what is cached; one more for each "
                    "answer that cannot be read"
                )
            if opened.pending() and not cluster and hasattr(backbone, "try_out"):
                backbone.try_out()  # a wrong address or key is told before the first episode, not after its patience
            play_all(opened, episode, crew, backend, show_progress, cluster, title, sparing=not workers)
        except budget.BudgetSpent as error:
            spent = error
        finally:
            tell_damaged()
        episodes, not_measured = by_group(setup, tasks, opened.episodes, opened.not_measured)
        if spent and not episodes:
            raise spent
        if not_measured and not episodes:
            why = next(iter(opened.not_measured.values())).strip().splitlines()[-1]
            raise NothingMeasured(f"None of {len(tasks)} episodes could be measured ({why}); run again to play them")
        if spent:
            progress.say(str(spent))
        return into(setup, backbone.engine.label, episodes, not_measured, opened.usage(), folder)


def play_booked(setup: Experiment, record: bool, task: str) -> Played:
    """Play one episode with a ledger of its own, within the budget of `lab record`.

    record: keep the answers. Raises BudgetSpent before the work, and what the work raises, with its accounts attached
    (see `lab.runs.execution`).
    """
    allowed = budget.of_environment()
    allowed.check()
    ledger = Ledger(connected(setup.engine), record)
    try:
        result = setup.play(task, ledger)
    except Exception as error:
        # An exception takes any attribute; a class of our own around it would hide which error it was.
        setattr(error, ACCOUNTS, Played(None, by_operator(ledger.calls), ledger.recorded))
        raise
    finally:
        allowed.book(sum(call.paid for call in ledger.calls))
    return Played(result, by_operator(ledger.calls), ledger.recorded)


def spread(items: Sequence[T], limit: int) -> list[T]:
    """`limit` of the items, evenly over their order; 0 for all. Raises BadSetting for a negative limit."""
    if limit < 0:
        raise BadSetting(f"limit={limit}: state how many, or 0 for all")
    count = min(limit, len(items)) or len(items)
    return [items[number * len(items) // count] for number in range(count)]


def _asked_of_models(setup: Experiment, tasks: Iterable[str]) -> int:
    """How many calls of these episodes go to a model, as far as the experiment knows them."""
    answering = engines.parse(setup.engine)
    counted = (setup.calls(task).items() for task in tasks)
    return sum(n for calls in counted for name, n in calls if answering.of(name).kind in engines.MODELS)


def recorded_parameters(backbone: Backbone) -> Mapping[str, Any]:
    """The settings that a recording was made with; of any other backbone, none."""
    return getattr(backbone, "parameters", {})


def held_by(backbone: Backbone, tasks: Sequence[str]) -> list[str]:
    """The tasks that a recording holds, where one is replayed; of any other backbone, all."""
    held = set(getattr(backbone, "tasks", ()))
    return [task for task in tasks if task in held] or list(tasks)


def costs(
    results: Results[Any], by: Callable[[str], Mapping[str, str]] = lambda task: {}, **about: str
) -> pd.DataFrame:
    """Calls, tokens and money by operator, how each answer was read, and, for a model, the seconds it took.

    by: task -> the columns that its episode is counted under. about: columns that all rows share. Where single
    operators have engines of their own, a column `engine` says which answered.
    """
    import pandas as pd

    who = engines.parse(results.backbone)
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for task in results.episodes:
        groups.setdefault(tuple(by(task).items()), []).append(results.usage.get(task) or {})
    lines = [
        {**about, **dict(columns), "backbone": results.backbone, "evidence": results.evidence, "operator": operator}
        | ({"engine": who.of(operator).label} if who.routes else {})
        | summed([used[operator] for used in usages if operator in used], not who.of(operator).by_rules)
        for columns, usages in groups.items()
        for operator in sorted({operator for used in usages for operator in used})
    ]
    return pd.DataFrame(lines)


def record(results: Results[Any], rows: pd.DataFrame, usage: pd.DataFrame) -> None:
    """Save a run as a recording, if `python -m lab record` runs the notebook. usage: its `costs`."""
    recordings.save(results.folder, rows, usage, list(results.episodes))


def _differences(settings: Any) -> list[str]:
    """The settings that are not at their defaults, in words: "undo=3", "-Validate" for one that is switched off."""
    found = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        if each.name in ("engine", "data", "limit") or value == each.default or each.metadata:
            continue
        if is_dataclass(value):
            found += _differences(value)
        elif isinstance(value, bool):
            found.append(each.name if value else f"-{each.name.title()}")
        else:
            found.append(f"{each.name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return found


def by_group(
    setup: Experiment, tasks: Sequence[str], played: Mapping[str, Episode], faulty: Mapping[str, str]
) -> tuple[dict[str, Episode], dict[str, str]]:
    """The episodes of groups of which all are there, and why none is of groups that the machine kept from being whole.

    played: the run's episodes. faulty: task -> why it was not measured. Groups that are torn for another reason, a
    budget that was spent, are in neither.
    """
    torn = {setup.group(task) for task in tasks if task not in played}
    why = {setup.group(task): reason for task, reason in faulty.items()}
    groups = {task: setup.group(task) for task in tasks}
    episodes = {task: played[task] for task, group in groups.items() if group not in torn}
    return episodes, {task: why[group] for task, group in groups.items() if group in why}
