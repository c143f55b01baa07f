"""Change one thing in a function, run the tests that cover it, and list the changes that no test notices.

    python benchmarks/mutants.py lab/results/verdicts.py --count 20

A mutant is one small change: a comparison, a constant, an operator, an argument, a statement. It survives when every
covering test still passes. benchmarks/mutants.yaml lists the modules that carry numbers, and mutants that are
equivalent to the original, by function and text, so that they stay valid when lines move.

Each mutant is played in a fork of one process that has imported all tests, so it costs about a second. Programs that a
test starts see the unchanged files. Which test covers what is recorded once per test file, in
runs/mutants/coverage.json; delete it after large changes of the modules. Which test kills which mutant is written to
runs/mutants/matrix.csv.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import csv
import gc
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
import yaml
from _pytest.runner import runtestprotocol
from mutating import ROOT, Mutant, codes, recording, sample

FOLDER = ROOT / "runs" / "mutants"
LISTED = yaml.safe_load((ROOT / "benchmarks" / "mutants.yaml").read_text(encoding="utf-8"))
EQUIVALENT = {
    (module, entry["function"], entry["before"], entry["after"])
    for module, entries in LISTED["equivalent"].items()
    for entry in entries
}
HITS: set[str] = set()  # the statements that a test has executed
vars(builtins)["__hit__"] = HITS.add


class Runner:
    """A pytest plugin that plays mutants in place of the tests."""

    def __init__(self, modules: list[str], count: int, seconds: float, matrix: bool, folder: str) -> None:
        self.modules, self.count, self.seconds, self.matrix = modules, count, seconds, matrix
        self.file = Path(folder, "results.jsonl")
        self.covered: dict[str, list[Any]] = {}  # of each test that passes: its seconds, and the statements it executes
        self.outcomes: list[tuple[Mutant, str]] = []
        self.rows: list[tuple[str | bool, ...]] = []
        self.sound: dict[str, bool] = {}  # of tests that failed on a mutant: whether they pass alone on unchanged code

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        # An example that fails need not be made small.
        settings.register_profile("mutants", settings.get_profile("suite"), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        for function in gc.get_objects():
            if type(function) is FunctionType:
                self.functions[function.__code__.co_filename].append(function)
        self.record()
        for module in self.modules:
            self.outcomes += [(mutant, self.outcome(mutant)) for mutant in sample(module, self.count)]
            print(self.summary(module), file=sys.__stderr__, flush=True)
        return True

    def replace(self, code: CodeType) -> None:
        """Give a module's functions, wherever they are held, the code that they have in `code`."""
        new = {(entry.co_qualname, entry.co_firstlineno): entry for entry in codes(code)}
        for function in self.functions[code.co_filename]:
            key = function.__code__.co_qualname, function.__code__.co_firstlineno
            function.__code__ = new.get(key, function.__code__)

    def fork(self, tests: list[str], prepare: Callable[[], None], stop: bool) -> list[tuple[Any, ...]]:
        """Run tests in a fork; returns of each its name, whether it passed, its seconds and hits. A hang has failed."""
        self.file.write_text("")
        if not (child := os.fork()):
            try:
                os.setsid()
                prepare()
                self.run(tests, stop)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what a test has left running
        lines = [tuple(json.loads(line)) for line in self.file.read_text().splitlines()]
        dead = lines[-1:] if lines and len(lines[-1]) == 1 else []  # it began, and its process is dead
        return [line for line in lines if len(line) > 1] + [(test, False, 0, []) for (test,) in dead]

    def run(self, tests: list[str], stop: bool) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        with self.file.open("w") as file:
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                signal.alarm(10 + int(5 * self.covered.get(test, [60])[0]))
                print(json.dumps([test]), file=file, flush=True)
                HITS.clear()
                began = time.monotonic()
                reports = runtestprotocol(self.items[test], log=False, nextitem=self.items.get(following or ""))
                passed = not any(report.failed for report in reports)
                print(json.dumps([test, passed, time.monotonic() - began, sorted(HITS)]), file=file, flush=True)
                if stop and not passed:
                    return

    def record(self) -> None:
        """Fill `covered` from the cache, or where a test file has changed by running it."""
        cache = FOLDER / "coverage.json"
        files = json.loads(cache.read_text()) if cache.exists() else {}
        by_file: dict[str, list[str]] = defaultdict(list)
        for test in self.items:
            by_file[test.split("::")[0]].append(test)
        versions = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in by_file}
        for name, tests in by_file.items():
            if files.get(name, {}).get("version") != versions[name]:
                results = self.fork(tests, self.instrument, False)
                passed = {test: [seconds, hits] for test, ok, seconds, hits in results if ok}
                files[name] = {"version": versions[name], "tests": passed}
                print(f"recorded {name}: {len(passed)} of {len(tests)} tests pass", file=sys.__stderr__, flush=True)
                cache.write_text(json.dumps(files))
            self.covered |= {test: entry for test, entry in files[name]["tests"].items() if test in self.items}

    def instrument(self) -> None:
        for module in LISTED["modules"]:
            self.replace(recording(module))

    def covering(self, mutant: Mutant) -> list[str]:
        """Tests of the statement, the module's own and quick ones first; then others of their files, which may only be
        spared it by a fixture or a cache. As many as take `seconds` together."""
        hit = {test for test, (_, hits) in self.covered.items() if mutant.statement in hits}
        files, stem = {test.split("::")[0] for test in hit}, Path(mutant.module).stem
        near = [test for test in self.covered if test.split("::")[0] in files and self.sound.get(test, True)]
        near.sort(key=lambda test: (test not in hit, stem not in test.split("::")[0], self.covered[test][0]))
        before = accumulate((self.covered[test][0] for test in near), initial=0.0)
        return [test for test, seconds in zip(near, before, strict=False) if seconds < self.seconds]

    def outcome(self, mutant: Mutant) -> str:
        """Whether a mutant is killed, survived or is not covered; equivalent ones are not played, and a change that
        leaves a function with other closures cannot be."""
        if mutant.key in EQUIVALENT:
            return "equivalent"
        if not (tests := self.covering(mutant)):
            return "not covered"
        results = self.fork(tests, lambda: self.replace(mutant.code()), not self.matrix)
        if not results:
            return "not playable"
        failed = [test for test, passed, *_ in results if not passed]
        for test in failed:
            if test not in self.sound:
                self.sound[test] = all(passed for _, passed, *_ in self.fork([test], lambda: None, True))
        if not all(self.sound[test] for test in failed):
            return self.outcome(mutant)
        self.rows += [(*mutant.key, test, not passed) for test, passed, *_ in results]
        return "killed" if failed else "survived"

    def summary(self, module: str) -> str:
        """A row of the table: a module, or "" for all, mutants killed, those not equivalent, and the share."""
        counts = Counter(outcome for mutant, outcome in self.outcomes if module in mutant.module)
        played = counts["killed"] + counts["survived"] + counts["not covered"]
        return f"| {module or 'all'} | {counts['killed']} | {played} | {counts['killed'] / max(played, 1):.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="as listed in benchmarks/mutants.yaml; all by default")
    parser.add_argument("--count", type=int, default=20, help="mutants of a module; 0: all")
    parser.add_argument("--seconds", type=float, default=20, help="of tests, at most, for a mutant")
    parser.add_argument(
        "--matrix", action="store_true", help="run all covering tests instead of up to the first failure"
    )
    parser.add_argument("--slow", action="store_true", help="slow tests may kill, too")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="files or folders of tests that may kill")
    given = parser.parse_args()
    if unknown := {*given.modules} - {*LISTED["modules"]}:
        parser.error(f"benchmarks/mutants.yaml lists no module {', '.join(sorted(unknown))}")
    os.environ["CI"] = "1"  # the same examples of property tests each time
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        runner = Runner(given.modules or LISTED["modules"], given.count, given.seconds, given.matrix, folder)
        plugins = [f"-pno:{name}" for name in ("cacheprovider", "xdist", "benchmark")]
        chosen = "not browser and not campaign" + ("" if given.slow else " and not slow")
        pytest.main(["-qq", *plugins, f"--basetemp={folder}/tests", "-m", chosen, *given.tests], plugins=[runner])
    print("| module | function | line | mutant | |", "| --- | --- | --- | --- | --- |", sep="\n")
    for mutant, outcome in runner.outcomes:
        if outcome in ("survived", "not covered"):
            change = f"`{mutant.before}` → `{mutant.after}`"
            print(f"| {mutant.module} | {mutant.function} | {mutant.line} | {change} | {outcome} |")
    print("\n| module | killed | of | share |", "| --- | --- | --- | --- |", sep="\n")
    print(*map(runner.summary, [*runner.modules, ""]), sep="\n")
    with (FOLDER / "matrix.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("module", "function", "before", "after", "test", "killed"), *runner.rows])


if __name__ == "__main__":
    main()
