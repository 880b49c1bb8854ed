"""``handbench papers``: the papers' claims, recomputed from their own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from handbench.cli.app import app
from handbench.cli.options import Json


@app.command()
def papers(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="An HTML file to write.", show_default=False)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Json = False,
) -> None:
    """Where the papers' own numbers do not fit together, recomputed from what they print."""
    from handbench.reports import discrepancies

    found = discrepancies.findings()
    if out is not None:
        from handbench.reports.environment import template

        out.write_text(template("papers.html.j2").render(findings=found), encoding="utf-8")
        print(out)
        return
    if as_json:
        print(json.dumps([vars(one) for one in found]))
        return
    if markdown:
        print(discrepancies.markdown(found), end="")
        return
    for one in found:
        print(f"{'✓' if one.holds else '✗'} {one.paper}, {one.where}: {one.says}\n    {one.recomputed}")
