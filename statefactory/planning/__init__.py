"""Agents that look ahead and plan with a reward predictor (§4.4, Appendix C.6). Read in this order:

    lookahead      what an action would lead to, asked of a model or tried in the world itself (by `worlds.pool`),
                   and what a predictor says of that                                           (Eq. 15)
    rewarded       ReAct that is shown those rewards                                           (C.6.2)
    proposals      which actions a tree search looks at: asked of a model, or the valid ones
    mcts           tree search whose leaves a predictor values                                 (C.6.3)

`statefactory.studies.table2` compares them with placebos on the paper's three worlds. `experiments.table17` plays the
tree search on one task, and `studies.policy` compares predictors as guides. Their stand-ins, an expert that errs and
rules that foresee outcomes, are in `standins.statefactory`.
"""
