"""The harness of every experiment: it plays the missing episodes of a run and returns the whole run.

`collect` does the same for all papers: connect the engine, open or resume the run, wait while another process writes to
it, play on threads, processes or a cluster within a budget, store usage and answers, replay a recording as it was made,
and count scored, failed and not measured episodes (see `lab.results.outcomes`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from lab.machine import progress
from lab.machine.faults import DamagedFile, Unavailable
from lab.machine.paths import runs_folder
from lab.models import budget, engines
from lab.models.backbone import Ledger, by_operator, summed
from lab.models.cache import RECORDING, tell_damaged
from lab.models.connect import connected
from lab.models.replay import ANSWERS
from lab.notebooks import injected
from lab.runs import recordings
from lab.runs.catalogue import folder_for
from lab.runs.execution import ACCOUNTS, Played, play_all
from lab.runs.experiment import BadSetting, Experiment, Results, score_lines
from lab.runs.first_answers import FirstAnswers
from lab.runs.manifest import Manifest
from lab.runs.run import Episode, Run, read_lines, when_free
from lab.runs.workers import allow_open_files

if TYPE_CHECKING:
    import pandas as pd

WORKERS, CLUSTER = "LAB_WORKERS", "LAB_CLUSTER"
# The first run of each study and its benchmarks since the last call of `study_results.answers`; variants come later.
COLLECTED: dict[tuple[str, ...], Any] = {}
THREADS = 8  # default number with an endpoint: threads mostly wait for it
# Under `lab record`: the answers of this sitting, each list with the method that asked; those of a ledger still grow.
ANSWERED: list[tuple[str, list[dict[str, Any]]]] = []
R_co = TypeVar("R_co", bound=Results[Any], covariant=True)


class Collectable(Protocol[R_co]):
    """An experiment, typed by the class of its results."""

    @property
    def results(self) -> type[R_co]: ...


def collect(
    experiment: Collectable[R_co],
    workers: int = 0,
    cluster: str = "",
    *,
    run: str = "",
    record: bool = False,
    show_progress: bool = True,
) -> R_co:
    """Play the episodes that the run lacks, and return the whole run as the experiment's own class of `Results`.

    workers: episodes at a time. 0 means 8 threads with an endpoint, one with a local model, and with rules processes
    if the run is long enough for them. cluster: the address of a Dask scheduler, "tcp://host:8786" (see
    lab/runs/workers.py); workers=0 then uses all its threads. LAB_WORKERS and LAB_CLUSTER replace 0
    and "". run: a folder (a name goes under `runs/`) instead of the default one, named after notebook, engine and
    condition. record: store rules' answers for `replay:`; a model's answers are always stored.
    Waits while another process writes to the run. If the budget of `lab record` is spent, or Ctrl-C stops it, returns
    the results of the finished groups.
    Raises ManifestMismatch if the folder holds another experiment.
    Raises BudgetSpent if no group was finished.
    Raises Unavailable if the engine does not answer or no episode could be measured, and what the experiment raises.
    """
    workers = workers or int(os.environ.get(WORKERS) or 0)
    cluster = cluster or os.environ.get(CLUSTER, "")
    injected.check()
    before = [*COLLECTED]
    if workers < 0:
        raise BadSetting(
            f"workers={workers}: state how many episodes to play at a time, or 0 for what suits the engine"
        )
    another = partial(collect, workers=workers, cluster=cluster, record=record, show_progress=show_progress)
    setup = cast(Experiment, experiment).prepared(another).resolved()
    manifest = manifest_of(setup)
    folder = runs_folder() / run if run else folder_for(manifest, setup.condition)
    spent: budget.BudgetSpent | None = None
    with when_free(lambda: Run(folder, manifest)) as opened, _noted(setup, opened):
        if os.environ.get(RECORDING):
            ANSWERED.append((setup.method, [*read_lines(folder / ANSWERS)]))  # of a sitting that was killed
        _announce(setup, opened.pending())
        try:
            play_all(opened, **_playing(setup, opened, workers, cluster, record), show_progress=show_progress)
        except (budget.BudgetSpent, KeyboardInterrupt) as error:
            spent = _spent(error)
        episodes, not_measured = by_group(setup, manifest.tasks, opened.episodes, opened.not_measured)
        if spent and not episodes:
            raise spent
        if not_measured and not episodes:
            why = next(iter(opened.not_measured.values())).strip().splitlines()[-1]
            count = len(manifest.tasks)
            raise Unavailable(f"None of {count} episodes could be measured ({why}); run again to play them")
        if spent:
            progress.say(str(spent))
        label = connected(setup.engine).engine.label
        results = experiment.results(setup, label, episodes, not_measured, opened.usage(), folder)
    _report(results)
    _note(before, results)
    return results


def _spent(error: budget.BudgetSpent | KeyboardInterrupt) -> budget.BudgetSpent:
    """The error of a spent budget. Ctrl-C under `lab record` spends it at once; otherwise it is raised again."""
    if isinstance(error, budget.BudgetSpent):
        return error
    if not os.environ.get(RECORDING):
        raise error
    budget.of_environment().stopped = f"stopped: {error}"
    return budget.BudgetSpent(budget.of_environment().stopped)


def _note(before: Collection[tuple[str, ...]], results: Results[Any]) -> None:
    """Add a run to COLLECTED if its results have an `answer`. before: keys from before it; newer ones ran within it."""
    for nested in COLLECTED.keys() - {*before}:
        del COLLECTED[nested]
    if hasattr(results, "answer"):
        COLLECTED.setdefault((results.setup.method, *results.setup.datasets), results)


def _playing(setup: Experiment, opened: Run, workers: int, cluster: str, record: bool) -> dict[str, Any]:
    """Arguments of `play_all` for the pending episodes. Tries out the endpoint and the limit of open files first."""
    from joblib import cpu_count

    backbone, kinds = connected(setup.engine), setup.who.kinds
    by_models = not kinds.isdisjoint(engines.MODELS)
    backend = "threading" if by_models else "loky"
    default = 1 if "local" in kinds else THREADS if "endpoint" in kinds else min(setup.processes, cpu_count())
    count = workers or (0 if cluster else default)
    if (pending := len(opened.pending())) and not cluster:
        if hasattr(backbone, "try_out"):
            # Report a wrong address or key at once, not after the retries of the first episode.
            backbone.try_out()
        allow_open_files(min(count, pending))
    first = _first_answers(opened, "endpoint" in kinds) if by_models else None
    settings = {"backend": backend, "cluster": cluster, "title": _title(setup), "sparing": not workers, "first": first}
    return {"play": partial(play_booked, setup, by_models or record), "workers": count, **settings}


@contextmanager
def _noted(setup: Experiment, opened: Run) -> Iterator[None]:
    """Play episodes inside; on exit, note in the manifest's surroundings which servers answered."""
    try:
        yield
    finally:
        tell_damaged()
        with suppress(OSError, DamagedFile):
            if served := getattr(connected(setup.engine), "served", []):
                opened.note(servers=served)


