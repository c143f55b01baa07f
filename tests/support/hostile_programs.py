"""Programs that try to get out of a sandbox or to wear the machine out; each is bounded should nothing hold it.

An attempt prints BROKE OUT when it came through and HELD when it was refused, so that a program that does neither fails
its test too. `facts` names what there is to reach: files with a secret, listening sockets, a process of the same user.
"""

from __future__ import annotations

from dataclasses import dataclass

# The system calls made below: name = its number on x86_64, on aarch64.
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
    ends: tuple[str, ...] = ("exit",)
    tame: bool = False


def read(what: str, path: str, tame: bool = False) -> Hostile:
    return Hostile(f"reads {what}", f"attempt(read, {path})", tame=tame)


FILES = [
    read("a host file", 'facts["canary"]', tame=True),
    read("the users of the host", '"/etc/passwd"', tame=True),
    read("the passwords of the host", '"/etc/shadow"'),
    read("a file of the home folder", 'facts["home file"]', tame=True),
    read("a file of the project", 'facts["project file"]', tame=True),
    read("a file beside the given folder", 'facts["tools"] + "/../canary"', tame=True),
    read("upwards out of its folder", '"../" * 12 + facts["canary"].lstrip("/")', tame=True),
    read("the environment of the first process", '"/proc/1/environ"'),
    read("the environment of its parent", '"/proc/%d/environ" % facts["parent"]', tame=True),
    read("the environment of another process", '"/proc/%d/environ" % facts["victim"]', tame=True),
    read("the memory map of its parent", '"/proc/%d/maps" % facts["parent"]', tame=True),
    read("a host file through its parent's root", '"/proc/%d/root" % facts["parent"] + facts["canary"]', tame=True),
    read("a host file through another's working folder", '"/proc/%d/cwd/canary" % facts["victim"]', tame=True),
    read("its own environment in /proc", '"/proc/self/environ"', tame=True),
    read("the memory of the machine", '"/dev/mem"'),
    read("the kernel's log", '"/dev/kmsg"'),
    read("the kernel's memory", '"/proc/kcore"'),
    read("a disk of the machine", 'facts["disk"]'),
    Hostile("opens its parent's memory", 'attempt(open, "/proc/%d/mem" % facts["parent"], "rb")'),
    Hostile("lists its parent's open files", 'attempt(os.listdir, "/proc/%d/fd" % facts["parent"])', tame=True),
    Hostile("lists the root of the host", 'attempt(lambda: os.listdir("/home") + os.listdir("/var"))', tame=True),
    Hostile(
        "reads a host file through a link that it makes",
        'os.symlink(facts["canary"], "link"); attempt(read, "link")',
        tame=True,
    ),
    Hostile(
        "reads a host file through a linked folder",
        'os.symlink(os.path.dirname(facts["canary"]), "away"); attempt(read, "away/canary")',
        tame=True,
    ),
    Hostile("makes a hard link to a host file", 'attempt(os.link, facts["canary"], "hard")'),
    Hostile("moves a host file away", 'attempt(os.rename, facts["canary"], "moved")'),
    Hostile("reads a link in the given folder that leads out of it", 'attempt(read, "tools/leads_out")', tame=True),
    Hostile("opens a file by its handle", 'attempt(call, "open_by_handle_at", -100, b"\\0" * 64, 0)'),
    Hostile(
        "reads files that the parent holds open",
        "attempt(lambda: [os.lseek(facts['open file'], 0, 0), os.read(facts['open file'], 1000)])",
    ),
    Hostile(
        "sees the environment",
        """
left = set(os.environ) - {"LANG", "LC_CTYPE", "HOME", "TMPDIR", "PWD", "PYTHONHASHSEED", "TZ"}
print("BROKE OUT" if left else "HELD", left, dict(os.environ))""",
    ),
]

