"""Training with peft and trl: its loss is trl's, a killed one comes to the same weights, and its adapter says how."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from lab.results import tables
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.schema import write_parquet
from statefactory.reward_models import adapters, backbones
from statefactory.reward_models.__main__ import main
from statefactory.reward_models.adapters import Adapter, UnusableAdapter
from statefactory.reward_models.pairs import TRAININGS
from statefactory.reward_models.recipe import PRESETS, Loss, Recipe, recipe
from statefactory.reward_models.scoring import Scorer, Tokeniser
from statefactory.reward_models.training import examples_of, other_goals, train
from tiny_backbone import LAYERS, tiny_backbone, toy_pairs

ROWS = toy_pairs(12)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_backbone(tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="module")
def plan(backbone: Path) -> Recipe:
    """A training of a second: every value but the paper's LoRA is small."""
    return recipe(base=str(backbone), layers=0, learning_rate=1e-2, warmup_steps=2, save_every=3)


@pytest.fixture(scope="module")
def done(plan: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Adapter:
    """An adapter that was trained on three pairs."""
    folder = tmp_path_factory.mktemp("adapters") / "toy"
    return train("toy", ROWS[:3], plan, folder, {"toy.parquet": "abc"}, show_progress=False)


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(folder / adapters.WEIGHTS)


def stopping_at(step: int) -> Any:
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            if state.global_step == step:
                raise KeyboardInterrupt

    return Stop()


def test_outcome_pairs_have_the_loss_that_plain_trl_has_on_the_same_rows(backbone: Path, tmp_path: Path) -> None:
    import torch
    from datasets import Dataset
    from trl import RewardConfig, RewardTrainer

    from statefactory.reward_models.scoring import position_scores
    from statefactory.reward_models.trainer import preference_loss

    model, tokenizer = backbones.load(backbone, zero_head=False), backbones.tokenizer(backbone)
    torch.nn.init.normal_(model.score.weight)  # far enough from 0 for the centring term to count
    examples = examples_of(ROWS, recipe(loss="outcome"), Tokeniser(tokenizer, 4096))
    rows = Dataset.from_list([{"chosen_ids": of.tokens[0].ids, "rejected_ids": of.tokens[1].ids} for of in examples])
    config = RewardConfig(
        str(tmp_path), use_cpu=True, bf16=False, center_rewards_coefficient=0.3, report_to="none", max_length=None,
        per_device_train_batch_size=len(ROWS), gradient_checkpointing=False,
    )  # fmt: skip
    theirs = RewardTrainer(model=model, args=config, train_dataset=rows, processing_class=tokenizer)
    batch = next(iter(theirs.get_train_dataloader()))
    assert int(batch["attention_mask"].sum()) < batch["attention_mask"].numel(), "theirs is padded"
    scores = [[position_scores(model, tokens) for tokens in of.tokens] for of in examples]
    ours = [preference_loss(of, example.progress, "outcome", 0.3).loss
            for of, example in zip(scores, examples, strict=True)]  # fmt: skip
    assert float(torch.stack(ours).mean().detach()) == pytest.approx(
        float(theirs.compute_loss(model, batch).detach()), abs=1e-5
    )


@pytest.mark.slow
def test_a_training_that_is_stopped_comes_to_the_same_weights_and_counts(plan: Recipe, tmp_path: Path) -> None:
    rows = ROWS[:7]
    whole = train("toy", rows, plan, tmp_path / "whole", show_progress=False)
    with pytest.raises(KeyboardInterrupt):
        train("toy", rows, plan, tmp_path / "halves", callbacks=[stopping_at(5)], show_progress=False)
    # As a kill leaves one that is being written.
    torn = tmp_path / "halves" / "checkpoints" / "checkpoint-5"
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"epoch": 0.6')
    again = train("toy", rows, plan, tmp_path / "halves", show_progress=False)
    assert not torn.exists() and not (tmp_path / "halves" / "checkpoints").exists()
    first, second = weights_of(whole.folder), weights_of(again.folder)
    assert first.keys() == second.keys() and all((first[name] == second[name]).all() for name in first)
    timed = {"seconds", "cpu_seconds"}
    assert {k: v for k, v in whole.card.items() if k not in timed} == {
        k: v for k, v in again.card.items() if k not in timed
    }
    assert whole.card["tokens"] == sum(
        len(tokens.ids)
        for example in examples_of(rows, plan, Tokeniser(backbones.tokenizer(Path(plan.base)), plan.max_tokens))
        for tokens in example.tokens
    )


@pytest.mark.slow
def test_it_learns_to_tell_progress_and_the_adapter_scores_as_the_trained_model_did(
    plan: Recipe, tmp_path: Path
) -> None:
    done = train("toy", ROWS, replace(plan, epochs=3, layers=2, save_every=100), tmp_path / "toy", show_progress=False)
    card = done.card
    assert card["loss"] < 0.4 and card["accuracy"] > 0.8 and card["steps"] == 36 == card["curve"][-1][0]
    scorer = adapters.scorer(done.folder)
    assert len(scorer.model.model.layers) == 2 < LAYERS
    unseen = toy_pairs(13)[12]
    goal = unseen.positive.goal_description
    for of in unseen.rows:
        every = scorer.prefixes(goal, of.steps, range(len(of.steps) + 1))
        alone = [scorer.prefixes(goal, of.steps[:n], [n])[0] for n in range(len(of.steps) + 1)]
        assert np.abs(every - alone).max() < 1e-4
        for steps in ([*of.steps[:2], ("go north", "a wall")], [], of.steps[:1]):  # another way on; less; further
            again = adapters.Scorer(scorer.model, scorer.tokeniser)
            one, other = (each.prefixes(goal, steps, [len(steps)])[0] for each in (scorer, again))
            assert abs(one - other) < 1e-4
    rewards = [done.affine(scorer.prefixes(goal, of.steps, range(1, len(of.steps) + 1))) for of in unseen.rows]
    assert rewards[0][-1] > rewards[1].max()


@pytest.mark.slow
def test_threads_on_different_tasks_keep_a_cached_path_each(done: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, fed = adapters.scorer(done.folder), list[int]()
    inner = scorer.model.base_model
    forward = inner.forward
    monkeypatch.setattr(
        inner, "forward", lambda **asked: (fed.append(asked["input_ids"].shape[1]), forward(**asked))[1]
    )
    one, other = (pair.positive for pair in ROWS[3:5])
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for length in range(1, (most := min(len(one.steps), len(other.steps))) + 1):
            first.submit(scorer.prefixes, one.goal_description, one.steps[:length], [length]).result()
            second.submit(scorer.prefixes, other.goal_description, other.steps[:length], [length]).result()
    whole = [len(scorer.tokeniser.tokens(of.goal_description, of.steps[:most]).ids) for of in (one, other)]
    assert most > 1 and sum(fed) == sum(whole), "each token is read once"


def test_what_is_saved_is_float16_names_no_path_and_holds_no_pickle(done: Adapter, plan: Recipe) -> None:
    assert {path.name for path in done.folder.iterdir()} == {
        adapters.WEIGHTS, adapters.CONFIG, adapters.CARD, "training.json", "training.lock",
    }  # fmt: skip
    assert {str(array.dtype) for array in weights_of(done.folder).values()} == {"float16"}
    assert any("score" in name for name in weights_of(done.folder))
    for name in (adapters.CONFIG, adapters.CARD):
        assert str(done.folder.parent) not in (done.folder / name).read_text()
    assert plan.base not in (done.folder / adapters.CONFIG).read_text()
    card: Mapping[str, Any] = done.card
    assert card["base"] == {"name": "tiny", "sha256": backbones.fingerprint(Path(plan.base))}
    wanted = {"pairs": 3, "steps": 3, "truncated_rows": 0, "data": {"toy.parquet": "abc"}, "domains": ["toy"]}
    assert {name: card[name] for name in wanted} == wanted
    assert card["comparisons"] > 3 and card["hardware"]


def test_truncated_rows_are_counted_and_what_is_left_out_is_not_compared(backbone: Path) -> None:
    examples = examples_of(ROWS[:3], recipe(), Tokeniser(backbones.tokenizer(backbone), 160))
    cut = [tokens.truncated for example in examples for tokens in example.tokens]
    assert cut == [False, False, True, True, True, True], "the third and fourth step do not fit"
    assert all(
        len(progress) == len(tokens.ends)
        for example in examples
        for tokens, progress in zip(example.tokens, example.progress, strict=True)
    )


def test_another_recipe_or_other_rows_in_the_same_folder_are_an_error_that_names_them(
    done: Adapter, plan: Recipe
) -> None:
    with pytest.raises(UnusableAdapter, match="rank: 16 there, 4 now"):
        train("toy", ROWS[:3], replace(plan, rank=4), done.folder)
    with pytest.raises(UnusableAdapter, match="rows: "):
        train("toy", ROWS[:1], plan, done.folder)
    assert train("toy", ROWS[:3], plan, done.folder).card == done.card


def test_an_adapter_on_another_backbone_is_refused(done: Adapter, tmp_path: Path) -> None:
    other = tiny_backbone(tmp_path / "other", seed=1)
    with pytest.raises(adapters.UnusableAdapter, match=r"toy was trained on tiny with sha256 .* have"):
        adapters.scorer(done.folder, str(other))


def without(part: str) -> Callable[[Path], None]:
    """Remove the matrices of an adapter's file whose names have `part` in them."""

    def remove(folder: Path) -> None:
        left = {name: value for name, value in weights_of(folder).items() if part not in name}
        assert left.keys() < weights_of(folder).keys()
        save_file(left, folder / adapters.WEIGHTS)

    return remove


def rewritten(file: str, *path: str, value: Any) -> Callable[[Path], None]:
    """Set one field of an adapter's JSON file."""

    def rewrite(folder: Path) -> None:
        held = json.loads((folder / file).read_text())
        inner = reduce(getitem, path[:-1], held)
        inner[path[-1]] = value
        (folder / file).write_text(json.dumps(held))

    return rewrite


def cut_in_half(folder: Path) -> None:
    data = (folder / adapters.WEIGHTS).read_bytes()
    (folder / adapters.WEIGHTS).write_bytes(data[: len(data) // 2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(without("layers.1."), r"it lacks base_model.*layers\.1\.", id="huggingface/peft#2699"),
        pytest.param(without("score"), r"it lacks base_model.*score", id="huggingface/peft#577"),
        pytest.param(without("lora_B"), "it lacks .*lora_B", id="huggingface/peft#2118"),
        (cut_in_half, "safetensors is damaged: .* Restore it"),
        (rewritten(adapters.CONFIG, "lora_alpha", value=16), "lora_alpha=16, and card.json has rank=16, alpha=32"),
        (rewritten(adapters.CONFIG, "modules_to_save", value=None), "adapter_config.json is damaged: modules_to_save"),
        (rewritten(adapters.CARD, "affine", value={"scale": "1"}), "card.json is damaged: affine"),
        (rewritten(adapters.CARD, "recipe", "rank", value="16"), "rank='16': Input should be a valid integer"),
        (rewritten(adapters.CARD, "recipe", "rnak", value=16), "unexpected keyword argument 'rnak'"),
    ],
)
def test_an_adapter_that_is_not_whole_is_refused(
    done: Adapter, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    folder = shutil.copytree(done.folder, tmp_path / "damaged")
    assert adapters.scorer(folder).prefixes("a goal", [], [0]).shape == (1,)
    adapters.scorer.cache_clear()
    damage(folder)
    with pytest.raises(adapters.UnusableAdapter, match=message):
        adapters.scorer(folder)


def test_swapped_negatives_are_the_chosen_steps_under_another_goal(backbone: Path) -> None:
    tokenizer = backbones.tokenizer(backbone)
    first = examples_of(ROWS, recipe(swapped_negatives=True), Tokeniser(tokenizer, 4096))[0]
    goals = [pair.positive.goal_description for pair in ROWS]
    other = other_goals(goals)[goals[0]]
    text = tokenizer.decode(first.tokens[2].ids)
    assert f"<GOAL> {other} </GOAL>" in text and "nearer by 1" in text and first.progress[2] == [0.0, 0.0]
    blind = examples_of(ROWS, recipe(goals="blind"), Tokeniser(tokenizer, 4096))[0]
    assert tokenizer.decode(blind.tokens[0].ids).startswith("<GOAL>  </GOAL> ---") and len(blind.tokens) == 2


@pytest.mark.parametrize("training", TRAININGS)
def test_the_preset_paper_has_what_tables_6_and_7_state_for_each_training(training: str) -> None:
    paper = recipe("paper", training)
    cells = tables.published("Table 6", "statefactory").set_index("metric")
    assert (paper.rank, paper.alpha, paper.learning_rate, paper.max_tokens) == tuple(
        cells.loc[["LoRA rank", "LoRA alpha", "learning rate", "max length"], "value"]
    )
    stated = (paper.base.partition("/")[2], paper.schedule, paper.precision.upper(), paper.loss)
    assert stated == (*cells.loc[["base", "schedule", "precision"], "text"], "outcome")
    trained_on = "all domains" if training == "all" else BY_NAME[training].title
    rows = tables.published("Table 7", "statefactory")
    row = rows[rows["method"] == f"Supervised RM, trained on {trained_on}"].set_index("metric")["value"]
    assert (paper.pairs, paper.epochs, paper.pairs_a_step) == tuple(row[["pairs", "epochs", "batch size"]])
    # Table 6 has the batch of one GPU, Table 7 that of all.
    gpus = 4 if training == "all" else 2
    assert paper.pairs_a_step / gpus in {float(size) for size in cells.loc["batch size", "text"].split(" / ")}


def test_a_training_changes_what_it_is_asked_to_of_its_preset() -> None:
    changed = {"pairs": 7, "epochs": 1.0, "pairs_a_step": 2}
    assert recipe("paper", "webshop", **changed) == recipe("paper", **changed) != recipe("paper", "webshop")
    assert recipe("two-cores", "all") == PRESETS["two-cores"]


def test_fewer_pairs_than_the_preset_has_are_refused_unless_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_parquet(tmp_path / "data" / "webshop.parquet", (row for pair in toy_pairs(4, "webshop") for row in pair.rows))
    command = ["train", "--preset", "paper", "--preferences", str(tmp_path / "data"), "--adapters", str(tmp_path),
               "--workers", "1", "--set", f"base={tmp_path / 'none'}", "--domain"]  # fmt: skip
    assert [main([*command, "webshop"]), main([*command, "all"])] == [1, 1]
    told = capsys.readouterr().err
    assert "webshop: the preset wants 35,000 training pairs, and 4 are here" in told and "--pairs 4" in told
    assert "all: the preset wants 175,000 training pairs, and 4 are here" in told and "--pairs 35000" in told
    assert main([*command, "webshop", "--pairs", "4"]) == 1 and "wants" not in capsys.readouterr().err  # no backbone


def test_a_recipe_rejects_what_it_has_not() -> None:
    with pytest.raises(ValueError, match="no preset 'papr'; there are: two-cores, paper"):
        recipe("papr")
    with pytest.raises(ValueError, match="a recipe has no rnak; did you mean 'rank'"):
        recipe(rnak=3)
    with pytest.raises(ValueError, match="loss='both': Input should be 'all_prefixes' or 'outcome'"):
        recipe(loss="both")
    with pytest.raises(ValueError, match="rank=True: .* integer"):
        recipe(rank=True)
    with pytest.raises(ValueError, match="rank=0: .* greater than 0"):
        recipe(rank=0)


@pytest.mark.slow
def test_the_command_trains_each_adapter_once(plan: Recipe, tmp_path: Path) -> None:
    for domain in ("alfworld", "webshop"):
        rows = (row for pair in toy_pairs(4, domain) for row in pair.rows)
        write_parquet(tmp_path / "data" / f"{domain}.parquet", rows)
    changed = [f"{name}={getattr(plan, name)}" for name in ("base", "layers", "learning_rate", "warmup_steps")]
    command = ["train", "--preferences", str(tmp_path / "data"), "--adapters", str(tmp_path), "--each", "2",
               "--workers", "1", "--set", *changed, "--domain"]  # fmt: skip
    times = []
    for _ in range(2):
        assert [main([*command, name]) for name in ("alfworld", "all")] == [0, 0]
        times.append([(tmp_path / name / adapters.CARD).stat().st_mtime_ns for name in ("alfworld", "all")])
    assert times[0] == times[1]
    cards = [adapters.read(tmp_path / name).card for name in ("alfworld", "all")]
    assert [card["pairs"] for card in cards] == [4, 4] and cards[1]["domains"] == ["alfworld", "webshop"]
    assert set(cards[1]["data"]) == {"alfworld.parquet", "webshop.parquet"}


def test_the_real_backbone_scores_all_prefixes_at_once_as_one_by_one() -> None:
    import torch

    from lab.machine.faults import MissingData

    try:
        place = backbones.located("smollm2-135m")
    except (backbones.MissingBackbone, MissingData) as missing:
        pytest.skip(str(missing))

    model = backbones.load(place, layers=4)
    torch.nn.init.normal_(model.score.weight, std=0.02, generator=torch.Generator().manual_seed(0))
    scorer = Scorer(model, Tokeniser(backbones.tokenizer(place), 120))
    goal, steps = ROWS[2].positive.goal_description, ROWS[2].positive.steps
    every = scorer.prefixes(goal, steps, range(len(steps) + 1))
    alone = [scorer.prefixes(goal, steps[:n], [n])[0] for n in range(len(steps) + 1)]
    assert len(steps) == 4 and np.abs(every - alone).max() < 1e-4 and np.ptp(every) > 1e-3


# --- the loss --------------------------------------------------------------------------------------------------------

POSITIONS = st.lists(st.tuples(st.floats(-4, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=5)
Walk = list[tuple[float, float]]


def plain(walks: list[Walk], centring: float) -> tuple[float, int]:
    every = [position for walk in walks for position in walk]
    terms = [
        math.log1p(math.exp(-(a - b))) + centring * (a + b) ** 2
        for a, truth_a in every
        for b, truth_b in every
        if truth_a > truth_b
    ]
    return (sum(terms) / len(terms) if terms else 0.0), len(terms)


def loss_of(walks: list[Walk], kind: Loss, centring: float) -> Any:
    import torch

    from statefactory.reward_models.trainer import preference_loss

    scores = [torch.tensor([score for score, _ in walk], dtype=torch.float64, requires_grad=True) for walk in walks]
    return preference_loss(scores, [[truth for _, truth in walk] for walk in walks], kind, centring)


@settings(max_examples=40)
@given(st.lists(POSITIONS, min_size=2, max_size=3), st.sampled_from([0.0, 0.01, 0.5]))
def test_all_prefixes_are_compared_as_in_plain_loops(walks: list[Walk], centring: float) -> None:
    found, (wanted, count) = loss_of(walks, "all_prefixes", centring), plain(walks, centring)
    assert found.of == count and float(found.loss.detach()) == pytest.approx(wanted, abs=1e-9)
    found.loss.backward()  # also where there is nothing to compare


@settings(max_examples=40)
@given(st.lists(POSITIONS, min_size=2, max_size=2), st.sampled_from([0.0, 0.3]))
def test_outcome_compares_the_last_steps_alone(walks: list[Walk], centring: float) -> None:
    better, worse = walks[0][-1][0], walks[1][-1][0]
    found = loss_of(walks, "outcome", centring)
    assert found.of == 1 and found.right == (better > worse)
    wanted = math.log1p(math.exp(-(better - worse))) + centring * (better + worse) ** 2
    assert float(found.loss.detach()) == pytest.approx(wanted, abs=1e-9)
