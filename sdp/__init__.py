"""SDP, the State-Centric Decision Process: commit to a predicate, act, certify it, repair the plan locally.

To understand the method, start with `sdp.loop` (Algorithm 1) and `sdp.operators` (what a benchmark implements).
`sdp.mdp` turns trajectories into the objects of Table 1, `sdp.anatomy` into the shares of Figure 3; `sdp.ablation`
removes mechanisms. data/deviations/sdp.yaml lists what differs from the paper. `sdp.adapters` has a folder per
benchmark, `sdp.experiments` a file per benchmark, `sdp.studies` a file per table. `dir(sdp)` lists what a user needs.
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
    "of_own": "sdp.studies.own",
    "rejected": "sdp.placebo",
    "run_episode": "sdp.loop",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
