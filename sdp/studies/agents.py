"""The agents that SDP is compared with in Tables 2 to 5 (B.1), on the same tasks and with the same model.

The paper takes most of these rows from other papers, with other models; its authors only played those of Table 2. Here
all are played, with SDP's cap of environment steps. Calls and tokens, of which SDP uses more, are shown too.
There is one study per benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from agents.experiments import acting
from agents.history import MALFORMED
from agents.worlds.travelplanner import delivered
from lab.models.engines import MODELS, ORACLE, parse
from lab.results import tables
from lab.runs import study_results
from lab.runs.study import Metric, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.studies.comparing import labels
from sdp.studies.conditions import ACTING, AGENTS, BLANK, BLANKED, DIRECT, PLACEBO, SDP, rejections

REACT = "ReAct"
CONDITIONS = (SDP, PLACEBO, BLANKED, DIRECT, *(agent.but(agent.name, extra=False) for agent in AGENTS))
METHODS = tuple(condition.name for condition in CONDITIONS)
ACTED = {agent.name: agent for agent in AGENTS}
BOUND = {*acting.BINDABLE, *(f"{name}{BLANK}" for name in acting.BINDABLE)}
BUDGET = "valid_cost"  # TravelPlanner's constraint on the cost of a plan
# Each method with plans or reflections, and its controls, which are asked in the same way (see `sdp.placebo`).
CONTROLS = (
    (SDP.name, PLACEBO.name), (SDP.name, BLANKED.name), *((name, f"{name}{BLANK}") for name in acting.ASKING)
)  # fmt: skip
# Benchmark -> the paper's table, the score's name there, and the options that select the tasks.
TABLES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "TravelPlanner": ("Table 2 TravelPlanner", "Final Pass Rate", {"levels": ("easy", "medium", "hard")}),  # B.1
    "AssistantBench": ("Table 3 AssistantBench", "Accuracy", {"split": ""}),
    "ScienceWorld": ("Table 4 ScienceWorld", "Short", {"lengths": ("short",)}),
    "HotpotQA": ("Table 5 multi-hop QA", "HotpotQA EM", {"split": ""}),
    "MuSiQue": ("Table 5 multi-hop QA", "MuSiQue EM", {"split": ""}),
}


def even(played: Trial | Results) -> bool:
    """Whether the same kind of engine answers the agents and SDP; not if agents follow an expert, and SDP rules."""
    return len({part.name == ORACLE for part in played.who.parts}) == 1


def label(results: Results, name: str) -> str:
    """An agent's name with a note: that an expert acts for it, or how its answers are bound."""
    if name not in ACTED:
        return name
    if not even(results):
        return f"{name} (acted by an expert)"
    free = ", free text" if results.by_a_model else ""  # rules always keep the form, so no note is needed
    schema = results.setup.options.get("settings.schema", False)
    if schema == "action":
        return f"{name}, actions bound to their form" if name in BOUND else name
    return name if schema else name + free


def asked(trial: Trial, dataset: str) -> str:
    """The data, and the options that differ from the study's."""
    changed = {name: value for name, value in trial.options.items() if value != trial.of.options.get(name)}
    texts = [f"{name}={value}" for name, value in changed.items() if ":" not in name and "." not in name]
    return ", ".join([f"{trial.data} data", *texts])


def stood_in(dataset: str, methods: Sequence[str], stand_in: str, data: str = "synthetic") -> dict[str, str]:
    """Operator -> stand-in engine, for agents in a benchmark that rules cannot play; {} if rules can play it."""
    kind = ACTING[dataset]
    if kind(data=data).decided().data in kind.ruled:
        return {}
    playing = [ACTED[name] for name in methods if name in ACTED and dataset in ACTED[name].plays]
    return {operator: stand_in for agent in playing for operator in acting.AGENTS[agent.settings["agent"]].operators}


def experts(trial: Trial) -> dict[str, str]:
    """The oracle for agents that rules cannot play, if rules answer SDP."""
    kind, rules, noise = trial.engine.partition("rules")
    return stood_in(trial.datasets[0], trial.methods, ORACLE + noise, trial.data) if rules and not kind else {}


STUDIES = {
    benchmark: register(
        Study(
            name=f"sdp-agents-{benchmark.lower()}",
            benchmarks=(benchmark,),
            conditions=CONDITIONS,
            metrics=(Metric(metric),),
            against=SDP.name,
            published=(table, "sdp"),
            options=options,
            synthetic={"split": "reporting"} if "split" in options else {},
            source=asked,
            label=label,
            matched=rejections,
            engine=ORACLE if benchmark == "ScienceWorld" else "rules",
            others=experts,
        )
    )
    for benchmark, (table, metric, options) in TABLES.items()
}
TRAVELPLANNER, ASSISTANTBENCH, SCIENCEWORLD, HOTPOTQA, MUSIQUE = STUDIES.values()  # for entry points


