"""Every dataset's layout as a writer, for tests that hold of all readers alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import test_arctic
import test_assemblyhands
import test_coco
import test_coco_folders
import test_dexycb
import test_fpha
import test_freihand
import test_h2o
import test_hint
import test_ho3d
import test_interhand
import test_rhd
from hand_maker import hands, write_ge


@dataclass(frozen=True)
class Layout:
    """How a dataset is written and read.

    Attributes:
        write: writes it into a folder.
        spec: what names it, ``{root}`` being the folder.
        split: the split to read.
        row: an annotation file that one row of the table, or one record of its, comes from.
        image: an image of it.
    """

    write: Callable[[Path], object]
    spec: str
    split: str | None
    row: str
    image: str


def _fpha(root):
    test_fpha.sequence(root, "Subject_5/open_milk/1", (9, 3, 5), 0)
    test_fpha.sequence(root, "Subject_6/pour_milk/1", (0, 1), 1)


LAYOUTS = {
    "freihand lists": Layout(
        lambda root: test_freihand.owners(root),
        "freihand:{root}",
        "training",
        "training_xyz.json",
        "training/rgb/00000002.jpg",
    ),
    "freihand files": Layout(
        lambda root: test_freihand.one_file_each(root, "evaluation", range(12)),
        "freihand:{root}",
        "evaluation",
        "evaluation/rgb/00000002.json",
        "evaluation/rgb/00000002.jpg",
    ),
    "fpha": Layout(
        _fpha,
        "fpha:{root}",
        "paper-test",
        "Hand_pose_annotation_v1_1/Subject_5/open_milk/1/skeleton.txt",
        "Video_files/Subject_5/open_milk/1/color/color_0003.jpeg",
    ),
    "interhand": Layout(
        lambda root: test_interhand.recording().write(root),
        "interhand:{root}?hands=both",
        "train",
        "annotations/train/InterHand2.6M_train_joint_3d.json",
        "images/train/Capture2/0000_neutral/cam400053/image101.jpg",
    ),
    "ho3d": Layout(test_ho3d.write, "ho3d:{root}", "train", "train/ABF10/meta/0001.pkl", "train/ABF10/rgb/0001.jpg"),
    "dexycb": Layout(
        lambda root: test_dexycb.write(root, 1, "20200709_141754"),
        "dexycb:{root}",
        "all",
        "20200709-subject-01/20200709_141754/836212060125/labels_000001.npz",
        "20200709-subject-01/20200709_141754/836212060125/color_000001.jpg",
    ),
    "h2o": Layout(
        lambda root: test_h2o.write(root, "subject4/h1/0/cam4"),
        "h2o:{root}",
        "test",
        "subject4/h1/0/cam4/hand_pose/000002.txt",
        "subject4/h1/0/cam4/rgb/000002.png",
    ),
    "rhd": Layout(
        test_rhd.write,
        "rhd:{root}",
        "evaluation",
        "evaluation/anno_evaluation.pickle",
        "evaluation/color/00003.png",
    ),
    "assemblyhands": Layout(
        test_assemblyhands.write,
        "assemblyhands:{root}",
        "val",
        "annotations/val/assemblyhands_val_joint_3d_v1-1.json",
        f"images/ego_images_rectified/val/{test_assemblyhands.SEQUENCE}/HMC_21110305/000002.jpg",
    ),
    "arctic": Layout(
        test_arctic.write, "arctic:{root}", "p1_val", "splits/p1_val.npy", "images/s05/box_use_01/2/00004.jpg"
    ),
    "coco": Layout(
        lambda root: test_coco.write(root, test_coco.whole_body()),
        "coco:{root}/val.json",
        None,
        "val.json",
        "000000000002.jpg",
    ),
    "panoptic": Layout(
        lambda root: test_coco_folders.panoptic(root, without=None),
        "panoptic:{root}",
        "test",
        "hand_labels/manual_test/photo3_l.json",
        "hand_labels/manual_test/photo3_l.jpg",
    ),
    "hint": Layout(test_hint.write, "hint:{root}", "test", "TEST_newdays_img/b.json", "TEST_newdays_img/b.jpg"),
    "ge": Layout(
        lambda root: write_ge(root, hands(12, "left"), range(12)), "ge:{root}", None, "pose_gt.mat", "images/00002.jpg"
    ),
}
