"""Generates and compiles games with TextWorld's own generators, which make maps, objects, names, texts and quests.

Lock-and-key quests are chained backwards from their last action, which leaves one way to win: take the key from the
floor, unlock, open, take what is inside, and put it on or into something else (StateFactory, Tables 30 and 32).
Treasure hunts and cooking are TextWorld's challenges of these names.
"""

from __future__ import annotations

import errno
import json
import platform
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.machine.doctor import INSTALL
from worlds.base import WorldDied
from worlds.randomness import randomness_kept
from worlds.stored import stored

if TYPE_CHECKING:
    from textworld.generator import Game, GameOptions

SPLITS = ("test", "train")
MOST = 999  # quests per split: ids have three digits
KINDS = ("lock-and-key", "treasure-hunt", "cooking")

Options = tuple[tuple[str, int | str | bool], ...]
RECIPE = 1  # raise it whenever the same seed and options give another game, so that cached games are not used any more
ATTEMPTS = 50
SEEDS = ("map", "objects", "quest", "grammar")
# The rules of a lock-and-key quest by TextWorld's names, last action first.
LOCK_AND_KEY = (("put", "insert"), ("take/c",), ("open/c",), ("unlock/c",), ("take",))
NOT_OBJECTS = {"r", "d", "I", "P"}  # rooms, doors, the inventory, the player
FILES = ("game.z8", "game.json")  # Inform 7's output, and TextWorld's description of the game
CANNOT_RUN = {errno.ENOEXEC, errno.EACCES, errno.ENOENT}


@dataclass(frozen=True, slots=True)
class QuestTask:
    """One generated game.

    kind: one of KINDS. seed, options: what the generator needs to make this game again; they do not contain its map or
    walkthrough.
    """

    id: str
    kind: str
    seed: str
    options: Options

    @property
    def goal(self) -> str:
        """The objective, as the game prints it. Compiles the game if needed, and raises as `compiled`."""
        objective: str = description(self)["objective"]
        return objective


def quest_id(split: str, index: int) -> str:
    """The stable id of a quest, zero-padded so that ids sort in order."""
    return f"textworld-{split}-{index:03d}"


@contextmanager
def textworld_package(seed: str = "import") -> Iterator[Any]:
    """The package `textworld` with its randomness seeded; the caller's global random states are restored.

    The package uses numpy's global state even during its import. Raises ImportError with the line that installs it.
    """
    import numpy

    with randomness_kept():
        # All sources of randomness that the package uses: Python's, numpy's, and its own generator of seeds.
        random.seed(seed)
        numpy.random.seed(random.getrandbits(32))
        try:
            import textworld
        except ImportError as error:
            raise ImportError(f"TextWorld's games need the package textworld: {error}. Run: {INSTALL}") from error
        textworld.g_rng.set_seed(random.getrandbits(16))
        yield textworld


def generator_version() -> dict[str, str | int]:
    """What determines a game besides its seed and options."""
    return {"textworld": version("textworld"), "recipe": RECIPE}


