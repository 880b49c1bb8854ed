from __future__ import annotations

import pytest
import test_fpha
import test_freihand
from hand_maker import context
from test_interhand import recording

from handbench import api
from handbench.datasets.paper import read
from handbench.errors import HandbenchError
from handbench.protocols import find
from handbench.reports import description
from handbench.specs import Spec
from handbench.tables import conform

FOLDERS = {"freihand": "FreiHAND_pub_v2", "interhand": "interhand", "fpha": "elsewhere/fpha"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("paper")
    for part in ("training", "evaluation"):
        test_freihand.owners(root / FOLDERS["freihand"], part, images=range(12))
    recording().write(root / FOLDERS["interhand"])
    for number, name in enumerate(("Subject_1/open_milk/1", "Subject_2/pour_milk/3", "Subject_5/open_milk/1")):
        test_fpha.sequence(root / FOLDERS["fpha"], name, range(5), seed=number)
    return root


def spec(root, options=""):
    return Spec.parse(f"paper:{root}?fpha={FOLDERS['fpha']}{options}")


@pytest.mark.parametrize("split", [None, "paper-train", "paper-test"])
def test_all_sets_as_their_own_readers_give_them(root, split):
    source = read(spec(root), context(split=split))
    expected = {}
    for name, folder in FOLDERS.items():
        for own in ("paper-train", "paper-test") if split is None else (split,):
            part = find("datasets", name)(Spec.parse(f"{name}:{root / folder}"), context(split=own))
            for row in part.hands.iter_rows(named=True):
                expected[row["hand_id"]] = row | {"image": f"{folder}/{row['image']}"}
    found = {row["hand_id"]: row for row in source.hands.iter_rows(named=True)}
    assert found == expected
    assert source.hands["hand_id"].is_sorted()
    assert source.root == root
    assert all((root / image).is_file() for image in source.frames["image"])
    assert set(source.frames["image"]) == {row["image"] for row in expected.values()}
    conform(source.hands, "hands")
    conform(source.frames, "frames")
    assert sum("fewer than the" in note for note in source.notes) == (6 if split is None else 3)
    assert source.skipped.get("interhand paper-test: other subject") == (27 if split != "paper-train" else None)


def test_one_command_gives_the_questions_of_all_six_splits(root, tmp_path):
    api.ask("handvqa", str(spec(root)), tmp_path, cache=False)
    sizes = description.describe([str(tmp_path)], against="paper")["section_7_1"]
    assert sizes["images"].to_list() == [12, 12, 4, 4, 10, 5]
    assert (sizes["per_image"] > 20).all()


def test_some_sets_alone(root):
    source = read(spec(root, "&sets=fpha"), context(split="paper-test"))
    assert set(source.hands["dataset"].cast(str)) == {"fpha"}
    # Images are relative to what is common to the sets that are read.
    assert source.root == root / FOLDERS["fpha"]


def test_what_is_wrong_is_named(root, tmp_path):
    with pytest.raises(HandbenchError, match="no set 'hagrid'; there are freihand, interhand, fpha"):
        read(spec(root, "&sets=fpha,hagrid"), context())
    with pytest.raises(HandbenchError, match="no split 'train'; there are paper-train, paper-test"):
        read(spec(root), context(split="train"))
    (tmp_path / "FreiHAND").mkdir()
    with pytest.raises(HandbenchError, match="FreiHAND: the folder is empty"):
        read(Spec.parse(f"paper:{tmp_path}"), context())
    with pytest.raises(HandbenchError, match="fpha: expected the folder of the fpha dataset, found nothing there"):
        read(Spec.parse(f"paper:{tmp_path}?sets=fpha"), context())
