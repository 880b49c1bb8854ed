"""Make the tiny vision-language model of this package anew: its eyes, its base, its tuned adapter.

    python tools/train_tiny_vlm.py work -o src/handbench/models/tiny_vlm

Stages: pictures → tower → base → adapter.  Each takes up its work where it was broken off, and nothing but the seed
decides what comes out (up to rounding, which differs between processors).  Half an hour on two processors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
sys.path.insert(0, str(Path(__file__).parent))

import torch
from PIL import Image
from safetensors.torch import save_file

from handbench import api
from handbench.tune.run import Base, tune
from handbench.tune.settings import TINY
from tiny_vlm import base, pictures, tower

PICTURES, HELD_OUT = 16_000, 500
TOWER_STEPS, BASE_STEPS = 2_600, 280
ADAPTER_PICTURES = 4_000
ROUNDS = (
    replace(TINY, emphasis={"angle": 3.0}),
    replace(TINY, steps=110, emphasis={"x": 3.0, "y": 4.0, "z": 4.0, "angle": 2.0}),
    replace(TINY, steps=250, rate=2e-3, emphasis={"x": 2.0, "y": 4.0, "z": 4.0, "angle": 3.0}),
)
"""The adapter's trainings, each going on from the one before: first angles most, then offsets, then both."""


def main() -> None:
    """Run the stages that are not done yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of pictures and checkpoints")
    parser.add_argument("-o", "--out", type=Path, help="folder of the finished model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=int, default=PICTURES)
    parser.add_argument("--tower-steps", type=int, default=TOWER_STEPS)
    parser.add_argument("--base-steps", type=int, default=BASE_STEPS)
    parser.add_argument("--adapter-pictures", type=int, default=ADAPTER_PICTURES)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.work = given.work.resolve()
    given.work.mkdir(parents=True, exist_ok=True)
    begun = time.time()

    def say(line: str) -> None:
        print(f"{time.time() - begun:6.0f} s  {line}", flush=True)

    folder = given.work / "pictures"
    data = pictures.make(folder, "train", given.pictures, given.seed, given.threads, say)
    held_out = pictures.make(folder, "val", HELD_OUT, given.seed, given.threads, say)
    eyes = tower.train(data, held_out, given.work, given.tower_steps, given.seed, say)
    model, processor = base.train(
        eyes.tower.state_dict(), data, held_out, given.work, given.base_steps, given.seed, say
    )
    lessons = base.Lessons(processor.tokenizer)
    for kind in ("free", "choice"):
        say(f"base, held out, {kind}: {base.measure(model, lessons, held_out, kind)}")
    finished = given.work / "base"
    save(model, processor, eyes, finished)
    record = adapt(data, finished, given.work, given.adapter_pictures, given.seed, say)
    say(f"adapter: {record['trained']}")
    if given.out:
        publish(finished, given.work / f"adapter-{len(ROUNDS)}", given.out)
        say(f"{given.out}: {sum(path.stat().st_size for path in given.out.rglob('*') if path.is_file()) / 1e6:.1f} MB")


def save(model: Any, processor: Any, eyes: tower.Eyes, folder: Path) -> None:
    """Write the base and the heads that regress joints, in 16 bits."""
    model.to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    heads = {**eyes.narrow.state_dict(prefix="narrow."), **eyes.regress.state_dict(prefix="regress.")}
    save_file(
        {name: weight.to(torch.bfloat16).contiguous() for name, weight in heads.items()}, folder / "joints.safetensors"
    )


def adapt(data: pictures.Pictures, folder: Path, work: Path, count: int, seed: int, say: Any) -> dict[str, Any]:
    """Tune the base on questions about the first pictures, as anybody would with ``handbench tune``."""
    spec = f"synth:hands?n={count}&seed={seed}&size={pictures.RENDERED}"
    run = api.ask("handvqa?per_descriptor=all", spec, work / "questions", split="train")
    place = run.folder.images
    place.mkdir(parents=True, exist_ok=True)
    for index in range(count):  # the very pictures that the source would draw
        path = place / f"train-{len(('test', 'train', 'val')) * seed + 1}-{index:06d}.jpg"
        if not path.exists():
            Image.fromarray(data.image[index]).save(path, format="JPEG", quality=95, subsampling=0)
    told = [0.0]

    def progress(done: int, total: int | None, what: str) -> None:
        if time.time() - told[0] > 30:
            told[0] = time.time()
            say(f"adapter: {what} {done} of {total}")

    questions = run.table("questions")
    about = {"lessons": [{"task": "handvqa", "data": spec, "split": "train"}]}
    named, start = Base("tiny", str(folder), "float32", "cpu"), None
    record: dict[str, Any] = {}
    for number, settings in enumerate(ROUNDS):
        out = work / f"adapter-{number + 1}"
        record = tune(
            questions, place, named, replace(settings, seed=seed + number), out, start=start, about=about,
            progress=progress,
        )  # fmt: skip
        start = out
    return record


def publish(finished: Path, adapter: Path, out: Path) -> None:
    """Copy what the package ships: base, processor, heads, adapter; no checkpoint, no list of images."""
    weights = ("config.json", "generation_config.json", "model.safetensors", "joints.safetensors")
    words = ("processor_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
    tuned = ("adapter_config.json", "adapter_model.safetensors", "tune.toml", "trained_on.parquet")
    for source, target, names in ((finished, out, weights + words), (adapter, out / "tuned", tuned)):
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            (target / name).write_bytes((source / name).read_bytes())
    settings = json.loads((out / "tuned" / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = "tiny"  # and not the folder it was made in
    (out / "tuned" / "adapter_config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n")
    record = out / "tuned" / "tune.toml"
    record.write_text(record.read_text().replace(f"{adapter.parent}/", ""))


if __name__ == "__main__":
    main()
