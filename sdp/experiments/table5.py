"""Table 5: SDP on HotpotQA and MuSiQue, beside itself without its mechanisms and agents that answer in one call.

All methods answer the same questions, so that one run holds a whole comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agents.experiments import acting_multihop as acting
from agents.experiments import multihop as one_call
from agents.experiments.acting import AGENTS as ACTING_AGENTS
from lab.models.engines import parse
from lab.results import tables
from lab.results.statistics import compare, holm
from lab.runs import collecting, contest
from lab.runs.contest import Contest, Entry, entry
from lab.runs.experiment import BadSetting
from sdp.anatomy import evidence_never_shown
from sdp.experiments import multihop, side_by_side
from sdp.experiments.side_by_side import PLACEBO, SDP
from worlds.multihop.metrics import evidence_found
from worlds.multihop.questions import EVIDENCE

if TYPE_CHECKING:
    import pandas as pd

SILVER = EVIDENCE[2]  # matched to questions by statistics, and not by annotators
DIRECT = "direct, all paragraphs"
DATASETS = {"HotpotQA": multihop.HotpotQA, "MuSiQue": multihop.MuSiQue}
ACTING = {"HotpotQA": acting.HotpotQA, "MuSiQue": acting.MuSiQue}
ONE_CALL = {"HotpotQA": one_call.HotpotQA, "MuSiQue": one_call.MuSiQue}
# What is changed of SDP, and what of an agent's experiment.
VARIANTS: dict[str, Callable[[multihop.Setup, float], multihop.Setup]] = {
    SDP: lambda setup, rate: setup,
    "SDP, hops guessed": lambda setup, rate: replace(setup, policy=replace(setup.policy, hops="guess")),
    "SDP without Validate": lambda setup, rate: replace(setup, settings=replace(setup.settings, validate=False)),
    "SDP without Replan": lambda setup, rate: replace(setup, settings=replace(setup.settings, replan=False)),
    PLACEBO: lambda setup, rate: replace(setup, placebo=rate),
}
AGENTS: dict[str, dict[str, Any]] = {
    "direct, closed book": {"agent": "direct", "evidence": "none"},
    DIRECT: {"agent": "direct", "evidence": "shown"},
    "direct, gold paragraphs (privileged)": {"agent": "direct", "evidence": "gold"},
    "chain of thought, all paragraphs": {"agent": "chain of thought", "evidence": "shown"},
}
# Agents that act, and of those that plan or reflect the placebo: whose experiment, and whether its plans are blank.
ACTED = {name: (name, False) for name in ACTING_AGENTS} | {
    f"{name}, blank plans": (name, True) for name, agent in ACTING_AGENTS.items() if agent.blanks
}
METHODS = (*VARIANTS, *AGENTS)
OFFERED = (*METHODS, *ACTED)  # what may be named; those in METHODS are played by default
RECORDED = (SDP, "SDP without Validate", *AGENTS)  # what a real model is asked for by default
CORPORA = {"HotpotQA": "12,479", "MuSiQue": "10,024"}  # paragraphs of the official data that is at hand


@dataclass(frozen=True, kw_only=True)
class Setup(Contest):
    """Some methods on some questions of each dataset. methods: of OFFERED. rejects: the share of attempts that the
    placebo rejects.

    data: "auto" is made questions where rules answer, which can read no others. setting, split: see
    `agents.experiments.multihop.Questions`; of made questions by default those on which no rule was written.
    """

    datasets: tuple[str, ...] = tuple(DATASETS)
    methods: tuple[str, ...] = METHODS
    setting: Literal["distractor", "open"] = "distractor"
    split: str = ""
    rejects: float = 0.0

    method: ClassVar[str] = "sdp-table5"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents", "sdp")
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "setting", "split", "datasets", "methods")
    metric: ClassVar[str] = "exact match"

    def decided(self) -> Setup:
        """With `data` and `split` decided. Raises BadSetting where there is nothing to play."""
        if not (self.datasets and self.methods):
            raise BadSetting(f"No dataset or no method; choose from {_some(DATASETS)}, and from {_some(OFFERED)}")
        part = self.part(self.datasets[0], self.methods[0])
        split = self.split or ("reporting" if part.decided().data == "made" else "")
        part = replace(part, split=split).decided()
        return replace(self, data=part.data, split=part.split)

    def part(self, dataset: str, name: str) -> Any:
        """The experiment of one method on one dataset. Raises BadSetting for one that there is not."""
        if dataset not in DATASETS or name not in OFFERED:
            raise BadSetting(f"No {name!r} on {dataset!r}; choose from {_some(OFFERED)} and {_some(DATASETS)}")
        shared: dict[str, Any] = {
            key: getattr(self, key) for key in ("engine", "data", "limit", "seed", "setting", "split")
        }
        if name in ACTED:
            agent, blank = ACTED[name]
            played = ACTING[dataset](**shared, agent=agent)
            return replace(played, settings=replace(played.settings, blank=blank))
        if name in AGENTS:
            return ONE_CALL[dataset](**shared, **AGENTS[name])
        return VARIANTS[name](DATASETS[dataset](**shared), self.rejects)


@dataclass(frozen=True)
class Results(side_by_side.Results[Setup]):
    """The episodes of a run, by dataset and method; what a method came to is "em", "f1", "calls" and so on."""


def methods_for(engine: str) -> tuple[str, ...]:
    """All methods where rules answer, else those that the protocol of recordings names."""
    return METHODS if parse(engine).by_rules else RECORDED


def collect(setup: Setup, workers: int = 0, cluster: str = "", **options: Any) -> Results:
    """`lab.runs.collecting.collect` of Table 5, with its arguments."""
    return collecting.collect(setup, Results, workers, cluster, **options)


def with_placebo(setup: Setup, workers: int = 0, cluster: str = "") -> Results:
    """All methods, the placebo with the share of rejections that SDP's own Validate has there, if none is stated."""
    return side_by_side.with_placebo(setup, partial(collect, workers=workers, cluster=cluster))