WRITES = [
    Hostile("writes a host file", 'attempt(lambda: open(facts["canary"], "a").write("x"))', tame=True),
    Hostile(
        "writes a given file by a hard link",
        'attempt(lambda: [os.link("tools/flights.py", "own"), open("own", "a").write("x")])',
    ),
    Hostile("moves a given file to where it may write", 'attempt(os.rename, "tools/flights.py", "own")'),
    Hostile("empties a given file without writing it", 'attempt(os.open, "tools/flights.py", os.O_TRUNC)', tame=True),
    Hostile(
        "empties a given file by neither reading nor writing it", 'attempt(os.open, "tools/flights.py", os.O_TRUNC | 3)'
    ),
    Hostile("empties a host file", 'attempt(os.truncate, facts["canary"], 0)', tame=True),
    Hostile("removes a host file", 'attempt(os.unlink, facts["canary"])', tame=True),
    Hostile("writes into the host's /tmp", 'attempt(open, facts["beside"], "x")', tame=True),
    Hostile("writes a given file", 'attempt(lambda: open("tools/flights.py", "a").write("x"))', tame=True),
    Hostile("writes a file beside the given ones", 'attempt(open, "tools/new.py", "x")', tame=True),
    Hostile("removes a given file", 'attempt(os.unlink, "tools/flights.py")', tame=True),
    Hostile(
        "puts a file of its own over a given one", 'open("own", "w"); attempt(os.replace, "own", "tools/flights.py")'
    ),
    Hostile(
        "leaves bytecode in the given folder", 'sys.dont_write_bytecode = False; import tools.flights; print("HELD")'
    ),
    Hostile("writes its interpreter", 'attempt(open, sys.executable, "ab")'),
    Hostile("writes the standard library", 'attempt(open, os.__file__, "a")'),
    Hostile("changes the mode of a host file", 'attempt(os.chmod, facts["canary"], 0o777)', tame=True),
    Hostile("changes the mode of a given file", 'attempt(os.chmod, "tools/flights.py", 0o777)', tame=True),
    Hostile("changes the times of a host file", 'attempt(os.utime, facts["canary"], (1, 1))', tame=True),
    Hostile("changes the owner of a host file", 'attempt(os.chown, facts["canary"], os.getuid(), os.getgid())'),
    Hostile("adds an attribute to a host file", 'attempt(os.setxattr, facts["canary"], "user.x", b"x")'),
    Hostile(
        "changes the flags of a given file",
        """
import fcntl
given = open("tools/flights.py")
attempt(fcntl.ioctl, given, 0x40086602, bytes([0x80, 0, 0, 0, 0, 0, 0, 0]))""",
    ),
    Hostile("takes a lease on a given file", "import fcntl; attempt(fcntl.fcntl, open('tools/flights.py'), 1024, 0)"),
    Hostile("makes a device", "attempt(os.mknod, 'disk', 0o60600, os.makedev(7, 0))"),
    Hostile("watches what the host does with a file", 'attempt(call, "inotify_init1", 0)'),
]

