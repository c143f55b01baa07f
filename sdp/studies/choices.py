"""Points that the paper leaves open or states twice; each reading is a condition, SDP with one setting changed.

    python -m lab eval sdp-choices --engine rules@0.8 --limit 40
    python -m lab eval sdp-choices --engine oracle@0.8      ScienceWorld, where no rule plans

Calls are shown next to scores, since Eq. 1 and A.3 differ in how often Propose is called; `Results.costs` has them by
operator. Noise errs per call, so a plan of many calls has more mistakes; under `rules@0.8, Propose: rules` both
readings have the same plans and scores. If a reading changes a prompt, noise is sampled again: a small difference
between engines with noise is chance, and the interval shows that.
"""

from __future__ import annotations

from lab.runs.study import Condition, Metric, Study, register
from sdp.studies.conditions import SDP

EQUATION_1 = SDP.but("SDP, a predicate a call of Propose (Eq. 1)", "settings.propose", "predicate")
EPISODE = SDP.but("SDP, Realize sees all failures of the episode (A.1)", "settings.failures", "episode")


def on(name: str, setting: str, value: str, *benchmarks: str) -> Condition:
    """SDP with a policy that only these benchmarks have."""
    plays = {benchmark: SDP.plays[benchmark] for benchmark in benchmarks}
    return SDP.but(name, setting, value, plays=plays, recorded=False)


STUDY = register(
    Study(
        name="sdp-choices",
        benchmarks=tuple(SDP.plays),
        conditions=(
            SDP,
            EQUATION_1,
            EPISODE,
            on("SDP, Replan is told refused actions", "policy.refused", "actions", "ScienceWorld"),
            on("SDP, a search opens its first allowed result", "policy.opens", "allowed", "AssistantBench"),
            on("SDP, words are found in titles, too", "policy.overlap", "title and text", "HotpotQA", "MuSiQue"),
        ),
        metrics=(
            Metric("{benchmark} score", kind="mean"),
            Metric("{benchmark} calls", "calls", "mean", scale=1),
            Metric("{benchmark} attempts", "steps", "mean", scale=1),
        ),
        against=SDP.name,
    )
)
