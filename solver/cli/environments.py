"""``red-and-black``: the second environment."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import ASK_JSON, ASK_QUIET, emit, percent, watch

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("red-and-black")(red_and_black)


def red_and_black(
    players: Annotated[int, typer.Option(help="Players, the banker among them: 2 or 3.")] = 2,
    min_bet: Annotated[int, typer.Option(help="Smallest bet, in chips.")] = 1,
    max_bet: Annotated[int, typer.Option(help="Largest bet, in chips.")] = 2,
    hands: Annotated[int, typer.Option(help="Hands of a match; 0 is one for each seat.")] = 0,
    ante: Annotated[int, typer.Option(help="Chips to the banker before each hand.")] = 0,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the sampling.")] = 0,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Optimal play and seat values of Red and Black, for 2 or 3 players.

    Solved by OpenSpiel's CFR+ and MCCFR; values are in bets of the largest size, for one hand.
    """
    from spiel_game.red_and_black_solution import solve_red_and_black

    with watch(quiet=quiet, unit="iterations") as follow:
        found = solve_red_and_black(
            players=players,
            min_bet=min_bet,
            max_bet=max_bet,
            hands=hands,
            ante=ante,
            seed=seed,
            progress=follow,
        )
    if follow.stopped:
        raise KeyboardInterrupt
    data = asdict(found)

    def show(console: Console) -> None:
        grid = Grid("seat", "value by CFR+", "value by MCCFR")
        for seat, values in enumerate(
            zip(found.cfr.seat_values, found.mccfr.seat_values, strict=True), 1
        ):
            grid.add_row(str(seat), *(f"{value:+.6f}" for value in values))
        grid.add_row("bank", f"{found.cfr.banker_value:+.6f}", f"{found.mccfr.banker_value:+.6f}")
        console.print(grid)
        console.print(
            "in bets, one hand, from the banker's left; all seats together could still gain "
            f"{found.cfr.nash_conv:.2g} (CFR+) and {found.mccfr.nash_conv:.2g} (MCCFR)"
        )
        grid = Grid(
            "seat", "own colour left", "other left", "doubling gains", "CFR+ doubles", "MCCFR"
        )
        for row in found.double_when:
            grid.add_row(
                str(row.seat),
                str(row.own_left),
                str(row.other_left),
                f"{row.gain:+.6f}",
                percent(row.cfr),
                percent(row.mccfr),
            )
        console.print(grid)

    emit(data, as_json=as_json, show=show)
