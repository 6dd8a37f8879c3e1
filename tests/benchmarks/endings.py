"""What re-solving the endings of a sampled table does to its exploitability, exactly.

::

    python tests/benchmarks/endings.py                 # into results/endings
    python tests/benchmarks/endings.py 4x8 --out results/local/endings

Every ending that begins with the given number of slots left is re-solved
(:mod:`solver.endings.combine`), and the judge takes the strategy with and without, in the unreduced
game.  ``unsafe`` leaves out what binds the solver: the ending is solved for the two ranges alone.
``excess`` is the most that any private state of the opponent gains in an ending, and
``endings`` counts those that can be reached, ``changed`` those whose solution was taken.  In 5x8,
endings that the table itself reaches with less than ``least_reach`` stay as they are.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from making import write_manifest
from rich.console import Console
from rich.table import Table

from solver import Game, exploitability, solve_sampled
from solver.endings.combine import combine
from solver.endings.resolve import MOST_EXCESS, PENALTY


class Case(NamedTuple):
    """What is measured."""

    game: str
    sampled: int  # iterations of the table
    slots: int
    is_safe: bool = True
    least_reach: float = 0.0


CASES = (
    Case("4x8", 10_000, 3),
    Case("4x8", 100_000, 3),
    Case("4x8", 100_000, 3, is_safe=False),
    Case("4x8", 1_000_000, 3),
    Case("4x8", 10_000, 4),
    Case("4x8", 100_000, 4),
    Case("4x8", 1_000_000, 4),
    Case("5x8", 1_000_000, 4, least_reach=1e-3),
)
COLUMNS = (
    "game", "sampled", "slots", "method", "least_reach", "without", "with", "endings", "changed",
    "excess", "seconds",
)  # fmt: skip


def measure(case: Case, iterations: int) -> list[object]:
    """Return a row of the table."""
    game = Game.parse(case.game)
    made = solve_sampled(game, iterations=case.sampled, time_limit=None, seed=1, threads=1)
    strategy = made.strategy()
    start = time.perf_counter()
    combined = combine(
        strategy,
        game,
        game.num_tiles - case.slots,
        iterations=iterations,
        penalty=PENALTY if case.is_safe else 0.0,
        most_excess=MOST_EXCESS if case.is_safe else 2.0,
        evenly=0.5 if case.is_safe else 0.0,
        least_reach=case.least_reach,
    )
    seconds = time.perf_counter() - start
    return [
        case.game,
        made.iterations,
        case.slots,
        "safe" if case.is_safe else "unsafe",
        case.least_reach,
        round(exploitability(strategy, game), 5),
        round(exploitability(combined.strategy, game), 5),
        combined.num_endings,
        combined.num_taken,
        round(combined.excess, 5),
        round(seconds, 1),
    ]


def main(
    games: Annotated[list[str] | None, typer.Argument(help="NxC")] = None,
    iterations: Annotated[int, typer.Option(help="In each ending.")] = 200,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/endings"),
) -> None:
    """Judge tables with and without re-solved endings."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(*COLUMNS)
    with (out / "endings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for case in CASES:
            if games and case.game not in games:
                continue
            row = measure(case, iterations)
            writer.writerow(row)
            file.flush()
            table.add_row(*map(str, row))
    write_manifest(out)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
