"""The commands on notebooks: what `python -m lab run`, `record`, `check` and others do with parsed arguments."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, recordings_folder, runs_folder, shown
from lab.machine.printing import aligned, visible
from lab.models.cache import RECORDING
from lab.models.engines import MODELS, OPENVINO, Engine, parse, split
from lab.notebooks import expected, front_page, injected, register
from lab.notebooks.documents import FOLDER, LAST, TRIALS, NotebookError, committed, locate, name_of, read
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.parameters import check_engines, chosen, declared, resolve
from lab.results import stored
from lab.runs import budget, recordings

MOST_CPU = 45  # seconds that a notebook's defaults may cost on synthetic data; three times that is OFF


def run(
    names: Sequence[str], given: Sequence[tuple[str, str]] = (), out: Path | None = None, in_place: bool = False,
    side_by_side: int = 2, timeout: float | None = None,
) -> int:  # fmt: skip
    """Execute notebooks, by default all, and compare their numbers with expected.yaml; 0 if all came out, else 1.

    given: (parameter, text) pairs for all of them. out: folder for the executed copies and, under it, their figures; by
    default TRIALS, of changed parameters a folder in it that is named after them.
    in_place: refresh the committed notebooks and `figures/` instead; only with the default parameters, and only where
    the data is what the committed ones are of.
    Raises NotebookError, before anything runs, for a wrong name, parameter, value or folder.
    """
    expected.expectations()  # a list that could judge nothing is told before anything runs
    if in_place and (given or out):
        raise NotebookError("--in-place refreshes the committed notebooks with their defaults; drop -p and --out")
    notebooks = locate(names) or committed()
    if not notebooks:
        raise NotebookError(f"there are no notebooks in {FOLDER}")
    values = resolve(notebooks, given)
    out = (out or TRIALS / injected.named_after(_changed(notebooks, values))).resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotebookError(f"--out {out} can be no folder ({error.strerror}); name another") from None
    if in_place:
        # The scoreboard reads the committed figures, so the others are put in place before it starts.
        rounds = [[path for path in notebooks if (name_of(path) == LAST) is last] for last in (False, True)]
        return max((_refresh(paths, side_by_side, timeout) for paths in rounds if paths), default=0)
    if names:  # among all of them some have an engine that not every machine has
        check_engines(engine for path in notebooks for engine in _engines(path, given).values())
    drawn = stored.figures_folder() if os.environ.get("LAB_FIGURES") else out / "figures"
    jobs = [Job(path, out / f"{name_of(path)}.ipynb", values, drawn) for path in notebooks]
    for job in jobs:  # else a figure that is reported no more would pass with the number of an earlier run
        (drawn / "results" / f"{job.name}.json").unlink(missing_ok=True)
    return _conclude(execute(jobs, side_by_side, timeout), out, drawn, summed_up=bool(names))


def record(
    notebook: str, given: Sequence[tuple[str, str]], name: str | None, calls: int | None, minutes: float | None,
    reuse: Sequence[str] = (),
) -> int:  # fmt: skip
    """Execute a notebook on a real model and let it save a recording; 0 if it did, else 1.

    reuse: recordings whose answers are taken where the same is asked of the same model. After its budget is spent,
    Ctrl-C or a fault, the same call resumes: the run folder keeps the finished episodes, the cache the answers; where
    these are gone, an unfinished recording has them. Raises NotebookError unless some engine of the notebook is a
    model, and MissingRun for no recording.
    """
    (path,) = locate([notebook])
    engines = _engines(path, given)
    models = [engine for engine in engines.values() if not engine.kinds.isdisjoint(MODELS)]
    if not models:
        told = ", ".join(f"{one}={str(engine)!r}" for one, engine in engines.items())
        told, first = told or "it has no parameter for an engine", next(iter(engines), "engine")
        raise NotebookError(f"{notebook} runs no model: {told}; record one with -p {first} local, or a model's name")
    whole, others = split(str(models[0]))
    parts = [_word(whole), *(part for operator in sorted(others) for part in (operator, _word(others[operator])))]
    title = name or "-".join([Path(notebook).stem, *parts])
    # By the environment, since it is the notebook's kernel, a process of its own, that plays and saves.
    os.environ |= {RECORDING: title, budget.VARIABLE: json.dumps({"calls": calls, "minutes": minutes})}
    for told in filter(None, (recordings.resume(title), *map(recordings.reuse, reuse))):
        print(told, flush=True)
    made, since = recordings_folder() / title / recordings.MANIFEST, time.time()
    failed = run([notebook], given, TRIALS / "recordings" / title, side_by_side=1)
    # An earlier recording of the same name may lie there: only a manifest written since counts.
    if not made.exists() or made.stat().st_mtime < since:
        print(f"{notebook} saved no recording{' since it failed' if failed else ': none of its cells does'}")
        return 1
    print(f"recording: {shown(made.parent)}; serve it with engine replay:{title}")
    return failed


def _word(text: str) -> str:
    """An engine in a recording's name: without its options; a local model's with OPENVINO, as its label has it."""
    engine, word = parse(text), "".join(c if c.isalnum() or c in ".-" else "-" for c in text.partition("?")[0])
    return f"{word}-{OPENVINO}" if engine.kind == "local" else word


def expect(names: Sequence[str], source: Path | None = None) -> int:
    """Accept what notebooks reported as the numbers to expect; 0.

    names: notebooks; by default all that reported. source: the folder of their figures, by default that of
    `make reproduce`. Raises NotebookError for one that did not run there with its defaults.
    """
    drawn = source or TRIALS / "figures"
    notebooks = locate(names) or [path for path in committed() if stored.reported(name_of(path), drawn)]
    print("\n".join(expected.accept(map(name_of, notebooks), drawn)))
    return 0


def explore(options: Sequence[str] = ()) -> NoReturn:
    """Open the tour in JupyterLab, on copies of the committed notebooks, which may be changed at will; this process
    becomes it.

    options: passed to JupyterLab.
    """
    folder = copies()
    print(f"Your copies of the notebooks are in {shown(folder)}; change what you like", flush=True)
    ours = ["--LabApp.default_url=/lab/tree/0_tour.ipynb", "--LabApp.news_url=None"]
    if os.geteuid() == 0:  # as in a container
        what = "who has the token in its address can run any command on this machine as root"
        print(f"You are root, so JupyterLab starts with --allow-root: {what}", flush=True)
        ours.append("--allow-root")
    # First on the path, as the runner has it: the code of this checkout, whichever is installed.
    packages = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *ours, *options]
    os.execve(sys.executable, command, os.environ | {"PYTHONPATH": packages})


def copies() -> Path:
    """The folder with a user's copies of the committed notebooks.

    A copy that was not changed follows the committed notebook; one that was stays as its user left it.
    """
    folder = runs_folder() / "copies"
    for path in committed():
        copy = folder / path.relative_to(FOLDER)
        origin = copy.with_name(f".{copy.name}.origin")  # what the copy was when it was made
        source = path.read_bytes()
        if copy.exists() and (not origin.exists() or copy.read_bytes() != origin.read_bytes()):
            if origin.exists() and origin.read_bytes() != source:
                print(
                    f"{shown(copy)} keeps your changes; {shown(path)} has changed since. Delete the copy for a new one"
                )
            continue
        for target in (copy, origin):
            write_atomically(target, source)
    return folder


def check(names: Sequence[str], side_by_side: int = 2, timeout: float | None = None) -> int:
    """Say which claims lack their rows, and which committed notebooks are out of form or stale; 0 if none is."""
    from lab.notebooks.check import check as look

    if faults := register.faults():  # cheap, and told before hours of notebooks
        print("\n".join(map(visible, faults)))
        print(f"{len(faults)} claims fail: make the recording or row again, or withdraw the claim in data/claims")
        return 1
    findings = look(locate(names) or committed(), side_by_side, timeout)
    for finding in findings:
        for line in [*finding.faults, *([finding.remark] if finding.remark else [])]:
            print(f"{finding.notebook}: {line}")
    wrong = sum(bool(finding.faults) for finding in findings)
    print(f"{len(findings)} notebooks checked, {wrong} to repair")
    return int(wrong > 0)


def _engines(path: Path, given: Sequence[tuple[str, str]]) -> dict[str, Engine]:
    """The engines that a notebook's parameters choose: the values given, else the defaults."""
    parameters = declared(read(path), name_of(path))
    return chosen(
        parameters, {name: parameter.default for name, parameter in parameters.items()} | resolve([path], given)
    )


