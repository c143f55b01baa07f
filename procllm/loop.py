"""The planning-and-acting loop: Algorithm 1 of the paper, with the trace and the contexts of B.1 and F.

`play` plays one instance under a network. Human-TN, LLM-TN and No-TN differ in the network alone: `conditions` has
them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from zlib import crc32

from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompts import Prompt
from procllm.actions import Action, Verify, command_of, in_turn, legal
from procllm.agenda import Agenda
from procllm.domains import Domain, Instance, register
from procllm.files import ANSWER, FAILED, NOTES, PASSED, REQUEST, SPECIFICATION, TOOLS, listed
from procllm.network import Network, Task
from procllm.prompts import ACTING, CHECKING, NARROWED, VERIFYING
from procllm.trajectory import Outcome, Step, Trajectory
from procllm.workspace import Workspace

HORIZON = 100  # iterations (§5)
Form = Literal["free", "narrowed", "by turns"]
FREE: Form = "free"
NARROW: Form = "narrowed"
TURNS: Form = "by turns"
Judge = Literal["model", "program", "both"]
MODEL: Judge = "model"
PROGRAM: Judge = "program"
BOTH: Judge = "both"
# Who verifies -> who is asked, one after another, until one says no; a program first, since it costs nothing.
JUDGES: Mapping[Judge, tuple[Prompt, ...]] = {MODEL: (VERIFYING,), PROGRAM: (CHECKING,), BOTH: (CHECKING, VERIFYING)}
SHOWN_COMMANDS = 10  # B.1
SHOWN_MALFORMED = 2000  # characters of an answer that could not be read; a model may repeat itself without end
# What no action changes, the same for all episodes first: a verify context begins with these.
DOCUMENTS = (SPECIFICATION, TOOLS, REQUEST)


class History:
    """What the next action context shows of the past: the trace, the last answer, the last commands (B.1)."""

    def __init__(self) -> None:
        self.trace, self.response = "", ""
        self.commands: deque[str] = deque(maxlen=SHOWN_COMMANDS)

    @property
    def last(self) -> str:
        """The last command, "" at the start."""
        return self.commands[-1] if self.commands else ""


class Samples:
    """Independent samples: of one question in two episodes, and of one asked again in an episode.

    All episodes begin with the same context. If a cache or a seed gave them the same answers, they would succeed and
    fail together, and no interval over instances would hold; and a loop within an episode could never be left.
    """

    def __init__(self, episode: str, attempt: int = 0) -> None:
        """episode: what its samples are drawn by, the instance's id. attempt: another one has other samples."""
        name = f"{episode}#{attempt}" if attempt else episode
        self._first = crc32(name.encode()) // 2  # 31 bits, as seeds have
        self._asked: Counter[tuple[Any, ...]] = Counter()

    def next(self, prompt: Prompt, fields: Mapping[str, Any]) -> int:
        """The sample to ask for: the question is the prompt's name with its fields; asked again, it is the next one."""
        question = (prompt.name, *fields.values())
        self._asked[question] += 1
        return self._first + self._asked[question] - 1


def play(
    domain: Domain,
    instance: Instance,
    network: Network,
    backbone: Backbone,
    horizon: int = HORIZON,
    nudge: bool = False,
    watch: Callable[[Sequence[Step]], None] | None = None,
    form: Form = FREE,
    verified_by: Judge = MODEL,
    attempt: int = 0,
) -> Trajectory:
    """Play one instance in a workspace of its own, and have its answer checked. Raises ValueError for no iterations.

    nudge: end each action prompt with a reminder to take notes, which the paper's has not (see `procllm.prompts`).
    form: how actions are stated, freely as in the paper; "narrowed", as one of the commands that are legal; "by turns",
    as one of those whose turn it is (`procllm.actions.in_turn`). verified_by: the operator `verify`, as in the paper;
    "program", the operator `check` instead; "both", where either may refuse. attempt: one of several independent ones.
    watch: is shown the steps so far before each iteration.
    """
    if horizon < 1:
        raise ValueError(f"horizon={horizon}; an episode has at least one iteration")
    if domain.rule:
        register(domain)  # by which the engine `rules` finds it
    workspace, agenda = workspace_of(domain, instance), Agenda(network)
    samples = Samples(instance.id, attempt)
    steps = procllm(agenda, workspace, backbone, samples, horizon, nudge, watch, form, verified_by)
    answer, notes = workspace.text(ANSWER), workspace.text(NOTES)
    verdict = domain.check(instance, answer)
    ended: Literal["done", "horizon"] = "horizon" if agenda.head else "done"
    return Trajectory(instance.id, tuple(steps), ended, tuple(agenda.verified), answer, notes, verdict)


