"""RewardPrediction, the benchmark of Shen et al. 2026 (§2, Appendix A), rebuilt from its environments.

`build` makes a domain's pairs of a positive and a negative trajectory and keeps them as JSONL and Parquet;
`read_pairs` reads such a file, `read_published` the authors' own data. What is known of the recipe and what was fitted
stands in `statefactory.benchmark.labels`. From the shell: python -m statefactory.benchmark build
"""

from __future__ import annotations

from statefactory.benchmark.build import Built, build, build_all, data_of
from statefactory.benchmark.published import read_published
from statefactory.benchmark.schema import DOMAINS, Pair, Reward, Row, StepRecord, read_pairs, read_rows, write_rows

__all__ = [
    "DOMAINS",
    "Built",
    "Pair",
    "Reward",
    "Row",
    "StepRecord",
    "build",
    "build_all",
    "data_of",
    "read_pairs",
    "read_published",
    "read_rows",
    "write_rows",
]
