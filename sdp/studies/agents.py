"""The agents that SDP is compared with in Tables 2 to 5 (B.1), on the same tasks and by the same model.

The paper takes most of these rows from others' papers, by other models; only Table 2's were played by its authors.
Here all are, with the cap of environment steps that SDP has; calls and tokens, of which SDP takes more, are shown too.
A study a benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.experiments import acting
from lab.models.engines import ORACLE
from lab.runs.study import Metric, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.studies.conditions import ACTING, AGENTS, BLANKED, DIRECT, PLACEBO, SDP, rejections

REACT = "ReAct"
CONDITIONS = (SDP, PLACEBO, BLANKED, DIRECT, *(agent.but(agent.name, extra=False) for agent in AGENTS))
METHODS = tuple(condition.name for condition in CONDITIONS)
ACTED = {agent.name: agent for agent in AGENTS}
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
            primary=REACT,
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
