"""What more episodes would cost: arithmetic on what a run recorded, and what is said where nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import chat_server as chat
from asking import QUESTIONS, episodes, manifest, play
from chat_server import ChatServer
from lab.__main__ import main
from lab.machine import weights
from lab.models.connect import connect
from lab.models.replay import MissingRun
from lab.runs.estimate import NothingToMultiply, UnknownPrice, estimate, lines
from lab.runs.execution import play_all
from lab.runs.manifest import Manifest
from lab.runs.run import Episode, Run

PRICES = "priced: {input: 2.0, output: 10.0}\n"


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A price file of one model: 2 dollars per million tokens in, 10 out."""
    path = tmp_path / "prices.yaml"
    path.write_text(PRICES)
    monkeypatch.setenv("LAB_PRICES", str(path))
    return path


def took(calls: int, tokens_in: int, tokens_out: int, seconds: float = 0.0, cached: int = 0) -> dict[str, Any]:
    """An operator's totals, as `by_operator` gives them."""
    return {
        "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "cached": cached, "retries": 0,
        "seconds": seconds, "usd": None, "paths": {"schema": calls},
    }  # fmt: skip


def recorded(folder: Path, *usages: Mapping[str, Any] | None, engine: str = "small") -> str:
    """A run folder with an episode for each usage."""
    with Run(folder, manifest(len(usages), engine)) as run:
        for task, about in zip(run.manifest.tasks, usages, strict=True):
            run.append(Episode(task, {}), about)
    return str(folder)


def test_dollars_are_tokens_times_prices_by_operator_and_in_all(tmp_path: Path) -> None:
    first = {"propose": took(1, 1000, 100, 2.0), "realize": took(4, 8000, 400, 6.0)}
    second = {"propose": took(1, 3000, 100, 2.0), "realize": took(8, 16000, 800, 14.0)}
    found = estimate(recorded(tmp_path / "run", first, second), "priced")
    propose, realize = found.shares
    assert propose[:4] == ("propose", 1, 2000, 100) and realize[:4] == ("realize", 6, 12000, 600)
    assert propose.usd == pytest.approx((0.005, 0.003, 0.007))
    assert realize.usd.value == pytest.approx(0.030)
    assert found.total.usd == pytest.approx((0.035, 0.023, 0.047))  # of two episodes, an interval spans both
    assert found.total.seconds == pytest.approx((12, 8, 16))