NETWORK = [
    Hostile(
        "connects by address",
        'import socket; attempt(socket.create_connection, ("127.0.0.1", facts["tcp"]), 2)',
        tame=True,
    ),
    Hostile(
        "connects by name",
        'import socket; attempt(socket.create_connection, ("localhost", facts["tcp"]), 2)',
        tame=True,
    ),
    Hostile("looks a name up", 'import socket; attempt(socket.getaddrinfo, "example.org", 80)'),
    Hostile(
        "fetches a page",
        'import urllib.request; attempt(urllib.request.urlopen, "http://127.0.0.1:%d" % facts["tcp"], None, 2)',
    ),
    Hostile(
        "sends a datagram",
        """
import socket
attempt(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", facts["udp"])))""",
        tame=True,
    ),
    Hostile(
        "connects by IPv6",
        'import socket; attempt(lambda: socket.socket(socket.AF_INET6).connect(("::1", facts["tcp"])))',
    ),
    Hostile(
        "connects to a socket in the file system",
        'import socket; attempt(lambda: socket.socket(socket.AF_UNIX).connect(facts["unix"]))',
        tame=True,
    ),
    Hostile(
        "connects to an abstract socket",
        'import socket; attempt(lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + facts["abstract"]))',
        tame=True,
    ),
    Hostile(
        "sends through one end of a pair of sockets",
        """
import socket
ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
attempt(ends[0].sendto, b"x", chr(0) + facts["abstract datagram"])""",
        tame=True,
    ),
    Hostile("listens", 'import socket; attempt(lambda: [socket.create_server(("127.0.0.1", 0))])', tame=True),
    Hostile("opens a raw socket", "import socket; attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)"),
    Hostile("opens a packet socket", "import socket; attempt(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0)"),
    Hostile("opens a netlink socket", "import socket; attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    Hostile(
        "has the kernel load a network protocol",
        """
import socket
try:
    socket.socketpair(30, socket.SOCK_STREAM)  # AF_TIPC, a module on most machines
except PermissionError:
    print("HELD")
except OSError as error:
    print("BROKE OUT", "the kernel looked for it:", error)""",
        tame=True,
    ),
    Hostile("opens a socket of virtual machines", "import socket; attempt(socket.socket, socket.AF_VSOCK, 1, 0)"),
]

OTHER_PROCESSES = [
    Hostile("signals its parent", 'import signal; attempt(os.kill, facts["parent"], signal.SIGUSR1)', tame=True),
    Hostile("signals the parent by what it calls its parent", "attempt(os.kill, os.getppid() or -1, 0)"),
    Hostile("kills another process", 'attempt(os.kill, facts["victim"], 9)', tame=True),
    Hostile("kills everything", "attempt(os.kill, -1, 9)"),
    Hostile("kills its parent's group", 'attempt(os.kill, -facts["group"], 9)'),
    Hostile("kills its own group", "attempt(os.kill, 0, 9)"),
    Hostile("kills through a process descriptor", 'attempt(os.pidfd_open, facts["victim"])', tame=True),
    Hostile("queues a signal", 'attempt(call, "rt_sigqueueinfo", facts["victim"], 9, b"\\0" * 128)'),
    Hostile(
        "has a pipe signal another process",
        """
import fcntl
reading, writing = os.pipe()
attempt(fcntl.fcntl, reading, fcntl.F_SETSIG, 9)
attempt(fcntl.fcntl, reading, fcntl.F_SETOWN, facts["victim"])
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
os.write(writing, b"x")""",
        tame=True,
    ),
    Hostile("traces another process", 'attempt(call, "ptrace", 16, facts["victim"], 0, 0)'),
    Hostile("asks to be traced", 'attempt(call, "ptrace", 0, 0, 0, 0)'),
    Hostile("reads another process's memory", 'attempt(call, "process_vm_readv", facts["victim"], 0, 0, 0, 0, 0)'),
    Hostile("writes its parent's memory", 'attempt(call, "process_vm_writev", facts["parent"], 0, 0, 0, 0, 0)'),
    Hostile(
        "lowers another's limits",
        'import resource; attempt(resource.prlimit, facts["victim"], resource.RLIMIT_NOFILE, (9, 9))',
        tame=True,
    ),
    Hostile("slows another process down", 'attempt(os.setpriority, os.PRIO_PROCESS, facts["victim"], 9)', tame=True),
    Hostile("pins another process", 'attempt(os.sched_setaffinity, facts["victim"], {facts["cpu"]})', tame=True),
    Hostile(
        "schedules another process",
        'attempt(os.sched_setscheduler, facts["victim"], os.SCHED_IDLE, os.sched_param(0))',
        tame=True,
    ),
    Hostile("asks for another's group", 'attempt(os.getpgid, facts["victim"])', tame=True),
    Hostile("asks for another's session", 'attempt(os.getsid, facts["victim"])', tame=True),
    Hostile("asks how another is scheduled", 'attempt(os.sched_getscheduler, facts["victim"])', tame=True),
    Hostile("asks how fast another may run", 'attempt(os.getpriority, os.PRIO_PROCESS, facts["victim"])', tame=True),
    Hostile(
        "asks for another's rights",
        """
import struct
header = struct.pack("=Ii", 0x20080522, facts["victim"])
attempt(call, "capget", header, ctypes.create_string_buffer(24))""",
        tame=True,
    ),
    Hostile("arranges to outlive its parent", 'attempt(call, "prctl", 1, 0, 0, 0, 0)'),
    Hostile("joins its parent's group", 'attempt(os.setpgid, 0, facts["group"])'),
    Hostile("leaves its session", "attempt(os.setsid)"),
]

