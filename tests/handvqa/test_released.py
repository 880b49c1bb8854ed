"""Released question files and result files: taken over as they are, scored under all three policies."""

from __future__ import annotations

import csv
import gzip
import json

import polars as pl
import pytest
from PIL import Image

import handbench
from handbench import tables
from handbench.errors import HandbenchError
from handbench.tasks.handvqa import official

PARTS = {"angle": "angle", "distance": "distance", **{axis: f"relative_pos_{axis}" for axis in "xyz"}}
INDENT = " " * 28


def question(options, where="the image"):
    """The text as the release writes it, with its odd blanks."""
    shown = "\n" + "\n ".join(options)
    if len(options) == 3:
        shown = "\n" + options[0] + "\n " + options[1] + " \n " + options[2]
    return (
        "<image>From the multiple choice answers given in the options below choose the sentence that correctly "
        f"describes the relationship in {where}:\n{INDENT}Options:\n{INDENT}{shown}\n    \n{INDENT}Say nothing other "
        "than the chosen sentence. Follow these definitions strictly, and do not add any extra details or make "
        "assumptions."
    )


def row(image, options, right, where="the image"):
    lettered = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=False)]
    return {
        "messages": [
            {"role": "user", "content": question(lettered, where)},
            {"role": "assistant", "content": lettered[right]},
        ],
        "images": [image],
    }


ANGLE = [
    f"The little finger is {bent} at the distal interphalangeal joint."
    for bent in ("straight", "bent inward", "bent slightly inward", "bent completely inward")
]
DISTANCE = [
    f"The tip joint of the thumb is {apart} the tip joint of the index finger."
    for apart in ("spread from", "close to", "spread wide from")
]
LEFT = [
    f"The tip joint of the thumb is at the {side} of the metacarpophalangeal joint of the ring finger."
    for side in ("right", "left")
]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))


@pytest.fixture
def release(tmp_path):
    root = tmp_path / "HandVQA"
    freihand = "./data/FreiHAND/evaluation/rgb/{:08d}.jpg"
    write(
        root / "freihand_evaluation_angle.jsonl",
        [row(freihand.format(n), ANGLE[n % 4 :] + ANGLE[: n % 4], n % 3) for n in range(9)],
    )
    write(root / "freihand_evaluation_distance.jsonl", [row(freihand.format(n), DISTANCE, n % 3) for n in range(4)])
    write(root / "freihand_training.jsonl", [row("./data/FreiHAND/training/rgb/00100252.jpg", LEFT, 1)])
    capture = "./data/InterHand2.6M_5fps_batch1/images/train/Capture0/0000_neutral/cam400053/image{}.jpg"
    write(root / "interhand_evaluation_relative_pos_x.jsonl", [row(capture.format(n), LEFT, n % 2) for n in (7, 22)])
    video = "./data/fpha/Video_files/Subject_5/open_milk/1/color/color_{:04d}.jpeg"
    write(
        root / "fpha_evaluation_relative_pos_x.jsonl",
        [row(video.format(n), LEFT[::-1], 0, "the right hand of the image") for n in range(3)],
    )
    return root


def taken(tmp_path, release, query="", **more):
    return handbench.ask("handvqa", f"released:{release}{query}", tmp_path / "run", **more)


