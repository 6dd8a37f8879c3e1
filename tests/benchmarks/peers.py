"""How fast other solvers bring the same game to the same exploitability, all in one run.

::

    python tests/benchmarks/peers.py                 # 4x6 to 1e-3
    python tests/benchmarks/peers.py 3x6 --target 1e-3 --target 1e-4 --out peers.json

The game is written once, as ``blackwhite export`` writes it, and each solver reads that file in a
process of its own, one after the other.  What is counted is said in ``contenders.py``.  Beside
the times stand the versions, the processor, its memory bandwidth and how busy it was before, by
which times on another machine can be understood.  Other work at the same time spoils the ratios:
these solvers wait for memory.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import shlex
import sys
import tempfile
import time
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from contenders import CONTENDERS
from making import cpu_name, package_versions
from numba import njit, prange
from race import Row, Task, memory_limit
from rich.console import Console
from rich.table import Table
from sequence_form import read_form

from solver import Game
from solver.efg import efg_lines

PACKAGES = ("blackwhite", "open_spiel", "LiteEFG", "jax", "chex", "scipy", "numba", "numpy")
BUILDING_LIMIT = 900.0
"""Seconds after which a process is ended, beside four time limits for what it solves."""

FILE_WIDTH = 120
"""Columns of text where the output is no terminal."""

TRIAD_SIZE = 20_000_000
"""Numbers in each of the three arrays of the bandwidth measurement, 160 MB an array."""


@njit(cache=True)
def triad(a, b, c):
    """Set ``a`` to ``b + 3 c``, in place."""
    for i in range(a.shape[0]):
        a[i] = b[i] + 3.0 * c[i]


@njit(cache=True, parallel=True)
def parallel_triad(a, b, c):
    """Set ``a`` to ``b + 3 c``, in place, on all cores."""
    for i in prange(a.shape[0]):
        a[i] = b[i] + 3.0 * c[i]


def memory_bandwidth(kernel, repeats: int = 5) -> float:
    """Return GB/s of a triad, the best of some; two arrays read and one written."""
    a, b, c = np.zeros(TRIAD_SIZE), np.ones(TRIAD_SIZE), np.ones(TRIAD_SIZE)
    kernel(a, b, c)  # compiles
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        kernel(a, b, c)
        best = min(best, time.perf_counter() - start)
    return 3 * a.nbytes / best / 1e9


def work(name: str, task: Task, results: Connection) -> None:
    """Run a contender in this process, with bounded memory, and send its rows."""
    resource.setrlimit(resource.RLIMIT_DATA, (memory_limit(), resource.RLIM_INFINITY))
    try:
        for row in CONTENDERS[name](task):
            results.send(row)
    except ImportError as error:
        note = f"{error.name} is missing: pip install -e '.[benchmark]'"
        results.send(Row(name, "", task.targets[0], note=note))
    except MemoryError:
        note = f"it takes more than {memory_limit() / 1e9:.0f} GB"
        results.send(Row(name, "", task.targets[0], note=note))
    results.close()


def run_apart(name: str, task: Task) -> list[Row]:
    """Return a contender's rows, run in a process of its own; a failure is a row with a note."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(name, task, sender))
    process.start()
    sender.close()
    rows = []
    end = time.monotonic() + BUILDING_LIMIT + 4 * task.time_limit
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            rows.append(receiver.recv())
        rows.append(Row(name, "", task.targets[0], note="ended: too long in building"))
    except EOFError:
        process.join()
        if process.exitcode:
            note = f"failed with exit code {process.exitcode}"
            rows.append(Row(name, "", task.targets[0], note=note))
    finally:
        process.terminate()
        process.join()
    return rows


def times_ours(row: Row, rows: list[Row]) -> float:
    """Return a row's solving time as a multiple of our first row's whole time.

    For ours the whole time is taken as well.

    Examples
    --------
    >>> ours = Row("ours", "", 1e-3, seconds=1.0, seconds_with_building=2.0)
    >>> peer = Row("peer", "", 1e-3, seconds=6.0, seconds_with_building=7.0)
    >>> times_ours(peer, [ours, peer]), times_ours(ours, [ours, peer])
    (3.0, 1.0)
    """
    ours = [r for r in rows if r.solver == "ours" and r.target == row.target]
    seconds = row.seconds_with_building if row.solver == "ours" else row.seconds
    return seconds / ours[0].seconds_with_building if ours else math.nan


