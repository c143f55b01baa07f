"""SDP beside the agents that its paper compares it with (Tables 2 to 5), on the same tasks, by the same model.

The paper takes most of these rows from others' papers, by other models; only Table 2's were played anew (B.1). Here all
are, with the cap of environment steps that SDP has there; calls and tokens, of which SDP takes more, stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from agents.experiments import (
    acting,
    acting_assistantbench,
    acting_multihop,
    acting_scienceworld,
    acting_travelplanner,
)
from agents.experiments import assistantbench as asking
from agents.experiments import multihop as one_call
from agents.history import MALFORMED
from agents.play import Schema
from agents.worlds.travelplanner import delivered
from lab.machine.spelling import hint
from lab.models.engines import ORACLE, parse
from lab.results import tables
from lab.results.statistics import compare, holm
from lab.runs import collecting, contest
from lab.runs.contest import Contest, Entry, entry, smallest
from lab.runs.experiment import BadSetting
from sdp.experiments import assistantbench, multihop, scienceworld, side_by_side, travelplanner
from sdp.experiments.side_by_side import BLANKED, PLACEBO, RECORDED_AS, SDP

if TYPE_CHECKING:
    import pandas as pd

DIRECT, REACT = "direct", "ReAct"
KEPT = "sdp-beside-kept"  # rows of runs that take too long for a notebook
BLANK = ", blank plans"  # behind the name of an agent that plans: its placebo, asked by the same rules
BUDGET = "valid_cost"  # the constraint of TravelPlanner that says what a plan may cost


class Benchmark(NamedTuple):
    """How SDP, an agent that acts and one that answers at once play a benchmark; the paper's table of it, the name of
    the score there, and what is played of it.
    """

    sdp: Any
    acting: Any
    table: str
    metric: str
    chosen: Mapping[str, Any] = {}
    direct: Any = None


BENCHMARKS = {
    "TravelPlanner": Benchmark(
        travelplanner.Setup, acting_travelplanner.Setup, "Table 2 TravelPlanner", "Final Pass Rate",
        {"levels": ("easy", "medium", "hard")},  # B.1: all 180 validation queries
    ),
    "AssistantBench": Benchmark(
        assistantbench.Setup, acting_assistantbench.Setup, "Table 3 AssistantBench", "Accuracy", direct=asking.Setup
    ),
    "ScienceWorld": Benchmark(
        scienceworld.Setup, acting_scienceworld.Setup, "Table 4 ScienceWorld", "Short", {"lengths": ("short",)}
    ),
    "HotpotQA": Benchmark(
        multihop.HotpotQA, acting_multihop.HotpotQA, "Table 5 multi-hop QA", "HotpotQA EM", direct=one_call.HotpotQA
    ),
    "MuSiQue": Benchmark(
        multihop.MuSiQue, acting_multihop.MuSiQue, "Table 5 multi-hop QA", "MuSiQue EM", direct=one_call.MuSiQue
    ),
}  # fmt: skip
REPORTING = {"HotpotQA", "MuSiQue", "AssistantBench"}  # whose made questions have templates that no rule was written on
ACTED = {
    f"{name}{BLANK if blank else ''}": (name, blank)
    for name, agent in acting.ASKING.items()
    for blank in ((False, True) if agent.blanks else (False,))
}
CAPS = ("steps", "calls", "tokens", "stuck")
METHODS = (SDP, PLACEBO, BLANKED, DIRECT, *ACTED)


@dataclass(frozen=True, kw_only=True)
class Setup(Contest):
    """Some methods on some tasks of a benchmark; those that do not fit it are left out.

    datasets: of BENCHMARKS. options: settings of the benchmark's own experiments in place of its `chosen`, such as
    {"split": "train"}. schema: bind the answers of agents that act to a schema, as SDP's are, in place of the papers'
    free text; "action": their actions to the form that a world's tools state, too. caps: of the agents, such as
    {"steps": 30, "stuck": 2} (see `agents.play.Settings`), in place of the steps that SDP has. rejects: the share of
    attempts that SDP's two controls reject (see `sdp.placebo`).
    """

    datasets: tuple[str, ...] = ("TravelPlanner",)
    methods: tuple[str, ...] = METHODS
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema = False
    caps: Mapping[str, int] = field(default_factory=dict)
    rejects: float = 0.0

    method: ClassVar[str] = "sdp-beside"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "sdp")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "datasets", "methods", "options")
    metric: ClassVar[str] = "score"

    def decided(self) -> Setup:
        """With `data`, `options` and the methods that fit decided. Raises BadSetting where there is nothing to play."""
        self._check_dataset()
        (dataset,) = self.datasets
        methods = tuple(name for name in self.methods if fits(name, dataset))
        if not methods:
            raise BadSetting(f"methods={self.methods}: none of them plays {dataset}; choose from {', '.join(METHODS)}")
        options = dict(self.options)
        data = replace(self, options=options).part(dataset, methods[0]).decided().data
        if data == "made" and dataset in REPORTING:
            options = {"split": "reporting"} | options
        return replace(self, data=data, methods=methods, options=options)

    def operators(self) -> tuple[str, ...]:
        self._check_dataset()
        fitting = tuple(name for name in self.methods if all(fits(name, dataset) for dataset in self.datasets))
        return super(Setup, replace(self, methods=fitting)).operators()

    def part(self, dataset: str, method: str) -> Any:
        """The experiment of one method. Raises BadSetting for one that there is not."""
        of = BENCHMARKS[dataset]
        shared: dict[str, Any] = {key: getattr(self, key) for key in ("engine", "data", "limit", "seed")}
        shared |= {**of.chosen, **self.options}
        known = [each.name for kind in (of.sdp, of.acting) for each in fields(kind)]
        if wrong := [name for name in self.options if name not in known]:
            raise BadSetting(f"options={self.options}: {dataset} has no setting {wrong[0]!r}{hint(wrong[0], known)}")
        if method == SDP:
            return of.sdp(**shared)
        if method == PLACEBO:
            return of.sdp(**shared, placebo=self.rejects)
        if method == BLANKED:
            return of.sdp(**shared, blanked=self.rejects)
        if method == DIRECT and of.direct:
            return of.direct(**shared)
        if method not in ACTED:
            raise BadSetting(f"No method {method!r} on {dataset}; choose from {', '.join(METHODS)}")
        agent, blank = ACTED[method]
        played = of.acting(**shared, agent=agent)
        if unknown := {*self.caps} - {*CAPS}:
            near = hint(min(unknown), CAPS)
            raise BadSetting(f"caps={self.caps}: no cap {min(unknown)}; choose from {', '.join(CAPS)}{near}")
        return replace(played, settings=replace(played.settings, blank=blank, schema=self.schema, **self.caps))

    def recorded_as(self, task: str) -> str:
        of, before = entry(task), {new: old for old, new in RECORDED_AS.items()}
        return str(of._replace(method=before.get(of.method, of.method)))

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        known = super()._known(recorded)
        return known | {key: tuple(side_by_side.named(known[key])) for key in {"methods"} & known.keys()}

    def _check_dataset(self) -> None:
        if len(self.datasets) != 1 or not {*self.datasets} <= {*BENCHMARKS}:
            raise BadSetting(f"datasets={self.datasets}: name one of {', '.join(BENCHMARKS)}")


def stood_in(dataset: str, methods: Sequence[str], stand_in: str, data: str = "made") -> dict[str, str]:
    """Engines by operator for `engines`, where rules answer the rest: of agents that act in what no rule plays."""
    of = BENCHMARKS[dataset]
    if of.acting(data=data).decided().data in of.acting.ruled:
        return {}
    acted = [acting.AGENTS[ACTED[name][0]] for name in methods if name in ACTED and fits(name, dataset)]
    return {operator: stand_in for agent in acted for operator in agent.operators}


def fits(method: str, dataset: str) -> bool:
    """Whether a method is for a benchmark; not so answers in one call where these need an environment, and agents that
    search and finish alone where there is more to do. One that there is not is left to `Setup.part`.
    """
    of = BENCHMARKS[dataset]
    if method == DIRECT:
        return of.direct is not None
    return method not in ACTED or of.acting.searched or not acting.AGENTS[ACTED[method][0]].searches


@dataclass(frozen=True)
class Results(side_by_side.Results[Setup]):
    """The episodes of a run, by method."""

    @property
    def dataset(self) -> str:
        """The benchmark."""
        return self.setup.datasets[0]


def collect(setup: Setup, workers: int = 0, cluster: str = "", **options: Any) -> Results:
    """`lab.runs.collecting.collect` of methods side by side, with its arguments, and with SDP's controls as
    `sdp.experiments.side_by_side.with_placebo` has them.
    """

    def play(setup: Setup) -> Results:
        return collecting.collect(setup, Results, workers, cluster, **options)

    return side_by_side.with_placebo(setup, play)


def frame(results: Results) -> pd.DataFrame:
    """A results table: the mean score of each method in percent, under the name that the paper's table has for it."""
    rows = (row for _, method in results.parts for row in _rows(results, method))
    return tables.table(row | {"data": results.setup.data} for row in rows)


