from __future__ import annotations

import polars as pl

from handbench.reports.pointing_tables import controls


def row(model, descriptor, metric, control, value):
    told = {"model": model, "descriptor": descriptor, "metric": metric, "slice": "control", "slice_value": control}
    return {**told, "value": value, "low": value - 0.1, "high": value + 0.1, "n": 4}


def test_controls_stand_beside_each_other_by_sub_task():
    rows = [
        row("a", "pog", "accuracy", "masked", 0.25),
        row("a", "pog", "accuracy_change", "masked", -0.5),
        row("a", "pog", "consistency", "masked", 0.5),
        row("b", "pog", "accuracy", "blank", 0.0),
        row("a", "all", "accuracy", "masked", 0.25),
        {**row("a", "edg", "accuracy", "all", 1.0), "slice": "all"},
    ]
    (table,) = controls(pl.DataFrame(rows))
    assert table.title == "POG"
    assert table.headings == ("masked: right", "masked: change", "blank: right", "blank: change")
    assert [[number.text for number in line.numbers] for line in table.lines] == [
        ["0.250", "-0.500", "–", "–"],
        ["–", "–", "0.000", "–"],
    ]
