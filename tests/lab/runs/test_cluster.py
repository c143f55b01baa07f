"""The same run on a Dask cluster: workers and scheduler that die, addresses that lead nowhere, Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dask_cluster
from asking import episodes, manifest
from dask_cluster import DaskCluster
from lab.machine.faults import MissingData, Unavailable
from lab.machine.paths import ROOT
from lab.runs import execution, workers
from lab.runs.collecting import collect
from lab.runs.execution import Played, play_all
from lab.runs.experiment import Experiment
from lab.runs.run import Run

pytest.importorskip("distributed", reason=f"Dask is not installed: {workers.INSTALL}")
TASKS = 40
ENGINE = "rules@0.6"
ABOUT = manifest(TASKS, ENGINE)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers for the tests that kill nobody."""
    with DaskCluster(tmp_path_factory.mktemp("workers")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The episodes of the same run in one process."""
    folder = tmp_path_factory.mktemp("alone")
    with Run(folder, ABOUT) as run:
        play_all(run, episodes(ENGINE), show_progress=False)
    return lines(folder)


def lines(folder: Path) -> list[bytes]:
    path = folder / "episodes.jsonl"
    return sorted(path.read_bytes().splitlines()) if path.exists() else []


def on_cluster(folder: Path, address: str, pause: float = 0.02, workers: int = 0) -> None:
    with Run(folder, ABOUT) as run:
        play_all(run, episodes(ENGINE, pause=pause), workers, show_progress=False, cluster=address)


def when(condition: Callable[[], bool], act: Callable[[], object]) -> threading.Thread:
    """Do `act` as soon as `condition` holds, beside the test."""

    def watch() -> None:
        deadline = time.monotonic() + 30
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        act()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    return watching


def test_a_cluster_gives_the_episodes_of_one_process(
    tmp_path: Path, shared: DaskCluster, undisturbed: list[bytes]
) -> None:
    on_cluster(tmp_path, shared.address, pause=0)
    assert lines(tmp_path) == undisturbed and len(undisturbed) == TASKS


def test_no_more_episodes_run_at_a_time_than_asked_for(tmp_path: Path, shared: DaskCluster) -> None:
    with Run(tmp_path / "run", manifest(8)) as run:
        played = play_all(run, note_overlap, 1, show_progress=False, cluster=shared.address)
    assert len(played) == 8 and not any(episode.failed for episode in played)
    spans = sorted(episode.result["span"] for episode in played)
    assert all(before[1] <= after[0] for before, after in zip(spans, spans[1:], strict=False))


def note_overlap(task: str) -> Played:
    began = time.time()
    time.sleep(0.03)
    return Played({"span": [began, time.time()]})


def test_a_finished_episode_is_written_at_once(tmp_path: Path, shared: DaskCluster) -> None:
    """joblib's own Dask backend would hold quick episodes back until the batch they are in has ended."""
    written = {}
    with Run(tmp_path, manifest(12)) as run:
        append = run.append
        run.append = lambda episode, *rest: (append(episode, *rest), written.update({episode.task: time.time()}))
        results = play_all(run, linger_at_005, show_progress=False, cluster=shared.address)
    assert max(written[episode.task] - episode.result["ended"] for episode in results) < 1


def linger_at_005(task: str) -> Played:
    time.sleep(2 if task == "005" else 0.01)
    return Played({"ended": time.time()})


@pytest.mark.slow
def test_the_episodes_of_a_killed_worker_are_done_again(tmp_path: Path, undisturbed: list[bytes]) -> None:
    with DaskCluster(tmp_path / "workers") as own:
        killed = when(lambda: len(lines(tmp_path / "run")) >= 10, lambda: dask_cluster.kill(own.workers[0]))
        on_cluster(tmp_path / "run", own.address)
        killed.join()
        assert own.workers[0].returncode == -signal.SIGKILL and own.workers[1].poll() is None
    assert lines(tmp_path / "run") == undisturbed


@pytest.mark.slow
def test_a_run_goes_on_after_its_scheduler_died(tmp_path: Path, undisturbed: list[bytes]) -> None:
    with DaskCluster(tmp_path / "workers") as first:
        when(lambda: len(lines(tmp_path / "run")) >= 10, lambda: dask_cluster.kill(first.scheduler))
        began = time.monotonic()
        with pytest.raises(Unavailable, match="was lost; start it and its workers again") as caught:
            on_cluster(tmp_path / "run", first.address)
        assert time.monotonic() - began < 30
    kept = len(lines(tmp_path / "run"))
    assert 10 <= kept < TASKS
    assert f"{kept} of {TASKS} episodes are in {tmp_path / 'run'}; run again to resume" in caught.value.__notes__
    with DaskCluster(tmp_path / "workers") as second:
        on_cluster(tmp_path / "run", second.address)
    assert lines(tmp_path / "run") == undisturbed


@pytest.mark.slow
def test_an_episode_that_ends_every_worker_it_meets_is_not_measured_alone(tmp_path: Path) -> None:
    twice = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with DaskCluster(tmp_path / "workers", workers=3, **twice) as own, Run(tmp_path / "run", manifest(12)) as run:
        results = play_all(run, end_the_worker_at_005, 1, show_progress=False, cluster=own.address)
    assert list(run.not_measured) == ["005"] and len(results) == 11 and not any(e.failed for e in results)
    assert "2 workers died while they played 005" in run.not_measured["005"]


def end_the_worker_at_005(task: str) -> Played:
    if task == "005":
        os._exit(1)
    return Played({"done": task})


@pytest.mark.slow
def test_an_empty_cluster_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(execution, "IDLE_SECONDS", 0.2)
    with DaskCluster(tmp_path / "workers", workers=0) as own, Run(tmp_path / "run", manifest(2)) as run:
        threading.Timer(0.7, lambda: own.workers.append(own.add_worker())).start()
        assert len(play_all(run, note_overlap, show_progress=True, cluster=own.address)) == 2
    assert f"no worker there; start one with: dask worker {own.address}" in capfd.readouterr().err


# A port on which nobody listens, and what is no address.
@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "http://127.0.0.1:1", "tcp://no-such-host.invalid:8786", "tcp://"]
)
def test_an_address_without_a_scheduler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 1.0)
    with pytest.raises(Unavailable, match=f"No Dask scheduler answers at cluster='{address}'.*tcp://host:8786"):
        on_cluster(tmp_path, address)


