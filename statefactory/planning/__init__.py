"""Agents that look ahead and plan with a reward predictor (§4.4, Appendix C.6). Read in this order:

    lookahead      predicts an action's outcome, by a model or the world itself (`worlds.pool`), and its reward
                                                                                               (Eq. 15)
    rewarded       ReAct with those rewards in its prompt                                      (C.6.2)
    proposals      candidate actions of a tree search: from a model, or all valid ones
    mcts           tree search with a predictor as value function                              (C.6.3)

`statefactory.studies.table2` compares them with placebos on the paper's three worlds. `experiments.table17` plays the
tree search on one task, and `studies.policy` compares predictors as guides. `standins.statefactory` has the offline
stand-ins: an expert with errors, and rules that predict outcomes.
"""
