"""What planned runs will take: what is on disk is not played again, and what nobody knows is said to be unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.runs import recordings
from lab.runs.catalogue import folder_for
from lab.runs.forecast import Estimate, forecast
from lab.runs.manifest import Manifest
from lab.runs.run import Episode, Run

PARAMETERS = {"data": "synthetic", "seed": 0}


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price file of one model: 2 dollars per million tokens in, 10 out; and no recordings."""
    path = tmp_path / "prices.yaml"
    path.write_text("small: {input: 2.0, output: 10.0}\n")
    monkeypatch.setattr("lab.models.backbone.PRICES", path)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))


def manifest(tasks: int, engine: str = "small", method: str = "asking", **other: Any) -> Manifest:
    names = [f"{task:03d}" for task in range(tasks)]
    return Manifest.of(method, engine, "http://here", PARAMETERS | other, names, ["lab"])


def took(calls: int, tokens_in: int, tokens_out: int, seconds: float = 0.0, cached: int = 0) -> dict[str, Any]:
    """An episode's usage, of one operator."""
    numbers = {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cached": cached, "seconds": seconds}
    return {"realize": numbers | {"retries": 0, "usd": 0.5, "paths": {"schema": calls}}}


def played(run: Manifest, *usages: dict[str, Any]) -> Path:
    """Its run folder, with as many episodes as there are usages."""
    with Run(folder_for(run, "synthetic"), run) as opened:
        for task, usage in zip(run.tasks, usages, strict=False):
            opened.append(Episode(task, {}), usage)
        return opened.folder


def of_one(engine: str = "small", **other: Any) -> Estimate:
    """What an episode takes that was not played."""
    (share,) = forecast([manifest(30, engine, **other)])
    return replace(
        share,
        **{name: getattr(share, name) and getattr(share, name) / 30 for name in ("calls", "tokens_in", "seconds")},
    )


def test_what_is_left_costs_what_such_episodes_took(tmp_path: Path) -> None:
    run = manifest(10)
    played(run, took(4, 1000, 100, 6.0), took(2, 3000, 100, 3.0))
    (share,) = forecast([run, run])
    assert (share.episodes, share.played) == (10, 2)
    assert (share.calls, share.tokens_in, share.tokens_out) == (8 * 3, 8 * 2000, 8 * 100)
    assert share.dollars == pytest.approx(8 * (2000 * 2 + 100 * 10) / 1e6) and share.seconds == pytest.approx(8 * 4.5)
    assert str(share).startswith(
        "small, asking: 8 of 10 episodes, 24 calls, 16,000 tokens in, 800 out, 0.04 dollars (as 2"
    )
    assert not share.missing


def test_rules_are_free_and_no_run_of_the_method_leaves_dollars_unknown() -> None:
    played(manifest(3, method="another"), took(1, 1000, 100))
    (share,) = forecast([manifest(3), manifest(3, "rules")])
    assert (share.engine, share.calls, share.dollars, share.seconds) == ("small", None, None, None)
    assert str(share).startswith("small, asking: 3 episodes\n")
    assert "no run of a model on asking yet; try a limit of 2 first" in str(share)


def test_another_models_tokens_are_priced_and_its_seconds_are_not_taken() -> None:
    played(manifest(1, "large"), took(2, 1000, 100, 6.0))
    (share,) = forecast([manifest(4)])
    assert share.calls == 8 and share.dollars == pytest.approx(4 * 0.003) and share.seconds is None
    assert share.missing[0].startswith("hours unknown: 1 episode of large took")
    (share,) = forecast([manifest(4, "unlisted")])
    assert share.dollars is None and "has no price for unlisted; add a line" in str(share)


def both(*realize: float, validate: tuple[float, ...] = (2, 50, 5, 1.0)) -> dict[str, Any]:
    """An episode's usage, of two operators."""
    return took(*realize) | {"validate": took(*validate)["realize"]}


def test_of_several_engines_each_model_has_its_own_calls_tokens_and_price() -> None:
    played(manifest(2), both(4, 1000, 100, 6.0), both(4, 1000, 100, 6.0))
    (share,) = forecast([manifest(1, "rules@0.8, Validate: small")])
    assert share.engine == "small in 'rules@0.8, Validate: small'"
    assert (share.calls, share.tokens_in, share.tokens_out, share.seconds) == (2, 50, 5, 1.0)
    assert share.dollars == pytest.approx((50 * 2 + 5 * 10) / 1e6)
    one, other = forecast([manifest(1, "small, Validate: unlisted")])
    assert (one.calls, one.tokens_in, one.dollars) == (4, 1000, pytest.approx(0.003))
    assert (other.calls, other.tokens_in, other.dollars, other.seconds) == (2, 50, None, None)
    assert other.missing[0].endswith("has no price for unlisted; add a line")


def test_what_rules_answered_tells_nothing_of_a_model() -> None:
    run = manifest(1, "rules, Validate: small")
    played(run, both(4, 0, 0))
    for engine in ("small", "rules, Realize: small"):
        (share,) = forecast([manifest(1, engine)])
        assert (share.calls, share.tokens_in) == (None, None)
    assert of_one("rules@0.5, Validate: small").calls == 2


def test_the_same_model_comes_first_then_the_most_similar_settings() -> None:
    played(manifest(2, "large"), took(1, 100, 0), took(1, 100, 0))
    played(manifest(1, "small?temperature=1", data="official"), took(1, 200, 0))
    assert of_one().tokens_in == 200
    played(manifest(1, data="official"), took(1, 300, 0))
    assert of_one().tokens_in == 300
    played(manifest(1), took(1, 400, 0))
    assert of_one().tokens_in == 400


def test_answers_from_the_cache_have_no_seconds() -> None:
    played(manifest(1), took(4, 100, 10, seconds=6.0, cached=2))
    assert of_one().seconds == pytest.approx(12.0)
    played(manifest(1, seed=1), took(4, 100, 10, cached=4))
    assert of_one(seed=1).seconds is None


def test_a_recording_of_the_method_tells_where_no_run_does(tmp_path: Path) -> None:
    import pandas as pd

    run = manifest(2)
    folder = played(run, took(1, 1, 1), took(1, 1, 1))
    (folder / "answers.jsonl").touch()
    lines = [{"operator": "realize", "calls": 6, "tokens in": 600, "tokens out": 60, "seconds": 3.0}]
    recordings.save(folder, pd.DataFrame(), pd.DataFrame(lines), list(run.tasks), "kept")
    (folder / "usage.jsonl").unlink()
    assert (of_one().calls, of_one().tokens_in, of_one().seconds) == (3, 300, 1.5)
    lines.append(lines[0] | {"seconds": None})  # answers of another operator came from the cache
    recordings.save(folder, pd.DataFrame(), pd.DataFrame(lines), list(run.tasks), "kept")
    assert of_one().seconds is None
