"""Rewards at work: agents that look ahead and plan with a predictor (§4.4, Appendix C.6). Read in this order:

    paths          where an episode stands: the goal, and what was done and seen
    world_models   what an action would lead to: asked of a model, or tried in the world itself (by `worlds.pool`)
    foresight      rules that foresee it from the texts that were seen, for two worlds
    budget         caps on calls, whoever makes them
    lookahead      what a predictor says of candidate actions                                  (Eq. 15)
    guides         predictors that ask no model: the true progress, and placebos
    rewarded       ReAct that is shown those rewards                                           (C.6.2)
    stand_in       who answers its prompts where no model does: an expert that errs, and obeys rewards
    tree           what a tree search knows of the nodes that it thought of
    proposals      which actions it looks at: asked of a model, or the valid ones
    mcts           tree search whose leaves a predictor values                                 (C.6.3)
    hacking        how high a score can be driven where nothing of the task is done

`statefactory.studies.table2` plays them, with placebos beside, on the paper's three worlds. `experiments.table17` plays
the tree search on one task, and `studies.policy` asks which reward chooses best.
"""
