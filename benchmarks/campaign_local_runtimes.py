"""Campaign: the engine `local` on both runtimes: what prompts send again, what that saves, and whether answers agree.

    python benchmarks/campaign_local_runtimes.py reading     # by prompt, with and without shared beginnings
    python benchmarks/campaign_local_runtimes.py agreement   # on 200 recorded selections and an episode's states
    python benchmarks/campaign_local_runtimes.py repeats     # cold and warm, one thread and two
    python benchmarks/campaign_local_runtimes.py multihop    # exact match on 60 questions of HotpotQA

They need the models of `python -m lab model get`, and all but the first the official data. What came out is in
docs/models.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, islice
from typing import Any

from lab.machine import conversion, weights
from lab.machine.paths import official_data
from lab.models import engines, local
from lab.models.backbone import Answer, Backbone, Ledger, MalformedAnswer
from lab.models.connect import connect, connected
from lab.models.endpoint import Endpoint
from lab.models.local import Serving
from lab.models.prompts import AnswerModel, Fields, Prompt
from lab.runs.experiment import Experiment, spread
from worlds.multihop.metrics import hotpotqa

MODEL = "qwen2.5-coder-0.5b"
RECORDING = "replay:table2_travelplanner-local"
TIMED = 6  # questions of a prompt whose reading is timed
AGREEMENT, REPEATS, MULTIHOP = 200, 40, 60


class HopFields(Fields):
    question: str
    paragraphs: list[str]


class Hop(AnswerModel):
    answer: str


HOP = Prompt(
    "benchmarks.hop", "1", "answer",
    "You answer questions from paragraphs, in as few words as they allow: a name, a date, a number, yes or no.",
    "{% for paragraph in paragraphs %}\n{{ paragraph }}\n\n{% endfor %}\nQuestion: {{ question }}", HopFields, Hop,
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """What a backbone was asked, and the text that it answered; "" where that was no answer."""

    prompt: Prompt
    fields: dict[str, Any]
    text: str = ""

    @property
    def messages(self) -> list[dict[str, str]]:
        """As an endpoint is sent them."""
        return self.prompt.render(self.prompt.fill(**self.fields))


@dataclass
class Listening:
    """A backbone that keeps what it is asked."""

    backbone: Backbone
    heard: list[Question] = field(default_factory=list)

    @property
    def engine(self) -> engines.Engine:
        return self.backbone.engine

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        try:
            answer = self.backbone.ask(prompt, sample, **fields)
        except MalformedAnswer:
            self.heard.append(Question(prompt, fields))
            raise
        self.heard.append(Question(prompt, fields, answer.text))  # rules answer no text
        return answer

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return self.backbone.request(prompt, sample, **fields)


def episodes(setup: Experiment, count: int = 0) -> Iterator[list[Question]]:
    """What is asked in the first episodes, or in all; of a recording, in those that it has."""
    setup = setup.resolved()
    backbone = connected(setup.engine)
    held = getattr(backbone, "tasks", None) or setup.tasks()
    for task in islice((task for task in setup.tasks() if task in held), count or None):
        listening = Listening(backbone)
        setup.play(task, Ledger(listening))
        yield listening.heard


def selecting(engine: str = "rules", data: str = "synthetic", cities: str = "reference") -> Experiment:
    from sdp.studies.table2 import STUDY

    return STUDY.trial(engine=engine, data=data, conditions=["SDP"], options={"policy.cities": cities})


def extracting() -> Experiment:
    from statefactory.studies.table1 import STATEFACTORY, STUDY

    chosen = {"conditions": (STATEFACTORY.name,), "options": {"shortest": True}}
    return STUDY.trial(data="synthetic", limit=2, **chosen)


def acting() -> Experiment:
    from procllm.experiments.episodes import Episodes

    return Episodes(limit=1)


def hops(count: int) -> list[tuple[Question, str]]:
    """HotpotQA's questions with their gold paragraphs, spread evenly, and the right answers."""
    with gzip.open(official_data() / "multihop" / "hotpotqa_full_context.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = spread([json.loads(line) for line in lines], count)
    found = []
    for record in records:
        gold = {title for title, _ in record["supporting_facts"]}
        paragraphs = [f"{title}: {' '.join(sentences)}" for title, sentences in record["context"] if title in gold]
        found.append((Question(HOP, {"question": record["question"], "paragraphs": paragraphs}), record["answer"]))
    return found


def took(chat: Any, messages: list[dict[str, str]], limit: int) -> tuple[float, int]:
    """Seconds of an answer of at most so many tokens, and the tokens of the prompt."""
    began = time.perf_counter()
    request = {"model": "local", "messages": messages, "max_tokens": limit, "temperature": 0.0}
    body = json.loads(chat.chat(request, 3600))
    return time.perf_counter() - began, body["usage"]["prompt_tokens"]


def alone(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same messages with a beginning that no other prompt has."""
    first, *others = messages
    return [first | {"content": f"{os.urandom(4).hex()} {first['content']}"}, *others]


def reading() -> None:
    """By prompt: the share of tokens that an earlier question of the episode began with, and what reading takes."""
    import openvino_genai

    tokenizer = openvino_genai.Tokenizer(str(conversion.folder_of(weights.named(MODEL))))
    played = [
        next(episodes(selecting(cities="propose"))),
        next(episodes(extracting())),
        next(episodes(acting())),
    ]
    tokens, again = Counter[str](), Counter[str]()
    timed: list[Question] = []
    for questions in played:
        seen: list[list[int]] = []
        for question in questions:
            text = tokenizer.apply_chat_template(question.messages, add_generation_prompt=True)
            ids = tokenizer.encode(text, add_special_tokens=False).input_ids.data[0].tolist()
            tokens[question.prompt.name] += len(ids)
            again[question.prompt.name] += max((len(os.path.commonprefix([ids, other])) for other in seen), default=0)
            seen.append(ids)
        count = Counter[str]()
        for question in questions:
            count[question.prompt.name] += 1
            timed += [question] if count[question.prompt.name] <= TIMED else []
    seconds: dict[tuple[str, str, str], float] = defaultdict(float)
    chats = {name: local.loaded(Serving(MODEL, 8192, 2, name)) for name in engines.RUNTIMES}
    for question in timed:
        for runtime, chat in chats.items():
            name = question.prompt.name
            seconds[name, runtime, "as it is"] += took(chat, question.messages, 1)[0]
    for question in timed:
        for runtime, chat in chats.items():
            seconds[question.prompt.name, runtime, "alone"] += took(chat, alone(question.messages), 1)[0]
    for name, total in tokens.items():
        print(f"{name}: {total:,} tokens, {again[name] / total:.0%} sent again")
        for runtime in engines.RUNTIMES:
            shared, fresh = seconds[name, runtime, "as it is"], seconds[name, runtime, "alone"]
            print(f"    {runtime}: {shared:.1f} s, {fresh:.1f} s where nothing is shared")


def recorded() -> list[Question]:
    """Selections on TravelPlanner and llama.cpp's answers, spread over their episodes, in their order."""
    questions = [one for each in episodes(selecting(RECORDING, "official")) for one in each]
    return spread([question for question in questions if question.text], AGREEMENT)


def answered(backbone: Backbone, question: Question) -> str:
    """The parsed answer, as recordings have it, or why there is none."""
    try:
        return backbone.ask(question.prompt, **question.fields).text
    except MalformedAnswer as error:
        return f"no answer: {type(error).__name__}"


def same(one: str, other: str) -> bool:
    """Whether two answers say the same; the reasons that stand before one are not compared."""
    if not one.startswith("{") or not other.startswith("{"):
        return False
    first, second = (json.loads(text) | {"thinking": ""} for text in (one, other))
    return first == second


def q8_0_in_llama() -> Backbone:
    """llama.cpp on the weights that OpenVINO has: another runtime, the same quantisation."""
    pinned = weights.named(MODEL)
    file = weights.folder() / f"{MODEL}-q8_0.gguf"
    if not file.exists():
        conversion.write_q8_0(pinned.path, file)
    model = weights.Model("q8_0", "", "", "answers", {file.name: pinned.q8_0})
    engine = engines.parse(f"local:{MODEL}?runtime=llama.cpp&max_tokens=400")
    start = partial(local.start, model, 8192, 2)
    return Endpoint(engine, f"sha256:{pinned.q8_0}", cache=None, local=start)


def agreement() -> None:
    """How many parsed answers are the same: all runtimes on selections, and on the extractions of an episode."""
    backbones: dict[str, Backbone] = {
        "openvino": connect(f"local:{MODEL}?runtime=openvino&max_tokens=400", cache=None),
        "llama.cpp": connect(f"local:{MODEL}?runtime=llama.cpp&max_tokens=400", cache=None),
        "llama.cpp, Q8_0": q8_0_in_llama(),
    }
    selections, extractions = recorded(), next(episodes(extracting()))
    agree: dict[str, list[bool]] = defaultdict(list)
    for number, question in enumerate([*selections, *extractions]):
        # What llama.cpp answers is in the recording; in 8 bits it is asked every fourth question.
        known = {"llama.cpp": question.text} if question.text else {}
        asked = {name: each for name, each in backbones.items() if name not in known}
        asked = asked if number % 4 == 0 else {name: each for name, each in asked.items() if "Q8_0" not in name}
        texts = {name: answered(backbone, question) for name, backbone in asked.items()}
        texts |= known
        for one, other in combinations(sorted(texts), 2):
            agree[f"{question.prompt.name}: {one} and {other}"].append(same(texts[one], texts[other]))
    for what, each in sorted(agree.items()):
        print(f"{what}: {sum(each)} of {len(each)}")


def repeats() -> None:
    """Answers asked again: warm, with nothing kept before, and on one thread."""
    questions = spread(recorded(), REPEATS)
    texts: dict[str, list[str]] = {}
    for name, threads, backwards in (
        ("cold", 2, False),
        ("warm", 2, False),
        ("one thread", 1, False),
        ("backwards", 2, True),
    ):
        backbone = connect(f"local:{MODEL}?runtime=openvino&max_tokens=400&threads={threads}", cache=None)
        order = questions[::-1] if backwards else questions
        texts[name] = [answered(backbone, question) for question in order][:: -1 if backwards else 1]
        if name != "cold":
            local.stop()
    for name, other in texts.items():
        print(f"{name}: {sum(a == b for a, b in zip(texts['cold'], other, strict=True))} of {len(questions)} as cold")


def multihop() -> None:
    """HotpotQA's exact match with gold paragraphs."""
    right: dict[str, list[bool]] = defaultdict(list)
    for question, truth in hops(MULTIHOP):
        for runtime in engines.RUNTIMES:
            text = answered(connected(f"local:{MODEL}?runtime={runtime}&max_tokens=100"), question)
            right[runtime].append(text[:1] == "{" and hotpotqa(json.loads(text)["answer"], truth).em == 1)
    for runtime, each in right.items():
        print(f"{runtime}: {sum(each)} of {len(each)}")
    print("both or neither:", sum(a == b for a, b in zip(*right.values(), strict=True)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("reading", "agreement", "repeats", "multihop"))
    globals()[parser.parse_args().what]()
