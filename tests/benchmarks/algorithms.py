"""How fast the algorithms of the exact solver converge: a table of curves and a figure.

::

    python tests/benchmarks/algorithms.py                  # into results/algorithms
    python tests/benchmarks/algorithms.py 3x6 --seconds 5 --out /tmp/curves

Every algorithm runs on every game, one after another on one thread, for the same number of seconds;
at iteration numbers that grow by a tenth its exploitability is computed, which is not counted, nor
is building the tree.  The linear program, which has no curve, is one point: its whole time, with
building the tree, and the exploitability that a best response finds in its answer.
"""

from __future__ import annotations

import csv
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from making import write_manifest

from solver import Game
from solver.cfr import Algorithm, ExactSolver
from solver.lp import solve_lp

GAMES = ["3x6", "3x9", "4x6", "4x8"]
GROWTH = 1.1
FLOOR = 1e-12
"""Exploitabilities below are drawn as this."""


@dataclass(frozen=True)
class Point:
    """An exploitability on the way."""

    game: str
    algorithm: str
    iterations: int
    seconds: float
    exploitability: float


def run_curve(game: Game, algorithm: Algorithm, limit: float) -> list[Point]:
    """Return the curve of an algorithm in so many seconds of iterations."""
    solver = ExactSolver(game, algorithm=algorithm)
    points, seconds, goal = [], 0.0, 8
    while seconds < limit:
        start = time.perf_counter()
        solver.run(goal - solver.iterations)
        seconds += time.perf_counter() - start
        found = max(solver.exploitability(), FLOOR)
        points.append(Point(game.name, algorithm, goal, seconds, found))
        goal = int(goal * GROWTH) + 1
    return points


def run_program(game: Game) -> Point:
    """Return what the linear program takes and reaches."""
    start = time.perf_counter()
    found = solve_lp(game)
    seconds = time.perf_counter() - start
    return Point(game.name, "lp", found.iterations, seconds, max(found.exploitability, FLOOR))


def draw(points: list[Point], games: list[str], file: Path) -> None:
    """Draw the curves, a panel a game."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "blackwhite"
    figure, axes = pyplot.subplots(1, len(games), figsize=(4 * len(games), 3.6), squeeze=False)
    for axis, game in zip(axes[0], games, strict=True):
        for algorithm in get_args(Algorithm):
            curve = [p for p in points if (p.game, p.algorithm) == (game, algorithm)]
            axis.loglog(
                [p.seconds for p in curve], [p.exploitability for p in curve], label=algorithm
            )
        for p in points:
            if (p.game, p.algorithm) == (game, "lp"):
                axis.loglog(p.seconds, p.exploitability, "k*", label="lp")
        axis.set_title(game)
        axis.set_xlabel("seconds, one thread")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("exploitability")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main(
    games: Annotated[list[str] | None, typer.Argument(help="NxC")] = None,
    seconds: Annotated[float, typer.Option(help="Of iterations, for each curve.")] = 20.0,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/algorithms"),
) -> None:
    """Compare the exact algorithms."""
    names = games or GAMES
    out.mkdir(parents=True, exist_ok=True)
    for algorithm in get_args(Algorithm):
        run_curve(Game(2, 3), algorithm, 0.01)  # compiles
    solve_lp(Game(2, 3))
    points = []
    for name in names:
        game = Game.parse(name)
        for algorithm in get_args(Algorithm):
            points += run_curve(game, algorithm, seconds)
        points.append(run_program(game))
    with (out / "curves.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(points[0])))
        writer.writeheader()
        writer.writerows(asdict(p) for p in points)
    draw(points, names, out / "curves.svg")
    write_manifest(out, games=names, seconds=seconds)


if __name__ == "__main__":
    typer.run(main)
