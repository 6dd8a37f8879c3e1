"""Shipped tables say the truth about themselves."""

from pathlib import Path

import polars as pl
import pytest

from solver.judge import exploitability
from solver.table import load_table
from spiel_game.put_and_take_odds import pool_odds
from spiel_game.put_and_take_rules import PutAndTakeRules
from spiel_game.red_and_black_optimum import solve_red_and_black
from spiel_game.red_and_black_policy import load_red_and_black, red_and_black_table
from spiel_game.red_and_black_table import RedAndBlackRules

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


def test_shipped_choices_to_double_are_the_optimal_ones():
    shipped = load_red_and_black(RESULTS / "red-and-black" / "table")
    rules = RedAndBlackRules(players=21)
    expected = red_and_black_table(rules, solve_red_and_black(rules), command="")
    assert shipped.manifest.rules == rules
    assert shipped.decisions.equals(expected.decisions)


def test_shipped_seat_values_are_exact():
    rows = pl.read_csv(RESULTS / "red-and-black" / "seats.csv")
    found = solve_red_and_black(RedAndBlackRules(players=21))
    assert rows["value_exact"].cast(pl.String).to_list() == [str(v) for v in found.seat_values]
    assert rows["banker_value"][-1] == pytest.approx(float(found.banker_value), abs=1e-12)
    assert set(rows["value_not_counting"]) == {0}


def test_shipped_pool_odds_are_exact():
    rows = pl.read_csv(RESULTS / "red-and-black" / "pools.csv").rows(named=True)
    assert len(rows) == 4 * 7
    for row in rows:
        odds = pool_odds(PutAndTakeRules(row["scale"], row["players"], ante=0))
        assert row["expected_put_exact"] == str(odds.expected_put)
        assert row["variance_exact"] == str(odds.variance)
        assert row["banker_sd"] ** 2 == pytest.approx(float(odds.banker_variance))


def test_solvers_came_to_the_exact_values():
    rows = pl.read_csv(RESULTS / "red-and-black" / "convergence.csv")
    last = rows.group_by("game", "solver").last().rows(named=True)
    distances = {(row["game"], row["solver"]): row["distance"] for row in last}
    assert distances["2-full", "CFR+"] == distances["2-full", "MCCFR"] == 0
    assert all(distances[game, "CFR+"] < 3e-3 for game in ("3-full", "3-small", "4-small"))
    assert distances["3-small", "MCCFR"] < 3e-3
