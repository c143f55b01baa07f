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

The last text is optional. It is appended to the user text of a prompt that is answered by `FreeText`. For other
answers it is not used, since the schema states their form.

A text is every character between its tags, line ends included. So the wording that `Prompt.digest` covers, on which
recordings depend, is in the file and nowhere else. An opening tag begins a line, and a closing tag ends one.
`Prompt.render` strips blanks at both ends of a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lab.models.answers import AnswerModel, FreeText, faults
from lab.models.prompts import Fields, Prompt

FOLDER = "prompt_texts"
FRONT_MATTER = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
SECTIONS = ("system", "user", "free_text", "answer")
SECTION = re.compile(r"^<(\w+)>(.*?)</\1>$\n*", re.DOTALL | re.MULTILINE)


class _FrontMatter(BaseModel):
    """The fields above the texts. The version is a text: as a number, 1.10 would be 1.1."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    version: str
    operator: str
    form: dict[str, Any] | None = Field(default=None, alias="schema")


@dataclass(frozen=True)
class TextFile:
    """A parsed prompt file. form, answer: schema and template of a user's answer format (`lab.models.prompt_sets`)."""

    path: Path
    name: str
    version: str
    operator: str
    form: Mapping[str, Any] | None
    system: str
    user: str
    free_text: str = ""
    answer: str = ""

    def filled(self, parts: Sequence[tuple[str, str]], free: bool) -> tuple[str, str]:
        """The system and the user text with `parts` inserted. free: the answer is free text."""
        texts = [self.system, self.user + self.free_text if free else self.user]
        for part, words in parts:
            texts = [text.replace(_mark(part), words) for text in texts]
        return texts[0], texts[1]


def _mark(part: str) -> str:
    return f"{{{{ {part} }}}}"


def read_prompt(
    file: str | Path,
    fields: type[Fields],
    answer: type[AnswerModel],
    parts: Mapping[str, str] = MappingProxyType({}),
    **settings: Any,
) -> Prompt:
    """Make a prompt from a text file.

    read_prompt("procllm/act.md", ActFields, Response, shorten=shorter)

    file: a package and a path in its folder `prompt_texts`, or the file's own Path. parts: name -> Jinja text that
    replaces `{{ name }}` in the texts. settings: other fields of `Prompt`. Raises FileNotFoundError, and ValueError for
    a file that is not in the form above or lacks the mark of a part; both name the file and what to do.
    """
    if isinstance(file, str):
        package, _, name = file.partition("/")
        file = Path(str(files(package))) / FOLDER / name
    text = read_text_file(file)
    for part in parts:
        if not any(_mark(part) in words for words in (text.system, text.user, text.free_text)):
            raise ValueError(f"{file} lacks {_mark(part)}. Write it where the code's text belongs")
    inserted = tuple(parts.items())
    system, user = text.filled(inserted, issubclass(answer, FreeText))
    return Prompt(
        text.name, text.version, text.operator, system, user, fields, answer, **settings, parts=inserted, file=str(file)
    )


def read_text_file(path: Path) -> TextFile:
    """Parse a prompt file. Raises FileNotFoundError, and ValueError for another form; both name the file."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing. A prompt's wording is a file PACKAGE/{FOLDER}/NAME.md") from None
    head = FRONT_MATTER.match(content)
    if not head:
        raise ValueError(f"{path} has no front matter. Begin it with a line ---, name, version, operator, a line ---")
    front = _front_matter(path, head[1])
    texts = _sections(path, content[head.end() :])
    header = front.name, front.version, front.operator, front.form
    return TextFile(path, *header, **texts)  # type: ignore[arg-type]


def _front_matter(path: Path, text: str) -> _FrontMatter:
    import yaml

    try:
        return _FrontMatter.model_validate(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValidationError) as error:
        reason = faults(error) if isinstance(error, ValidationError) else " ".join(str(error).split())
        raise ValueError(
            f'{path}: {reason}. The front matter is YAML with name, version and operator, each a text (version: "1")'
        ) from None


def _sections(path: Path, body: str) -> dict[str, str]:
    """Tag -> text. Raises ValueError for missing, unknown or misplaced tags."""
    sections = SECTION.findall(body)
    names = [name for name, _ in sections]
    in_order = [name for name in SECTIONS if name in names]
    if names[:2] != [*SECTIONS[:2]] or names != in_order or SECTION.sub("", body).strip():
        raise ValueError(
            f"{path} has the sections {names}. After the front matter it needs <system>…</system>, <user>…</user> and "
            "perhaps <free_text>…</free_text>, nothing else; an opening tag begins a line, and a closing one ends one"
        )
    return dict(sections)