NOISY = "rules@0.9?judge=GPT-5.2"  # the engine of the agents if it is no model
SIMULATED = 16  # tasks


def beside(benchmark: str, engine: str, limit: int) -> Results:
    """The agents with SDP on a benchmark: by the engine if it is a model, else simulated on synthetic tasks.

    limit: number of tasks, 0 for all. -1 simulates SIMULATED tasks, whatever the engine: these agents together make
    many more calls than SDP alone.
    """
    model = limit >= 0 and not parse(engine).kinds.isdisjoint(MODELS)
    settings: dict[str, Any] = {"engine": engine} if model else {"engine": NOISY, "data": "synthetic"}
    return STUDIES[benchmark].run(conditions=METHODS, limit=SIMULATED if limit < 0 else limit, **settings)


def details(results: Results, stem: str) -> dict[str, pd.DataFrame]:
    """Title -> table: scores (also written to `stem`), differences, malformed and invalid answers, caps and costs."""
    study = results.of_study
    rows = results.beside_published()
    scores = tables.side_by_side(rows, [metric.title for metric in study.metrics])
    tables.write(rows, stem, scores, f"Agents on {results.setup.datasets[0]}")
    return {
        "scores": scores,
        "each method less SDP": results.compare() if even(results.setup) else pd.DataFrame(),
        "each method less its controls": placebos(results),
        "what could not be used": faults(results),
        "the caps of steps and calls": footing(results),
        "calls and tokens": results.costs(),
    }


def placebos(results: Results) -> pd.DataFrame:
    """Each method minus its own controls on the same tasks: see `lab.runs.study_results.contrasts`."""
    return study_results.contrasts([results], CONTROLS).assign(data=results.setup.data)


def faults(results: Results) -> pd.DataFrame:
    """Malformed and invalid answers by agent, as shares of its answers in percent, and how its episodes ended.

    over budget: on TravelPlanner, the share of plans that cost more than the query allows, among those whose cost the
    evaluator judged (`costed`; it judges none of an incomplete plan). There the paper reports that 20 to 30 % of the
    feasible queries are over budget, and that 12 to 18 % of the outputs are malformed (§4.1).
    """
    rows: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        played = [episode.result for episode in results.of(dataset, method).values() if not episode.failed]
        if not played or MALFORMED not in played[0]:
            continue
        episodes = pd.DataFrame(played)
        answers = episodes["calls"].sum() or 1
        ends = episodes["end"].value_counts()
        row = {
            "dataset": dataset, "method": method, "n": len(episodes),
            "malformed, %": 100 * episodes[MALFORMED].sum() / answers,
            "episodes with one, %": 100 * (episodes[MALFORMED] > 0).mean(),
            "invalid, %": 100 * episodes["invalid"].sum() / answers,
            "ends": ", ".join(f"{end}: {count}" for end, count in ends.items()),
        }  # fmt: skip
        if dataset == "TravelPlanner":
            costed = _over_budget(results, method)
            row |= {"over budget, %": 100 * pd.Series(costed, dtype=float).mean(), "costed": len(costed)}
        rows.append(row)
    return pd.DataFrame(rows).assign(**labels(results))


def _over_budget(results: Results, method: str) -> list[bool]:
    """For each plan whose cost was judged, whether it is over budget."""
    played = results.setup.part("TravelPlanner", method)
    episodes = results.of("TravelPlanner", method)
    plans = {task: delivered(episode.result) for task, episode in episodes.items() if not episode.failed}
    costs = (played.verdict(task, plan).hard[BUDGET] for task, plan in plans.items() if plan is not None)
    return [not cost.passed for cost in costs if cost and cost.passed is not None]


def footing(results: Results) -> pd.DataFrame:
    """Whether all methods keep to the agents' caps of steps and calls: SDP has no cap of calls.

    most: the maximum over episodes. over: episodes that exceed a cap. within: the score in percent if these count as
    failed. Methods of one call, which take no steps, are left out.
    """
    rows: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        caps = results.setup.part(dataset, REACT).settings
        steps, calls = caps.steps, caps.calls or 2 * caps.steps
        played = {task: episode.result for task, episode in results.of(dataset, method).items() if not episode.failed}
        if not played or any("steps" not in result for result in played.values()):
            continue
        counts = pd.DataFrame(played).T[["steps", "calls"]]
        over = counts.index[(counts["steps"] > steps) | (counts["calls"] > calls)]
        scores = pd.Series(results.scores_of(dataset, method))
        rows.append(
            {"dataset": dataset, "method": method, "n": len(scores), "most steps": counts["steps"].max(),
             "cap of steps": steps, "most calls": counts["calls"].max(), "cap of calls": calls, "over": len(over),
             "score": 100 * scores.sum() / len(scores), "within": 100 * scores.drop(over).sum() / len(scores)}
        )  # fmt: skip
    return pd.DataFrame(rows).assign(**labels(results))
