"""ALFWorld's released games: download, conversion to a compact layout, and its reader.

The compact layout is three files: the domain and the text grammar that all games share, and JSON lines, one per game,
with `split`, `task_dir`, `trial`, `task_type`, `task` (the sentence), `walkthrough` and `pddl_problem`.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from lab.machine.datasets import Dataset, UnexpectedData
from lab.machine.download import Report, download
from worlds.alfworld.tasks import TASK_MARK, TASK_TYPES, HouseholdTask, Rules, packed, task_id

DOMAIN, GRAMMAR, GAMES = "alfred_domain.pddl", "alfred_grammar_template.twl2", "alfworld_all_games.jsonl.gz"
GAME_FILE = "game.tw-pddl"
STATED_TASK = re.compile(r'("Your task is to: )([^"]*)(")')
# The text games of ALFWorld 0.4.2, 36,507,267 bytes; the project's download script names the same address.
URL = "https://github.com/alfworld/alfworld/releases/download/0.4.2/json_2.1.3_tw-pddl.zip"
SIZES = {"train": 3553, "valid_train": 200, "valid_seen": 140, "valid_unseen": 134}


def convert(archive: Path, folder: Path, sizes: Mapping[str, int], report: Report) -> None:
    """Write the compact files. sizes: how many games each split must have.

    Raises UnexpectedData if the archive is broken or another release.
    """
    if not zipfile.is_zipfile(archive):
        archive.unlink()
        raise UnexpectedData(f"{archive} was no zip archive and is removed; run the same command again")
    report("converting the games")
    folder.mkdir(parents=True, exist_ok=True)
    counts, rules = Counter[str](), set[Rules]()
    # No timestamp, and sorted by split, folder and trial, so that the file is always the same.
    with zipfile.ZipFile(archive) as content, gzip.GzipFile(folder / GAMES, "wb", mtime=0) as file:
        for path in sorted(map(PurePosixPath, content.namelist())):
            # Only task types that ALFWorld plays: not those with slicing or movable receptacles.
            if path.name != GAME_FILE or len(path.parts) < 4 or "Sliced" in str(path):
                continue
            split, task_dir, trial, _ = path.parts[-4:]
            task_type = task_dir.split("-")[0]
            game = json.loads(content.read(path.as_posix())) if task_type in TASK_TYPES else {}
            if not game.get("solvable"):  # ALFWorld's own loader skips them, too
                continue
            sentence = STATED_TASK.search(game["grammar"])
            if sentence is None:
                raise another_release(archive, f"{path} in {archive} states no task in its grammar")
            row = {
                "split": split, "task_dir": task_dir, "trial": trial, "task_type": task_type, "task": sentence[2],
                "walkthrough": game["walkthrough"], "pddl_problem": game["pddl_problem"],
            }  # fmt: skip
            file.write((json.dumps(row) + "\n").encode())
            rules.add(Rules(game["pddl_domain"], STATED_TASK.sub(rf"\g<1>{TASK_MARK}\g<3>", game["grammar"])))
            counts[split] += 1
    if counts != dict(sizes):
        raise another_release(archive, f"{archive} has {dict(counts)} playable games, not {dict(sizes)}")
    if len(rules) != 1:
        raise another_release(archive, f"the games of {archive} have {len(rules)} sets of rules, not one")
    domain, grammar = rules.pop()
    (folder / DOMAIN).write_text(domain, encoding="utf-8")
    (folder / GRAMMAR).write_text(grammar, encoding="utf-8")


def another_release(archive: Path, finding: str) -> UnexpectedData:
    return UnexpectedData(
        f"{finding}; it is another release. Remove {archive} and fetch it again with: python -m lab data fetch alfworld"
    )


class OfficialGames:
    """The released games; a split is read at its first use."""

    data = "official"
    splits = tuple(SIZES)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def rules(self) -> Rules:
        return official_rules(self._folder)

    def tasks(self, split: str) -> tuple[HouseholdTask, ...]:
        return official_tasks(self._folder, split)

    def walkthroughs(self, split: str) -> dict[str, tuple[str, ...]]:
        """ALFWorld's own solution of each game, by task id; only an expert may see it."""
        games = read_games(self._folder, split)
        by_game = {f"{game['task_dir']}/{game['trial']}": tuple(game["walkthrough"]) for game in games}
        return {task.id: by_game[task.game] for task in self.tasks(split)}


@cache
def official_rules(folder: Path) -> Rules:
    return Rules(*((folder / file).read_text(encoding="utf-8") for file in (DOMAIN, GRAMMAR)))


@lru_cache(maxsize=len(SIZES))
def official_tasks(folder: Path, split: str) -> tuple[HouseholdTask, ...]:
    """The tasks of a split, sorted by folder and trial."""
    # Packed while reading: the problems of the train split are 190 MB as text.
    games = sorted(
        (game["task_dir"], game["trial"], game["task"], game["task_type"], packed(game["pddl_problem"]))
        for game in read_games(folder, split)
    )
    return tuple(
        HouseholdTask(task_id("official", split, position, len(games)), goal, task_type, f"{task_dir}/{trial}", problem)
        for position, (task_dir, trial, goal, task_type, problem) in enumerate(games)
    )


def read_games(folder: Path, split: str) -> Iterator[dict[str, Any]]:
    """The games of a split. Other splits' lines, most of 200 MB, are recognised by their start and not parsed."""
    start = f'{{"split": "{split}"'.encode()
    with gzip.open(folder / GAMES, "rb") as lines:
        yield from (json.loads(line) for line in lines if line.startswith(start))


def present(folder: Path) -> bool:
    """Whether the folder has all three compact files."""
    return all((folder / file).exists() for file in (DOMAIN, GRAMMAR, GAMES))


def fetch(folder: Path, report: Report, sizes: dict[str, int] = SIZES) -> None:
    """Download the released games, check them and convert them into `folder`; can be stopped and called again.

    Raises DownloadFailed, or UnexpectedData if the number of games shows that the archive is another release.
    """
    raw = folder / "raw"
    archive = raw / "games.zip"
    if not archive.exists():
        report(f"downloading {URL}")
        download(URL, archive, report)
    # Converted in a separate folder and moved once checked, so that `present` never sees half a conversion.
    converted = raw / "converted"
    convert(archive, converted, sizes, report)
    for file in (DOMAIN, GRAMMAR, GAMES):
        (converted / file).replace(folder / file)
    shutil.rmtree(raw)


DATASET = Dataset(
    name="alfworld",
    about="ALFWorld's 3,553 train and 474 validation text games, with their walkthroughs",
    present=present,
    fetch=fetch,
)
