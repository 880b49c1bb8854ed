from __future__ import annotations

import json

import polars as pl
import pytest
from PIL import Image

from handbench import api, tables
from handbench.errors import HandbenchError
from handbench.protocols import ReadContext
from handbench.runs import answering
from handbench.runs.costs import Budget, Price, estimate, money, price_of, read_prices, who_answered
from tests.handvqa.conftest import random_hands, write_source
from tests.models.chat_questions import question_table


def answer_rows(**columns):
    count = len(next(iter(columns.values())))
    base = {"question_id": [str(place) for place in range(count)], "variant": "v", "model": "m", "repeat": 0, "turn": 0}
    return tables.conform(pl.DataFrame({"finish": ["stop"] * count, **columns}).with_columns(
        *(pl.lit(value).alias(name) if isinstance(value, (str, int)) else pl.Series(name, value)
          for name, value in base.items())
    ), "answers")  # fmt: skip


def test_prices(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('["server:gpt"]\ntokens_in = 2\ntokens_out = 8.0\n["server:gpt-mini"]\ntokens_in=1\ntokens_out=1\n')
    prices = read_prices(path)
    assert price_of("server:gpt?base_url=x", prices) == Price(2.0, 8.0)
    assert price_of("server:gpt-mini?base_url=x", prices) == Price(1.0, 1.0)
    assert price_of("hf:x", prices) is None
    assert Price(2.0, 8.0).of(1_000_000, 500_000) == 6.0
    for text in (
        "x = 1",
        "[a]\ntokens_in = 1",
        "[a]\ntokens_in='n'\ntokens_out=1",
        "[a]\ntokens_in=-1\ntokens_out=1",
        "[",
    ):
        path.write_text(text)
        with pytest.raises(HandbenchError, match=r"prices\.toml"):
            read_prices(path)


def test_small_amounts_keep_their_digits():
    assert [money(amount) for amount in (0, 0.0004321, 0.5, 1, 12.345, 1234.5)] == [
        "0.00", "0.00043", "0.5", "1.00", "12.35", "1,234.50",
    ]  # fmt: skip


def test_an_estimate_by_hand(tmp_path):
    Image.new("RGB", (56, 30)).save(tmp_path / "a.png")
    size = (tmp_path / "a.png").stat().st_size
    questions = question_table(3, [["a.png"], ["a.png"], []], ["p" * 40, "p" * 40, "q" * 9], system="s" * 4)
    frames = pl.DataFrame({"image": ["a.png"], "width": [56], "height": [30]})
    found = estimate(questions, frames, tmp_path, 10, Price(1e6, 2e6))
    assert (found.requests, found.images, found.image_bytes) == (2, 1, size)
    # 44 characters are 11 tokens, 13 are 4; 56 x 30 pixels are 2 x 2 patches of 28
    assert (found.tokens_in, found.tokens_out, found.cost) == (11 + 4 + 4, 20, 19 + 40)
    fixed = estimate(questions, frames, tmp_path, 10, Price(1.0, 1.0, image_tokens=100))
    assert fixed.tokens_in == 115
    assert estimate(questions, frames, tmp_path, 10, None).cost is None


def test_who_answered(tmp_path):
    from handbench.runs.folder import RunFolder

    folder = RunFolder(tmp_path)
    folder.facts("m").parent.mkdir(parents=True)
    lines = [{"wall_seconds": 2.5, "counts": {"sent": 4}}, {"wall_seconds": 1.0, "counts": {"sent": 2}}]
    folder.facts("m").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"torn')
    rows = answer_rows(
        finish=["stop", "error", "content_filter", "length", "stop"],
        seconds=[1.0, None, 2.0, 4.0, 3.0],
        tokens_in=[10, None, 20, 30, 40],
        tokens_out=[1, None, 0, 9, 2],
        sent_sizes=[[[8, 6]], None, [[8, 6]], [[8, 6], [4, 4]], None],
    )
    (record,) = who_answered(folder, rows, {"m": Price(1e6, 1e6)})
    expected = {
        "model": "m", "answers": 5, "errors": 1, "refused": 1, "cut": 1, "tokens_in": 100, "tokens_out": 12,
        "seconds_median": 2.5, "seconds_p95": 4.0, "sizes": [("8x6", 3), ("4x4", 1)], "cost": 112.0,
        "wall_seconds": 3.5, "facts": lines[1],
    }  # fmt: skip
    assert record == expected
    silent = answer_rows(seconds=[1.0, 2.0]).with_columns(pl.lit("n", pl.Categorical).alias("model"))
    (record,) = who_answered(folder, silent, {"n": Price(1.0, 1.0)})
    assert (record["cost"], record["tokens_in"], record["wall_seconds"], record["sizes"]) == (None, None, None, [])


def test_a_budget_stops_in_order(tmp_path, monkeypatch):
    class Priced:
        name = "priced"

        def answer(self, questions):
            for row in range(questions.height):
                yield answer_rows(tokens_in=[100], tokens_out=[0]).with_columns(
                    questions["question_id"][row : row + 1], questions["variant"][row : row + 1].alias("variant"),
                    pl.lit("chance").alias("model"),
                )  # fmt: skip

    source = write_source(tmp_path / "source", random_hands(4))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run").folder
    monkeypatch.setattr(answering, "_model", lambda *_: Priced())
    count = run.read("questions").height
    assert count > 5

    def go(limit):
        return answering.answer(run, "chance", ReadContext(), budget=Budget(limit, Price(1e4, 0.0)))

    for limit, kept in ((3.0, 3), (3.0, 3), (4.5, 5)):
        with pytest.raises(HandbenchError, match=f"is spent .*{count - kept} questions are left"):
            go(limit)
        assert answering.answers_of(run, "chance", run.read("questions")).height == kept
    assert go(1000.0).height == count


def test_errors_are_asked_again_on_demand(tmp_path, monkeypatch):
    seen = []

    class Failing:
        name = "chance"

        def answer(self, questions):
            seen.append(questions.height)
            first = len(seen) == 1
            yield questions.select("question_id", "variant").with_columns(
                pl.lit("chance").alias("model"), pl.lit(0).alias("repeat"), pl.lit(0).alias("turn"),
                pl.lit(None if first else "A", pl.String).alias("reply"),
                pl.lit("error" if first else "stop").alias("finish"),
            )  # fmt: skip

    source = write_source(tmp_path / "source", random_hands(2))
    run = api.ask("handvqa?per_descriptor=1", source, tmp_path / "run").folder
    monkeypatch.setattr(answering, "_model", lambda *_: Failing())
    count = run.read("questions").height
    for again in (False, False, True, True):
        rows = answering.answer(run, "chance", ReadContext(), retry_errors=again)
    assert seen == [count, count]
    assert rows["reply"].to_list() == ["A"] * count