def with_published(results: Results) -> pd.DataFrame:
    """The run's rows, and those of recordings of the same benchmark, behind those of the paper's table."""
    import pandas as pd

    measured, known = frame(results), known_rows(results.dataset)
    published = known["evidence"] == "published"
    others = known[~published & ~known["backbone"].isin(measured["backbone"])]
    return pd.concat([known[published], measured, others], ignore_index=True)


def _rows(results: Results, method: str) -> Iterator[tables.Row]:
    dataset, setup = results.dataset, results.setup
    scores = results.scores(dataset, method)
    outcomes = results.outcomes(str(Entry(dataset, method, task)) for task in scores)
    told = ", ".join(f"{key}={value}" for key, value in setup.options.items())
    about = (results.evidence, f"this run, {setup.data} data{', ' + told if told else ''}")
    if method in ACTED and not even(results):
        method = f"{method} (acted by an expert)"
    elif method in ACTED:
        free = ", free text" if results.by_a_model else ""  # of rules, who always keep the form, it says nothing
        method += {False: free, True: "", "action": ", actions bound to their form"}[setup.schema]
    metric = BENCHMARKS[dataset].metric
    if set(scores.values()) <= {0.0, 1.0}:
        yield tables.rate_row(
            method, results.backbone, metric, int(sum(scores.values())), len(scores), *about, outcomes
        )
    else:
        percent = [100 * score for score in scores.values()]
        yield tables.mean_row(method, results.backbone, metric, percent, *about, outcomes=outcomes, top=100.0)


