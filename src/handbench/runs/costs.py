"""Who answered, and what it took: tokens, time, failures, image sizes and money, per model."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from handbench.errors import HandbenchError
from handbench.runs.facts import sessions
from handbench.runs.folder import RunFolder

_PER: Final = 1_000_000
_PATCH: Final = 28
_CHARACTERS_PER_TOKEN: Final = 4


@dataclass(frozen=True)
class Price:
    """What a model's tokens cost.

    Attributes:
        tokens_in: for a million tokens read, in the table's currency.
        tokens_out: for a million tokens written.
        image_tokens: tokens of one image where the provider bills a fixed number, else None.
    """

    tokens_in: float
    tokens_out: float
    image_tokens: int | None = None

    @classmethod
    def parse(cls, entry: dict[str, Any], where: str) -> Price:
        """Read one section of a table of prices.

        Raises:
            HandbenchError: the entry is not as it must be.
        """
        if set(entry) - {"tokens_in", "tokens_out", "image_tokens"}:
            raise HandbenchError(f"{where} must have tokens_in, tokens_out and perhaps image_tokens")
        try:
            price = cls(float(entry["tokens_in"]), float(entry["tokens_out"]), entry.get("image_tokens"))
        except (KeyError, TypeError, ValueError):
            raise HandbenchError(f"{where} must give tokens_in and tokens_out as numbers") from None
        whole = price.image_tokens is None or type(price.image_tokens) is int
        if not (0 <= price.tokens_in < math.inf and 0 <= price.tokens_out < math.inf and whole):
            raise HandbenchError(f"{where}: prices are numbers from 0, image_tokens is a whole number")
        return price

    def entry(self) -> dict[str, float]:
        """As :meth:`parse` reads it."""
        return {key: value for key, value in vars(self).items() if value is not None}

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """The price of so many tokens."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / _PER


def money(amount: float) -> str:
    """An amount with two digits behind the point, or the first two that are not 0."""
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"


def read_prices(path: Path) -> dict[str, Price]:
    """Read a table of prices: TOML with one section per model.

    For example ``["server:gpt"]`` with ``tokens_in = 0.15`` and ``tokens_out = 0.6`` (per million tokens) and,
    if need be, ``image_tokens = 765``.  A section's name is a model's name, or the beginning of one.

    Raises:
        HandbenchError: the file cannot be read or an entry is not as it must be.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandbenchError(f"{path}: no table of prices: {error}") from None
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise HandbenchError(f"{path}: [{name}] must be a section with tokens_in and tokens_out")
    return {name: Price.parse(entry, f"{path}: [{name}]") for name, entry in table.items()}


def budget_of(model: str, limit: float | None, prices: dict[str, Price]) -> Budget | None:
    """The budget of a model: without a limit where none is given, None where the model has no price either.

    Raises:
        HandbenchError: there is a limit, and the model has no price.
    """
    price = price_of(model, prices)
    if price is not None:
        return Budget(math.inf if limit is None else limit, price)
    if limit is not None:
        raise HandbenchError(f"--budget needs the price of {model}: give --prices FILE with a section that begins it")
    return None


def price_of(model: str, prices: dict[str, Price]) -> Price | None:
    """The price of a model: the section with the longest name that the model's name begins with."""
    fitting = [name for name in prices if model.startswith(name)]
    return prices[max(fitting, key=len)] if fitting else None


@dataclass
class Budget:
    """Money that may be spent on one model.

    Attributes:
        limit: in the currency of the prices.
        price: what its tokens cost.
        spent: what the answers counted so far have cost.
    """

    limit: float
    price: Price
    spent: float = field(default=0.0)

    def add(self, answers: pl.DataFrame) -> None:
        """Count answers.

        Raises:
            HandbenchError: there is a limit, and a reply came without its tokens, so that its cost is not known.
        """
        sums = answers.select(pl.col("tokens_in", "tokens_out").cast(pl.Int64).sum()).row(0)
        self.spent += self.price.of(*sums)
        said = answers.filter(~pl.col("finish").cast(pl.String).is_in(["error", "content_filter"]))
        if (unknown := said["tokens_in"].null_count()) and self.limit < math.inf:
            raise HandbenchError(f"--budget cannot be kept: {unknown} replies came without the tokens that they took")

    @property
    def told(self) -> str:
        """What is spent, and of how much."""
        return f"{money(self.spent)} " + (f"of {self.limit:g} spent" if self.limit < math.inf else "spent")

    @property
    def gone(self) -> bool:
        """Whether it is spent."""
        return self.spent >= self.limit


@dataclass(frozen=True)
class Estimate:
    """What asking would take.

    Attributes:
        requests: distinct requests.
        images: images to be sent, each time counted.
        image_bytes: their files' bytes.
        tokens_in: tokens to be read, estimated.
        tokens_out: tokens written at most.
        cost: at most, in the currency of the price; None without a price.
        questions: questions that the requests answer.
        absent: images among them that are not drawn yet, whose bytes are not counted.
    """

    requests: int
    images: int
    image_bytes: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    questions: int
    absent: int

    def __str__(self) -> str:
        """One line for people."""
        size = f"{self.image_bytes / 1e6:,.1f} MB" + (f" without {self.absent:,} not drawn yet" if self.absent else "")
        cost = "" if self.cost is None else f", at most {money(self.cost)} to pay"
        return (
            f"{self.requests:,} requests for {self.questions:,} questions, {self.images:,} images ({size}), "
            f"about {self.tokens_in:,} tokens in, at most {self.tokens_out:,} out{cost}"
        )


