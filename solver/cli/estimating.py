"""``estimate``: how large a game is, what solving it takes, and so which method to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import ASK_JSON, ASK_QUIET, DEFAULT_GAME, emit, read_game

if TYPE_CHECKING:
    from solver.tree.count import SizeEstimate

__all__ = ["DEFAULT_SECONDS", "bytes_text", "duration_text", "method_by_size", "register"]

DEFAULT_SECONDS = 60.0
EXACT_BYTES = 4 << 30
"""``--method auto`` solves exactly what fits in this."""
LOCKED_SIZE = 8
"""A tree with locked answers takes up to so many times the room of one without."""


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(estimate)


def method_by_size(
    size: SizeEstimate, time_limit: float | None, *, is_locked: bool = False
) -> Literal["exact", "mccfr"] | None:
    """Return the method for a game of this size; None if there is none.

    A game is solved exactly if its tree fits, and if building it leaves half of the time for
    solving, or if only the exact solver knows its rules or keeps all that a lock can hold.
    """
    num_bytes = size.num_bytes * (LOCKED_SIZE if is_locked else 1)
    fits = size.kind != "lower bound" and num_bytes <= EXACT_BYTES
    if size.game.pulls != "latest":
        return "exact" if fits else None
    in_time = is_locked or time_limit is None or size.build_seconds <= time_limit / 2
    return "exact" if fits and in_time else "mccfr"


def estimate(
    game: Annotated[str, typer.Argument(metavar="[GAME]", help="NxC")] = DEFAULT_GAME,
    objective: Annotated[str, typer.Option(help="win or chips")] = "win",
    pulls: Annotated[str, typer.Option(help="latest, tiles or free")] = "latest",
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Say how large a game is, and what solving it takes, before anything is built."""
    from solver.mccfr import MEMORY_LIMIT, estimate_sampled
    from solver.tree.count import estimate_exact

    rules = read_game(game, pulls=pulls, objective=objective)
    exact = estimate_exact(rules)
    sampled = estimate_sampled(rules) if rules.pulls == "latest" else None
    chosen = method_by_size(exact, DEFAULT_SECONDS)
    data = {
        "game": rules.name,
        "method": chosen,
        "setups": exact.num_setups,
        "public_nodes": exact.num_nodes,
        "infostates": exact.num_infostates,
        "memory_bytes": exact.num_bytes,
        "build_seconds": exact.build_seconds,
        "seconds": exact.seconds,
        "counts": exact.kind,
        "sampled": sampled and {"memory_bytes": sampled[0], "rows": sampled[1]},
    }

    def show(console: Console) -> None:
        console.print(_size_grid(exact, sampled))
        if chosen is None or (chosen == "mccfr" and sampled and sampled[0] > MEMORY_LIMIT):
            console.print(f"{rules.name} is too large for any method here.")
        else:
            asked = "" if rules.pulls == "latest" else f" --pulls {rules.pulls}"
            console.print(
                f"`blackwhite solve {rules.name}{asked}`, in its 60 seconds, chooses {chosen}."
            )

    emit(data, as_json=as_json, show=show)


def _size_grid(exact: SizeEstimate, sampled: tuple[int, int] | None) -> Grid:
    """Return what the methods take, side by side."""
    least = {"lower bound": "at least ", "sampled": "about "}.get(exact.kind, "")
    rows = [
        ("setups a player", f"{exact.num_setups:,}", "the same"),
        ("public nodes", least + _large(exact.num_nodes), "-"),
        ("infostates", least + _large(exact.num_infostates), "-"),
        ("table rows", "setups and infostates", _large(sampled[1]) if sampled else ""),
        ("memory", least + bytes_text(exact.num_bytes), bytes_text(sampled[0]) if sampled else ""),
        ("time to build", least + duration_text(exact.build_seconds), "none"),
        ("time to exploitability 1e-4", least + duration_text(exact.seconds), "as given"),
    ]
    grid = Grid("", "exact", *(["sampled (mccfr)"] if sampled else []))
    for row in rows:
        grid.add_row(*(row if sampled else row[:2]))
    return grid


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"{number:.2e}"


def bytes_text(number: float) -> str:
    """Return a size as people read it."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:,.0f} PiB"


def duration_text(seconds: float) -> str:
    """Return a time as people read it."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86_400:.2g} days"
