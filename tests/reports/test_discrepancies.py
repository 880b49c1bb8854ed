from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from handbench.cli import app
from handbench.reports import discrepancies

DOCS = Path(__file__).resolve().parents[2] / "docs"


def by_place() -> dict[tuple[str, str], discrepancies.Finding]:
    return {(one.paper, one.where): one for one in discrepancies.findings()}


def test_known_discrepancies_are_found():
    found = by_place()
    assert "76 questions, where the gain is 2 questions" in found["HandVQA", "Table 4"].recomputed
    assert not found["HandVQA", "Table 13"].holds
    variant = found["SafeGesture", "Table 4, Variant A"]
    assert variant.recomputed == "16.6, 9.6, 21.7, 12.2 % are no k / 48 for any whole k"
    assert found["SafeGesture", "Table 4, Variant B"].holds
    assert found["SafeGesture", "Table 2 and Appendix F"].holds
    rates = found["SafeGesture", "Table 2, under- and over-safety"].recomputed
    assert "LLaVA-NeXT 11.6 / 31.2 (printed 5.6 / 4.6)" in rates


def test_they_are_what_the_reference_values_say(shared):
    """Safety accuracies worked out elsewhere from the same matrices."""
    derived = json.loads((shared / "golden/safegesture/derived_checks.json").read_text())["derived"]
    data = discrepancies.load("safegesture")
    assert data is not None
    for model, matrix in data["confusion_matrices"].items():
        share = 100 * sum(matrix[place][place] for place in range(5)) / sum(map(sum, matrix))
        assert abs(share - derived[model]["SA"]) < 1e-9


def test_smallest_sets_by_hand():
    # 1/3 is 33.33 %, 2/3 is 66.67 %: three questions; with 25 % besides, twelve.
    assert discrepancies.smallest_sets([33.33, 66.67]) == 3
    assert discrepancies.smallest_sets([33.33, 25.0]) == 12
    assert discrepancies.smallest_sets([33.34], largest=100) is None


def test_a_changed_number_is_noticed():
    data = discrepancies.load("safegesture")
    assert data is not None
    data["confusion_matrices"]["GPT-4o"][0][0] += 60
    changed = {one.where: one for one in discrepancies.safegesture(data)}
    assert not changed["Table 2 and Appendix F"].holds
    assert "GPT-4o SA" in changed["Table 2 and Appendix F"].recomputed


def test_the_page_in_the_docs_is_up_to_date():
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    for one in discrepancies.findings():
        row = next(line for line in discrepancies.markdown([one]).splitlines() if line.startswith(f"| {one.where}"))
        assert row in page, f"{one.paper}, {one.where}: run handbench papers --markdown > docs/papers.md"


def test_command(tmp_path):
    told = CliRunner().invoke(app, ["papers", "-o", str(tmp_path / "papers.html")])
    assert told.exit_code == 0, told.output
    page = (tmp_path / "papers.html").read_text()
    assert "the gain is 2 questions" in page
    assert "✗ HandVQA, Table 4" in CliRunner().invoke(app, ["papers"]).stdout
    assert json.loads(CliRunner().invoke(app, ["papers", "--json"]).stdout)[0]["paper"] == "HandVQA"
