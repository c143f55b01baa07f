"""Commands on notebooks: `python -m lab run`, `record`, `check` and others, after their arguments are parsed."""

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
from lab.models import budget
from lab.models.cache import RECORDING
from lab.models.engines import MODELS, OPENVINO, Engine, parse, split
from lab.notebooks import expected, front_page, injected, register
from lab.notebooks.documents import FOLDER, LAST, TRIALS, NotebookError, committed, locate, name_of, read
from lab.notebooks.execute import Job, Outcome, execute
from lab.notebooks.parameters import check_engines, chosen, declared, resolve
from lab.results import stored
from lab.runs import recordings
from lab.runs.execution import OWN

# What notebooks and docs link to.
LINKED = [ROOT / name for name in ("README.md", "docs", "data", "figures", "tests", *OWN)]
MOST_CPU = 30  # limit in CPU-seconds for a notebook's defaults on synthetic data; five times as much is OFF


def run(
    names: Sequence[str], given: Sequence[tuple[str, str]] = (), out: Path | None = None, in_place: bool = False,
    side_by_side: int = 2, timeout: float | None = None,
) -> int:  # fmt: skip
    """Execute notebooks, by default all, and compare their numbers with expected.yaml. Returns 0 if all agree, else 1.

    given: (parameter, text) pairs for all notebooks. out: folder for the executed copies and their figures; by default
    TRIALS, or with changed parameters a subfolder named after them.
    in_place: refresh the committed notebooks and `figures/` instead; only with default parameters and the data of the
    committed ones.
    Raises NotebookError before execution for a wrong name, parameter, value or folder.
    """
    expected.expectations()  # raises for an invalid file before anything runs
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
        # The scoreboard reads the committed figures, so it runs after the others have been copied there.
        rounds = [[path for path in notebooks if (name_of(path) == LAST) is last] for last in (False, True)]
        return max((_refresh(paths, side_by_side, timeout) for paths in rounds if paths), default=0)
    if names:  # not for all notebooks: some need an engine that this machine may lack
        check_engines(engine for path in notebooks for engine in _engines(path, given).values())
    figures = stored.figures_folder() if os.environ.get("LAB_FIGURES") else out / "figures"
    jobs = [Job(path, out / f"{name_of(path)}.ipynb", values, figures) for path in notebooks]
    for job in jobs:  # otherwise a figure that is no longer reported would pass with its number from an earlier run
        (figures / "results" / f"{job.name}.json").unlink(missing_ok=True)
    return _conclude(execute(jobs, side_by_side, timeout), out, figures, summed_up=bool(names))


def record(
    notebook: str, given: Sequence[tuple[str, str]], name: str | None, calls: int | None, minutes: float | None,
    reuse: Sequence[str] = (),
) -> int:  # fmt: skip
    """Execute a notebook on a real model and let it save a recording. Returns 0 if it did, else 1.

    reuse: recordings whose answers are reused for the same requests to the same model. After a spent budget, Ctrl-C or
    a fault, the same call resumes: finished episodes are in the run folder, answers in the cache, or else in the
    unfinished recording. Raises NotebookError if no engine of the notebook is a model, and MissingRun for an unknown
    recording in `reuse`.
    """
    (path,) = locate([notebook])
    engines = _engines(path, given)
    models = [engine for engine in engines.values() if not engine.kinds.isdisjoint(MODELS)]
    if not models:
        message = ", ".join(f"{parameter}={str(engine)!r}" for parameter, engine in engines.items())
        message, first = message or "it has no parameter for an engine", next(iter(engines), "engine")
        raise NotebookError(f"{notebook} runs no model: {message}; record one with -p {first} local, or a model's name")
    default, others = split(str(models[0]))
    parts = [_word(default), *(part for operator in sorted(others) for part in (operator, _word(others[operator])))]
    title = name or "-".join([Path(notebook).stem, *parts])
    # Passed by the environment, since the notebook's kernel, another process, plays and saves.
    os.environ |= {RECORDING: title, budget.VARIABLE: json.dumps({"calls": calls, "minutes": minutes})}
    for message in filter(None, (recordings.resume(title), *map(recordings.reuse, reuse))):
        print(message, flush=True)
    manifest, since = recordings_folder() / title / recordings.MANIFEST, time.time()
    failed = run([notebook], given, TRIALS / "recordings" / title, side_by_side=1)
    # There may be an earlier recording of this name: only a manifest written by this call counts.
    if not manifest.exists() or manifest.stat().st_mtime < since:
        print(f"{notebook} saved no recording{' since it failed' if failed else ': none of its cells does'}")
        return 1
    print(f"recording: {shown(manifest.parent)}; serve it with engine replay:{title}")
    return failed


