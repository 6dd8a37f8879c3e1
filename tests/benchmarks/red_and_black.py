"""The environments beside the main game: exact values, and how OpenSpiel's solvers come to them.

::

    python tests/benchmarks/red_and_black.py               # into results/red-and-black
    python tests/benchmarks/red_and_black.py --game 3-full --out figures

Writes ``seats.csv`` (what each seat is worth by exact counting), ``table`` (when to double, for up
to 21 players), ``pools.csv`` (the Put and Take pools), and ``convergence.csv`` with its figure: one
hand of Red and Black as a cached tree, solved by OpenSpiel's C++ CFR+ and external-sampling MCCFR;
``distance`` is how far the average policy's value of a seat is from the exact one, the largest over
seats and the bank, in bets.
"""

from __future__ import annotations

import csv
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import pyspiel
import typer
from making import write_manifest

import spiel_game  # noqa: F401  registers the games
from spiel_game.put_and_take_odds import pool_odds
from spiel_game.put_and_take_rules import MOST_PLAYERS as MOST_IN_POOL
from spiel_game.put_and_take_rules import SCALES, PutAndTakeRules
from spiel_game.red_and_black_optimum import Optimum, doubling_rule, solve_red_and_black
from spiel_game.red_and_black_policy import red_and_black_table, save_red_and_black
from spiel_game.red_and_black_table import MOST_PLAYERS, RedAndBlackRules

GAMES = {
    "2-full": ("2 players, full pack", "players=2", 256, 100_000),
    "3-full": ("3 players, full pack", "players=3,max_bet=1", 256, 20_000_000),
    "3-small": ("3 players, 10 cards", "players=3,cards_per_colour=5,max_bet=1", 256, 3_000_000),
    "4-small": ("4 players, 16 cards", "players=4,cards_per_colour=8,max_bet=1", 16, 700_000),
}
"""By name: a title, parameters, and how many iterations of CFR+ and of MCCFR."""

FLOOR = 1e-9
"""Distances below are drawn as this."""


@dataclass(frozen=True)
class Point:
    """A distance on the way."""

    game: str
    solver: str
    iterations: int
    distance: float


def follow(game: str) -> Iterator[Point]:
    """Yield the curves of both solvers."""
    _, parameters, num_cfr, num_mccfr = GAMES[game]
    plain = pyspiel.load_game(f"python_red_and_black(hands=1,{parameters})")
    exact = [float(value) for value in solve_red_and_black(plain.rules).match_values]
    tree = pyspiel.convert_to_cached_tree(plain)

    def curve(name: str, step: Callable, policy: Callable, goals: list[int]) -> Iterator[Point]:
        done = 0
        for goal in goals:
            for _ in range(goal - done):
                step()
            done = goal
            chips = pyspiel.expected_returns(tree.new_initial_state(), policy(), -1, False)
            found = [won / plain.rules.largest_bet for won in chips]
            yield Point(game, name, done, max(map(abs, map(operator.sub, found, exact))))

    cfr = pyspiel.CFRPlusSolver(tree)
    goals = [2**k for k in range(num_cfr.bit_length())]
    yield from curve("CFR+", cfr.evaluate_and_update_policy, cfr.tabular_average_policy, goals)
    mccfr = pyspiel.ExternalSamplingMCCFRSolver(tree, seed=1)
    goals = [100 * 3**k for k in range(int(math.log(num_mccfr / 100, 3)) + 1)]
    yield from curve("MCCFR", mccfr.run_iteration, mccfr.average_policy, goals)


def draw(points: list[Point], file: Path) -> None:
    """Draw distances by iterations, a panel a game, but for games that are at 0 throughout."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "blackwhite"
    names = list(dict.fromkeys(point.game for point in points))
    games = [name for name in names if any(p.game == name and p.distance for p in points)] or names
    figure, axes = pyplot.subplots(1, len(games), figsize=(4 * len(games), 3.6), squeeze=False)
    for axis, game in zip(axes[0], games, strict=True):
        for solver in ("CFR+", "MCCFR"):
            curve = [p for p in points if (p.game, p.solver) == (game, solver)]
            axis.loglog(
                [p.iterations for p in curve],
                [max(p.distance, FLOOR) for p in curve],
                "o-",
                label=solver,
                markersize=3,
            )
        axis.set_title(GAMES[game][0])
        axis.set_xlabel("iterations")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("distance, in bets")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def seat_rows(found: Optimum) -> Iterator[dict[str, object]]:
    """Yield what each seat of the largest table is worth, and the bank if it is the last seat."""
    for seat, value in enumerate(found.seat_values, 1):
        rule = doubling_rule(found, seat)
        total = sum(found.seat_values[:seat])
        yield {
            "seat": seat,
            "value": float(value),
            "value_exact": str(value),
            "value_not_counting": float(found.uncounted_values[seat - 1]),
            "cards_left": rule.cards_left,
            "double_from": rule.double_from,
            "doubles": float(rule.doubles),
            "banker_value": float(-total),
            "fair_ante": float(total / seat),
        }


def pool_rows() -> Iterator[dict[str, object]]:
    """Yield expectations and standard deviations of every pool, without an ante."""
    for scale in SCALES:
        for players in range(2, MOST_IN_POOL + 1):
            odds = pool_odds(PutAndTakeRules(scale, players, ante=0))
            yield {
                "scale": scale,
                "players": players,
                "expected_put": float(odds.expected_put),
                "expected_put_exact": str(odds.expected_put),
                "put_sd": math.sqrt(odds.put_variance),
                "sd": math.sqrt(odds.variance),
                "variance_exact": str(odds.variance),
                "banker_sd": math.sqrt(odds.banker_variance),
            }


def write_rows(file: Path, rows: list[dict[str, object]]) -> None:
    """Write a CSV file."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main(
    game: Annotated[list[str] | None, typer.Option(help=", ".join(GAMES))] = None,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/red-and-black"),
) -> None:
    """Write the values of both environments and the curves."""
    if unknown := set(game or ()) - GAMES.keys():
        raise typer.BadParameter(f"{min(unknown)}: allowed are {', '.join(GAMES)}")
    out.mkdir(parents=True, exist_ok=True)
    rules = RedAndBlackRules(MOST_PLAYERS, 1, 1)
    found = solve_red_and_black(rules)
    write_rows(out / "seats.csv", list(seat_rows(found)))
    write_rows(out / "pools.csv", list(pool_rows()))
    command = f"blackwhite red-and-black --players {MOST_PLAYERS} --out {out / 'table'}"
    save_red_and_black(red_and_black_table(rules, found, command=command), out / "table")
    points = [point for name in game or GAMES for point in follow(name)]
    write_rows(out / "convergence.csv", [asdict(point) for point in points])
    draw(points, out / "convergence.svg")
    write_manifest(out, games={name: GAMES[name][1] for name in game or GAMES})


if __name__ == "__main__":
    typer.run(main)
