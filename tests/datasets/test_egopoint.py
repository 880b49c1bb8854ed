from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from handbench.datasets.egopoint import DOMAIN, MIXED
from handbench.errors import HandbenchError
from handbench.faults import Faults
from handbench.protocols import ReadContext
from handbench.runs.parts import load_source


def drawn(path: Path, seed: int, size: tuple[int, int] = (64, 48)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def image(number: int, source: str = "synthetic", **more: object) -> dict[str, object]:
    return {"id": number, "file_name": f"{source}/{number}.png", "width": 64, "height": 48, "source": source, **more}


def hand(number: int, **more: object) -> dict[str, object]:
    return {"image_id": number, "ann_id": "anno_hand", "bbox": [10, 30, 12, 14], "category_name": "hand", **more}


def thing(number: int, name: str = "cup", **more: object) -> dict[str, object]:
    box = [30, 5, 10, 10]
    return {"image_id": number, "ann_id": "anno_1", "bbox": box, "category_name": name, "role": "target", **more}


def said(number: int, *words: str) -> dict[str, object]:
    return {"image_id": number, "underspecified_referent": list(words or ("this one",))}


def folder(tmp_path: Path, document: dict[str, list[dict[str, object]]], missing: tuple[int, ...] = ()) -> Path:
    for entry in document["images"]:
        if entry["id"] not in missing:
            drawn(tmp_path / str(entry["file_name"]), int(entry.get("pixels", entry["id"])))
    (tmp_path / "annotations.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


def read(path: Path, split: str | None = None, keep_going: bool = False, query: str = ""):
    return load_source(f"egopoint:{path}{query}", ReadContext(split=split, faults=Faults(keep_going)))


def test_the_shared_example_is_read(shared, tmp_path):
    example = json.loads((shared / "golden/egopoint/schema_example.json").read_text(encoding="utf-8"))
    for entry in example["images"]:
        drawn(tmp_path / entry["file_name"], entry["id"], (entry["width"], entry["height"]))
    (tmp_path / "annotations.json").write_text(json.dumps(example), encoding="utf-8")
    source = read(tmp_path)
    one, two, three = source.scenes.sort("image").rows(named=True)
    assert one["hand_box"] == [270, 380, 400, 540]
    assert one["target_box"] == [620, 240, 730, 370]
    assert (one["target_category"], one["candidate_categories"]) == ("cup", ["cup", "cup"])
    assert one["referents"] == ["this cup", "that one", "the object I am pointing at"]
    assert one["hand_px"][8] == [356, 448]
    assert (two["source"], two["hand_side"], two["hand_px"]) == ("edited", "left", None)
    assert (three["negative"], three["target_box"], three["answer"]) == ("empty-ray", None, None)
    assert source.skipped == {}


def test_every_fault_is_named_and_counted(tmp_path):
    numbers = range(1, 12)
    document = {
        "images": [image(number) for number in numbers],
        "annotations": [
            *(hand(number) for number in numbers if number != 2),
            hand(3, bbox=[60, 40, 30, 30]),
            *(thing(number) for number in (1, 2)),
            thing(3),
            thing(4, bbox=[60, 5, 40, 10]),
            thing(5, bbox=[30, 5, 0, 10]),
            thing(6, "flux capacitor"),
            thing(7),
            thing(8, ann_id="a"),
            thing(8, ann_id="b"),
            thing(9, role="distractor"),
            thing(10),
            thing(11),
        ],
        "referents": [said(number) for number in numbers if number != 10],
    }
    document["images"][10]["width"] = 65
    document["images"][10]["file_name"] = "synthetic/other.png"
    path = folder(tmp_path, document, missing=(7,))
    with pytest.raises(HandbenchError, match=r"two targets: 1 images, the first 'synthetic/8.png'"):
        read(path)
    source = read(path, keep_going=True)
    assert source.skipped == {
        "no hand": 1,
        "two hands": 1,
        "box outside the image": 1,
        "box without area": 1,
        "unknown category": 1,
        "missing image": 1,
        "two targets": 1,
        "no target": 1,
        "no referent": 1,
        "image of another size": 1,
    }
    assert source.scenes["image"].to_list() == ["synthetic/1.png"]


def test_the_files_own_categories_are_known(tmp_path):
    document = {
        "images": [image(1)],
        "annotations": [hand(1), thing(1, "flux capacitor")],
        "referents": [said(1)],
        "categories": [{"id": 999, "name": "flux capacitor"}],
    }
    assert read(folder(tmp_path, document)).scenes["target_category"].to_list() == ["flux capacitor"]


def test_without_flags_the_only_other_annotation_is_the_target(tmp_path):
    plain = {"image_id": 1, "ann_id": "anno_1", "bbox": [1, 2, 3, 4], "category_name": "cup"}
    document = {
        "images": [image(1, underspecified_referent=["that"])],
        "annotations": [hand(1), plain],
    }
    row = read(folder(tmp_path, document)).scenes.row(0, named=True)
    assert (row["target_box"], row["referents"], row["question"], row["answer"]) == (
        [1, 2, 4, 6],
        ["that"],
        "what is this?",
        "cup",
    )
    document["annotations"].append({**plain, "ann_id": "anno_2"})
    (tmp_path / "annotations.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(HandbenchError, match="no target: 1"):
        read(tmp_path)


def many(tmp_path: Path) -> Path:
    sources = ["real", "synthetic", "edited"]
    images = [image(number, sources[number % 3]) for number in range(300)]
    for number in range(290, 300):  # the same pixels under another name and source
        images[number]["pixels"] = number - 290
    return folder(
        tmp_path,
        {
            "images": images,
            "annotations": [part for number in range(300) for part in (hand(number), thing(number))],
            "referents": [said(number) for number in range(300)],
        },
    )


def test_no_image_is_on_two_sides_of_a_split(tmp_path):
    path = many(tmp_path)
    mixed = [read(path, split).scenes for split in MIXED]
    assert sum(part.height for part in mixed) == 300
    assert [part.height for part in mixed] == pytest.approx([210, 60, 30], abs=25)
    train, test = (read(path, split) for split in DOMAIN)
    assert set(test.scenes["source"].cast(str)) == {"real"}
    assert set(train.scenes["source"].cast(str)) == {"synthetic", "edited"}
    assert train.skipped["also among the test images"] > 0
    for sides in (mixed, [train.scenes, test.scenes]):
        seen: set[str] = set()
        for side in sides:
            hashes = set(side["image_hash"])
            assert not hashes & seen
            seen |= hashes
    again = read(path, "paper-test").scenes
    assert again.equals(mixed[2])
    other = read(path, "paper-test", query="?seed=1").scenes
    assert set(other["image"]) != set(again["image"])


def test_a_split_that_is_not_there(tmp_path):
    with pytest.raises(HandbenchError, match="splits are all, paper-train"):
        read(many(tmp_path), "dev")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["annotations"][0].update(bbox=[1, 2, 3]), "bbox must be four numbers"),
        (lambda d: d["annotations"][0].update(image_id=77), "image_id 77 is none of the images"),
        (lambda d: d["images"].append(d["images"][0]), "comes twice"),
        (lambda d: d["images"][0].update(file_name="../secret.png"), "leads out"),
        (lambda d: d.pop("annotations"), "list of objects under 'annotations'"),
        (lambda d: d["referents"][0].update(underspecified_referent={"a": 1}), "list of texts"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, change, message):
    document = {"images": [image(1)], "annotations": [hand(1), thing(1)], "referents": [said(1)]}
    folder(tmp_path, document)
    change(document)
    (tmp_path / "annotations.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(HandbenchError, match=message) as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)
