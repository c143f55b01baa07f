"""What runs inside the sandbox before the untrusted code, and bounds it for good: limits, rights, system calls."""

from __future__ import annotations

from lab.sandbox.interpreter import interpreter
from lab.sandbox.program import MAIN, MB, Job
from lab.sandbox.system_calls import OWN_PID, program_filter

# What the steps below write to standard output when they are done. All that can fail before is the machine's; what can
# fail after it, reading and compiling the source included, is the program's, which can no longer take it back.
BEGUN = b"\x02"

# Runs as `python -c PROGRAM MAIN OWN_PID FILTER LIMIT=VALUE...`; each further import would cost milliseconds.
BOOTSTRAP = """
import ctypes, os, resource, sys, time

def confine(own_pid, steps, *limits):
    for name, _, value in (limit.partition("=") for limit in limits):
        which, value = getattr(resource, name), int(value)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    libc = ctypes.CDLL(None, use_errno=True)
    def call(function, *arguments):
        if function(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "the sandbox could not be closed: " + os.strerror(ctypes.get_errno()))
    def word(number):
        return number.to_bytes(4, sys.byteorder)
    # PR_SET_NO_NEW_PRIVS is 38, PR_SET_SECCOMP 22 with SECCOMP_MODE_FILTER 2, as in <linux/prctl.h>.
    # Root without rights (version 3 of the header, two words for each set), and no way to gain any.
    call(libc.capset, word(0x20080522) + word(0), bytes(24))
    call(libc.prctl, 38, 1, 0, 0, 0)
    steps = bytes.fromhex(steps).replace(word(int(own_pid)), word(os.getpid()))
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]
    call(libc.prctl, 22, 2, ctypes.byref(Filter(len(steps) // 8, steps)), 0, 0)

def see_that_the_parent_lives():
    # It holds the other end of this pipe. From here on the backend sees to it that the program dies with its parent.
    os.set_blocking(0, False)
    try:
        os.read(0, 1)
    except BlockingIOError:
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
    else:
        os._exit(1)

def wait_until_it_is_read():
    # Where there is a /proc, a pipe opens at its other end too: the program could take back what our parent awaits.
    unread = ctypes.c_int()
    while ctypes.CDLL(None).ioctl(1, 0x541B, ctypes.byref(unread)) == 0 and unread.value:  # FIONREAD of <asm/ioctls.h>
        time.sleep(0.0002)

def shown(kind, error, trace):
    error.with_traceback(trace.tb_next if trace else None)
    sys.__excepthook__(kind, error, error.__traceback__)

see_that_the_parent_lives()
if confined := len(sys.argv) > 2:
    confine(*sys.argv[2:])
main = type(sys)("__main__")
main.__file__ = os.path.join(os.getcwd(), sys.argv[1])
main.__builtins__ = __builtins__
sys.modules["__main__"], sys.argv, sys.excepthook = main, [main.__file__], shown
sys.path.insert(0, os.getcwd())
with open(main.__file__, "rb") as file:
    os.write(1, b"\\x02")
    if confined:
        wait_until_it_is_read()
    source = file.read()
exec(compile(source, main.__file__, "exec"), main.__dict__)
"""


def command(job: Job, confined: bool = True) -> list[str]:
    """The command that confines itself and then runs the job's code.

    It starts in the job's working folder, with a pipe for standard input whose other end the parent keeps open.
    """
    if not confined:
        return interpreter().command("-c", BOOTSTRAP, MAIN)
    confinement = [str(OWN_PID), program_filter().hex()]
    limits = {
        "AS": job.limits.memory_mb * MB,
        "CPU": job.kernel_cpu_s,
        "FSIZE": job.limits.disk_mb * MB,
        "NOFILE": job.limits.open_files,
        "CORE": 1,  # at 0 a kernel that hands crashes to a program of the host still starts that one; core(5)
        "MEMLOCK": 0,
        # Of the user's, of which all processes have one supply: beyond it, nobody could make a timer any more.
        "SIGPENDING": 64,
    }
    confinement += [f"RLIMIT_{name}={value}" for name, value in limits.items()]
    return interpreter().command("-c", BOOTSTRAP, MAIN, *confinement)
