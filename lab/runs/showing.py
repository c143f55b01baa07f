"""One run in words: what was run, its headline, how its episodes ended, why some failed, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.printing import aligned, visible
from lab.models import engines
from lab.results import display
from lab.results.exports import readable, text
from lab.results.outcomes import Outcomes
from lab.results.text import shortened
from lab.runs import catalogue
from lab.runs.collecting import costs
from lab.runs.experiment import Results
from lab.runs.first_answers import readings
from lab.runs.run import writer
from lab.viewer.episodes import Kept
from lab.viewer.generic import cause

if TYPE_CHECKING:
    import pandas as pd

    from lab.viewer.timeline import Timeline

MOST = 15  # reasons, faults and tasks that are listed
LONGEST = 110  # characters of one


@dataclass(frozen=True, repr=False)
class Shown:
    """A run's folder, to be looked at."""

    kept: Kept

    @cached_property
    def about(self) -> dict[str, str]:
        """The manifest in words."""
        held, now = self.kept.manifest, writer(self.kept.folder)
        engine = engines.parse(held.engine)
        left = len(held.tasks) - len(self.kept.episodes)
        state = "finished" if not left else f"{left} of {len(held.tasks)} episodes pending"
        commit = str(held.surroundings.get("commit", "unknown"))
        return {
            "run": catalogue.called(self.kept.folder),
            "method": held.method,
            "engine": f"{held.engine} ({engine.evidence})",
            "settings": ", ".join(f"{name}={_plain(value)}" for name, value in held.parameters.items()),
            "tasks": f"{len(held.tasks)}: {', '.join(held.tasks[:3])}{', …' * (len(held.tasks) > 3)}",
            "code": f"{held.code}, commit {commit[:8]}{' with changes' * commit.endswith('+')}"
            + ("" if held.current else "; the sources have changed since, so it would not be resumed"),
            **({"answers": str(read)} if (read := readings(self.kept.usage.values())) else {}),
            "state": f"running: {now} writes to it; {state}" if now else state,
        }

    @cached_property
    def headline(self) -> list[str]:
        """Its headlines, or why there is none."""
        try:
            return [f"{one}, n = {one.n}" for one in catalogue.headline(self.kept)] or ["no whole episode yet"]
        except catalogue.NoScores as error:
            return [f"no score: {error}"]

    @property
    def outcomes(self) -> Outcomes:
        """How many were scored, failed, and not measured."""
        episodes = self.kept.episodes.values()
        return Outcomes(len(episodes), sum(one.failed for one in episodes), len(self.kept.not_measured))

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """Why episodes came out below the best, and how many of them, the most frequent first."""
        try:
            scored = catalogue.scores(self.kept)
        except catalogue.NoScores:
            scored = []
        found = [(score.part, score.why) for score in scored if score.why]
        found = found or [("", cause(one.error)) for one in self.kept.episodes.values() if one.failed]
        alike: dict[tuple[str, str], Counter[str]] = {}
        for part, why in found:
            # What stands behind a colon is often of the one episode: which day, which file.
            alike.setdefault((part, why.partition(":")[0]), Counter())[why] += 1
        lines = [(of.total(), part, shortened(_reason(kind, of), LONGEST)) for (part, kind), of in alike.items()]
        return readable(sorted(lines, key=lambda line: -line[0]), columns=["episodes", "part", "reason"])

    @cached_property
    def costs(self) -> pd.DataFrame:
        """Calls, tokens and dollars by operator."""
        import pandas as pd

        held, kept = self.kept.manifest, self.kept
        label = engines.parse(held.engine).at(held.address).label
        results = Results[Any](kept.setup, label, kept.episodes, {}, kept.usage, kept.folder)
        try:
            table = costs(results)
        except (TypeError, KeyError, AttributeError):  # of an own program, which books something else than calls
            return pd.DataFrame()
        return table.drop(columns=["backbone", "evidence"], errors="ignore")

    @property
    def faults(self) -> dict[str, str]:
        """Task -> why the machine kept it from being measured."""
        return {task: cause(why) for task, why in self.kept.not_measured.items()}

    def text(self) -> str:
        """For a terminal."""
        return visible("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        yield aligned([*self.about.items(), *(("headline", one) for one in self.headline)])
        yield f"\n{self.outcomes}"
        reasons = self.reasons
        rows = [[text(cell) for cell in row] for row in reasons.head(MOST).to_numpy(object)]
        if rows:
            parts = any(row[1] for row in rows)
            yield "\nwhy episodes came out below the best"
            yield aligned([("", f"{row[0]:>5}", *([row[1]] if parts else []), row[2]) for row in rows])
        if len(reasons) > MOST:
            yield f"  and {len(reasons) - MOST} other reasons"
        if len(self.costs):
            cells = [[text(cell) for cell in row] for row in self.costs.to_numpy(object)]
            yield "\n" + aligned([[str(name) for name in self.costs.columns], *cells])
        if self.faults:
            yield f"\nnot measured, and played again when the run is opened ({len(self.faults)})"
            yield aligned([("", task, shortened(why, LONGEST)) for task, why in [*self.faults.items()][:MOST]])

    def _repr_html_(self) -> str:
        facts = {**self.about, "headline": "; ".join(self.headline), "outcomes": str(self.outcomes)}
        about = readable([*facts.items()], columns=["", "the run"])
        tables = (about, self.reasons.head(MOST), self.costs, self._faults())
        return "".join(display.shown(one)._repr_html_() for one in tables if len(one))

    def _faults(self) -> pd.DataFrame:
        return readable([*self.faults.items()][:MOST], columns=["not measured", "why"])

    def __repr__(self) -> str:
        return self.text()


def show(run: str | Path, task: str = "", prompts: bool = False) -> Shown | Timeline:
    """A run in words, or one of its episodes as a timeline.

    run: as for `lab.runs.catalogue.find`. task: an id, or a part of one that no other finished episode has. prompts:
    with prompts and answers. Raises MissingRun, UnknownTask, DamagedFile.
    """
    kept = Kept(catalogue.find(run))
    return kept.timeline(_task(kept, task), prompts) if task else Shown(kept)


def _task(kept: Kept, name: str) -> str:
    """The one finished task that a part of an id means, else the name itself."""
    found = [task for task in kept.episodes if name.lower() in task.lower()]
    return found[0] if name not in kept.episodes and len(found) == 1 else name


def _reason(kind: str, alike: Counter[str]) -> str:
    """One reason as it is, and several of a kind by their most frequent one."""
    ((most, _),) = alike.most_common(1)
    return most if len(alike) == 1 else f"{kind}, such as{most.removeprefix(kind)}"


def _plain(value: Any) -> str:
    """A setting in few characters: what is nested as in a folder's name."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name}={_plain(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)