def test_the_report_scales_to_episodes_and_workers(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run = recorded(tmp_path / "run", *[{"realize": took(3, 20_000, 1_000, 36.0)}] * 5)
    assert main(["estimate", run, "--model", "priced", "--workers", "8"]) == 0
    said = capsys.readouterr().out
    assert "run (engine small, 5 episodes) at the price of priced; an episode:" in said
    assert "realize     3.0     20,000       1,000   0.0500  [0.0500, 0.0500]     36.0" in said
    assert "10,000 episodes: 500.00 dollars [500.00, 500.00]" in said
    assert "12.5 hours [12.5 hours, 12.5 hours] of waiting for the model, 8 at a time" in said
    assert main(["estimate", run, "--model", "priced", "--episodes", "100"]) == 0
    assert "100 episodes: 5.00 dollars [5.00, 5.00]\n  1.0 hours" in capsys.readouterr().out


def test_a_local_model_is_free_and_takes_the_seconds_of_its_runtime(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", {"realize": took(3, 11_100, 160, 500.0)})
    fast, slow = (estimate(run, f"local:qwen2.5-coder-0.5b?runtime={name}").total for name in ("openvino", "llama.cpp"))
    assert fast.usd.value == slow.usd.value == 0
    reading, writing = weights.named("qwen2.5-coder-0.5b").speeds["llama.cpp"]
    assert fast.seconds and slow.seconds and slow.seconds.value == pytest.approx(11_100 / reading + 160 / writing)
    assert slow.seconds.value > 3 * fast.seconds.value


def test_what_rules_answered_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    ruled = took(10, 0, 0, 0.5) | {"paths": {"rules": 9, "corrupted": 1}}
    model = took(4, 1000, 100, 6.0, cached=2)
    run = recorded(tmp_path / "run", {"act": model, "verify": ruled}, engine="small, Verify: rules@0.9")
    found = estimate(run, "priced")
    assert [share.operator for share in found.shares] == ["act"]
    assert found.total.calls == 4 and found.total.seconds.value == pytest.approx(12.0)
    assert "Operators that rules answered cost nothing" in "\n".join(lines(found, 10, 1))


def test_seconds_are_those_of_answers_that_did_not_come_from_the_cache(tmp_path: Path) -> None:
    half = estimate(recorded(tmp_path / "half", {"realize": took(4, 100, 10, seconds=6.0, cached=2)}), "priced")
    assert half.total.seconds.value == pytest.approx(12.0)
    whole = estimate(recorded(tmp_path / "whole", {"realize": took(4, 100, 10, cached=4)}), "priced")
    assert whole.total.seconds is None and whole.total.usd.value == pytest.approx(0.0003)
    assert "wall time unknown: every answer came from the cache" in "\n".join(lines(whole, 10, 1))


def test_an_episode_that_recorded_nothing_stays_in_the_count_and_is_named(tmp_path: Path) -> None:
    found = estimate(recorded(tmp_path / "run", {"realize": took(1, 1000, 0)}, {}), "priced")
    assert (found.recorded, found.without_tokens) == (2, 1)
    assert found.total.usd.value == pytest.approx(0.001)
    assert "1 of 2 episodes recorded no tokens, and count as costing nothing." in "\n".join(lines(found, 10, 1))


def test_an_episode_repeated_after_a_kill_counts_once(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", {"realize": took(1, 1000, 0)})
    with Run(tmp_path / "run", Manifest.read(tmp_path / "run")) as opened:
        opened.append(Episode("000", {}), {"realize": took(1, 3000, 0)})
    with (tmp_path / "run" / "usage.jsonl").open("a") as file:
        file.write('{"task": "0')
    found = estimate(run, "priced")
    assert (found.recorded, found.total.tokens_in) == (1, 3000)


def test_a_real_run_of_an_endpoint_can_be_estimated(tmp_path: Path, server: ChatServer) -> None:
    server.behave(lambda request: chat.answer({"shelf": 1, "why": ""}, delay=0.02))
    with Run(tmp_path, manifest(4, "small", server.address)) as run:
        play_all(run, partial(play, backbone=connect("small")), 2, "threading", show_progress=False)
    found = estimate(str(tmp_path), "priced")
    assert found.total[:4] == ("all", QUESTIONS, 7 * QUESTIONS, 3 * QUESTIONS)
    assert found.total.usd.value == pytest.approx(QUESTIONS * (7 * 2 + 3 * 10) / 1e6)
    assert 0.02 * QUESTIONS <= found.total.seconds.value < 5


def test_rules_have_nothing_to_multiply(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with Run(tmp_path / "run", manifest(3)) as run:
        play_all(run, episodes("rules"), show_progress=False)
    with pytest.raises(NothingToMultiply):
        estimate(str(tmp_path / "run"), "priced")
    assert main(["estimate", str(tmp_path / "run"), "--model", "priced"]) == 2
    said = capsys.readouterr().err
    assert "(engine 'rules', 3 episodes) recorded no tokens: there is nothing to multiply" in said
    assert "python -m lab run NOTEBOOK -p engine priced -p limit 20" in said


def test_a_model_without_a_price_is_answered_with_the_line_to_add(tmp_path: Path, prices: Path) -> None:
    run = recorded(tmp_path / "run", {"realize": took(1, 1000, 0)})
    with pytest.raises(UnknownPrice) as caught:
        estimate(run, "openai/gpt-oss:20b")
    said, line = str(caught.value).rsplit("\n", 1)
    assert f"{prices} has no price for openai/gpt-oss:20b; it has: priced. Add a line" in said
    other = prices.with_name("others.yaml")
    other.write_text(PRICES + line + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_PRICES", str(other))
        assert estimate(run, "openai/gpt-oss:20b").total.usd.value == 0


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(MissingRun, match="There is no run 'no-such-run' in .*See all of them with: python -m lab runs"):
        estimate("no-such-run", "priced")
    with pytest.raises(SystemExit):
        main(["estimate", str(tmp_path), "--model", "priced", "--workers", "0"])
    assert "'0' is not a whole number of at least 1" in capsys.readouterr().err
