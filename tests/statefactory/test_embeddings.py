"""Embeddings: what a model gives, what is kept of it, and what is said where there is no vector to be had."""

from __future__ import annotations

import json
import multiprocessing
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chat_server import ChatServer, Request, Response, echoes_key
from lab.machine import weights as pinned_weights
from lab.machine.faults import DamagedFile
from lab.models.client import EndpointError, EndpointUnavailable
from lab.models.servers import MissingKey
from statefactory.embeddings import MissingEmbedder, known, open_embedder, stored, weights
from statefactory.embeddings.cache import Cached, VectorFile, unit
from statefactory.embeddings.checks import checks
from statefactory.embeddings.endpoint import BATCH
from statefactory.embeddings.sentence_transformer import SentenceTransformerModel

CANARY = "sk-canary-0123456789abcdef"  # no key: a word that must come up nowhere
STRANGE = ["", " ", "\x00\x07\x1b[2J", "der Becher steht im Regal", "杯子在架子上", "a lone \ud800", "word " * 2000]


class Letters:
    """A model that counts letters. asked: the batches it got."""

    name = "letters"

    def __init__(self, size: int = 26, known_as: str = "letters 1") -> None:
        self.size, self.known_as, self.asked = size, known_as, []

    def identity(self) -> str:
        return self.known_as

    def cut(self, texts: Sequence[str]) -> list[str]:
        return [text for text in texts if len(text) > 1000]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.append(list(texts))
        return np.array([[1.0 + text.count(chr(97 + n)) for n in range(self.size)] for text in texts])


class Says(Letters):
    """A model that gives what it is told."""

    def __init__(self, given: object) -> None:
        super().__init__()
        self.given = given

    def embed(self, texts: Sequence[str]) -> object:
        return self.given


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Cached:
    """The paper's model; its file is not the user's."""
    return open_embedder(cache=VectorFile(tmp_path_factory.mktemp("vectors") / "embeddings.sqlite"))


@pytest.fixture
def file(tmp_path: Path) -> VectorFile:
    return VectorFile(tmp_path / "embeddings.sqlite")


# The models


def test_minilm_is_the_mean_of_the_last_layer_as_its_authors_compute_it(minilm: Cached) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    texts = ["The mug is on the shelf.", "A mug stands on a shelf.", "The oven is hot."]
    folder = str(weights.located(weights.KNOWN[minilm.name]))
    tokens = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        layer = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1)
    expected = torch.nn.functional.normalize((layer * mask).sum(1) / mask.sum(1)).numpy()
    found = minilm.embed(texts)
    assert found.dtype == np.float32 and found.shape == (3, 384)
    assert found == pytest.approx(expected, abs=1e-5)
    assert found[0] @ found[1] > 0.9 > 0.4 > found[0] @ found[2]


@pytest.mark.slow
def test_every_text_has_a_vector_of_length_1_in_its_place(minilm: Cached) -> None:
    texts = [*STRANGE, "mug", *reversed(STRANGE), "mug"]
    vectors = minilm.embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-6)
    alone = {text: minilm.embed([text])[0] for text in texts}
    assert all((vector == alone[text]).all() for text, vector in zip(texts, vectors, strict=True))
    assert minilm.embed([]).shape[0] == 0


@pytest.mark.slow
def test_texts_that_differ_only_behind_what_the_model_reads_are_counted_and_reported_once(
    minilm: Cached, capsys: pytest.CaptureFixture[str]
) -> None:
    # As huggingface/sentence-transformers#4060: 256 word pieces, of which two are added.
    embedder = Cached(minilm.model, minilm.file)
    fits, long = " ".join(["word"] * 254), " ".join(["word"] * 255)
    embedder.embed([fits, "short"])
    assert not embedder.cut and not capsys.readouterr().err
    first, second = embedder.embed([f"{long} red", f"{long} green"])
    assert first @ second == pytest.approx(1, abs=1e-6) and embedder.cut == {f"{long} red", f"{long} green"}
    assert "2 of 2 texts are longer than what all-MiniLM-L6-v2 reads of one" in capsys.readouterr().err
    embedder.embed([f"{long} red", f"{long} blue"])
    assert len(embedder.cut) == 3 and not capsys.readouterr().err
    again = Cached(minilm.model, minilm.file)
    again.embed([f"{long} red"])
    assert again.cut == {f"{long} red"}, "counted also where the vector is a cache hit"


