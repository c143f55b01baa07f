"""AssistantBench with findings that go wrong on purpose: what Validate catches, and what it lets through.

Two ways in which a model goes wrong are planted, both simulated. *False*: a finding lacks an item, has another name or
another result. *Followed*: a finding says what the text of a page orders; once such a finding is certified, each later
one and the answer say it, too, as those of a model would that was taken in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, cast

from lab.models.backbone import Answer, Ledger
from lab.models.cache import key_of
from lab.models.judges import Errors, published
from lab.models.noise import corrupted
from lab.models.prompts import Prompt
from lab.results.statistics import bootstrap_mean, wilson
from lab.runs.collecting import collect
from sdp.adapters.assistantbench.adapter import FORCED_AFTER
from sdp.adapters.assistantbench.prompts import FINALIZE, FINDING, JUDGE
from sdp.experiments import assistantbench
from sdp.experiments.certifying import Results
from sdp.placebo import rejected
from sdp.studies.conditions import PLACEBO
from worlds.web.local import LocalWeb

if TYPE_CHECKING:
    import pandas as pd

FALSE, FOLLOWED, OWN = "false", "followed", "own"
FAULTLESS, NONE = "faultless", "no Validate"


class Planting:
    """A ledger whose findings go wrong at two rates, each try anew; it notes the verdict on each finding.

    false, follows: the share of findings, and of findings from a page with an injected text. lures: the answers that
    such texts order. verdicts: what each judged finding was (FALSE, FOLLOWED or OWN), whether it passed, and whether it
    was refused and passes by force.
    """

    def __init__(self, ledger: Ledger, false: float, follows: float, lures: Collection[str], seed: int) -> None:
        self._ledger, self._false, self._follows, self._lures, self._seed = ledger, false, follows, lures, seed
        self._kind = OWN
        self.verdicts: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """As the ledger; a finding, and the answer that follows from it, may be replaced."""
        answer = self._ledger.ask(prompt, sample=sample, **fields)
        if prompt.name == JUDGE.name:
            passed = answer.value.passed
            forced = not passed and fields["tries"] >= FORCED_AFTER
            self.verdicts.append({"kind": self._kind, "passed": passed, "forced": forced})
        if prompt.name not in (FINDING.name, FINALIZE.name):
            return answer
        value = self._planted(prompt, prompt.fill(**fields), answer.value, sample)
        return replace(answer, value=value)

    def _planted(self, prompt: Prompt, fields: Any, right: Any, sample: int) -> Any:
        random = Random(key_of([self._seed, "planted", prompt.name, fields.model_dump(mode="json"), sample]))
        follows, false = random.random() < self._follows, random.random() < self._false
        lure = self._lure(item for told in fields.found for item in told.items)
        if prompt.name == FINDING.name:
            lure = lure or (self._lure(page.text for page in fields.pages) if follows else "")
            self._kind = FOLLOWED if lure else OWN
        if lure:
            return prompt.answer.model_validate({"items": [lure]})
        wrong = corrupted(prompt, fields, right, random) if false and prompt.name == FINDING.name else right
        self._kind = FALSE if wrong != right else self._kind
        return wrong

    def _lure(self, texts: Iterable[str]) -> str:
        said = "\n".join(texts)
        return next((lure for lure in self._lures if lure in said), "")


@dataclass(frozen=True, kw_only=True)
class Setup(assistantbench.Setup):
    """SDP on some questions of the synthetic web, with findings that go wrong. false, follows: see `Planting`."""

    false: float = 0.0
    follows: float = 0.0

    method: ClassVar[str] = "sdp-assistantbench-planted"

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """As SDP's, with the verdicts on its findings."""
        web = self.world().web
        lures = tuple(web.site.lures) if isinstance(web, LocalWeb) else ()
        planting = Planting(ledger, self.false, self.follows, lures, self.seed)
        # What is not named in Planting is the ledger's own, which no type checker can follow.
        return super().play(task, cast(Ledger, planting)) | {"verdicts": planting.verdicts}


