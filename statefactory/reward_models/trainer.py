"""trl's reward trainer with all prefixes of a trajectory in the loss; one forward pass per trajectory, no padding.

Only `training` imports this module, when a training starts, since it imports torch, trl and datasets. The preference
loss of Eq. 13 is over whole trajectories or over all prefixes, with a centring term:

    L = mean over (w, l) of -log sigmoid(r_w - r_l) + c (r_w + r_l)^2

"outcome" compares the last steps of the chosen and the rejected trajectory, as in the paper's equation; with one pair
trl computes the same. "all_prefixes" compares all positions whose true progress differs, within a trajectory and across
both (§3.1.1: the positive sample has the higher reward). The centring term is trl's; the paper cites reward centring,
but states neither form nor weight.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import RewardConfig, RewardTrainer

from lab.machine.progress import Bar
from statefactory.reward_models.recipe import Loss, Recipe
from statefactory.reward_models.scoring import Tokens, position_scores

SAME = 1e-6  # differences of progress up to this count as equal
COUNTED = ("tokens", "comparisons", "truncated", "seconds", "cpu_seconds")  # sums since the first training step


class PairLoss(NamedTuple):
    """loss: a scalar with gradient. right: comparisons where the better position scores higher. of: all comparisons."""

    loss: torch.Tensor
    right: int
    of: int


def preference_loss(
    scores: Sequence[torch.Tensor], progress: Sequence[Sequence[float]], kind: Loss, centring: float
) -> PairLoss:
    """The loss of one task's trajectories, the chosen one first.

    scores: per trajectory a tensor of shape (steps,). progress: the truth at the same positions. If no two positions
    differ, the loss is 0 with no comparison.
    """
    if kind == "outcome":
        better = torch.stack([scores[0][-1]] * (len(scores) - 1))
        worse = torch.stack([values[-1] for values in scores[1:]])
    else:
        all_scores = torch.cat(list(scores))
        truth = torch.tensor([value for values in progress for value in values], device=all_scores.device)
        first, second = torch.nonzero(truth[:, None] - truth[None, :] > SAME, as_tuple=True)
        better, worse = all_scores[first], all_scores[second]
    if not len(better):
        return PairLoss(sum(values.sum() for values in scores) * 0.0, 0, 0)  # type: ignore[arg-type]
    loss = -torch.nn.functional.logsigmoid(better - worse).mean() + centring * ((better + worse) ** 2).mean()
    return PairLoss(loss, int((better > worse).sum()), len(better))


@dataclass(frozen=True)
class Example:
    """One task's trajectories, the chosen one first. progress: the true one at each of the tokens' `ends`."""

    tokens: tuple[Tokens, ...]
    progress: tuple[Sequence[float], ...]


class PrefixTrainer(RewardTrainer):
    """Trains on examples. model: a backbone wrapped by peft, whose head and LoRA matrices are trained.

    Counts are written to every log line, from which a resumed training restores them; trl's own count restarts at 0.
    """

    def __init__(
        self, model: Any, recipe: Recipe, examples: Sequence[Example], config: RewardConfig, tokenizer: Any, bar: Bar,
        callbacks: Sequence[TrainerCallback] = (),
    ) -> None:  # fmt: skip
        self._recipe, self._examples = recipe, examples
        self.counts: dict[str, float] = dict.fromkeys(COUNTED, 0)
        self.since = (time.monotonic(), time.process_time())  # wall and CPU clock at the last log line
        # trl treats rows with these names as tokenised and leaves them unchanged.
        rows = Dataset.from_dict({
            "chosen_ids": [example.tokens[0].ids for example in examples],
            "rejected_ids": [example.tokens[1].ids for example in examples],
            "number": list(range(len(examples))),
        })  # fmt: skip
        super().__init__(
            model=model, args=config, train_dataset=rows, processing_class=tokenizer, data_collator=self._numbered,
            callbacks=[_ProgressCallback(self, bar), *callbacks],
        )  # fmt: skip
        self.remove_callback(PrinterCallback)

    def _numbered(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"examples": [self._examples[row["number"]] for row in rows]}

    def compute_loss(
        self, model: Any, inputs: Mapping[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        losses = []
        for example in inputs["examples"]:
            # We bypass the trainer's wrapped forward, so mixed precision has to be turned on here.
            with torch.autocast("cuda", torch.bfloat16) if self.args.bf16 else contextlib.nullcontext():
                scores = [position_scores(model, tokens) for tokens in example.tokens]
            compared = preference_loss(scores, example.progress, self._recipe.loss, self._recipe.centring)
            losses.append(compared.loss)
            self.counts["tokens"] += sum(len(tokens.ids) for tokens in example.tokens)
            self.counts["truncated"] += sum(tokens.truncated for tokens in example.tokens)
            self.counts["comparisons"] += compared.of
            self._metrics["train"]["accuracy"].append(compared.right / max(compared.of, 1))
        return torch.stack(losses).mean()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        clocks = time.monotonic(), time.process_time()
        self.counts["seconds"] += clocks[0] - self.since[0]
        self.counts["cpu_seconds"] += clocks[1] - self.since[1]
        self.since = clocks
        logs |= {name: round(value, 3) for name, value in self.counts.items()}
        super().log(logs, start_time)

    def create_model_card(self, *args: Any, **options: Any) -> None:
        """Disable trl's card, written next to every checkpoint; ours comes with the adapter."""


class _ProgressCallback(TrainerCallback):
    """Restores the counts from the last log line of a resumed training, and updates the progress bar."""

    def __init__(self, trainer: PrefixTrainer, bar: Bar) -> None:
        self._trainer, self._bar = trainer, bar

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        lines = [line for line in state.log_history if "tokens" in line]
        if lines:
            self._trainer.counts = {name: lines[-1][name] for name in COUNTED}
        self._began, self._tokens = time.monotonic(), self._trainer.counts["tokens"]
        self._trainer.since = (self._began, time.process_time())

    def on_log(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        logs: Mapping[str, float] = others["logs"]
        if "loss" in logs:
            recent = [line for line in state.log_history[-10:] if "loss" in line]
            loss, right = (sum(line[name] for line in recent) / len(recent) for name in ("loss", "accuracy"))
            pace = (logs["tokens"] - self._tokens) / max(time.monotonic() - self._began, 1e-6)
            self._bar.remark = f"loss {loss:.3f} · accuracy {right:.2f} · {pace:,.0f} tokens/s"
            self._bar.update(state.global_step - self._bar.done)