def _word(text: str) -> str:
    """An engine's text in a recording's name: without options; for a local model with OPENVINO, as in its label."""
    engine, word = parse(text), "".join(c if c.isalnum() or c in ".-" else "-" for c in text.partition("?")[0])
    return f"{word}-{OPENVINO}" if engine.kind == "local" else word


def expect(names: Sequence[str], source: Path | None = None) -> int:
    """Accept the numbers that notebooks reported as the expected ones. Returns 0.

    names: notebooks; by default all that reported. source: the folder of their figures, by default that of
    `make reproduce`. Raises NotebookError for a notebook that did not run there with its defaults.
    """
    figures = source or TRIALS / "figures"
    notebooks = locate(names) or [path for path in committed() if stored.reported(name_of(path), figures)]
    print("\n".join(expected.accept(map(name_of, notebooks), figures)))
    return 0


def explore(options: Sequence[str] = ()) -> NoReturn:
    """Open the tour in JupyterLab, on copies of the committed notebooks that the user may change.

    Does not return: JupyterLab replaces this process. options: passed to JupyterLab.
    """
    folder = copies()
    print(f"Your copies of the notebooks are in {shown(folder)}; change what you like", flush=True)
    settings = [f"--LabApp.default_url=/lab/tree/{folder.name}/0_tour.ipynb"]
    if os.geteuid() == 0:  # as in a container
        warning = "who has the token in its address can run any command on this machine as root"
        print(f"You are root, so JupyterLab starts with --allow-root: {warning}", flush=True)
        settings.append("--allow-root")
    # First on the path, as in the runner: use the code of this checkout, even if another one is installed.
    paths = {"PYTHONPATH": ROOT, "JUPYTER_CONFIG_PATH": without_news()}
    joined = {name: os.pathsep.join(filter(None, [str(path), os.environ.get(name)])) for name, path in paths.items()}
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.parent}", *settings, *options]
    os.execve(sys.executable, command, os.environ | joined)


def without_news() -> Path:
    """A configuration folder in which JupyterLab's question whether to fetch its news is switched off."""
    folder = runs_folder() / "jupyter"
    page = json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}})
    write_atomically(folder / "labconfig" / "page_config.json", page.encode())
    return folder.resolve()


def copies() -> Path:
    """The folder with a user's copies of the committed notebooks.

    Unchanged copies are updated to the committed notebook; changed ones are left as they are. Links beside the folder
    lead to the repository's other folders, so that those in notebooks and docs work.
    """
    folder = runs_folder() / "copies" / FOLDER.name
    folder.mkdir(parents=True, exist_ok=True)
    for path in LINKED:
        if not (link := folder.parent / path.name).exists():
            link.unlink(missing_ok=True)  # of a repository that was moved
            link.symlink_to(path)
    for path in committed():
        copy = folder / path.relative_to(FOLDER)
        origin = copy.with_name(f".{copy.name}.origin")  # the copy's original content
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
    """Report invalid claims, and notebooks with faults of form or stale outputs. Returns 0 if none, else 1."""
    from lab.notebooks.check import check as look

    if faults := register.faults():  # cheap, so checked before notebooks run for hours
        print("\n".join(map(visible, faults)))
        print(f"{len(faults)} claims fail: make the recording or row again, or withdraw the claim in data/claims")
        return 1
    findings = look(locate(names) or committed(), side_by_side, timeout)
    for finding in findings:
        for line in [*finding.faults, *([finding.remark] if finding.remark else [])]:
            print(f"{finding.notebook}: {line}")
    faulty = sum(bool(finding.faults) for finding in findings)
    print(f"{len(findings)} notebooks checked, {faulty} to repair")
    return int(faulty > 0)


