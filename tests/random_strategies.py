"""Strategies drawn at random, of every kind that the solver knows."""

from __future__ import annotations

from functools import cache

import numpy as np
from bridge import all_infostates, board_of, key_of, payments

from solver.abstraction import num_keys
from solver.kinds import ANY, KIND
from solver.memoryless import row_offsets
from solver.rules import Game
from solver.setups import list_setups
from solver.strategy import EXACT, KEYED, LISTED, MEMORYLESS, Strategy, make_strategy


def uniform_setups(game: Game, rng: np.random.Generator) -> dict:
    return {}


def listed_setups(game: Game, rng: np.random.Generator) -> dict:
    tiles, chips = list_setups(game)
    some = rng.permutation(len(tiles))[: max(2, len(tiles) // 3)]
    cumulative = np.cumsum(rng.dirichlet(np.ones(len(some))))
    cumulative[-1] = 1.0
    return {
        "setup_kind": LISTED,
        "setup_tiles": tiles[some],
        "setup_chips": chips[some],
        "setup_cumulative": cumulative,
    }


def memoryless_setups(game: Game, rng: np.random.Generator) -> dict:
    offsets, size = row_offsets(game.num_tiles, game.num_chips)
    starts = np.append(np.sort(offsets[offsets >= 0]), size)
    rows = [rng.dirichlet(np.ones(length)) for length in np.diff(starts)]
    model = np.concatenate([np.zeros(0), *rows]).astype(np.float32)
    return {"setup_kind": MEMORYLESS, "model": model, "offsets": offsets}


def constant_decisions(game: Game, rng: np.random.Generator) -> dict:
    return {"match_constant": rng.random()}


def keyed_decisions(game: Game, rng: np.random.Generator) -> dict:
    size = num_keys(game.num_tiles)
    return {
        "decision_kind": KEYED,
        "match": rng.random(size),
        "source": np.zeros(size, np.uint8),
    }


def locked_decisions(game: Game, rng: np.random.Generator) -> dict:
    """Keyed decisions with fixed answers: to a gap of 1, and of tile 0 in slot 2."""
    kinds = np.full((2, KIND), ANY, np.float64)
    kinds[0, 3], kinds[1, 0], kinds[1, 1] = 1, 1, 0
    kinds[:, -1] = rng.random(2)
    return keyed_decisions(game, rng) | {"kinds": kinds}


@cache
def all_keys(game: Game) -> tuple[np.ndarray, list[int]]:
    """Return the keys of all decisions of a game, in increasing order, and the ways to pay."""
    pulls = game.pulls_code
    ways = {}
    for info in all_infostates(game, 0) + all_infostates(game, 1):
        num_ways = len(payments(board_of(info), len(info.slots), info.player, pulls))
        assert ways.setdefault(key_of(info, pulls), num_ways) == num_ways
    return np.array(sorted(ways), np.uint64), [ways[key] for key in sorted(ways)]


def exact_decisions(game: Game, rng: np.random.Generator) -> dict:
    keys, ways = all_keys(game)
    parts = {"decision_kind": EXACT, "keys": keys, "match": rng.random(len(keys))}
    if game.pulls != "latest":
        parts["pay_start"] = np.concatenate([[0], np.cumsum(ways)])
        parts["pay"] = np.concatenate([rng.dirichlet(np.ones(num)) for num in ways])
    return parts


SETUPS = {"uniform": uniform_setups, "listed": listed_setups, "memoryless": memoryless_setups}
DECISIONS = {
    "constant": constant_decisions,
    "keyed": keyed_decisions,
    "locked": locked_decisions,
    "exact": exact_decisions,
}


def random_strategy(
    game: Game, rng: np.random.Generator, setups: str = "uniform", decisions: str = "constant"
) -> Strategy:
    """Return a strategy with random numbers in the parts named."""
    parts = SETUPS[setups](game, rng) | DECISIONS[decisions](game, rng)
    return make_strategy(
        game.num_tiles, game.num_chips, game.is_win, pulls=game.pulls_code, **parts
    )
