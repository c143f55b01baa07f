"""Fetching ALFWorld's released games: the archive's layout, its conversion, and archives that are not it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.machine.datasets import accept
from lab.machine.faults import DamagedData
from stock_alfworld import stock_game
from worlds.alfworld import load, official
from worlds.alfworld.expert import Expert
from worlds.alfworld.official import UnexpectedData, fetch, present
from worlds.base import NoSolution

QUIET = lambda line: None  # noqa: E731
SIZES = {"train": 2, "valid_seen": 2}


def games() -> dict[str, dict[str, Any]]:
    """Six synthetic games in the layout of the release, four of them playable; by their place in the archive."""
    world = load("synthetic")
    tasks = world.tasks("train")[:7]
    laid_out = {}
    for number, task in enumerate(tasks[:4]):
        split = ("train", "valid_seen")[number % 2]
        game = stock_game(world.games.rules(), task) | {"walkthrough": list(Expert(world).actions(task))}
        laid_out[f"json_2.1.1/{split}/{task.game}/game.tw-pddl"] = game
    unsolvable, sliced, movable = (stock_game(world.games.rules(), task) for task in tasks[4:])
    laid_out[f"json_2.1.1/train/{tasks[4].game}/game.tw-pddl"] = unsolvable | {"solvable": False}
    laid_out["json_2.1.1/train/pick_two_obj_and_place-AppleSliced-None-Fridge-1/trial_1/game.tw-pddl"] = sliced
    laid_out["json_2.1.1/train/pick_and_place_with_movable_recep-Pen-Mug-Desk-1/trial_1/game.tw-pddl"] = movable
    return laid_out


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "games.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as content:
        for place, game in sorted(games().items(), reverse=True):  # conversion must not depend on the archive's order
            content.writestr(place, json.dumps(game))
            content.writestr(place.replace("game.tw-pddl", "traj_data.json"), "{}")
    return path


def fetched(archive: Path, folder: Path, sizes: dict[str, int] = SIZES) -> None:
    """Fetch with the archive put there by hand, which is used instead of downloading it."""
    (folder / "raw").mkdir(parents=True)
    (folder / "raw" / "games.zip").write_bytes(archive.read_bytes())
    fetch(folder, QUIET, sizes)


@pytest.mark.slow
def test_fetched_games_are_played_and_solved_as_released(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "alfworld"
    fetched(archive, folder)
    assert present(folder) and not (folder / "raw").exists()
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    with pytest.raises(DamagedData, match="alfworld_all_games.jsonl.gz is cut or changed"):
        load()
    accept("alfworld")
    originals = {place.removesuffix("/game.tw-pddl").split("/", 2)[2]: game for place, game in games().items()}
    with load() as world:
        assert world.data == "official"
        for split in SIZES:
            tasks = world.tasks(split)
            assert [task.id for task in tasks] == [f"alfworld-{split}-00{number}" for number in range(2)]
            assert [task.game for task in tasks] == sorted(task.game for task in tasks)
            for task in tasks:
                released = originals[task.game]
                assert stock_game(world.games.rules(), task) == released | {"walkthrough": None}
                assert Expert(world).actions(task) == tuple(released["walkthrough"])
                world.reset(task)
                assert [world.step(action).score for action in released["walkthrough"]][-1] == 1.0
        with pytest.raises(NoSolution, match="alfworld-made-train-000"):
            Expert(world).actions(load("synthetic").tasks("train")[0])


def test_the_compact_file_is_the_same_each_time(archive: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        fetched(archive, tmp_path / name)
    assert (tmp_path / "one" / official.GAMES).read_bytes() == (tmp_path / "two" / official.GAMES).read_bytes()


def test_another_number_of_games_is_refused(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UnexpectedData, match="another release. Remove .*games.zip and fetch it again"):
        fetched(archive, tmp_path, official.SIZES)
    assert not present(tmp_path)


def test_a_page_in_place_of_the_archive_is_removed_and_named(tmp_path: Path) -> None:
    page = tmp_path / "raw" / "games.zip"
    page.parent.mkdir()
    page.write_text("<html>not found</html>")
    with pytest.raises(UnexpectedData, match="no zip archive"):
        fetch(tmp_path, QUIET)
    assert not page.exists()
