"""Render the test hands and freeze what each estimator finds on them: ``python tests/estimators/freeze.py``.

The pictures are the project's own renderings. Run again only for a change that is meant to move keypoints.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from handbench.estimators._hand import Hand
from handbench.estimators.blaze import Blaze
from handbench.estimators.yoha import Yoha
from handbench.synth.sample import annotate, recipe, render

DATA = Path(__file__).parent / "data"
SEED, SIZE = 0, 192
INDICES = (8, 11, 19, 21, 23, 36)

ESTIMATORS: dict[str, Callable[[], Blaze | Yoha]] = {
    "blaze-full": lambda: Blaze("full", max_hands=1),
    "blaze-lite": lambda: Blaze("lite", max_hands=1),
    "yoha": lambda: Yoha(max_hands=1),
}


def rounded(values: np.ndarray | None, decimals: int) -> list[list[float]] | None:
    return None if values is None else np.round(values, decimals).tolist()


def frozen(hand: Hand) -> dict[str, Any]:
    return {
        "side": hand.side,
        "score": round(hand.score, 4),
        "keypoints_px": rounded(hand.keypoints_px, 2),
        "keypoints_cam": rounded(hand.keypoints_cam, 5),
    }


def main() -> None:
    estimators = {name: make() for name, make in ESTIMATORS.items()}
    rows = []
    for index in INDICES:
        made = recipe(SEED, index, size=SIZE)
        truth = annotate(made)
        picture = render(made, truth, supersample=2)
        name = f"{made.pose}-{made.view}-{made.side}-{index}.png"
        Image.fromarray(picture).save(DATA / name, optimize=True)
        found = {}
        for estimator, find in estimators.items():
            [hand] = find(picture)
            found[estimator] = frozen(hand)
        rows.append(
            {
                "image": name,
                "side": made.side,
                "keypoints_px": rounded(truth.joints_px, 2),
                "keypoints_cam": rounded(truth.joints_cam, 5),
                "found": found,
            }
        )
    text = ",\n".join(json.dumps(row) for row in rows)
    (DATA / "frozen.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