def test_what_is_written_is_what_is_asked(tmp_path, release):
    made = taken(tmp_path, release)
    asked = made.table("questions")
    assert asked.height == 9 + 4 + 2 + 3
    by_id = {one["question_id"]: one for one in asked.to_dicts()}
    angle = by_id["handvqa/freihand/evaluation/00000005/right/angle/little_dip"]
    source = json.loads((release / "freihand_evaluation_angle.jsonl").read_text().splitlines()[5])
    assert angle["prompt"] == source["messages"][0]["content"].removeprefix("<image>")
    assert angle["images"] == ["./data/FreiHAND/evaluation/rgb/00000005.jpg"]
    assert angle["options"] == ANGLE[1:] + ANGLE[:1]
    assert angle["option_labels"] == ["bent inward", "bent slightly inward", "bent completely inward", "straight"]
    assert (angle["truth_index"], angle["truth_category"], angle["truth_rank"]) == (2, "bent completely inward", 0)
    assert (angle["variant"], angle["cluster"]) == ("released;sentence;order=1203", "00000005")
    assert angle["system"].startswith("You are a very helpful assistant.")
    hand = by_id["handvqa/interhand/evaluation/Capture0/0000_neutral/cam400053/image22/right/x/thumb_tip-ring_mcp"]
    assert (hand["cluster"], hand["sequence"], hand["about_joint_b"]) == (
        "0/0000_neutral/22",
        "0/0000_neutral",
        "ring_mcp",
    )
    video = by_id["handvqa/fpha/evaluation/Subject_5/open_milk/1/color_0001/right/x/thumb_tip-ring_mcp"]
    assert (video["cluster"], video["subject"]) == ("Subject_5/open_milk/1", "5")
    assert "in the right hand of the image" in video["prompt"]
    assert set(asked["truth_value"]) == {None}
    hands = made.table("hands")
    assert hands.height == made.manifest["questions"]["hands"] == 9 + 2 + 3
    assert made.manifest["questions"]["count"] == 18


def test_sets_splits_and_single_files(tmp_path, release):
    assert taken(tmp_path, release, "?sets=fpha,interhand").table("questions").height == 5
    training = handbench.ask("handvqa", f"released:{release}", tmp_path / "b", split="training").table("questions")
    assert training["question_id"].to_list() == ["handvqa/freihand/training/00100252/right/x/thumb_tip-ring_mcp"]
    assert training["cluster"].to_list() == [f"{100252 % 32560:08d}"]
    one = handbench.ask("handvqa", f"released:{release}/freihand_evaluation_distance.jsonl", tmp_path / "c")
    assert one.table("questions").height == 4
    for query, split, message in (
        ("?sets=ego", None, "no set 'ego'"),
        ("", "test", "no split 'test'"),
        ("?sets=fpha", "training", "expected files such as fpha_training_angle.jsonl"),
        ("/none", None, "found nothing there"),
    ):
        with pytest.raises(HandbenchError, match=message):
            handbench.ask("handvqa", f"released:{release}{query}", tmp_path / "d", split=split)
    with pytest.raises(HandbenchError, match="no released question files are known"):
        handbench.ask("safegesture", f"released:{release}", tmp_path / "e")


def test_images_are_found_where_the_unpacker_put_them(tmp_path, release):
    place = release / "data" / "FreiHAND-002" / "evaluation" / "rgb"
    place.mkdir(parents=True)
    for number in range(9):
        Image.new("RGB", (224, 224)).save(place / f"{number:08d}.jpg")
    made = taken(tmp_path, release, "?sets=freihand")
    assert made.table("frames")["width"].to_list() == [224] * 9
    assert set(made.table("questions")["images"].explode()) == set(made.table("frames")["image"])
    assert not [note for note in made.manifest["source"]["notes"] if "are not in" in note]
    other = handbench.ask("handvqa", f"released:{release}?images={tmp_path}", tmp_path / "other")
    assert [note for note in other.manifest["source"]["notes"] if note.startswith("14 of 14 images are not in")]


