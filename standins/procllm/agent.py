"""The rules for the loop's prompts: notes on documents are taken here, everything else is left to the domain's rules.

A rule reads only the prompt. It recognises its domain by the problem specification, once that is in its notes. It knows
the words of domains and documents, and none that only one condition's network would use. So an agent works on the
answer under any task that it does not understand, and a verifier treats all effects that it cannot check alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module

from lab.models.rules import rule
from procllm import domains, effects
from procllm.actions import Action, Command, Read, Response, Verify, Write, command_of, stated
from procllm.agenda import Agenda
from procllm.domains import NAMES, Domain
from procllm.files import ANSWER, NOTES, REQUEST, SPECIFICATION, TOOLS
from procllm.network import Network, Task
from procllm.prompts import (
    ACTING,
    NARROWED,
    VERIFYING,
    ActFields,
    NarrowedFields,
    VerifyAnswer,
    VerifyFields,
)
from standins.procllm import noise  # noqa: F401  (registers how these answers go wrong)
from standins.procllm.view import DomainRules, Judgement, View, note, sections, without_numbers

# Heading in the notes -> document; and the words by which tasks refer to a document.
DOCUMENTS = {"request": REQUEST, "problem specification": SPECIFICATION, "tools specification": TOOLS}
WORDS = {
    REQUEST: ("request", "origin", "initial", "goal", "document"),
    SPECIFICATION: ("specification", "problem", "rules", "document"),
    TOOLS: ("tool",),
}
NOTING = ("take notes", "understand", "read ", "note ", "review", "record ")  # how tasks about documents begin
UNREADABLE = "No rule can tell from these files whether this holds"
TRIES = 3  # rejections of the same commands before the notes are taken to be wrong
SURE = 0.5  # least certainty with which rules must recognise a specification


@rule(ACTING)
def act(fields: ActFields) -> Response:
    """The next action: note the documents that the task needs, work on it, verify; after many rejections start over."""
    view = view_of(fields)
    thought, action = _next(view)
    return Response(observation=f"last: {view.last or 'nothing'}", thought=thought, action=stated(action))


@rule(NARROWED)
def act_narrowed(fields: NarrowedFields) -> Command:
    """The same action if it may be chosen; else an action that changes nothing, until the turn of the right one comes.

    By turns, a check can come before the rule would have asked for one; its rejection then says nothing about the work.
    """
    response = act(fields)
    if fields.last_commands[-1:] == ("Verify",) and "Verify" not in fields.commands:
        before = act(fields.model_copy(update={"last_commands": fields.last_commands[:-1], "last_output": ""}))
        response = response if isinstance(before.typed, Verify) else before
    if (command := command_of(response.typed)) in fields.commands:
        return Command(command=command, text=getattr(response.typed, "text", ""))
    idle = f"Append {NOTES}" if f"Append {NOTES}" in fields.commands else fields.commands[0]
    return Command(command=idle, text="")


@rule(VERIFYING)
def verify(fields: VerifyFields) -> VerifyAnswer:
    """Judge the effect by the domain's rules, or else by the rules for notes on documents.

    If neither can check it ("the stars are right"), `judge_uncheckable` decides, and the analysis says so.
    """
    effect, files = fields.effect, dict(fields.files)
    rules = rules_for([files.get(SPECIFICATION, ""), sections(files.get(NOTES, "")).get("problem specification", "")])
    judgement = (rules.judge(effect, files) if rules else None) or judge_notes(effect, files)
    judgement = judgement or judge_uncheckable(effect, files)
    if judgement.satisfied and ANSWER in files and NOTES in files and "notes" in effect.lower():
        judgement = judge_notes(effect, files) or judgement  # a goal that asks for an answer and for notes (§6)
    return VerifyAnswer(analysis=judgement.analysis, satisfied=judgement.satisfied)


def view_of(fields: ActFields) -> View:
    """The prompt's fields as a View."""
    last = fields.last_commands[-1] if fields.last_commands else ""
    output = without_numbers(fields.last_output) if last.startswith("Read ") else fields.last_output
    files = frozenset(file.path for file in fields.files)
    return View(fields.task, fields.effect, sections(fields.notes), fields.last_commands, output, files)


