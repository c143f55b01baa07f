"""What the benchmark looks like, as tidy tables: counts, lengths, rewards, and single trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lab.results.exports import readable
from lab.results.text import shortened
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.schema import Kind, Pair

if TYPE_CHECKING:
    import pandas as pd

Pairs = Mapping[str, Sequence[Pair]]


def counts(pairs: Pairs) -> pd.DataFrame:
    """The paper's Table 3: a row a domain with its pairs, here and published, and its native reward and tasks.

    The counts are the builder's own constants (`Domain.sizes`).
    """
    import pandas as pd

    return pd.DataFrame({
        "domain": title(name), "pairs": len(members), "published": BY_NAME[name].sizes["official"],
        "native_reward": BY_NAME[name].native_reward, "tasks": BY_NAME[name].tasks,
        "positives": ", ".join(sorted({pair.positive.source for pair in members})),
        "data": ", ".join(sorted({pair.positive.data for pair in members})),
    } for name, members in pairs.items())  # fmt: skip


def lengths(pairs: Pairs) -> pd.DataFrame:
    """Steps a trajectory: a row a domain and kind with mean, median, min and max; `expert` counts expert steps."""
    table = rewards(pairs).groupby(["domain", "kind", "id"], sort=False)["is_expert"].agg(["size", "sum"])
    kinds = table.groupby(["domain", "kind"], sort=False)
    steps = kinds["size"].agg(["count", "mean", "median", "min", "max"]).rename(columns={"count": "trajectories"})
    return steps.astype({"min": float, "max": float}).assign(expert=kinds["sum"].mean()).reset_index()


def rewards(pairs: Pairs) -> pd.DataFrame:
    """A row a step: domain, kind, id, step (from 0), part (of the trajectory, in (0, 1]), raw, shaped, is_expert."""
    import pandas as pd

    return pd.DataFrame(
        {"domain": title(name), "kind": row.kind, "id": row.id, "step": number,
         "part": (number + 1) / len(row.trajectory), "raw": step.reward.raw, "shaped": step.reward.shaped,
         "is_expert": step.reward.is_expert}
        for name, members in pairs.items()
        for pair in members
        for row in pair.rows
        for number, step in enumerate(row.trajectory)
    )  # fmt: skip


def sample_table(pair: Pair, kind: Kind = "positive", width: int = 110) -> pd.DataFrame:
    """One trajectory as the paper prints it (Tables 4-5, 18-33): Step, Action, Observation, GT.

    width: characters of an observation that are shown; white space is put on one line, and the goal left out, which
    WebShop repeats on every page.
    """
    row = pair.positive if kind == "positive" else pair.negative
    texts = [shortened(text.replace(row.goal_description or "\0", "…"), width) for text in row.observations]
    rows = [
        (number, step.action, text, round(step.reward.shaped, 2))
        for number, (step, text) in enumerate(zip(row.trajectory, texts, strict=True))
    ]
    return readable(rows, columns=["Step", "Action", "Observation", "GT"])


def title(domain: str) -> str:
    """A domain's name as the paper writes it."""
    return BY_NAME[domain].title