def test_a_path_that_leads_out_is_refused(tmp_path, release):
    write(release / "fpha_evaluation_angle.jsonl", [row("./data/../../../etc/Subject_1/a.jpg", ANGLE, 0)])
    with pytest.raises(HandbenchError, match="leads out of this folder"):
        taken(tmp_path, release)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "damaged line"),
        ('{"messages": [], "images": []}', "damaged line"),
        ("[1, 2]", "damaged line"),
        (json.dumps({**row("a.jpg", ANGLE, 0), "images": []}), "damaged line"),
        (json.dumps(row("a.jpg", ANGLE[:3], 0)), "question not of the release's form"),
        (json.dumps(row("a.jpg", [ANGLE[0], *ANGLE[:3]], 0)), "question not of the release's form"),
        (
            json.dumps(row("a.jpg", [*ANGLE[:3], ANGLE[3].replace("little", "ring")], 0)),
            "question not of the release's form",
        ),
        (json.dumps(row("a.jpg", ["The palm is flat.", "The palm is bent."], 0)), "question not of the release's form"),
        (
            json.dumps(row("a.jpg", ANGLE, 0)).replace("A. The little finger is straight at", "A. It is"),
            "question not of",
        ),
    ],
)
def test_a_line_that_is_no_question(tmp_path, release, line, reason):
    path = release / "freihand_evaluation_angle.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:4], line, *lines[4:]]))
    with pytest.raises(HandbenchError, match=r"freihand_evaluation_angle.jsonl, line 5: expected"):
        taken(tmp_path, release)
    made = handbench.ask("handvqa", f"released:{release}", tmp_path / "again", keep_going=True)
    (found,) = made.manifest["source"]["skipped"]
    assert found.startswith(reason)
    assert made.table("questions").height == 18


def test_shards_laid_together_are_the_whole(tmp_path, release):
    whole = taken(tmp_path, release).table("questions")
    parts = [
        handbench.ask("handvqa", f"released:{release}", tmp_path / str(number), shard=f"{number}/7")
        for number in range(1, 8)
    ]
    merged = handbench.merge([part.folder.root for part in parts], tmp_path / "merged")
    assert merged.table("questions").equals(whole)


def golden_release(shared, root):
    """The reference results, as the release's questions and as results; and what was meant by each reply."""
    folder = shared / "golden/handvqa/evaluator"
    meant = {}
    for name, part in PARTS.items():
        with gzip.open(folder / f"{part}_result.jsonl.gz", "rt") as file:
            results = [json.loads(line) for line in file]
        write(root / "results" / f"{part}.jsonl", results)
        questions = [
            {
                "messages": [one["messages"][0], {"role": "assistant", "content": one["labels"]}],
                "images": [one["images"][0]["path"]],
            }
            for one in results
        ]
        write(root / f"freihand_evaluation_{part}.jsonl", questions)
        with (folder / f"{part}_intended.csv").open() as file:
            meant[name] = list(csv.DictReader(file))
    return meant, json.loads((folder / "expected.json").read_text())["results"]


@pytest.fixture(scope="module")
def golden(shared, tmp_path_factory):
    root = tmp_path_factory.mktemp("golden")
    meant, expected = golden_release(shared, root)
    made = handbench.ask("handvqa", f"released:{root}", root / "run")
    letters = [one["intended_index"] for name in PARTS for one in meant[name]]
    replies = (
        made.table("questions")
        .select("question_id", pl.col("variant").cast(pl.String))
        .with_columns(reply=pl.Series(["" if letter == "" else "ABCD"[int(letter)] for letter in letters]))
    )
    replies.write_csv(root / "meant.csv")
    handbench.answer(made, [f"replies:{root}/meant.csv?name=meant", f"results:{root}/results?name=read"])
    handbench.score(made)
    words = pl.col("model", "metric", "descriptor", "slice").cast(pl.String)
    scores = made.scores.with_columns(words).filter(pl.col("slice") == "all")
    keys = scores.select("model", "descriptor", "metric").rows()
    return made, dict(zip(keys, scores.select("value", "n").rows(), strict=True)), meant, expected


@pytest.mark.parametrize("name", PARTS)
def test_the_three_policies_give_the_reference_figures(golden, name):
    _, scores, _, expected = golden
    true, theirs = expected[PARTS[name]]["true"], expected[PARTS[name]]["official"]
    strict, lenient = true["unparsed_wrong"], true["unparsed_excluded"]
    close = {"rel": 1e-12}
    assert 100 * scores["meant", name, "accuracy"][0] == pytest.approx(strict["accuracy"], **close)
    assert 100 * scores["meant", name, "accuracy_answered"][0] == pytest.approx(lenient["accuracy"], **close)
    value, counted = scores["read", name, "accuracy_official"]
    assert 100 * value == pytest.approx(theirs["accuracy_unrounded"], **close)
    assert round(100 * value, 2) == theirs["accuracy_printed"]
    assert counted == theirs["n_valid"]
    assert 2000 - counted == theirs["n_nan"]
    if name in ("angle", "distance"):
        assert scores["meant", name, "mae_worst_case"][0] == pytest.approx(strict["mae_worst_case"], **close)
        assert scores["meant", name, "mae_answered"][0] == pytest.approx(lenient["mae"], **close)
    if name in ("angle", "distance"):
        assert scores["read", name, "mae_official"][0] == pytest.approx(theirs["mae"], **close)
    else:
        assert ("read", name, "mae_official") not in scores


