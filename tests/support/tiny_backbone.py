"""A language model of a few thousand random weights with a tokenizer of bytes, and pairs of a few words."""

from __future__ import annotations

from pathlib import Path

from statefactory.benchmark import Pair, Reward, Row, StepRecord

LAYERS = 3


def tiny_backbone(folder: Path, seed: int = 0) -> Path:
    """Write the model and its tokenizer, as a backbone of the user's would lie there."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(["<end>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=LAYERS,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=2048, pad_token_id=0, eos_token_id=0,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def toy_pairs(count: int, domain: str = "toy") -> list[Pair]:
    """Rooms that one walks through: the positive comes nearer and says so, the negative stays where it is."""
    pairs = []
    for number in range(count):
        task, steps = f"{domain}-{number:03}", 2 + number % 3
        near = [StepRecord(f"go {n}", f"nearer by {n}", Reward(0, n / steps, True)) for n in range(1, steps + 1)]
        lost = [StepRecord("wait", "still far", Reward(0, 0, False))] * steps
        positive, negative = (
            Row(f"{task}_{kind}", domain, task, kind, "toy", "synthetic", 0, "", f"reach room {number}", tuple(walk))
            for kind, walk in (("positive", near), ("negative", lost))
        )
        pairs.append(Pair(positive, (negative,)))
    return pairs
