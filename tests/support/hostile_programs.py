"""The programs of hostile_programs.yaml, which try to get out of a sandbox or to wear the machine out.

An attempt prints BROKE OUT when it came through and HELD when it was refused, so that a program that does neither fails
its test too. `facts` names what there is to reach: files with a secret, listening sockets, a process of the same user.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

# The system calls that they make: name = its number on x86_64, on aarch64.
CALLS = """
bpf=321,280 capget=125,90 capset=126,91 clone=56,220 clone3=435,435 close_range=436,436 fallocate=285,47
file_getattr=468,468 inotify_init1=294,26 io_uring_setup=425,425 keyctl=250,219 kill=62,129
landlock_add_rule=445,445 landlock_create_ruleset=444,444 membarrier=324,283 mount=165,40 open_by_handle_at=304,265
open_tree=428,428 perf_event_open=298,241 personality=135,92 prctl=157,167 process_vm_readv=310,270
process_vm_writev=311,271 ptrace=101,117 readlinkat=267,78 reboot=169,142 rt_sigqueueinfo=129,138 seccomp=317,277
sethostname=170,161 setns=308,268 shmget=29,194 sync=162,81 syncfs=306,267 timer_create=222,107 unshare=272,97
userfaultfd=323,282
"""
PRELUDE = """
import ctypes, os, sys, time
facts = {facts!r}

def attempt(act, *arguments):
    try:
        got = act(*arguments)
    except (OSError, MemoryError, ImportError, ValueError, RuntimeError) as error:
        print("HELD", type(error).__name__, error, flush=True)
    else:
        print("BROKE OUT", str(got)[:2000], flush=True)

def read(path):
    with open(path, "rb") as file:
        return file.read(100_000)

def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    answer = libc.syscall(ctypes.c_long(facts["calls"].get(name, name)), *values)
    if answer < 0:
        raise OSError(ctypes.get_errno(), str(name))
    return answer
"""


@dataclass(frozen=True)
class Hostile:
    """what: a sentence. ends: how it may end. tame: may run without a sandbox, and then gets through."""

    what: str
    code: str

    @property
    def ends(self) -> tuple[str, ...]:
        stated = re.search(r"# (?:tame, )?ends: ([a-z ]+)", self.code)
        return tuple(stated[1].split()) if stated else ("exit",)

    @property
    def tame(self) -> bool:
        return "# tame" in self.code


GROUPS = {
    group: [Hostile(what, code) for what, code in programs.items()]
    for group, programs in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()).items()
}
BOMBS, OTHER_CALLS = GROUPS["BOMBS"], GROUPS["OTHER_CALLS"]  # the latter: on x86-64 only
# By the first kernel with Landlock.
OF_LANDLOCK = [program for group in ("FILES", "WRITES", "NETWORK", "OTHER_PROCESSES") for program in GROUPS[group]]
ATTEMPTS = [p for group, programs in GROUPS.items() if group not in ("BOMBS", "OTHER_CALLS") for p in programs]
