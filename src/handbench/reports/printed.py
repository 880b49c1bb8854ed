"""Tables that are printed in several ways: Markdown, LaTeX, CSV and HTML from the same cells."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from typing import Final

_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "−": "$-$", "±": r"$\pm$", "→": r"$\to$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "×": r"$\times$", "<": r"$<$", ">": r"$>$", "·": r"$\cdot$",
    "°": r"$^\circ$", "≥": r"$\geq$", "≤": r"$\leq$",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of a table.

    Attributes:
        cells: as they are shown.
        published: whether it is a paper's own and not measured here.
        strong: whether it is to catch the eye.
    """

    cells: tuple[str, ...]
    published: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Printed:
    """A table.

    Attributes:
        name: for a file's name.
        title: what it is.
        note: what must be said of it.
        headings: of the columns.
        lines: measured ones first, published ones last.
        texts: how many of the first columns are text; the others are numbers.
    """

    name: str
    title: str
    note: str
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    texts: int = 1

    def without(self, heading: str) -> Printed:
        """The same table without a column."""
        place = self.headings.index(heading)

        def left(cells: tuple[str, ...]) -> tuple[str, ...]:
            return cells[:place] + cells[place + 1 :]

        lines = tuple(replace(line, cells=left(line.cells)) for line in self.lines)
        return replace(self, headings=left(self.headings), lines=lines)

    def markdown(self) -> str:
        """With a rule for numbers on the right; published lines are in italics."""
        rows = [
            "| " + " | ".join(_plain(heading) for heading in self.headings) + " |",
            "|" + "|".join(" --- " if place < self.texts else " ---: " for place in range(len(self.headings))) + "|",
        ]
        for line in self.lines:
            cells = [_plain(cell) for cell in line.cells]
            if line.published:
                cells = [f"*{cell}*" if cell else "" for cell in cells]
            rows.append("| " + " | ".join(cells) + " |")
        return "\n".join([f"### {self.title}", "", *rows, "", self.note])

    def latex(self) -> str:
        """A booktabs table; published lines are below a rule, in grey."""
        columns = "".join("l" if place < self.texts else "r" for place in range(len(self.headings)))
        mine, theirs = ([_row(line) for line in self.lines if line.published is which] for which in (False, True))
        body = [*mine, *(["\\midrule", *theirs] if theirs and mine else theirs)]
        return "\n".join(
            [
                "\\begin{table}",
                f"\\caption{{{_escaped(self.title)}. {_escaped(self.note)}}}",
                f"\\label{{tab:{self.name}}}",
                f"\\begin{{tabular}}{{{columns}}}",
                "\\toprule",
                " & ".join(_escaped(heading) for heading in self.headings) + r" \\",
                "\\midrule",
                *body,
                "\\bottomrule",
                "\\end{tabular}",
                "\\end{table}",
            ]
        )

    def csv(self) -> str:
        """One line each, with a column that tells which are published."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*self.headings, "published"])
        for line in self.lines:
            writer.writerow([*(cell.replace("\n", " ") for cell in line.cells), "yes" if line.published else "no"])
        return buffer.getvalue()


def _plain(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ").replace("*", "\\*")


def _row(line: Line) -> str:
    cells = [_escaped(cell) for cell in line.cells]
    if line.published:
        cells = [f"\\textcolor{{gray}}{{{cell}}}" if cell else "" for cell in cells]
    elif line.strong:
        cells = [f"\\textbf{{{cell}}}" if cell else "" for cell in cells]
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text.replace("\n", " "))
