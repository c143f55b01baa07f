"""A seccomp filter that every program gets, whatever the backend: the calls that no solver needs are refused.

It also covers what a backend leaves open: Landlock has no say over chmod, chown, utime, extended attributes and what a
link says, and a program of the same user may change its parent's limits and priority.

A program may end itself by any signal but SIGKILL: the filter ends one that tries with SIGSYS, so that a SIGKILL is
known to have come from outside (see `lab.sandbox.watching`). For that it also may not make a timer that sends one,
change the limit of processor time at which the kernel does, or exit with the status by which bubblewrap tells of one.

Where the disk is only looked at (`lab.sandbox.disk`), what a program holds must be there to see: its threads share one
table of open files, and there is no way to hold a file that has never had a name, or to reserve room for one.
"""

from __future__ import annotations

import platform
import signal
import struct
from collections.abc import Iterator, Sequence
from functools import cache

from lab.sandbox.faults import BackendRefused

OWN_PID = 0x7E57_0901  # stands in the filter for the program's own process number, known only when it has started
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
EPERM, ENOSYS, EOPNOTSUPP = 1, 38, 95
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; the first argument's low half
REQUEST = ARGUMENT + 8  # the second argument of ioctl and fcntl
ADDRESS = ARGUMENT + 4 * 8  # the fifth of sendto
CLONE_THREAD, CLONE_FILES = 0x10000, 0x400
# Column of REFUSED and audit number of the architecture.
ARCHITECTURES = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}
# The newest call that was looked at. Beyond are later ones, and on x86-64 a second number of each (from 2**30 on).
NEWEST = 469
# name = its number on x86_64, on aarch64; "-" where it does not exist
REFUSED = """
# new processes and programs
fork=57,- vfork=58,- execve=59,221 execveat=322,281 setsid=112,157 setpgid=109,154
# other processes
ptrace=101,117 process_vm_readv=310,270 process_vm_writev=311,271 process_madvise=440,440 process_mrelease=448,448
getpgid=121,155 getsid=124,156 capget=125,90 getpriority=140,141 ioprio_get=252,31 sched_getparam=143,121
sched_getscheduler=145,120 sched_getattr=315,275 sched_rr_get_interval=148,127
kcmp=312,272 pidfd_open=434,434 pidfd_getfd=438,438 pidfd_send_signal=424,424 rt_sigqueueinfo=129,138
rt_tgsigqueueinfo=297,240 setpriority=141,140 sched_setscheduler=144,119 sched_setparam=142,118
sched_setattr=314,274 sched_setaffinity=203,122 ioprio_set=251,30 migrate_pages=256,238 move_pages=279,239
mbind=237,235 set_mempolicy=238,237
# namespaces and mounts
setns=308,268 unshare=272,97 chroot=161,51 pivot_root=155,41 mount=165,40 umount2=166,39 move_mount=429,429
open_tree=428,428 open_tree_attr=467,467 fsopen=430,430 fsconfig=431,431 fsmount=432,432 fspick=433,433
mount_setattr=442,442 statmount=457,457 listmount=458,458
# network
socket=41,198 connect=42,203 bind=49,200 listen=50,201 accept=43,202 accept4=288,242 sendmsg=46,211
sendmmsg=307,269 setsockopt=54,208
# identity
setuid=105,146 setgid=106,144 setreuid=113,145 setregid=114,143 setresuid=117,147 setresgid=119,149
setgroups=116,159 setfsuid=122,151 setfsgid=123,152 capset=126,91 personality=135,92
# what Landlock leaves open on files
name_to_handle_at=303,264 open_by_handle_at=304,265 chmod=90,- fchmod=91,52 fchmodat=268,53 fchmodat2=452,452
chown=92,- fchown=93,55 lchown=94,- fchownat=260,54 setxattr=188,5 lsetxattr=189,6 fsetxattr=190,7
file_getattr=468,468 setxattrat=463,463 removexattr=197,14 lremovexattr=198,15 fremovexattr=199,16 removexattrat=466,466
utime=132,- utimes=235,- utimensat=280,88 futimesat=261,- truncate=76,45 file_setattr=469,469 mknod=133,- mknodat=259,33
inotify_init=253,- inotify_init1=294,26 inotify_add_watch=254,27 fanotify_init=300,262 fanotify_mark=301,263
getxattr=191,8 lgetxattr=192,9 fgetxattr=193,10 getxattrat=464,464 listxattr=194,11 llistxattr=195,12
flistxattr=196,13 listxattrat=465,465 readlink=89,- readlinkat=267,78 flock=73,32 mincore=27,232 cachestat=451,451
# a removed file held by something else than a descriptor or a map
landlock_create_ruleset=444,444 landlock_add_rule=445,445 landlock_restrict_self=446,446 remap_file_pages=216,234
# a SIGKILL to itself
timer_create=222,107
# memory and queues beside the limits
memfd_create=319,279 memfd_secret=447,447 shmget=29,194 shmat=30,196 shmctl=31,195 semget=64,190 semop=65,193
semtimedop=220,192 semctl=66,191 msgget=68,186 msgsnd=69,189 msgrcv=70,188 msgctl=71,187 mq_open=240,180
mq_unlink=241,181
# wide doors into the kernel
seccomp=317,277 io_uring_setup=425,425 io_uring_enter=426,426 io_uring_register=427,427 io_setup=206,0 bpf=321,280
perf_event_open=298,241 userfaultfd=323,282 add_key=248,217 request_key=249,218 keyctl=250,219 modify_ldt=154,-
iopl=172,- ioperm=173,-
# the machine
settimeofday=164,170 clock_settime=227,112 adjtimex=159,171 clock_adjtime=305,266 sethostname=170,161
setdomainname=171,162 syslog=103,116 reboot=169,142 swapon=167,224 swapoff=168,225 acct=163,89 quotactl=179,60
quotactl_fd=443,443 init_module=175,105 finit_module=313,273 delete_module=176,106 kexec_load=246,104
kexec_file_load=320,294 vhangup=153,58 sync=162,81 syncfs=306,267 membarrier=324,283
"""
# Refused unless the first argument says that the program means itself; 0 is "myself" to prlimit64.
ON_ITSELF = "kill=62,129 tkill=200,130 tgkill=234,131 prlimit64=302,261"
CLONE, EXIT = "clone=56,220", "exit=60,93 exit_group=231,94"
# Their flags lie in memory, where no filter reads; the C library falls back to clone and openat.
UNKNOWN = "clone3=435,435 openat2=437,437"
# As on a file system that has neither: the C library writes zeros instead, Python's tempfile makes a named file.
FALLOCATE, OPEN, OPENAT, O_TMPFILE = "fallocate=285,47", "open=2,-", "openat=257,56", 0o20000000
CLOSE_RANGE, CLOSE_RANGE_UNSHARE = "close_range=436,436", 2
# Allowed to ioctl: TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, which ask a terminal or a pipe.
# All else is refused: a file that can only be read still takes new flags and versions by it.
IOCTL, ASKED = "ioctl=16,29", (0x5401, 0x802C_542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# Refused to fcntl: F_SETOWN, F_SETSIG and F_SETOWN_EX signal other processes, F_SETLEASE and F_NOTIFY watch a file,
# F_SETPIPE_SZ takes from what all processes of the user have.
FCNTL, SIGNALLING = "fcntl=72,25", (8, 10, 15, 1024, 1026, 1031)
# Allowed to prctl: PR_SET_NAME, PR_GET_NAME and PR_SET_VMA, which name threads and memory. Others would let the program
# outlive its parent, or keep us from looking at it.
PRCTL, NAMING = "prctl=157,167", (15, 16, 0x53564D41)
# RLIMIT_CPU, beyond which the kernel sends SIGKILL, and RLIMIT_CORE, see `first_steps`.
SETRLIMIT, KEPT = "setrlimit=160,164", (0, 4)
# Other families make the kernel load modules, as for their sockets; pairs of this one is what asyncio wakes itself by.
SOCKETPAIR, AF_UNIX = "socketpair=53,199", 1
SENDTO = "sendto=44,206"  # refused with an address; without one it is how the ends of a pair of sockets write


def numbers(table: str, column: int) -> dict[str, int]:
    """Call -> number, for one column of a table above."""
    rows = (entry.split("=") for line in table.splitlines() if not line.startswith("#") for entry in line.split())
    found = {name: cells.split(",")[column] for name, cells in rows}
    return {name: int(number) for name, number in found.items() if number != "-"}


@cache
def program_filter(machine: str = "") -> bytes:
    """The filter's instructions, as struct sock_filter, for this or another machine's architecture."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise BackendRefused(f"no table of system calls for {machine}; there is one for {', '.join(ARCHITECTURES)}")
    return b"".join(struct.pack("=HBBI", *step) for step in _steps(*ARCHITECTURES[machine]))


def _steps(column: int, architecture: int) -> Iterator[tuple[int, int, int, int]]:
    yield from [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), _give(KILL_PROCESS), (LOAD, 0, 0, NUMBER)]
    yield from [(AT_LEAST, 0, 1, NEWEST + 1), _give(ERRNO | ENOSYS)]
    for number in numbers(REFUSED, column).values():
        yield from [(EQUAL, 0, 1, number), _give(ERRNO | EPERM)]
    for number in numbers(UNKNOWN, column).values():
        yield from [(EQUAL, 0, 1, number), _give(ERRNO | ENOSYS)]
    yield from [(EQUAL, 0, 1, numbers(FALLOCATE, column)["fallocate"]), _give(ERRNO | EOPNOTSUPP)]
    for table, place in ((OPEN, 1), (OPENAT, 2)):
        for number in numbers(table, column).values():
            yield from _with_any_bit(number, place, O_TMPFILE, ERRNO | EOPNOTSUPP)
    yield from _with_any_bit(numbers(CLOSE_RANGE, column)["close_range"], 2, CLOSE_RANGE_UNSHARE, ERRNO | EPERM)
    yield from [(EQUAL, 0, 5, numbers(CLONE, column)["clone"]), (LOAD, 0, 0, ARGUMENT)]
    yield from [(ANY_BIT, 0, 2, CLONE_THREAD), (ANY_BIT, 0, 1, CLONE_FILES), _give(ALLOW), _give(ERRNO | EPERM)]
    for number in numbers(EXIT, column).values():
        yield from [(EQUAL, 0, 5, number), (LOAD, 0, 0, ARGUMENT), (AND, 0, 0, 0xFF)]
        yield from [(EQUAL, 0, 1, 128 + signal.SIGKILL), _give(KILL_PROCESS), _give(ALLOW)]
    yield from [(EQUAL, 0, 6, numbers(SENDTO, column)["sendto"]), (LOAD, 0, 0, ADDRESS), (EQUAL, 0, 3, 0)]
    yield from [(LOAD, 0, 0, ADDRESS + 4), (EQUAL, 0, 1, 0), _give(ALLOW), _give(ERRNO | EPERM)]
    yield from _by_argument(0, numbers(PRCTL, column)["prctl"], NAMING, ALLOW, ERRNO | EPERM)
    yield from _by_argument(1, numbers(IOCTL, column)["ioctl"], ASKED, ALLOW, ERRNO | EPERM)
    yield from _by_argument(1, numbers(FCNTL, column)["fcntl"], SIGNALLING, ERRNO | EPERM, ALLOW)
    yield from _by_argument(0, numbers(SETRLIMIT, column)["setrlimit"], KEPT, ERRNO | EPERM, ALLOW)
    yield from _by_argument(0, numbers(SOCKETPAIR, column)["socketpair"], (AF_UNIX,), ALLOW, ERRNO | EPERM)
    for name, number in numbers(ON_ITSELF, column).items():
        steps = _own_limits() if name == "prlimit64" else _own_signals(2 if name == "tgkill" else 1)
        yield from [(EQUAL, 0, len(steps), number), *steps]
    yield _give(ALLOW)


def _own_signals(place: int) -> list[tuple[int, int, int, int]]:
    """Any signal to itself, but SIGKILL ends it as SIGSYS and SIGCONT, which would keep `disk` from stopping it, is
    refused. place: of the signal among the arguments, from 0.
    """
    itself = [(LOAD, 0, 0, ARGUMENT), (EQUAL, 1, 0, OWN_PID), _give(ERRNO | EPERM)]
    return [
        *itself,
        (LOAD, 0, 0, ARGUMENT + 8 * place),
        (EQUAL, 0, 1, signal.SIGKILL),
        _give(KILL_PROCESS),
        (EQUAL, 0, 1, signal.SIGCONT),
        _give(ERRNO | EPERM),
        _give(ALLOW),
    ]


def _own_limits() -> list[tuple[int, int, int, int]]:
    """Its own limits may be asked and set, except those kept, which may be asked: no new value is given."""
    itself = [(LOAD, 0, 0, ARGUMENT), (EQUAL, 2, 0, OWN_PID), (EQUAL, 1, 0, 0), _give(ERRNO | EPERM)]
    value = ARGUMENT + 2 * 8
    asks = [(LOAD, 0, 0, value), (EQUAL, 0, 3, 0), (LOAD, 0, 0, value + 4), (EQUAL, 0, 1, 0)]
    kept = [(EQUAL, 1, 0, KEPT[0]), (EQUAL, 0, len(asks), KEPT[1])]
    return [*itself, (LOAD, 0, 0, REQUEST), *kept, *asks, _give(ALLOW), _give(ERRNO | EPERM)]


def _with_any_bit(number: int, place: int, bits: int, verdict: int) -> Iterator[tuple[int, int, int, int]]:
    yield from [(EQUAL, 0, 4, number), (LOAD, 0, 0, ARGUMENT + 8 * place), (ANY_BIT, 0, 1, bits), _give(verdict)]
    yield _give(ALLOW)


def _by_argument(
    place: int, number: int, requests: Sequence[int], verdict: int, otherwise: int
) -> Iterator[tuple[int, int, int, int]]:
    """place: of the argument that tells the requests apart, from 0."""
    yield from [(EQUAL, 0, 2 * len(requests) + 2, number), (LOAD, 0, 0, ARGUMENT + 8 * place)]
    for request in requests:
        yield from [(EQUAL, 0, 1, request), _give(verdict)]
    yield _give(otherwise)


def _give(verdict: int) -> tuple[int, int, int, int]:
    return RETURN, 0, 0, verdict
