"""Folders whose annotations are COCO-like files: COCO-WholeBody, Halpe, OneHand10K (2D alone).

COCO-WholeBody (Jin et al., ECCV 2020) and Halpe (Fang et al., TPAMI 2022) have both hands of each person, by side.
OneHand10K (Wang et al., TCSVT 2019) has one hand on each photo and does not say which; it is read from mmpose's
``annotations/onehand10k_train.json``, as the owner's own ``label_joint.txt`` does not tell the order of its joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handbench.datasets import files
from handbench.datasets.build import Setting
from handbench.datasets.coco import read_file
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext, Source, dataset
from handbench.specs import Options, Spec


@dataclass(frozen=True)
class Folder:
    """How a dataset's folder is laid out.

    Attributes:
        files: annotation files by split, those met most often first.
        images: folders of the images that they name, by split; the first that is there is taken.
        default: the split that is read where none is asked for.
    """

    files: dict[str, tuple[str, ...]]
    images: dict[str, tuple[str, ...]]
    default: str


FOLDERS: Final = {
    "cocowholebody": Folder(
        {
            split: (f"annotations/coco_wholebody_{split}_v1.0.json", f"coco_wholebody_{split}_v1.0.json")
            for split in ("train", "val")
        },
        {split: (f"{split}2017", f"images/{split}2017") for split in ("train", "val")},
        "val",
    ),
    "halpe": Folder(
        {split: (f"annotations/halpe_{split}_v1.json", f"halpe_{split}_v1.json") for split in ("train", "val")},
        {
            "train": ("hico_20160224_det/images/train2015", "images/train2015", "train2015"),
            "val": ("val2017", "images/val2017"),
        },
        "val",
    ),
    "onehand10k": Folder(
        {split: (f"annotations/onehand10k_{split}.json", f"onehand10k_{split}.json") for split in ("train", "test")},
        {"train": (".",), "test": (".",)},
        "test",
    ),
}
"""The layouts by the dataset's name."""


@dataset("cocowholebody")
@dataset("halpe")
@dataset("onehand10k")
def read(spec: Spec, context: ReadContext) -> Source:
    """Read ``cocowholebody:PATH``, ``halpe:PATH`` or ``onehand10k:PATH``, all with ``?pixels=0&side=right&hash=yes``.

    Options: ``pixels``, the least size of a hand; ``side`` of all hands (OneHand10K does not tell); ``hash``.

    Args:
        spec: the folder that holds the annotation files and the images.
        context: a split that the owner ships; ``val``, or ``test`` of OneHand10K, by default.

    Raises:
        HandbenchError: a file is missing or damaged, nothing is left, or points are placeholders.
    """
    layout = FOLDERS[spec.kind]
    options = Options(spec)
    least = options.number("pixels", 0)
    side = options.choice("side", "unknown", ("left", "right", "unknown"))
    hashed = options.flag("hash", default=True)
    options.done()
    split = context.split or layout.default
    if split not in layout.files:
        raise HandbenchError(f"{spec}: no split {split!r}; there are {', '.join(layout.files)}")
    root = files.folder(spec)
    if spec.kind == "onehand10k" and not any((root / name).is_file() for name in layout.files[split]):
        _refuse_unordered(root)
    path = files.first_of(root, layout.files[split], f"the annotations of {spec.kind}")
    place = next((root / name for name in layout.images[split] if (root / name).is_dir()), None)
    if place is None:
        raise HandbenchError(f"{root}: no images of {split}; expected {' or '.join(layout.images[split])} in it")
    return read_file(path, Setting(spec.kind, split, place, path, context, hashed), side, least)


def _refuse_unordered(root: Path) -> None:
    found = sorted(root.glob("*/label_joint.txt"))
    if found:
        raise HandbenchError(
            f"{found[0]}: its joints have no documented order; put mmpose's annotations/onehand10k_test.json "
            f"into {root}"
        )
