"""Runs in words, and two of them side by side."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from asking import Asking, Shelving
from lab.__main__ import main
from lab.machine.paths import runs_folder
from lab.results.outcomes import Score, headlines, paired
from lab.results.statistics import mcnemar
from lab.runs.collecting import collect
from lab.runs.showing import compare, show
from lab.viewer.episodes import NoScores
from procllm.studies.figure3 import STUDY

TASKS = 24


def played(name: str, **about: object) -> dict[str, float]:
    """A run of that name; task -> its score."""
    setup = Shelving(**{"count": TASKS, "engine": "rules@0.8"} | about)
    results = collect(setup, run=name, show_progress=False)
    return {score.of: score.value for score in setup.scores(results.episodes)}


# --- compare ----------------------------------------------------------------------------------------------------


def test_two_runs_are_compared_task_by_task_with_the_settings_that_differ() -> None:
    one, other = played("one"), played("other", seed=7)
    found = compare("one", "other")
    flipped = {task: (one[task], other[task]) for task in one if one[task] != other[task]}
    ups = sum(first > second for first, second in flipped.values())
    (part,) = found.parts
    assert 0 < ups < len(flipped)  # else nothing below would show a mistake of sign
    assert part.p == pytest.approx(mcnemar(ups, len(flipped) - ups))
    assert {line.task: (line.first, line.second) for line in found.flipped.itertuples()} == flipped
    row = found.frame.iloc[0]
    assert row["first"] == pytest.approx(100 * sum(one.values()) / TASKS)
    assert row["difference"] == pytest.approx(row["first"] - row["second"])
    assert row["ci_low"] <= row["difference"] <= row["ci_high"] and row["n"] == TASKS
    assert row["test"] == "McNemar's test"
    assert found.settings == {"engine": ("rules@0.8", "rules@0.8?seed=7"), "seed": (0, 7)}
    lost = next(line for line in found.flipped.itertuples() if line.first > line.second)
    assert lost[5] == "" and re.fullmatch(r"\d in the wrong place", lost[6])


def test_only_shared_tasks_count_and_without_any_there_is_an_error() -> None:
    one, other = played("one"), played("fewer\x1b[2J", count=10, seed=7)
    found = compare("one", "fewer\x1b[2J")
    assert "\x1b" not in repr(found) + repr(show("fewer\x1b[2J")), "no name clears a terminal"
    (part,) = found.parts
    assert (part.result.n, part.of_first, part.of_second) == (10, TASKS, 10)
    assert part.result.mean_a == pytest.approx(sum(one[task] for task in other) / 10)
    collect(replace(Shelving(count=4), wrong=("000", "001"), fault="OSError"), run="late", show_progress=False)
    played("early", count=2)
    with pytest.raises(ValueError, match="Of early: 000, 001, … Of late: 002, 003, …"):
        compare("early", "late")
    collect(Asking(count=3), run="unscored", show_progress=False)
    with pytest.raises(NoScores, match="asking has no score"):
        compare("one", "unscored")


def test_conditions_are_compared_with_their_own_kind_or_as_named() -> None:
    trial = STUDY.trial("rules@0.6", ["Blocks World"], ["Human-TN", "No-TN"], {"blocks": [(3, 2)]}, limit=6)
    runs = [collect(replace(trial, seed=seed), run=f"seed {seed}", show_progress=False) for seed in (0, 1)]
    human, none = ("Blocks World/Human-TN", "Blocks World/No-TN")
    found = compare(f"seed 0:{human}", f"seed 0:{none}")
    (part,) = found.parts
    assert part.name == f"{human} − {none}" and part.result.n == 6
    means = [runs[0].mean(*name.split("/"), "success") for name in (human, none)]
    assert [part.result.mean_a, part.result.mean_b] == means
    with pytest.raises(ValueError, match="no scored task"):
        compare("seed 0", "seed 1")  # other seeds are other instances
    both = compare("seed 0", "seed 0")
    assert [part.name for part in both.parts] == [human, none] and not len(both.flipped)
    with pytest.raises(ValueError, match=f"no part 'Alien-TN'; it has: {human}, {none}"):
        compare("seed 0:Alien-TN", "seed 0")
    task = part.pairs[0][0].of
    beside = found.side_by_side(task)
    assert [each.title for each in beside.timelines] and beside.left != beside.right


def test_domains_count_alike_however_many_pairs_they_have() -> None:
    def of(values: dict[str, list[float]]) -> list[Score]:
        return [Score(f"{name}/{n}", v, "", "", name) for name, each in values.items() for n, v in enumerate(each)]

    one, other = of({"big": [0.1, 0.2, 0.3], "small": [0.5]}), of({"big": [0.2, 0.2, 0.5], "small": [0.1]})
    (head,) = headlines(one, "distance")
    assert head.value == pytest.approx((0.2 + 0.5) / 2) and str(head) == "distance 0.350 (no interval)"
    (head,) = headlines(of({"big": [0.1, 0.2, 0.3], "small": [0.5, 0.4]}), "distance")
    assert (
        head.value == pytest.approx((0.2 + 0.45) / 2) and head.unit == "" and str(head).startswith("distance 0.325 [")
    )
    found = paired(one, other)
    assert found.difference.value == pytest.approx(0.35 - (0.3 + 0.1) / 2) and (found.wins, found.losses) == (1, 2)


def test_a_rate_is_told_in_percent_with_one_decimal() -> None:
    (head,) = headlines([Score(str(number), float(number < 2)) for number in range(3)], "success")
    assert re.fullmatch(r"success 66\.7 % \[\d+\.\d, \d+\.\d\]", str(head))


def test_the_command_prints_the_comparison_and_two_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = played("one"), played("other", seed=7)
    first = next(task for task in sorted(one) if one[task] != other[task])
    assert main(["show", "one", "--beside", "other"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"first − second \+?-?\d+\.\d \[-?\d+\.\d, -?\d+\.\d\], p = [\d.]+ \(McNemar's test\)", said)
    assert all(line.endswith(", simulated") for line in said.splitlines()[:2])
    assert f"\n {first}  " in said and "settings that differ" in said
    assert main(["show", "one", first, "--beside", "other"]) == 0
    assert capsys.readouterr().out.startswith(first)
    for arguments in (["one", "--beside", "two"], ["one", "999", "--beside", "other"]):
        assert main(["show", *arguments]) == 2
        assert capsys.readouterr().err.startswith("error: ")


# --- show -------------------------------------------------------------------------------------------------------


def test_a_run_is_shown_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    played("mine", count=12, wrong=("000",))
    assert main(["show", "mine"]) == 0
    said = capsys.readouterr().out
    assert "rules@0.8 (simulated)" in said and "count=12" in said and "12: 000, 001, 002, …" in said
    assert "all in place" in said and "11 scored, 1 failed, 0 not measured" in said
    assert re.search(r"1 +ZeroDivisionError: ZeroDivisionError in 000", said)
    assert re.search(r"\d +\d in the wrong place", said) and re.search(r"realize +36 ", said)


def test_a_runs_faults_and_missing_class_are_told() -> None:
    played("late", count=4, wrong=("001",), fault="OSError")
    told = repr(show("late"))
    assert "1 of 4 episodes pending" in told and re.search(r"001 +OSError: OSError in 001", told)
    path = runs_folder() / "late" / "manifest.json"
    path.write_text(path.read_text().replace("asking:Shelving", "gone:Gone").replace('"sources"', '"once"'))
    told = repr(show("late"))
    assert "no score: " in told and "gone" in told and "the sources have changed since" in told


def test_a_task_is_shown_as_its_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    played("mine", count=12)
    assert show("mine", "011").title == show("mine", "11").title == "011"
    assert main(["show", "mine", "11"]) == 0 and "shelves" not in capsys.readouterr().out
    assert main(["show", "mine", "11", "--details"]) == 0 and "shelves" in capsys.readouterr().out
    assert main(["show", "mine", "0"]) == 2 and "has no episode of 0" in capsys.readouterr().err