def test_a_folder_is_a_model_too_with_what_is_done_before_and_after(minilm: Cached, tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    pinned = pinned_weights.named(minilm.name)
    for name in pinned.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(pinned.path / name)
    own = SentenceTransformerModel(str(folder))
    assert own.embed(["passage: mug"]) == pytest.approx(minilm.embed(["passage: mug"]), abs=1e-5)
    prefixed = SentenceTransformerModel(str(folder))
    prefixed._entry = replace(prefixed._entry, prefix="passage: ", modules=2)
    assert prefixed.embed([" mug\n"]) == pytest.approx(own.embed(["passage: mug"]), abs=1e-5)
    assert prefixed.identity() != own.identity()
    before = own.identity()
    (folder / "config.json").unlink()
    (folder / "config.json").write_text("{}")
    weights._of_folder.cache_clear()
    assert own.identity() != before


def test_what_is_not_here_is_said_with_the_line_that_gets_it(
    file: VectorFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_MODELS", str(tmp_path))
    with pytest.raises(MissingEmbedder, match="all-mpnet-base-v2: .*python -m lab model get mpnet"):
        open_embedder("all-mpnet-base-v2", cache=file).embed(["mug"])
    assert known()["all-MiniLM-L6-v2"] and not known()["all-mpnet-base-v2"]
    found = {check.what: check for check in checks()}
    assert found["embedding model all-MiniLM-L6-v2"].ok
    assert found["embedding model all-mpnet-base-v2"].fix == "python -m lab model get mpnet"
    assert all(check.ok or check.optional for check in found.values())


@pytest.mark.slow
def test_a_model_that_the_hub_does_not_give_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    program = """
from statefactory.embeddings import MissingEmbedder, open_embedder
for name in ("nli-distilroberta-base-v2", "nobody/nothing", "no folder/at all/here"):
    try:
        open_embedder(name).embed(["mug"])
    except MissingEmbedder as error:
        print(error)
"""
    said = run(program, tmp_path, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hub")).splitlines()
    assert len(said) == 3
    assert "model nli-distilroberta-base-v2 is neither" in said[0]
    assert "hf download sentence-transformers/nli-distilroberta-base-v2" in said[0]
    assert "hf download nobody/nothing" in said[1] and "no folder/at all/here" in said[2]


def test_the_fingerprints_of_pinned_models_stay_what_they_are() -> None:
    # They are in the key of every vector that anybody has in a cache.
    fingerprints = {entry.name: weights.fingerprint(entry) for entry in weights.KNOWN.values() if entry.pinned}
    assert fingerprints == {
        "all-MiniLM-L6-v2": "91f7d483b9afee12fa1b236ad8e835b62998676cd65cfbdf53619c822ec81166",
        "all-mpnet-base-v2": "b0a3779f1aa3bc60e49103c7c688304b12b4272bc476f1c7521daee64dd6954e",
    }


# What is kept


def test_a_text_is_embedded_once_and_the_unseen_ones_in_one_batch_by_length(file: VectorFile) -> None:
    model = Letters()
    embedder = Cached(model, file)
    first = embedder.embed(["a long text", "mug", "b", "mug"])
    second = embedder.embed(["mug", "new", "b"])
    assert model.asked == [["b", "mug", "a long text"], ["new"]]
    assert (second[0] == first[1]).all() and (second[2] == first[2]).all()
    again = Letters()
    assert (Cached(again, VectorFile(file.path)).embed(["mug", "new"]) == second[:2]).all()
    assert again.asked == []


def test_more_texts_than_a_query_takes_come_back_in_order(file: VectorFile) -> None:
    texts = [f"text {n}" for n in range(1203)]
    first = Cached(Letters(), file).embed(texts)
    again = Letters()
    assert (Cached(again, file).embed(texts) == first).all() and again.asked == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = zeroblob(104)",
        "UPDATE vectors SET vector = substr(vector, 1, 52)",
        "UPDATE vectors SET vector = 'text'",
        "UPDATE vectors SET checksum = checksum + 1",
        "UPDATE vectors SET (vector, checksum) = (SELECT vector, checksum FROM vectors ORDER BY key LIMIT 1)",
    ],
)
def test_a_damaged_vector_is_never_given_but_made_anew(file: VectorFile, damage: str) -> None:
    texts = ["mug", "shelf", "oven"]
    expected = Cached(Letters(), file).embed(texts)
    with sqlite3.connect(file.path) as database:
        database.execute(damage)
    model = Letters()
    assert (Cached(model, file).embed(texts) == expected).all() and model.asked
    mended = Letters()
    assert (Cached(mended, file).embed(texts) == expected).all() and not mended.asked


def test_where_a_server_has_another_model_now_the_sizes_tell(file: VectorFile) -> None:
    Cached(Letters(26), file).embed(["mug"])
    with pytest.raises(ValueError, match="vectors of 20 and 26 numbers.*Delete"):
        Cached(Letters(20), file).embed(["mug", "shelf"])


def test_on_a_full_disk_it_goes_on_without_keeping(file: VectorFile, capsys: pytest.CaptureFixture[str]) -> None:
    with file._connection() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    texts = [f"text {n}" for n in range(500)]
    assert Cached(Letters(), file).embed(texts).shape == (500, 26)
    assert "could not be kept" in capsys.readouterr().err
    assert file.read([b"anything"]) == {}


def test_threads_that_ask_the_same_ask_the_model_once(file: VectorFile) -> None:
    model = Letters()
    embedder = Cached(model, file)
    texts = [f"text {n}" for n in range(50)]
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed(texts))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all((vectors == found[0]).all() for vectors in found)
    assert [text for batch in model.asked for text in batch] == sorted(texts, key=lambda text: (len(text), text))


