"""Making a game with TextWorld's own generators: maps, objects, names, texts and quests are all theirs.

Lock-and-key quests are chained backwards from their last action, which leaves one way to win: take the key from the
floor, unlock, open, take what is inside, and put it on or into something else (StateFactory, Tables 30 and 32).
Treasure hunts and cooking are TextWorld's challenges of these names.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lab.machine.doctor import INSTALL
from worlds.randomness import randomness_kept
from worlds.textworld.tasks import Options

if TYPE_CHECKING:
    from textworld.generator import Game, GameOptions

RECIPE = 1  # raise it whenever the same seed and options give another game, so that no old one is taken from the cache
ATTEMPTS = 50
SEEDS = ("map", "objects", "quest", "grammar")
# The rules of a lock-and-key quest by TextWorld's names, last action first.
LOCK_AND_KEY = (("put", "insert"), ("take/c",), ("open/c",), ("unlock/c",), ("take",))
NOT_OBJECTS = {"r", "d", "I", "P"}  # rooms, doors, the inventory, the player


@contextmanager
def textworld_package(seed: str = "import") -> Iterator[Any]:
    """The package `textworld`, its randomness seeded here, and the caller's left as it was.

    The package draws from numpy's global state even while it is imported. Raises ImportError with the line that
    installs it.
    """
    import numpy

    with randomness_kept():
        # Every source that the package draws from: Python's, numpy's, and its own generator of seeds.
        random.seed(seed)
        numpy.random.seed(random.getrandbits(32))
        try:
            import textworld
        except ImportError as error:
            raise ImportError(f"TextWorld's games need the package textworld: {error}. Run: {INSTALL}") from error
        textworld.g_rng.set_seed(random.getrandbits(16))
        yield textworld


def generator_version() -> dict[str, str | int]:
    """What beside seed and options decides how a game comes out."""
    return {"textworld": version("textworld"), "recipe": RECIPE}


def make_game(kind: str, seed: str, options: Options) -> Game:
    """The game of a kind, seed and options, not compiled: about 0.1 s, or 1.5 s for cooking, which plays a draft.

    Some seeds admit no quest; then the next of a fixed series is taken. Raises RuntimeError after ATTEMPTS of them.
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
    """TextWorld's options with all four of its seeds set, and the house theme that the paper's quests show."""
    from textworld import GameOptions

    rng = random.Random(f"textworld {seed}")
    options = GameOptions()
    options.seeds = {name: rng.randrange(2**31) for name in SEEDS}
    options.grammar.theme = "house"
    return options


def lock_and_key(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """One room with `objects` objects: those of the quest, and others that have nothing to do with it."""
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
    present = sum(entity.type not in NOT_OBJECTS for entity in world.entities)
    world.populate(max(settings["objects"] - present, 0), rng=options.rngs["objects"])
    grammar = make_grammar(options.grammar, rng=options.rngs["grammar"])
    return Game(world, grammar, [Quest(win_events=[Event(chain.actions)])])


def treasure_hunt(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """Find one object among `rooms` rooms and leave another one alone: taking that loses the game.

    mode: "easy" (no doors), "medium" (closed doors and containers) or "hard" (locked ones too). length: of the quest.
    """
    from textworld.challenges.tw_treasure_hunter import treasure_hunter

    options.kb = knowledge(treasure_hunter.KB_PATH)
    options.nb_rooms, options.quest_length = settings["rooms"], settings["length"]
    return treasure_hunter.make_game(settings["mode"], options)


@lru_cache(maxsize=4)
def knowledge(folder: str) -> Any:
    """A challenge's rules and words; parsing them takes longer than making a game."""
    from textworld.generator import KnowledgeBase

    return KnowledgeBase.load(folder)


def cooking(settings: Mapping[str, Any], options: GameOptions) -> Game:
    """Read the cookbook, fetch and process the ingredients, prepare the meal and eat it; some mistakes lose.

    settings: as TextWorld's tw-cooking names them: recipe, take, go, open, cook, cut and split.
    """
    from textworld.challenges.tw_cooking import cooking as challenge

    return challenge.make({"drop": False, "recipe_seed": 0, **settings}, options)


MAKERS = {"lock-and-key": lock_and_key, "treasure-hunt": treasure_hunt, "cooking": cooking}