KERNEL = [
    Hostile("changes its root", 'attempt(os.chroot, ".")'),
    Hostile("mounts", 'attempt(call, "mount", b"none", b"/tmp", b"tmpfs", 0, 0)'),
    Hostile("opens a tree of mounts", 'attempt(call, "open_tree", -100, b"/", 1)'),
    Hostile("enters a new user namespace", 'attempt(call, "unshare", 0x10000000)'),
    Hostile("enters another's namespaces", 'attempt(call, "setns", 0, 0)'),
    Hostile("changes its personality", 'attempt(call, "personality", 0x0040000)', tame=True),
    Hostile("becomes root", "attempt(os.setuid, 0)"),
    Hostile("becomes another user", "attempt(os.setresuid, 1, 1, 1)"),
    Hostile("takes rights back", 'attempt(call, "capset", b"\\x22\\x05\\x08\\x20" + bytes(4), b"\\xff" * 24)'),
    Hostile("loads a program into the kernel", 'attempt(call, "bpf", 0, bytes(128), 128)'),
    Hostile("measures the machine", 'attempt(call, "perf_event_open", bytes(128), 0, -1, -1, 0)'),
    Hostile("opens the kernel's key ring", 'attempt(call, "keyctl", 0, -3, 1)'),
    Hostile("queues work beside system calls", 'attempt(call, "io_uring_setup", 4, bytes(256))'),
    Hostile("handles its own page faults", 'attempt(call, "userfaultfd", 0)'),
    Hostile("makes a file in memory", 'attempt(os.memfd_create, "x")', tame=True),
    Hostile("shares memory beside its limit", 'attempt(call, "shmget", 0, 2**30, 0o1600)'),
    Hostile(
        "brings a filter of its own, which writes the kernel's log",
        """
import struct
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]
log = struct.pack("=HBBI", 6, 0, 0, 0x7FFC0000)
attempt(call, "seccomp", 1, 0, ctypes.byref(Filter(1, log)))""",
    ),
    Hostile(
        "has its crash handed to a program of the host",
        "import resource; attempt(resource.setrlimit, resource.RLIMIT_CORE, (0, 0))",
    ),
    Hostile("changes the clock", "attempt(time.clock_settime, time.CLOCK_REALTIME, time.time())"),
    Hostile("renames the machine", 'attempt(call, "sethostname", b"x", 1)'),
    Hostile("makes the machine write its disks out", 'attempt(call, "sync")'),
    Hostile("restarts the machine", 'attempt(call, "reboot", 0, 0, 0, 0)'),
    Hostile(
        "raises its memory limit", "import resource; attempt(resource.setrlimit, resource.RLIMIT_AS, (2**40, 2**40))"
    ),
    Hostile(
        "raises its file limit", "import resource; attempt(resource.setrlimit, resource.RLIMIT_NOFILE, (9999, 9999))"
    ),
    Hostile("opens more files than allowed", "attempt(lambda: [open('/dev/null') for _ in range(2000)] and None)"),
]

