from __future__ import annotations

import pytest

from handbench.errors import HandbenchError
from handbench.tune.settings import Settings, recipe


@pytest.mark.parametrize(
    ("dataset", "epochs", "batch"),
    [("freihand", 1, 128), ("interhand", 3, 64), ("fpha", 1, 64)],  # HandVQA, section 8.1
)
def test_the_papers_recipe(dataset, epochs, batch):
    settings = recipe("paper", "hf", dataset)
    assert (settings.rank, settings.alpha, settings.rate, settings.warmup) == (8, 32, 1e-4, 0.05)
    assert (settings.epochs, settings.batch) == (epochs, batch)
    assert not settings.vision


def test_the_papers_accumulation_comes_out():
    # Section 8.1: four devices, two rows each, sixteen passes make 128; one row each makes 64.
    assert recipe("paper", "hf", "freihand").accumulation(1, processes=4) == 16
    assert recipe("paper", "hf", "interhand").accumulation(1, processes=4) == 16


def test_packed_rows_count_as_their_questions():
    assert Settings(batch=128).accumulation(per_row=25, processes=1) == 5
    assert Settings(batch=10).accumulation(per_row=25, processes=1) == 1


def test_a_small_batch_takes_fewer_rows_at_once():
    small = Settings(batch=56, device_batch=24)
    assert (small.rows_at_once(14, 1), small.accumulation(14, 1)) == (4, 1)
    assert (small.rows_at_once(14, 2), small.accumulation(14, 2)) == (2, 1)
    whole = Settings(batch=336, device_batch=24)
    assert (whole.rows_at_once(14, 1), whole.accumulation(14, 1)) == (24, 1)
    assert (whole.rows_at_once(1, 1), whole.accumulation(1, 1)) == (24, 14)


def test_the_tiny_base_has_its_own_recipe():
    assert recipe(None, "tiny", "synth").rate == 3e-3
    assert recipe(None, "hf", "synth").rate == 1e-4
    with pytest.raises(HandbenchError, match="recipes are paper and tiny"):
        recipe("mine", "hf", "synth")


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rate": 0.0},
        {"warmup": 1.0},
        {"epochs": 0},
        {"packing": "maybe"},
        {"steps": 0},
        {"seed": -1},
        {"seed": 2**40},
        {"rank": 10**8},
        {"per_image": 0},
        {"epochs": float("nan")},
        {"epochs": float("inf")},
        {"rank": "8"},
        {"seed": 1.5},
        {"vision": "no"},
        {"balance": 1},
        {"rate": "1e-4"},
        {"rank": True},
        {"emphasis": 3, "per_image": 4},
        {"emphasis": {"x": "2"}, "per_image": 4},
        {"emphasis": {"x": 0.0}, "per_image": 4},
        {"emphasis": {"x": -3.0}, "per_image": 4},
        {"balance": True},
        {"clip": 0.0},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(HandbenchError):
        Settings(**wrong).checked()
