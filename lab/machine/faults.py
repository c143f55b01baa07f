"""Exceptions for faults of the machine, never an agent's: those that stop a run, and those worth a retry.

`lab.results.outcomes` says what becomes of an episode that meets one.
"""

from __future__ import annotations


class Unavailable(RuntimeError):
    """The backend cannot answer any request: wrong key, exhausted quota, no server.

    Stops the run, which resumes where it stopped; no episode is marked as failed.
    """


class BackendDied(RuntimeError):
    """Something behind one episode died (a JVM, a worker, a sandbox); playing the episode again may well succeed."""


class DamagedFile(Unavailable, ValueError):
    """A file of the suite's own is not what was written: torn, edited, or not to be read. Names it, the line, the fix.

    Never an agent's failure, hence an Unavailable; what else is there is whole, and still used.
    """


class MissingData(FileNotFoundError):
    """Data that a step needs is not there; the message says where it was looked for and how to get it."""


class DamagedData(MissingData):
    """Data that a step needs is there only in part, or is not what it should be; the message names the files."""
