"""Stage 2: the vision tower, taught to regress joints and to make every label linearly readable.

The tower is a LeViT without its shrinking blocks: four strided convolutions make 5 x 5 tokens, four attention blocks
look at all of them.  (With LeViT's own Subsample blocks, which have no residual, it does not get off the ground.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from torch import nn
from transformers import LevitConfig, LevitModel

from handbench.hand.descriptors import PAPER
from tiny_vlm.pictures import SEEN, Pictures, Truth, augment, plain

WIDTH = 256
CELLS = 5
TOKENS = CELLS * CELLS
CHOICES = 4

_ITEMS = len(PAPER.items)
_COUNTS = torch.tensor([len(PAPER.descriptors[index].asked_labels) for index, _, _ in PAPER.items])
_BEYOND = torch.arange(CHOICES)[None] >= _COUNTS[:, None]
_PAIRS = torch.from_numpy(PAPER._pair_rows)


def config() -> LevitConfig:
    """The tower's shape."""
    return LevitConfig(
        image_size=SEEN, patch_size=16, hidden_sizes=[WIDTH] * 3, num_attention_heads=[8] * 3, depths=[4],
        key_dim=[32] * 3, mlp_ratio=[2] * 3, attention_ratio=[1] * 3, hidden_size=WIDTH, down_ops=[[""]],
    )  # fmt: skip


class Eyes(nn.Module):
    """Tower and the heads that teach it."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = LevitModel(config())
        self.cell = nn.Linear(WIDTH, 21)
        self.narrow = nn.Linear(WIDTH, 64)
        self.regress = nn.Sequential(nn.Linear(TOKENS * 64, 512), nn.GELU(), nn.Linear(512, 63 + 42 + 15 + 1))
        self.labels = nn.Linear(WIDTH, _ITEMS * CHOICES)

    def forward(self, image: Any) -> dict[str, Any]:
        """Joints (N, 21, 3), pixels (N, 21, 2), angles (N, 15), left (N,), labels (N, 107, 4), cells (N, 21, 25)."""
        tokens = self.tower(image, output_hidden_states=True).hidden_states[-1]
        out = self.regress(self.narrow(tokens).flatten(1)).float()
        return {
            "joints": out[:, :63].reshape(-1, 21, 3) * 0.25,
            "pixels": out[:, 63:105].reshape(-1, 21, 2) * 0.5,
            "angles": out[:, 105:120] * 40 + 140,
            "left": out[:, 120],
            "labels": self.labels(tokens.mean(1)).float().reshape(-1, _ITEMS, CHOICES).masked_fill(_BEYOND, -1e4),
            "cells": self.cell(tokens).float().transpose(1, 2),
        }


def loss_of(out: dict[str, Any], truth: Truth) -> Any:
    """Joints, differences of the pairs asked about, angles, labels, the cell that holds each joint, the side."""
    joints, pixels = (torch.from_numpy(values).float() for values in (truth.joints, truth.pixels))
    difference = lambda points: points[:, _PAIRS[:, 0]] - points[:, _PAIRS[:, 1]]  # noqa: E731
    ranks = torch.from_numpy(truth.ranks).flatten()
    place = ((pixels + 1) / 2 * CELLS).long().clamp(0, CELLS - 1)
    cell = place[..., 1] * CELLS + place[..., 0]
    return (
        10 * (out["joints"] - joints).abs().mean()
        + 5 * (difference(out["joints"]) - difference(joints)).abs().mean()
        + 2 * (out["pixels"] - pixels).abs().mean()
        + (out["angles"] - torch.from_numpy(truth.angles).float()).abs().mean() / 20
        + 2 * functional.cross_entropy(out["labels"].flatten(0, 1), ranks, ignore_index=-1)
        + functional.cross_entropy(out["cells"].flatten(0, 1), cell.flatten())
        + 0.3 * functional.binary_cross_entropy_with_logits(out["left"], torch.from_numpy(truth.left).float())
    )  # fmt: skip


@torch.no_grad()
def measure(eyes: Eyes, held_out: Pictures) -> dict[str, float]:
    """Joint error (hand sizes), angle error (degrees), and accuracy by the linear layer for each descriptor."""
    eyes.eval()
    image, truth = plain(held_out)
    parts = [eyes(image[start : start + 100]) for start in range(0, len(image), 100)]
    out = {key: torch.cat([part[key] for part in parts]).numpy() for key in parts[0]}
    eyes.train()
    asked = truth.ranks >= 0
    right = out["labels"].argmax(-1) == truth.ranks
    found = {
        "joints": float(np.linalg.norm(out["joints"] - truth.joints, axis=-1).mean()),
        "angles": float(np.abs(out["angles"] - truth.angles).mean()),
        "side": float(((out["left"] > 0) == truth.left).mean()),
    }
    for index, descriptor in enumerate(PAPER.descriptors):
        part = PAPER.columns(index)
        found[descriptor.name] = float(right[:, part][asked[:, part]].mean())
    return {name: round(value, 3) for name, value in found.items()}


def train(
    data: Pictures,
    held_out: Pictures,
    work: Path,
    steps: int,
    seed: int,
    say: Callable[[str], None],
    rate: float = 2e-3,
) -> Eyes:
    """Train the tower, or take up a training that was broken off.

    Args:
        data: pictures to learn from.
        held_out: pictures to measure on.
        work: folder of the checkpoint.
        steps: batches of 64.
        seed: of weights, order and augmentation.
        say: told how it goes.
        rate: highest learning rate.
    """
    torch.manual_seed(seed)
    eyes, batch, path = Eyes(), 64, work / "tower.pt"
    wide = [p for p in eyes.parameters() if p.ndim > 1]
    flat = [p for p in eyes.parameters() if p.ndim <= 1]
    groups = [{"params": wide, "weight_decay": 0.05}, {"params": flat, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    first = 0
    if path.exists():
        kept = torch.load(path, weights_only=True)
        eyes.load_state_dict(kept["eyes"])
        optimiser.load_state_dict(kept["optimiser"])
        first = kept["step"]
    recent: list[float] = []
    for step in range(first, steps):
        rng = np.random.default_rng([seed, step])  # of the step, so that a broken training goes on as it would have
        image, truth = augment(data.take(rng.choice(len(data), batch, replace=False)), rng)
        part = step / steps
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * part)))
        with torch.autocast("cpu", torch.bfloat16):
            out = eyes(image)
        loss = loss_of(out, truth)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(eyes.parameters(), 1.0)
        optimiser.step()
        recent = [*recent[-99:], loss.item()]
        if (step + 1) % 200 == 0 or step + 1 == steps:
            draft = path.with_suffix(".part")
            torch.save({"eyes": eyes.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, draft)
            draft.replace(path)
            say(f"tower: step {step + 1} of {steps}, loss {np.mean(recent):.3f}, held out {measure(eyes, held_out)}")
    return eyes.eval()