def make_game(kind: str, seed: str, options: Options) -> Game:
    """Generate a game, not compiled, in about 0.1 s; cooking takes 1.5 s, since it plays a draft.

    Some seeds give no quest; then the next seed of a fixed series is tried. Raises RuntimeError after ATTEMPTS seeds.
    """
    settings = dict(options)
    with textworld_package(seed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Game .* is not fully supported")  # cooking tries its walkthrough
        from textworld.generator import QuestGenerationError

        for attempt in range(ATTEMPTS):
            try:
                return MAKERS[kind](settings, game_options(f"{seed} {attempt}"))
            except QuestGenerationError:
                continue
    raise RuntimeError(f"no {kind} game comes of seed {seed!r} and {settings} in {ATTEMPTS} attempts; change either")


def game_options(seed: str) -> GameOptions:
    """TextWorld's options with all four of its seeds, and the house theme that the paper's quests have."""
    from textworld import GameOptions

    rng = random.Random(f"textworld {seed}")
    options = GameOptions()
    options.seeds = {name: rng.randrange(2**31) for name in SEEDS}
    options.grammar.theme = "house"
    return options


def lock_and_key(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """One room with `objects` objects: those of the quest, and others unrelated to it."""
    from textworld.generator import Event, Game, KnowledgeBase, Quest, World, make_grammar, make_map, sample_quest

    options.kb = KnowledgeBase.default()
    world = World.from_map(make_map(1, rng=options.rngs["map"]))
    world.set_player_room()
    chaining = options.chaining
    chaining.backward, chaining.create_variables = True, True
    chaining.restricted_types = {"r", "d"}  # it may invent objects, but neither rooms nor doors
    chaining.rng = options.rngs["quest"]
    chaining.rules_per_depth = [options.kb.rules.get_matching(*names) for names in LOCK_AND_KEY]
    options.quest_length = len(LOCK_AND_KEY)
    chain = sample_quest(world.state, chaining)
    # The chain was followed backwards from the empty room: play begins in the state that its first action needs.
    world.state = chain.initial_state
    existing = sum(entity.type not in NOT_OBJECTS for entity in world.entities)
    world.populate(max(settings["objects"] - existing, 0), rng=options.rngs["objects"])
    grammar = make_grammar(options.grammar, rng=options.rngs["grammar"])
    return Game(world, grammar, [Quest(win_events=[Event(chain.actions)])])


def treasure_hunt(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """Find one object in `rooms` rooms, and do not take another one, which would lose the game.

    mode: "easy" (no doors), "medium" (closed doors and containers) or "hard" (locked ones too). length: of the quest.
    """
    from textworld.challenges.tw_treasure_hunter import treasure_hunter

    options.kb = knowledge(treasure_hunter.KB_PATH)
    options.nb_rooms, options.quest_length = settings["rooms"], settings["length"]
    return treasure_hunter.make_game(settings["mode"], options)


@lru_cache(maxsize=4)
def knowledge(folder: str) -> Any:
    """A challenge's rules and words; cached, since parsing them takes longer than generating a game."""
    from textworld.generator import KnowledgeBase

    return KnowledgeBase.load(folder)


def cooking(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """Read the cookbook, fetch and process the ingredients, prepare the meal and eat it; some mistakes lose.

    settings: as TextWorld's tw-cooking names them: recipe, take, go, open, cook, cut and split.
    """
    from textworld.challenges.tw_cooking import cooking as challenge

    return challenge.make({"drop": False, "recipe_seed": 0, **settings}, options)


MAKERS = {"lock-and-key": lock_and_key, "treasure-hunt": treasure_hunt, "cooking": cooking}


class NoCompiler(RuntimeError):
    """Inform 7 does not run here, so no game can be made."""


def compiled(quest: QuestTask) -> Path:
    """The game file of a quest; compiled if it is missing or broken in the cache, which takes about 1 s of CPU time.

    Raises NoCompiler where Inform 7 does not run, WorldDied where it runs and fails.
    """
    key = [generator_version(), quest.kind, quest.seed, quest.options]
    return stored("textworld", key, FILES, lambda new: run_inform(quest, new / FILES[0])) / FILES[0]


def description(quest: QuestTask) -> dict[str, Any]:
    """TextWorld's description of a compiled quest, such as its objective. Raises as `compiled`."""
    described: dict[str, Any] = json.loads((compiled(quest).parent / FILES[1]).read_text())
    return described


def run_inform(quest: QuestTask, path: Path) -> None:
    """Generate a quest's game and compile it to `path`; TextWorld's description is written next to it."""
    game = make_game(quest.kind, quest.seed, quest.options)
    with textworld_package(quest.seed):
        from textworld import GameOptions
        from textworld.generator import CouldNotCompileGameError, compile_game

        options = GameOptions()
        options.path, options.force_recompile = str(path), True
        try:
            compile_game(game, options)
        except OSError as error:
            if error.errno not in CANNOT_RUN:
                raise
            raise NoCompiler(
                f"Inform 7, which the package textworld brings for Linux on x86-64, does not run on this machine "
                f"({platform.system()}, {platform.machine()}): {error}. Run: python -m lab doctor"
            ) from error
        except CouldNotCompileGameError as error:  # a home that is not writable, say: not the agent's failure
            raise WorldDied(f"Inform 7 gave no game; are {Path.home()} and {path.parent} writable? {error}") from error
    # Inform's source text, which the compiler leaves beside the game.
    path.with_suffix(".ni").unlink(missing_ok=True)


def prepare(quests: Sequence[QuestTask], workers: int = 1) -> None:
    """Compile the games that are not yet in the cache, in `workers` parallel processes."""
    from joblib import Parallel, delayed

    # Processes, because TextWorld uses global random states.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    with progress.bar(len(quests), "TextWorld's games") as bar:
        for _ in parallel(delayed(compiled)(quest) for quest in quests):
            bar.update()
