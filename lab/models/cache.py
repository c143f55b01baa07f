"""SQLite cache of model answers: JSON under a hash of the whole request, safe for many threads and processes.

Answers are cached, so an interrupted run resumes where it stopped, and no answer is paid for twice. Each row has a
checksum; a row that fails it is a miss, and is counted for the run's summary.

Single-flight: concurrent identical requests are sent once. The first caller locks a file named by the request's key;
the others wait for its answer. The kernel releases the lock when its process dies, so locks need no expiry. The next
caller takes over a file that is left behind, and removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.paths import answer_cache
from lab.machine.reading import checksum

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Any] = []  # a parent's connections, kept from the garbage collector, which closes them
_damaged: dict[Path, list[str]] = {}  # file -> keys of its rows that failed their checksum, in this process
FIRST_NAP, LONGEST_NAP = 0.002, 0.05  # seconds between two tries to get a lock that another process holds
SILENT = 2.0  # seconds of waiting before the progress line reports it
BUSY_SECONDS = 60.0  # how long a writer waits for another process's write before it gives up
REMEDIES = {  # keys: SQLite's names of errors
    "NOTADB CORRUPT FORMAT": "delete it (to save the intact rows: sqlite3 FILE .recover)",
    "BUSY LOCKED PROTOCOL": "end the process that holds it, such as a viewer of databases",
    "CANTOPEN READONLY PERM AUTH": "make it a file that you may write, in a folder that you may write to",
    "FULL IOERR": "free some space",
    "ERROR": "delete it, if it is no other program's",
}
RECORDING = "LAB_RECORDING"  # environment variable: `lab record` sets it to the recording's name


def _forget() -> None:
    """Reset databases in a forked child: SQLite forbids inherited connections; even closing one can harm the file."""
    for database in list(_databases):
        _inherited.append(database._shared)
        Database.__init__(database, database.path)


os.register_at_fork(after_in_child=_forget)


class Database:
    """An SQLite file with one table, for many threads and processes. Each process opens its own connection."""

    SCHEMA: str

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        # One for all threads: a connection takes three file descriptors, and a process may have only 256.
        self._shared: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        _databases.add(self)

    def close(self) -> None:
        """Close this process's connection; the next use opens another."""
        with self._lock:
            if self._shared is not None:
                self._shared.close()
                self._shared = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}  # connections cannot be pickled: a worker process opens its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        Database.__init__(self, state["path"])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The connection, locked for this thread. Raises sqlite3.Error and OSError if it cannot be opened."""
        with self._lock:
            if self._shared is None:
                self._shared = self._open()
            yield self._shared

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement and return all its rows."""
        with self._connection() as connection:
            return connection.execute(statement, values).fetchall()

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return _prepared(self.path, self.SCHEMA)
            except sqlite3.OperationalError as error:
                # SQLite itself does not wait when two processes switch a new file to WAL at the same time.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _unusable(self, error: sqlite3.Error | OSError) -> Unavailable:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        remedy = next((remedy for names, remedy in REMEDIES.items() if name in names.split()), "mend that")
        return Unavailable(
            f"The cache {self.path} cannot be used: {error}. To go on, {remedy}; or set LAB_CACHE to a file in another "
            "folder"
        )

    def _not_kept(self, what: str, error: sqlite3.Error | OSError) -> None:
        progress.say_once(f"{what} could not be kept in {self.path}: {error}; it goes on without")


class AnswerCache(Database):
    """Request hash -> JSON value.

    A failed read raises Unavailable. A failed write is reported once, and the answer is returned all the same.
    """

    SCHEMA = """CREATE TABLE IF NOT EXISTS answers
        (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL, checksum INTEGER) WITHOUT ROWID"""

    def __init__(self, path: Path | str | None = None) -> None:
        super().__init__(path if path is not None else answer_cache())

    def get(self, key: str) -> Any | None:
        """The value under `key`, or None. Each call returns a fresh object, so callers cannot alter the cached one."""
        try:
            query = "SELECT CAST(value AS BLOB), checksum FROM answers WHERE key = ?"
            row = next(iter(self._rows(query, key)), None)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error
        if row is None:
            return None
        if row[1] != checksum(key.encode(), row[0]):
            note_damaged(self.path, [key])
            with suppress(sqlite3.Error):  # so that the new answer can be inserted
                self._rows("DELETE FROM answers WHERE key = ? AND CAST(value AS BLOB) = ?", key, row[0])
            return None
        return json.loads(row[0])

    @contextmanager
    def single_flight(self, key: str, seconds: float) -> Iterator[Any | None]:
        """Yield the cached value, or None to the one caller that has to send the request.

        Among all threads and processes one caller gets None; the others wait here for its answer, at most `seconds`.
        If it leaves without an answer, the next caller gets None.
        """
        if (value := self.get(key)) is not None:
            yield value
            return
        path = self.path.with_name(f"{self.path.name}.asking") / key
        lock, value = self._turn(path, key, time.monotonic() + seconds)
        try:
            yield value
        finally:
            if lock >= 0:
                with suppress(OSError):
                    os.unlink(path)
                fcntl.flock(lock, fcntl.LOCK_UN)  # explicitly: a process forked meanwhile shares the descriptor
                os.close(lock)

    def _turn(self, path: Path, key: str, deadline: float) -> tuple[int, Any | None]:
        """Wait for the lock or the answer. Returns (descriptor, or -1 without the lock; answer, or None).

        After the deadline it returns with neither, since a stopped process (SIGSTOP) would hold the lock for ever.
        """
        nap, began, reported = FIRST_NAP, time.monotonic(), False
        try:
            while (lock := _lock(path)) is None and time.monotonic() < deadline:
                if (value := self.get(key)) is not None:
                    return -1, value
                if not reported and time.monotonic() - began > SILENT:
                    progress.waits("another asks the same", "waiting for another that asks the same")
                    reported = True
                time.sleep(nap)
                nap = min(nap * 1.5, LONGEST_NAP)
            return -1 if lock is None else lock, self.get(key)
        finally:
            if reported:
                progress.waits("")

    def put(self, key: str, value: Any) -> Any:
        """Insert `value` unless `key` exists; return the stored value.

        The first value stays, so that concurrent identical requests see one answer. A failed write, such as on a full
        disk, raises nothing: the caller's answer is paid for, and worth more than its cached copy.
        """
        text = json.dumps(value)
        row = (key, text, time.time(), checksum(key.encode(), text.encode()))
        try:
            self._rows("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", *row)
        except (sqlite3.Error, OSError) as error:
            self._not_kept("an answer", error)
            return value
        stored = self.get(key)
        return value if stored is None else stored

    def __len__(self) -> int:
        return int(self._rows("SELECT COUNT(*) FROM answers")[0][0])


def note_damaged(path: Path, keys: list[str]) -> None:
    """Note keys of rows that failed their checksum, for `tell_damaged`."""
    if keys:
        _damaged.setdefault(path, []).extend(keys)


def tell_damaged() -> None:
    """Report cache rows that failed their checksum since the last report: part of a run's summary."""
    for path, keys in list(_damaged.items()):
        del _damaged[path]
        examples = ", ".join(f"{key[:12]}…" for key in keys[:3]) + (", …" if len(keys) > 3 else "")
        progress.say(
            f"{len(keys)} damaged rows of the cache {path} ({examples}) were treated as cache misses and asked again"
        )


def _prepared(path: Path, schema: str) -> sqlite3.Connection:
    # isolation_level None: each statement commits. Threads take turns (`Database._connection`).
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait while another process writes
    # Commits need not wait for the disk: an answer lost in a power failure is asked again.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(schema)
    return connection


def _lock(path: Path) -> int | None:
    """Try to lock a file. Returns a descriptor that holds the lock, or None if another process or thread has it.

    Returns -1 if locking fails, as on a full disk or in some network folders: asking twice is better than not asking.
    """
    descriptor = -1
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
            return descriptor
        taken = True
    except OSError as error:  # not found: its holder has just removed it
        taken = isinstance(error, BlockingIOError | FileNotFoundError)
    if descriptor >= 0:
        os.close(descriptor)
    return None if taken else -1
