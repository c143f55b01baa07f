"""Text environments behind one protocol, `worlds.base.World`: tasks, reset, step, all in text. They know no paper.

    worlds.alfworld         household tasks: find a thing, clean, heat or cool it, put it somewhere
    worlds.assistantbench   questions that take searching and reading the web: AssistantBench, or synthetic ones
    worlds.blocksworld      stack blocks until they stand as asked; PlanBench's problems, or random ones of any size
    worlds.encyclopedia     no world: the vocabulary of the synthetic articles
    worlds.multihop         questions that take several paragraphs: HotpotQA and MuSiQue, given or to be searched
    worlds.scienceworld     primary school experiments in a simulated house; needs no Java of the machine's own
    worlds.textworld        generated text adventures: locked chests, treasure hunts, cooking
    worlds.travelplanner    plan a trip from flights, rooms, restaurants and sights; the official evaluator's verdicts
    worlds.web              no world: a synthetic web, with faulty pages
    worlds.webshop          find a product that fits an instruction and buy it

Start with a module's `load()`; it needs no download, and takes the benchmark's own data where there is any:

    world = worlds.blocksworld.load()    # after `import worlds.blocksworld`
    step = world.reset(world.tasks("test")[0])
    step = world.step(step.actions[0])   # step.text, step.score, step.done

Each folder has its agents' side in `world.py`, the solutions, which no agent may see, in `expert.py`, and beside `load`
the benchmark, which has both with the tasks. `dir(worlds)` is what a world of your own is written with.
"""

from lab.lazy import front_door

PLACES = {
    "Benchmark": "worlds.benchmark",
    "EpisodeOver": "worlds.base",
    "Expert": "worlds.base",
    "ListingWorld": "worlds.base",
    "NoSolution": "worlds.base",
    "Step": "worlds.base",
    "Task": "worlds.base",
    "World": "worlds.base",
    "WorldDied": "worlds.base",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
