"""Several methods on the same tasks: one run holds a whole comparison, and is recorded, replayed and resumed as one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from lab.models import engines
from lab.models.backbone import Ledger
from lab.results.outcomes import Judged, Outcomes, Score
from lab.results.statistics import Comparison, compare, holm, smallest_difference
from lab.results.verdicts import FEWEST
from lab.runs import experiment
from lab.runs.experiment import Experiment
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline

if TYPE_CHECKING:
    import pandas as pd


class Entry(NamedTuple):
    """What a task of a contest names."""

    dataset: str
    method: str
    task: str

    def __str__(self) -> str:
        return "/".join(self)


def entry(name: str) -> Entry:
    """The entry of a task's name, as `str` writes it."""
    return Entry(*name.split("/", 2))


@dataclass(frozen=True, kw_only=True)
class Contest(Experiment):
    """Some methods on some tasks of each dataset; a subclass says which experiment plays a method on a dataset."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def results(self) -> type[Results[Self]]:
        return Results

    @abstractmethod
    def part(self, dataset: str, method: str) -> Any:
        """The experiment of one method on one dataset. Raises BadSetting for one that there is not."""

    def methods_of(self, dataset: str) -> Sequence[str]:
        """The methods that play a dataset."""
        return self.methods

    def operators(self) -> tuple[str, ...]:
        parts = (self.part(dataset, method) for dataset in self.datasets for method in self.methods_of(dataset))
        return tuple(dict.fromkeys(operator for part in parts for operator in part.operators()))

    def tasks(self) -> list[str]:
        """A method beside the others on each task, so that a stopped run has some of all."""
        return [
            str(Entry(dataset, method, task))
            for dataset in self.datasets
            for task in self.part(dataset, self.methods_of(dataset)[0]).tasks()
            for method in self.methods_of(dataset)
        ]

    def group(self, task: str) -> str:
        """A dataset's task: only those that every method has played are compared."""
        of = entry(task)
        return f"{of.dataset}/{self._of(task).group(of.task)}"

    def player(self, task: str) -> tuple[Experiment, str]:
        return self._of(task), entry(task).task

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        return self._of(task).play(entry(task).task, ledger)

    def judged(self, episode: Episode) -> Judged:
        """As the method's own experiment judges it."""
        return self._of(episode.task).judged(replace(episode, task=entry(episode.task).task))

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """By dataset and method, so that methods stand beside each other on the same tasks."""
        return [
            score._replace(of=entry(score.of).task, part="/".join(entry(score.of)[:2]), episodes=(score.of,))
            for score in super().scores(episodes)
        ]

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """As the method's own experiment shows it."""
        shown = self._of(episode.task).timeline(replace(episode, task=entry(episode.task).task), exchanges)
        return replace(shown, title=episode.task)

    def _of(self, task: str) -> Any:
        of = entry(task)
        return self.part(of.dataset, of.method)


C = TypeVar("C", bound=Contest)


@dataclass(frozen=True)
class Results(experiment.Results[C], Generic[C]):
    """The episodes of a run, by dataset and method."""

    def of(self, dataset: str, method: str) -> dict[str, Episode]:
        """Task -> episode, of those that count."""
        found = ((entry(name), episode) for name, episode in self.episodes.items())
        return {each.task: episode for each, episode in found if each[:2] == (dataset, method)}

    def part(self, dataset: str, method: str) -> Any:
        """The results of one method on one dataset, as its own experiment has them: its class, its tasks' names."""
        setup, prefix = self.setup.part(dataset, method), f"{dataset}/{method}/"

        def own(named: Mapping[str, Any]) -> dict[str, Any]:
            return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}

        episodes = {task: replace(episode, task=task) for task, episode in own(self.episodes).items()}
        backbone = self.backbone_of(dataset, method)
        return setup.results(setup, backbone, episodes, own(self.not_measured), own(self.usage), self.folder)

    def scores_of(self, dataset: str, method: str) -> dict[str, float]:
        """Task -> the score by the method's own experiment; 0 where the episode failed."""
        return {task: self._score(dataset, method, episode) for task, episode in self.of(dataset, method).items()}

    def outcomes_of(self, dataset: str, method: str) -> Outcomes:
        """How the episodes of a method came out, with those that were not measured."""
        prefix = f"{dataset}/{method}/"
        return self.outcomes(task for task in (*self.episodes, *self.not_measured) if task.startswith(prefix))

    def named_of(self, dataset: str, method: str, what: str) -> dict[str, float]:
        """Task -> a number of its episode; of "score", `scores_of`."""
        return self.scores_of(dataset, method) if what == "score" else self.values(dataset, method, what)

    def values(self, dataset: str, method: str, what: str) -> dict[str, float]:
        """Task -> what an episode came to: "calls", "steps" and so on; 0 where it failed.

        What its result does not have, such as "tokens_in", is read off its usage.
        """
        return {
            task: 0.0 if episode.failed else float(episode.result[what] if what in episode.result else took(of, what))
            for task, episode in self.of(dataset, method).items()
            for of in [self.usage.get(episode.task)]
        }

    def mean(self, dataset: str, method: str, what: str) -> float:
        """Of `values`; NaN of none."""
        values = self.values(dataset, method, what).values()
        return sum(values) / len(values) if values else float("nan")

    def _score(self, dataset: str, method: str, episode: Episode) -> float:
        return self.setup.part(dataset, method).judged(replace(episode, task=entry(episode.task).task)).score

    def backbone_of(self, dataset: str, *methods: str) -> str:
        """The backbone without those that answer only other methods' operators."""
        asked = [name for method in methods for name in self.setup.part(dataset, method).operators()]
        return engines.parse(self.backbone).among(asked).label

    @property
    def parts(self) -> Iterator[tuple[str, str]]:
        """Datasets with methods, in order."""
        return ((dataset, method) for dataset in self.setup.datasets for method in self.setup.methods_of(dataset))


