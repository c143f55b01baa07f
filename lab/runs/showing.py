"""Display runs: the summary of a run, and the comparison of two runs on their common tasks.

A summary has settings, headline, outcomes, reasons for failures, and costs. A comparison has the paired difference, its
test, and the tasks that flipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.files import canonical
from lab.machine.printing import aligned, visible
from lab.models import engines
from lab.models.replay import MissingRun
from lab.results import display
from lab.results.exports import EMPTY, readable
from lab.results.outcomes import Outcomes, Score, headlines, paired
from lab.results.statistics import Comparison, Interval, holm
from lab.runs import catalogue
from lab.runs.collecting import costs
from lab.runs.experiment import Results
from lab.runs.first_answers import readings
from lab.runs.run import writer
from lab.viewer.episodes import NoScores, StoredRun
from lab.viewer.timeline import SideBySide, Timeline, cause, side_by_side

if TYPE_CHECKING:
    import pandas as pd

MOST = 15  # rows of a table
MOST_FLIPPED = 20  # flipped tasks that are listed


@dataclass(frozen=True, repr=False)
class RunSummary:
    """Summary of a stored run: facts by name, and tables by title."""

    run: StoredRun

    @cached_property
    def facts(self) -> dict[str, str]:
        """The run's settings, and how many episodes were scored, failed or not measured."""
        run, manifest = self.run, self.run.manifest
        episodes, tasks = run.episodes.values(), manifest.tasks
        pending, writing = len(tasks) - len(episodes), writer(run.folder)
        state = f"{pending} of {len(tasks)} episodes pending" if pending else "finished"
        commit = str(manifest.surroundings.get("commit", "unknown"))
        code = f"{manifest.code}, commit {commit[:8]}{' with changes' * commit.endswith('+')}"
        changed = "" if manifest.current else "; the sources have changed since, so it would not be resumed"
        answers = readings(run.usage.values())
        return {
            "run": catalogue.called(run.folder),
            "outcomes": str(Outcomes(len(episodes), sum(e.failed for e in episodes), len(run.not_measured))),
            "state": f"running: {writing} writes to it; {state}" if writing else state,
            "method": manifest.method,
            "engine": f"{manifest.engine} ({engines.parse(manifest.engine).evidence})",
            "settings": ", ".join(f"{name}={_plain(value)}" for name, value in manifest.parameters.items()),
            "tasks": f"{len(tasks)}: {', '.join(tasks[:3])}{', …' * (len(tasks) > 3)}",
            "code": code + changed,
            **({"answers": str(answers)} if answers else {}),
        }

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Title -> table: headlines; why episodes scored below the best, most frequent reasons first; costs by
        operator; and why episodes were not measured. Empty tables are left out.
        """
        not_measured = [(task, cause(why)) for task, why in self.run.not_measured.items()]
        tables = {
            "headline": self._headlines(),
            "why episodes came out below the best": self._reasons(),
            "what they took": self._costs(),
            "not measured, and played again when the run is opened": readable(not_measured, columns=["task", "why"]),
        }
        return {title: table.head(MOST) for title, table in tables.items() if len(table)}

    def _headlines(self) -> pd.DataFrame:
        try:
            parts = headlines(self.run.scores(), self.run.metric)
        except NoScores as error:
            return readable([[f"no score: {error}"]], columns=[""])
        rows = [(part.part or "all", str(part._replace(metric="", part="")).strip(), part.n) for part in parts]
        return readable(rows, columns=["part", self.run.metric, "n"])

    def _reasons(self) -> pd.DataFrame:
        try:
            rows = [(score.part, score.why) for score in self.run.scores() if score.why]
        except NoScores:
            rows = [("", cause(episode.error)) for episode in self.run.episodes.values() if episode.failed]
        table = readable(rows, columns=["part", "reason"])
        # The text after a colon is often specific to the episode (which day, which file), so group by the text before.
        groups = table.groupby(["part", table["reason"].str.split(":").str[0]], sort=False)["reason"]
        counted = groups.agg(episodes="size", reason=lambda reasons: reasons.value_counts().index[0])
        table = counted.reset_index("part").sort_values("episodes", ascending=False, kind="stable", ignore_index=True)
        return table[["episodes", *(["part"] if table["part"].any() else []), "reason"]]

    def _costs(self) -> pd.DataFrame:
        import pandas as pd

        run = self.run
        label = engines.parse(run.manifest.engine).at(run.manifest.address).label
        try:
            table = costs(Results[Any](run.setup, label, run.episodes, {}, run.usage, run.folder))
        except (TypeError, KeyError, AttributeError):  # an experiment of the user's own may store other usage
            return pd.DataFrame()
        return table.drop(columns=["backbone", "evidence"], errors="ignore")

    def __repr__(self) -> str:
        """Text for a terminal."""
        tables = (f"\n\n{title}\n{display.shown(table)!r}" for title, table in self.tables.items())
        return visible(aligned([*self.facts.items()]) + "".join(tables))


def show(run: str | Path, task: str = "", prompts: bool = False) -> RunSummary | Timeline:
    """Returns the summary of a run, or an episode of it as a timeline.

    run: as for `lab.runs.catalogue.find`. task: an id, or a part of it that no other finished episode has. prompts:
    include prompts and answers.
    Raises MissingRun, DamagedFile, and ValueError for a task without an episode.
    """
    stored = StoredRun(catalogue.find(run))
    matches = [name for name in stored.episodes if task.lower() in name.lower()]
    if task and task not in stored.episodes and len(matches) == 1:
        task = matches[0]
    return stored.timeline(task, prompts) if task else RunSummary(stored)


def _plain(value: Any) -> str:
    """A setting as short text, with nested settings in brackets."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name}={_plain(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)


