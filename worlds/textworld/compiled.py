"""Cache of compiled games, addressed by what decides their content; it may be deleted at any time.

A game is a folder of three files: `game.z8` (Inform 7's output), `game.json` (TextWorld's description of it) and
`sums.json`, the checksums of both. It is built under another name and renamed, so that workers do not clash.
"""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from lab.machine import progress
from lab.machine.paths import answer_cache
from lab.machine.scratch import scratch_folder
from lab.models.cache import key_of
from worlds.base import WorldDied
from worlds.textworld.games import generator_version, make_game, textworld_package
from worlds.textworld.tasks import QuestTask

FILES = ("game.z8", "game.json")
SUMS = "sums.json"
CANNOT_RUN = {errno.ENOEXEC, errno.EACCES, errno.ENOENT}


class NoCompiler(RuntimeError):
    """Inform 7 does not run here, so no game can be made."""


def cache_folder() -> Path:
    """Where compiled games lie: `textworld` beside the cache of answers."""
    return answer_cache().parent / "textworld"


def compiled(quest: QuestTask) -> Path:
    """The game file of a quest, compiled if it is not in the cache or is broken there: about 1 s of CPU time.

    Raises NoCompiler where Inform 7 does not run, WorldDied where it runs and fails.
    """
    folder = cache_folder() / key_of([generator_version(), quest.kind, quest.seed, quest.options])
    if not intact(folder):
        build(quest, folder)
    return folder / FILES[0]


def intact(folder: Path) -> bool:
    """Whether a compiled game is there as it was written."""
    try:
        return json.loads((folder / SUMS).read_bytes()) == sums(folder)
    except (OSError, ValueError):
        return False


def sums(folder: Path) -> dict[str, str]:
    return {name: sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def build(quest: QuestTask, folder: Path) -> None:
    """Compile a quest's game into `folder`, in place of what is there, unless another worker was faster."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(".building-", folder.parent) as temporary:
        new = Path(temporary, "new")
        new.mkdir()
        run_inform(quest, new / FILES[0])
        (new / SUMS).write_text(json.dumps(sums(new)))
        # A folder is renamed onto another only if that is empty; a broken game has to be moved away first.
        if not intact(folder):
            with suppress(FileNotFoundError):
                os.replace(folder, Path(temporary, "broken"))
        try:
            os.replace(new, folder)
        except OSError:  # another worker's game is there by now
            if not intact(folder):
                raise


def run_inform(quest: QuestTask, path: Path) -> None:
    """Make a quest's game and compile it to `path`; its description lands beside it."""
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
        except CouldNotCompileGameError as error:  # a home that cannot be written, say: no agent's failure
            raise WorldDied(f"Inform 7 gave no game; are {Path.home()} and {path.parent} writable? {error}") from error
    # Inform's source text, which the compiler leaves beside the game.
    path.with_suffix(".ni").unlink(missing_ok=True)


def prepare(quests: Sequence[QuestTask], workers: int = 1, show: bool = True) -> None:
    """Compile the games that are not yet in the cache, `workers` at a time in processes of their own."""
    from joblib import Parallel, delayed

    # Processes, because TextWorld draws from global random states.
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    with progress.bar(len(quests), "TextWorld's games", show=show) as bar:
        for _ in parallel(delayed(compiled)(quest) for quest in quests):
            bar.update()
