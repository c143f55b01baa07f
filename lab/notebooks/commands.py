"""The commands on notebooks: what `python -m lab run`, `record`, `check` and `reproduce` do with parsed arguments."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, recordings_folder
from lab.models.engines import parse, split, with_others
from lab.notebooks import expected
from lab.notebooks.documents import FOLDER, TRIALS, NotebookError, committed, locate, name_of, read
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.parameters import declared, resolve
from lab.results import figures
from lab.runs import budget, recordings


def run(
    names: Sequence[str],
    given: Sequence[tuple[str, str]] = (),
    out: Path | None = None,
    in_place: bool = False,
    side_by_side: int = 2,
    timeout: float | None = None,
) -> int:
    """Execute notebooks; 0 if all succeeded and no figure is off, else 1.

    given: (parameter, text) pairs for all of them. out: folder for the executed copies and, under it, their figures.
    in_place: refresh the committed notebooks and `figures/` instead; only with the default parameters.
    Raises NotebookError, before anything runs, for a wrong name, parameter or value.
    """
    if in_place and (given or out):
        raise NotebookError("--in-place refreshes the committed notebooks with their defaults; drop -p and --out")
    notebooks = locate(names) if names or not in_place else committed()
    values = resolve(notebooks, given)
    out = (out or TRIALS).resolve()
    drawn = figures.folder() if in_place or os.environ.get("LAB_FIGURES") else out / "figures"
    outcomes = _execute(notebooks, values, out, drawn, side_by_side, timeout)
    if in_place:
        # At the end, and only those that succeeded: a failing notebook keeps its last good outputs.
        for outcome in outcomes:
            if not outcome.failure:
                write_atomically(outcome.job.source, outcome.job.output.read_bytes())
    return _conclude(outcomes, out, drawn, "parameters differ from the defaults" if values else "")


def record(
    notebook: str, given: Sequence[tuple[str, str]], name: str | None, calls: int | None, minutes: float | None
) -> int:
    """Execute a notebook on a real model and let it save a recording; 0 if it did, else 1.

    After its budget is spent, Ctrl-C or a fault, the same call resumes: the run folder keeps the finished episodes, the
    cache the answers. Raises NotebookError unless some engine of the notebook is a model.
    """
    (path,) = locate([notebook])
    chosen = _engines(path, given)
    models = [text for text in chosen.values() if parse(text).kinds & {"endpoint", "local"}]
    if not models:
        told = ", ".join(f"{one}={text!r}" for one, text in chosen.items()) or "it has no parameter for an engine"
        first = next(iter(chosen), "engine")
        raise NotebookError(f"{notebook} runs no model: {told}; record one with -p {first} local, or a model's name")
    engine = models[0]
    whole, others = split(engine)
    parts = [whole, *(text for operator in sorted(others) for text in (operator, others[operator]))]
    slug = "-".join("".join(c if c.isalnum() or c in ".-" else "-" for c in part.partition("?")[0]) for part in parts)
    title = name or f"{Path(notebook).stem}-{slug}"
    limits = {budget.CALLS: calls, budget.MINUTES: minutes, recordings.WANTED: title}
    # By the environment, since it is the notebook's kernel, a process of its own, that plays and saves.
    os.environ.update({variable: str(value) for variable, value in limits.items() if value is not None})
    made, since = recordings_folder() / title / recordings.MANIFEST, time.time()
    failed = run([notebook], given, TRIALS / "recordings" / title, side_by_side=1)
    # An earlier recording of the same name may lie there: only a manifest written since counts.
    if not made.exists() or made.stat().st_mtime < since:
        print(f"{notebook} saved no recording{' since it failed' if failed else ': none of its cells does'}")
        return 1
    print(f"recording: {_short(made.parent)}; serve it with engine replay:{title}")
    return failed


def reproduce(side_by_side: int = 2, timeout: float | None = None) -> int:
    """Execute every notebook with its defaults, refresh `figures/`, and compare the numbers with expected.yaml.

    The committed notebooks stay as they are; executed copies go to `runs/notebooks/`. 0 if all came out, else 1.
    """
    notebooks = committed()
    if not notebooks:
        raise NotebookError(f"there are no notebooks in {FOLDER}")
    outcomes = _execute(notebooks, {}, TRIALS, figures.folder(), side_by_side, timeout)
    return _conclude(outcomes, TRIALS, figures.folder(), "")


def check(names: Sequence[str], side_by_side: int = 2, timeout: float | None = None) -> int:
    """Say which committed notebooks are out of form or stale; 0 if none is."""
    from lab.notebooks.check import check as look

    findings = look(locate(names) or committed(), side_by_side, timeout)
    for finding in findings:
        for line in [*finding.faults, *([finding.remark] if finding.remark else [])]:
            print(f"{finding.notebook}: {line}")
    wrong = sum(bool(finding.faults) for finding in findings)
    print(f"{len(findings)} notebooks checked, {wrong} to repair")
    return int(wrong > 0)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as columns of equal width."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _engines(path: Path, given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The notebook's parameters that choose an engine, and their values: those given first, then the defaults.

    `engine` is told with the engines that single operators have beside it.
    """
    parameters = declared(read(path), name_of(path))
    values = resolve([path], given)
    values |= {name: one.default for name, one in parameters.items() if name not in values}
    chosen = {name: value for name, value in values.items() if parameters[name].chooses_engine and value}
    if "engine" in chosen and isinstance(others := values.get("engines"), dict):
        chosen["engine"] = str(with_others(chosen["engine"], others))
    return chosen


def _execute(
    notebooks: Sequence[Path], values: dict[str, Any], out: Path, drawn: Path, side_by_side: int, timeout: float | None
) -> list[Outcome]:
    jobs = [Job(path, out / f"{name_of(path)}.ipynb", values) for path in notebooks]
    # Else a figure that is reported no more would pass with the number of an earlier run.
    expected.forget((job.name for job in jobs), drawn)
    return execute(jobs, side_by_side, timeout, drawn)


def _conclude(outcomes: Sequence[Outcome], out: Path, drawn: Path, why_not: str) -> int:
    """Print how every notebook and every expected figure came out, and the exit status they make."""
    rows = [(job.name, "FAILED" if failure else "ok", f"{seconds:.1f}") for job, failure, seconds in outcomes]
    print(aligned([("notebook", "result", "seconds"), *rows]))
    for job, failure, _ in outcomes:
        if failure:
            kept = f"; kept up to there in {_short(job.failed)}" if job.failed.exists() else ""
            print(f"{job.name}: {failure}{kept}")
    failed = {job.name for job, failure, _ in outcomes if failure}
    results = {outcome.job.name: expected.reported(outcome.job.name, drawn) for outcome in outcomes}
    verdicts = expected.judge(expected.expectations(), results, failed, why_not)
    if verdicts:
        header = ("notebook", "figure", "expected", "came out", "", "")
        print("\n" + aligned([header, *(tuple(verdict) for verdict in verdicts)]))
    print(f"\nexecuted notebooks: {_short(out)}; figures: {_short(drawn)}")
    return int(bool(failed) or any(verdict.bad for verdict in verdicts))


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