class Part(NamedTuple):
    """The comparison of a part of both runs, such as a condition; a run without parts is one part.

    name: "Human-TN", or "Human-TN − No-TN". pairs: scores of the common tasks, largest differences first. of_first,
    of_second: number of scores in each run. p: with Holm's correction if there are several parts.
    """

    name: str
    pairs: Sequence[tuple[Score, Score]]
    of_first: int
    of_second: int
    result: Comparison
    p: float

    def row(self, metric: str) -> dict[str, Any]:
        """Both means, the difference with its 95 % interval, the test, and how many tasks differ; rates in percent."""
        rate = self.result.mcnemar is not None
        scale = 100 if rate else 1
        value, low, high = (scale * end for end in self.result.difference)
        return {
            "metric": metric, "part": self.name, "first": scale * self.result.mean_a,
            "second": scale * self.result.mean_b, "difference": value, "ci_low": low, "ci_high": high, "p": self.p,
            "test": "McNemar's test" if rate else "sign-flip test", "n": self.result.n,
            "higher in the first": self.result.wins, "higher in the second": self.result.losses,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class RunComparison:
    """The comparison of two runs. settings: name -> (first's value, second's) where they differ; None if not set."""

    first: StoredRun
    second: StoredRun
    metric: str
    settings: Mapping[str, tuple[Any, Any]]
    parts: tuple[Part, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per part; see `Part.row`."""
        import pandas as pd

        return pd.DataFrame([part.row(self.metric) for part in self.parts])

    @property
    def flipped(self) -> pd.DataFrame:
        """A row for each task whose scores differ, largest differences first, with the reason for each score."""
        rows = [
            (part.name, first.of, first.value, second.value, first.why, second.why)
            for part in self.parts
            for first, second in part.pairs
            if first.value != second.value
        ]
        return readable(rows, columns=["part", "task", "first", "second", "of the first", "of the second"])

    def side_by_side(self, task: str = "", prompts: bool = False) -> SideBySide:
        """The episodes of a task in both runs, step by step; by default of the first task that flipped.

        prompts: include prompts and answers. Raises ValueError for a task that the runs do not share.
        """
        pairs = [pair for part in self.parts for pair in part.pairs]
        matches = [pair for pair in pairs if task in (pair[0].of, *pair[0].tasks, *pair[1].tasks)]
        chosen = matches if task else sorted(pairs, key=lambda pair: pair[0].value == pair[1].value)
        if not chosen:
            known = ", ".join(first.of for first, _ in pairs[:5])
            raise ValueError(f"the two runs share no task {task!r}; some that they do: {known}")
        # A score may have several episodes (one per member of a pair): take the requested one, else the first.
        timelines = [
            run.timeline(task if task in score.tasks else score.tasks[0], prompts)
            for run, score in zip((self.first, self.second), chosen[0], strict=True)
        ]
        return side_by_side(*timelines)

    def lines(self) -> Iterator[str]:
        """Lines of text for each part: both means, their difference with interval and test, and n."""
        evidence = dict.fromkeys(engines.parse(run.manifest.engine).evidence for run in (self.first, self.second))
        corrected = ", Holm's" if len(self.parts) > 1 else ""
        for part in self.parts:
            row, result = part.row(self.metric), part.result
            unit, decimals = ("", 3) if result.mcnemar is None else (" %", 1)
            first, second = (f"{row[name]:.{decimals}f}" for name in ("first", "second"))
            difference = Interval(row["difference"], row["ci_low"], row["ci_high"])
            sign = "+" if round(difference.value, decimals) > 0 else ""
            title = ", ".join(filter(None, (self.metric, part.name)))
            yield f"{title}: {first}{unit} and {second}{unit}, {' and '.join(evidence)}"
            difference_text = difference.text(f"{{:.{decimals}f}}".format)
            yield f"  first − second {sign}{difference_text}, p = {part.p:.2g} ({row['test']}{corrected})"
            yield f"  n = {result.n} in both, of {part.of_first} and {part.of_second}"
            yield f"  {result.wins} higher in the first, {result.losses} in the second, {result.ties} alike"

    def __repr__(self) -> str:
        """Text for a terminal."""
        runs = {"first": self.first, "second": self.second}
        headers = [
            f"{which:6}  {catalogue.called(run.folder)}, {engines.parse(run.manifest.engine).evidence}"
            for which, run in runs.items()
        ]
        headers += [] if self.settings else ["no setting differs"]
        settings = [
            (name, *(EMPTY if value is None else canonical(value) for value in pair))
            for name, pair in self.settings.items()
        ]
        flipped = self.flipped if len(self.parts) > 1 else self.flipped.drop(columns="part")
        tables = {
            "settings that differ": readable(settings, columns=["setting", "first", "second"]),
            f"the {min(MOST_FLIPPED, len(flipped))} largest differences of {len(flipped)}": flipped.head(MOST_FLIPPED),
        }
        parts = (f"\n{title}\n{display.shown(table)!r}" for title, table in tables.items() if len(table))
        return visible("\n".join([*headers, "", *self.lines(), *parts]).rstrip())


def compare(first: str | Path, second: str | Path) -> RunComparison:
    """Compare two runs, by name or folder (see `lab.runs.catalogue.find`), on the tasks that both have scored.

    If the runs have parts, such as conditions, the common parts are compared, or the named ones:
    compare("772452:Human-TN", "772452:No-TN").
    Raises MissingRun, and NoScores if a run cannot be scored here.
    Raises ValueError for an unknown part, different scores, or runs without a common scored task.
    """
    (run, ours), (other, theirs) = map(_scored, (first, second))
    if run.metric != other.metric:
        raise ValueError(
            f"{first} is scored by {run.metric}, and {second} by {other.metric}; compare runs with the same score"
        )
    single = len(ours) == len(theirs) == 1
    names = list(zip(ours, theirs, strict=True)) if single else [(part, part) for part in ours if part in theirs]
    if not names:
        raise ValueError(
            f"The runs have no part in common: {', '.join(ours) or 'none'}, and {', '.join(theirs) or 'none'}. "
            "Say which with RUN:PART"
        )
    parts = []
    for here, there in names:
        pairs = [(score, theirs[there][task]) for task, score in ours[here].items() if task in theirs[there]]
        if pairs:
            result = paired(*zip(*pairs, strict=True))
            pairs.sort(key=lambda pair: (-abs(pair[0].value - pair[1].value), pair[0].of))
            name = here if here == there else f"{here or 'all'} − {there or 'all'}"
            parts.append(Part(name, pairs, len(ours[here]), len(theirs[there]), result, result.p))
    if not parts:
        some = [", ".join([task for part in scores.values() for task in part][:4]) for scores in (ours, theirs)]
        raise ValueError(
            f"The two runs have no scored task in common. Of {first}: {some[0]}, … Of {second}: {some[1]}, … Play both "
            "on the same data with the same seed"
        )
    adjusted = holm([part.p for part in parts])
    corrected = tuple(part._replace(p=p) for part, p in zip(parts, adjusted, strict=True))
    return RunComparison(run, other, run.metric, _differing(run, other), corrected)


def _scored(name: str | Path) -> tuple[StoredRun, dict[str, dict[str, Score]]]:
    """A run, and part -> task -> score; for "RUN:PART" only that part. Raises as `compare`."""
    chosen: str | None = None
    try:
        run = StoredRun(catalogue.find(name))
    except MissingRun:
        folder, colon, chosen = str(name).rpartition(":")
        if not colon:
            raise
        run = StoredRun(catalogue.find(folder))
    parts: dict[str, dict[str, Score]] = {}
    for score in run.scores():
        parts.setdefault(score.part, {})[score.of] = score
    if chosen is None:
        return run, parts
    if chosen not in parts:
        raise ValueError(f"The run has no part {chosen!r}; it has: {', '.join(parts) or 'none'}")
    return run, {chosen: parts[chosen]}


def _differing(first: StoredRun, second: StoredRun) -> dict[str, tuple[Any, Any]]:
    """Name -> values in both manifests, where they differ, without the tasks. Nested settings have dotted names."""
    flat = []
    for manifest in (first.manifest, second.manifest):
        values = {name: getattr(manifest, name) for name in ("method", "engine", "address", "code")}
        versions = {name: manifest.surroundings.get(name) for name in ("commit", "packages")}
        flat.append(dict(_flat(values | dict(manifest.parameters) | versions)))
    pairs = {name: (flat[0].get(name), flat[1].get(name)) for name in dict.fromkeys((*flat[0], *flat[1]))}
    return {name: pair for name, pair in pairs.items() if canonical(pair[0]) != canonical(pair[1])}


def _flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value
