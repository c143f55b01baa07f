"""Exceptions for faults of the machine or a server, never of the agent: some stop a run, others are worth a retry.

`lab.results.outcomes` defines the outcome of an episode that meets one.
"""

from __future__ import annotations


class Unavailable(RuntimeError):
    """The backend cannot answer any request: wrong key, exhausted quota, no server.

    Stops the run, which resumes where it stopped; no episode is marked as failed.
    """


class BackendDied(RuntimeError):
    """A process of one episode died (a JVM, a worker, a sandbox); playing the episode again may succeed."""


class DamagedFile(Unavailable, ValueError):
    """A file that the suite wrote is torn, edited or unreadable. The message names the file, the line and the fix.

    Never the agent's failure, hence an Unavailable. Other files are intact, and are still used.
    """


class MissingData(FileNotFoundError):
    """Data that a step needs is missing; the message says where it was looked for and how to get it."""


class DamagedData(MissingData):
    """Data that a step needs is incomplete or changed; the message names the files."""
