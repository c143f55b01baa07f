"""SDP, its ablations, and the methods that it is compared with (B.1), as conditions of studies."""

from __future__ import annotations

from agents.experiments import acting, one_call
from agents.experiments.acting_worlds import ACTING
from lab.runs.study import Condition
from lab.runs.study_results import Results
from sdp.experiments import assistantbench, multihop, scienceworld, travelplanner
from sdp.placebo import rejected
from sdp.trajectory import Trajectory

BLANK = ", blank plans"  # added to the name of an agent that plans: its placebo, asked in the same way
SDP = Condition(
    "SDP",
    {
        "TravelPlanner": travelplanner.Setup,
        "AssistantBench": assistantbench.Setup,
        "ScienceWorld": scienceworld.Setup,
        "HotpotQA": multihop.HotpotQA,
        "MuSiQue": multihop.MuSiQue,
    },
    recorded=True,
)
WITHOUT_VALIDATE = SDP.but("SDP without Validate", "settings.validate", False)
WITHOUT_REPLAN = SDP.but("SDP without Replan", "settings.replan", False, recorded=False)
WITHOUT_CASCADE = SDP.but("SDP without Cascade", "settings.cascade", False, recorded=False)
UNREMOVED = (SDP, WITHOUT_VALIDATE.but(WITHOUT_VALIDATE.name, recorded=False), WITHOUT_REPLAN, WITHOUT_CASCADE)
# The share of attempts that a control rejects is set to SDP's own, see `rejections`.
PLACEBO = SDP.but("SDP, placebo", "placebo", 0.0, role="placebo", matched="placebo", recorded=False)
BLANKED = PLACEBO.but("SDP, target's sentence blanked", settings={"blanked": 0.0}, matched="blanked")
DIRECT = Condition(
    "direct", {"AssistantBench": one_call.AssistantBench, "HotpotQA": one_call.HotpotQA, "MuSiQue": one_call.MuSiQue}
)


def agent(name: str, blank: bool = False) -> Condition:
    """An acting agent; blank: its placebo, with empty plans or reflections."""
    plays = {
        benchmark: experiment
        for benchmark, experiment in ACTING.items()
        if benchmark in SDP.plays and (experiment.searched or not acting.AGENTS[name].searches)
    }
    condition = Condition(name, plays, {"agent": name}, extra=True)
    return condition.but(f"{name}{BLANK}", "settings.blank", True, role="placebo") if blank else condition


AGENTS = tuple(
    agent(name, blank) for name, entry in acting.ASKING.items() for blank in (False, True)[: 1 + entry.blanks]
)


def loops(results: Results) -> list[str]:
    """The conditions of a run that are variants of SDP."""
    study = results.of_study
    return [name for name in results.setup.methods if study.condition(name).plays == SDP.plays]


def rejections(results: Results) -> float:
    """The share of attempts that SDP's own Validate rejects."""
    return rejected(Trajectory.from_json(played["trajectory"]) for played in results.played(SDP.name))
