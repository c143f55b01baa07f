"""Play many episodes of every world and look for crashes, leaks and processes left behind.

    python benchmarks/campaign_worlds.py                     # every world, 200 random episodes and all its experts
    python benchmarks/campaign_worlds.py alfworld --data synthetic --episodes 50

Random actions over the valid ones; the expert on every task of the splits that its evaluation uses. Prints a table and
exits with 1 if an episode raised, an expert fell short, or a process, file descriptor or temporary file was left.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psutil

from lab.machine import progress
from lab.machine.faults import MissingData
from worlds.base import ListingWorld, NoSolution

# The splits whose experts are to reach full score.
SPLITS = {
    "alfworld": ("valid_seen", "valid_unseen"),
    "blocksworld": ("test",),
    "multihop": ("annotated_full",),
    "scienceworld": ("protocol",),
    "textworld": ("test",),
    "webshop": ("test",),
}
LEAST = {"webshop": 0.95}  # the part of tasks that an expert has to solve; all of them in the other worlds
MOST_STEPS = 30  # of a random episode
GROWTH = 1.5  # times the early memory and 100 MB more: beyond that it counts as a leak
WARM_UP = 20  # episodes after which memory is first measured: engines fill their caches


@dataclass
class Report:
    """What one campaign saw. memory: MB of this process and its children, after the warm-up and at the end."""

    world: str
    data: str = ""
    episodes: int = 0
    steps: int = 0
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)
    solved: int = 0
    expert_tasks: int = 0
    faults: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=list(SPLITS), help=f"some of {', '.join(SPLITS)}")
    parser.add_argument("--data", default="auto", choices=("auto", "official", "synthetic"))
    parser.add_argument("--episodes", type=int, default=200, help="random episodes of each world")
    parser.add_argument("--experts", type=int, default=0, help="expert episodes of each world; 0 for all tasks")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    reports = []
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        # A folder of its own, so that what others leave in the usual one is not taken for a leak.
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        for name in given.worlds:
            try:
                reports.append(campaign(name, given.data, given.episodes, given.experts, given.seed))
            except MissingData as error:
                print(f"{name}: {error}", file=sys.stderr)
        tempfile.tempdir = None
    print(table(reports))
    wrong = [f"WRONG: {r.world}: {words}" for r in reports for words in (*r.faults, *r.left)]
    print("\n".join(wrong))
    return int(bool(wrong))


def campaign(name: str, data: str, episodes: int, experts: int, seed: int) -> Report:
    """Random episodes and expert episodes of one world, and what is left when it is closed."""
    package = importlib.import_module(f"worlds.{name}")
    expert_class = importlib.import_module(f"worlds.{name}.expert").Expert
    report, before = Report(name), traces()
    with package.load(data=data, seed=seed) as world:
        report.data = world.data
        play_random(world, tasks_of(name, world), episodes, seed, report)
    with package.load(data=data, seed=seed, list_actions=False) as world:
        play_experts(world, expert_class(world), tasks_of(name, world)[: experts or None], report)
    report.left = sorted(traces() - before)
    if report.memory and report.memory[-1] > GROWTH * report.memory[0] + 100:
        report.faults.append(f"memory grew from {report.memory[0]:.0f} to {report.memory[-1]:.0f} MB")
    return report


def tasks_of(name: str, world: ListingWorld) -> list[Any]:
    return [task for split in SPLITS[name] if split in world.splits for task in world.tasks(split)]


def play_random(world: ListingWorld, tasks: Sequence[Any], episodes: int, seed: int, report: Report) -> None:
    rng, began = Random(f"campaign {report.world} {seed}"), time.monotonic()
    for number in shown(range(episodes), f"{report.world}: random"):
        task = rng.choice(tasks)
        try:
            report.steps += random_episode(world, task, rng)
        except Exception as error:
            report.faults.append(f"random episode on {task.id}: {type(error).__name__}: {error}")
        report.episodes += 1
        if number in (min(WARM_UP, episodes) - 1, episodes - 1):
            report.memory.append(memory())
    report.seconds = time.monotonic() - began


def random_episode(world: ListingWorld, task: Any, rng: Random) -> int:
    """Steps played: until the end, or MOST_STEPS."""
    step, count = world.reset(task), 0
    while not step.done and count < MOST_STEPS:
        step, count = world.step(rng.choice(step.actions)), count + 1
        if not 0 <= step.score <= 1:
            raise ValueError(f"score {step.score} after {count} steps")
    return count


def play_experts(world: ListingWorld, expert: Any, tasks: Iterable[Any], report: Report) -> None:
    for task in shown(list(tasks), f"{report.world}: expert"):
        report.expert_tasks += 1
        try:
            actions = expert.actions(task)  # before the reset: an expert may play in the same world
            step = world.reset(task)
            for action in actions:
                step = world.step(action)
        except NoSolution:
            continue
        except Exception as error:
            report.faults.append(f"the expert on {task.id}: {type(error).__name__}: {error}")
            continue
        report.solved += step.score == 1.0
    if report.solved < LEAST.get(report.world, 1.0) * report.expert_tasks:
        report.faults.append(f"the expert solves {report.solved} of {report.expert_tasks} tasks")


def shown(items: Sequence[Any], what: str) -> Iterable[Any]:
    with progress.bar(len(items), what, 0, True) as bar:
        for item in items:
            yield item
            bar.update()


def memory() -> float:
    """MB held by this process and its children."""
    gc.collect()
    me = psutil.Process()
    return sum(process.memory_info().rss for process in (me, *me.children(recursive=True))) / 1e6


def traces() -> set[str]:
    """Child processes, open files and sockets, and the entries of the temporary folder."""
    gc.collect()
    me = psutil.Process()
    time.sleep(0.5)  # a process that was told to end takes a moment
    children = {f"process {child.pid} {child.name()}" for child in me.children(recursive=True)}
    files = {f"file {entry.path}" for entry in os.scandir(tempfile.gettempdir())}
    opened = {f"open file {file.path}" for file in me.open_files()}
    return children | files | opened | {f"socket {end.laddr}" for end in me.net_connections()}


def table(reports: Sequence[Report]) -> str:
    """The figures as Markdown, a row a world."""
    names = ("world", "data", "random episodes", "steps", "steps/s", "MB early", "MB late", "experts", "faults", "left")
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for r in reports:
        rate = r.steps / r.seconds if r.seconds else 0
        cells = (
            r.world,
            r.data,
            r.episodes,
            r.steps,
            f"{rate:.0f}",
            *(f"{mb:.0f}" for mb in r.memory[:2]),
            f"{r.solved}/{r.expert_tasks}",
            len(r.faults),
            len(r.left),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
