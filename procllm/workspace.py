"""The file workspace: where an agent reads and writes, and where its solver runs after every change (paper §4, B.1).

Files lie in a folder of their own. An action names one of the listed paths, exactly; anything else is refused with a
message that the agent reads, and changes nothing. What a file holds is text to the workspace and never anything more.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from procllm.actions import Append, Read, Write
from procllm.files import ERRORS, OUTPUT, PRINTED, SOLVER, File

MOST_CHARACTERS = 100_000  # of one file; the longest documents here have about 5,000
SOLVER_SECONDS = 10.0
ALLOWED_CONTROLS = "\t\n\r"


class Refused(Exception):
    """An action that the workspace does not do; the message is what the agent reads."""


class Done(NamedTuple):
    """What an action showed. refused: whether it was not done."""

    output: str
    refused: bool = False


class Workspace:
    """A folder with the files of an episode."""

    def __init__(
        self, folder: Path, files: Sequence[File], documents: Mapping[str, str], tools: Mapping[str, Path] | None = None
    ) -> None:
        """Make the files. documents: path -> text of the read-only ones; the others start empty. tools: as in
        `procllm.domains.Instance`.
        """
        self.folder, self.files, self._tools = Path(folder), {file.path: file for file in files}, dict(tools or {})
        for path in self.files:
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            # newline="" here and below: a file reads back as it was written, carriage returns included.
            place.write_text(documents.get(path, ""), encoding="utf-8", newline="")

    def do(self, action: Read | Write | Append) -> Done:
        """The transition (Algorithm 1, lines 16-22). A refused action changes nothing."""
        try:
            return self._change(action) if not isinstance(action, Read) else Done(self._shown(action.path))
        except Refused as refusal:
            return Done(str(refusal), refused=True)

    def text(self, path: str) -> str:
        """What a listed file holds. Raises Refused."""
        with open(self._open(path, os.O_RDONLY), encoding="utf-8", newline="") as file:
            return file.read()

    def _shown(self, path: str) -> str:
        lines = enumerate(self.text(path).split("\n"), 1)
        return "\n".join([f"{path} holds:", *(f"{number}: {line}" for number, line in lines)])

    def _change(self, action: Write | Append) -> Done:
        file = self._listed(action.path)
        if not file.writable:
            raise Refused(f"File access denied: {file.path} is read-only. You may write {self._writable}.")
        text = (self.text(file.path) if isinstance(action, Append) else "") + action.text
        if len(text) > MOST_CHARACTERS:
            raise Refused(
                f"File access denied: {file.path} would have {len(text)} characters, more than {MOST_CHARACTERS}."
            )
        odd = next((c for c in text if (c < " " and c not in ALLOWED_CONTROLS) or "\ud800" <= c <= "\udfff"), None)
        if odd is not None:
            raise Refused(
                f"File access denied: the text for {file.path} is binary (it holds {odd!r}); write plain text."
            )
        self._put(file.path, text)
        shown = f"Updated {file.path}:\n{text}"
        return self._executed(shown, text) if file.path == SOLVER else Done(shown)

    def _executed(self, shown: str, program: str) -> Done:
        """Lines 20-22: run the solver, keep what it printed, and show that and its errors."""
        from lab.sandbox import run_untrusted

        # The program runs in a folder of its own, so nothing it does to files reaches those of the workspace. Raises
        # SandboxFailed where the machine failed under it.
        ran = run_untrusted(program, self._tools, timeout=SOLVER_SECONDS)
        printed = ran.stdout[:MOST_CHARACTERS]
        self._put(OUTPUT, printed)
        ending = f"The program ended with status {ran.returncode}." if ran.returncode else ""
        if ran.ended != "exit":
            ending = f"The program was stopped: {ran.ended}."
        errors = f"{ran.stderr[:MOST_CHARACTERS]}\n{ending}".strip()
        return Done(f"{shown}\n{PRINTED}\n{printed}\n{ERRORS}\n{errors}")

    def _put(self, path: str, text: str) -> None:
        with open(self._open(path, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def _listed(self, path: str) -> File:
        if path not in self.files:
            raise Refused(
                f"File access denied: there is no file {path[:200]!r} for you. Use one of these paths as it is "
                f"written: {', '.join(self.files)}."
            )
        return self.files[path]

    def _open(self, path: str, flags: int) -> int:
        """A handle of a listed file. Nobody here makes links; one that appears is not followed.

        Raises OSError for what the machine did: no action of an agent makes or removes a file, and its solver runs in a
        folder of its own. The harness then plays the episode again, where a refusal would count against the agent.
        """
        place = self.folder / self._listed(path).path
        if place.parent.is_symlink():
            raise Refused(f"File access denied: {path} lies behind a link.")
        try:
            return os.open(place, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ELOOP:  # what O_NOFOLLOW gives for a link
                raise
            raise Refused(f"File access denied: {path} cannot be opened ({error.strerror}).") from None

    @property
    def _writable(self) -> str:
        return ", ".join(path for path, file in self.files.items() if file.writable)
