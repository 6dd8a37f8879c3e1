"""Ways to pay in exact tables: there and back, and files that say what cannot be."""

from __future__ import annotations

import naive
import numpy as np
import polars as pl
import pytest
from bridge import all_infostates, board_of, key_of, observation_of, payments

from solver.rules import Game, InputError
from solver.setups import count_setups
from solver.strategy import exact_strategy, pay_probs
from solver.table import Table, exact_table, load_table, save_table


def decisions_of(game: Game) -> list[naive.Infostate]:
    """Return one infostate for each observation of a decision."""
    found = {key_of(info, game.pulls_code): info for info in all_infostates(game, 0)}
    return list(found.values())


def solution(game: Game, *, rule: str = "random") -> dict[str, np.ndarray]:
    """Return random numbers for every decision; ``rule``: how to pay, random or the default."""
    rng = np.random.default_rng(7)
    pulls = game.pulls_code
    infos = decisions_of(game)
    ways = [len(payments(board_of(i), len(i.slots), i.player, pulls)) for i in infos]
    parts = {
        "setup_probs": rng.dirichlet(np.ones(count_setups(game))),
        "observations": np.array([observation_of(i, pulls) for i in infos], np.int16),
        "slots": np.array([len(i.slots) for i in infos], np.int16),
        "match": rng.random(len(infos)),
    }
    if rule == "random":
        parts["pay_start"] = np.concatenate([[0], np.cumsum(ways)])
        parts["pay"] = np.concatenate([rng.dirichlet(np.ones(num)) for num in ways])
    return parts


def table_of(game: Game, parts: dict[str, np.ndarray]) -> Table:
    return exact_table(
        game,
        **parts,
        reach=np.ones(len(parts["match"])),
        algorithm="cfr+",
        iterations=1,
        seconds=1.0,
        exploitability=None,
        command="a test",
    )


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_each_infostate_pays_as_its_solution_says(pulls):
    game = Game(3, 5, pulls=pulls)
    parts = solution(game)
    strategy = table_of(game, parts).strategy
    for row, info in enumerate(decisions_of(game)):
        given = np.zeros(20)
        num = pay_probs(strategy, board_of(info), len(info.slots), info.player, given)
        wanted = parts["pay"][parts["pay_start"][row] : parts["pay_start"][row + 1]]
        np.testing.assert_allclose(given[:num], wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
@pytest.mark.parametrize(("name", "objective"), [("2x5", "win"), ("3x5", "chips")])
def test_table_pays_as_its_solution_after_a_round_trip(name, objective, pulls, tmp_path):
    game = Game.parse(name, pulls=pulls, objective=objective)
    parts = solution(game)
    wanted = exact_strategy(
        game,
        parts["setup_probs"],
        parts["observations"],
        parts["match"],
        pay_start=parts["pay_start"],
        pay=parts["pay"],
    )
    save_table(table_of(game, parts), tmp_path / "t")
    table = load_table(tmp_path / "t")
    assert table.game == game
    for name, found, part in zip(wanted._fields, table.strategy, wanted, strict=True):
        if name == "pay":
            np.testing.assert_allclose(found, part, rtol=0, atol=1e-15)
        else:
            np.testing.assert_array_equal(found, part)


def test_columns_say_how_each_match_is_paid():
    game = Game(3, 5, pulls="free")
    parts = solution(game)
    frame = table_of(game, parts).decisions
    columns = ways(frame)
    assert {"match@", "match@2-1", "match@3-1", "match@2-1,3-1"} <= set(columns)
    np.testing.assert_allclose(frame.select(columns).sum_horizontal(), parts["match"])
    assert {"pulled_1", "pulled_2", "pulled_3"} <= set(frame.columns)
    third = frame.filter(pl.col("slot") == 3)
    np.testing.assert_allclose(third["match@"], third["match"], rtol=0, atol=1e-15)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_table_without_ways_to_pay_pays_by_the_default_rule(pulls):
    game = Game(3, 5, pulls=pulls)
    strategy = table_of(game, solution(game, rule="default")).strategy
    nums = np.diff(strategy.pay_start)
    assert nums.max() > 1
    assert (strategy.pay[strategy.pay_start[:-1]] == 1).all()
    assert strategy.pay.sum() == len(nums)


def test_decision_that_never_matches_pays_by_the_default_rule():
    game = Game(3, 5, pulls="free")
    parts = solution(game)
    parts["match"][:] = 0.0
    strategy = table_of(game, parts).strategy
    assert (strategy.pay[strategy.pay_start[:-1]] == 1).all()


def ways(frame: pl.DataFrame) -> list[str]:
    """Return the names of the columns that say how a match is paid."""
    return [name for name in frame.columns if name.startswith("match@")]


def first_row_moved(frame: pl.DataFrame) -> pl.DataFrame:
    """Let the first decision take a chip from a slot already played."""
    is_first = pl.int_range(pl.len()) == 0
    none = [pl.when(is_first).then(0.0).otherwise(pl.col(way)).alias(way) for way in ways(frame)]
    moved = pl.when(is_first).then(pl.col("match")).otherwise(0.0)
    return frame.with_columns(*none, moved.alias("match@1-1"))


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda d: d.with_columns(pl.col("match@3-1") + 2), "match@3-1: a number is not a prob"),
        (lambda d: d.with_columns(-pl.col("match@3-1")), "match@3-1: a number is not a prob"),
        (lambda d: d.with_columns(pl.col("match@3-1") * 0.999), "row 2: its ways to match sum"),
        (lambda d: d.drop("match@3-1"), "its ways to match sum"),
        (
            lambda d: d.with_columns(pl.lit(0.0).alias(n) for n in ["match", *ways(d)]).drop(
                "match@3-1"
            ),
            "no column match@3-1",
        ),
        (first_row_moved, "row 1: match@1-1 is impossible there"),
        (lambda d: d.with_columns(slot=pl.lit(9, pl.Int16)), "row 1: there is no slot 9"),
        (lambda d: d.with_columns(my_chips_3=pl.lit(0, pl.Int16)), "row 1: nobody decides there"),
        (lambda d: d.with_columns(my_chips_3=pl.lit(99, pl.Int16)), "row 1: nobody decides there"),
        (lambda d: d.with_columns(opp_chips_1=pl.lit(1, pl.Int16)), "row 3: nobody decides there"),
        (lambda d: d.drop("pulled_1"), "pulled_1"),
    ],
)
def test_impossible_ways_to_pay_are_refused_in_one_line(change, wanted, tmp_path):
    table = table_of(Game(3, 5, pulls="free"), solution(Game(3, 5, pulls="free")))
    save_table(Table(table.manifest, table.setup, change(table.decisions)), tmp_path / "t")
    with pytest.raises(InputError, match=wanted) as error:
        load_table(tmp_path / "t")
    assert "\n" not in str(error.value)
