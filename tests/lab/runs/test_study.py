"""Studies: conditions differ by what they declare, all play the same tasks, and the command ends with the answer."""

from __future__ import annotations

import pickle
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest

from lab.__main__ import main
from lab.machine.faults import MissingData
from lab.models.backbone import Ledger
from lab.results.outcomes import Judgement
from lab.runs import study_results
from lab.runs.collecting import COLLECTED, collect
from lab.runs.experiment import BadSetting, Experiment, score_lines
from lab.runs.manifest import Manifest
from lab.runs.registry import STUDIES
from lab.runs.run import Episode
from lab.runs.study import Condition, Metric, Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial


@dataclass(frozen=True)
class Rule:
    every: int = 2


@dataclass(frozen=True, kw_only=True)
class Sieve(Experiment):
    """Passes every second number, or as its rule says."""

    rule: Rule = Rule()
    lucky: float = 0.0
    top: int = 6
    missing: str = ""

    method: ClassVar[str] = "sieve"
    packages: ClassVar[tuple[str, ...]] = ("lab",)
    metric: ClassVar[str] = "pass"

    def decided(self) -> Sieve:
        return replace(self, data="synthetic")

    def unplayable(self) -> str:
        return self.missing

    def tasks(self) -> Sequence[str]:
        return [f"{number:02}" for number in range(self.limit or self.top)]

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        passed = int(task) % self.rule.every == 0 or int(task) < self.lucky * self.top
        return {"score": float(passed), "half": 0.5 * passed, "calls": 1, "tokens_in": 0}

    def judged(self, episode: Episode) -> Judgement:
        return Judgement(episode.result["score"])


def share(results: Results) -> float:
    """Of passes by the main condition."""
    scores = results.scores_of("numbers", "all")
    return sum(scores.values()) / len(scores)


ALL = Condition("all", {"numbers": Sieve, "letters": Sieve}, {"rule.every": 1}, recorded=True)
HALF = ALL.but("half", "rule.every", 2)
LUCK = ALL.but("luck", settings={"rule.every": 99, "lucky": 0.0}, role="placebo", matched="lucky", recorded=False)
ALONE = Condition("numbers alone", {"numbers": Sieve}, extra=True)
STUDY = register(
    Study(
        "toy-sieve",
        ("numbers", "letters"),
        (ALL, HALF, LUCK, ALONE),
        (Metric("{benchmark} pass"), Metric("half", "half", "mean", given="score")),
        against="all",
        options={"top": 6},
        matched=share,
        packages=("lab",),
    )
)
NAME = f"{__name__}:STUDY"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def results() -> Results:
    return STUDY.run(workers=1)


def test_rows_are_rates_or_means_of_the_episodes_that_count(results: Results) -> None:
    rows = results.frame().set_index(["method", "metric"])
    assert rows.loc[("half", "numbers pass"), ["value", "n"]].tolist() == [50, 6]
    # Task 0 alone is a multiple of 99, and luck was matched to pass all.
    assert rows.loc[("luck", "letters pass"), "value"] == 100
    halves = rows.loc[("half", "half")]
    assert halves["value"].tolist() == [50, 50] and halves["n"].tolist() == [3, 3], "given a score"


def test_placebos_are_set_to_what_they_stand_beside_unless_it_is_stated(results: Results) -> None:
    assert results.setup.options["luck:lucky"] == 1.0 and STUDY.names("gpt-4o") == ("all", "half")
    assert collect(STUDY.trial(), workers=1, run="mine").frame().equals(results.frame())
    stated = STUDY.run(options={"luck:lucky": 0.5}, workers=1)
    assert stated.mean("numbers", "luck", "score") == 0.5
    changed = STUDY.run(options={"luck:rule.every": 98}, workers=1)
    assert changed.setup.options["luck:lucky"] == 1.0, "another of its options does not state it"


def test_an_option_for_all_benchmarks_replaces_a_default_for_one_and_yields_to_an_option_for_one() -> None:
    study = replace(STUDY, options={"letters:top": 4, "top": 6})
    played = {
        str(options): [len(study.run(conditions=("all",), options=options, workers=1).of(name, "all"))
                       for name in study.benchmarks]
        for options in ({}, {"top": 3}, {"letters:top": 2, "top": 3}, {"top": 3, "letters:top": 2})
    }  # fmt: skip
    assert [*played.values()] == [[6, 4], [3, 3], [3, 2], [3, 2]]


def test_a_name_that_would_split_an_episodes_id_is_refused() -> None:
    with pytest.raises(BadSetting, match="'sieve w/o rule' has a '/'.*'sieve w-o rule'"):
        replace(STUDY, conditions=(replace(ALL, name="sieve w/o rule"),))


def test_a_condition_plays_only_the_benchmarks_that_it_names() -> None:
    results = STUDY.run(conditions=("all", "numbers alone"), workers=1)
    assert list(results.parts) == [("numbers", "all"), ("numbers", "numbers alone"), ("letters", "all")]
    assert results.compare()["dataset"].tolist() == ["numbers"]


