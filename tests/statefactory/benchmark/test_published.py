"""The authors' own trajectories as a source of pairs, and predictions in the official program's files.

The trajectories are ours, written in the published layout: the released ones are on a hub that is not reached here.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.machine.datasets import DamagedData, accept
from lab.machine.faults import MissingData
from lab.notebooks import expected
from lab.runs.collecting import collect
from plain_routing import HashedEmbedder
from statefactory.benchmark import DOMAINS, Pair, build_all, read_pairs, read_published
from statefactory.benchmark.build import SHIPPED, build
from statefactory.benchmark.domains import BY_NAME, acted
from statefactory.benchmark.other_tasks import held_out
from statefactory.benchmark.published import NAME, write_layout, write_output
from statefactory.epic import epic_distances
from statefactory.experiments import figure4, predictions, table3
from statefactory.experiments.scoring import distances_of
from statefactory.predictors.baselines import Monotonic
from statefactory.studies import held_out as held_out_study
from statefactory.studies.table1 import MONOTONIC, STATEFACTORY, STUDY

FEW = 2
OURS = {domain: read_pairs(SHIPPED / f"{domain}.parquet")[:FEW] for domain in DOMAINS}


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder with a few of our pairs as the authors would publish them, taken for whole."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    for pairs in OURS.values():
        write_layout(tmp_path / "data" / NAME, pairs)
    monkeypatch.setattr("statefactory.experiments.scoring.embedder_of", lambda name: HashedEmbedder())
    for cached in (predictions._pairs, figure4.pairs_of):
        cached.cache_clear()
    accept(NAME)
    yield tmp_path / "data"
    for cached in (predictions._pairs, figure4.pairs_of):
        cached.cache_clear()


def told(pair: Pair) -> list[Any]:
    return [(row.id, row.goal_description, row.trajectory) for row in pair.rows]


def run(folder: Path, **settings: Any) -> Any:
    about = {"benchmarks": ("blocksworld", "alfworld"), "conditions": (MONOTONIC.name, STATEFACTORY.name), **settings}
    return collect(STUDY.trial(**about), 1, run=str(folder), show_progress=False)


def test_pairs_in_the_published_layout_are_read_back_as_they_were(released: Path) -> None:
    for domain, pairs in OURS.items():
        assert list(map(told, read_published(domain))) == list(map(told, pairs))


@pytest.mark.slow
def test_a_study_plays_published_pairs_whole_and_says_so_in_each_row(released: Path, tmp_path: Path) -> None:
    published, ours = run(tmp_path / "published", data="published"), run(tmp_path / "ours", data="synthetic", limit=0)
    assert {*published.frame()["data"]} == {"published"} and {*published.frame()["n"]} == {FEW}
    tasks = {pair.task for pair in OURS["blocksworld"]}
    known = ours.scores_of("blocksworld", STATEFACTORY.name)
    assert published.scores_of("blocksworld", STATEFACTORY.name) == {task: known[task] for task in tasks}


def test_what_is_not_here_is_asked_for_with_where_to_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    with pytest.raises(
        MissingData, match="data='published': .* or set LAB_DATA to a folder that has rewardprediction/"
    ):
        run(tmp_path / "run", data="published")


def test_a_dataset_of_which_files_are_gone_is_refused(released: Path, tmp_path: Path) -> None:
    next((released / NAME / "webshop").rglob("positive.json")).unlink()
    with pytest.raises(DamagedData, match="rewardprediction"):
        run(tmp_path / "run", data="published")


def test_held_out_tasks_are_not_among_the_published_ones(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="held-out ones need data='official'"):
        build(held_out("alfworld"), "published")
    asked: list[Any] = []
    monkeypatch.setattr(type(STUDY), "run", lambda self, **settings: asked.append(settings))
    held_out_study.run(7, data="published")
    assert [settings["data"] for settings in asked] == ["auto", "published"]
    assert [acted(data) for data in ("published", "auto", "official")] == ["auto", "auto", "official"]


def test_table_3_counts_published_pairs_and_has_one_value_of_theirs(released: Path) -> None:
    built = build_all("published")
    pairs = {name: of.pairs() for name, of in built.items()}
    assert table3.counts(pairs)["data"].tolist() == ["published"] * 5
    assert table3.build_table(built)["pairs"].tolist() == [FEW] * 5
    table = table3.seed_table(built, seeds=3).set_index("domain")
    for name, members in pairs.items():
        row = table.loc[BY_NAME[name].title]
        assert (row["here"], row["seeds"]) == (distances_of(members, Monotonic()).mean(), 1) and not row["fitted"]
    assert table3.printed(built) is None and len(build("webshop", "published", limit=1).pairs()) == 1


def test_numbers_on_published_data_are_reported_and_none_is_expected() -> None:
    came = expected.Reported("published", 2, (), {"pairs": 2}, {})
    entry = expected.Expectation("2_statefactory/table3_benchmark", "pairs", "official", 1227)
    judged = expected.judge([entry], {"2_statefactory/table3_benchmark": came})
    assert [verdict.state for verdict in judged] == ["SKIPPED"] and not any(verdict.bad for verdict in judged)


# --- the official program's files -----------------------------------------------------------------------------------


def scored(folder: Path) -> float:
    """The mean distance of the files in a folder, told apart as the official scorer does: by their names alone."""
    tasks: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    for path in sorted(folder.glob("*.json"), reverse=True):
        evaluation = json.loads(path.read_text())["evaluation"]
        assert all(evaluation[name] for name in ("predicted_rewards", "sparse_gt", "shaped_gt")), "else it is skipped"
        predicted, truth = tasks[re.sub(r"(_positive|_negative_\d+)$", "", path.stem)]
        predicted += evaluation["predicted_rewards"]
        truth += evaluation["shaped_gt"]
    return float(np.mean(epic_distances(*zip(*tasks.values(), strict=True))))


def test_the_official_scorer_finds_our_distance_in_the_files_of_a_run(released: Path, tmp_path: Path) -> None:
    part = run(tmp_path / "run", data="published").part("blocksworld", STATEFACTORY.name)
    written = part.write_official(tmp_path / "output")
    assert len(written) == 2 * FEW and {path.parent.name for path in written} == {"complete"}
    assert scored(tmp_path / "output" / "complete") == pytest.approx(part.distances().mean())
    record = json.loads(written[0].read_text())
    first = record["trajectory"][0]
    assert record["meta_info"]["task_id"] == written[0].stem and record["meta_info"]["model"] == "rules"
    ((name, attributes),) = first["CurState"][0]["object"].items()
    assert "block" in name and all(len(attribute) == 1 for attribute in attributes)
    assert first["Action"] == OURS["blocksworld"][0].positive.actions[0] and first["GoalState"]


def test_states_of_sentences_and_predictions_without_states_are_written_too(tmp_path: Path) -> None:
    row = OURS["alfworld"][0].positive
    rewards, states = [0.5] * len(row.trajectory), [("The mug is hot.",)] * len(row.trajectory)
    record = json.loads(write_output(tmp_path, row, rewards, states).read_text())
    assert record["trajectory"][-1]["CurState"] == ["The mug is hot."] and record["trajectory"][-1]["GoalState"] == []
    assert record["evaluation"]["sparse_gt"] == [step.reward.raw for step in row.trajectory]
    with pytest.raises(ValueError, match=f"{row.id} has {len(rewards)} steps and 1 rewards"):
        write_output(tmp_path, row, [0.5])
