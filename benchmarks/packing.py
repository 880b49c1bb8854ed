"""What packing one image's questions into a row saves: tokens at real sizes, time on small models."""

from __future__ import annotations

import json
import time

from handbench.tune.packing import PackedRow, Turn


def tokens(image: int, question: int, count: int) -> dict[str, object]:
    """Tokens of ``count`` questions about an image, packed and with a row each."""
    row = PackedRow(range(image), [Turn(range(question - 10), range(10))] * count)
    return {
        "benchmark": "packing, tokens",
        "image_tokens": image,
        "question_tokens": question,
        "questions": count,
        "plain": row.plain_tokens,
        "packed": len(row),
        "times_fewer": round(row.plain_tokens / len(row), 2),
    }


def seconds(image: int, question: int, count: int) -> dict[str, object] | None:
    """Seconds of a forward and a backward pass of a small Llama over the same questions both ways."""
    try:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return None
    from handbench.tune.packing import pack, tensors

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=512,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=4096,
        )
    )
    shared = torch.randint(3, 500, (image,)).tolist()
    turns = [Turn(torch.randint(3, 500, (question - 10,)).tolist(), [7] * 10) for _ in range(count)]
    ways = {
        "packed": [tensors(pack([PackedRow(shared, turns)], 0))],
        "plain": [tensors(pack([PackedRow(shared, [turn])], 0)) for turn in turns],
    }
    took = {}
    for name, batches in ways.items():
        begun = time.perf_counter()
        for batch in batches:
            model(**batch).loss.backward()
        took[name] = time.perf_counter() - begun
    return {
        "benchmark": "packing, seconds of forward and backward, Llama of 0.7 million parameters",
        "image_tokens": image,
        "question_tokens": question,
        "questions": count,
        **{name: round(value, 2) for name, value in took.items()},
        "times_faster": round(took["plain"] / took["packed"], 2),
    }


def main() -> None:
    for image, question in ((1000, 60), (576, 60), (25, 25)):
        print(json.dumps(tokens(image, question, 25)))
    for image, question in ((1000, 60), (25, 25)):
        measured = seconds(image, question, 25)
        print(json.dumps(measured or {"benchmark": "packing, seconds", "skipped": "torch is not installed"}))


if __name__ == "__main__":
    main()
