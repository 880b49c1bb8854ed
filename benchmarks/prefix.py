"""Options weighed with an image's beginning shared by its 25 questions, against the plain way; CPU per question.

A LLaVA of 8 million random weights with the 576 image tokens of LLaVA 1.5, HandVQA's own questions, float32, one
thread.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`; says so where torch is not installed.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = 4


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


def main() -> None:
    if find_spec("torch") is None or find_spec("transformers") is None:
        print("prefix sharing is not measured: torch and transformers are not installed", file=sys.stderr)
        return
    sys.path.insert(0, str(ROOT))
    import numpy as np
    import polars as pl
    import torch
    import transformers
    from PIL import Image
    from tests import tiny_models
    from tokenizers import Tokenizer, models, pre_tokenizers

    from handbench import api
    from handbench.runs.parts import make_model

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        asked = api.ask("handvqa?per_descriptor=5", f"synth:hands?n={IMAGES}&seed=0", folder / "run")
        questions = asked.table("questions")
        texts = [*questions["prompt"].cast(pl.String).unique(), *questions["system"].cast(pl.String).unique()]
        found = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text)} | set("ABCD"))
        special = [*tiny_models.SPECIAL, "<image>"]
        vocabulary = {word: number for number, word in enumerate([*special, *found])}
        words = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
        words.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<pad>",
            additional_special_tokens=special[3:], padding_side="left",
        )  # fmt: skip
        tiny_models.save(
            "llava", folder / "model", words=tokenizer, width=256, layers=6, seen=384, vision_width=192, vision_layers=4
        )
        names = questions["images"].list.first().unique(maintain_order=True)
        draw = np.random.default_rng(0)
        for name in names:
            path = folder / "images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draw.integers(0, 255, (384, 384, 3), dtype=np.uint8)).save(path)

        def measure(sharing: str, one_by_one: bool = False) -> tuple[float, pl.Series]:
            model = make_model(f"hf:{folder / 'model'}?dtype=float32&device=cpu&mode=options")
            model.images_at(folder / "images")
            first = questions.filter(pl.col("images").list.first() == names[0])
            list(model.answer(first))  # the self-check and what is done once are not counted
            assert model.facts()["sharing"] == "on", model.facts()["sharing"]
            if sharing == "off":
                model._weigher.sharing = "off: measured without"
            rest = questions.filter(pl.col("images").list.first() != names[0])
            parts = rest.iter_slices(1) if one_by_one else [rest]
            begun = time.process_time()
            rows = pl.concat([frame for part in parts for frame in model.answer(part)])
            spent = (time.process_time() - begun) / rest.height
            return spent, rows.sort("question_id")["option_logprobs"]

        shared, with_sharing = measure("on")
        batched, without = measure("off")
        single, _ = measure("off", one_by_one=True)
        gap = (with_sharing.explode() - without.explode()).abs().max()
        per_image = questions.height / len(names)
        tell("questions per image", per_image, "")
        tell("options, plain, one by one: CPU per question", 1000 * single, "ms")
        tell("options, plain, batched: CPU per question", 1000 * batched, "ms")
        tell("options, image shared: CPU per question", 1000 * shared, "ms")
        tell("image sharing, times faster than one by one", single / shared, "x")
        tell("image sharing, times faster than batched", batched / shared, "x")
        print(json.dumps({"name": "image sharing, greatest difference of log-likelihoods", "value": gap, "unit": ""}))


if __name__ == "__main__":
    main()
