"""From ALFWorld's release archive, a JSON file for each game, to the compact layout: one line for each game."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from lab.machine.datasets import UnexpectedData
from lab.machine.download import Report
from worlds.alfworld.tasks import TASK_MARK, TASK_TYPES, Rules

DOMAIN, GRAMMAR, GAMES = "alfred_domain.pddl", "alfred_grammar_template.twl2", "alfworld_all_games.jsonl.gz"
GAME_FILE = "game.tw-pddl"
STATED_TASK = re.compile(r'("Your task is to: )([^"]*)(")')


def convert(archive: Path, folder: Path, sizes: Mapping[str, int], report: Report) -> None:
    """Write the compact files. sizes: how many games each split must have. Raises UnexpectedData."""
    if not zipfile.is_zipfile(archive):
        archive.unlink()
        raise UnexpectedData(f"{archive} was no zip archive and is removed; run the same command again")
    report("converting the games")
    folder.mkdir(parents=True, exist_ok=True)
    rules: set[Rules] = set()
    with zipfile.ZipFile(archive) as content:
        counts = write_games(content, folder / GAMES, rules)
    if counts != dict(sizes):
        raise another_release(archive, f"{archive} has {counts} playable games, not {dict(sizes)}")
    if len(rules) != 1:
        raise another_release(archive, f"the games of {archive} have {len(rules)} sets of rules, not one")
    domain, grammar = rules.pop()
    (folder / DOMAIN).write_text(domain, encoding="utf-8")
    (folder / GRAMMAR).write_text(grammar, encoding="utf-8")


def another_release(archive: Path | str | None, finding: str) -> UnexpectedData:
    return UnexpectedData(
        f"{finding}; it is another release. Remove {archive} and fetch it again with: python -m lab data fetch alfworld"
    )


def write_games(content: zipfile.ZipFile, target: Path, rules: set[Rules]) -> dict[str, int]:
    """Write the playable games, sorted by split, folder and trial, collect their rules, and count them by split."""
    counts: Counter[str] = Counter()
    with gzip.GzipFile(target, "wb", mtime=0) as file:  # without the time, so that the file is always the same
        for place in sorted(places(content)):
            game = json.loads(content.read(place.as_posix()))
            if game.get("solvable"):  # ALFWorld's own loader skips the others, too
                line, of_game = compact(place, game, content.filename)
                file.write((json.dumps(line) + "\n").encode())
                rules.add(of_game)
                counts[line["split"]] += 1
    return dict(counts)


def places(content: zipfile.ZipFile) -> Iterator[PurePosixPath]:
    """Where the games lie whose types ALFWorld plays: not those with slicing or movable receptacles."""
    for name in content.namelist():
        place = PurePosixPath(name)
        is_game = place.name == GAME_FILE and len(place.parts) >= 4
        if is_game and "Sliced" not in name and task_type(place) in TASK_TYPES:
            yield place


def task_type(path: PurePosixPath) -> str:
    return path.parts[-3].split("-")[0]


def compact(path: PurePosixPath, game: Mapping[str, Any], archive: str | None) -> tuple[dict[str, Any], Rules]:
    """A game's line and its rules. path: ".../split/task_dir/trial/game.tw-pddl" in the archive."""
    split, task_dir, trial, _ = path.parts[-4:]
    stated = STATED_TASK.search(game["grammar"])
    if stated is None:
        raise another_release(archive, f"{path} in {archive} states no task in its grammar")
    line = {
        "split": split,
        "task_dir": task_dir,
        "trial": trial,
        "task_type": task_type(path),
        "task": stated[2],
        "walkthrough": game["walkthrough"],
        "pddl_problem": game["pddl_problem"],
    }
    return line, Rules(game["pddl_domain"], STATED_TASK.sub(rf"\g<1>{TASK_MARK}\g<3>", game["grammar"]))