def _engines(path: Path, given: Sequence[tuple[str, str]]) -> dict[str, Engine]:
    """The engines that a notebook's parameters select: from the given values, else from the defaults."""
    parameters = declared(read(path), name_of(path))
    return chosen(
        parameters, {name: parameter.default for name, parameter in parameters.items()} | resolve([path], given)
    )


def _changed(notebooks: Sequence[Path], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from the default of at least one notebook."""
    defaults = [declared(read(path), name_of(path)) for path in notebooks] if values else []
    return {
        name: value
        for name, value in values.items()
        if any(value != parameters[name].default for parameters in defaults)
    }


def _refresh(notebooks: Sequence[Path], side_by_side: int, timeout: float | None) -> int:
    """Execute notebooks in another folder, and replace the committed ones by those that succeeded on the same data."""
    folder = TRIALS / "in_place"
    jobs = [
        Job(path, folder / f"{name_of(path)}.ipynb", figures=folder / "figures" / name_of(path)) for path in notebooks
    ]
    for path in notebooks:  # only their own folders: another process may refresh other notebooks
        shutil.rmtree(folder / "figures" / name_of(path), ignore_errors=True)
    outcomes = []
    for outcome in execute(jobs, side_by_side, timeout):
        before, now = (stored.reported(outcome.job.name, at) for at in (stored.COMMITTED, outcome.job.figures))
        if not outcome.failure and before and now and before.data != now.data:
            why = f"not replaced: it ran on {now}, but the committed notebook on {before}; set LAB_DATA to that data"
            outcome = outcome._replace(failure=why)
        outcomes.append(outcome)
    status = _conclude(outcomes, FOLDER, stored.COMMITTED)
    # Copy at the end, and only successful ones: a failing notebook keeps its last good outputs.
    for job in (outcome.job for outcome in outcomes if not outcome.failure):
        source = folder / "figures" / job.name
        # No Parquet: its bytes change with the library's version, and git cannot show differences. The CSV has it all.
        for path in (path for path in source.rglob("*") if path.is_file() and path.suffix != ".parquet"):
            write_atomically(stored.COMMITTED / path.relative_to(source), path.read_bytes())
        write_atomically(job.source, job.output.read_bytes())
    front_page.refresh([job.source for job in jobs])  # their answer boxes were computed from the earlier results
    return status


def _conclude(outcomes: Sequence[Outcome], out: Path, drawn: Path, summed_up: bool = False) -> int:
    """Print the result of each notebook and of each expected figure. Returns the exit status.

    summed_up: also print what the notebooks reported.
    """
    rows = [
        (job.name, "FAILED" if failure else "ok", f"{seconds:.1f}", f"{cpu:.1f}")
        for job, failure, seconds, cpu in outcomes
    ]
    print(aligned([("notebook", "result", "seconds", "CPU-seconds"), *rows]))
    for job, failure, *_ in outcomes:
        if failure:
            hint = f"; its cells up to the error are in {shown(job.failed)}" if job.failed.exists() else ""
            print(visible(f"{job.name}: {failure}{hint}"))
    failed = {outcome.job.name for outcome in outcomes if outcome.failure}
    results = {outcome.job.name: stored.reported(outcome.job.name, outcome.job.figures) for outcome in outcomes}
    verdicts = expected.judge(expected.expectations(), results, failed)
    for job, _, _, cpu in outcomes:
        report = results[job.name]
        if report and report.data == "synthetic" and not report.changed and cpu > MOST_CPU:
            state = "OFF" if cpu > 5 * MOST_CPU else "NOTE"  # tolerant: a busy or older machine needs more
            why = "the defaults cost more on synthetic data than a notebook may"
            verdicts.append(expected.FigureVerdict(job.name, "CPU-seconds", f"≤ {MOST_CPU}", f"{cpu:.0f}", state, why))
    if lines := expected.folded(verdicts):
        header = ("notebook", "figure", "expected", "came out", "", "")
        print("\n" + aligned([header, *(tuple(line) for line in lines)]))
    print(f"\nexecuted notebooks: {shown(out)}; figures: {shown(drawn)}")
    for name, report in results.items() if summed_up else ():
        if report and name not in failed:
            print(visible("\n" + expected.came_to(name, report)))
    return int(bool(failed) or any(verdict.bad for verdict in verdicts))