def test_every_rank_that_the_evaluator_takes(golden):
    made, _, meant, _ = golden
    wanted = [one["official_rank"] for name in PARTS for one in meant[name]]
    taken_ranks = made.table("readings").filter(pl.col("model").cast(pl.String) == "read")["official_rank"]
    assert ["" if rank is None else str(rank) for rank in taken_ranks] == wanted


def test_results_that_are_read_differ_from_what_was_meant_in_unread_ones_alone(golden):
    made, _, meant, _ = golden
    wanted = [one["intended_index"] for name in PARTS for one in meant[name]]
    choices = made.table("readings").filter(pl.col("model").cast(pl.String) == "read")["choice"]
    differing = [(found, want) for found, want in zip(choices, wanted, strict=True) if str(found) != (want or "None")]
    assert {found for found, _ in differing} == {None}
    assert len(differing) < 200


@pytest.mark.parametrize(
    ("reply", "rank"),
    [
        ("B", 2), ("B.", 2), (" B. \n", 2), ("b", None), ("(B)", None), ("E", None), ("", None), (None, None),
        ("It is bent slightly inward, not bent completely inward", 0), ("Straight", None), ("not straight", 3),
    ],
)  # fmt: skip
def test_the_evaluators_rule_by_hand(reply, rank):
    labels = ["straight", "bent slightly inward", "bent inward", "bent completely inward"]
    found = official.ranks(pl.Series([reply]), pl.Series(["angle"]), pl.Series([labels]))
    assert found.to_list() == [rank]


def test_results_that_do_not_fit(tmp_path, release):
    made = taken(tmp_path, release)
    write(tmp_path / "other.jsonl", [{**row("b.jpg", ANGLE, 0), "response": "A"}])
    with pytest.raises(HandbenchError, match="none of its 1 results fits a question"):
        handbench.answer(made, f"results:{tmp_path}/other.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"response": "A"}\n')
    with pytest.raises(HandbenchError, match=r"bad.jsonl, line 1: expected a result"):
        handbench.answer(made, f"results:{tmp_path}/bad.jsonl")
    with pytest.raises(HandbenchError, match="found nothing there"):
        handbench.answer(made, f"results:{tmp_path}/none.jsonl")
    # Elsewhere unpacked, but the same images; one has no answer.
    lines = (release / "freihand_evaluation_angle.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    for number, one in enumerate(results):
        one["images"] = [{"bytes": None, "path": one["images"][0].replace("./data", "/home/x/HandVQA/data")}]
        one["response"] = None if number == 3 else one["messages"][1]["content"]
    write(tmp_path / "good.jsonl", results)
    handbench.answer(made, f"results:{tmp_path}/good.jsonl?name=good")
    handbench.score(made)
    read = made.table("readings").join(made.table("questions"), on=["question_id", "variant"])
    angle = read.filter(pl.col("about_descriptor").cast(pl.String) == "angle")
    assert (angle.height, angle["correct"].sum()) == (9, 8)
    assert set(read["status"].cast(pl.String)) == {"ok", "empty"}
    assert tables.conform(read, "readings").height == 18


def test_a_report_without_images_and_values(tmp_path, release):
    made = handbench.run("handvqa", f"released:{release}", ["prior", "chance"], tmp_path / "run")
    page = made.report.read_text()
    assert "Hard and easy questions" not in page
    assert "Truth (down) and choice (across)" in page
    assert page.count("image not at hand") == 14