def frame(results: Results) -> pd.DataFrame:
    """A results table: EM and F1 in percent by dataset and method, with what was searched in its source."""
    rows = (row for dataset, name in results.parts for row in _rows(results, dataset, name))
    return tables.table(row | {"data": results.setup.data} for row in rows)


def _rows(results: Results, dataset: str, name: str) -> Iterator[tables.Row]:
    of = [str(Entry(dataset, name, question)) for question in results.of(dataset, name)]
    about = (results.evidence, f"this run, {corpus(results.setup, dataset)}")
    em, f1 = (list(results.values(dataset, name, what).values()) for what in ("em", "f1"))
    outcomes = results.outcomes(of)
    yield tables.rate_row(name, results.backbone, f"{dataset} EM", int(sum(em)), len(em), *about, outcomes)
    percent = [100 * value for value in f1]
    yield tables.mean_row(name, results.backbone, f"{dataset} F1", percent, *about, outcomes=outcomes, top=100.0)


def corpus(setup: Setup, dataset: str) -> str:
    """What the questions are and where evidence is looked for, in words for a row's source."""
    if setup.data == "made":
        return f"made questions ({setup.split} templates), {setup.setting} setting"
    where = "its own paragraphs" if setup.setting == "distractor" else f"{CORPORA[dataset]} paragraphs"
    return f"{setup.split} questions, {where}"


def with_published(measured: pd.DataFrame) -> pd.DataFrame:
    """The measured rows, and those of recordings, behind those that the paper and its rivals report."""
    import pandas as pd

    known = side_by_side.recorded(Setup.method)
    if len(known):  # a recording that is being replayed is among the measured rows
        known = known[~known["backbone"].isin(measured["backbone"])]
    return pd.concat([tables.published("Table 5 multi-hop QA", "sdp"), measured, known], ignore_index=True)


def comparisons(results: Results) -> pd.DataFrame:
    """`side_by_side.comparisons` by exact match."""
    return side_by_side.comparisons(results)


def primary(runs: Sequence[Results]) -> pd.DataFrame:
    """The protocol's comparison in each run: SDP's exact match less that of direct answers from the same paragraphs."""
    found = contest.primary(runs, SDP, DIRECT)
    data = {(run.backbone, dataset): run.setup.data for run in runs for dataset in run.setup.datasets}
    return found.assign(data=[data[row.backbone, row.dataset] for row in found.itertuples()])


