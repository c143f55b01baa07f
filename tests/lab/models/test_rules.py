"""The rules engine, and its seeded noise."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from agents.prompts import react_prompt, written
from asking import ASK, CHECK, SHELVES, BoxFields, Placing, place
from lab.machine.paths import ROOT
from lab.models import judges
from lab.models.answers import Choice
from lab.models.backbone import Backbone
from lab.models.connect import connect
from lab.models.prompts import Prompt, choice
from lab.models.rules import NoRule, oracle, rule
from lab.results.statistics import wilson

BOXES = range(2000)
JUDGED = Path(os.environ.get("LAB_DATA") or "nowhere") / "agentprocessbench"


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def corrupted(backbone: Backbone, boxes: range = BOXES, sample: int = 0) -> set[int]:
    return {box for box in boxes if backbone.ask(ASK, sample=sample, box=box).call.path == "corrupted"}


def test_rules_answer_what_their_function_says(prompt: Prompt) -> None:
    answer = connect("rules").ask(prompt, box=4)
    assert answer.value.shelf == 28 % SHELVES
    assert (answer.call.operator, answer.call.path, answer.call.usd) == ("realize", "rules", 0.0)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 1.0])
def test_noise_keeps_an_answer_with_the_stated_probability(keep: float) -> None:
    kept = len(BOXES) - len(corrupted(connect(f"rules@{keep}")))
    low, high = wilson(kept, len(BOXES), level=0.999)[1:3]
    assert low <= keep <= high


def test_a_corrupted_answer_is_another_one(prompt: Prompt) -> None:
    rules, noise = connect("rules"), connect("rules@0")
    assert all(rules.ask(prompt, box=b).value.shelf != noise.ask(prompt, box=b).value.shelf for b in range(200))


def test_noise_does_not_depend_on_the_order_of_questions(prompt: Prompt, seeded: Random) -> None:
    boxes = list(range(300))
    in_order = {box: connect("rules@0.5").ask(prompt, box=box).value for box in boxes}
    seeded.shuffle(boxes)
    backbone = connect("rules@0.5")
    assert {box: backbone.ask(prompt, box=box).value for box in boxes} == in_order


def test_lowering_the_probability_only_corrupts_more_of_the_same_answers(prompt: Prompt) -> None:
    sets = [corrupted(connect(f"rules@{keep}"), range(500)) for keep in (0.9, 0.6, 0.3)]
    assert sets[0] < sets[1] < sets[2]
    # And what was wrong already is wrong in the same way.
    high, low = connect("rules@0.9"), connect("rules@0.3")
    assert all(high.ask(prompt, box=box).value == low.ask(prompt, box=box).value for box in sets[0])


def test_samples_and_seeds_draw_anew(prompt: Prompt) -> None:
    backbone = connect("rules@0.5")
    first = corrupted(backbone, range(300))
    assert first != corrupted(backbone, range(300), sample=1)
    assert first != corrupted(connect("rules@0.5?seed=1"), range(300))
    assert first == corrupted(connect("rules@0.5?seed=0"), range(300))


@pytest.mark.slow
def test_another_process_draws_the_same_noise() -> None:
    code = "import tests.lab.models.test_rules as t; print(sorted(t.corrupted(t.connect('rules@0.5'), range(200))))"
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}", "PYTHONHASHSEED": "7"}
    told = subprocess.run([sys.executable, "-c", code], env=paths, capture_output=True, text=True, check=True).stdout
    assert json.loads(told) == sorted(corrupted(connect("rules@0.5"), range(200)))


def test_the_noise_of_a_choice_is_another_option_and_one_option_leaves_none() -> None:
    doors = choice("tests.noisy doors", "1", "realize", "", "{{ doors }}", "doors", doors=list[str])
    rule(doors)(lambda seen: Choice(choice=seen.doors[0]))
    noisy, options = connect("rules@0"), ["a", "b", "c"]
    drawn = {noisy.ask(doors, sample=sample, doors=options).value.choice for sample in range(40)}
    assert drawn == {"b", "c"}
    alone = noisy.ask(doors, doors=["a"])
    assert (alone.value.choice, alone.call.path) == ("a", "rules")


def test_the_noise_of_an_answer_in_free_text_is_another_option_that_the_prompt_lists() -> None:
    walking = react_prompt("tests-noisy-walk")
    rule(walking)(lambda seen: written("Left is right.", "left"))
    noisy, asked = connect("rules@0"), {"tools": "left; right; back", "task": "Walk.", "turns": []}
    listed = {"view": "It is dark. Valid actions: left; right; back"}
    drawn = {noisy.ask(walking, sample=sample, **asked, **listed).value.text for sample in range(40)}
    assert drawn == {f"Thought: Left is right.\nAction: {action}" for action in ("right", "back")}
    with pytest.raises(LookupError, match="tests-noisy-walk goes wrong"):
        noisy.ask(walking, **asked, view="It is dark.")


def test_a_missing_rule_or_noise_says_how_to_register_one_and_a_second_is_refused(prompt: Prompt) -> None:
    quiet = replace(prompt, name="tests.quiet")
    with pytest.raises(NoRule, match=r"tests\.quiet.*@lab\.models\.rules\.rule"):
        connect("rules").ask(quiet, box=1)
    rule(quiet)(place)
    with pytest.raises(LookupError, match=r"tests\.quiet.*@lab\.models\.rules\.corruption"):
        connect("rules@0").ask(quiet, box=1)
    with pytest.raises(ValueError, match=r"tests\.quiet has a rule already: place"):
        rule(quiet)(lambda fields: None)


def wrong_verdicts(engine: str, right: bool, boxes: range = BOXES) -> int:
    """How many boxes get a wrong verdict, where the shelf is right or is not."""
    backbone = connect(engine)
    shelves = ((box, (box * 7 + (not right)) % SHELVES) for box in boxes)
    return sum(backbone.ask(CHECK, box=box, shelf=shelf).value.right != right for box, shelf in shelves)


@pytest.mark.parametrize(
    ("engine", "certify", "reject"),
    [
        ("rules?certify=.4&reject=.03", 0.4, 0.03),
        ("rules@0.8?certify=.4", 0.4, 0.2),
        ("rules?judge=GPT-5.2", 41 / 179, 13 / 499),
    ],
)
def test_a_verdict_goes_wrong_at_two_rates(engine: str, certify: float, reject: float) -> None:
    for right, rate in ((False, certify), (True, reject)):
        low, high = wilson(wrong_verdicts(engine, right), len(BOXES), level=0.999)[1:3]
        assert low <= rate <= high


def test_the_two_rates_leave_other_answers_as_they_are(prompt: Prompt) -> None:
    assert corrupted(connect("rules?certify=1&reject=1")) == set()
    assert corrupted(connect("rules@0.7?certify=1")) == corrupted(connect("rules@0.7"))


def test_an_answer_that_no_model_could_give_is_refused() -> None:
    class Lowest(Placing):
        shelf: Literal[0, 1]

    narrow = replace(ASK, narrow=lambda fields: Lowest)
    backbone = connect("rules@0")
    with pytest.raises(ValueError, match=r"tests\.place.*shelf: Input should be 0 or 1"):
        for box in range(20):
            backbone.ask(narrow, box=box)


@pytest.mark.skipif(not (JUDGED / "hotpotqa.jsonl.gz").exists(), reason="LAB_DATA names no AgentProcessBench")
def test_the_stated_rates_of_judges_are_those_of_the_published_labels() -> None:
    truth = {line["id"]: line["step_labels"] for line in lines(JUDGED / "hotpotqa.jsonl.gz")}
    pairs: dict[str, list[tuple[int, int]]] = {}
    for line in lines(JUDGED / "hotpotqa_judges.jsonl.gz"):
        said = ((label, line["step_labels"].get(step)) for step, label in truth[line["id"]].items())
        pairs.setdefault("".join(c for c in line["judge"].lower() if c.isalnum()), []).extend(said)
    assert len(pairs) == len(judges.published()) == 20
    for judge, errors in judges.published().items():
        labels = pairs["".join(c for c in judge.lower() if c.isalnum())]
        wrong, right = ([said for label, said in labels if label == which] for which in (-1, 1))
        assert errors == (wrong.count(1) / len(wrong), right.count(-1) / len(right))


def test_an_oracles_errors_are_those_of_the_episode_where_no_noise_is_registered(prompt: Prompt) -> None:
    def upside_down(fields: Any, answer: Any, random: Any) -> Any:
        return answer.model_copy(update={"shelf": -1})

    quiet = replace(prompt, name="tests.unnoisy")
    names = [quiet.name, prompt.name]
    with oracle(dict.fromkeys(names, place), dict.fromkeys(names, upside_down)):
        assert connect("oracle@0").ask(quiet, box=1).value.shelf == -1
        assert connect("oracle@0").ask(prompt, box=1).value.shelf not in (-1, place(BoxFields(box=1)).shelf)
    with pytest.raises(NoRule, match="No oracle answers"):
        connect("oracle").ask(quiet, box=1)


STAND_INS = """
import sys
from lab.models import rules
from lab.models.connect import connect
from lab.models.rules import NoRule
from procllm.prompts import VERIFYING

if sys.argv[1] == "without":
    rules.entry_points = lambda group: ()
asked = {"effect": "the answer is written", "files": (("files/answer.txt", "yes"),)}
print("standins.procllm.agent" in sys.modules)
try:
    print(connect("rules").ask(VERIFYING, **asked).value.satisfied)
except NoRule as error:
    print(error)
print("standins.procllm.agent" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["with", "without"])
def test_a_stand_in_is_imported_when_first_asked_and_missed_where_not_installed(installed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STAND_INS, installed], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before, answer, after = done.stdout.splitlines()
    assert before == "False" and after == str(installed == "with")
    assert answer == "True" if installed == "with" else answer.startswith("No rule answers prompt procllm.verify.")