def _changed(notebooks: Sequence[Path], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the default of one of the notebooks at least."""
    defaults = [declared(read(path), name_of(path)) for path in notebooks] if values else []
    return {name: value for name, value in values.items() if any(value != own[name].default for own in defaults)}


def _refresh(notebooks: Sequence[Path], side_by_side: int, timeout: float | None) -> int:
    """Execute notebooks apart, and put in place of the committed ones those that succeeded on the data of these."""
    apart = TRIALS / "in_place"
    jobs = [
        Job(path, apart / f"{name_of(path)}.ipynb", figures=apart / "figures" / name_of(path)) for path in notebooks
    ]
    for path in notebooks:  # each one's own: others may be refreshed beside
        shutil.rmtree(apart / "figures" / name_of(path), ignore_errors=True)
    outcomes = []
    for outcome in execute(jobs, side_by_side, timeout):
        before, now = (stored.reported(outcome.job.name, at) for at in (stored.COMMITTED, outcome.job.figures))
        if not outcome.failure and before and now and before.data != now.data:
            why = f"not put in place: it ran on {now}, and what is committed is of {before}; set LAB_DATA to that data"
            outcome = outcome._replace(failure=why)
        outcomes.append(outcome)
    status = _conclude(outcomes, FOLDER, stored.COMMITTED)
    # At the end, and only what succeeded: a failing notebook keeps its last good outputs.
    for job in (outcome.job for outcome in outcomes if not outcome.failure):
        drawn = apart / "figures" / job.name
        # Parquet's bytes change with the library that wrote them, and git shows no difference: the CSV has the same.
        for path in (path for path in drawn.rglob("*") if path.is_file() and path.suffix != ".parquet"):
            write_atomically(stored.COMMITTED / path.relative_to(drawn), path.read_bytes())
        write_atomically(job.source, job.output.read_bytes())
    front_page.refresh([job.source for job in jobs])  # which were computed before these results were in place
    return status


def _conclude(outcomes: Sequence[Outcome], out: Path, drawn: Path, summed_up: bool = False) -> int:
    """Print how every notebook and every expected figure came out, and the exit status they make.

    summed_up: end with what the notebooks reported.
    """
    rows = [
        (job.name, "FAILED" if failure else "ok", f"{seconds:.1f}", f"{cpu:.1f}")
        for job, failure, seconds, cpu in outcomes
    ]
    print(aligned([("notebook", "result", "seconds", "CPU-seconds"), *rows]))
    for job, failure, *_ in outcomes:
        if failure:
            kept = f"; kept up to there in {shown(job.failed)}" if job.failed.exists() else ""
            print(visible(f"{job.name}: {failure}{kept}"))
    failed = {outcome.job.name for outcome in outcomes if outcome.failure}
    results = {outcome.job.name: stored.reported(outcome.job.name, outcome.job.figures) for outcome in outcomes}
    verdicts = expected.judge(expected.expectations(), results, failed)
    for job, _, _, cpu in outcomes:
        came = results[job.name]
        if came and came.data == "synthetic" and not came.changed and cpu > MOST_CPU:
            state = "OFF" if cpu > 3 * MOST_CPU else "NOTE"  # a busy machine's seconds count double
            why = "the defaults cost more on synthetic data than a notebook may"
            verdicts.append(expected.FigureVerdict(job.name, "CPU-seconds", f"≤ {MOST_CPU}", f"{cpu:.0f}", state, why))
    if lines := expected.folded(verdicts):
        header = ("notebook", "figure", "expected", "came out", "", "")
        print("\n" + aligned([header, *(tuple(line) for line in lines)]))
    print(f"\nexecuted notebooks: {shown(out)}; figures: {shown(drawn)}")
    for name, came in results.items() if summed_up else ():
        if came and name not in failed:
            print(visible("\n" + expected.came_to(name, came)))
    return int(bool(failed) or any(verdict.bad for verdict in verdicts))