PROGRAMS = [
    Hostile("runs a shell", 'import subprocess; attempt(subprocess.check_output, ["/bin/sh", "-c", "id"])', tame=True),
    Hostile("calls the shell", 'print("BROKE OUT" if os.system("echo through") == 0 else "HELD")', tame=True),
    Hostile("becomes a shell", 'attempt(os.execv, "/bin/sh", ["sh", "-c", "echo BROKE OUT"])'),
    Hostile(
        "becomes another interpreter",
        'attempt(os.execv, sys.executable, [sys.executable, "-c", "print(\'BROKE OUT\')"])',
    ),
    Hostile(
        "executes a file of its own",
        """
with open("tool", "w") as file:
    file.write("#!/bin/sh\\necho BROKE OUT\\n")
attempt(os.execv, "./tool", ["tool"])""",
    ),
    Hostile("imports the project", "attempt(__import__, 'lab')"),
    Hostile("imports the project's papers", "attempt(__import__, 'procllm')"),
    Hostile(
        "imports the project from its folder",
        """
sys.path.insert(0, os.path.dirname(os.path.dirname(facts["project file"])))
attempt(__import__, "lab.machine.paths")""",
    ),
    Hostile("imports an installed package", "attempt(__import__, 'numpy')"),
    Hostile(
        "imports an installed package from its folder",
        'sys.path[:0] = facts["packages"]; attempt(__import__, "packaging")',
    ),
    Hostile("lists installed packages", 'attempt(lambda: [os.listdir(path) for path in facts["packages"]])', tame=True),
]

LEFTOVERS = [
    Hostile("starts one process", "attempt(os.fork)"),
    Hostile("starts a process by the raw call", 'attempt(call, "clone", 17, 0, 0, 0, 0)'),
    Hostile("starts a process by the newer raw call", 'attempt(call, "clone3", bytes(88), 88)'),
    Hostile(
        "starts 64 processes that stay",
        """
def bomb():
    for _ in range(64):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
attempt(bomb)""",
    ),
    Hostile(
        "leaves a process of another session behind",
        """
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(5)
        os._exit(0)
attempt(daemon)""",
    ),
    Hostile(
        "starts worker processes",
        "import multiprocessing; attempt(lambda: multiprocessing.get_context('fork').Process(target=print).start())",
    ),
]

CHUNK = "chunk = bytes(15 * 2**20)\nlibc = ctypes.CDLL(None)\n"

# What a program holds on the disk without a name that leads to it.
HIDDEN = [
    Hostile(
        "fills the disk with files that it has removed, mapped and closed",
        CHUNK
        + """
for number in range(40):
    file = os.open("big", os.O_RDWR | os.O_CREAT)
    os.unlink("big")
    os.write(file, chunk)
    assert libc.mmap(0, 4096, 1, 2, file, 0) != -1
    os.close(file)
    time.sleep(0.01)
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "fills the disk with files in a table of its own thread",
        CHUNK
        + """
import threading
def hide():
    call("close_range", 10_000, 10_001, 2)
    kept = []
    for number in range(30):
        kept.append(os.open("big", os.O_RDWR | os.O_CREAT))
        os.unlink("big")
        os.write(kept[-1], chunk)
    time.sleep(1)
    print("BROKE OUT")
thread = threading.Thread(target=attempt, args=(hide,))
thread.start()
thread.join()""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "fills the disk after its main thread has ended",
        CHUNK
        + """
import threading
def fill():
    time.sleep(0.2)
    for number in range(30):
        file = os.open("big", os.O_RDWR | os.O_CREAT)
        os.unlink("big")
        os.write(file, chunk)
    time.sleep(1)
threading.Thread(target=attempt, args=(fill,)).start()
libc.syscall(ctypes.c_long({"x86_64": 60}.get(os.uname().machine, 93)), 0)""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "fills the disk with files that never had a name",
        CHUNK
        + """
def fill():
    for number in range(16):
        file = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
        os.write(file, chunk)
        assert libc.mmap(0, 4096, 1, 2, file, 0) != -1
        os.close(file)
        time.sleep(0.01)
    time.sleep(1)
attempt(fill)""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "reserves the disk beyond a file's end",
        """
def reserve():
    call("fallocate", os.open("big", os.O_RDWR | os.O_CREAT), 1, 0, 1500 * 2**20)
    time.sleep(1)
attempt(reserve)""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "fills the disk with files that a rule of its own holds",
        CHUNK
        + """
def fill():
    rules = call("landlock_create_ruleset", ctypes.byref(ctypes.c_uint64(4)), 8, 0)
    class Below(ctypes.Structure):
        _pack_ = 1
        _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int)]
    for number in range(30):
        file = os.open("big", os.O_RDWR | os.O_CREAT)
        os.unlink("big")
        os.write(file, chunk)
        call("landlock_add_rule", rules, 1, ctypes.byref(Below(4, file)), 0)
        os.close(file)
    time.sleep(1)