def anatomy(results: Results) -> pd.DataFrame:
    """What the loop did, by dataset and variant: calls and attempts a question, rejections, replans, forced answers,
    and of the failures the share whose evidence was never all shown, with its 95 % interval, where it is annotated.
    """
    import pandas as pd

    lines = []
    for dataset, name in results.parts:
        kept = {question: one.result for question, one in results.of(dataset, name).items() if not one.failed}
        if name not in VARIANTS or not kept:
            continue
        played = [*kept.values()]
        attempts = [attempt for one in played for attempt in one["trajectory"]["attempts"]]
        scores, shown = ({question: one[what] for question, one in kept.items()} for what in ("em", "gold_seen"))
        (lost,) = evidence_never_shown(scores, shown).to_dict("records")
        lines.append(
            {"dataset": dataset, "method": name, "n": len(played), "calls": results.mean(dataset, name, "calls"),
             "attempts": len(attempts) / len(played),
             "rejected, %": 100 * sum(attempt["k"] == 0 for attempt in attempts) / max(len(attempts), 1),
             "replans": sum(one["replans"] for one in played), "forced": sum(one["forced"] for one in played),
             "failures": lost["denominator"], "evidence never shown": lost["numerator"],
             "share, %": "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * lost[end] for end in ("share", "low", "high")))
             if lost["denominator"] else ""}
        )  # fmt: skip
    about = {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}
    return pd.DataFrame(lines).assign(**about)


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and seconds by dataset, method and operator."""
    return collecting.costs(results, lambda task: {"dataset": entry(task).dataset, "method": entry(task).method})


def record(results: Results) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, frame(results), costs(results))


def between(first: Results, second: Results, name: str = SDP) -> pd.DataFrame:
    """A method's exact match in two runs on the same questions, first less second in points, a row a dataset."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset in first.setup.datasets:
        of = [run.scores(dataset, name) for run in (first, second)]
        shared = of[0].keys() & of[1].keys()  # the open setting also has questions that come without paragraphs
        one, other = ({question: values[question] for question in sorted(shared)} for values in of)
        c = compare(one, other)
        means = {run.setup.setting: 100 * mean for run, mean in zip((first, second), (c.mean_a, c.mean_b), strict=True)}
        difference = dict(zip(("difference", "low", "high"), (100 * end for end in c.difference), strict=True))
        lines.append({"dataset": dataset, "n": c.n} | means | difference | {"p (McNemar)": c.mcnemar})
    adjusted = holm([line["p (McNemar)"] for line in lines])
    about = {"data": first.setup.data, "evidence": first.evidence, "backbone": first.backbone}
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, **about)


def retrieval(data: str = "auto", seed: int = 0, k: int = 10) -> pd.DataFrame:
    """Questions of which a search for the question shows all gold paragraphs among the first k, in percent: with titles
    first and by content alone, paired, in the corpus of the open setting. Questions with silver evidence are left out.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset, kind in DATASETS.items():
        world = kind(data=data, setting="open", seed=seed).world()
        retriever = world.retriever
        assert retriever is not None, "the open setting has one"
        asked = [world.hidden(task) for name in world.splits if name != SILVER for task in world.tasks(name)]
        asked = [question for question in asked if question.gold]
        ids = [question.task.id for question in asked]
        shares = [evidence_found(retriever, asked, k, titles) for titles in (True, False)]
        boosted, plain = ({id: float(share == 1) for id, share in zip(ids, each, strict=True)} for each in shares)
        c = compare(boosted, plain)
        difference, low, high = (100 * end for end in c.difference)
        lines.append(
            {"dataset": dataset, "n": c.n, "titles first": 100 * c.mean_a, "content alone": 100 * c.mean_b,
             "difference": difference, "low": low, "high": high, "gained": c.wins, "lost": c.losses,
             "p (McNemar)": c.mcnemar, "paragraphs": len(retriever), "data": world.data}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(evidence="measured", backbone="BM25")


def _some(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
