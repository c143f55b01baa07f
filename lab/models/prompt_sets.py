"""A user's own wording of the suite's prompts: a folder, named by the engine option `prompts`.

    gpt-4o?prompts=mine

    mine/sdp/multihop/decompose.md                   in place of sdp/prompt_texts/multihop/decompose.md
    mine/statefactory.object_centric.perceive.md     in place of a single prompt, by its name

A file has the form of the suite's own (`lab.models.prompt_files`), with the same name, operator and fields; prompts
that the folder lacks keep the suite's wording. A file may also ask for the answer in another form. Its front matter
then has the JSON schema that binds the answer, and a last text converts it to the suite's answer, as Jinja over its
keys:

    schema: {type: object, properties: {object: {type: object}}, required: [object]}
    ---
    …
    <answer>{"thinking": "", "state": {{ object.keys() | list | json }}}</answer>

Recordings store the suite's answer. Rows and manifests identify the wording by the folder's name and a hash of its
files, as in `prompts=mine~3f2a9c01`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError, model_validator

from lab.machine.paths import ROOT
from lab.machine.printing import hint
from lab.models import engines
from lab.models.answers import AnswerModel, FreeText, faults
from lab.models.engines import PROMPTS, BadEngine, Engine
from lab.models.prompt_files import FOLDER, TextFile, read_text_file
from lab.models.prompts import GROUP, Prompt, environment

DIGITS = 8  # of the hash in a run's engine string
Texts = Mapping[str, TextFile]  # path in the folder, without the suffix -> file


@cache
def known_prompts() -> tuple[Prompt, ...]:
    """All prompts of the installed packages, from the entry points of GROUP."""
    return tuple(prompt for entry in entry_points(group=GROUP) for prompt in entry.load()())


def digests(engine: Engine | None = None) -> Mapping[str, str]:
    """Name -> digest of every known prompt, in the wording that the engine selects. Raises BadEngine."""
    return {
        prompt.name: (reworded(prompt, engine.of(prompt.operator)) if engine else prompt).digest
        for prompt in known_prompts()
    }


def reworded(prompt: Prompt, engine: Engine) -> Prompt:
    """The prompt in the wording that this engine selects. Raises BadEngine for a folder that cannot be used."""
    if PROMPTS not in engine.options:
        return prompt
    folder, _, _ = prompt_set = _stated(engine)
    return prompt if prompt.file.startswith(f"{folder}/") else _worded(prompt, *prompt_set)


def stamped(text: str) -> str:
    """An engine string in which the name of its prompt folder is followed by the folder's hash. Raises BadEngine."""
    default, others = engines.split(text)

    def with_hash(part: str) -> str:
        engine = engines.parse(part)
        if engine.kind == "replay" or PROMPTS not in engine.options:
            return part
        folder, name, digest = _stated(engine)
        read_set(folder, name, digest)
        if "~" in engine.options[PROMPTS]:
            _check(folder, name, digest)  # since it was read
            return part
        return part.replace(f"{PROMPTS}={name}", f"{PROMPTS}={name}~{digest}")

    return engines.joined(with_hash(default), {operator: with_hash(part) for operator, part in others.items()})


def _stated(engine: Engine) -> tuple[Path, str, str]:
    """The folder, its name and the hash of its files: the arguments with which `read_set` is cached."""
    name, _, digest = engine.options[PROMPTS].partition("~")
    folder = next((path for path in (Path(name), ROOT / name) if path.is_dir()), None)
    if folder is None:
        raise BadEngine(
            f"Engine option {PROMPTS}={name}: there is no folder {name}, here or in {ROOT}. Make it, with a copy of "
            f"what you want to change, such as {name}/sdp/multihop/query.md of sdp/{FOLDER}/multihop/query.md"
        )
    folder = folder.resolve()
    return folder, name, digest or _digest(folder)


def _check(folder: Path, name: str, digest: str) -> None:
    if digest != _digest(folder):
        raise BadEngine(
            f"Engine option {PROMPTS}={name}~{digest}: {folder} has other files now. Its earlier wording is needed to "
            f"go on with that run; {PROMPTS}={name} begins another run with the new one"
        )


