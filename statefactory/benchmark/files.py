"""The benchmark's files: one JSONL and one Parquet file a domain, with the same rows in the same order.

Both load with `datasets.load_dataset("json" or "parquet", data_files=...)`. The same rows give the same bytes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lab.machine.faults import MissingData
from lab.machine.files import write_atomically
from lab.machine.reading import damaged
from statefactory.benchmark.schema import Pair, Row, pairs_of, read_row

FORMATS = ("jsonl", "parquet")


def write_rows(folder: Path, domain: str, rows: Iterable[Row]) -> tuple[Path, Path]:
    """Write `<domain>.jsonl` and `<domain>.parquet`, sorted by id, each whole or not at all."""
    records = [row.to_json() for row in sorted(rows, key=lambda row: row.id)]
    jsonl, parquet = (folder / f"{domain}.{name}" for name in FORMATS)
    write_atomically(jsonl, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode())
    write_atomically(parquet, _as_parquet(records))
    return jsonl, parquet


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. Raises MissingData, DamagedFile, or ValueError naming the file and row."""
    if not path.exists():
        raise MissingData(f"{path} is not there; build it with: python -m statefactory.benchmark build")
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            records = pq.read_table(path).to_pylist()
        else:
            # Not splitlines: it also breaks at U+2028 and its like, which stand unescaped in texts.
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    except (OSError, ValueError) as error:  # pyarrow's are both
        raise damaged(path, error, "Delete it, and build it: python -m statefactory.benchmark build") from None
    return [read_row(record, f"{path.name}, row {number}") for number, record in enumerate(records, 1)]


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file, sorted by task."""
    return pairs_of(read_rows(path))


def _as_parquet(records: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    reward = pa.struct([("raw", pa.float64()), ("shaped", pa.float64()), ("is_expert", pa.bool_())])
    step = pa.struct([("action", pa.string()), ("observation", pa.string()), ("reward", reward)])
    texts = ("id", "domain", "task", "kind", "source", "data")
    schema = pa.schema(
        [(name, pa.string()) for name in texts]
        + [("seed", pa.int64()), ("initial_observation", pa.string()), ("goal_description", pa.string())]
        + [("trajectory", pa.list_(step))]
    )
    buffer = io.BytesIO()
    # Arrow alone, with the types spelt out: a table from pandas carries versions in it, and guesses types from values.
    pq.write_table(pa.Table.from_pylist(list(records), schema=schema), buffer, compression="zstd")
    return buffer.getvalue()
