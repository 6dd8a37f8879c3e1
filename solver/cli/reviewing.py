"""``review``: what the decisions and setups of finished games were worth."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import (
    ASK_GAME,
    ASK_JSON,
    ASK_OBJECTIVE,
    ASK_QUIET,
    ASK_SEED,
    emit,
    open_player,
    paying_by,
    percent,
    read_text,
    reading,
    watch,
)
from solver.rules import InputError

__all__ = ["register"]

MAX_SHOWN = 10
"""Games that are printed one by one; of more there is the summary only."""


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command()(review)


def review(
    record: Annotated[str, typer.Argument(help="A file of finished games; - for input.")],
    table: Annotated[str | None, typer.Argument(help="A table's folder, or bot:NAME.")] = None,
    player: Annotated[
        int | None, typer.Option(min=1, max=2, help="Review this player only.")
    ] = None,
    pulls: Annotated[
        str | None,
        typer.Option(
            help="How the players could pay a gap: latest, tiles or free (default: as in the "
            "table's game)."
        ),
    ] = None,
    game: ASK_GAME = None,
    objective: ASK_OBJECTIVE = None,
    seed: ASK_SEED = 0,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Review finished games: what each decision cost, and how the setups rank.

    A game is a line: both setups, then a move for each slot in the notation of query's history, as
    player 1 sees it.  With --pulls tiles or free it may say how a match was paid (w3=7@9-2), and
    paying otherwise is an action to compare with.
    """
    from solver.advice.rank import new_field
    from solver.advice.review import review_game, summarise
    from solver.record import parse_records

    with reading():
        found = open_player(table, game=game, objective=objective)
        if found.game.pulls != "latest":
            raise InputError(
                f"{found.name}: a table of pulls={found.game.pulls}; games are reviewed by tables "
                "of latest, with --pulls for how the players could pay"
            )
        rules = paying_by(found, pulls)
        text = read_text(record, "record")
        try:
            entries = parse_records(rules, text)
        except InputError as error:
            raise InputError(f"record {record}: {error}") from None
    players = (1, 2) if player is None else (player,)
    field = new_field(found.strategy, found.game, seed=seed)
    visits = None if found.table is None else found.table.visits
    reviews = []
    start = time.perf_counter()
    with watch(quiet=quiet, unit="games", iterations=len(entries)) as follow:
        for entry in entries:
            reviews.append(
                review_game(
                    found.strategy,
                    entry,
                    rules,
                    field,
                    players=players,
                    seed=seed,
                    visits=visits,
                )
            )
            if not follow(len(reviews), time.perf_counter() - start, None):
                break
    data: dict[str, Any] = {
        "game": found.game.name,
        "table": found.name,
        "pulls": rules.pulls,
        "player": player,
        "seed": seed,
        "is_complete": len(reviews) == len(entries),
        "games": [one.to_json() for one in reviews],
        "summary": summarise(reviews, players=players).to_json(),
    }
    emit(data, as_json=as_json, show=lambda console: _show_review(console, data, len(entries)))


def _show_review(console: Console, data: dict[str, Any], num_entries: int) -> None:
    games = data["games"]
    if len(games) <= MAX_SHOWN:
        for one in games:
            _show_game(console, one)
    if len(games) > 1:
        _show_summary(console, data["summary"])
    if len(games) > MAX_SHOWN:
        console.print(
            f"More than {MAX_SHOWN} games are summed up only; --json holds every decision.",
            style="dim",
        )
    if not data["is_complete"]:
        console.print(f"Stopped after {len(games)} of {num_entries} games.", style="yellow")


def _show_game(console: Console, one: dict[str, Any]) -> None:
    """Print one game: its result, decisions, and setups."""
    first, second = one["winnings"]
    console.print(f"[bold]line {one['line']}[/bold]: {first} to {second} chips")
    if one["decisions"]:
        grid = Grid("slot", "player", "stacks", "fold", "match", "played", "loss", "their tile")
        for row in one["decisions"]:
            values = {action["action"]: action["value"] for action in reversed(row["actions"])}
            grid.add_row(
                str(row["slot"]),
                str(row["player"]),
                f"{row['tile']}:{row['stack']} v {row['opponent_stack']}",
                _signed(values["fold"]),
                _signed(values["match"]),
                _played(row),
                f"{row['loss']:.3f}" if row["loss"] >= 0.0005 else "-",
                _likely(row["opponent_tile"]),
            )
        console.print(grid)
    grid = Grid("player", "decisions cost", "setup's value", "table's own", "worse", "better")
    for row in one["setups"]:
        grid.add_row(
            str(row["player"]),
            f"{one['losses'][str(row['player'])]:.3f}",
            _signed(row["value"]) + _half(row["ci95"]),
            _signed(row["table_value"]),
            f"{percent(row['share_worse'])}{_half(row['share_worse_ci95'], 100)}",
            percent(row["share_better"]),
        )
    console.print(grid)
    sampled = [row["loss_ci95"] for row in one["decisions"] if row["loss_ci95"] is not None]
    if sampled:
        widest = max(high - low for low, high in sampled) / 2
        console.print(f"losses where values are sampled: up to ±{widest:.3f} (95%)", style="dim")
    methods = dict.fromkeys(row["method"] for row in one["decisions"])
    for text in methods:
        slots = ", ".join(str(row["slot"]) for row in one["decisions"] if row["method"] == text)
        console.print(f"values in slot {slots}: {text}", style="dim")
    console.print(f"setups: {one['setups'][0]['method']}", style="dim")


def _show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print what all games add up to."""
    console.print(f"[bold]{summary['games']} games[/bold], {summary['decisions']} decisions")
    grid = Grid("player", "decisions", "mistakes", "loss a game", "95% interval")
    for row in summary["players"]:
        interval = row["mean_loss_ci95"]
        grid.add_row(
            str(row["player"]),
            str(row["decisions"]),
            str(row["mistakes"]),
            f"{row['mean_loss']:.3f}",
            "-" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}",
        )
    console.print(grid)
    if summary["worst"]:
        grid = Grid("line", "slot", "player", "played", "loss")
        for row in summary["worst"]:
            cells = (row["line"], row["slot"], row["player"], row["played"])
            grid.add_row(*(str(cell) for cell in cells), f"{row['loss']:.3f}")
        console.print("the costliest decisions")
        console.print(grid)


def _played(row: dict[str, Any]) -> str:
    """Return what was done; where players could choose how to pay, with the pulls."""
    if row["played"] == "fold" or "payments" not in row:
        return row["played"]
    pulls = ",".join(f"{slot}-{chips}" for slot, chips in row["pulls"].items())
    return f"match @{pulls}" if pulls else "match"


def _signed(value: float) -> str:
    """Return a value with its sign, and 0 with a plus."""
    return f"{round(value, 3) + 0.0:+.3f}"


def _half(interval: list[float] | None, scale: int = 1) -> str:
    """Return half the width of an interval as people write it; nothing for None."""
    if interval is None:
        return ""
    half = scale * (interval[1] - interval[0]) / 2
    return f" ±{half:.0f}" if scale > 1 else f" ±{half:.3f}"


def _likely(tiles: dict[str, float]) -> str:
    """Return the two likeliest numbers of the opponent's tile."""
    ordered = sorted(tiles.items(), key=lambda item: -item[1])
    return " ".join(f"{tile} {prob:.0%}" for tile, prob in ordered[:2] if prob >= 0.005)