def _title(setup: Experiment) -> str:
    return f"{setup.method} {setup.condition}"


def _announce(setup: Experiment, tasks: Sequence[str]) -> None:
    """Report how many model calls these episodes take, if the experiment knows it."""
    counts = (setup.calls(task).items() for task in tasks)
    if total := sum(count for calls in counts for name, count in calls if setup.who.of(name).kind in engines.MODELS):
        progress.say(
            f"{_title(setup)}: {total:,} calls of a model before it ends, less what is cached; one more for each "
            "answer that cannot be read"
        )


def _report(results: Results[Any]) -> None:
    """Report how many prompts were truncated, and how the answers were read if a model was asked."""
    parts = [part for task in results.episodes for part in (results.usage.get(task) or {}).values()]
    if cut := _cut(parts).get("cut"):
        calls = sum(part["calls"] for part in parts)
        progress.say(f"{cut:,} of {calls:,} prompts were longer than the engine's context, and were cut")
    if readings := results.outcomes().readings:
        progress.say(f"{_title(results.setup)}: {readings}", passing=True)


def manifest_of(setup: Experiment) -> Manifest:
    """The manifest of a resolved experiment's run."""
    backbone = connected(setup.engine)
    # A replay plays the tasks of its recording only.
    stored, ids = set(getattr(backbone, "tasks", ())), setup.tasks()
    address, tasks = getattr(backbone, "address", "rules"), [task for task in ids if task in stored] or list(ids)
    read_by = f"{type(setup).__module__}:{type(setup).__qualname__}"
    identity = setup.who.identity
    return Manifest.of(setup.method, identity, address, setup.parameters(), tasks, setup.sources, read_by)