def _digest(folder: Path) -> str:
    parts = [f"{path.relative_to(folder)}\0{path.read_text(encoding='utf-8')}" for path in sorted(folder.rglob("*.md"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


@cache
def read_set(folder: Path, name: str, digest: str) -> Texts:
    """Parse the files of a folder; each must word at least one known prompt.

    Raises BadEngine naming what is wrong, also if the files have changed since the hash was made.
    """
    _check(folder, name, digest)
    try:
        texts = {
            path.relative_to(folder).with_suffix("").as_posix(): read_text_file(path)
            for path in sorted(folder.rglob("*.md"))
        }
        if not texts:
            raise ValueError(f"{folder} holds no file NAME.md")
        for key, text in texts.items():
            matches = [prompt for prompt in known_prompts() if key in _keys(prompt)]
            if not matches:
                keys = {key for prompt in known_prompts() for key in _keys(prompt)}
                raise ValueError(f"{text.path} is the place of no prompt{hint(key, keys)}")
            for prompt in matches:
                _with_text(prompt, text)
    except ValueError as error:
        raise BadEngine(f"Engine option {PROMPTS}={name}: {error}") from None
    return MappingProxyType(texts)


def _keys(prompt: Prompt) -> tuple[str, str]:
    """The keys under which a folder may hold a prompt: its name, and the path of its file in its package."""
    package, _, path = prompt.file.removesuffix(".md").rpartition(f"/{FOLDER}/")
    return prompt.name, f"{package.rpartition('/')[2]}/{path}"


@cache
def _worded(prompt: Prompt, folder: Path, name: str, digest: str) -> Prompt:
    texts = read_set(folder, name, digest)
    text = next((texts[key] for key in _keys(prompt) if key in texts), None)
    return _with_text(prompt, text) if text else prompt


def _with_text(prompt: Prompt, text: TextFile) -> Prompt:
    """The prompt in the wording of a file. Raises ValueError naming what does not fit the prompt."""
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    if text.operator != prompt.operator:
        raise ValueError(
            f"{text.path}: its operator is {text.operator!r}, and that of {prompt.name} is {prompt.operator!r}"
        )
    system, user = text.filled(prompt.parts, isinstance(prompt.answer, type) and issubclass(prompt.answer, FreeText))
    fields = prompt.fields.model_fields
    for template, names in ((system, fields), (user, fields), (text.answer, (text.form or {}).get("properties", {}))):
        try:
            unknown = sorted(find_undeclared_variables(environment().parse(template)) - {*names})
        except TemplateSyntaxError as error:
            raise ValueError(f"{text.path}: no Jinja template: {error.message}, in {error.source}") from None
        if unknown:
            raise ValueError(f"{text.path}: {{{{ {unknown[0]} }}}} is unknown; there are: {', '.join(names)}")
    changes: dict[str, Any] = {"version": text.version, "system": system, "template": user, "file": str(text.path)}
    return replace(prompt, **changes, **_own_form(prompt, text))


def _own_form(prompt: Prompt, text: TextFile) -> dict[str, Any]:
    """The fields of a prompt that change if its file asks for the answer in another form. Raises ValueError."""
    from jsonschema import Draft202012Validator, SchemaError

    if text.form is None:
        if text.answer:
            raise ValueError(f"{text.path}: <answer> needs the schema of what it is written from, in the front matter")
        return {}
    if issubclass(prompt.answer, FreeText):
        raise ValueError(f"{text.path}: {prompt.name} is answered in free text, which no schema binds; leave it out")
    if not text.answer:
        raise ValueError(
            f"{text.path}: a schema needs a last text <answer>…</answer>, which writes {prompt.name}'s own"
        )
    try:
        Draft202012Validator.check_schema(text.form)
    except SchemaError as error:
        raise ValueError(f"{text.path}: schema: {error.message}") from None
    if text.form.get("type") != "object" or not text.form.get("properties"):
        raise ValueError(f"{text.path}: schema: it needs type: object, and properties")
    form, narrow = (json.dumps(text.form, sort_keys=True), text.answer), prompt.narrow
    narrowed: Callable[[Any], type[AnswerModel]] | None = narrow and (lambda fields: _in_form(narrow(fields), *form))
    return {"answer": _in_form(prompt.answer, *form), "narrow": narrowed, "listings": prompt.every_listing}


@cache
def _in_form(own: type[AnswerModel], schema: str, template: str) -> type[AnswerModel]:
    """A class of answers that are bound to another schema and converted to the suite's own."""
    from jinja2 import TemplateError
    from jsonschema import Draft202012Validator

    form = json.loads(schema)

    class InForm(own):  # type: ignore[misc, valid-type]
        @model_validator(mode="wrap")
        @classmethod
        def _read(cls, written: Any, handler: Any) -> Any:
            """Convert to the suite's own answer. Raises ValueError; its message can be shown to the model."""
            if fault := next(Draft202012Validator(form).iter_errors(written), None):
                raise ValueError(f"{fault.json_path}: {fault.message}")
            try:
                return own.model_validate_json(environment().from_string(template).render(written))
            except TemplateError as error:
                raise ValueError(f"no answer can be written from it: {error}") from None
            except ValidationError as error:
                raise ValueError(faults(error)) from None

        @classmethod
        def model_json_schema(cls, *args: Any, **settings: Any) -> dict[str, Any]:
            return dict(form)

        @classmethod
        def stored_as(cls) -> type[AnswerModel]:
            return own

    InForm.__name__ = own.__name__
    return InForm
