"""The rules behind the loop's two prompts: notes on documents here, everything else by the domain's rules.

A rule reads what a prompt holds and nothing more. Which domain it plays it learns from the problem specification, once
that is in its notes. It knows the words of domains and documents, and none that a condition's network alone would use:
an agent works on the answer under any task that it does not understand, and a verifier treats all effects that it
cannot check alike.
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
    CHECKING,
    NARROWED,
    VERIFYING,
    ActFields,
    NarrowedFields,
    VerifyAnswer,
    VerifyFields,
)
from standins.procllm import noise  # noqa: F401  (registers how these answers go wrong)
from standins.procllm.view import DomainRules, Judgement, View, note, sections, without_numbers

# Documents by the heading that they have in the notes, and the words by which tasks speak of them.
DOCUMENTS = {"request": REQUEST, "problem specification": SPECIFICATION, "tools specification": TOOLS}
WORDS = {
    REQUEST: ("request", "origin", "initial", "goal", "document"),
    SPECIFICATION: ("specification", "problem", "rules", "document"),
    TOOLS: ("tool",),
}
NOTING = ("take notes", "understand", "read ", "note ", "review", "record ")  # how tasks about documents begin
UNREADABLE = "No rule can tell from these files whether this holds"
TRIES = 3  # rejections of the same command before the notes are thought wrong
SURE = 0.5  # how surely rules must recognise a specification to play


@rule(ACTING)
def act(fields: ActFields) -> Response:
    """The next action: note what documents the task needs, do the task, verify; start over after many rejections."""
    view = view_of(fields)
    thought, action = _next(view)
    return Response(observation=f"last: {view.last or 'nothing'}", thought=thought, action=stated(action))


@rule(NARROWED)
def act_narrowed(fields: NarrowedFields) -> Command:
    """The same action where it may be chosen; else one that changes nothing, until its turn comes.

    A check that came by turn, before the rule would have asked for one, says nothing of what it has done so far.
    """
    response = act(fields)
    if fields.last_commands[-1:] == ("Verify",) and "Verify" not in fields.commands:
        before = act(fields.model_copy(update={"last_commands": fields.last_commands[:-1], "last_output": ""}))
        response = response if isinstance(before.typed, Verify) else before
    if (command := command_of(response.typed)) in fields.commands:
        return Command(command=command, text=getattr(response.typed, "text", ""))
    idle = f"Append {NOTES}" if f"Append {NOTES}" in fields.commands else fields.commands[0]
    return Command(command=idle, text="")


@rule(CHECKING)
@rule(VERIFYING)
def verify(fields: VerifyFields) -> VerifyAnswer:
    """The judgement of the first that can check the effect: the domain's rules, then those of notes on documents.

    Neither can check "the stars are right": `judge_uncheckable` decides then, and the analysis says so.
    """
    effect, files = fields.effect, dict(fields.files)
    rules = rules_for([files.get(SPECIFICATION, ""), sections(files.get(NOTES, "")).get("problem specification", "")])
    judged = (rules.judge(effect, files) if rules else None) or judge_notes(effect, files)
    judged = judged or judge_uncheckable(effect, files)
    if judged.satisfied and ANSWER in files and NOTES in files and "notes" in effect.lower():
        judged = judge_notes(effect, files) or judged  # a goal that asks for an answer and for notes as well (§6)
    return VerifyAnswer(analysis=judged.analysis, satisfied=judged.satisfied)


def view_of(fields: ActFields) -> View:
    """The prompt's fields, taken apart."""
    last = fields.last_commands[-1] if fields.last_commands else ""
    output = without_numbers(fields.last_output) if last.startswith("Read ") else fields.last_output
    files = frozenset(file.path for file in fields.files)
    return View(fields.task, fields.effect, sections(fields.notes), fields.last_commands, output, files)


