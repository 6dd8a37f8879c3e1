"""``exploit`` and ``match``: how weak a strategy is, and how two of them fare."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from solver.cli.common import (
    ASK_GAME,
    ASK_JSON,
    ASK_OBJECTIVE,
    ASK_QUIET,
    ASK_SEED,
    ASK_THREADS,
    Player,
    default_threads,
    emit,
    lock_cost,
    open_player,
    percent,
    show_lock_cost,
    watch,
)
from solver.rules import InputError

__all__ = ["register"]

AUTO_SETUPS = 5_000
"""Setups up to which ``--method auto`` judges exactly; 5x8, with 4,200, takes about a minute."""

SEARCH_SECONDS = 60.0

_METHODS = ("auto", "exact", "search")


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(exploit)
    app.command("match")(play)


def exploit(
    table: Annotated[str | None, typer.Argument(help="A table's folder, or bot:NAME.")] = None,
    game: ASK_GAME = None,
    objective: ASK_OBJECTIVE = None,
    method: Annotated[str, typer.Option(help="auto, exact or search")] = "auto",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; a search takes 60 if not told.")
    ] = None,
    threads: ASK_THREADS = None,
    seed: ASK_SEED = 0,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Say how much the best opponent wins against a strategy.

    Exactly where every setup can be tried; else a lower bound, found by searching an opponent and
    playing it in fresh games.  Of a table solved with --lock it also says what the lock costs.
    """
    from solver.setups import count_setups

    if method not in _METHODS:
        raise InputError(f"--method {method}: allowed are {', '.join(_METHODS)}")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"--time-limit {time_limit}: it must be above 0")
    player = open_player(table, game=game, objective=objective)
    threads = threads or default_threads()
    small = count_setups(player.game) <= AUTO_SETUPS
    if method == "exact" or (method == "auto" and small):
        data = _exactly(player, time_limit, threads, quiet)
    else:
        data = _by_search(player, time_limit or SEARCH_SECONDS, threads, seed, quiet)

    data["lock"] = lock_cost(
        player.table, data.get("exploitability", data.get("lower")), data.get("lower_ci")
    )

    def show(console: Console) -> None:
        reply = data["best_response"]
        if data["kind"] == "exact":
            console.print(f"exploitability of {player.name}: {data['exploitability']:.6g} (exact)")
        else:
            low, high = data["lower_ci"]
            found = (
                f"95% interval {low:.3f} to {high:.3f}, {data['games']:,} fresh games"
                if data["games"]
                else "stopped early; exact for the setups that were tried"
            )
            console.print(
                f"exploitability of {player.name}: at least {data['lower']:.3f} ({found})"
            )
            console.print("A lower bound: the best opponent may win more.")
            known = data["calibration"]
            if known:
                console.print(
                    f"In {known['tables']} tables of {', '.join(known['games'])} a search found at "
                    f"least {percent(known['share'])} of the exact value; larger games may differ."
                )
        console.print(f"best setup against it: {reply['setup']}")
        if data["lock"] is not None:
            show_lock_cost(console, data["lock"])

    emit(data, as_json=as_json, show=show)


def _exactly(player: Player, time_limit: float | None, threads: int, quiet: bool) -> dict[str, Any]:
    from solver.judge import best_response

    with watch(quiet=quiet, unit="branches", seconds=time_limit) as follow:
        found = best_response(
            player.strategy,
            player.game,
            threads=threads,
            max_seconds=time_limit,
            progress=follow,
        )
    if not np.isfinite(found.value):
        raise InputError(f"{player.name}: stopped before any setup was judged; give it more time")
    reply = {"setup": str(found.setup), "value": found.value}
    if found.is_complete:
        return {"kind": "exact", "exploitability": found.value, "best_response": reply}
    return _bracket(player, found.value, (found.value, found.value), reply) | {"games": 0}


def _bracket(
    player: Player, lower: float, interval: tuple[float, float], reply: dict[str, Any]
) -> dict[str, Any]:
    return {
        "kind": "bracket",
        "lower": lower,
        "lower_ci": list(interval),
        "upper": 1.0 if player.game.is_win else float(player.game.num_chips),
        "best_response": reply,
        "calibration": None,
    }


def _by_search(
    player: Player, time_limit: float, threads: int, seed: int, quiet: bool
) -> dict[str, Any]:
    from solver.exploiter import search_best_response
    from solver.exploiter.calibration import CALIBRATION

    with watch(quiet=quiet, unit="games", seconds=time_limit) as follow:
        found = search_best_response(
            player.strategy,
            player.game,
            time_limit=time_limit,
            threads=threads,
            seed=seed,
            progress=follow,
        )
    reply = {"setup": str(found.setup), "value": found.lower}
    return _bracket(player, found.lower, found.ci95, reply) | {
        "games": found.games,
        "search_games": found.search_games,
        "seed": seed,
        "calibration": CALIBRATION,
    }


def play(
    a: Annotated[str, typer.Argument(help="A table's folder, or bot:NAME.")],
    b: Annotated[str, typer.Argument(help="A table's folder, or bot:NAME.")],
    game: ASK_GAME = None,
    objective: ASK_OBJECTIVE = None,
    games: Annotated[int, typer.Option(min=4, help="Games to play, in pairs.")] = 10_000,
    threads: ASK_THREADS = None,
    seed: ASK_SEED = 0,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Play A against B; the value is A's mean utility."""
    from solver.arena import play_match

    tables = [name for name in (a, b) if not name.startswith("bot:")]
    if tables and game is None:  # a bot plays the game of the table it meets
        from pathlib import Path

        from solver.table import read_manifest

        facts = read_manifest(Path(tables[0])).rules
        game, objective = facts.name, objective or facts.objective
    first = open_player(a, game=game, objective=objective)
    second = open_player(b, game=game, objective=objective)
    with watch(quiet=quiet, unit="games", iterations=games) as follow:
        result = play_match(
            first.strategy,
            second.strategy,
            first.game,
            games=games,
            seed=seed,
            threads=threads or default_threads(),
            progress=follow,
        )
    data = {
        "games": result.games,
        "value": result.value,
        "ci95": list(result.ci95),
        "plain_value": result.plain_value,
        "plain_ci95": list(result.plain_ci95),
        "variance_gain": result.variance_gain if np.isfinite(result.variance_gain) else None,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
    }

    def show(console: Console) -> None:
        low, high = result.ci95
        console.print(
            f"{first.name} against {second.name}, {first.game.name}, {result.games:,} games: "
            f"{result.value:+.4f} (95% interval {low:+.4f} to {high:+.4f})"
        )
        for name, count in (("won", result.wins), ("drawn", result.draws), ("lost", result.losses)):
            console.print(f"  {name:<6} {count:>12,}  {percent(count / result.games)}")
        low, high = result.plain_ci95
        console.print(
            f"The games as they came out: {result.plain_value:+.4f} ({low:+.4f} to {high:+.4f}). "
            f"With guesses of the luck taken off, the variance is {result.variance_gain:.2f} times "
            "smaller."
        )

    emit(data, as_json=as_json, show=show)