def _next(view: View) -> tuple[str, Action]:
    if _stuck(view):
        return "Several checks failed in a row, so my notes must be wrong: I start over.", Write(NOTES, "")
    # The output of a command is shown only once (B.1), so a document is noted before anything else.
    document = next((name for name, path in DOCUMENTS.items() if view.last == f"Read {path}"), None)
    if document and view.output.strip() and view.sections.get(document) != view.output.strip("\n"):
        return f"I keep the {document} in my notes.", note(document, view.output)
    missing = [name for name, path in DOCUMENTS.items() if path in view.files and name not in view.sections]
    documents = documents_of(view)
    if documents and view.rejected:
        missing = [name for name in documents if DOCUMENTS[name] in view.output] or documents
    elif documents:
        missing = [name for name in documents if name in missing]
    if missing:
        return f"I need the {missing[0]}.", Read(DOCUMENTS[missing[0]])
    rules = rules_for([view.sections.get("problem specification", "")])
    if documents or rules is None:
        return "The notes hold what the task asks for.", Verify()
    return "I work on the task.", rules.act(view)


def _stuck(view: View) -> bool:
    """Whether the same two or three commands were repeated and rejected TRIES times."""
    rounds = (view.commands[-period * TRIES :] for period in (2, 3))
    return view.rejected and any(commands == commands[: len(commands) // TRIES] * TRIES for commands in rounds)


def documents_of(view: View) -> list[str]:
    """The documents on which the task wants notes; empty for a task about something else."""
    if not view.task.lower().startswith(NOTING):
        return []
    named = [name for name, path in DOCUMENTS.items() if any(word in view.task.lower() for word in WORDS[path])]
    return [name for name in named if DOCUMENTS[name] in view.files]


def judge_notes(effect: str, files: Mapping[str, str]) -> Judgement | None:
    """Whether the notes have every line of the documents that the effect names; None if it names none."""
    noted_lines = {line.strip() for line in files.get(NOTES, "").split("\n")}
    documents = documents_in(effect, files)
    if NOTES not in files or not documents:
        return None
    for path in documents:
        for line in files[path].split("\n"):
            if line.strip() and line.strip() not in noted_lines:
                return Judgement(False, f"The notes lack this line of {path}: {line.strip()[:80]}")
    return Judgement(True, f"The notes have every line of {', '.join(documents)}.")


def judge_uncheckable(effect: str, files: Mapping[str, str]) -> Judgement:
    """Whether all effect files have text, whatever the effect's words are.

    The files show nothing else about such an effect. Rejecting it forever would stop the episode at a task that no work
    can finish.
    """
    empty = next((path for path, text in files.items() if not text.strip()), "")
    return Judgement(not empty, f"{UNREADABLE}: {effect}. {empty or 'None of them'} is empty.")


def documents_in(effect: str, files: Mapping[str, str]) -> list[str]:
    """The documents among the files that the effect names."""
    return [path for path in files if path in WORDS and any(word in effect.lower() for word in WORDS[path])]


_own: dict[str, DomainRules] = {}


def register(rules: DomainRules) -> None:
    """Let `engine="rules"` play a reader's domain by these rules; for a one-step answer `Domain.rule` is enough."""
    _own[rules.name] = rules


@effects.reader
def unread(domain: Domain, network: Network) -> list[Task]:
    """The tasks of a network whose effect no rule can read, each as often as it is worked off."""
    texts = {SPECIFICATION: domain.specification, NOTES: note("problem specification", domain.specification).text}
    agenda, tasks = Agenda(network), list[Task]()
    while task := agenda.head:
        files = tuple((path, texts.get(path, "something")) for path in task.files)
        if verify(VerifyFields(effect=task.effect, files=files)).analysis.startswith(UNREADABLE):
            tasks.append(task)
        agenda.verify()
    return tasks


def rules_for(specifications: Iterable[str]) -> DomainRules | None:
    """The rules that most surely recognise one of these texts as their specification, or None. A reader's win a tie."""
    texts = [text for text in specifications if text]
    known = (*_own.values(), *(_Answering(d) for d in domains.registered.values() if d.rule), *_all_rules())
    certainty = [max((rules.recognises(text) for text in texts), default=0.0) for rules in known]
    best = max(range(len(known)), key=certainty.__getitem__)
    return known[best] if certainty[best] >= SURE else None


class _Answering(DomainRules):
    """Plays a reader's domain by its `rule`."""

    def __init__(self, domain: Domain) -> None:
        self.name, self.specification, self._domain = domain.name, domain.specification, domain

    def answer(self, request: str) -> str:
        return self._domain.rule(request) if self._domain.rule else ""


@cache
def _all_rules() -> tuple[DomainRules, ...]:
    return tuple(import_module(f"standins.procllm.{name}").RULES for name in NAMES)
