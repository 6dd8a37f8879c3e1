"""Shipped tables say the truth about themselves."""

from pathlib import Path

import pytest

from solver.judge import exploitability
from solver.table import load_table

RESULTS = Path(__file__).parents[1] / "results"
TABLES = sorted(path.parent for path in RESULTS.glob("*/setup.parquet"))


def test_tables_are_shipped():
    assert {path.name for path in TABLES} >= {"3x6", "4x6"}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_shipped_table_is_as_exploitable_as_its_manifest_says(path):
    table = load_table(path)
    assert table.manifest.exploitability.kind == "exact"
    assert exploitability(table.strategy, table.game) == pytest.approx(
        table.manifest.exploitability.value, abs=1e-10
    )
