"""SDP, the State-Centric Decision Process: commit to a predicate, act, certify it, repair the plan locally.

A reader of the method begins with `sdp.loop` (Algorithm 1) and `sdp.operators` (what a benchmark fills in); `sdp.mdp`
turns trajectories into the objects of Table 1, `sdp.anatomy` into the shares of Figure 3, `sdp.ablation` removes
mechanisms. data/deviations/sdp.yaml lists what differs from the paper. `sdp.adapters` has a folder a benchmark,
`sdp.experiments` a file a benchmark, `sdp.studies` a file a table. `dir(sdp)` is what a user needs.
"""

from lab.lazy import front_door

PLACES = {
    "ABLATIONS": "sdp.ablation",
    "Adapter": "sdp.operators",
    "Attempt": "sdp.trajectory",
    "Certifying": "sdp.experiments.certifying",
    "FactsAdapter": "sdp.adapters.facts",
    "Predicate": "sdp.trajectory",
    "Settings": "sdp.loop",
    "Trajectory": "sdp.trajectory",
    "Transition": "sdp.trajectory",
    "Verdict": "sdp.operators",
    "collect": "lab.runs.collecting",
    "comparisons": "sdp.experiments.certifying",
    "rejected": "sdp.placebo",
    "run_episode": "sdp.loop",
    "scored": "sdp.experiments.certifying",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
