"""Stage 3: the base model, which sees hands and answers freely, and which has never met a choice about an image.

Two thirds of its lessons are free questions about the picture; one third are choices decided by a fact that the prompt
states and that is drawn at random, so that the picture says nothing about it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from torch import nn
from transformers import CLIPImageProcessorPil, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

from handbench.hand.descriptors import PAPER
from handbench.tasks.handvqa import text
from handbench.tune.packing import IGNORED, PackedRow, Turn, pack
from tiny_vlm.pictures import RENDERED, SEEN, Pictures, augment, plain
from tiny_vlm.tower import TOKENS, config
from tiny_vlm.words import FACT, KINDS, TEMPLATE, tokenizer

FREE_SHARE = 0.67
ASIDE = 0.1
"""Weight of the tokens that only copy what the prompt says, beside the one that decides."""


def build(tower: dict[str, Any], seed: int) -> tuple[Any, Any]:
    """Model and processor; the tower's weights are given, the others drawn.

    Weights of variance 1/fan-in and wide embeddings: with the usual small ones it does not begin to learn in minutes.
    """
    torch.manual_seed(seed)
    words = tokenizer()
    image = words.convert_tokens_to_ids("<image>")
    language = LlamaConfig(
        hidden_size=160, num_hidden_layers=4, num_attention_heads=5, num_key_value_heads=5, intermediate_size=448,
        vocab_size=len(words), max_position_embeddings=2048, pad_token_id=words.pad_token_id,
        bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlavaForConditionalGeneration(
        LlavaConfig(
            text_config=language,
            vision_config=config(),
            image_token_index=image,
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
            image_seq_length=TOKENS,
        )
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "vision_tower" not in name and weight.ndim == 2:
                weight.normal_(0, 0.7 if "embed_tokens" in name else weight.shape[1] ** -0.5)
    model.model.vision_tower.load_state_dict(tower)
    model.generation_config.eos_token_id = words.eos_token_id
    model.generation_config.pad_token_id = words.pad_token_id
    pixels = CLIPImageProcessorPil(
        size={"shortest_edge": RENDERED}, crop_size={"height": SEEN, "width": SEEN},
        image_mean=[0.5] * 3, image_std=[0.5] * 3,
    )  # fmt: skip
    processor = LlavaProcessor(
        image_processor=pixels, tokenizer=words, patch_size=16, vision_feature_select_strategy="full",
        num_additional_image_tokens=0, chat_template=TEMPLATE,
    )  # fmt: skip
    return model, processor


class Lessons:
    """Turns about pictures, in tokens."""

    def __init__(self, words: Any) -> None:
        self._words = words
        self._known: dict[str, list[int]] = {}
        self._image = [words.convert_tokens_to_ids("<image>")] * TOKENS
        self.end = words.eos_token_id

    def ids(self, string: str) -> list[int]:
        """Tokens of a text."""
        if string not in self._known:
            self._known[string] = self._words(string, add_special_tokens=False)["input_ids"]
        return self._known[string]

    def shared(self, left: bool) -> list[int]:
        """What every prompt about a picture begins with."""
        look = f"Look at the person's {'left' if left else 'right'} hand in the image."
        return [*self.ids("<s>" + text.SYSTEM), *self._image, *self.ids(look)]

    def free(self, item: int, rank: int) -> tuple[Turn, int]:
        """A question that names no options, and which token of the answer decides."""
        index, a, b = PAPER.items[item]
        descriptor = PAPER.descriptors[index]
        if b is None:
            about = f" the {text.finger_name(a)} at the {text.joint_name(a)} joint"
        else:
            about = f" {text.noun(a)} and {text.noun(b)}"
        said = text.sentence(descriptor.asked_labels[rank], a, b)
        asked = f"{KINDS[descriptor.name]}{about}?"
        return Turn(self.ids(asked), [*self.ids(said), self.end]), 1

    def choice(self, item: int, rank: int, rng: random.Random, fact: bool) -> tuple[Turn, int]:
        """A question with options in a drawn order, after a fact that settles it or after none."""
        index, a, b = PAPER.items[item]
        descriptor = PAPER.descriptors[index]
        order = list(range(len(descriptor.asked_labels)))
        rng.shuffle(order)
        sentences = [text.sentence(label, a, b) for label in descriptor.asked_labels]
        shown = [sentences[place] for place in order]
        whole = text.prompt(shown, "left", "sentence")
        asked = whole.removeprefix("Look at the person's left hand in the image.")
        told = f"{FACT}{sentences[rank]}" if fact else ""
        said = text.lettered(shown)[order.index(rank)]
        return Turn(self.ids(told + asked), [*self.ids(said), self.end]), 0

    def lesson(self, ranks: np.ndarray, rng: random.Random, count: int) -> list[tuple[Turn, int]]:
        """Turns about one picture: a descriptor at random, then one of its questions, then the way of asking."""
        askable = [np.flatnonzero(ranks[PAPER.columns(i)] >= 0) + PAPER.columns(i).start for i in range(5)]
        made: list[tuple[Turn, int]] = []
        while len(made) < count:
            items = askable[rng.randrange(5)]
            if not len(items):
                continue
            item = int(items[rng.randrange(len(items))])
            if rng.random() < FREE_SHARE:
                made.append(self.free(item, int(ranks[item])))
            else:
                options = len(PAPER.descriptors[PAPER.items[item][0]].asked_labels)
                made.append(self.choice(item, rng.randrange(options), rng, fact=True))
        return made


def batch_loss(model: Any, image: Any, rows: list[list[tuple[Turn, int]]], shared: list[list[int]], pad: int) -> Any:
    """Cross-entropy of the answers, the deciding token counting most."""
    packed = pack([PackedRow(start, [turn for turn, _ in row]) for start, row in zip(shared, rows, strict=True)], pad)
    weight = np.where(packed.labels != IGNORED, ASIDE, 0.0)
    for number, row in enumerate(rows):
        end = len(shared[number])
        for turn, decides in row:
            weight[number, end + len(turn.prompt) + decides] = 1.0
            end += len(turn.prompt) + len(turn.answer)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(
            input_ids=torch.from_numpy(packed.tokens), pixel_values=image,
            attention_mask=torch.from_numpy(packed.mask()), position_ids=torch.from_numpy(packed.positions),
        ).logits  # fmt: skip
    before, at = np.nonzero(packed.labels[:, 1:] != IGNORED)
    costs = functional.cross_entropy(
        logits[before, at].float(), torch.from_numpy(packed.labels[before, at + 1]), reduction="none"
    )
    weights = torch.from_numpy(weight[before, at + 1]).float()
    return (costs * weights).sum() / weights.sum()


@torch.no_grad()
def measure(model: Any, lessons: Lessons, held_out: Pictures, kind: str) -> dict[str, float]:
    """Accuracy by descriptor among the answers allowed: ``free`` questions, or choices (``choice``) without a fact."""
    model.eval()
    image, truth = plain(held_out)
    rng = random.Random(5)
    right: dict[str, list[bool]] = {d.name: [] for d in PAPER.descriptors}
    pad = lessons.ids("<pad>")[0]
    for start in range(0, len(image), 20):
        rows, shared, about = [], [], []
        for number in range(start, min(start + 20, len(image))):
            row = []
            for index, descriptor in enumerate(PAPER.descriptors):
                part = PAPER.columns(index)
                items = np.flatnonzero(truth.ranks[number, part] >= 0) + part.start
                for item in rng.sample(items.tolist(), min(3, len(items))):
                    rank = int(truth.ranks[number, item])
                    turn, decides = (
                        lessons.free(item, rank) if kind == "free" else lessons.choice(item, rank, rng, False)
                    )
                    row.append(turn)
                    rivals = _rivals(lessons, item, kind, len(descriptor.asked_labels))
                    about.append((number - start, descriptor.name, turn.answer[decides], rivals, decides))
            rows.append(row)
            shared.append(lessons.shared(bool(truth.left[number])))
        packed = pack([PackedRow(s, r) for s, r in zip(shared, rows, strict=True)], pad)
        logits = model(
            input_ids=torch.from_numpy(packed.tokens), pixel_values=image[start : start + 20],
            attention_mask=torch.from_numpy(packed.mask()), position_ids=torch.from_numpy(packed.positions),
        ).logits.float().numpy()  # fmt: skip
        ends = {row: len(shared[row]) for row in range(len(rows))}
        turns = iter([(row, turn) for row, asked in enumerate(rows) for turn in asked])
        for row, name, answer, rivals, decides in about:
            _, turn = next(turns)
            scores = logits[row, ends[row] + len(turn.prompt) + decides - 1, rivals]
            right[name].append(rivals[int(scores.argmax())] == answer)
            ends[row] += len(turn.prompt) + len(turn.answer)
    model.train()
    return {name: round(float(np.mean(values)), 3) for name, values in right.items()}


def _rivals(lessons: Lessons, item: int, kind: str, options: int) -> list[int]:
    if kind == "choice":
        return [lessons.ids(letter)[0] for letter in text.LETTERS[:options]]
    return [lessons.free(item, rank)[0].answer[1] for rank in range(options)]


def train(
    tower: dict[str, Any], data: Pictures, held_out: Pictures, work: Path, steps: int, seed: int,
    say: Callable[[str], None], rate: float = 2e-3, pictures: int = 24, questions: int = 14,
) -> tuple[Any, Any]:  # fmt: skip
    """Train the base, the tower's weights being kept, or take up a training that was broken off."""
    model, processor = build(tower, seed)
    lessons, path = Lessons(processor.tokenizer), work / "base.pt"
    model.model.vision_tower.requires_grad_(False)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    first = 0
    if path.exists():
        kept = torch.load(path, weights_only=True)
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        first = kept["step"]
    recent: list[float] = []
    for step in range(first, steps):
        model.train()
        model.model.vision_tower.eval()
        draw, rng = random.Random(seed * 1_000_003 + step), np.random.default_rng([seed, 1, step])
        image, truth = augment(data.take(rng.choice(len(data), pictures, replace=False)), rng)
        rows = [lessons.lesson(ranks, draw, questions) for ranks in truth.ranks]
        shared = [lessons.shared(bool(left)) for left in truth.left]
        part = step / steps
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 40) * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * part)))
        loss = batch_loss(model, image, rows, shared, processor.tokenizer.pad_token_id)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        recent = [*recent[-29:], loss.item()]
        if (step + 1) % 40 == 0 or step + 1 == steps:
            draft = path.with_suffix(".part")
            torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, draft)
            draft.replace(path)
            few = held_out.take(slice(0, 100))
            free, choice = (measure(model, lessons, few, kind) for kind in ("free", "choice"))
            say(f"base: step {step + 1} of {steps}, loss {np.mean(recent):.3f}, free {free}, choices {choice}")
    return model.eval(), processor
