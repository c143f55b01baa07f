"""Agents that look ahead and plan with a reward predictor (§4.4, Appendix C.6). Read in this order:

    paths          where an episode stands: the goal, and what was done and seen
    world_models   what an action would lead to: asked of a model, or tried in the world itself (by `worlds.pool`)
    budget         caps on calls, whoever makes them
    lookahead      what a predictor says of candidate actions                                  (Eq. 15)
    guides         predictors that ask no model: the true progress, and placebos
    rewarded       ReAct that is shown those rewards                                           (C.6.2)
    tree           nodes of a search tree, with their visits and values
    proposals      which actions it looks at: asked of a model, or the valid ones
    mcts           tree search whose leaves a predictor values                                 (C.6.3)
    hacking        reward hacking: high scores without progress

`statefactory.studies.table2` compares them with placebos on the paper's three worlds. `experiments.table17` plays the
tree search on one task, and `studies.policy` compares predictors as guides. Their stand-ins, an expert that errs and
rules that foresee outcomes, are in `standins.statefactory`.
"""
