"""Whether the intervals of sampled advice hold what they promise, and how fast advice is.

::

    python tests/benchmarks/advice.py                    # the table that commands take by default
    python tests/benchmarks/advice.py results/local/10x30 --situations 20 --out results/local/advice

Situations come from games of a random setup, with a coin for its decisions, against the table, at
a slot drawn at random.  ``coverage.csv`` has those whose values are sampled: the interval of the
better action, and its value on many more draws with another seed.  ``speed.csv`` has the seconds of
a whole command and of the first answer of a process, by slot, and of a thousand answers in one
process.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from making import write_manifest
from rich.console import Console

from solver import Game, Situation, Strategy, load_table, query
from solver.cli.common import default_table
from solver.rules import CHOICE, classify, new_board, pull_latest, settle
from solver.setups import draw_setup
from solver.situation import Event, Facing, format_situation
from solver.strategy import draw_strategy_setup, match_prob

COVERAGE = (
    *("slot", "me", "history", "facing", "action"),
    *("value", "low", "high", "long", "is_covered", "milliseconds"),
)
WITHIN = 93
"""Of a hundred intervals, how many should hold the long run's value."""

FIRST_ANSWER = """
import json, sys, time
start = time.perf_counter()
import solver
from solver import load_table, parse_situation, query
table = load_table(sys.argv[1])
where = parse_situation(table.game, **json.loads(sys.argv[2]))
import solver.advice
loaded = time.perf_counter()
query(table.strategy, where, table.game, visits=table.visits)
print(json.dumps([loaded - start, time.perf_counter() - loaded]))
"""


def play_to(
    game: Game, strategy: Strategy, slot: int, rng: np.random.Generator
) -> Situation | None:
    """Return a situation of a random setup against the strategy; None if there is no choice."""
    me = draw_setup(game, rng)
    board = new_board(game.num_tiles)
    board.tiles[0], board.chips[0] = me.tiles, me.chips
    draw_strategy_setup(strategy, rng, board.tiles[1], board.chips[1])
    events = []
    for s in range(slot):
        kind, player = classify(board, s)
        folder = player
        if kind == CHOICE:
            prob = 0.5 if player == 0 else match_prob(strategy, board, s, player)[0]
            if rng.random() < prob:
                pull_latest(board, player, s)
                folder = -1
        tile = int(board.tiles[1, s])
        number = tile if folder < 0 else None
        events.append(Event(tile % 2, int(board.chips[1, s]), number, folder == 0))
        settle(board, s, folder)
    if classify(board, slot) != (CHOICE, 0):
        return None
    facing = Facing(int(board.tiles[1, slot]) % 2, int(board.chips[1, slot]))
    return Situation(game, me, tuple(events), facing)


def situations(game: Game, strategy: Strategy, seed: int) -> Iterator[Situation]:
    """Give situations in which I choose, each at a slot drawn at random."""
    rng = np.random.default_rng(seed)
    while True:
        found = play_to(game, strategy, int(rng.integers(game.num_tiles)), rng)
        if found is not None:
            yield found


def measure_coverage(path: Path, num: int, draws: int, seed: int) -> list[dict[str, object]]:
    """Return a row for each of ``num`` situations whose values are sampled."""
    table = load_table(path)
    rows: list[dict[str, object]] = []
    for where in situations(table.game, table.strategy, seed):
        start = time.perf_counter()
        advice = query(table.strategy, where, table.game, seed=seed)
        seconds = time.perf_counter() - start
        if advice.ci95 is None:
            continue
        long = query(table.strategy, where, table.game, seed=seed + 1, samples=draws)
        best = advice.actions[0]
        value = next(action.value for action in long.actions if action.action == best.action)
        low, high = advice.ci95
        numbers = (best.value, low, high, value)
        values = (
            where.slot + 1,
            *format_situation(where).values(),
            best.action,
            *(round(x, 5) for x in numbers),
            int(low <= value <= high),
            round(1000 * seconds, 1),
        )
        rows.append(dict(zip(COVERAGE, values, strict=True)))
        if len(rows) == num:
            break
    return rows


def measure_commands(path: Path) -> Iterator[tuple[str, float]]:
    """Give the seconds of whole commands, the best of three."""
    me = "8:4,3:1,9:6,0:1,2:3,7:5,1:1,4:4,5:2,6:3"
    ask = ["query", str(path), "--me", me, "--history", "w3=7", "--facing", "b5", "--json"]
    for name, arguments in (("--help", ["--help"]), ("query", ask)):
        best = np.inf
        for _ in range(4):  # the first one fills the caches
            start = time.perf_counter()
            command = [sys.executable, "-m", "solver.cli", *arguments]
            subprocess.run(command, check=True, capture_output=True)
            best = min(best, time.perf_counter() - start)
        yield f"whole command: {name}", best


def measure_answers(path: Path, num: int, seed: int) -> Iterator[tuple[str, float]]:
    """Give the seconds of first answers by slot, and of ``num`` answers in one process."""
    table = load_table(path)
    firsts: dict[int, Situation] = {}
    asked = []
    for where in situations(table.game, table.strategy, seed):
        firsts.setdefault(where.slot, where)
        asked.append(where)
        if len(asked) >= num:
            break
    for slot in sorted(firsts):
        text = json.dumps(format_situation(firsts[slot]))
        command = [sys.executable, "-c", FIRST_ANSWER, str(path), text]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        loading, answering = json.loads(done.stdout)
        if slot == min(firsts):
            yield "loading modules and table", loading
        yield f"first answer, slot {slot + 1}", answering
    seconds = []
    for where in asked[:num]:
        start = time.perf_counter()
        query(table.strategy, where, table.game, visits=table.visits)
        seconds.append(time.perf_counter() - start)
    yield f"median of {num} answers", float(np.median(seconds))
    yield f"95th percentile of {num} answers", float(np.quantile(seconds, 0.95))
    yield f"longest of {num} answers", max(seconds)


def main(
    table: Annotated[Path | None, typer.Argument(help="Of 10x30.")] = None,
    num: Annotated[int, typer.Option("--situations", min=1)] = 100,
    draws: Annotated[int, typer.Option("--long", help="Draws of the long runs.")] = 200_000,
    queries: Annotated[int, typer.Option(min=1)] = 1000,
    seed: int = 0,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/advice"),
) -> None:
    """Count how many intervals hold the long run's value, and time answers."""
    path = (table or default_table()).absolute()
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    speeds = [*measure_commands(path), *measure_answers(path, queries, seed)]
    rows = measure_coverage(path, num, draws, seed)
    covered = sum(int(str(row["is_covered"])) for row in rows)
    with (out / "coverage.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COVERAGE)
        writer.writeheader()
        writer.writerows(rows)
    with (out / "speed.csv").open("w", newline="") as file:
        pairs = csv.writer(file)
        pairs.writerow(("what", "seconds"))
        pairs.writerows((name, round(seconds, 4)) for name, seconds in speeds)
    manifest = load_table(path).manifest
    facts = {"iterations": manifest.iterations, "seconds": manifest.seconds, "seed": manifest.seed}
    write_manifest(out, table=facts, covered=covered, situations=len(rows))
    for name, seconds in speeds:
        console.print(f"{name}: {seconds:.3f} s")
    console.print(f"{covered} of {len(rows)} intervals hold the long run's value")
    if covered < WITHIN / 100 * len(rows):
        console.print(f"fewer than the {WITHIN} in 100 that they should", style="red")


if __name__ == "__main__":
    typer.run(main)
