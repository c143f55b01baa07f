"""Landlock: the kernel lets a program open only the files that it is granted.

See https://docs.kernel.org/userspace-api/landlock.html. It needs no rights, packages or namespaces, and has no say over
what a program can ask or change without opening a file; `system_calls` refuses that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

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
    """The kernel's version of Landlock; 0 if it has none (before Linux 5.13, or switched off) or is not Linux."""
    if sys.platform != "linux":
        return 0
    return max(0, _libc.syscall(*map(ctypes.c_long, (CREATE_RULESET, 0, 0, ASK_VERSION))))


@contextlib.contextmanager
def ruleset(folder: Path, readable: Iterable[Path]) -> Iterator[int]:
    """A descriptor of rules that grant all within the folder, reading the other paths, and nothing else.

    From version 4 on they also refuse TCP, from 6 on signals and abstract sockets, which `system_calls` refuses anyway.
    Raises OSError if a path is gone or the kernel is short of memory.
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