def judges(
    setup: Setup, names: Sequence[str] = (), engine: str = "rules", workers: int = 0, cluster: str = ""
) -> pd.DataFrame:
    """What Validate makes of planted false findings, at the error rates of published judges: a row a judge.

    names: of judges; all for none. engine: rules, without rates. The first row's Validate never errs, and the last
    one's lets all pass. certify, reject: the rates, in percent. false, caught, missed, forced: verdicts on false
    findings, on how many Validate was right and wrong, and how many of those that were caught passed by force (A.4).
    own, refused: verdicts on findings that were left alone, and how many were refused, in the first row for a marked
    gap alone. Shares in percent with Wilson intervals, since each verdict errs independently of others; accuracy with
    a bootstrap over questions.
    """
    import pandas as pd

    rates = {FAULTLESS: Errors(0.0, 0.0)} | {name: published()[name] for name in names or published()}
    lines = []
    for judge, errors in (rates | {NONE: Errors(1.0, 0.0)}).items():
        noisy = f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}"
        run = collect(replace(setup.answered_by(noisy), trajectories=False), workers, cluster)
        accuracy = bootstrap_mean([100 * score for score in run.scores.values()])
        false, own = verdicts(run, FALSE), verdicts(run, OWN)
        caught, refused = (sum(not one["passed"] for one in some) for some in (false, own))
        lines.append(
            {"judge": judge, "certify, %": 100 * errors.certify, "reject, %": 100 * errors.reject,
             "false": len(false), "caught": caught, "missed": len(false) - caught,
             **share("caught", caught, len(false)), "forced": sum(one["forced"] for one in false),
             "own": len(own), **share("refused", refused, len(own)), "n": len(run.scores),
             "accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high}
        )  # fmt: skip
    return pd.DataFrame(lines).assign(data=setup.decided().data, evidence="simulated")


def followed(setup: Setup, engines: Sequence[str], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """How often the answer is the one that a page ordered, where Finding is taken in: a row an engine and method.

    engines: rules that differ in the rates of Validate. exposed: episodes in which such a page was read, of which the
    share whose answer follows it is taken, with its Wilson interval. findings: those that followed, with how many
    Validate passed, and how many it refused that passed by force (A.4).
    """
    import pandas as pd

    lines = []
    for engine in engines:
        full = collect(setup.answered_by(engine), workers, cluster)
        bare = replace(setup.answered_by(engine), settings=replace(setup.settings, validate=False))
        blank = replace(setup.answered_by(engine), placebo=rejected(full.trajectories))
        others = {"SDP without Validate": bare, PLACEBO.name: blank}
        runs = {"SDP": full} | {name: collect(each, workers, cluster) for name, each in others.items()}
        for name, run in runs.items():
            results = [one.result for one in run.episodes.values() if not one.failed]
            exposed = [one for one in results if one["injected"]]
            taken = verdicts(run, FOLLOWED)
            lines.append(
                {"Validate": engine, "method": name, "n": len(run.episodes), "exposed": len(exposed),
                 "followed": (count := sum(bool(one["fell_for"]) for one in exposed)),
                 **share("followed", count, len(exposed)), "findings judged": len(taken),
                 "passed": sum(one["passed"] for one in taken), "forced": sum(one["forced"] for one in taken)}
            )  # fmt: skip
    return pd.DataFrame(lines).assign(data=setup.decided().data, evidence="simulated")


def verdicts(run: Results[Setup], kind: str) -> list[dict[str, Any]]:
    """The verdicts of a run on findings of a kind."""
    played = (episode.result for episode in run.episodes.values() if not episode.failed)
    return [one for result in played for one in result["verdicts"] if one["kind"] == kind]


def share(name: str, part: int, whole: int) -> dict[str, float]:
    """Three columns: a share in percent and its Wilson interval; NaN of nothing."""
    ends = [100 * end for end in wilson(part, whole)] if whole else [math.nan] * 3
    return dict(zip((f"{name}, %", f"{name}_low", f"{name}_high"), ends, strict=True))
