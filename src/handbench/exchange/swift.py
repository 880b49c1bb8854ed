"""ms-swift: questions as its JSON lines with the command that tunes on them, and its results read back as replies.

ms-swift pins other versions of transformers and trl than this package's own tuning: it is run by itself, in an
environment of its own, on files.  Rows and flags are those of version 4.6.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.replies.speak import right_replies

VERSION: Final = "4.6"
KEYS: Final = "keys.parquet"
DATA: Final = "questions.jsonl"
TEST: Final = "test.jsonl"
"""What the results answer, where it is there; else they answer what was tuned on."""
COMMANDS: Final = "commands.sh"


@dataclass(frozen=True)
class Plan:
    """What the command says (HandVQA, section 8.1, unless another is given).

    Attributes:
        base: model folder or name.
        rank: of the adapter.
        alpha: its scale.
        rate: learning rate.
        warmup: share of the steps.
        epochs: passes over the rows.
        device_batch: rows at once on one device.
        accumulation: forward passes per step.
        seed: of the training.
        vision: tune the vision encoder too.
        dtype: number format.
        kind: ms-swift's name of the architecture, needed for a folder whose name does not tell, e.g. ``qwen2_5_vl``.
        max_tokens: most tokens of a reply.
        devices: how many work together.
        cpu: on a processor, where the trainer must be told and has no 16-bit numbers.
    """

    base: str
    rank: int = 8
    alpha: int = 32
    rate: float = 1e-4
    warmup: float = 0.05
    epochs: float = 1.0
    device_batch: int = 2
    accumulation: int = 16
    seed: int = 0
    vision: bool = False
    dtype: str = "bfloat16"
    kind: str = ""
    max_tokens: int = 2048
    devices: int = 1
    cpu: bool = False


@dataclass(frozen=True)
class Asked:
    """Questions and where their images are.

    Attributes:
        questions: rows of the ``questions`` table with a truth.
        images: the folder that their image paths are relative to.
    """

    questions: pl.DataFrame
    images: Path


def export(learned: Asked, out: Path, plan: Plan, tested: Asked | None = None) -> int:
    """Write rows, keys and commands.

    Args:
        learned: what is tuned on.
        out: the folder to write to.
        plan: what the commands say.
        tested: what the tuned model is asked; None asks what it was tuned on.

    Returns:
        How many rows are tuned on.

    Raises:
        HandbenchError: a question has no right reply.
    """
    out.mkdir(parents=True, exist_ok=True)
    _write(learned, out / DATA)
    (out / TEST).unlink(missing_ok=True)
    if tested is not None:
        _write(tested, out / TEST)
    asked = tested or learned
    asked.questions.select(pl.col("question_id", "variant").cast(pl.String)).write_parquet(out / KEYS)
    (out / COMMANDS).write_text("\n\n".join(["#!/bin/sh\nset -e", *_commands(out, plan)]) + "\n", encoding="utf-8")
    return learned.questions.height


def _write(asked: Asked, path: Path) -> None:
    replies = right_replies(asked.questions)
    if replies.null_count():
        row = asked.questions.filter(replies.is_null()).row(0, named=True)
        raise HandbenchError(f"export swift: {row['question_id']}: it has no known answer to learn from")
    with path.open("w", encoding="utf-8") as file:
        for row in _rows(asked.questions, replies, asked.images.resolve()):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _rows(questions: pl.DataFrame, replies: pl.Series, images: Path) -> Iterator[dict[str, Any]]:
    texts = questions.select(pl.col("system", "prompt").cast(pl.String), "images")
    for (system, prompt, shown), reply in zip(texts.iter_rows(), replies, strict=True):
        messages = [{"role": "system", "content": system}] if system else []
        messages += [
            {"role": "user", "content": "<image>" * len(shown) + prompt},
            {"role": "assistant", "content": reply},
        ]
        yield {"messages": messages, "images": [str(images / image) for image in shown]}


def _commands(out: Path, plan: Plan) -> list[str]:
    """The command that tunes, and the one that asks the tuned model; each option on a line."""
    data, asked = str((out / DATA).resolve()), str(_asked_file(out).resolve())
    model, dtype = ["--model", plan.base], "float32" if plan.cpu else plan.dtype
    if plan.kind:
        model += ["--model_type", plan.kind, "--template", plan.kind]
    tuned = str((out / "tuned").resolve())
    sft = [
        "swift", "sft", *model, "--dataset", data, "--split_dataset_ratio", "0", "--tuner_type", "lora",
        "--lora_rank", str(plan.rank), "--lora_alpha", str(plan.alpha), "--target_modules", "all-linear",
        "--freeze_vit", "false" if plan.vision else "true", "--learning_rate", f"{plan.rate:g}",
        "--warmup_ratio", f"{plan.warmup:g}", "--num_train_epochs", f"{plan.epochs:g}",
        "--per_device_train_batch_size", str(plan.device_batch),
        "--gradient_accumulation_steps", str(plan.accumulation), "--max_length", "4096",
        "--torch_dtype", dtype, "--attn_impl", "sdpa", "--seed", str(plan.seed), "--output_dir", tuned,
        "--add_version", "false", "--save_strategy", "epoch",
    ]  # fmt: skip
    infer = [
        "swift", "infer", *model, "--adapters", f"{tuned}/last", "--val_dataset", asked, "--load_data_args", "false",
        "--temperature", "0", "--max_new_tokens", str(plan.max_tokens), "--torch_dtype", dtype,
        "--attn_impl", "sdpa", "--infer_backend", "transformers",
        "--result_path", str((out / "results.jsonl").resolve()),
    ]  # fmt: skip
    if plan.cpu:
        sft += ["--use_cpu", "true"]
    note = f"# For ms-swift {VERSION}, in an environment of its own: pip install ms-swift qwen_vl_utils torchvision"
    newest = f'ln -sfn "$(ls -d {shlex.quote(tuned)}/checkpoint-* | sort -V | tail -1)" {shlex.quote(tuned)}/last'
    several = f"NPROC_PER_NODE={plan.devices} " if plan.devices > 1 else ""
    return [note, several + _lines(sft), newest, _lines(infer)]


def _asked_file(out: Path) -> Path:
    return out / (TEST if (out / TEST).exists() else DATA)


def _lines(words: list[str]) -> str:
    """A command with each option on a line of its own."""
    text = " ".join(shlex.quote(word) for word in words[:2])
    for place, word in enumerate(words[2:], 2):
        text += (" \\\n  " if word.startswith("--") and not words[place - 1].startswith("-0") else " ") + shlex.quote(
            word
        )
    return text


def read_results(results: Path, exported: Path) -> pl.DataFrame:
    """Read what ``swift infer`` wrote.

    Args:
        results: its JSON lines, in the order of the rows exported.
        exported: the folder of the export.

    Returns:
        ``question_id, variant, reply, finish``, as ``replies:FILE`` takes them.

    Raises:
        HandbenchError: a line is damaged, of another question, or rows are missing.
    """
    try:
        keys = pl.read_parquet(exported / KEYS)
        wanted = [json.loads(line) for line in _asked_file(exported).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, pl.exceptions.PolarsError):
        raise HandbenchError(f"{exported}: no export of ours: {KEYS}, {DATA} or {TEST} is missing or damaged") from None
    try:
        lines = [line for line in results.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise HandbenchError(f"{results}: {error}") from None
    if len(lines) != len(wanted):
        raise HandbenchError(f"{results}: {len(lines)} results, but {len(wanted)} questions were exported")
    replies = []
    for number, (line, row) in enumerate(zip(lines, wanted, strict=True), 1):
        try:
            found = json.loads(line)
            said, asked = found["response"], _asked(found)
        except (ValueError, KeyError, TypeError, StopIteration):
            raise HandbenchError(f"{results}, line {number}: expected a result with messages and response") from None
        if asked != _asked(row):
            raise HandbenchError(f"{results}, line {number}: is the result of another question than row {number} asked")
        replies.append(str(said))
    return keys.with_columns(pl.Series("reply", replies, dtype=pl.String), pl.lit("stop").alias("finish"))


def _asked(row: dict[str, Any]) -> str:
    """The user's words, image marks aside."""
    said = next(message["content"] for message in row["messages"] if message["role"] == "user")
    return str(said).replace("<image>", "")