def workspace_of(domain: Domain, instance: Instance) -> Workspace:
    """The workspace that an episode of the instance starts with."""
    documents = {
        REQUEST: instance.request,
        SPECIFICATION: domain.specification,
        TOOLS: domain.tools_specification,
    }
    return Workspace(listed(domain.solver, bool(domain.tools_specification)), documents, instance.tools)


def procllm(
    agenda: Agenda,
    workspace: Workspace,
    backbone: Backbone,
    samples: Samples,
    horizon: int,
    nudge: bool = False,
    watch: Callable[[Sequence[Step]], None] | None = None,
    form: Form = FREE,
    verified_by: Judge = MODEL,
) -> list[Step]:
    """Algorithm 1. agenda: K, decomposed (line 2)."""
    seen, steps = History(), list[Step]()
    for _ in range(horizon):  # line 3
        if watch:
            watch(tuple(steps))
        if (task := agenda.head) is None:  # lines 4-5
            break
        try:
            action = _act(backbone, samples, workspace, seen, task, nudge, form)  # lines 6-8
        except MalformedAnswer as error:  # costs an iteration, and is no command
            seen.trace = f"JSON error, nothing was done: {error}"
            seen.response = shortened(error.text)
            steps.append(Step(task.name, "", "malformed"))
            continue
        seen.commands.append(command_of(action))
        if isinstance(action, Verify):  # line 9
            verified, seen.trace = _verified(backbone, samples, workspace, task, verified_by)  # lines 10-12
            if verified:  # lines 13-15
                agenda.verify()
            outcome: Outcome = "verified" if verified else "rejected"
        else:  # lines 16-22
            done = workspace.do(action)
            seen.trace = done.output
            outcome = "refused" if done.refused else "done"
        steps.append(Step(task.name, command_of(action), outcome))
    return steps


def shortened(text: str) -> str:
    """The beginning of an answer that could not be read, with a word on what is left out."""
    left = len(text) - SHOWN_MALFORMED
    return f"{text[:SHOWN_MALFORMED]}\n[... {left} more characters]" if left > 0 else text


def _act(
    backbone: Backbone, samples: Samples, workspace: Workspace, seen: History, task: Task, nudge: bool, form: Form
) -> Action:  # fmt: skip
    """Lines 6-7: the action context, and the action that the model chooses in it. Raises MalformedAnswer."""
    prompt, context = ACTING, {
        "files": tuple(workspace.files.values()), "notes": workspace.text(NOTES), "last_response": seen.response,
        "last_commands": tuple(seen.commands), "last_output": seen.trace, "task": task.name, "effect": task.effect,
        "nudge": nudge,
    }  # fmt: skip
    if form != FREE:
        commands = legal({file: workspace.text(path) for path, file in workspace.files.items()})
        if form == TURNS and (commands := in_turn(commands, seen.last)) == (command_of(Verify()),):
            return Verify()  # nothing else is left, so that nobody is asked
        prompt, context = NARROWED, context | {"commands": commands}
    answer = backbone.ask(prompt, samples.next(prompt, context), **context)
    seen.response = answer.value.model_dump_json(indent=1)
    return answer.value.typed


class Verified(NamedTuple):
    """Whether the current task is done, and what the trace says of it."""

    verified: bool
    feedback: str


def _verified(
    backbone: Backbone, samples: Samples, workspace: Workspace, task: Task, verified_by: Judge
) -> Verified:  # fmt: skip
    """Lines 10-11: the verify context holds the effect and its files alone. A verdict that is none passes nothing."""
    paths = (*(path for path in DOCUMENTS if path in task.files), *task.files)
    files = tuple((path, workspace.text(path)) for path in dict.fromkeys(paths))
    context, feedback = {"effect": task.effect, "files": files}, ""
    for prompt in JUDGES[verified_by]:
        try:
            verdict = backbone.ask(prompt, samples.next(prompt, context), **context).value
        except MalformedAnswer as error:
            return Verified(False, f"{FAILED}: the check gave no verdict ({error})")
        if not verdict.satisfied:
            return Verified(False, f"{FAILED}: {verdict.analysis}")
        feedback = f"{PASSED}: {verdict.analysis}"
    return Verified(True, feedback)
