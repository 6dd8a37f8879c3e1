"""Whom ``query`` advises against: ``--opponent`` by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.common import Player, open_player, read_text
from solver.rules import InputError

if TYPE_CHECKING:
    from solver.advice import Opponent
    from solver.strategy import Strategy

__all__ = ["open_opponent"]

_UNIFORM = "bot:random"
"""The bot that ``uniform`` stands for."""
_ALLOWED = "table, uniform, bot:NAME, a table's folder or a file of setups seen"


def open_opponent(text: str | None, player: Player, *, prior: float | None) -> Opponent | None:
    """Return the opponent that ``--opponent`` names; None if it plays the player's own strategy."""
    from solver.advice import DEFAULT_PRIOR, Opponent, observe_setups, parse_observations

    is_file = text is not None and Path(text).is_file()
    if prior is not None and not is_file:
        raise InputError(f"--prior {prior:g}: it goes with --opponent and a file of setups seen")
    if prior is not None and not (math.isfinite(prior) and prior > 0):
        raise InputError(f"--prior {prior:g}: a number of games above 0 is needed")
    if text is None or text == "table":
        return None
    content = read_text(text, "--opponent") if is_file else None
    try:
        if content is not None:
            counts = DEFAULT_PRIOR if prior is None else prior
            seen = parse_observations(content, player.game)
            observed = observe_setups(seen, player.strategy, player.game, prior=counts)
            return Opponent(text, player.strategy, observed)
        return Opponent(text, _open_strategy(text, player))
    except InputError as error:
        raise InputError(f"--opponent {text}: {error}") from None


def _open_strategy(text: str, player: Player) -> Strategy:
    """Return the strategy of a bot, or of another table of the player's game."""
    game = player.game
    if text == "uniform" or text.startswith("bot:"):
        name = _UNIFORM if text == "uniform" else text
        return open_player(name, game=game.name, objective=game.objective).strategy
    if not Path(text).exists():
        raise InputError(f"nothing is there; allowed are {_ALLOWED}")
    other = open_player(text)
    theirs, mine = (f"{g.name}, {g.objective}, pulls {g.pulls}" for g in (other.game, game))
    if theirs != mine:
        raise InputError(f"a table of {theirs}; {player.name} is of {mine}")
    return other.strategy