def _first_answers(run: Run, served: bool) -> FirstAnswers:
    """The answers that a run already has, counted."""
    first, usage = FirstAnswers(served=served), run.usage()
    for task in run.episodes:
        first.add_usage(usage.get(task))
    return first


def play_booked(setup: Experiment, record: bool, task: str) -> Played:
    """Play one episode with its own ledger, within the budget of `lab record`.

    record: store the answers.
    Raises BudgetSpent if no budget is left for the next request to a model.
    Raises what the episode raises, with its usage attached (`lab.runs.execution.ACCOUNTS`).
    """
    ledger = Ledger(connected(setup.engine), record)
    if os.environ.get(RECORDING):
        ANSWERED.append((setup.method, ledger.recorded))
    try:
        result = setup.play(task, ledger)
    except Exception as error:
        # Attach the usage as an attribute: wrapping the exception would hide its type.
        setattr(error, ACCOUNTS, Played(None, by_operator(ledger.calls), ledger.recorded))
        raise
    return Played(result, by_operator(ledger.calls), ledger.recorded)


def costs(
    results: Results[Any], by: Callable[[str], Mapping[str, str]] = lambda task: {}, **shared: str
) -> pd.DataFrame:
    """Calls, tokens and money by operator, how answers were read, and for a model the seconds.

    by: task -> columns to group its episode by. shared: constant columns. If single operators have their own engines,
    a column `engine` names the one that answered.
    """
    import pandas as pd

    who = results.who
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for task in results.episodes:
        groups.setdefault(tuple(by(task).items()), []).append(results.usage.get(task) or {})
    rows = [
        {**shared, **dict(columns), "backbone": results.backbone, "evidence": results.evidence, "operator": operator}
        | ({"engine": who.of(operator).label} if who.routes else {})
        | summed([usage[operator] for usage in usages if operator in usage], not who.of(operator).by_rules)
        | _cut([usage[operator] for usage in usages if operator in usage])
        for columns, usages in groups.items()
        for operator in sorted({operator for usage in usages for operator in usage})
    ]
    table = pd.DataFrame(rows)
    return table.fillna({"cut": 0}).astype({"cut": int}) if "cut" in table else table


def _cut(parts: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The column with the number of prompts truncated to the engine's context; empty if there are none."""
    count = sum(part.get("cut", 0) for part in parts)
    return {"cut": count} if count else {}


def record(
    results: Results[Any], rows: pd.DataFrame, usage: pd.DataFrame, sitting: recordings.Sitting | None = None
) -> None:
    """Save a run as a recording, if `python -m lab record` is running, with the answers of unfinished episodes.

    usage: its `costs`.
    """
    scores, begun = score_lines(results), _begun(results.setup.method)
    recordings.save(results.folder, rows, usage, list(results.episodes), scores=scores, sitting=sitting, begun=begun)


def record_begun(experiment: Experiment, name: str, spent: budget.BudgetSpent, sitting: recordings.Sitting) -> None:
    """Save the answers of a sitting that finished no group of tasks. Raises `spent` if there are none."""
    if not (begun := _begun(experiment.method)):
        raise spent
    recordings.save_begun(name, manifest_of(experiment.resolved()), begun, sitting)


def _begun(method: str) -> list[dict[str, Any]]:
    """The answers of this sitting and of its runs for a method, those for its placebos' baseline included."""
    return [answer for asking, answers in ANSWERED if asking == method for answer in [*answers]]


def by_group(
    setup: Experiment, tasks: Sequence[str], played: Mapping[str, Episode], faulty: Mapping[str, str]
) -> tuple[dict[str, Episode], dict[str, str]]:
    """Returns the episodes of complete groups, and task -> reason for groups that machine failures left incomplete.

    played: the run's episodes. faulty: task -> why it was not measured. Groups that are incomplete for another reason,
    such as a spent budget, are in neither.
    """
    incomplete = {setup.group(task) for task in tasks if task not in played}
    reasons = {setup.group(task): reason for task, reason in faulty.items()}
    groups = {task: setup.group(task) for task in tasks}
    episodes = {task: played[task] for task, group in groups.items() if group not in incomplete}
    return episodes, {task: reasons[group] for task, group in groups.items() if group in reasons}
