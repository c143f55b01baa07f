"""SQLite cache of model answers: JSON under a hash of the whole request, safe for many threads and processes.

Answers are cached, so an interrupted run resumes where it stopped, and no answer is paid for twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.paths import answer_cache
from lab.models.single_flight import single_flight

_inherited: list[sqlite3.Connection] = []  # a parent's connections, kept from the garbage collector, which closes them
BUSY_SECONDS = 60.0  # how long a writer waits for another process's write before it gives up


class CacheUnusable(Unavailable):
    """The cache file cannot be opened or read. Stops the run before an answer is paid for that could not be kept."""


def default_path() -> Path:
    """The cache file: `LAB_CACHE`, else `data/cache/answers.sqlite` in the repository."""
    return answer_cache()


def canonical(value: Any) -> str:
    """Canonical JSON of a value: the same text whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key_of(request: Any) -> str:
    """sha256 of a request's canonical JSON, as hex."""
    # A lone surrogate, from a badly decoded file, is no UTF-8; a key is to be had of such fields too.
    return hashlib.sha256(canonical(request).encode("utf-8", "surrogatepass")).hexdigest()


class Database:
    """An SQLite file of one table for many threads and processes. One connection a thread; a fork opens its own."""

    SCHEMA: str

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._local = threading.local()

    def close(self) -> None:
        """Close this thread's connection."""
        if getattr(self._local, "connection", None) is not None:
            self._local.connection.close()
            self._local.connection = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}  # connections cannot be pickled: a worker process opens its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        Database.__init__(self, state["path"])

    def _connection(self) -> sqlite3.Connection:
        # SQLite forbids connections across a fork, where even closing one can harm the file: a child keeps it, unused.
        if getattr(self._local, "connection", None) is not None and self._local.pid != os.getpid():
            _inherited.append(self._local.connection)
            self._local.connection = None
        if getattr(self._local, "connection", None) is None:
            self._local.connection = self._open()
            self._local.pid = os.getpid()
        return self._local.connection

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return _prepared(self.path, self.SCHEMA)
            except sqlite3.OperationalError as error:
                # SQLite does not itself wait where two processes switch a new file to WAL at once.
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)


class AnswerCache(Database):
    """Request hash -> JSON value.

    A failed read raises CacheUnusable; a failed write is reported in the progress line, and the caller has its answer.
    """

    SCHEMA = """CREATE TABLE IF NOT EXISTS answers
        (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID"""

    def __init__(self, path: Path | str | None = None) -> None:
        super().__init__(path if path is not None else default_path())

    def get(self, key: str) -> Any | None:
        """The value under `key`, or None. Each call gives a fresh object, so that nobody can alter the cached one."""
        try:
            row = self._connection().execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(
                f"The cache {self.path} cannot be used: {error}. Mend that (where there is no room, free some; where "
                "the file is no database, delete it), or set LAB_CACHE to another file"
            ) from error
        return None if row is None else json.loads(row[0])

    @contextmanager
    def single_flight(self, key: str, seconds: float) -> Iterator[Any | None]:
        """After a miss of `get`: yield the value if it is there by now, else None to the one caller that is to ask.

        Of all threads and processes one gets None; the others wait here for its answer, at most `seconds`. If it
        leaves without one, the next caller gets None.
        """
        locks = self.path.with_name(f"{self.path.name}.locks")
        with single_flight(locks, key, lambda: self.get(key), seconds) as value:
            yield value

    def put(self, key: str, value: Any) -> Any:
        """Insert `value` unless `key` is there, and return what is there now.

        The first value stays, so that concurrent identical requests see one answer. A write that fails, on a full disk
        say, raises nothing: the caller's answer is paid for, and worth more than its copy here.
        """
        row = (key, json.dumps(value), time.time())
        try:
            self._connection().execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", row)
        except (sqlite3.Error, OSError) as error:
            progress.say(f"an answer could not be kept in {self.path}: {error}; it goes on without")
            return value
        return self.get(key)

    def __len__(self) -> int:
        return int(self._connection().execute("SELECT COUNT(*) FROM answers").fetchone()[0])


def _prepared(path: Path, schema: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)  # None: each statement commits
    connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait while another process writes
    # An answer lost with the machine's power is asked again; a commit need not wait for the disk.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(schema)
    return connection
