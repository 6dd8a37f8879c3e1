"""What it is worth to choose where a gap is paid from, when the opponent must pay by the default.

::

    python tests/benchmarks/price_of_pulls.py              # into results/price-of-pulls
    python tests/benchmarks/price_of_pulls.py 3x6 --objective chips --out /tmp/prices

Seat 0 pays as ``tiles`` or ``free`` lets it, seat 1 by the default rule ``latest``, and both play
optimally.  The value is that of the linear program, to seat 0; ``lower`` and ``upper`` are what a
best response leaves of seat 0's strategy and takes from seat 1's.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated

import typer
from making import write_manifest
from rich.console import Console
from rich.table import Table

from solver import Game
from solver.lp import solve_seats

GAMES = ["3x6", "3x9", "4x6", "4x8"]
COLUMNS = ("game", "objective", "pulls", "lower", "upper", "seconds")


def price(name: str, objective: str, pulls: str) -> dict[str, object]:
    """Return a row of the table."""
    start = time.perf_counter()
    found = solve_seats(Game.parse(name, objective=objective), (pulls, "latest"))
    seconds = round(time.perf_counter() - start, 1)
    values = (
        name,
        objective,
        pulls,
        round(found.lower, 12) + 0.0,
        round(found.upper, 12) + 0.0,
        seconds,
    )
    return dict(zip(COLUMNS, values, strict=True))


def main(
    games: Annotated[list[str] | None, typer.Argument(help="NxC")] = None,
    objective: Annotated[list[str] | None, typer.Option(help="win, chips")] = None,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/price-of-pulls"),
) -> None:
    """Measure what the choice is worth."""
    out.mkdir(parents=True, exist_ok=True)
    solve_seats(Game(3, 5), ("free", "latest"))  # compiles
    table = Table(*COLUMNS)
    with (out / "prices.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in games or GAMES:
            for paid_in in objective or ["win", "chips"]:
                for pulls in ("tiles", "free"):
                    row = price(name, paid_in, pulls)
                    writer.writerow(row)
                    file.flush()
                    table.add_row(*map(str, row.values()))
    write_manifest(out)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
