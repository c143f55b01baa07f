"""The planning-and-acting loop: Algorithm 1 of the paper, with the trace and the contexts of B.1 and F.

`play` plays one instance under a network. Human-TN, LLM-TN and No-TN differ only in the network (see `conditions`).
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
# Verifier setting -> prompts, asked in order until one rejects; the program comes first, since it costs nothing.
JUDGES: Mapping[Judge, tuple[Prompt, ...]] = {MODEL: (VERIFYING,), PROGRAM: (CHECKING,), BOTH: (CHECKING, VERIFYING)}
SHOWN_COMMANDS = 10  # B.1
SHOWN_MALFORMED = 2000  # characters shown of a malformed answer; a model may repeat itself endlessly
# Files that no action changes. A verify context begins with them, first those that all episodes share.
DOCUMENTS = (SPECIFICATION, TOOLS, REQUEST)


class History:
    """What the next action context shows of earlier iterations: the trace, the last answer, the last commands (B.1)."""

    def __init__(self) -> None:
        self.trace, self.response = "", ""
        self.commands: deque[str] = deque(maxlen=SHOWN_COMMANDS)

    @property
    def last(self) -> str:
        """The last command; "" before the first."""
        return self.commands[-1] if self.commands else ""


class Samples:
    """Sample numbers that keep answers independent, between episodes and when a question is repeated within one.

    All episodes begin with the same context. If a cache or a seed gave them the same answers, they would succeed and
    fail together, and confidence intervals over instances would be wrong. Within an episode, the agent could never
    leave a loop.
    """

    def __init__(self, episode: str, attempt: int = 0) -> None:
        """episode: the instance's id, from which its sample numbers follow. attempt: another one has other numbers."""
        name = f"{episode}#{attempt}" if attempt else episode
        self._first = crc32(name.encode()) // 2  # 31 bits, like a seed
        self._asked: Counter[tuple[Any, ...]] = Counter()

    def next(self, prompt: Prompt, fields: Mapping[str, Any]) -> int:
        """The sample number to request: a repeated question (prompt name and fields) gets the next number."""
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
    """Play one instance in its own workspace and check its answer.

    nudge: end each action prompt with a reminder to take notes, which the paper's has not (see `procllm.prompts`).
    form: how actions are stated: "free" as in the paper, "narrowed" to one of the legal commands, or "by turns", to one
    of those whose turn it is (`procllm.actions.in_turn`). verified_by: "model" asks the operator `verify`, as in the
    paper; "program" asks the operator `check`; "both" asks both, and either may reject. attempt: number of this
    attempt, if there are several independent ones. watch: called with the steps so far before each iteration.
    Raises ValueError if horizon is below 1.
    """
    if horizon < 1:
        raise ValueError(f"horizon={horizon}; an episode has at least one iteration")
    if domain.rule:
        register(domain)  # so that the engine `rules` finds it
    workspace, agenda = workspace_of(domain, instance), Agenda(network)
    samples = Samples(instance.id, attempt)
    steps = procllm(agenda, workspace, backbone, samples, horizon, nudge, watch, form, verified_by)
    answer, notes = workspace.text(ANSWER), workspace.text(NOTES)
    verdict = domain.check(instance, answer)
    ended: Literal["done", "horizon"] = "horizon" if agenda.head else "done"
    return Trajectory(instance.id, tuple(steps), ended, tuple(agenda.verified), answer, notes, verdict)


def workspace_of(domain: Domain, instance: Instance) -> Workspace:
    """The initial workspace of an instance."""
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
    """Algorithm 1; returns the steps. agenda: K, already decomposed (line 2)."""
    history, steps = History(), list[Step]()
    for _ in range(horizon):  # line 3
        if watch:
            watch(tuple(steps))
        if (task := agenda.head) is None:  # lines 4-5
            break
        try:
            action = _act(backbone, samples, workspace, history, task, nudge, form)  # lines 6-8
        except MalformedAnswer as error:  # costs an iteration and is not listed as a command
            history.trace = f"JSON error, nothing was done: {error}"
            history.response = shortened(error.text)
            steps.append(Step(task.name, "", "malformed"))
            continue
        history.commands.append(command_of(action))
        if isinstance(action, Verify):  # line 9
            verified, history.trace = _verified(backbone, samples, workspace, task, verified_by)  # lines 10-12
            if verified:  # lines 13-15
                agenda.verify()
            outcome: Outcome = "verified" if verified else "rejected"
        else:  # lines 16-22
            result = workspace.do(action)
            history.trace = result.output
            outcome = "refused" if result.refused else "done"
        steps.append(Step(task.name, command_of(action), outcome))
    return steps


def shortened(text: str) -> str:
    """The beginning of a malformed answer, with a note of how much was cut."""
    omitted = len(text) - SHOWN_MALFORMED
    return f"{text[:SHOWN_MALFORMED]}\n[... {omitted} more characters]" if omitted > 0 else text


def _act(
    backbone: Backbone, samples: Samples, workspace: Workspace, seen: History, task: Task, nudge: bool, form: Form
) -> Action:  # fmt: skip
    """Lines 6-7: build the action context and ask the model for an action. Raises MalformedAnswer."""
    prompt, context = ACTING, {
        "files": tuple(workspace.files.values()), "notes": workspace.text(NOTES), "last_response": seen.response,
        "last_commands": tuple(seen.commands), "last_output": seen.trace, "task": task.name, "effect": task.effect,
        "nudge": nudge,
    }  # fmt: skip
    if form != FREE:
        commands = legal({file: workspace.text(path) for path, file in workspace.files.items()})
        if form == TURNS and (commands := in_turn(commands, seen.last)) == (command_of(Verify()),):
            return Verify()  # the only legal command, so no model is asked
        prompt, context = NARROWED, context | {"commands": commands}
    answer = backbone.ask(prompt, samples.next(prompt, context), **context)
    seen.response = answer.value.model_dump_json(indent=1)
    return answer.value.typed


class Verified(NamedTuple):
    """The verdict on the current task, and the feedback that the trace shows."""

    verified: bool
    feedback: str


def _verified(
    backbone: Backbone, samples: Samples, workspace: Workspace, task: Task, verified_by: Judge
) -> Verified:  # fmt: skip
    """Lines 10-11: ask whether the effect holds, given only it and its files. A malformed verdict rejects."""
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
