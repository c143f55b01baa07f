"""What a sandbox raises: faults of the machine, never of the program."""

from __future__ import annotations

from lab.machine.faults import BackendDied, Unavailable


class SandboxUnavailable(Unavailable):
    """No backend holds on this machine; the message names each, why it was refused, and what to install.

    It is no episode's failure: a run stops at it.
    """


class SandboxFailed(BackendDied):
    """The machine kept a program from running or from ending: its working folder was removed, its process or the
    sandbox's was killed from outside, or its interpreter did not start. It is no result of the program.

    The harness plays such an episode once more, so no program may be able to cause this; `lab.sandbox.watching` says
    how it is told apart.
    """


class BackendRefused(RuntimeError):
    """Why one backend cannot be used here."""
