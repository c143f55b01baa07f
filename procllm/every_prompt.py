"""All prompts of ProcLLM, for checks of recordings, and an example question for each operator, for `lab try`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.models.prompts import Prompt
from procllm.files import ANSWER_FILE, NOTES_FILE, REQUEST_FILE, SPECIFICATION_FILE
from procllm.generation import PLANNING
from procllm.prompts import ACTING, CHECKING, NARROWED, VERIFYING


def every_prompt() -> Iterator[Prompt]:
    """The acting and the verifying prompt, in both variants, and the prompt for LLM-TN's networks."""
    yield from (ACTING, NARROWED, VERIFYING, CHECKING, PLANNING)


def examples() -> Iterator[tuple[Prompt, dict[str, Any]]]:
    """An example question for each operator, on synthetic text."""
    files = (SPECIFICATION_FILE, REQUEST_FILE, ANSWER_FILE, NOTES_FILE)
    effect = f"{ANSWER_FILE.path} names every guest of the request, in the order of the alphabet"
    yield ACTING, {
        "files": files, "notes": "", "last_response": "", "last_commands": (), "last_output": "",
        "task": "read_request", "effect": effect,
    }  # fmt: skip
    texts = ((REQUEST_FILE.path, "Guests: Mia, Ben, Zoe"), (ANSWER_FILE.path, "Ben, Mia, Zoe"))
    yield VERIFYING, {"effect": effect, "files": texts}
    yield CHECKING, {"effect": effect, "files": texts}
    yield PLANNING, {
        "specification": "A request lists guests. The answer is the list of their names, sorted by the alphabet.",
        "files": files, "top": "answer_request", "previous": "", "fault": "",
    }  # fmt: skip
