"""Confinement of a program: Landlock for files, and a filter of system calls (seccomp) for everything else.

Landlock lets a program open only the files that it is granted, and needs no privileges, packages or namespaces; see
https://docs.kernel.org/userspace-api/landlock.html. The filter allows the calls in system_calls.csv and refuses all
others. It covers what Landlock leaves open: modes, owners, times and attributes of files, targets of links, sockets,
and other processes of the same user.

A program may end itself by any signal but SIGKILL: if it tries, the filter ends it with SIGSYS, so that a SIGKILL is
known to come from outside (see `lab.sandbox.watching`). For the same reason it may not create a timer that sends one,
or set a limit of processor time at which the kernel does.

All disk space of a program must be visible (`watching.holds_too_much`): its threads share one table of open files, and
it cannot create a file that never had a name, or reserve space for a file.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from lab.sandbox.program import SandboxUnavailable

# Numbers of <linux/landlock.h>, the same on every architecture.
CREATE_RULESET, ADD_RULE = 444, 445
ASK_VERSION, PATH_BENEATH = 1, 1
WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 1, 1 << 2, 1 << 3
REMOVE_FOLDER, REMOVE_FILE, MAKE_FOLDER, MAKE_FILE, MAKE_LINK = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
MOVE, TRUNCATE = 1 << 13, 1 << 14
READ = READ_FILE | READ_FOLDER
ALL_WITHIN = READ | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_FOLDER | MAKE_FILE | MAKE_LINK | MOVE | TRUNCATE
OF_FILES = READ_FILE | WRITE_FILE | TRUNCATE
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many rights a version knows; 16 from version 5 on
NULL = Path("/dev/null")

_libc = ctypes.CDLL(None, use_errno=True)


@cache
def version() -> int:
    """The kernel's Landlock version; 0 without Landlock (before Linux 5.13, or switched off) or without Linux."""
    if sys.platform != "linux":
        return 0
    return max(0, _libc.syscall(*map(ctypes.c_long, (CREATE_RULESET, 0, 0, ASK_VERSION))))