def even(results: Results) -> bool:
    """Whether agents and SDP are answered for alike: not so where the agents follow an expert, and SDP rules."""
    parts = parse(results.setup.engine).parts
    return len({part.name == ORACLE for part in parts}) == 1


def primary(runs: Iterable[Results]) -> pd.DataFrame:
    """The protocol's comparison in each run: SDP's score less ReAct's."""
    runs = list(runs)
    found = contest.primary(runs, SDP, REACT)
    data = {(run.backbone, run.dataset): run.setup.data for run in runs}
    return found.assign(data=[data[row.backbone, row.dataset] for row in found.itertuples()])


def placebos(results: Results) -> pd.DataFrame:
    """Each method with structure less its own controls, which are asked by the same rules: what is gained by what a
    control lacks (see `sdp.placebo`), where both take as many calls.

    In points on the same tasks; Holm's correction over the rows.
    """
    import pandas as pd

    pairs = [(SDP, PLACEBO), (SDP, BLANKED), *((name, f"{name}{BLANK}") for name in acting.ASKING)]
    lines: list[dict[str, Any]] = []
    for method, control in pairs:
        if {method, control} <= {*results.setup.methods}:
            c = compare(results.scores(results.dataset, method), results.scores(results.dataset, control))
            difference, low, high = (100 * end for end in c.difference)
            lines.append(
                {"method": method, "control": control, "n": c.n, "score": 100 * c.mean_a, "control's": 100 * c.mean_b,
                 "difference": difference, "low": low, "high": high, "p": c.p, "smallest": smallest(c),
                 "calls": results.mean(results.dataset, method, "calls"),
                 "control's calls": results.mean(results.dataset, control, "calls")}
            )  # fmt: skip
    adjusted = holm([line["p"] for line in lines])
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, **_about(results))


def over(runs: Iterable[Results], function: Callable[[Results], pd.DataFrame]) -> pd.DataFrame:
    """What a function makes of each run, one below the other, behind the benchmark's name."""
    import pandas as pd

    made = [function(run).assign(benchmark=run.dataset) for run in runs]
    found = pd.concat([one for one in made if len(one)], ignore_index=True)
    return found[["benchmark", *(name for name in found if name != "benchmark")]]


