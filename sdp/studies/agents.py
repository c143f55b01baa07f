"""The agents that SDP is compared with in Tables 2 to 5 (B.1), on the same tasks and by the same model.

The paper takes most of these rows from others' papers, by other models; only Table 2's were played by its authors.
Here all are, with the cap of environment steps that SDP has; calls and tokens, of which SDP takes more, are shown too.
A study a benchmark.
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
BUDGET = "valid_cost"  # the constraint of TravelPlanner that says what a plan may cost
# Each method with structure, and its controls, which are asked by the same rules (see `sdp.placebo`).
CONTROLS = (
    (SDP.name, PLACEBO.name), (SDP.name, BLANKED.name), *((name, f"{name}{BLANK}") for name in acting.ASKING)
)  # fmt: skip
# Benchmark -> the paper's table, the score's name there, and what is played of it.
TABLES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "TravelPlanner": ("Table 2 TravelPlanner", "Final Pass Rate", {"levels": ("easy", "medium", "hard")}),  # B.1
    "AssistantBench": ("Table 3 AssistantBench", "Accuracy", {"split": ""}),
    "ScienceWorld": ("Table 4 ScienceWorld", "Short", {"lengths": ("short",)}),
    "HotpotQA": ("Table 5 multi-hop QA", "HotpotQA EM", {"split": ""}),
    "MuSiQue": ("Table 5 multi-hop QA", "MuSiQue EM", {"split": ""}),
}


def even(played: Trial | Results) -> bool:
    """Whether agents and SDP are answered for alike: not so where the agents follow an expert, and SDP rules."""
    return len({part.name == ORACLE for part in played.who.parts}) == 1


def label(results: Results, name: str) -> str:
    """An agent's name with who acts for it, or how its answers are bound."""
    if name not in ACTED:
        return name
    if not even(results):
        return f"{name} (acted by an expert)"
    free = ", free text" if results.by_a_model else ""  # of rules, which always keep the form, it says nothing
    schema = results.setup.options.get("settings.schema", False)
    return name + {False: free, True: "", "action": ", actions bound to their form"}[schema]


def asked(trial: Trial, dataset: str) -> str:
    """The data, and what is played of it."""
    own = {name: value for name, value in trial.options.items() if value != trial.of.options.get(name)}
    changed = [f"{name}={value}" for name, value in own.items() if ":" not in name and "." not in name]
    return ", ".join([f"{trial.data} data", *changed])


def stood_in(dataset: str, methods: Sequence[str], stand_in: str, data: str = "synthetic") -> dict[str, str]:
    """Engines by operator for `engines`, where rules answer the rest: of agents that act in what no rule plays."""
    kind = ACTING[dataset]
    if kind(data=data).decided().data in kind.ruled:
        return {}
    playing = [ACTED[name] for name in methods if name in ACTED and dataset in ACTED[name].plays]
    return {operator: stand_in for agent in playing for operator in acting.AGENTS[agent.settings["agent"]].operators}


def experts(trial: Trial) -> dict[str, str]:
    """The oracle for agents that rules do not play, where rules answer SDP."""
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


NOISY = "rules@0.9?judge=GPT-5.2"  # who plays the agents where no model does


def beside(benchmark: str, engine: str, limit: int) -> Results:
    """The agents with SDP on a benchmark, by the engine where it is a model, else simulated on synthetic tasks."""
    model = not parse(engine).kinds.isdisjoint(MODELS)
    settings: dict[str, Any] = {"engine": engine} if model else {"engine": NOISY, "data": "synthetic"}
    return STUDIES[benchmark].run(conditions=METHODS, limit=limit, **settings)


def details(results: Results, stem: str) -> dict[str, pd.DataFrame]:
    """Title -> table: scores, which are also written to `stem`, differences, what could not be used, caps and costs."""
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
    """Each method less its own controls on the same tasks: see `lab.runs.study_results.contrasts`."""
    return study_results.contrasts([results], CONTROLS).assign(data=results.setup.data)


def faults(results: Results) -> pd.DataFrame:
    """What could not be used, by agent: shares of its answers in percent, and how its episodes ended.

    over budget: on TravelPlanner, the share of plans that cost more than the query allows, among those whose cost the
    evaluator judged (`costed`; it judges none of an incomplete plan). There the paper speaks of 20 to 30 % of the
    feasible queries, and of 12 to 18 % malformed outputs (§4.1).
    """
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        played = [episode.result for episode in results.of(dataset, method).values() if not episode.failed]
        if not played or MALFORMED not in played[0]:
            continue
        episodes = pd.DataFrame(played)
        answers = episodes["calls"].sum() or 1
        ends = episodes["end"].value_counts()
        line = {
            "dataset": dataset, "method": method, "n": len(episodes),
            "malformed, %": 100 * episodes[MALFORMED].sum() / answers,
            "episodes with one, %": 100 * (episodes[MALFORMED] > 0).mean(),
            "invalid, %": 100 * episodes["invalid"].sum() / answers,
            "ends": ", ".join(f"{end}: {count}" for end, count in ends.items()),
        }  # fmt: skip
        if dataset == "TravelPlanner":
            costed = _over_budget(results, method)
            line |= {"over budget, %": 100 * pd.Series(costed, dtype=float).mean(), "costed": len(costed)}
        lines.append(line)
    return pd.DataFrame(lines).assign(**labels(results))


def _over_budget(results: Results, method: str) -> list[bool]:
    """Of each plan whose cost was judged."""
    played = results.setup.part("TravelPlanner", method)
    episodes = results.of("TravelPlanner", method)
    plans = {task: delivered(episode.result) for task, episode in episodes.items() if not episode.failed}
    costs = (played.verdict(task, plan).hard[BUDGET] for task, plan in plans.items() if plan is not None)
    return [not cost.passed for cost in costs if cost and cost.passed is not None]


def footing(results: Results) -> pd.DataFrame:
    """Whether all methods keep to the caps of steps and calls that the agents have: SDP has no cap of calls.

    most: that an episode took. over: episodes that took more than a cap. within: the score in percent where these count
    as failed. Methods of one call, which take no steps, are left out.
    """
    lines: list[dict[str, Any]] = []
    for dataset, method in results.parts:
        caps = results.setup.part(dataset, REACT).settings
        steps, calls = caps.steps, caps.calls or 2 * caps.steps
        played = {task: episode.result for task, episode in results.of(dataset, method).items() if not episode.failed}
        if not played or any("steps" not in result for result in played.values()):
            continue
        took = pd.DataFrame(played).T[["steps", "calls"]]
        over = took.index[(took["steps"] > steps) | (took["calls"] > calls)]
        scores = pd.Series(results.scores_of(dataset, method))
        lines.append(
            {"dataset": dataset, "method": method, "n": len(scores), "most steps": took["steps"].max(),
             "cap of steps": steps, "most calls": took["calls"].max(), "cap of calls": calls, "over": len(over),
             "score": 100 * scores.sum() / len(scores), "within": 100 * scores.drop(over).sum() / len(scores)}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(**labels(results))