attempt(fill)""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "hides a full folder by a new name every moment",
        """
import threading
os.mkdir("0")
def rename():
    number = 0
    while True:
        os.rename(str(number), str(number + 1))
        number += 1
folder = os.open("0", os.O_RDONLY)
threading.Thread(target=rename, daemon=True).start()
for number in range(40):
    os.write(os.open(f"big{number}", os.O_WRONLY | os.O_CREAT, dir_fd=folder), bytes(2**20))
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "hides removed files behind a new descriptor every moment",
        """
import threading
kept = []
for number in range(20):
    kept.append(os.open("big", os.O_WRONLY | os.O_CREAT))
    os.unlink("big")
def move():
    while True:
        for place, file in enumerate(kept):
            kept[place] = os.dup(file)
            os.close(file)
threading.Thread(target=move, daemon=True).start()
for number in range(40):
    for place in range(20):
        try:
            os.write(kept[place], bytes(2**17))
        except OSError:
            pass
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "puts links to large trees where folders were",
        """
libc = ctypes.CDLL(None)
trees = facts["large trees"]
for number in range(100):
    os.mkdir(f"folder{number}")
    os.symlink(trees[number % len(trees)], f"link{number}")
for number in range(100):
    time.sleep(0.007)
    libc.renameat2(-100, b"folder%d" % number, -100, b"link%d" % number, 2)
while True: pass""",
        ends=("timeout",),
    ),
]

# What all processes of a user have together.
SHARED = [
    Hostile(
        "queues signals to itself",
        """
import signal
libc = ctypes.CDLL(None)
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 65))
def queue():
    for _ in range(120_000):
        libc.kill(os.getpid(), 40)
queue()
print("HELD, as those beyond the limit are dropped")
time.sleep(0.5)""",
    ),
    Hostile("makes timers", 'attempt(call, "timer_create", 0, 0, ctypes.byref(ctypes.c_long()))', tame=True),
    Hostile(
        "enlarges what the kernel keeps for a socket",
        """
import socket
attempt(socket.socketpair()[0].setsockopt, socket.SOL_SOCKET, socket.SO_SNDBUF, 2**30)""",
        tame=True,
    ),
    Hostile("enlarges a pipe", "import fcntl; attempt(fcntl.fcntl, os.pipe()[1], 1031, 2**20)", tame=True),
    Hostile(
        "locks a file it is given",
        "import fcntl; attempt(lambda: fcntl.flock(open('tools/flights.py'), fcntl.LOCK_EX))",
        tame=True,
    ),
    Hostile(
        "locks the standard library",
        "import fcntl; attempt(lambda: fcntl.flock(open(os.__file__), fcntl.LOCK_EX | fcntl.LOCK_NB))",
        tame=True,
    ),
    Hostile("writes out its file system", "attempt(call, 'syncfs', os.open('.', os.O_RDONLY))"),
    Hostile("holds up all processors", "attempt(call, 'membarrier', 1, 0, 0)", tame=True),
]

