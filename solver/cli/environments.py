"""``red-and-black`` and ``put-and-take``: the environments beside the main game."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import ASK_JSON, ASK_QUIET, command_line, emit, percent

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("red-and-black")(red_and_black)
    app.command("put-and-take")(put_and_take)


def red_and_black(
    players: Annotated[int, typer.Option(help="Players, the banker among them: 2 to 21.")] = 2,
    min_bet: Annotated[int, typer.Option(help="Smallest bet, in chips.")] = 1,
    max_bet: Annotated[int, typer.Option(help="Largest bet, in chips.")] = 2,
    hands: Annotated[int, typer.Option(help="Hands of a match; 0 is one for each seat.")] = 0,
    ante: Annotated[int, typer.Option(help="Chips to the banker before each hand.")] = 0,
    cards_per_colour: Annotated[int, typer.Option(help="Cards of each colour in the pack.")] = 52,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table of when to double.")
    ] = None,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Optimal play and seat values of Red and Black, exactly.

    Values are in bets of the largest size, for one hand, from the banker's left.
    """
    from spiel_game.red_and_black_optimum import (
        doubling_rule,
        own_colour_odds,
        solve_red_and_black,
    )
    from spiel_game.red_and_black_policy import red_and_black_table, save_red_and_black
    from spiel_game.red_and_black_table import RedAndBlackRules

    rules = RedAndBlackRules(players, min_bet, max_bet, hands, ante, cards_per_colour)
    found = solve_red_and_black(rules)
    if out is not None:
        save_red_and_black(red_and_black_table(rules, found, command=command_line()), out)
    odds = own_colour_odds(cards_per_colour)
    data = {
        "seat_values": [float(value) for value in found.seat_values],
        "banker_value": float(found.banker_value),
        "uncounted_values": [float(value) for value in found.uncounted_values],
        "fair_ante": float(found.fair_ante),
        "match_values": [float(value) for value in found.match_values],
        "own_colour_odds": [float(prob) for prob in odds],
        "double_when": [
            {
                "seat": row.seat,
                "own_left": row.own_left,
                "other_left": row.other_left,
                "probability": float(row.prob),
                "gain": float(row.gain),
                "double": row.is_double,
            }
            for row in found.double_when
        ],
        "out": None if out is None else str(out),
    }

    def show(console: Console) -> None:
        chances = "  ".join(f"{number}: {float(prob):.4f}" for number, prob in enumerate(odds))
        console.print(f"cards of one's colour, from a whole pack  {chances}")
        grid = Grid(
            "seat", "value", "not counting", "may double", "doubles", "cards left", "double from"
        )
        for seat in range(1, rules.players):
            rule = doubling_rule(found, seat)
            grid.add_row(
                str(seat),
                f"{float(found.seat_values[seat - 1]):+.6f}",
                f"{float(found.uncounted_values[seat - 1]):+.6f}",
                percent(float(rule.may_double)),
                percent(float(rule.doubles)),
                str(rule.cards_left),
                "never" if rule.double_from is None else str(rule.double_from),
            )
        grid.add_row("bank", f"{float(found.banker_value):+.6f}", "", "", "", "", "")
        console.print(grid)
        console.print("Values in bets, one hand, from the banker's left.")
        console.print("Not counting: to a player who forgets the cards of others.")
        console.print(
            "With two cards of each colour, double if at least as many of your colour are left as "
            "the last column says."
        )
        console.print(f"An ante of {float(found.fair_ante):.6g} chips makes the bank fair.")
        if out is not None:
            console.print(f"every choice: {out}")

    emit(data, as_json=as_json, show=show)


def put_and_take(
    scale: Annotated[
        str, typer.Option(help="doubling, easy_go, red_and_black or river.")
    ] = "doubling",
    players: Annotated[int, typer.Option(help="Players, the banker among them: 2 to 8.")] = 2,
    ante: Annotated[int, typer.Option(help="Chips into the pool before each hand.")] = 1,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Expectation and spread of the Put and Take pools, exactly, in chips a hand."""
    from spiel_game.put_and_take_odds import pool_odds
    from spiel_game.put_and_take_rules import PutAndTakeRules

    rules = PutAndTakeRules(scale, players, ante)
    found = pool_odds(rules)
    parts = dict(zip(("rank", "colour", "suit"), map(float, found.put_parts), strict=True))
    data = {
        "scale": scale,
        "players": players,
        "ante": ante,
        "expected_put": float(found.expected_put),
        "put_parts": parts,
        "put_sd": math.sqrt(found.put_variance),
        "expected_net": float(found.expected_net),
        "sd": math.sqrt(found.variance),
        "banker_expected_net": float(found.banker_expected),
        "banker_sd": math.sqrt(found.banker_variance),
        "exact": {
            "expected_put": str(found.expected_put),
            "put_variance": str(found.put_variance),
            "variance": str(found.variance),
            "banker_variance": str(found.banker_variance),
        },
    }

    def show(console: Console) -> None:
        grid = Grid("chips a hand", "expected", "standard deviation")
        for name, mean, variance in (
            ("a player's put payments", found.expected_put, found.put_variance),
            ("a player's net result", found.expected_net, found.variance),
            ("the banker's net result", found.banker_expected, found.banker_variance),
        ):
            grid.add_row(name, f"{float(mean):+.6f}", f"{math.sqrt(variance):.6f}")
        console.print(grid)
        paid = ", ".join(f"{name} {part:.4f}" for name, part in parts.items() if part)
        console.print(
            f"Put payments, without the ante, are {found.expected_put} exactly; for {paid}."
        )

    emit(data, as_json=as_json, show=show)