def embed_some(path: Path, start: int) -> None:
    embedder = Cached(Letters(), VectorFile(path))
    for n in range(start, start + 40):
        embedder.embed([f"text {n}", f"text {n + 1}"])


@pytest.mark.slow
def test_processes_share_the_file(file: VectorFile) -> None:
    context = multiprocessing.get_context("fork")
    Cached(Letters(), file).embed(["before the fork"])
    processes = [context.Process(target=embed_some, args=(file.path, start)) for start in (0, 20, 40, 60)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    model = Letters()
    Cached(model, file).embed([f"text {n}" for n in range(101)])
    assert model.asked == []


def test_the_memory_is_bounded(file: VectorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statefactory.embeddings.cache.IN_MEMORY", 3)
    model = Letters()
    embedder = Cached(model, file)
    for n in range(20):
        assert embedder.embed([f"text {n}", "text 0"]).shape == (2, 26)
    assert len(embedder._memory) <= 6
    assert sorted(text for batch in model.asked for text in batch) == sorted(f"text {n}" for n in range(20))


def test_no_model_is_loaded_where_every_text_is_known(tmp_path: Path, minilm: Cached) -> None:
    minilm.embed(["mug", "shelf"])
    program = f"""
import sys
from statefactory.embeddings import open_embedder
from statefactory.embeddings.cache import VectorFile
embedder = open_embedder(cache=VectorFile({str(minilm.file.path)!r}))
print(embedder.embed(["shelf", "mug"]).shape, [m for m in ("torch", "transformers", "openai") if m in sys.modules])
"""
    assert run(program, tmp_path) == "(2, 384) []\n"


def test_the_tour_needs_no_model_since_the_models_vectors_come_with_the_suite(
    tmp_path: Path, minilm: Cached, monkeypatch: pytest.MonkeyPatch
) -> None:
    from statefactory.studies.idea import idea

    embed, texts = Cached.embed, dict[str, None]()
    with monkeypatch.context() as watched:
        watched.setattr(Cached, "embed", lambda self, some: (texts.update(dict.fromkeys(some)), embed(self, some))[1])
        watched.setattr(SentenceTransformerModel, "embed", lambda self, some: pytest.fail(f"not stored: {some[0]}"))
        assert idea().distance < 0.3 and len(texts) > 20
        kept = embed(open_embedder(cache=VectorFile(tmp_path / "none.sqlite")), [*texts])
    np.testing.assert_allclose(kept, minilm.model.embed([*texts]), atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"PK no archive", b"version https://git-lfs.github.com/spec/v1"])
def test_a_damaged_file_of_stored_vectors_is_named_with_the_way_to_restore_it(
    tmp_path: Path, file: VectorFile, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (broken := tmp_path / "vectors.npz").write_bytes(content)
    monkeypatch.setattr(stored, "FILE", broken)
    monkeypatch.setattr(stored, "_stored", stored._stored.__wrapped__)
    with pytest.raises(DamagedFile, match=r"vectors\.npz is damaged: .*Restore it"):
        Cached(Letters(), file).embed(["mug"])


# What is no vector


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], "length 0 for the text 'shelf'"),
        ([[np.nan, 0.0], [1.0, 0.0]], "NaN or infinite value for the text 'mug'"),
        ([[1.0, 0.0], [np.inf, 0.0]], "NaN or infinite value for the text 'shelf'"),
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0], [1.0]], "vectors of one size"),
        ([[], []], r"shape \(2, 0\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
    ],
)
def test_what_is_no_vector_is_an_error_that_names_the_text(file: VectorFile, given: object, what: str) -> None:
    embedder = Cached(Says(given), file)
    for _ in range(2):  # nothing of it was kept
        with pytest.raises(ValueError, match=what):
            embedder.embed(["mug", "shelf"])


