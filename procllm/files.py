"""The files of a workspace: their paths, who may write them, and their purposes (paper §4, B.1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

FOLDER = "files/"  # the part of the workspace that a program may read
REQUEST, SPECIFICATION = "files/request.txt", "files/problem_specification.txt"
TOOLS, NOTES = "files/tools_specification.txt", "files/notes.txt"
SOLVER, OUTPUT, ANSWER = "solver.py", "output.txt", "answer.txt"

# Headings in the trace of a changed solver, after the program's text.
PRINTED, ERRORS = "The program printed:", "The program's errors:"
PASSED, FAILED = "PASS", "FAIL"  # the first word of a Verify's trace


class File(NamedTuple):
    """A file that the agent knows of. writable: it may be written and appended; every file may be read."""

    path: str
    writable: bool
    about: str


SOLVER_FILE = File(SOLVER, True, "your program; it is run after every change, and its output goes to output.txt")
ANSWER_FILE = File(ANSWER, True, "the final answer to the request")
NOTES_FILE = File(NOTES, True, "your notes; they are always shown below")
REQUEST_FILE = File(REQUEST, False, "the user's request")
SPECIFICATION_FILE = File(SPECIFICATION, False, "what kind of problem this is and how to answer")
TOOLS_FILE = File(TOOLS, False, "the tools that your program may import")
OUTPUT_FILE = File(OUTPUT, False, "what your program printed")


def listed(solver: bool, tools: bool) -> tuple[File, ...]:
    """The files of a workspace with or without a solver, and with or without tools."""
    writable = (*((SOLVER_FILE,) if solver else ()), NOTES_FILE, ANSWER_FILE)
    optional = (*((TOOLS_FILE,) if tools else ()), *((OUTPUT_FILE,) if solver else ()))
    readable = (REQUEST_FILE, SPECIFICATION_FILE, *optional)
    return writable + readable


def resolved(path: str, known: Collection[str]) -> str:
    """Expand a bare file name ("notes.txt") to the one known path that ends in it; return anything else unchanged."""
    matches = [candidate for candidate in known if candidate.rsplit("/", 1)[-1] == path]
    return matches[0] if path not in known and len(matches) == 1 else path


def paths(solver: bool, tools: bool) -> tuple[str, ...]:
    """The paths of `listed`."""
    return tuple(file.path for file in listed(solver, tools))
