"""Text environments behind one protocol, `worlds.base.World`: tasks, reset, step, all in text. They know no paper.

    worlds.alfworld         household tasks: find a thing, clean, heat or cool it, put it somewhere
    worlds.assistantbench   questions that take searching and reading the web: AssistantBench, or synthetic ones
    worlds.blocksworld      stack blocks until the goal holds; PlanBench's problems, or random ones of any size
    worlds.encyclopedia     no world: the vocabulary of the synthetic articles
    worlds.multihop         questions that take several paragraphs: HotpotQA and MuSiQue, given or to be searched
    worlds.scienceworld     primary school experiments in a simulated house; Java comes as a package
    worlds.textworld        generated text adventures: locked chests, treasure hunts, cooking
    worlds.travelplanner    plan a trip from flights, rooms, restaurants and sights; the official evaluator's verdicts
    worlds.web              no world: a synthetic web, with faulty pages
    worlds.webshop          find a product that fits an instruction and buy it

Start with a module's `load()`; it needs no download, and uses the benchmark's official data where that is present:

    world = worlds.blocksworld.load()    # after `import worlds.blocksworld`
    step = world.reset(world.tasks("test")[0])
    step = world.step(step.actions[0])   # step.text, step.score, step.done

In each folder, `world.py` is what agents see, `expert.py` has the solutions, which no agent may see, and `__init__.py`
has `load` and the benchmark, which joins both with the tasks. `dir(worlds)` lists what you need for your own world.
"""

from lab.lazy import front_door

PLACES = {
    "Benchmark": "worlds.benchmark",
    "EpisodeOver": "worlds.base",
    "Expert": "worlds.base",
    "ListingWorld": "worlds.base",
    "NoSolution": "worlds.base",
    "PlainTask": "worlds.base",
    "Step": "worlds.base",
    "Task": "worlds.base",
    "World": "worlds.base",
    "WorldDied": "worlds.base",
}
__getattr__, __dir__ = front_door(__name__, PLACES)
