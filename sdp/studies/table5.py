"""Table 5: SDP on HotpotQA and MuSiQue, beside itself without its mechanisms and agents that answer in one call."""

from __future__ import annotations

from agents.experiments.acting import AGENTS as ACTING_AGENTS
from lab.runs.study import Metric, Study, register
from lab.runs.trial import Trial
from sdp.studies.conditions import AGENTS, DIRECT, PLACEBO, SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE, agent, rejections

CORPORA = {"HotpotQA": "12,479", "MuSiQue": "10,024"}  # paragraphs of the official data that is at hand
ALL = DIRECT.but("direct, all paragraphs", "evidence", "shown", recorded=True)
ONE_CALL = (
    ALL.but("direct, closed book", "evidence", "none"),
    ALL,
    ALL.but("direct, gold paragraphs (privileged)", "evidence", "gold", role="privileged"),
    ALL.but("chain of thought, all paragraphs", "agent", "chain of thought"),
)
GUESSED = SDP.but("SDP, hops guessed", "policy.hops", "guess", recorded=False)
VARIANTS = (SDP, GUESSED, WITHOUT_VALIDATE, WITHOUT_REPLAN, PLACEBO)


def asked(trial: Trial, dataset: str) -> str:
    """What the questions are and where evidence is looked for."""
    setting, split = trial.options["setting"], trial.options["split"]
    if trial.data == "synthetic":
        return f"synthetic questions ({split} templates), {setting} setting"
    where = "its own paragraphs" if setting == "distractor" else f"{CORPORA[dataset]} paragraphs"
    return f"{split} questions, {where}"


STUDY = register(
    Study(
        name="sdp-table5",
        benchmarks=("HotpotQA", "MuSiQue"),
        conditions=(*VARIANTS, *ONE_CALL, *AGENTS, *(agent(name) for name in ACTING_AGENTS if "action" in name)),
        metrics=(Metric("{benchmark} EM", "em", "rate"), Metric("{benchmark} F1", "f1", "mean")),
        metric="exact match",
        against=SDP.name,
        primary=ALL.name,
        published=("Table 5 multi-hop QA", "sdp"),
        options={"setting": "distractor", "split": ""},
        synthetic={"split": "reporting"},  # the templates on which no rule was written
        source=asked,
        matched=rejections,
    )
)
