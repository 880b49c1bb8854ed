"""Object keypoint similarity and its average precision, as COCO defines them.

The sigmas are those of COCO-WholeBody's hands (Jin et al. 2020); the area is that of the true hand's box, so these
numbers cannot be compared with ones that use the person's area.  Average precision comes from faster-coco-eval.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from handbench.errors import HandbenchError
from handbench.tasks.handpose.arrays import Bools, Floats, Hands
from handbench.tasks.handpose.rates import ratio

SIGMAS: Final = np.array(
    [
        *(0.029, 0.022, 0.035, 0.037, 0.047, 0.026, 0.025, 0.024, 0.035, 0.018, 0.024),
        *(0.022, 0.026, 0.017, 0.021, 0.021, 0.032, 0.020, 0.019, 0.022, 0.031),
    ]
)
"""(21,) of COCO-WholeBody's hands."""


def oks_box_area(truth: Floats, predicted: Floats, valid: Bools, area: Floats) -> Floats:
    """(N,) similarity of hands, 0 to 1.

    Args:
        truth: (N, 21, 2) pixels.
        predicted: (N, 21, 2) pixels.
        valid: (N, 21) true keypoints that count.
        area: (N,) of the true hands' boxes, square pixels.
    """
    far = ((truth - predicted) ** 2).sum(axis=2) / (2 * SIGMAS) ** 2 / (area[:, None] + np.spacing(1)) / 2
    return ratio(np.where(valid, np.exp(-far), 0).sum(axis=1), valid.sum(axis=1))


def as_coco(truth: Hands, predicted: Hands, truth_boxes: Floats, frames: int) -> tuple[dict[str, Any], list[Any]]:
    """A set and its predictions as COCO's keypoint ground truth and results; labels are not told apart.

    Args:
        truth: true hands.
        predicted: predictions.
        truth_boxes: (T, 4).
        frames: number of frames; their rows are the image ids, from 1 as the evaluators expect.
    """
    ground = {
        "images": [{"id": number + 1} for number in range(frames)],
        "categories": [{"id": 1, "name": "hand", "keypoints": [str(row) for row in range(21)], "skeleton": []}],
        "annotations": _annotations(truth, truth_boxes),
    }
    points = np.concatenate([np.nan_to_num(predicted.points), np.ones((len(predicted), 21, 1))], axis=2)
    flat = points.reshape(-1, 63).tolist()
    results = [
        {"image_id": frame + 1, "category_id": 1, "keypoints": keypoints, "score": score}
        for frame, keypoints, score in zip(predicted.frame.tolist(), flat, predicted.score.tolist(), strict=True)
    ]
    return ground, results


def _annotations(truth: Hands, boxes: Floats) -> list[dict[str, Any]]:
    seen = truth.valid[..., None]
    points = np.concatenate([np.where(seen, truth.points, 0), np.where(seen, 2.0, 0.0)], axis=2).reshape(-1, 63)
    sides = boxes[:, 2:] - boxes[:, :2]
    where = np.concatenate([boxes[:, :2], sides], axis=1).tolist()
    rows = zip(
        truth.frame.tolist(), points.tolist(), where, sides.prod(axis=1).tolist(), truth.valid.sum(axis=1).tolist(),
        strict=True,
    )  # fmt: skip
    return [
        {
            "id": number + 1,
            "image_id": frame + 1,
            "category_id": 1,
            "iscrowd": 0,
            "keypoints": keypoints,
            "num_keypoints": count,
            "bbox": box,
            "area": area,
        }
        for number, (frame, keypoints, box, area, count) in enumerate(rows)
    ]


def oks_average_precision(truth: Hands, predicted: Hands, truth_boxes: Floats, frames: int) -> dict[str, float]:
    """AP over OKS 0.50 to 0.95, AP at 0.50 and 0.75, and AR, through faster-coco-eval.

    Args:
        truth: true hands.
        predicted: predictions.
        truth_boxes: (T, 4).
        frames: number of frames.

    Returns:
        ``oks_ap``, ``oks_ap50``, ``oks_ap75``, ``oks_ar``; all NaN where there is no true hand, all 0 where nothing
        is predicted.

    Raises:
        HandbenchError: faster-coco-eval is not installed.
    """
    names = ("oks_ap", "oks_ap50", "oks_ap75", "oks_ar")
    if not len(truth):
        return dict.fromkeys(names, float("nan"))
    if not len(predicted):
        return dict.fromkeys(names, 0.0)
    try:
        from faster_coco_eval import COCO, COCOeval_faster
    except ImportError:
        raise HandbenchError("OKS-AP needs faster-coco-eval: pip install 'handbench[handpose]'") from None
    ground, results = as_coco(truth, predicted, truth_boxes, frames)
    coco = COCO(ground)
    run = COCOeval_faster(coco, coco.loadRes(results), "keypoints", kpt_oks_sigmas=SIGMAS, print_function=_silent)
    run.evaluate()
    run.accumulate()
    run.summarize()
    found = np.asarray(run.stats, np.float64)
    # COCO's order for keypoints: AP, AP50, AP75, medium, large, AR, ...; -1 says that nothing is defined.
    return {name: float(found[place]) for name, place in zip(names, (0, 1, 2, 5), strict=True)}


def _silent(*_: object, **__: object) -> None:
    """Swallow the evaluator's printing."""