def faults(results: Results) -> pd.DataFrame:
    """What could not be used, by agent: shares of its answers in percent, and how its episodes ended.

    over budget: on TravelPlanner, the share of plans that cost more than the query allows, among those whose cost the
    evaluator judged (`costed`; it judges none of an incomplete plan). There the paper speaks of 20 to 30 % of the
    feasible queries, and of 12 to 18 % malformed outputs (§4.1).
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        kept = [one.result for one in results.of(dataset, method).values() if not one.failed]
        if not kept or MALFORMED not in kept[0]:
            continue
        answers = sum(one["calls"] for one in kept) or 1
        ends = pd.Series([one["end"] for one in kept]).value_counts()
        line = {
            "method": method, "n": len(kept), "malformed, %": 100 * sum(one[MALFORMED] for one in kept) / answers,
            "episodes with one, %": 100 * sum(one[MALFORMED] > 0 for one in kept) / len(kept),
            "invalid, %": 100 * sum(one["invalid"] for one in kept) / answers,
            "ends": ", ".join(f"{end}: {count}" for end, count in ends.items()),
        }  # fmt: skip
        if dataset == "TravelPlanner":
            costed = list(_over_budget(results, method))
            share = 100 * sum(costed) / len(costed) if costed else float("nan")
            line |= {"over budget, %": share, "costed": len(costed)}
        lines.append(line)
    return pd.DataFrame(lines).assign(**_about(results))


def _over_budget(results: Results, method: str) -> Iterator[bool]:
    """Of each plan whose cost was judged."""
    played = results.setup.part(results.dataset, method)
    for task, episode in results.of(results.dataset, method).items():
        plan = None if episode.failed else delivered(episode.result)
        cost = played.verdict(task, plan).hard[BUDGET] if plan is not None else None
        if cost and cost.passed is not None:
            yield not cost.passed


def footing(results: Results) -> pd.DataFrame:
    """Whether all methods keep to the caps of steps and calls that the agents have: SDP has no cap of calls.

    most: that an episode took. over: episodes that took more than a cap. within: the score in percent where these count
    as failed. Methods of one call, which take no steps, are left out.
    """
    import pandas as pd

    caps = results.setup.part(results.dataset, REACT).settings
    steps, calls = caps.steps, caps.calls or 2 * caps.steps
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        kept = {task: one.result for task, one in results.of(dataset, method).items() if not one.failed}
        if not kept or any("steps" not in one for one in kept.values()):
            continue
        over = {task for task, one in kept.items() if one["steps"] > steps or one["calls"] > calls}
        scores = results.scores(dataset, method)
        within = sum(score for task, score in scores.items() if task not in over)
        most = {what: max(one[what] for one in kept.values()) for what in ("steps", "calls")}
        lines.append(
            {"method": method, "n": len(scores), "most steps": most["steps"], "cap of steps": steps,
             "most calls": most["calls"], "cap of calls": calls, "over": len(over),
             "score": 100 * sum(scores.values()) / len(scores), "within": 100 * within / len(scores)}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(**_about(results))


def _about(results: Results) -> dict[str, str]:
    return {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}


def keep(results: Results, name: str, played: str) -> str:
    """Keep a run's rows as "tables2to5_agents-NAME" (see `lab.runs.contest.keep`); the whole name.

    played: the tasks in words, which stand behind the methods' names.
    """
    rows = frame(results)
    rows["method"] += f", {played}"
    return contest.keep(results, rows, f"tables2to5_agents-{name}", KEPT)


def known_rows(dataset: str) -> pd.DataFrame:
    """The paper's rows of a benchmark, and those that recordings and `keep` hold of it."""
    import pandas as pd

    of = BENCHMARKS[dataset]
    held = pd.concat([side_by_side.recorded(Setup.method), side_by_side.recorded(KEPT)], ignore_index=True)
    return pd.concat([tables.published(of.table, "sdp"), held[held["metric"] == of.metric]], ignore_index=True)


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by method and operator."""
    return collecting.costs(results, lambda task: {"method": entry(task).method})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))
