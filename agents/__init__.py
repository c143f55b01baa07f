"""What the papers compare their methods with: agents for any world.

loops     ReAct, and those that plan or reflect: Reflexion, Plan-and-Solve, Plan-and-Act, GoalAct, TDP
search    one search or several, and an answer; for multi-hop questions
trivial   agents without any skill: the floor of a world

Agents that act know a world as an `environment`; `environment.InWorld` makes one of any world, `worlds/` has those of
benchmarks. `play` is an episode with its caps, on which all loops stand; what was done is a `history`. `experiments/`
has the agents on the harness, with the tasks that all methods share.
"""
