"""Start of a program: its process confines itself irrevocably before it runs the untrusted code."""

from __future__ import annotations

import math
import os
import socket
import subprocess

from lab.sandbox.confinement import OWN_PID, program_filter, ruleset, version
from lab.sandbox.program import MAIN, MB, Job, environment, interpreter

# Runs as `python -c BOOTSTRAP MAIN PARENT RULES FLAGS OWN_PID FILTER LIMIT=VALUE...`. Each further import would cost
# milliseconds. Importing ctypes also makes Python list the library's folder, which it cannot do later.
BOOTSTRAP = """
import ctypes, os, resource, sys

def confine(parent, rules, flags, own_pid, steps, *limits):
    for name, _, value in (limit.partition("=") for limit in limits):
        which, value = getattr(resource, name), int(value)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At a hard limit of processor time the kernel sends SIGKILL, which is to mean that the machine did it.
        resource.setrlimit(which, (value, hard if which == resource.RLIMIT_CPU else value))
    libc = ctypes.CDLL(None, use_errno=True)
    def call(function, *arguments):
        if function(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the sandbox could not be closed: " + os.strerror(ctypes.get_errno()))
    def word(number):
        return number.to_bytes(4, sys.byteorder)
    # Root without rights (version 3 of the header, two words for each set), and no way to gain any.
    call(libc.capset, word(0x20080522) + word(0), bytes(24))
    # Numbers of <linux/prctl.h>: PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    call(libc.prctl, 1, 9, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit(1)
    call(libc.prctl, 38, 1, 0, 0, 0)
    call(libc.syscall, *map(ctypes.c_long, (446, int(rules), int(flags))))  # landlock_restrict_self
    os.close(int(rules))
    steps = bytes.fromhex(steps).replace(word(int(own_pid)), word(os.getpid()))
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]
    call(libc.prctl, 22, 2, ctypes.byref(Filter(len(steps) // 8, steps)), 0, 0)

def show(kind, error, trace):
    error.with_traceback(trace.tb_next if trace else None)
    sys.__excepthook__(kind, error, error.__traceback__)

confine(*sys.argv[2:])
for finder in sys.path_importer_cache.values():
    if finder:
        finder.invalidate_caches = lambda: None  # the library's list of modules cannot be read again
main = type(sys)("__main__")
main.__file__ = os.path.join(os.getcwd(), sys.argv[1])
main.__builtins__ = __builtins__
sys.modules["__main__"], sys.argv, sys.excepthook = main, [main.__file__], show
sys.path.insert(0, os.getcwd())
with open(main.__file__, "rb") as file, open(os.devnull, "rb") as null:
    os.write(0, b"1")
    os.dup2(null.fileno(), 0)
    source = file.read()
exec(compile(source, main.__file__, "exec"), main.__dict__)
"""


def start(job: Job) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the job's program in a process that confines itself.

    Returns the process, whose output comes through pipes, and a socket that receives a byte when the program begins.
    The program cannot undo that. A failure before is the machine's fault; a failure after it, also of compiling the
    source, is the program's.
    Raises OSError if the machine cannot start a process.
    """
    began, stdin = socket.socketpair()
    with stdin, ruleset(job.folder, [*interpreter().readable, *job.shared.values()]) as rules:
        process = subprocess.Popen(
            command(job, rules),
            stdin=stdin.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=job.folder,
            env=environment(str(job.folder)),
            pass_fds=(rules,),
            start_new_session=True,
        )
    return process, began


def command(job: Job, rules: int) -> list[str]:
    """The command that confines itself and then runs the job's code. rules: a descriptor of `ruleset`."""
    limits = {
        "AS": job.limits.memory_mb * MB,
        "CPU": math.ceil(job.cpu_s) + 1,  # in case `watching` checks too late
        "FSIZE": job.limits.disk_mb * MB,
        "NOFILE": job.limits.open_files,
        "CORE": 1,  # with 0, a kernel that pipes crashes to a host program would still start it; core(5)
        "MEMLOCK": 0,
        # All processes of a user share one limit: if a program used it up, nobody could create a timer any more.
        "SIGPENDING": 64,
    }
    unlogged = int(version() >= 7)  # LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF: no refusal fills the audit log
    arguments = [str(value) for value in (os.getpid(), rules, unlogged, OWN_PID)]
    arguments += [program_filter().hex(), *(f"RLIMIT_{name}={value}" for name, value in limits.items())]
    return interpreter().command("-c", BOOTSTRAP, MAIN, *arguments)
