"""The prompts' text files: each is asked, stands under its name, is a template, and is installed with its package."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import jinja2
import pytest
from setuptools import find_namespace_packages

from agents.answers import MOST_STEPS, MOST_WORDS
from agents.history import ACT
from agents.planning_prompts import graph_prompt, lesson_prompt, plan_prompt
from agents.prompts import react_prompt
from agents.search import ENDING, think_prompt
from lab.machine import versions
from lab.machine.paths import ROOT
from lab.models.prompt_files import FOLDER
from lab.models.prompts import GROUP
from statefactory.planning.prompts import CHOOSE, NONE, PREDICT, choose_prompt, predict_prompt, rewarded_prompt
from statefactory.planning.proposals import PROPOSE, propose_prompt

PROMPTS = [prompt for entry in entry_points(group=GROUP) for prompt in entry.load()()]
FILES = {path.as_posix() for path in ROOT.glob(f"*/{FOLDER}/**/*.md")}


def test_every_file_is_asked_and_every_prompt_is_a_file() -> None:
    assert len(FILES) > 40 and {prompt.file for prompt in PROMPTS} == FILES


def test_a_file_stands_under_its_prompts_name() -> None:
    for path in FILES:
        package, name = path.removeprefix(f"{ROOT.as_posix()}/").removesuffix(".md").split(f"/{FOLDER}/")
        with open(path, encoding="utf-8") as file:
            assert f"\nname: {package}.{name.replace('/', '.')}\n" in file.read(), path


def test_every_text_is_a_template() -> None:
    for text in {text for prompt in PROMPTS for text in (prompt.system, prompt.template)}:
        jinja2.Environment().parse(text)


def test_an_installed_package_has_the_texts() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packages = find_namespace_packages(str(ROOT), include=setup["packages"]["find"]["include"])
    folders = {str(ROOT / name.replace(".", "/")) for name in packages}
    assert "*.md" in setup["package-data"]["*"] and {path.rpartition("/")[0] for path in FILES} <= folders


def test_a_changed_text_is_another_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of before the change is not resumed."""
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    text = tmp_path / "boxes" / FOLDER / "box.md"
    text.parent.mkdir(parents=True)
    hashes = set()
    for wording in ("Which shelf?", "Which rack?"):
        text.write_text(wording)
        versions._hash_of.cache_clear()
        hashes.add(versions.code_hash(["boxes"]))
    versions._hash_of.cache_clear()
    assert len(hashes) == 2


def test_texts_and_code_agree_on_limits_words_and_operators() -> None:
    for prompt, limit in ((plan_prompt, MOST_STEPS), (graph_prompt, MOST_STEPS), (lesson_prompt, MOST_WORDS)):
        assert f"at most {limit}" in prompt("textworld").template
    assert f"the word {NONE}" in choose_prompt("textworld").template and ENDING in think_prompt().system
    operators = {ACT: (react_prompt, rewarded_prompt), CHOOSE: (choose_prompt,), PREDICT: (predict_prompt,)}
    operators[PROPOSE] = (propose_prompt,)
    for operator, prompts in operators.items():
        assert {prompt("textworld").operator for prompt in prompts} == {operator}
