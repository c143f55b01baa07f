"""ProcLLM: a hierarchical task network decides what a language model works on and what it must verify.

An episode in five lines, and Figure 1 of the paper for it:

    blocks = procllm.domain("blocks")                                        # or travel, recipes, units
    network = procllm.network_of(procllm.HUMAN, blocks)                      # or NONE; LLM takes what `make` returns
    (instance,) = blocks.instances(1, seed=0)
    trajectory = procllm.play(blocks, instance, network, lab.connect("rules"))
    procllm.film(network, trajectory)

To read the method, begin with `loop` (Algorithm 1), which uses `network`, `agenda` and `workspace`. `prompts` holds the
prompts of the loop, `generation` asks a model for a network, `domains` has the four domains, `plots` draws networks,
`experiments.episodes` plays a domain under a network, and `studies` has the tables and figures.
`dir(procllm)` lists the names that a user needs first.
Source: Hsiao, Roberts and Smith 2025, "Procedural Knowledge Improves Agentic LLM Workflows".
"""

from lab.lazy import front_door

PLACES = {
    "Domain": "procllm.domains",
    "HUMAN": "procllm.conditions",
    "Instance": "procllm.domains",
    "LLM": "procllm.conditions",
    "Method": "procllm.network",
    "NONE": "procllm.conditions",
    "Network": "procllm.network",
    "Trajectory": "procllm.trajectory",
    "cumulative": "procllm.domains",
    "domain": "procllm.domains",
    "film": "procllm.plots",
    "in_advance": "procllm.domains.own",
    "in_one_go": "procllm.domains.own",
    "make": "procllm.generation",
    "network_of": "procllm.conditions",
    "of_own": "procllm.studies.conditions",
    "play": "procllm.loop",
    "read": "procllm.network",
    "tree": "procllm.plots",
    "write": "procllm.network",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