@contextlib.contextmanager
def ruleset(folder: Path, readable: Iterable[Path]) -> Iterator[int]:
    """A descriptor of Landlock rules: all rights within `folder`, reading of `readable`, and nothing else.

    From version 4 on they also refuse TCP, from 6 on signals and abstract sockets, which the filter refuses anyway.
    Raises OSError if a path does not exist or the kernel is short of memory.
    """
    handled = (1 << FILE_RIGHTS.get(version(), 16)) - 1
    attributes = struct.pack("=QQQ", handled, 3 if version() >= 4 else 0, 3 if version() >= 6 else 0)
    rules = _call(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        _grant(rules, folder, ALL_WITHIN & handled)
        _grant(rules, NULL, READ_FILE | WRITE_FILE)
        for path in readable:
            _grant(rules, path, READ)
        yield rules
    finally:
        os.close(rules)


def _grant(rules: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights &= -1 if path.is_dir() else OF_FILES
        _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes) -> int:
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    answer: int = _libc.syscall(ctypes.c_long(number), *values)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock's rules cannot be made: {os.strerror(ctypes.get_errno())}")
    return answer


Step = tuple[int, int, int, int]  # struct sock_filter: code, steps to skip if true, if false, operand

OWN_PID = 0x7E57_0901  # placeholder in the filter for the program's own process id, which is known only after its start
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; an argument's low half comes first
ALLOW, KILL = (RETURN, 0, 0, 0x7FFF_0000), (RETURN, 0, 0, 0x8000_0000)
REFUSE, NO_SUCH_CALL, NOT_SUPPORTED = ((RETURN, 0, 0, 0x0005_0000 | errno) for errno in (1, 38, 95))
ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}  # by audit number
# Calls from this number on, of Linux 5.1 or later, are answered as by an older kernel: the C library then uses an older
# call whose flags the filter can read (clone for clone3, openat for openat2). On x86-64 every call has a second number,
# from 2**30 on.
FIRST_NEW_CALL = 424
CLONE_THREAD, CLONE_FILES = 0x10000, 0x400
O_TMPFILE, O_TRUNC, O_ACCMODE = 0o20000000, 0o1000, 0o3
AF_UNIX = 1  # other families make the kernel load modules
# TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, which query a terminal or a pipe. Others could
# change flags and versions even of a file that is open for reading only.
ASKING = (0x5401, 0x802C_542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# F_DUPFD to F_SETLKW, and F_DUPFD_CLOEXEC. Others signal other processes, watch a file, or enlarge a pipe.
FILE_COMMANDS = (*range(8), 1030)
# PR_SET_NAME, PR_GET_NAME and PR_SET_VMA, which name threads and memory. Others would let the program outlive its
# parent, or keep us from looking at it.
NAMING = (15, 16, 0x53564D41)


def numbers(machine: str) -> dict[str, int]:
    """Allowed call -> its number on this architecture, from system_calls.csv; some exist on one alone."""
    with open(Path(__file__).with_name("system_calls.csv"), encoding="utf-8", newline="") as table:
        return {row["call"]: int(row[machine]) for row in csv.DictReader(table) if row[machine]}


@cache
def program_filter(machine: str = "") -> bytes:
    """The filter's instructions, as struct sock_filter, for this or another machine's architecture.

    Raises SandboxUnavailable for an architecture that has no table.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise SandboxUnavailable(f"no table of system calls for {machine}; there is one for {', '.join(ARCHITECTURES)}")
    steps = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, ARCHITECTURES[machine]), KILL, (LOAD, 0, 0, NUMBER)]
    decisions = _by_argument()
    for name, number in numbers(machine).items():
        decision = decisions.get(name, [ALLOW])
        steps += [(EQUAL, 0, len(decision), number), *decision]
    steps += [(AT_LEAST, 0, 1, FIRST_NEW_CALL), NO_SUCH_CALL, REFUSE]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _by_argument() -> dict[str, list[Step]]:
    """Call -> the filter steps that decide on it; they end in a verdict."""
    return {
        "open": _opened(1),
        "openat": _opened(2),
        "fallocate": [NOT_SUPPORTED],
        "clone": [_load(0), (ANY_BIT, 0, 1, CLONE_THREAD), (ANY_BIT, 1, 0, CLONE_FILES), REFUSE, ALLOW],
        "kill": _to_itself(1),
        "tkill": _to_itself(1),
        "tgkill": _to_itself(2),
        # It may read its own limits (process 0 is itself), but not set them.
        "prlimit64": [_load(0), (EQUAL, 2, 0, OWN_PID), (EQUAL, 1, 0, 0), REFUSE, *_without_pointer(2)],
        "prctl": _among(0, NAMING),
        "ioctl": _among(1, ASKING),
        "fcntl": _among(1, FILE_COMMANDS),
        "socketpair": _among(0, [AF_UNIX]),
        "sendto": _without_pointer(4),  # without an address: how a socket pair writes
    }


def _opened(flags: int) -> list[Step]:
    """The steps for opening a file. A file without a name is "not supported": Python's tempfile then makes a named one.

    They refuse to truncate a file without the right to write it, which Landlock did not check before Linux 6.2. That
    includes access mode 3, which means neither reading nor writing. flags: position of the argument, from 0.
    """
    truncation = [(AND, 0, 0, O_TRUNC | O_ACCMODE), (EQUAL, 1, 0, O_TRUNC), (EQUAL, 0, 1, O_TRUNC | 3), REFUSE]
    return [_load(flags), (ANY_BIT, 0, 1, O_TMPFILE), NOT_SUPPORTED, *truncation, ALLOW]


def _to_itself(number: int) -> list[Step]:
    """The steps for signals: a program may signal itself only. number: position of the signal argument, from 0.

    SIGKILL ends it with SIGSYS. SIGCONT is refused: with it, a program could continue while `watching` inspects it.
    """
    itself = [_load(0), (EQUAL, 1, 0, OWN_PID), REFUSE]
    return [*itself, _load(number), (EQUAL, 0, 1, signal.SIGKILL), KILL, (EQUAL, 0, 1, signal.SIGCONT), REFUSE, ALLOW]


def _without_pointer(argument: int) -> list[Step]:
    high_half = (LOAD, 0, 0, ARGUMENTS + 8 * argument + 4)
    return [_load(argument), (EQUAL, 0, 2, 0), high_half, (EQUAL, 1, 0, 0), REFUSE, ALLOW]


def _among(argument: int, values: Sequence[int]) -> list[Step]:
    return [_load(argument), *(step for value in values for step in ((EQUAL, 0, 1, value), ALLOW)), REFUSE]


def _load(argument: int) -> Step:
    return LOAD, 0, 0, ARGUMENTS + 8 * argument