def test_a_client_that_found_no_scheduler_is_not_left_to_block_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.2)
    before = {id(client) for client in gc.get_objects() if isinstance(client, Client)}
    gc.disable()
    try:
        with pytest.raises(Unavailable, match="No Dask scheduler answers"):
            workers._connect("tcp://127.0.0.1:1")
        assert {id(client) for client in gc.get_objects() if isinstance(client, Client)} <= before
    finally:
        gc.enable()


def test_without_dask_the_line_that_installs_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # what Python takes for: not installed
    with pytest.raises(Unavailable, match="python -m pip install -r requirements-cluster.txt"):
        on_cluster(tmp_path, "tcp://127.0.0.1:8786")


def test_a_worker_of_another_address_or_code_stops_it(
    tmp_path: Path, shared: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = manifest(4, "small", "http://10.0.0.1:8000/v1")
    with Run(tmp_path / "a", elsewhere) as run, pytest.raises(Unavailable, match="and the run is of http://10.0.0.1"):
        play_all(run, note_overlap, show_progress=False, cluster=shared.address)
    monkeypatch.setattr(workers, "code_hash", lambda: "another")
    with Run(tmp_path / "b", manifest(4)) as run, pytest.raises(Unavailable, match="install the same checkout"):
        play_all(run, note_overlap, show_progress=False, cluster=shared.address)
    assert not lines(tmp_path / "a") and not lines(tmp_path / "b")


@pytest.mark.slow
def test_a_cluster_without_what_is_played_says_so(tmp_path: Path) -> None:
    unknown = pytest.raises(
        Unavailable, match="No module named 'asking'. Start its scheduler and its workers in an env"
    )
    with DaskCluster(tmp_path / "workers", workers=1, PYTHONPATH=str(ROOT)) as own, unknown:
        on_cluster(tmp_path / "run", own.address)


def test_a_worker_without_the_data_stops_the_run_and_fails_no_episode(tmp_path: Path, shared: DaskCluster) -> None:
    with Run(tmp_path, manifest(4)) as run, pytest.raises(Unavailable, match="data fetch trips") as caught:
        play_all(run, miss_the_data, show_progress=False, cluster=shared.address)
    assert not lines(tmp_path) and "0 of 4 episodes" in caught.value.__notes__[0]


def miss_the_data(task: str) -> Played:
    raise MissingData("The trips are not in /data. Fetch them with: python -m lab data fetch trips")


def test_keys_stay_where_they_are(tmp_path: Path, shared: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    with Run(tmp_path, manifest(2)) as run:
        results = play_all(run, tell_the_key, show_progress=False, cluster=shared.address)
    assert [episode.result for episode in results] == [{"key": "none"}] * 2


def tell_the_key(task: str) -> Played:
    return Played({"key": os.environ.get("OPENAI_API_KEY", "none")})


INTERRUPTED = """
import pathlib, sys
from tests.lab.runs import test_cluster
test_cluster.on_cluster(pathlib.Path(sys.argv[1]), sys.argv[2], pause=0.1)
"""


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_finished_and_cancels_the_rest(tmp_path: Path, shared: DaskCluster) -> None:
    from distributed import Client

    environment = shared.environment
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), shared.address]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    when(lambda: len(lines(tmp_path)) >= 3, lambda: process.send_signal(signal.SIGINT)).join()
    began = time.monotonic()
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    kept = len(lines(tmp_path))
    assert f"KeyboardInterrupt: {kept} of {TASKS} episodes are in {tmp_path}; run again to resume" in said
    with Client(shared.address, set_as_default=False) as client:
        known = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    assert kept < TASKS / 2 and known == 0


# --- the papers' experiments --------------------------------------------------------------------------------------


def sdp_setup() -> Experiment:
    from sdp.experiments.travelplanner import Setup

    return Setup(engine="rules@0.8", data="synthetic", limit=4)


def statefactory_setup() -> Experiment:
    from statefactory.studies.table1 import STUDY

    return STUDY.trial(data="synthetic", benchmarks=("blocksworld",), limit=2)


def procllm_setup() -> Experiment:
    from procllm.experiments.episodes import Episodes

    return Episodes(engine="rules@0.8", limit=4)


@pytest.mark.slow
@pytest.mark.parametrize("make", [sdp_setup, statefactory_setup, procllm_setup])
def test_a_cluster_plays_each_paper_alike(tmp_path: Path, shared: DaskCluster, make: Callable[[], Experiment]) -> None:
    here = collect(make(), workers=1, run=str(tmp_path / "here"), show_progress=False)
    there = collect(make(), cluster=shared.address, run=str(tmp_path / "there"), show_progress=False)
    assert sorted(lines(tmp_path / "here")) == sorted(lines(tmp_path / "there")) and len(here.episodes) >= 4
    assert there.episodes == here.episodes and not there.not_measured