def show(console: Console, rows: list[Row], target: float) -> None:
    """Print the rows of a target as a table, and notes below it."""
    table = Table(title=f"exploitability {target:g}", title_justify="left")
    for column in ("solver", "settings"):
        table.add_column(column)
    for column in ("ms/iteration", "iterations", "s", "s with building", "reached", "x ours"):
        table.add_column(column, justify="right")
    for row in rows:
        if row.target != target or math.isnan(row.seconds):
            continue
        ratio = f"{times_ours(row, rows):.1f}"
        table.add_row(
            row.solver,
            row.settings,
            "-" if math.isnan(row.ms_an_iteration) else f"{row.ms_an_iteration:.3g}",
            f"{row.iterations:,}" if row.iterations else "-",
            f"{row.seconds:.3g}" if row.reached else f"not in {row.seconds:.0f}",
            f"{row.seconds_with_building:.3g}",
            "-" if math.isnan(row.exploitability) else f"{row.exploitability:.2e}",
            ratio if row.reached else f"> {ratio}",
        )
    console.print(table)
    for row in rows:
        if row.target == target and row.note:
            console.print(f"{row.solver} {row.settings}".strip() + f": {row.note}", markup=False)


def main(
    game: Annotated[str, typer.Argument(help="Tiles x chips.")] = "4x6",
    target: Annotated[list[float] | None, typer.Option(help="Exploitability; 1e-3.")] = None,
    time_limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds of solving a peer gets.")
    ] = 300.0,
    repeats: Annotated[int, typer.Option(min=1, help="Calls of ours; their median counts.")] = 3,
    only: Annotated[list[str] | None, typer.Option(help=", ".join(CONTENDERS))] = None,
    out: Annotated[Path | None, typer.Option(help="Write all of it as JSON.")] = None,
) -> None:
    """Bring a game to an exploitability with this solver and with others, and compare times."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    targets = tuple(sorted(target or [1e-3], reverse=True))
    for name in only or []:
        if name not in CONTENDERS:
            raise typer.BadParameter(f"{name}: allowed are {', '.join(CONTENDERS)}")
    machine = {
        "processor": cpu_name(),
        "cores": os.cpu_count(),
        "load before": os.getloadavg()[0],
        "triad GB/s, one core": memory_bandwidth(triad),
        "triad GB/s, all cores": memory_bandwidth(parallel_triad),
    }
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        parsed = Game.parse(game)
        file = Path(folder) / f"{parsed.name}.efg"
        lines = list(efg_lines(parsed))
        file.write_text("".join(line + "\n" for line in lines))
        form = read_form(lines)
        size = {
            "nodes": form.num_nodes,
            "ends": form.num_ends,
            "sequences a player": form.sides[0].num_sequences,
        }
        del lines, form
        task = Task(parsed, file, targets, time_limit, repeats)
        for name in only or CONTENDERS:
            with console.status(name):
                rows += run_apart(name, task)
    for each in targets:
        show(console, rows, each)
    confirmed = [row.confirmed_within for row in rows if not math.isnan(row.confirmed_within)]
    console.print(
        "x ours: the seconds, without building, over our first row's seconds with building.\n"
        "Exploitability as our judge and the peers' own libraries compute it: the same within "
        f"{max(confirmed, default=math.nan):.0e}."
    )
    facts = {"game": parsed.name} | size | machine | package_versions(PACKAGES)
    console.print(
        ", ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in facts.items())
    )
    if out is not None:
        report = {
            "command": shlex.join(["python", *sys.argv]),
            "game": parsed.name,
            "size": size,
            "machine": machine,
            "versions": package_versions(PACKAGES),
            "time_limit": time_limit,
            "rows": [
                {
                    k: None if isinstance(v, float) and math.isnan(v) else v
                    for k, v in (asdict(row) | {"times_ours": times_ours(row, rows)}).items()
                }
                for row in rows
            ],
        }
        out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
