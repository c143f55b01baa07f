"""SDP, the State-Centric Decision Process: commit to a predicate, act, certify it, repair the plan locally.

`loop` is Algorithm 1; `operators` what an adapter fills; `trajectory` the certified artifact of §3.3; `mdp` Table 1 as
code; `markov` an empirical test of Proposition 1; `ablation` §4.3 and Appendix C; `adapters` one module per benchmark.
"""
