"""Text files of prompts: YAML front matter, then each text between tags.

    ---
    name: staircase.move
    version: "1"
    operator: act
    ---
    <system>
    You walk on a staircase.
    </system>
    <user>
    You see: {{ view }}
    </user>
    <free_text>
    Answer with the word "up" or "down" and nothing else.
    </free_text>

The last text may be missing. It ends the user text of a prompt that is answered by `FreeText`; where an answer is bound
to a schema, the schema tells its form.

A text is every character between its tags, line ends included: what `Prompt.digest` covers, and so what recordings are
kept under, is written in the file and nowhere else. An opening tag begins a line, and a closing one ends one. What a
model is shown begins and ends with no blanks (`Prompt.render`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lab.models.prompts import AnswerModel, Fields, FreeText, Prompt, faults

FOLDER = "prompt_texts"
FRONT_MATTER = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
SECTIONS = ["system", "user", "free_text"]
SECTION = re.compile(r"^<(\w+)>(.*?)</\1>$\n*", re.DOTALL | re.MULTILINE)


class _FrontMatter(BaseModel):
    """What stands above the texts. The version is a text: as a number, 1.10 would be 1.1."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    version: str
    operator: str


def read_prompt(
    file: str | Path,
    fields: type[Fields],
    answer: type[AnswerModel],
    parts: Mapping[str, str] = MappingProxyType({}),
    **settings: Any,
) -> Prompt:
    """The prompt of a text file.

    read_prompt("procllm/act.md", ActFields, Response, shorten=shorter)

    file: a package and a path in its folder `prompt_texts`; a Path is taken as it is. parts: what code puts in place of
    `{{ name }}` in the texts, as Jinja text of its own. settings: of `Prompt`. Raises FileNotFoundError, and ValueError
    for a file that is not in the form above or lacks a part; both name the file and what to do.
    """
    if isinstance(file, str):
        package, _, name = file.partition("/")
        file = Path(str(files(package))) / FOLDER / name
    try:
        content = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"{file} is missing. A prompt's wording is a file PACKAGE/{FOLDER}/NAME.md") from None
    head = FRONT_MATTER.match(content)
    if not head:
        raise ValueError(f"{file} has no front matter. Begin it with a line ---, name, version, operator, a line ---")
    front, texts = _front_matter(file, head[1]), _sections(file, content[head.end() :])
    for part, words in parts.items():
        mark = f"{{{{ {part} }}}}"
        if not any(mark in text for text in texts):
            raise ValueError(f"{file} lacks {mark}. Write it where the code's text belongs")
        texts = [text.replace(mark, words) for text in texts]
    system, user, *free_text = texts
    if issubclass(answer, FreeText):
        user += "".join(free_text)
    return Prompt(front.name, front.version, front.operator, system, user, fields, answer, **settings, file=str(file))


def _front_matter(path: Path, text: str) -> _FrontMatter:
    import yaml

    try:
        return _FrontMatter.model_validate(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValidationError) as error:
        reason = faults(error) if isinstance(error, ValidationError) else " ".join(str(error).split())
        raise ValueError(
            f'{path}: {reason}. The front matter is YAML with name, version and operator, each a text (version: "1")'
        ) from None


def _sections(path: Path, body: str) -> list[str]:
    """The texts, in the order of SECTIONS."""
    sections = SECTION.findall(body)
    names = [name for name, _ in sections]
    if len(names) < 2 or names != SECTIONS[: len(names)] or SECTION.sub("", body).strip():
        raise ValueError(
            f"{path} has the sections {names}. After the front matter it needs <system>…</system>, <user>…</user> and "
            "perhaps <free_text>…</free_text>, nothing else; an opening tag begins a line, and a closing one ends one"
        )
    return [text for _, text in sections]
