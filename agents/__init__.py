"""What the papers compare their methods with: agents for any world, each in a file of its own.

direct              the answer in one call
chain_of_thought    one call that reasons before it answers
react               thought, action, observation, and again
reflexion           the same in trials, with a lesson between them
plan_and_solve      a plan first, then carried out
plan_and_act        a plan by a planner, actions by an executor, and the plan anew
goalact             a global plan that is rewritten before each action
tdp                 a graph of sub-goals, each worked on in a context of its own
trivial             agents without any skill: the floor of a world
search              one search or several, and an answer; for multi-hop questions

Agents that act know a world as an `environment`; `environment.InWorld` makes one of any world, `worlds/` has those of
benchmarks. `play` is an episode with its caps, on which all loops stand; what was done is a `history`. `experiments/`
has the agents on the harness, with the tasks that all methods share.
"""