TELLING = [
    Hostile("asks where a link of the host leads", 'attempt(os.readlink, facts["leads out"])', tame=True),
    Hostile(
        "asks where a link of the host leads from a folder's descriptor",
        'attempt(call, "readlinkat", -100, facts["leads out"].encode(), ctypes.create_string_buffer(99), 99)',
        tame=True,
    ),
    *[
        Hostile(
            f"asks for its parent's {link}", f'attempt(os.readlink, "/proc/%d/{link}" % facts["parent"])', tame=True
        )
        for link in ("exe", "cwd", "root", "fd/1")
    ],
    Hostile("reads an attribute of a host file", 'attempt(os.getxattr, facts["canary"], "user.secret")', tame=True),
    Hostile("lists the attributes of a host file", 'attempt(os.listxattr, facts["canary"])', tame=True),
    Hostile(
        "asks for the flags of a host file",
        'attempt(call, "file_getattr", -100, facts["canary"].encode(), ctypes.create_string_buffer(24), 24, 0)',
    ),
    Hostile("goes on while it is looked at", "import signal; attempt(os.kill, os.getpid(), signal.SIGCONT)", tame=True),
    Hostile("keeps us from looking at it", 'attempt(call, "prctl", 4, 0, 0, 0, 0)'),
]

BOMBS = [
    *HIDDEN,
    Hostile(
        "starts 400 threads",
        """
import threading
threading.stack_size(64 * 1024)
for _ in range(400):
    threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
time.sleep(1)
print("BROKE OUT")""",
        ends=("threads",),
    ),
    Hostile("takes all memory at once", "attempt(lambda: len(bytearray(1500 * 2**20)))"),
    Hostile(
        "takes all memory bit by bit", "attempt(lambda: len([bytearray(2**20) for _ in range(1500)]))", ends=("exit",)
    ),
    Hostile("maps all memory", "import mmap; attempt(lambda: len(mmap.mmap(-1, 1500 * 2**20)))"),
    Hostile("repeats a text without end", "attempt(lambda: len('x' * 1500 * 2**20))"),
    Hostile(
        "fills the disk with one file",
        'attempt(lambda: [file.write(bytes(2**20)) for file in [open("big", "wb")] for _ in range(300)] and None)',
        ends=("exit", "disk"),
    ),
    Hostile(
        "fills the disk with many files",
        """
for number in range(300):
    with open(f"file{number}", "wb") as file:
        file.write(bytes(2**20))
    time.sleep(0.001)
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "fills the disk with files that it has removed",
        """
kept = []
for number in range(40):
    kept.append(open("file", "wb"))
    os.unlink("file")
    kept[-1].write(bytes(2**20))
    kept[-1].flush()
time.sleep(1)
print("BROKE OUT")""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "makes files without end",
        'for number in range(3000): open(f"file{number}", "w").close(); time.sleep(0.0005)\nprint("BROKE OUT")',
        ends=("disk",),
    ),
    Hostile(
        "makes files without end after its main thread has ended",
        """
import threading
def fill():
    for number in range(3000):
        try:
            open(f"file{number}", "w").close()
        except OSError:
            os.write(1, b"HELD")
            os._exit(0)
        time.sleep(0.0005)
    os.write(1, b"BROKE OUT")
threading.Thread(target=fill).start()
ctypes.CDLL(None).syscall(ctypes.c_long({"x86_64": 60}.get(os.uname().machine, 93)), 0)""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "moves a full folder to where it has just been looked at",
        """
import threading
names = [f"folder{number}" for number in range(100)]
for name in names:
    os.mkdir(name)
    open(name + "/touched", "w").close()
    os.unlink(name + "/touched")
time.sleep(0.1)
looked_at = sorted(names, key=lambda name: os.stat(name).st_atime_ns)
first, last = looked_at[0], looked_at[-1]
os.mkdir(last + "/full")
folder = os.open(last + "/full", os.O_RDONLY)
def move():
    while True:
        for here, there in ((last, first), (first, last)):
            before = os.stat(there if here == last else here).st_atime_ns
            until = time.monotonic() + 0.03
            while os.stat(there if here == last else here).st_atime_ns == before and time.monotonic() < until:
                pass
            os.rename(here + "/full", there + "/full")
threading.Thread(target=move, daemon=True).start()
for number in range(40):
    os.write(os.open(f"big{number}", os.O_WRONLY | os.O_CREAT, dir_fd=folder), bytes(2**20))
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "makes folders within folders without end",
        """
for number in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
time.sleep(1)
print("BROKE OUT")""",
        ends=("disk",),
    ),
    Hostile(
        "hides files below a path too long to name",
        """
for number in range(20):
    os.mkdir("x" * 250)
    os.chdir("x" * 250)
for number in range(40):
    open(f"file{number}", "wb").write(bytes(2**20))
time.sleep(1)
print("BROKE OUT")""",
        ends=("exit", "disk"),
    ),
    Hostile(
        "reserves the disk",
        "attempt(os.posix_fallocate, os.open('big', os.O_RDWR | os.O_CREAT), 0, 300 * 2**20)",
        ends=("exit", "disk"),
    ),
    Hostile("fills shared memory", 'attempt(lambda: open("/dev/shm/big", "wb").write(bytes(2**20)))'),
    Hostile("fills the host's /tmp", 'attempt(lambda: open("/tmp/" + facts["beside"].rsplit("/", 1)[1], "wb"))'),
    Hostile("prints without end", 'while True: print("x" * 1000)', ends=("output",)),
    Hostile("prints without end on standard error", 'while True: print("x" * 1000, file=sys.stderr)', ends=("output",)),
    Hostile("prints without end and without lines", 'while True: sys.stdout.write("x" * 100_000)', ends=("output",)),
    Hostile("prints one text of 50 MB", 'print("x" * 50 * 2**20)', ends=("output",)),
    Hostile("loops", "while True: pass", ends=("timeout",)),
    Hostile("loops in native code", "sum(range(10**12))", ends=("timeout",)),
    Hostile("sleeps", "time.sleep(30)", ends=("timeout",)),
    Hostile(
        "ignores signals and sleeps",
        """
import signal
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True: time.sleep(1)""",
        ends=("timeout",),
    ),
    Hostile("stops itself", "import signal; os.kill(os.getpid(), signal.SIGSTOP); time.sleep(30)", ends=("timeout",)),
    Hostile("closes its output and loops", "os.close(1); os.close(2)\nwhile True: pass", ends=("timeout",)),
    Hostile(
        "catches everything and goes on",
        "while True:\n try:\n  while True: pass\n except BaseException: pass",
        ends=("timeout",),
    ),
    Hostile("waits for input", "print('HELD', repr(input()))", ends=("exit",)),
    Hostile(
        "matches a pattern that takes for ever", "import re; re.match('(a+)+$', 'a' * 60 + 'b')", ends=("timeout",)
    ),
    Hostile("computes a huge power", "print(9 ** 9 ** 9)", ends=("timeout",)),
    Hostile("crashes its interpreter", "ctypes.string_at(0)", ends=("killed",)),
    Hostile(
        "recurses without end in native code",
        "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
        ends=("exit", "killed"),
    ),
]

# On x86-64 only.
OTHER_CALLS = [
    Hostile(
        "makes a system call as a 32-bit program does",
        """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("BROKE OUT", function())""",
        ends=("killed",),
    ),
    Hostile(
        "makes a system call by its second number",
        'attempt(call, 0x40000000 + facts["calls"]["kill"], facts["victim"], 9)',
        ends=("exit", "killed"),
    ),
]

ATTEMPTS = [
    *FILES, *WRITES, *NETWORK, *OTHER_PROCESSES, *KERNEL, *PROGRAMS, *LEFTOVERS, *SHARED, *TELLING
]  # fmt: skip
