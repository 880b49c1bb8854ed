"""Rendered hands: truth and pixels per second on one core at 256 pixels.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import json
import time

COUNT = 60


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit}), flush=True)


def main() -> None:
    """Time recipes with truth, and pictures without and with supersampling."""
    from handbench.synth.sample import annotate, recipe, render

    render(recipe(1, 0))
    begun = time.process_time()
    recipes = [recipe(0, index) for index in range(COUNT)]
    truths = [annotate(made) for made in recipes]
    tell("hands with truth", COUNT / (time.process_time() - begun), "hands per CPU second")
    for supersample in (1, 2):
        begun = time.process_time()
        for made, truth in zip(recipes, truths, strict=True):
            render(made, truth, supersample=supersample)
        rate = COUNT / (time.process_time() - begun)
        tell(f"pictures, 256 px, textured, supersample {supersample}", rate, "images per CPU second")


if __name__ == "__main__":
    main()
