"""Parameters from the command line: inputs like those of public bug reports, each named after its report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.yaml12 import dump, load
from lab.notebooks import commands
from lab.notebooks.documents import NotebookError, read
from lab.notebooks.parameters import Parameter, check_choices, declared, parse, resolve
from small_notebooks import notebook

REFUSED = "refused"
CASES = [
    ("yaml/pyyaml#173", "list", [0.0, 0.5], "[1e-3, 0.5]", [0.001, 0.5]),
    ("hiyouga/LlamaFactory#8505", "dict", {}, "{learning_rate: 5e-5}", {"learning_rate": 5e-5}),
    ("mauvilsa/jsonargparse#67", "float | None", 1e-6, "1e-5", 1e-5),
    ("soedinglab/MMseqs2#648", "float", 0.5, ".1", 0.1),
    ("yaml/pyyaml#365", "int", 0, "010", 10),
    ("opensanctions/opensanctions#3845", "list", [1], "[0555567]", [555567]),
    ("yaml/pyyaml#107", "list", ["a"], "[02142]", ["02142"]),
    ("lukeed/mri#9", "str", "", "0132568", "0132568"),
    ("yaml/pyyaml#395", "int", 0, "1:10", REFUSED),
    ("yaml/pyyaml#272", "list", [5, 3], "[1:1:1]", REFUSED),
    ("facebookresearch/hydra#1163", "int", 0, "1_1_1", REFUSED),
    ("facebookresearch/hydra#1163, texts", "list", ["a"], "[1_1_1]", ["1_1_1"]),
    ("facebookresearch/fairseq#2935", "int", 1, "1.0", REFUSED),
    ("tomasz-c/nft-blackhole#4", "list", ["de"], "[de, no]", ["de", "no"]),
    ("home-assistant/core#69955", "dict", {}, "{country: NO}", {"country": "NO"}),
    ("pydantic/pydantic#1130", "list", ["a"], "[false]", ["false"]),
    ("pydantic/pydantic#579", "bool", False, "snap", REFUSED),
    ("allenai/allennlp#3778", "list", [1], "[true]", REFUSED),
    ("fastapi/fastapi#453", "list", [1], "[1.5]", REFUSED),
    ("cloudtools/stacker#291", "dict", {}, "{version: 2012-10-17}", {"version": "2012-10-17"}),
    ("yaml/yaml#33", "dict", {}, "{2016-01-01: a}", {"2016-01-01": "a"}),
    ("endoflife-date/endoflife.date#266", "list", ["a"], "[3.10]", ["3.10"]),
    ("kislyuk/yq#201", "dict", {}, "{08: a}", {"08": "a"}),
    ("eemeli/yaml#657", "dict", {}, "{gitsha: 61e9540}", REFUSED),
    ("eemeli/yaml#657, texts", "list", ["a"], "[61e9540]", ["61e9540"]),
    ("ros2/rcl#1323", "float", 0.5, "nan", REFUSED),
    ("viash-io/viash#445", "list", [0.5], "[-.inf]", [-math.inf]),
    ("yaml/pyyaml#167", "float", 0.5, "-1.#QNAN", REFUSED),
    ("yaml/pyyaml#165", "dict", {}, "{steps: 30, steps: 5}", REFUSED),
    ("yaml/pyyaml#235", "dict", {}, "{a: &a [x], b: [*a, *a]}", REFUSED),
    ("omry/omegaconf#300", "list", [1], "1", REFUSED),
    ("omry/omegaconf#324", "int", 5, "[1, 2]", REFUSED),
    ("facebookresearch/hydra#834", "list", [["a"]], '[["a", 1], ["b", 2]]', [["a", "1"], ["b", "2"]]),
    ("whole numbers are floats, too", "float", 0.5, "2", 2.0),
    ("no value", "int | None", 3, "none", None),
    ("a text stays as it is", "str", "", "no", "no"),
    ("nteract/papermill#396", "list", [5, 3], "[1, 2]", [1, 2]),
    ("nteract/papermill#371", "dict", {}, '{"aviral": "srivastava"}', {"aviral": "srivastava"}),
]


@pytest.mark.parametrize(
    ("annotation", "default", "text", "value"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_value_is_what_its_declaration_says_or_refused(annotation: str, default: Any, text: str, value: Any) -> None:
    parameter = Parameter("p", annotation, default, "the help")
    if value is REFUSED:
        with pytest.raises(NotebookError, match=r"parameter p\S* got .*p: .*the help"):
            parse(text, parameter)
    else:
        assert repr(parse(text, parameter)) == repr(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("annotation", "default", "text", "message"),
    [
        ("list", [0.5], "[0.5, 1:30]", r"parameter p\[1\] got '1:30', Input should be a valid number: p: list"),
        ("list", [[3, 2]], "[[3, 2], [5, x]]", r"parameter p\[1\]\[1\] got 'x', Input should be a valid integer"),
        ("dict[str, int]", {}, "{steps: many}", r"parameter p.steps got 'many', Input should be a valid integer"),
        ("list[str]", [], "[a, ]\n", None),
        ("dict[str, str]", {}, "{a: }", "parameter p.a got None, Input should be a valid string"),
        ("bool", True, "no", r"got 'no', which is no bool \(write true or false\)"),
        ("dict", {}, "{a: 1, a: 2}", "the key 'a' is given twice in line 1, column 1"),
        ("list", [], "[" * 3000, "nested too deeply"),
    ],
)
def test_the_message_names_the_wrong_element(annotation: str, default: Any, text: str, message: str | None) -> None:
    parameter = Parameter("p", annotation, default, "the help")
    if message is None:
        assert parse(text, parameter) == ["a"]
        return
    with pytest.raises(NotebookError, match=message):
        parse(text, parameter)


def test_a_value_that_two_notebooks_read_as_two_types_is_refused(tmp_path: Path) -> None:
    a = notebook(tmp_path / "a.ipynb", parameters="questions: int = 50  # how many")
    b = notebook(tmp_path / "b.ipynb", parameters='questions: str = "synthetic"  # which')
    with pytest.raises(NotebookError, match="questions is of another type in each of a, b. Run them apart"):
        resolve([a, b], [("questions", "50")])
    assert resolve([a], [("questions", "050")]) == {"questions": 50}


@pytest.mark.parametrize(
    ("line", "given", "message"),
    [
        (
            'lengths: list = ["short", "medium"]  # also "long"',
            "[long, shrt]",
            "lengths got 'shrt'; did you mean 'short'",
        ),
        ("samples: list = [0, 2, 6]  # faulty pages", "[0, 3]", "parameter samples got 3; choose from 0, 2, 6"),
        (
            'domain: str = "units"  # one of "travel", "units", "blocks"',
            "trvel",
            "parameter domain got 'trvel'; did you mean 'travel'\\? choose from units, travel, blocks",
        ),
        ('judges: list = ["GPT-5.2"]  # published ones', "[GPT-5.2, GPT-9]", "no judge 'GPT-9'"),
        ("recordings: list = []  # to replay", "[none-such]", "engine 'replay:none-such' cannot answer"),
    ],
)
def test_a_choice_that_there_is_not_is_named_before_a_kernel_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, given: str, message: str
) -> None:
    monkeypatch.setattr(commands, "execute", lambda *_: pytest.fail("a notebook was executed"))
    path, name = notebook(tmp_path / "a.ipynb", parameters=line), line.partition(":")[0]
    with pytest.raises(ValueError, match=message):
        commands.run([str(path)], [(name, given)], tmp_path)
    check_choices(declared(read(path), "a")["lengths"], ["long", "short"]) if name == "lengths" else None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(st.characters(max_codepoint=0x24F, exclude_categories=("C",)))
    | st.sampled_from(["no", "1e3", "010", "0o7", "0x1F", "1:30", "2020-01-01", "null", "~", "", ".inf", "="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abno01:~", max_size=3), inner, max_size=3),
)  # fmt: skip


@pytest.mark.slow
@given(plain)
def test_what_is_dumped_is_read_again_as_it_was(value: Any) -> None:
    assert repr(load(dump(value, sort_keys=False))) == repr(value)
