"""What the papers compare their methods with: agents for any world, each in a file of its own.

direct              the answer in one call
chain_of_thought    one call that reasons before it answers
react               thought, action, observation, and again

Agents that act know a world as an `environment`; `environment.InWorld` makes one of any world, `worlds/` has those of
benchmarks. What they did is a `history`. `experiments/` has them on the harness, with the tasks that all methods share.
"""