def took(usage: Mapping[str, Any] | None, what: str) -> float:
    """Calls, tokens or seconds of an episode, over its operators."""
    return sum(operator[what] for operator in (usage or {}).values())


def comparisons(results: Results[Any], against: str) -> pd.DataFrame:
    """Each method less one of them on the same tasks, in points: Holm's correction within each dataset.

    p is exact McNemar's where every score is 0 or 1, else that of paired sign flips. smallest: the difference that so
    many tasks would have shown, by the spread of these differences and by the fewest that have to differ.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for dataset in (name for name in results.setup.datasets if against in results.setup.methods_of(name)):
        base = results.scores_of(dataset, against)
        others = [method for method in results.setup.methods_of(dataset) if method != against]
        found = {method: compare(results.scores_of(dataset, method), base) for method in others}
        adjusted = holm([c.p for c in found.values()])
        for (method, c), p in zip(found.items(), adjusted, strict=True):
            difference, low, high = (100 * end for end in c.difference)
            lines.append(
                {"dataset": dataset, "method": method, "n": c.n, f"less {against}": difference, "low": low,
                 "high": high, "gained": c.wins, "lost": c.losses, "p": c.p, "p (Holm)": p, "smallest": smallest(c),
                 "calls": results.mean(dataset, method, "calls"),
                 "tokens in": results.mean(dataset, method, "tokens_in"),
                 "evidence": results.evidence, "backbone": results.backbone_of(dataset, method, against)}
            )  # fmt: skip
    return pd.DataFrame(lines)


def primary(runs: Iterable[Results[Any]], method: str, against: str) -> pd.DataFrame:
    """One method less another on the same tasks, in points: a line for each dataset of each run that has both.

    p as in `comparisons`; Holm's correction over the lines of a backbone, since they are the primary comparisons of one
    document. smallest: as in `comparisons`.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for run in (run for run in runs if {method, against} <= {*run.setup.methods}):
        for dataset in run.setup.datasets:
            c = compare(run.scores_of(dataset, method), run.scores_of(dataset, against))
            difference, low, high = (100 * end for end in c.difference)
            lines.append(
                {"backbone": run.backbone, "dataset": dataset, "n": c.n, method: 100 * c.mean_a,
                 against: 100 * c.mean_b, "difference": difference, "low": low, "high": high, "gained": c.wins,
                 "lost": c.losses, "smallest": smallest(c), "p": c.p, "evidence": run.evidence}
            )  # fmt: skip
    found = pd.DataFrame(lines)
    if len(found):
        found["p (Holm)"] = found.groupby("backbone")["p"].transform(holm)
    return found


def contrasts(runs: Iterable[Results[Any]], pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Pairs of methods on the same tasks, in points: a row a run, pair, and dataset on which both have played.

    p as in `comparisons`; Holm's correction over all rows, since they are of one document.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for run, pair in product(runs, pairs):
        for dataset in (name for name in run.setup.datasets if {*pair} <= {*run.setup.methods_of(name)}):
            c = compare(*(run.scores_of(dataset, method) for method in pair))
            difference, low, high = (100 * end for end in c.difference)
            lines.append(
                {"dataset": dataset, "compared": " − ".join(pair), "difference": difference, "ci_low": low,
                 "ci_high": high, "only the first": c.wins, "only the second": c.losses, "p": c.p, "p (Holm)": c.p,
                 "n": c.n, "evidence": run.evidence, "backbone": run.backbone}
            )  # fmt: skip
    found = pd.DataFrame(lines)
    return found.assign(**{"p (Holm)": holm(found["p"])}) if lines else found


def smallest(c: Comparison) -> float:
    """The difference in points that a comparison would have shown."""
    return 100 * max(smallest_difference(c.difference), FEWEST / c.n)
