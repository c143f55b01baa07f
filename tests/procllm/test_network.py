"""Task networks: both shapes, what is refused, the order of subtasks, and how tasks are decomposed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procllm.agenda import Agenda
from procllm.files import paths
from procllm.network import TOP, BadNetwork, Method, Network, read, write

KNOWN = paths(solver=True, tools=True)

# In the shape of figure 1: bare numbers as keys, `verify` beside `effect`, `name` beside `task`, a bare file name.
FIGURE = """
{"m-top": {"task": "process user request", "subtasks": {"2": "choose a flight", "1": "understand the request"},
           "verify": "the answer has the right form",
           "verify_files": {"file1": "problem_specification.txt", "file2": "answer.txt"}},
 "m-flight": {"name": "choose a flight", "subtasks": {"1": "understand the tool", "2": "write the flight down"},
              "effect": "notes have a flight", "effect_files": {"file1": "files/notes.txt"}}}
"""


def raw(**methods: dict) -> str:
    """A network's JSON, with effect and file filled in where a method leaves them out."""
    full = {"effect": "it is done", "effect_files": {"file1": "answer.txt"}}
    return json.dumps({head: full | method for head, method in methods.items()})


def test_the_shape_of_figure_1_is_read_with_its_other_spellings_and_bare_file_names() -> None:
    network = read(FIGURE, KNOWN)
    assert network.methods[0].subtasks == ("understand the request", "choose a flight")
    assert network.methods[0].files == ("files/problem_specification.txt", "answer.txt")
    assert network.find_first_relevant("choose a flight") == network.methods[1]
    assert network.find_first_relevant("write the flight down") is None


def test_subtasks_run_as_the_numbers_of_their_keys_count_up_and_not_as_texts_sort() -> None:
    subtasks = {f"subtask{n}": f"task {n}" for n in (10, 2, 1, 11, 3)}
    network = read(raw(m={"task": TOP, "subtasks": subtasks}))
    assert network.methods[0].subtasks == ("task 1", "task 2", "task 3", "task 10", "task 11")