def _next(view: View) -> tuple[str, Action]:
    if _stuck(view):
        return "Several checks failed in a row, so my notes must be wrong: I start over.", Write(NOTES, "")
    # What the last command showed is gone with the next one (B.1), so a document is noted before anything else.
    shown = next((name for name, path in DOCUMENTS.items() if view.last == f"Read {path}"), None)
    if shown and view.output.strip() and view.sections.get(shown) != view.output.strip("\n"):
        return f"I keep the {shown} in my notes.", note(shown, view.output)
    missing = [name for name, path in DOCUMENTS.items() if path in view.files and name not in view.sections]
    about = documents_of(view)
    if about and view.rejected:
        missing = [name for name in about if DOCUMENTS[name] in view.output] or about
    elif about:
        missing = [name for name in about if name in missing]
    if missing:
        return f"I need the {missing[0]}.", Read(DOCUMENTS[missing[0]])
    rules = rules_for([view.sections.get("problem specification", "")])
    if about or rules is None:
        return "The notes hold what the task asks for.", Verify()
    return "I work on the task.", rules.act(view)


def _stuck(view: View) -> bool:
    """Whether the same two or three commands were rejected again and again."""
    rounds = (view.commands[-period * TRIES :] for period in (2, 3))
    return view.rejected and any(commands == commands[: len(commands) // TRIES] * TRIES for commands in rounds)


def documents_of(view: View) -> list[str]:
    """The documents that the task is to take notes on; empty for a task about something else."""
    if not view.task.lower().startswith(NOTING):
        return []
    spoken = [name for name, path in DOCUMENTS.items() if any(word in view.task.lower() for word in WORDS[path])]
    return [name for name in spoken if DOCUMENTS[name] in view.files]


def judge_notes(effect: str, files: Mapping[str, str]) -> Judgement | None:
    """Whether the notes have every line of the documents beside them that the effect speaks of; None if of none."""
    kept = {line.strip() for line in files.get(NOTES, "").split("\n")}
    spoken = _spoken_of(effect, files)
    if NOTES not in files or not spoken:
        return None
    for path in spoken:
        for line in files[path].split("\n"):
            if line.strip() and line.strip() not in kept:
                return Judgement(False, f"The notes lack this line of {path}: {line.strip()[:80]}")
    return Judgement(True, f"The notes have every line of {', '.join(spoken)}.")


def judge_uncheckable(effect: str, files: Mapping[str, str]) -> Judgement:
    """Whether none of the effect files is empty, whatever the effect's words are.

    Its files show no more of such an effect, and to refuse it for ever would stop the episode at a task that no work
    can finish.
    """
    empty = next((path for path, text in files.items() if not text.strip()), "")
    return Judgement(not empty, f"{UNREADABLE}: {effect}. {empty or 'None of them'} is empty.")


def _spoken_of(effect: str, files: Mapping[str, str]) -> list[str]:
    """The documents among the files that the effect speaks of."""
    return [path for path in files if path in WORDS and any(word in effect.lower() for word in WORDS[path])]


_own: dict[str, DomainRules] = {}


def register(rules: DomainRules) -> None:
    """Let `engine="rules"` play a domain of your own that is not answered in one go; see `Domain.rule` for others."""
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
    """The rules that most surely recognise one of these texts as its problem specification; of equals, a reader's."""
    texts = [text for text in specifications if text]
    known = (*_own.values(), *(_Answering(each) for each in domains.registered.values() if each.rule), *_all_rules())
    sure = [max((rules.recognises(text) for text in texts), default=0.0) for rules in known]
    best = max(range(len(known)), key=sure.__getitem__)
    return known[best] if sure[best] >= SURE else None


class _Answering(DomainRules):
    """Plays a reader's domain by its rule."""

    def __init__(self, domain: Domain) -> None:
        self.name, self.specification, self._domain = domain.name, domain.specification, domain

    def answer(self, request: str) -> str:
        return self._domain.rule(request) if self._domain.rule else ""


@cache
def _all_rules() -> tuple[DomainRules, ...]:
    return tuple(import_module(f"standins.procllm.{name}").RULES for name in NAMES)