def test_a_condition_that_cannot_be_played_is_left_out_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    results = STUDY.run(options={"half:missing": "it has no sieve yet"}, workers=1)
    assert STUDY.run(options={"half:missing": "it has no sieve yet"}, workers=1).parts
    assert {method for _, method in results.parts} == {"all", "luck"} and len(results.episodes) == 2 * 2 * 6
    assert set(results.compare()["method"]) == {"luck"}
    assert capsys.readouterr().err.count("half is left out of numbers, letters: it has no sieve yet") == 1
    with pytest.raises(BadSetting, match="No condition plays numbers, letters.*half.* it has no sieve yet"):
        STUDY.trial(conditions=("half",), options={"half:missing": "it has no sieve yet"}).resolved()


def test_what_the_baseline_cannot_play_has_no_contrast_and_what_nobody_plays_is_no_benchmark() -> None:
    broken = partial(Sieve, missing="it is broken")
    whole = Condition("all", {"numbers": broken, "letters": Sieve, "signs": broken}, {"rule.every": 1})
    half = Condition("half", {"numbers": Sieve, "letters": Sieve})
    names = ("signs", "numbers", "letters")
    results = Study("toy-broken", names, (whole, half), (Metric("pass"),), against="all", packages=("lab",)).run()
    assert list(results.parts) == [("numbers", "half"), ("letters", "all"), ("letters", "half")]
    assert results.compare()["dataset"].tolist() == ["letters"]


def test_options_reach_every_condition_that_has_them_and_no_other(results: Results) -> None:
    shorter = STUDY.run(options={"top": 4}, workers=1)
    assert {len(shorter.of(*part)) for part in shorter.parts} == {4}
    assert shorter.folder != results.folder


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"benchmarks": ("words",)}, "No benchmark 'words'; choose from numbers, letters"),
        ({"conditions": ("hal",)}, "No condition 'hal'.*did you mean"),
        ({"conditions": ("numbers alone",), "benchmarks": ("letters",)}, "No condition plays letters"),
        ({"options": {"topp": 3}}, "no setting 'topp'.*did you mean"),
        ({"options": {"top": "3"}}, "top='3': Input should be a valid integer"),
        ({"options": {"half:rule.every": 0.5}}, "every=0.5: .*integer"),
        ({"options": {"rule.each": 3}}, "no setting 'rule.each'"),
        ({"options": {"half:luckiest": 3}}, "no setting 'luckiest'"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(BadSetting, match=told):
        STUDY.trial(**wrong).resolved()
    with pytest.raises(BadSetting, match="sdp-table5.*did you mean"):
        STUDIES.named("sdp-table55")


def test_scores_carry_the_data_of_their_own_benchmark() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Released(Sieve):
        def decided(self) -> Sieve:
            return replace(self, data="official")

    one = Condition("one", {"numbers": Released, "letters": Sieve})
    results = replace(STUDY, conditions=(one,), matched=None).run(benchmarks=["numbers", "letters"], workers=1)
    lines = score_lines(results)[["benchmark", "data"]].drop_duplicates()
    assert {*lines.itertuples(index=False, name=None)} == {("numbers", "official"), ("letters", "synthetic")}


@pytest.mark.slow
def test_a_study_can_be_sent_to_other_processes(results: Results) -> None:
    assert pickle.loads(pickle.dumps(results.setup)) == results.setup == Trial.kept(Manifest.read(results.folder))
    elsewhere = STUDY.run(workers=2, seed=1).frame()
    assert elsewhere["value"].tolist() == results.frame()["value"].tolist()


@pytest.mark.slow
def test_the_command_ends_with_rows_contrasts_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", NAME, "--benchmarks", "numbers", "--conditions", "all", "--conditions", "half", "--seeds", "0,1"]
    assert main([*words, "--grid", "top=4,6"]) == 0
    text = capsys.readouterr().out
    assert "toy-sieve: top=4" in text and "toy-sieve: top=6" in text
    contrasts = [line.split() for line in text.splitlines() if line.startswith("half") and "numbers  " in line]
    assert [line[2] for line in contrasts if line[1] == "numbers" and line[2].startswith("-")] == ["-50.0", "-50.0"]
    assert [line[-2] for line in contrasts if line[2].startswith("-")] == ["4", "6"], "of a task, the mean"
    again = next(line.strip() for line in text.splitlines() if "--conditions half --set top=4" in line)
    assert main(shlex.split(again)[3:]) == 0
    rows = [line.split() for line in text.splitlines()]
    assert next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("half")) in rows


def test_a_server_is_asked_only_after_yes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert main(["eval", NAME, "--engine", "gpt-4o", "--benchmarks", "numbers"]) == 1
    text = capsys.readouterr().out
    assert "gpt-4o, toy-sieve: 12 episodes" in text and "add --yes" in text


