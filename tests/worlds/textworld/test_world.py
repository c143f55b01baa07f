"""TextWorld behind the World protocol, on a few games that are compiled once."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lab.machine.paths import ROOT
from worlds.base import EpisodeOver, NoSolution, Step, WorldDied
from worlds.stored import cache_folder
from worlds.textworld import KINDS, QuestTask, TextWorld, expert, games, load
from worlds.textworld.engine import UNKNOWN_VERB, allowed, game_words, plain
from worlds.textworld.expert import Expert
from worlds.textworld.games import NoCompiler, prepare
from worlds.textworld.synthetic import KIND_OF_FIVE, quest

GAMES = {"test": 4, "train": 2}
LOCK, HUNT, COOKING = 0, 1, 3  # places in the test split
HASHES_PLAYED = """
import sys
from hashlib import sha256
from worlds.textworld import load
from worlds.textworld.expert import Expert
world = load(games={"test": 3})
tasks = world.tasks("test")
steps = [world.reset(tasks[0]), *map(world.step, Expert(world).actions(tasks[0]))]
print(sha256(repr((tasks, steps)).encode()).hexdigest())
"""


@pytest.fixture(scope="session")
def games_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of compiled games for all tests here."""
    return tmp_path_factory.mktemp("textworld")


@pytest.fixture
def world(games_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TextWorld]:
    """The world of four games; see `games_folder`."""
    monkeypatch.setenv("LAB_CACHE", str(games_folder / "answers.sqlite"))
    with load(games=GAMES) as textworld:
        yield textworld


def play(world: TextWorld, task: QuestTask, actions: tuple[str, ...]) -> list[Step]:
    return [world.reset(task), *map(world.step, actions)]


def wander(world: TextWorld, task: QuestTask, rng: random.Random, most: int = 30) -> list[Step]:
    """An episode of random valid actions."""
    steps = [world.reset(task)]
    while not steps[-1].done and len(steps) <= most:
        steps.append(world.step(rng.choice(steps[-1].actions)))
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("index", [LOCK, HUNT, COOKING])
def test_the_expert_wins_with_its_last_action(world: TextWorld, index: int) -> None:
    task = world.tasks("test")[index]
    steps = play(world, task, Expert(world).actions(task))
    assert task.goal in steps[0].text
    assert steps[-1].score == 1.0 and steps[-1].facts["points"] == steps[-1].facts["most"]
    assert [step.done for step in steps] == [False] * (len(steps) - 1) + [True]
    assert steps[-1].actions == ()


def test_a_lock_and_key_quest_reads_like_the_papers(world: TextWorld) -> None:
    task = world.tasks("test")[LOCK]
    actions = Expert(world).actions(task)
    steps = play(world, task, actions)[1:]
    assert [action.split()[0] for action in actions][:4] == ["take", "unlock", "open", "take"]
    assert actions[-1].split()[0] in ("put", "insert")
    for step, beginning in zip(
        steps, ("You pick up the", "You unlock the", "You open the", "You take the", "You put the"), strict=True
    ):
        assert step.text.startswith(beginning)
    assert steps[0].text.endswith("from the ground.") and ", revealing " in steps[2].text
    assert "*** The End ***" in steps[-1].text
    assert [step.score for step in steps] == [0, 0, 0, 0, 1]


def test_cooking_scores_parts_of_the_recipe(world: TextWorld) -> None:
    task = world.tasks("test")[COOKING]
    scores = [step.score for step in play(world, task, Expert(world).actions(task))]
    assert scores == sorted(scores) and len(set(scores)) > 3 and scores[-1] == 1.0


def test_the_wrong_treasure_loses_the_game(world: TextWorld, seeded: random.Random) -> None:
    task = world.tasks("test")[HUNT]
    episodes = (wander(world, task, seeded) for _ in range(60))
    lost = next(steps[-1] for steps in episodes if steps[-1].done and steps[-1].score < 1)
    assert lost.score == 0 and "*** You lost! ***" in lost.text
    with pytest.raises(EpisodeOver):
        world.step("look")


def test_actions_are_sorted_and_the_same_whether_listed_or_asked_for(world: TextWorld) -> None:
    task = world.tasks("test")[LOCK]
    step = world.reset(task)
    assert step.actions == world.valid_actions() == tuple(sorted(set(step.actions)))
    assert {"look", "inventory"} < set(step.actions)
    assert any(action.startswith("examine ") for action in step.actions)
    with load(games=GAMES, list_actions=False) as quiet:
        assert quiet.reset(task).actions == () and quiet.valid_actions() == step.actions


