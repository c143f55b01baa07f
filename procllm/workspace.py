"""The file workspace: the agent reads and writes files, and its solver runs after every change (paper §4, B.1).

The files are texts in memory; no folder of this machine is behind them. An action names one of the listed paths, or its
file name if that is unique. Anything else is refused with a message to the agent, and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from procllm.actions import Append, Read, Write
from procllm.files import ERRORS, FOLDER, OUTPUT, PRINTED, SOLVER, File, resolved

MOST_CHARACTERS = 100_000  # per file; the longest documents here have about 5,000
SOLVER_SECONDS = 10.0
NOT_PLAIN = re.compile(r"[^\t\n\r -\ud7ff\ue000-\U0010ffff]")  # other control characters, and lone surrogates


class Refused(Exception):
    """An action that the workspace refuses; the message is shown to the agent."""


class Done(NamedTuple):
    """The output of an action. refused: whether it was refused and changed nothing."""

    output: str
    refused: bool = False


class Workspace:
    """The files of one episode, in memory."""

    def __init__(
        self, files: Sequence[File], documents: Mapping[str, str], tools: Mapping[str, Path] | None = None
    ) -> None:
        """documents: path -> text of the read-only files; the other files start empty. tools: as in
        `procllm.domains.Instance`.
        """
        self.files, self._tools = {file.path: file for file in files}, dict(tools or {})
        self._texts = {path: documents.get(path, "") for path in self.files}

    def do(self, action: Read | Write | Append) -> Done:
        """Execute an action (the transition, Algorithm 1, lines 16-22). A refused action changes nothing."""
        try:
            return self._change(action) if not isinstance(action, Read) else Done(self._shown(action.path))
        except Refused as refusal:
            return Done(str(refusal), refused=True)

    def text(self, path: str) -> str:
        """The text of a listed file. Raises Refused for any other path."""
        return self._texts[self._listed(path).path]

    def _shown(self, path: str) -> str:
        file = self._listed(path)
        lines = enumerate(self._texts[file.path].split("\n"), 1)
        return "\n".join([f"{file.path} holds:", *(f"{number}: {line}" for number, line in lines)])

    def _change(self, action: Write | Append) -> Done:
        file = self._listed(action.path)
        if not file.writable:
            raise Refused(f"File access denied: {file.path} is read-only. You may write {self._writable}.")
        text = (self.text(file.path) if isinstance(action, Append) else "") + action.text
        if len(text) > MOST_CHARACTERS:
            raise Refused(
                f"File access denied: {file.path} would have {len(text)} characters, more than {MOST_CHARACTERS}."
            )
        if bad := NOT_PLAIN.search(text):
            raise Refused(
                f"File access denied: the text for {file.path} is binary (it holds {bad.group()!r}); write plain text."
            )
        self._texts[file.path] = text
        update = f"Updated {file.path}:\n{text}"
        return self._executed(update, text) if file.path == SOLVER else Done(update)

    def _executed(self, shown: str, program: str) -> Done:
        """Lines 20-22: run the solver, store its output as output.txt, and show output and errors."""
        from lab.sandbox import run_untrusted

        # Copies: the paper's program may read the agent's files, but only an action may change them.
        readable = {path: text for path, text in self._texts.items() if path.startswith(FOLDER)}
        # Raises SandboxFailed if the machine failed, not the program.
        result = run_untrusted(program, {**readable, **self._tools}, timeout=SOLVER_SECONDS)
        printed = result.stdout[:MOST_CHARACTERS]
        self._texts[OUTPUT] = printed
        ending = f"The program ended with status {result.returncode}." if result.returncode else ""
        if result.ended != "exit":
            ending = f"The program was stopped: {result.ended}."
        errors = f"{result.stderr[:MOST_CHARACTERS]}\n{ending}".strip()
        return Done(f"{shown}\n{PRINTED}\n{printed}\n{ERRORS}\n{errors}")

    def _listed(self, path: str) -> File:
        if (full_path := resolved(path, self.files)) not in self.files:
            raise Refused(
                f"File access denied: there is no file {path[:200]!r} for you. Use one of these paths as it is "
                f"written: {', '.join(self.files)}."
            )
        return self.files[full_path]

    @property
    def _writable(self) -> str:
        return ", ".join(path for path, file in self.files.items() if file.writable)
