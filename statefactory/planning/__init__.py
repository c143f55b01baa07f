"""Rewards at work: agents that look ahead and plan with a predictor (§4.4, Appendix C.6). Read in this order:

paths          where an episode stands: the goal, and what was done and seen
world_models   what an action would lead to: asked of a model, or tried in the world itself
pool           worlds that stand at nodes of a search, so that little has to be replayed
lookahead      what a predictor says of candidate actions                                  (Eq. 15)
rewarded       ReAct that is shown those rewards                                           (C.6.2)
tree           what a tree search knows of the nodes that it thought of; as data
proposals      which actions it looks at: asked of a model, or the valid ones
mcts           tree search whose leaves a predictor values                                 (C.6.3)
"""
