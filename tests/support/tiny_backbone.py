"""A language model of a few thousand random weights with a tokenizer of bytes, and preference pairs of a few words."""

from __future__ import annotations

from pathlib import Path

from statefactory.reward_models.preferences.pairs import Preference, Trajectory

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


def toy_preferences(count: int, domain: str = "toy") -> list[Preference]:
    """Rooms that one walks through: the chosen walk comes nearer and says so, the rejected one stays where it is."""
    rows = []
    for number in range(count):
        goal, steps = f"reach room {number}", 2 + number % 3
        near = tuple((f"go {step}", f"nearer by {step}") for step in range(1, steps + 1))
        lost = tuple(("wait", "still far") for _ in range(steps))
        rising = tuple(step / steps for step in range(1, steps + 1))
        rows.append(
            Preference(
                domain,
                f"{domain}-{number:03}",
                "train",
                Trajectory(goal, near, rising),
                Trajectory(goal, lost, (0.0,) * steps),
            )  # fmt: skip
        )
    return rows
