"""How much of the exact exploitability the searched bound finds, where both can be had.

::

    python tests/benchmarks/calibration.py                 # into results/calibration
    python tests/benchmarks/calibration.py 4x8 --seconds 30 --out /tmp/calibration

The tables go from bad to nearly optimal: a bot, sampled tables of few and of many iterations, and
exact tables stopped early.  Each is searched with several seeds.  ``share`` is the bound over the
exact value; ``search_games`` tells how far a search got in its time.  What ``exploit`` says of
it, ``solver/exploiter/calibration.py``, is written anew with ``--install``.  ``--keep FOLDER``
keeps the tables and their exact values there and takes them from there the next time; it is for
repeated runs of one version of the code.
"""

from __future__ import annotations

import csv
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from making import write_manifest
from rich.console import Console
from rich.table import Table

from solver import (
    Game,
    Strategy,
    exploitability,
    make_bot,
    search_best_response,
    solve_exact,
    solve_sampled,
    strategy_of,
)

TABLES = {
    "4x8": ("bot:random", "sampled:1e4", "sampled:1e5", "sampled:1e6", "exact:.1", "exact:.03"),
    "4x10": ("bot:random", "sampled:1e5", "sampled:1e6", "exact:.03"),
    "5x8": ("bot:random", "sampled:1e6", "exact:.03"),
}
"""For each game: bots, sampled tables by iterations, exact ones by the target they stopped at."""

SECONDS = {"4x8": 30.0, "4x10": 60.0, "5x8": 100.0}
COLUMNS = (
    *("game", "table", "exact", "bound", "ci_low", "ci_high", "share"),
    *("search_games", "seconds", "seed"),
)

FROM_EXACT = 0.02
"""Tables of a lower exact value do not count for the figure that is installed."""

INSTALLED = Path(__file__).parents[2] / "solver" / "exploiter" / "calibration.py"


def make_table(game: Game, name: str) -> Strategy:
    """Return the table of a name such as ``sampled:1e5``."""
    kind, _, size = name.partition(":")
    if kind == "bot":
        return make_bot(name, game)
    if kind == "exact":
        return strategy_of(solve_exact(game, target=float(size)))
    made = solve_sampled(game, iterations=int(float(size)), time_limit=None, seed=1, threads=1)
    return made.strategy()


def judged(game: Game, name: str, keep: Path | None) -> tuple[Strategy, float]:
    """Return a table and its exact exploitability."""
    file = keep / f"{game.name}-{name.replace(':', '-')}.pickle" if keep else None
    if file is not None and file.exists():
        parts, exact = pickle.loads(file.read_bytes())
        return Strategy(*parts), exact
    strategy = make_table(game, name)
    exact = exploitability(strategy, game)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps((tuple(strategy), exact)))
    return strategy, exact


def measure(
    game: Game, name: str, seconds: float, seeds: int, keep: Path | None
) -> Iterator[dict[str, object]]:
    """Yield a row for each seed."""
    strategy, exact = judged(game, name, keep)
    for seed in range(seeds):
        found = search_best_response(strategy, game, time_limit=seconds, seed=seed, threads=1)
        numbers = (exact, found.lower, *found.ci95, found.lower / exact)
        work = (found.search_games, round(found.seconds, 1), seed)
        values = (game.name, name, *(round(x, 5) for x in numbers), *work)
        yield dict(zip(COLUMNS, values, strict=True))


def install(rows: list[dict[str, object]]) -> None:
    """Write what ``exploit`` says of the calibration into the package."""
    counted = [row for row in rows if float(str(row["exact"])) >= FROM_EXACT]
    facts = {
        "share": round(min(float(str(row["share"])) for row in counted), 3),
        "tables": len({(row["game"], row["table"]) for row in counted}),
        "games": list(dict.fromkeys(row["game"] for row in counted)),
        "exact_from": FROM_EXACT,
        "source": "results/calibration",
    }
    lines = [
        '"""How much of the exact value the searched bound found, where both are known.',
        "",
        "Written by ``tests/benchmarks/calibration.py --install``.",
        '"""',
        "",
        "CALIBRATION: dict[str, object] = {",
        *(f"    {_quoted(key)}: {_quoted(value)}," for key, value in facts.items()),
        "}",
        '"""Lowest share of the searches whose exact value is ``exact_from`` or more."""',
    ]
    INSTALLED.write_text("\n".join(lines) + "\n")


def _quoted(value: object) -> str:
    return repr(value).replace("'", '"')


def main(
    games: Annotated[list[str] | None, typer.Argument(help=", ".join(TABLES))] = None,
    seconds: Annotated[float | None, typer.Option(help="For each search.")] = None,
    seeds: Annotated[int, typer.Option(help="Searches of each table.")] = 3,
    keep: Annotated[Path | None, typer.Option(help="Folder for tables already judged.")] = None,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/calibration"),
    is_installed: Annotated[bool, typer.Option("--install", help="Into the package.")] = False,
) -> None:
    """Compare the searched bound with the exact value."""
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    shown = Table(*COLUMNS)
    with (out / "calibration.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in games or TABLES:
            for table in TABLES[name]:
                limit = seconds or SECONDS[name]
                for row in measure(Game.parse(name), table, limit, seeds, keep):
                    rows.append(row)
                    writer.writerow(row)
                    file.flush()
                    shown.add_row(*map(str, row.values()))
    write_manifest(out)
    if is_installed:
        install(rows)
    Console().print(shown)


if __name__ == "__main__":
    typer.run(main)