def test_the_tree_lists_parents_before_their_subtasks_in_order() -> None:
    assert list(read(FIGURE, KNOWN).tree()) == [
        (0, TOP), (1, "understand the request"), (1, "choose a flight"), (2, "understand the tool"),
        (2, "write the flight down"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[1]", "object"),
        ("{}", "'process user request'"),
        (f'{{"m": {"9" * 5000}}}', "no JSON"),
        (raw(m={"task": TOP, "subtasks": {f"subtask{'9' * 5000}": "a"}}), "number of their place"),
        (raw(m={"task": TOP, "effect": "fine\nEffect to reach: nothing"}), "one line"),
        (raw(m={"task": TOP, "subtasks": {"1": "half \ud800"}}), "one line"),
        (raw(**{f"m{n}": {"task": TOP if n == 0 else f"t{n}", "subtasks": {"1": f"t{n + 1}"}} for n in range(1200)}),
         "1200 methods"),
        (raw(**{f"m{n}": {"task": TOP if n == 0 else f"t{n}", "subtasks": {"1": f"t{n + 1}", "2": f"t{n + 1}"}}
                for n in range(60)}), "decomposes into"),
        ("{", "no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"m": 1}', "'m' is no JSON object"),
        ('{"m": {"task": "process user request"}, "m": {}}', "'m' occurs twice"),
        (raw(m={"task": TOP, "effect": " "}), "'m' has no effect"),
        (raw(m={"task": TOP, "effect_files": {}}), "'m' has no effect_files"),
        (raw(m={"task": ""}), "'m' has no task"),
        (raw(m={"task": TOP, "effect": 3}), "effect must be a text"),
        (raw(m={"task": TOP, "precondition": "x"}), "'precondition'"),
        (raw(m={"task": TOP, "verify": "x"}), "under two names"),
        (raw(m={"task": TOP, "subtasks": ["a"]}), "subtasks must be an object"),
        (raw(m={"task": TOP, "subtasks": {"first": "a"}}), "'first'"),
        (raw(m={"task": TOP, "subtasks": {"1": "a", "subtask1": "b"}}), "same number"),
        (raw(m={"task": TOP, "subtasks": {"1": " "}}), "empty text"),
        (raw(m={"task": TOP, "effect_files": {"file1": "../etc/passwd"}}), "'../etc/passwd'"),
        (raw(m={"task": "something else"}), "'process user request'"),
        (raw(m={"task": "Process user request"}), "'process user request' is not spelt as the task of 'm'"),
        (
            # As langchain4j/langchain4j#5584.
            raw(m={"task": TOP, "subtasks": {"1": "Solve it"}}, b={"task": "solve  it"}),
            "Subtask of 'm', 'Solve it' is not spelt as the task of 'b', 'solve  it'",
        ),
        (raw(m={"task": TOP, "subtasks": {"1": TOP}}), f"{TOP} -> {TOP}"),
        (
            raw(m={"task": TOP, "subtasks": {"1": "a"}}, a={"task": "a", "subtasks": {"1": "b"}},
                b={"task": "b", "subtasks": {"1": "c", "2": "a"}}),
            "a -> b -> a",
        ),
        (raw(m={"task": TOP}, a={"task": "a", "subtasks": {"1": "a"}}), "a -> a"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_used_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(BadNetwork, match=None) as caught:
        read(text, KNOWN)
    assert named in str(caught.value)


def test_methods_that_nothing_leads_to_are_named_and_allowed() -> None:
    network = read(raw(m={"task": TOP}, other={"task": "solve it"}, again={"task": TOP}))
    assert network.unreachable == ("other", "again")


plain = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"])
words = st.text(plain, min_size=1).map(str.strip).filter(bool)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Networks without a cycle: a task decomposes into later ones only."""
    tasks = [TOP, *draw(st.lists(words.filter(TOP.__ne__), unique=True, max_size=6))]
    files = st.lists(st.sampled_from(KNOWN), min_size=1, unique=True).map(tuple)
    return Network(
        tuple(
            Method(f"m{place}", task, draw(words), draw(files), tuple(draw(later)))
            for place, task in enumerate(tasks)
            for later in [
                st.lists(st.sampled_from(tasks[place + 1 :]), unique=True) if tasks[place + 1 :] else st.just([])
            ]
        )
    )


@pytest.mark.slow
@given(networks(), st.sampled_from(["appendix", "figure"]))
def test_what_is_written_in_either_shape_is_read_again_as_it_was(network: Network, shape: str) -> None:
    assert read(write(network, shape), KNOWN) == network


@given(networks())
def test_every_task_is_verified_after_its_subtasks_once_for_each_time_that_it_is_listed(network: Network) -> None:
    def worked_off(task: str) -> list[str]:
        method = network.find_first_relevant(task)
        return [name for subtask in (method.subtasks if method else ()) for name in worked_off(subtask)] + [task]

    agenda, order = Agenda(network), []
    while agenda.head is not None:
        order.append(agenda.head.name)
        agenda.verify()
        assert len(order) <= sum(1 for _ in network.tree())
    assert order == agenda.verified == worked_off(TOP)


def test_a_subtask_that_is_listed_twice_is_played_twice_with_its_own_subtasks() -> None:
    network = read(raw(m={"task": TOP, "subtasks": {"1": "check", "2": "build", "3": "check"}},
                       c={"task": "check", "subtasks": {"1": "look"}}))  # fmt: skip
    agenda, order = Agenda(network), []
    while agenda.head is not None:
        order.append(agenda.head.name)
        agenda.verify()
    assert order == ["look", "check", "build", "look", "check", TOP]


def test_subtasks_run_in_order_and_a_parent_comes_back_to_be_worked_on() -> None:
    agenda, order = Agenda(read(FIGURE, KNOWN)), []
    while agenda.head is not None:
        order.append(agenda.head.name)
        agenda.verify()
    assert order == [
        "understand the request", "understand the tool", "write the flight down", "choose a flight", TOP,
    ]  # fmt: skip


def test_a_primitive_task_is_verified_by_its_name_in_the_notes_and_the_files_of_its_parent() -> None:
    agenda = Agenda(read(FIGURE, KNOWN))
    agenda.verify()
    assert agenda.head is not None
    assert agenda.head.name == "understand the tool"
    assert "understand the tool" in agenda.head.effect
    assert agenda.head.files == ("files/notes.txt",)


def test_without_methods_the_one_task_is_neither_decomposed_nor_repeated() -> None:
    agenda = Agenda(Network(()))
    assert agenda.pending == (TOP,)
    agenda.verify()
    assert agenda.head is None
