"""``query`` and ``setup``: what to do now, and what to place."""

from __future__ import annotations

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
)
from solver.cli.opponents import open_opponent
from solver.rules import InputError

__all__ = ["register"]

_MOST_SHOWN = 12
"""Actions that are printed for a person."""


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(query)
    app.command()(setup)


def query(
    table: Annotated[str | None, typer.Argument(help="A table's folder, or bot:NAME.")] = None,
    me: Annotated[str | None, typer.Option(help="My setup as placed: 8:4,3:1,9:6,...")] = None,
    history: Annotated[str, typer.Option(help="A token for each past slot: 'w3=7 b5f'")] = "",
    facing: Annotated[str | None, typer.Option(help="The opponent's tile now, such as w6.")] = None,
    situation: Annotated[
        str | None, typer.Option(help="A JSON file with me, history and facing; - for input.")
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            help="What the opponent plays: table, uniform, bot:NAME, another table's folder, "
            "or a file of setups seen of this opponent (default table)."
        ),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(
            help="With a file of setups: how many games the table counts for (default 20)."
        ),
    ] = None,
    resolve: Annotated[
        bool, typer.Option(help="Solve the rest of the game anew where few slots are left.")
    ] = True,
    pulls: Annotated[
        str | None,
        typer.Option(
            help="How I may pay a gap: latest, tiles or free (default: as in the table's game)."
        ),
    ] = None,
    game: ASK_GAME = None,
    objective: ASK_OBJECTIVE = None,
    seed: ASK_SEED = 0,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Advise in a situation: match or fold, against the table or what --opponent says.

    With --pulls, every way to pay is an action of its own; of many, those that are worth it.

    A file of setups seen has one a line, as for --me; ? was not seen, b or w only by colour, and x3
    at the end says three times.
    """
    from solver.advice import query as ask
    from solver.situation import parse_situation, parse_situation_json

    with reading():
        player = open_player(table, game=game, objective=objective)
        rules = paying_by(player, pulls)
        if situation is not None:
            if me is not None or facing is not None or history:
                raise InputError("--situation: it stands instead of --me, --history and --facing")
            text = read_text(situation, "--situation")
            where = parse_situation_json(rules, text, name=f"--situation {situation}")
        elif me is None or facing is None:
            raise InputError("a situation needs --me and --facing (and --history from slot 2 on)")
        else:
            where = parse_situation(rules, me=me, history=history, facing=facing)
        against = open_opponent(opponent, player, prior=prior)
    advice = ask(
        player.strategy,
        where,
        rules,
        opponent=against,
        seed=seed,
        visits=None if player.table is None else player.table.visits,
        is_resolving=resolve,
    )
    data = advice.to_json()
    emit(data, as_json=as_json, show=lambda console: _show_advice(console, data))


def _show_advice(console: Console, data: dict[str, Any]) -> None:
    reason = f" ({data['reason']})" if data["reason"] else ""
    console.print(f"[bold]{data['decision']}[/bold]{reason}")
    if data["actions"]:
        grid = Grid("action", "pays", "value", "win", "draw", "loss", "table plays it")
        paying = data.get("payments")
        for row in data["actions"][:_MOST_SHOWN]:
            grid.add_row(
                row["action"],
                _pays(row, paying),
                _value_text(row),
                percent(row["win"]),
                percent(row["draw"]),
                percent(row["loss"]),
                percent(row["table_probability"]),
            )
        console.print(grid)
        if paying is not None:
            _show_payments(console, data)
    tiles = sorted(data["opponent_tile"].items(), key=lambda item: -item[1])
    if tiles:
        console.print(
            "opponent's tile: " + "  ".join(f"{tile} {percent(prob)}" for tile, prob in tiles)
        )
    console.print("still out: " + " ".join(str(tile) for tile in data["opponent_left"]))
    if (safe := data.get("resolved")) is not None:
        console.print(
            f"safe play: match {percent(safe['match'])}, fold {percent(safe['fold'])} "
            f"(slot {safe['from_slot']} to the end solved anew; if the opponent answers best, "
            f"playing so is worth {safe['value']:+.3f} from slot {safe['from_slot']}, "
            f"playing the table {safe['table_value']:+.3f})",
            markup=False,
        )
    console.print(f"assumed: {_assumed(data)}", markup=False)
    console.print(f"method: {data['method']}", style="dim", markup=False)
    if not data["known"]:
        console.print("What is assumed does not cover this well; see method.", style="yellow")


def _value_text(row: dict[str, Any]) -> str:
    """Return an action's value, with its interval where it was sampled."""
    text = f"{row['value']:+.3f}"
    return text + " ({:+.3f} to {:+.3f})".format(*row["ci95"]) if "ci95" in row else text


def _pays(row: dict[str, Any], paying: dict[str, Any] | None) -> str:
    """Return what pays for an action, with a mark for the default way among several."""
    if row["action"] != "match":
        return "-"
    pays = ", ".join(f"{slot} {chips}" for slot, chips in row["pulls"].items()) or "winnings"
    is_default = paying is not None and row["pulls"] == paying["default"]
    return pays + (" (default)" if is_default else "")


def _show_payments(console: Console, data: dict[str, Any]) -> None:
    """Say how many ways to pay there are, and what the default one costs."""
    paying = data["payments"]
    ways, tried, valued = (paying[name] for name in ("ways", "tried", "valued"))
    text = f"ways to pay: {ways:,}"
    if tried < ways:
        text += f", {tried:,} of them compared by sampling"
    if valued < tried:
        text += f"; the {valued} best are valued, the others were worse or no better"
    hidden = len(data["actions"]) - _MOST_SHOWN
    console.print(text + (f"; {hidden:,} more actions with --json" if hidden > 0 else ""))
    cost = f"paying by the default rule costs {paying['default_cost']:.3f}"
    if paying["default_cost_ci95"] is not None:
        cost += " ({:+.3f} to {:+.3f})".format(*paying["default_cost_ci95"])
    console.print(cost)


def _assumed(data: dict[str, Any]) -> str:
    """Return in words what the opponent was taken to play."""
    seen, name = data["observed"], data["opponent"]
    if seen is None:
        return "the opponent plays " + ("the table" if name == "table" else name)
    return (
        f"the opponent plays the table, or places a setup seen in {name} "
        f"({seen['sightings']:,} sightings, prior {seen['prior']:g}): "
        f"now one of those with {percent(seen['probability'])}"
    )


def setup(
    table: Annotated[str | None, typer.Argument(help="A table's folder, or bot:NAME.")] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, max=100_000, help="How many.")] = 1,
    partial: Annotated[
        str | None, typer.Option(help="A half-placed board to complete: 8:4,?:1,?")
    ] = None,
    game: ASK_GAME = None,
    objective: ASK_OBJECTIVE = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed; without one each call draws anew.")
    ] = None,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Draw setups to place from a strategy."""
    from solver.completion import draw_setups
    from solver.setups import PartialSetup

    player = open_player(table, game=game, objective=objective)
    PartialSetup.parse(partial or "", player.game)  # before anything is compiled
    drawn = draw_setups(player.strategy, player.game, partial=partial or "", count=n, seed=seed)
    data = {
        "game": player.game.name,
        "setups": [str(one) for one in drawn.setups],
        "probabilities": list(drawn.probabilities),
        "known": drawn.known,
    }

    def show(console: Console) -> None:
        for one in drawn.setups:
            console.print(str(one))
        if not drawn.known and not quiet:
            console.print(
                "The strategy never places such a board; completed uniformly.", style="yellow"
            )

    emit(data, as_json=as_json, show=show)
