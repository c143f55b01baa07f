"""The six adapters of the paper's Table 1, one a domain and one of all, trained by processes of one thread each.

An adapter is an episode of a run, so the campaign can be killed and goes on: finished adapters are kept, and one that
was under way goes on from its last checkpoint.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.files import sha256_of
from lab.machine.paths import runs_folder, shown
from lab.runs.execution import Played, play_all
from lab.runs.manifest import Manifest
from lab.runs.run import Run, when_free
from statefactory.benchmark import DOMAINS
from statefactory.reward_models import backbones
from statefactory.reward_models.preferences.pairs import Preference, mixed, read_preferences
from statefactory.reward_models.recipe import Recipe
from statefactory.reward_models.texts import Tokeniser
from statefactory.reward_models.training import FITTED, examples_of, train

ALL = "all"
NAMES = (*DOMAINS, ALL)
REHEARSED = 3  # pairs whose pace is measured, about
OVERHEAD = 20.0  # seconds of an adapter before its first step and after its last, about; scoring comes on top
BACKWARD = 3.0  # times as long as scoring a token takes training on it, about


class TrainingFailed(RuntimeError):
    """Some adapters were not trained; the message names them, why, and how to go on."""


@dataclass(frozen=True)
class Campaign:
    """Which adapters are trained on what.

    data: the folder of preference files (`preferences`). folder: of the adapters. names: of NAMES. each: of the pairs
    of a domain that "all" takes.
    """

    data: Path
    folder: Path
    recipe: Recipe
    names: tuple[str, ...] = NAMES
    each: int = 40
    threads: int = 1

    def files(self, name: str) -> list[Path]:
        """The preference files of an adapter; the union takes those of all domains that are there.

        Raises MissingData if there is none.
        """
        wanted = [self.data / f"{domain}.parquet" for domain in (DOMAINS if name == ALL else (name,))]
        there = [path for path in wanted if path.exists()]
        if not there:
            raise MissingData(
                f"{shown(wanted[0])} is not there; build it with: python -m statefactory.reward_models data"
            )
        return there

    def rows(self, name: str) -> list[Preference]:
        """Its training pairs. Raises MissingData, as `files` does."""
        if name == ALL:
            return mixed(self.files(name), self.each)
        return read_preferences(self.files(name)[0], "train", self.recipe.pairs)

    def of(self, name: str) -> Recipe:
        """Its recipe: the union is limited by `each` alone."""
        return replace(self.recipe, pairs=0) if name == ALL else self.recipe


class Estimate(NamedTuple):
    """What an adapter takes. tokens: trained on, over all epochs; pace: tokens a second; seconds: all in all.

    core: the share of a core that the process got; below 1 other programs made it slower than it need be.
    """

    name: str
    pairs: int
    tokens: int
    pace: float
    seconds: float
    core: float


def run_all(campaign: Campaign, workers: int = 2) -> list[Path]:
    """Train every adapter that is not there yet, and return their folders. Raises TrainingFailed, MissingData."""
    about = {"recipe": campaign.recipe.to_json(), "each": campaign.each, "folder": campaign.folder.name,
             "data": {path.name: sha256_of(path) for name in campaign.names for path in campaign.files(name)},
    }  # fmt: skip
    longest = sorted(campaign.names, key=lambda name: -sum(_characters(row) for row in campaign.rows(name)))
    manifest = Manifest.of("reward-models", "none", "none", about, longest, ("statefactory/reward_models",))
    folder = runs_folder() / "reward_models" / f"campaign {manifest.digest[:6]}"
    with when_free(lambda: Run(folder, manifest)) as run:
        episodes = play_all(run, partial(play, campaign), workers, title="reward models")
        # Pending again the next time: what a training died of is mostly gone by then.
        failed = {episode.task: str(episode.error) for episode in episodes if episode.failed} | dict(run.not_measured)
    if failed:
        reasons = "; ".join(f"{name}: {why.strip().splitlines()[-1]}" for name, why in failed.items())
        raise TrainingFailed(f"{len(failed)} of {len(campaign.names)} adapters were not trained ({reasons}). "
                             f"The whole errors are in {run.folder}; delete that folder and run again: "
                             "checkpoints and finished adapters are kept elsewhere")  # fmt: skip
    return [campaign.folder / name for name in campaign.names]


def play(campaign: Campaign, name: str) -> Played:
    """One adapter; its folder has the card, whose counts the run keeps."""
    import torch

    torch.set_num_threads(campaign.threads)
    data = {path.name: sha256_of(path) for path in campaign.files(name)}
    adapter = train(name, campaign.rows(name), campaign.of(name), campaign.folder / name, data)
    counted = {key: value for key, value in adapter.card.items() if key not in ("curve", "recipe")}
    return Played(counted, {"seconds": adapter.card["seconds"]})


def rehearse(campaign: Campaign, workers: int = 2) -> list[Estimate]:
    """What each adapter will take: a few steps are taken at the pace of `workers` busy processes, nothing is kept.

    Where fewer pairs are built than the campaign wants, those that there are stand for all. Raises MissingData.
    """
    from joblib import Parallel, delayed

    place = backbones.located(campaign.recipe.base)
    tokeniser = Tokeniser(backbones.tokenizer(place), campaign.recipe.max_tokens)
    paces: list[tuple[float, float]] = Parallel(n_jobs=workers)(
        delayed(pace)(campaign, name) for name in campaign.names
    )
    found = []
    for name, (tokens_a_second, core) in zip(campaign.names, paces, strict=True):
        recipe, rows = campaign.of(name), campaign.rows(name)
        wanted = campaign.each * len(campaign.files(name)) if name == ALL else recipe.pairs or len(rows)
        examples = examples_of(rows, recipe, tokeniser)
        a_pair = sum(len(tokens.ids) for example in examples for tokens in example.tokens) / len(rows)
        tokens = int(wanted * a_pair * recipe.epochs)
        seconds = OVERHEAD + (tokens + min(wanted, FITTED) * a_pair / BACKWARD) / tokens_a_second
        found.append(Estimate(name, wanted, tokens, tokens_a_second, seconds, core))
    return found


def pace(campaign: Campaign, name: str) -> tuple[float, float]:
    """Tokens that a process trains on in a second, from some steps on pairs of middling length."""
    import torch

    torch.set_num_threads(campaign.threads)
    rows = sorted(campaign.rows(name), key=_characters)
    # From the middle upwards: the long ones are most of the time.
    some = rows[len(rows) // 2 :: max(1, len(rows) // (2 * REHEARSED))]
    recipe = replace(campaign.recipe, pairs=0, pairs_a_step=1, epochs=1.0, save_every=10**6)
    with tempfile.TemporaryDirectory() as scratch:
        card = train(name, some, recipe, Path(scratch), show_progress=False).card
    seconds = max(card["seconds"], 0.1)  # a card's are to a tenth
    return card["tokens"] / seconds, min(1.0, card["cpu_seconds"] / seconds / campaign.threads)


def wall(estimates: Sequence[Estimate], workers: int) -> float:
    """Seconds until the last of the workers is done, the longest adapters first."""
    loads = [0.0] * workers
    for estimate in sorted(estimates, key=lambda of: -of.seconds):
        loads[loads.index(min(loads))] += estimate.seconds
    return max(loads)


def _characters(row: Preference) -> int:
    return sum(len(action) + len(observation) for of in row.both for action, observation in of.steps)


def told(estimates: Sequence[Estimate], workers: int) -> str:
    """The estimates as lines, and how long all take."""
    lines = [f"{of.name:13} {of.pairs:5,} pairs {of.tokens:10,} tokens {of.pace:6,.0f} tokens/s "
             f"on {of.core:.0%} of a core {progress.duration(of.seconds):>13}" for of in estimates]  # fmt: skip
    return "\n".join([*lines, f"{workers} processes: {progress.duration(wall(estimates, workers))} in all"])
