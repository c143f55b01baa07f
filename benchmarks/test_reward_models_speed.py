"""Training a reward model against trl with default padding, and scoring against one call a prefix.

On the processor's time, one thread, synthetic pairs of the benchmark, SmolLM2-135M's first layers. Both trainings have
the same rows and the same loss; what is counted is tokens that are no padding. A step has one pair of each domain, as
the union of all is trained: rows of one domain alone are more alike, and padding costs less there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from statefactory.benchmark import DOMAINS, read_pairs
from statefactory.benchmark.build import SHIPPED
from statefactory.benchmark.schema import Pair
from statefactory.reward_models import backbones
from statefactory.reward_models.recipe import Recipe, recipe
from statefactory.reward_models.scoring import Scorer, Tokeniser
from statefactory.reward_models.training import examples_of, train

LAYERS = 2  # enough for paces to compare
BATCH = 5  # pairs of a step, one of each domain; trl's default of 8 would take gigabytes in padding
SCORED = 2  # pairs of each domain
FASTER_TRAINING, FASTER_SCORING, FASTER_BRANCHING = 2.0, 3.0, 2.0
CANDIDATES = 5


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pairs_of(domain: str, count: int) -> list[Pair]:
    return Random(0).sample(read_pairs(SHIPPED / f"{domain}.parquet"), count)


@pytest.fixture(scope="module")
def base() -> str:
    try:
        backbones.located("smollm2-135m")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    return "smollm2-135m"


def useful(rows: list[Pair], plan: Recipe, tokeniser: Tokeniser) -> int:
    """Tokens of all trajectories, each counted once."""
    return sum(len(tokens.ids) for example in examples_of(rows, plan, tokeniser) for tokens in example.tokens)


def test_training_takes_non_padding_tokens_at_twice_trl_s_pace(
    benchmark: BenchmarkFixture, base: str, tmp_path: Path
) -> None:
    from datasets import Dataset
    from peft import LoraConfig, TaskType
    from trl import RewardConfig, RewardTrainer

    plan = recipe(base=base, layers=LAYERS, loss="outcome", pairs_a_step=BATCH)
    place = backbones.located(base)
    tokenizer = backbones.tokenizer(place)
    tokeniser = Tokeniser(tokenizer, plan.max_tokens)
    rows = [row for domain in DOMAINS for row in pairs_of(domain, BATCH // len(DOMAINS))]
    tokens = useful(rows, plan, tokeniser)
    adapter = benchmark.pedantic(train, ("ours", rows, plan, tmp_path / "ours"), {"show_progress": False})
    ours = adapter.card
    padded = Dataset.from_list([{"chosen_ids": of.tokens[0].ids, "rejected_ids": of.tokens[1].ids}
                                for of in examples_of(rows, plan, tokeniser)])  # fmt: skip
    config = RewardConfig(
        str(tmp_path / "theirs"), max_steps=1, per_device_train_batch_size=BATCH, use_cpu=True, bf16=False,
        gradient_checkpointing=False, max_length=None, report_to="none", disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=plan.rank, lora_alpha=plan.alpha, target_modules="all-linear",
                      modules_to_save=["score"])  # fmt: skip
    theirs = RewardTrainer(model=backbones.load(place, LAYERS), args=config, train_dataset=padded,
                           processing_class=tokenizer, peft_config=lora)  # fmt: skip
    began = time.process_time()
    theirs.train()
    paces = ours["tokens"] / ours["cpu_seconds"], tokens / (time.process_time() - began)
    benchmark.extra_info.update(tokens=tokens, ours_a_cpu_second=paces[0], trl_a_cpu_second=paces[1])
    assert ours["tokens"] == tokens and paces[0] / paces[1] >= FASTER_TRAINING


def test_scoring_is_three_times_as_fast_as_one_call_a_prefix(benchmark: BenchmarkFixture, base: str) -> None:
    place = backbones.located(base)
    scorer = Scorer(backbones.load(place, LAYERS, zero_head=False), Tokeniser(backbones.tokenizer(place), 4096))
    benchmark.pedantic(timed, (scorer, [pairs_of("blocksworld", 1)[0].positive], True))
    gains = {}
    for domain in DOMAINS:
        walks = [of for row in pairs_of(domain, SCORED) for of in row.rows]
        (every, once), (alone, often) = (timed(scorer, walks, at_once) for at_once in (True, False))
        assert np.abs(every - alone).max() < 1e-4
        gains[domain] = often / once
    mean = float(np.mean(list(gains.values())))
    benchmark.extra_info.update(gains, mean=mean)
    assert mean >= FASTER_SCORING


def test_candidates_cost_less_than_half_of_reading_their_path_for_each(benchmark: BenchmarkFixture, base: str) -> None:
    place = backbones.located(base)
    warm = Scorer(backbones.load(place, LAYERS, zero_head=False), Tokeniser(backbones.tokenizer(place), 4096))
    walks = [of for domain in DOMAINS for row in pairs_of(domain, SCORED) for of in row.rows]

    def branched(fresh: bool) -> tuple[np.ndarray, float]:
        began, found = time.process_time(), []
        for of in walks:
            for number in range(CANDIDATES):
                scorer = Scorer(warm.model, warm.tokeniser) if fresh else warm
                steps = (*of.steps, (f"try {number}", "Nothing happens."))
                found.append(scorer.prefixes(of.goal_description, steps, [len(steps)]))
        return np.concatenate(found), time.process_time() - began

    branched(False)  # what is done once
    (kept, once), (anew, often) = benchmark.pedantic(lambda: (branched(False), branched(True)))
    assert np.abs(kept - anew).max() < 1e-4
    benchmark.extra_info.update(gain=often / once)
    assert often / once >= FASTER_BRANCHING


def timed(scorer: Scorer, walks: list[Any], at_once: bool) -> tuple[np.ndarray, float]:
    """All prefixes' scores, and the CPU-seconds they took."""
    began = time.process_time()
    found = []
    for of in walks:
        lengths = range(1, len(of.steps) + 1)
        if at_once:
            found.append(scorer.prefixes(of.goal_description, of.steps, lengths))
        else:
            # A scorer each, since one goes on from what it read last.
            found += [
                Scorer(scorer.model, scorer.tokeniser).prefixes(of.goal_description, of.steps[:length], [length])
                for length in lengths
            ]
    return np.concatenate(found), time.process_time() - began
