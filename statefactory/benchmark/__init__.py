"""RewardPrediction, the benchmark of Shen et al. 2026 (§2, Appendix A), rebuilt from its environments.

`build` generates a domain's pairs of a positive and a negative trajectory and stores them as JSONL and Parquet.
`read_pairs` reads these files, `read_published` the authors' own data. `statefactory.benchmark.labels` says which parts
of the recipe are known and which were fitted. From the shell: python -m statefactory.benchmark build
"""

from __future__ import annotations

from statefactory.benchmark.build import Built, build, build_all, data_of, sample
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
    "sample",
    "write_rows",
]