def test_after_the_end_and_before_a_reset_no_step_is_possible(world: TextWorld) -> None:
    for call in (lambda: world.step("look"), world.valid_actions):
        with pytest.raises(EpisodeOver, match="reset"):
            call()
    task = world.tasks("test")[LOCK]
    play(world, task, Expert(world).actions(task))
    assert world.valid_actions() == ()
    with pytest.raises(EpisodeOver, match="reset"):
        world.step("look")
    assert not world.reset(task).done


@pytest.mark.parametrize(("action", "answer"), [
    ("dance wildly", UNKNOWN_VERB), ("take moon", "You can't see any such thing."), ("", "I beg your pardon?"),
    ("go north", "You can't go that way."),
])  # fmt: skip
def test_what_cannot_be_done_is_refused_in_the_games_words(world: TextWorld, action: str, answer: str) -> None:
    start = world.reset(world.tasks("test")[LOCK])
    step = world.step(action)
    assert (step.text, step.score, step.done, step.actions) == (answer, 0.0, False, start.actions)


@pytest.mark.parametrize("action", [
    "quit", "RESTART", "restore", "save", "script", "transcript", "undo", "look then save", "look. quit", "me, save",
    "tw-trace-actions", "tw-print max_score", "restrict commands", "transcripts", "oops save", "look and save",
])  # fmt: skip
def test_commands_to_the_interpreter_are_no_actions(
    world: TextWorld, action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = world.reset(world.tasks("test")[LOCK])
    assert world.step(action) == Step(UNKNOWN_VERB, actions=start.actions, facts=start.facts)
    assert list(tmp_path.iterdir()) == []


def test_a_command_may_have_several_sentences(world: TextWorld) -> None:
    task = world.tasks("test")[LOCK]
    actions = Expert(world).actions(task)
    steps = play(world, task, actions)
    world.reset(task)
    first = world.step(f"{actions[0]}. {actions[1]} then {actions[2]}")
    assert [step.text in first.text for step in steps[1:4]] == [True] * 3
    assert first.actions == steps[3].actions
    last = world.step(f"{actions[3]}. {actions[4]}. look")
    assert (last.score, last.done) == (1.0, True) and last.text.endswith("turns.")


def test_things_named_like_a_command_can_be_handled() -> None:
    assert all(map(allowed, ("take type Q keycard", "open type O locker", "examine q", "put undo on table", "")))


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(action="again")
@given(action=st.one_of(st.text(), st.text(alphabet="\\\x00\n\t\x1b.,>[]éq ", max_size=300)))
def test_no_text_upsets_the_game(world: TextWorld, action: str) -> None:
    """A backslash or a control character would make the emulator print without end, or hang."""
    before = world.reset(world.tasks("test")[LOCK])
    assert world.step(action).text
    assert world.step("inventory").text.startswith("You are carrying")
    assert world.reset(world.tasks("test")[LOCK]) == before


@given(st.text())
def test_what_is_sent_is_one_short_line_of_plain_characters(action: str) -> None:
    sent = plain(action)
    assert sent.isascii() and (sent.isprintable() or not sent) and "\\" not in sent and len(sent) <= 190


def test_prompt_status_line_logo_and_blank_lines_are_no_words_of_the_game() -> None:
    raw = "\n\n   \\$$ \\$$$$$$$ \n\nDo it!\n\n-= Room =-\nA room. \n\n\n\n\n>         -= Room =-0/1"
    assert game_words(raw) == "Do it!\n\n-= Room =-\nA room."
    end = "\nDone.\n\n  *** The End ***\n\nWould you like to RESTART, RESTORE a saved game, QUIT or UNDO?\n> -= R =-1/2"
    assert game_words(end) == "Done.\n\n*** The End ***"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_game_in_a_fresh_process_with_an_empty_cache(
    world: TextWorld, tmp_path: Path
) -> None:
    tasks = world.tasks("test")[:3]
    steps = play(world, tasks[0], Expert(world).actions(tasks[0]))
    here = sha256(repr((tasks, steps)).encode()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "2", "LAB_CACHE": str(tmp_path / "answers.sqlite")}
    there = subprocess.run(
        [sys.executable, "-c", HASHES_PLAYED], env=environment, capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == here


def test_the_callers_randomness_is_left_alone(world: TextWorld) -> None:
    random.seed(7)
    numpy.random.seed(7)
    before = random.getstate(), numpy.random.get_state()[1].tolist()
    task = load(games={"test": 1}, seed=5).tasks("test")[0]
    world.reset(world.tasks("test")[LOCK])
    world.step("look")
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before
    numpy.random.seed(8)
    random.seed(8)
    assert load(games={"test": 1}, seed=5).tasks("test")[0] == task


@pytest.mark.parametrize(("games", "told"), [
    ({"validation": 3}, "'validation'; there are: test, train"), ({"test": 0}, "1 to 999"),
    ({"train": 1000}, "1 to 999"),
])  # fmt: skip
def test_impossible_numbers_of_quests_are_refused(games: dict[str, int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        load(games=games)


def test_quests_depend_on_seed_and_split_but_not_on_their_number(world: TextWorld) -> None:
    tasks = world.tasks("test")
    assert [task.kind for task in tasks] == list(KIND_OF_FIVE[:4]) and set(KIND_OF_FIVE) == set(KINDS)
    assert [task.id for task in tasks] == [f"textworld-test-{index:03d}" for index in range(4)]
    assert load(games={"test": 2}).tasks("test") == tasks[:2]
    assert load(games={"test": 1}, seed=1).tasks("test")[0].goal != tasks[0].goal
    seeds = [quest(split, index, 0).seed for split in world.splits for index in range(200)]
    assert len(set(seeds)) == 400


def test_a_dead_emulator_is_told_and_a_reset_starts_another(world: TextWorld) -> None:
    task = world.tasks("test")[LOCK]
    before = world.reset(task)
    assert world._engine is not None
    world._engine.close()
    with pytest.raises(WorldDied, match=task.id):
        world.step("look")
    assert world.reset(task) == before


@pytest.mark.slow
def test_many_resets_leave_no_open_file_and_little_memory(world: TextWorld, tmp_path: Path) -> None:
    tasks = world.tasks("test")
    emulators = emulators_loaded()  # what other tests of this process hold open, and the generator of cooking games
    for task in tasks[:2] * 5:  # the first ones load what stays
        world.reset(task)
    files, memory = len(os.listdir("/proc/self/fd")), resident()
    for task in tasks[:2] * 30:
        world.reset(task)
        world.step("look")
    assert len(os.listdir("/proc/self/fd")) == files and resident() - memory < 20
    world.close()
    world.close()
    assert emulators_loaded() <= emulators


def emulators_loaded() -> int:
    gc.collect()
    maps = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split()[-2] for line in maps if "libfrotz" in line})


def resident() -> float:
    """Resident memory in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_where_inform_does_not_run_the_error_says_so(
    world: TextWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.tasks("test")[LOCK]
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "empty" / "answers.sqlite"))
    monkeypatch.setenv("INFORM_HOME", str(tmp_path))
    with pytest.raises(NoCompiler, match="Linux on x86-64"):
        load(games=GAMES).reset(task)
    assert list(cache_folder("textworld").iterdir()) == []


def test_a_compiler_that_cannot_write_is_a_failure_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "answers.sqlite"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere" / "home"))
    with pytest.raises(WorldDied, match=r"are /.*/nowhere/home and /.* writable\?"):
        games.compiled(load(games={"test": 1}).tasks("test")[0])


def test_the_expert_plans_where_the_walkthrough_fails_and_says_where_nothing_wins(
    world: TextWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.tasks("test")[LOCK]
    known = Expert(world).actions(task)
    monkeypatch.setattr(expert, "stored", lambda task: ("look", "inventory"))
    assert Expert(world).actions(task) == known
    monkeypatch.setattr(expert, "planned", lambda task: ())
    with pytest.raises(NoSolution, match=task.id):
        Expert(world).actions(task)


WORKERS = 2


@pytest.mark.campaign
def test_a_spread_of_quests_is_won_by_its_expert_and_survives_random_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled games stay in the repository's cache: compiling takes 1 s each, and their key says how they came."""
    monkeypatch.setenv("LAB_CACHE", str(ROOT / "data" / "cache" / "answers.sqlite"))
    with load() as world:
        everything, expert, rng = world.tasks("test"), Expert(world), Random(4)
        tasks = [task for index, task in enumerate(everything) if index // 5 % 5 == 0]  # each five has all the kinds
        prepare(tasks, WORKERS)
        lengths = [episode_length(world, task, expert.actions(task)) for task in tasks]
        for task in tasks:
            step = world.reset(task)
            for _ in range(20):
                if step.done:
                    break
                step = world.step(rng.choice(step.actions))
    assert Counter(task.kind for task in everything) == {"lock-and-key": 90, "treasure-hunt": 30, "cooking": 30}
    assert Counter(task.kind for task in tasks) == {"lock-and-key": 18, "treasure-hunt": 6, "cooking": 6}
    quests = [length for task, length in zip(tasks, lengths, strict=True) if task.kind == "lock-and-key"]
    assert set(quests) == {5}
    assert len({task.goal for task in tasks}) == 25  # cooking games all have one goal


def episode_length(world: TextWorld, task: QuestTask, actions: tuple[str, ...]) -> int:
    """Plays the actions and checks that the last one, and no other, ends the game with full score."""
    step = world.reset(task)
    assert task.goal in step.text, task.id
    for action in actions:
        assert not step.done, task.id
        step = world.step(action)
    assert step.done and step.score == 1.0, task.id
    return len(actions)