def test_a_sweep_names_each_cell_and_leaves_its_rows_as_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--benchmarks", "numbers", "--conditions", "half", "--engine", "rules", "--engine", "first"]
    assert main(["eval", NAME, *words, "--grid", "top=4,6", "--out", str(tmp_path / "rows.csv")]) == 0
    text = capsys.readouterr().out
    cells = [(engine, top) for engine in ("rules", "first") for top in (4, 6)]
    assert all(f"toy-sieve: engine={engine}, top={top}\n" in text for engine, top in cells)
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert list(rows[["backbone", "top"]].drop_duplicates().itertuples(index=False, name=None)) == cells
    assert set(rows["seed"]) == {0} and rows["value"].dtype == float


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--seeds", "a"], "whole numbers"),
        (["--set", "top"], "NAME=VALUE"),
        (["--grid", "top"], "NAME=VALUE"),
        (["--grid", "top="], "--grid top=: give an option once, with all its values"),
        (["--grid", "top=4", "--grid", "top=6"], "--grid top=6: give an option once"),
        (["--grid", "top=[4"], "is no value.*quotes"),
        (["--out", "nowhere/rows.csv"], "--out nowhere/rows.csv: there is no folder nowhere; make it first"),
    ],
)
def test_wrong_words_of_a_command_are_refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", NAME, *words]) == 2
    assert re.search(told, capsys.readouterr().err)


def test_rows_count_what_was_not_measured_and_bound_their_values() -> None:
    whole = STUDY.run(benchmarks=("numbers",), conditions=("all", "half"), workers=1)
    lost = {task: "the machine" for task in whole.episodes if task.endswith("/05")}
    kept = {task: episode for task, episode in whole.episodes.items() if task not in lost}
    rows = replace(whole, episodes=kept, not_measured=lost).frame().set_index(["method", "metric"])
    row = rows.loc["half", "numbers pass"]
    assert (row["n"], row["not_measured"]) == (5, 1) and row["value"] == pytest.approx(60)
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(50), pytest.approx(100 * 4 / 6))


def test_the_answer_follows_from_the_run(results: Results) -> None:
    lines = results.answer().splitlines()
    assert len(lines) == len(results.setup.datasets)
    rows, found = results.frame(), results.compare()
    for benchmark, line in zip(results.setup.datasets, lines, strict=True):
        assert line.startswith(benchmark) and "(rules, measured, synthetic data, n = 6)" in line
        for row in rows[rows["metric"] == STUDY.headline.format(benchmark=benchmark)].to_dict("records"):
            assert f"{row['method']}: {row['value']:.1f} [" in line
        beyond = found[(found["dataset"] == benchmark) & (found["p (Holm)"] < 0.05)]
        assert line.endswith("different from all: none.") == beyond.empty
    few = STUDY.run(options={"top": 3}, workers=1).answer()
    assert "n = 3" in few and few != results.answer()


def test_what_a_process_played_is_summed_up_by_the_first_run_of_each_study(results: Results) -> None:
    COLLECTED.clear()  # of other tests
    main, _ = STUDY.run(options={"top": 3}, workers=1), STUDY.run(workers=1)
    assert study_results.answers() == tuple(main.answer().splitlines())
    assert study_results.answers() == ()


def test_a_study_has_limits_of_its_own_and_stated_ones_come_first() -> None:
    limited = replace(STUDY, name="toy-limited", limits={"synthetic": {"numbers": 2}})

    def counts(**settings: Any) -> list[int]:
        trial = limited.trial(conditions=("all",), **settings).resolved()
        return [len(trial.part(name, "all").tasks()) for name in limited.benchmarks]

    assert counts() == [2, 6] and counts(limit=4) == [4, 4] and counts(limit=0) == [6, 6]
    assert counts(limit=4, options={"letters:limit": 3}) == [4, 3]
    with pytest.raises(BadSetting, match="limit=-2"):
        counts(limit=-2)
    with pytest.raises(BadSetting, match="no benchmark or condition 'leters'; did you mean 'letters'"):
        counts(options={"leters:limit": 3})


@dataclass(frozen=True, kw_only=True)
class Released(Sieve):
    """Of data that is there or not."""

    there: bool = True

    def decided(self) -> Released:
        if self.data == "official" and not self.there:
            raise MissingData("no official letters")
        return replace(self, data="synthetic" if self.data == "synthetic" or not self.there else "official")


@pytest.mark.parametrize(("letters", "data"), [(True, "official"), (False, "synthetic")])
def test_data_is_official_where_all_benchmarks_have_it(letters: bool, data: str) -> None:
    whole = Condition("all", {"numbers": Released, "letters": partial(Released, there=letters)})
    released = Study(f"toy-released-{letters}", ("numbers", "letters"), (whole,), (Metric("pass"),), packages=("lab",))
    assert released.trial().resolved().data == data
    if not letters:
        with pytest.raises(MissingData):
            released.trial(data="official").resolved()


def test_others_answer_where_nobody_else_is_named() -> None:
    asking = replace(STUDY, name="toy-asking", others=lambda trial: {"act": trial.engine, "judge": "rules"})
    assert asking.trial("first").engines == {"act": "first", "judge": "rules"}
    assert asking.trial("first", engines={"judge": "last"}).engines == {"act": "first", "judge": "last"}
