"""Simple strategies to play against, to measure by, and to try things on."""

from __future__ import annotations

from solver.heuristic import top_spike
from solver.rules import Game, InputError
from solver.strategy import BY_TILE, THUMB, Strategy, make_strategy

__all__ = ["BOTS", "make_bot"]

BOTS = {
    "bot:random": "setups uniform over all; matches with probability 1/2",
    "bot:folder": "setups uniform over all; always folds",
    "bot:caller": "setups uniform over all; always matches",
    "bot:heuristic": "setups uniform over all; matches by rules of thumb",
    "bot:top-spike": "most chips on the highest tiles, in random order; matches by rules of thumb",
}
"""Every bot's name, and what it does."""

_MATCH = {"bot:random": 0.5, "bot:folder": 0.0, "bot:caller": 1.0}


def make_bot(name: str, game: Game) -> Strategy:
    """Return the strategy of a named bot.

    Raises
    ------
    InputError
        If there is no bot of that name.

    Examples
    --------
    >>> make_bot("bot:random", Game(3, 6)).match_constant
    0.5
    """
    size = (game.num_tiles, game.num_chips, game.is_win)
    if name in _MATCH:
        return make_strategy(*size, match_constant=_MATCH[name])
    if name == "bot:heuristic":
        return make_strategy(*size, decision_kind=THUMB)
    if name == "bot:top-spike":
        chips = top_spike(game.num_tiles, game.num_chips)
        return make_strategy(*size, setup_kind=BY_TILE, tile_chips=chips, decision_kind=THUMB)
    raise InputError(f"bot {name!r}: allowed are {', '.join(BOTS)}")