# An endpoint


def embeds(vector_of: Callable[[str], list[float]], shuffled: bool = False) -> Callable[[Request], Response]:
    def behave(request: Request) -> Response:
        items = [
            {"object": "embedding", "index": index, "embedding": vector_of(text)}
            for index, text in enumerate(request.body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        data = items[::-1] if shuffled else items
        return Response(body=json.dumps({"object": "list", "data": data, "model": "small", "usage": usage}).encode())

    return behave


def two(text: str) -> list[float]:
    return [float(len(text)), 1.0]


def test_an_endpoint_gets_batches_and_its_order_is_put_right(server: ChatServer, file: VectorFile) -> None:
    server.behave(embeds(two, shuffled=True))
    texts = ["x" * (n % 300) + str(n) for n in range(600)]
    vectors = open_embedder("endpoint:small", cache=file).embed(texts)
    expected = unit([two(text) for text in texts], texts, "expected")
    assert vectors == pytest.approx(expected, abs=1e-6)
    assert [len(request.body["input"]) for request in server.requests] == [BATCH, BATCH, 600 - 2 * BATCH]
    assert all(request.body["model"] == "small" for request in server.requests)
    open_embedder("endpoint:small", cache=file).embed(texts)
    assert server.count == 3


def test_an_endpoint_that_does_not_let_in_is_named_without_the_key(
    server: ChatServer, file: VectorFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    server.behave(echoes_key)
    with pytest.raises(EndpointUnavailable, match="refuses") as error:
        open_embedder("endpoint:small", cache=file).embed(["mug"])
    assert CANARY.removeprefix("sk-") not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("indices", "order"),  # of the items, by their places, that belong to the texts
    [
        ((None, None, None), "abc"),  # doobidoo/mcp-memory-service#612, spring-projects/spring-ai#7019
        ((None, 2, 1), "acb"),  # samfoy/pi-session-search#13: zeros are left out
        ((1, None, 2), "bac"),
        ((2, 0, 1), "bca"),  # deeplethe/utopia#767
        ((0, 0, 0), "indices"),  # rps321321/obsidian-mcp-pro#204
        ((0, None, 1), "indices"),
        (("0", "1", "2"), "indices"),
        (([0], {}, 1.5), "indices"),
    ],
)
def test_the_order_of_an_endpoints_vectors_is_that_of_their_indices(
    server: ChatServer, file: VectorFile, indices: tuple[Any, ...], order: str
) -> None:
    data = [
        {"embedding": [float(place == at) for place in range(3)]} | ({} if index is None else {"index": index})
        for at, index in enumerate(indices)
    ]
    server.behave(lambda request: Response(body=json.dumps({"data": data}).encode()))
    model = open_embedder("endpoint:small", cache=file)
    if order == "indices":
        with pytest.raises(EndpointError, match="indices do not define"):
            model.embed(["a", "b", "c"])
        assert server.count == 2  # a small one too, which tells whether others are answered
    else:
        vectors = model.embed(["a", "b", "c"])
        assert "".join("abc"[int(vector.argmax())] for vector in vectors) == order


@pytest.mark.parametrize(
    "data", ['["x"]', '{"data": [{"embedding": "AAAA"}]}', '{"error": {"message": "no", "code": 400}}']
)
def test_what_is_no_list_of_embeddings_is_quoted_at_once(server: ChatServer, file: VectorFile, data: str) -> None:
    server.behave(lambda request: Response(body=data.encode()))
    with pytest.raises(EndpointError, match=re.escape(data)):
        open_embedder("endpoint:small", cache=file).embed(["a"])
    assert server.count <= 2


def test_an_endpoint_that_nobody_named_is_said_at_once() -> None:
    with pytest.raises(MissingKey, match="endpoint:small .* set OPENAI_BASE_URL"):
        open_embedder("endpoint:small")


def run(program: str, folder: Path, **environment: str) -> str:
    """What a fresh interpreter prints; its cache is in the folder."""
    import os

    settings = {**os.environ, "LAB_CACHE": str(folder / "answers.sqlite"), **environment}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=settings, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
