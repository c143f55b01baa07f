"""Table 3: SDP on AssistantBench, beside itself without its mechanisms and answers from a closed book."""

from __future__ import annotations

import os

from lab.runs.experiment import BadSetting
from lab.runs.study import Metric, Study, register
from lab.runs.trial import Trial
from sdp.studies.conditions import DIRECT, PLACEBO, SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE, agent, rejections
from worlds.web.serper import KEY
from worlds.web.site import FAULTY

BENCHMARK = "AssistantBench"
CLOSED = DIRECT.but("direct, closed book", recorded=True)
FORCED = SDP.but("SDP, complete findings forced", "policy.uncertainty", "forced", recorded=False)


def asked(trial: Trial, dataset: str) -> str:
    """What the questions are and what is searched."""
    if trial.data == "synthetic":
        split, faults = trial.options["split"], trial.options["faults"]
        looked_up = "; SDP's rules look up what they ask for" if "rules" in trial.who.kinds else ""
        return f"synthetic questions ({split} templates) on a synthetic web, {faults} faulty pages a list{looked_up}"
    return f"{trial.options['split']} questions, the web by Serper"


def searchable(trial: Trial) -> None:
    """Raise BadSetting where official questions would be searched for without a key."""
    if trial.data == "official" and {*trial.methods} - {CLOSED.name} and not os.environ.get(KEY, "").strip():
        raise BadSetting(
            f"AssistantBench's own questions are searched for with Serper: set {KEY}, ask with "
            f"methods=[{CLOSED.name!r}], which searches for nothing, or play data='synthetic'"
        )


def answered(trial: Trial) -> bool:
    """Whether the answers to the questions are published."""
    world = trial.world()
    return all(world.hidden(task).answer is not None for task in world.tasks(trial.options["split"]))


STUDY = register(
    Study(
        name="sdp-table3",
        benchmarks=(BENCHMARK,),
        conditions=(SDP, FORCED, WITHOUT_VALIDATE, WITHOUT_REPLAN, PLACEBO, CLOSED, agent("ReAct")),
        metrics=(
            Metric("Accuracy", "score", "mean"),
            Metric("Precision", "score", "mean", given="has_answer"),
            Metric("EM", "score", "rate"),
            Metric("Answer rate", "has_answer", "rate"),
        ),
        metric="accuracy",
        against=SDP.name,
        published=("Table 3 AssistantBench", "sdp"),
        options={"split": "", "faults": FAULTY},
        synthetic={"split": "reporting"},
        source=asked,
        matched=rejections,
        check=searchable,
        scored=answered,
    )
)