def estimate(
    questions: pl.DataFrame,
    frames: pl.DataFrame,
    root: Path,
    max_tokens: int,
    price: Price | None,
    max_side: int | None = None,
) -> Estimate:
    """Estimate what the questions would take; nothing is sent.

    A token is taken to be 4 characters of text; an image is what the price table says, else one token for each
    28 x 28 pixels.

    Args:
        questions: those that are still to be asked.
        frames: the run's ``frames`` table, for the sizes of images.
        root: the folder of the images; a file that is not there yet counts no bytes.
        max_tokens: most tokens of a reply.
        price: what tokens cost.
        max_side: images with a longer side are made smaller before they are sent.
    """
    texts = pl.col("system", "prompt").cast(pl.String)
    distinct = questions.select(pl.col("images").list.join("\0").fill_null(""), texts).unique()
    tokens = distinct.select(
        ((pl.col("system").str.len_chars() + pl.col("prompt").str.len_chars()) / _CHARACTERS_PER_TOKEN).ceil().sum()
    ).item()
    shown = distinct.select(pl.col("images").str.split("\0").explode()).filter(pl.col("images") != "")
    longer = pl.max_horizontal("width", "height")
    scale = pl.lit(1.0) if max_side is None else pl.min_horizontal(pl.lit(1.0), max_side / longer)
    sides = frames.select("image", pl.col("width", "height") * scale)
    counted = shown.group_by("images").len().join(sides, left_on="images", right_on="image")
    if price is not None and price.image_tokens is not None:
        per_image = pl.lit(price.image_tokens)
    else:
        per_image = (pl.col("width") / _PATCH).ceil() * (pl.col("height") / _PATCH).ceil()
    visual = counted.select((per_image * pl.col("len")).sum()).item()
    files = {name: root / name for name in counted["images"]}
    sizes = {name: path.stat().st_size if path.is_file() else 0 for name, path in files.items()}
    size = sum(sizes[name] * count for name, count in counted.select("images", "len").iter_rows())
    absent = sum(not path.is_file() for path in files.values())
    tokens_in, tokens_out = int(tokens + visual), distinct.height * max_tokens
    cost = None if price is None else price.of(tokens_in, tokens_out)
    return Estimate(distinct.height, shown.height, size, tokens_in, tokens_out, cost, questions.height, absent)


def who_answered(
    folder: RunFolder, answers: pl.DataFrame, prices: dict[str, Price] | None = None
) -> list[dict[str, Any]]:
    """What is to be told of each model of a run.

    Args:
        folder: the run.
        answers: its ``answers`` table.
        prices: see :func:`read_prices`.

    Returns:
        One record per model: ``model``, ``answers``, ``errors``, ``refused``, ``cut`` (replies that ended for
        their length), ``tokens_in``, ``tokens_out`` (sums, None where no answer tells), ``seconds_median``,
        ``seconds_p95``, ``sizes`` (the commonest sizes as sent, with their counts, most common first),
        ``cost`` (None without a price), ``wall_seconds`` and ``facts`` of the last time of asking.
    """
    finish = pl.col("finish").cast(pl.String)
    rows = answers.group_by(pl.col("model").cast(pl.String), maintain_order=True).agg(
        pl.len().alias("answers"),
        (finish == "error").sum().alias("errors"),
        (finish == "content_filter").sum().alias("refused"),
        (finish == "length").sum().alias("cut"),
        *(
            pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).cast(pl.Int64).sum()).first().alias(name)
            for name in ("tokens_in", "tokens_out")
        ),
        pl.col("seconds").median().alias("seconds_median"),
        pl.col("seconds").quantile(0.95, "nearest").alias("seconds_p95"),
    )
    told = []
    for row in rows.iter_rows(named=True):
        held = sessions(folder.facts(row["model"]))
        price = price_of(row["model"], prices or {})
        known = price is not None and row["tokens_in"] is not None
        told.append(
            {
                **row,
                "sizes": _sizes(answers.filter(pl.col("model").cast(pl.String) == row["model"])),
                "cost": price.of(row["tokens_in"], row["tokens_out"] or 0) if known and price else None,
                "wall_seconds": sum(session.get("wall_seconds", 0.0) for session in held) if held else None,
                "facts": held[-1] if held else {},
            }
        )
    return told


def _sizes(answers: pl.DataFrame) -> list[tuple[str, int]]:
    size = pl.element().arr.to_list().cast(pl.List(pl.String)).list.join("x")
    shown = answers.select(pl.col("sent_sizes").drop_nulls().list.eval(size).list.explode().alias("size")).drop_nulls()
    counted = shown.group_by("size").len().sort(["len", "size"], descending=[True, False]).head(5)
    return [(str(name), int(count)) for name, count in counted.iter_rows()]
