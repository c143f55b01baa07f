"""Baseline agents that the papers compare their methods with. They play any world.

loops     acting agents: ReAct, and agents that plan or reflect (Reflexion, Plan-and-Solve, Plan-and-Act, GoalAct, TDP)
search    agents that search, once or several times, and then answer; for multi-hop questions
trivial   agents without any skill: the floor of a world

An acting agent sees a world as an `environment`. `environment.InWorld` wraps any world; `worlds/` has the environments
of the benchmarks. `play` is one episode with its caps; all loops use it. A `history` records what was done.
`experiments/` runs the agents on the tasks that all methods share. `dir(agents)` is what a user needs.
"""

from lab.lazy import front_door

PLACES = {
    "Acting": "agents.experiments.acting",
    "InWorld": "agents.environment",
    "react_prompt": "agents.prompts",
    "written": "agents.prompts",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
