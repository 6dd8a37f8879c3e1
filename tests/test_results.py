"""Shipped tables say the truth about themselves."""

from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from solver.arena import play_match
from solver.bots import make_bot
from solver.judge import exploitability
from solver.rules import Game
from solver.table import load_table
from spiel_game.red_and_black_optimum import solve_red_and_black
from spiel_game.red_and_black_policy import load_red_and_black, red_and_black_table
from spiel_game.red_and_black_table import RedAndBlackRules

RESULTS = Path(__file__).parents[1] / "results"
TABLES = sorted(path.parent for path in RESULTS.glob("*/setup.parquet"))
SAMPLED = [RESULTS / "10x30"]


def test_tables_are_shipped():
    assert {path.name for path in TABLES} >= {"3x6", "4x6", "10x30"}


@pytest.mark.parametrize("path", sorted(set(TABLES) - set(SAMPLED)), ids=lambda path: path.name)
def test_shipped_table_is_as_exploitable_as_its_manifest_says(path):
    table = load_table(path)
    assert table.manifest.exploitability.kind == "exact"
    assert exploitability(table.strategy, table.game) == pytest.approx(
        table.manifest.exploitability.value, abs=1e-10
    )


def test_shipped_table_of_the_full_game_is_small_finished_and_beats_random_play():
    path = SAMPLED[0]
    assert sum(file.stat().st_size for file in path.iterdir()) <= 40e6
    table = load_table(path)
    assert (table.game, table.manifest.finished) == (Game(10, 30), True)
    assert table.manifest.exploitability.kind == "unknown"
    bot = make_bot("bot:random", table.game)
    found = play_match(table.strategy, bot, table.game, games=2_000, seed=1)
    assert found.ci95[0] > 0.5


def test_shipped_choices_to_double_are_the_optimal_ones():
    shipped = load_red_and_black(RESULTS / "red-and-black" / "table")
    rules = RedAndBlackRules(players=21)
    expected = red_and_black_table(rules, solve_red_and_black(rules), command="")
    assert shipped.manifest.rules == rules
    assert shipped.decisions.equals(expected.decisions)


@pytest.fixture
def figures(monkeypatch):
    """Return the script that writes ``results/red-and-black``, as a module."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "benchmarks")
    return import_module("benchmarks.red_and_black")


def test_shipped_seats_and_pools_are_what_counting_gives(figures, tmp_path):
    found = solve_red_and_black(RedAndBlackRules(players=21))
    rows = {"seats.csv": figures.seat_rows(found), "pools.csv": figures.pool_rows()}
    for name, expected in rows.items():
        figures.write_rows(tmp_path / name, list(expected))
        shipped = (RESULTS / "red-and-black" / name).read_text()
        assert shipped == (tmp_path / name).read_text()


def test_shipped_curves_are_those_of_openspiels_solvers(figures):
    shipped = pl.read_csv(RESULTS / "red-and-black" / "convergence.csv")
    assert set(shipped["game"]) == set(figures.GAMES)
    assert (shipped["distance"] >= 0).all()
    rows = shipped.filter(game="3-small").rows(named=True)
    num_quick = sum(row["solver"] == "CFR+" for row in rows) + 5
    for row, point in zip(rows[:num_quick], figures.follow("3-small"), strict=False):
        assert (row["solver"], row["iterations"]) == (point.solver, point.iterations)
        assert row["distance"] == pytest.approx(point.distance, rel=1e-9)
