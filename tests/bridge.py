"""Between the plain reference of ``naive.py`` and the solver's arrays."""

from __future__ import annotations

import naive
import numpy as np

from solver.infostate import infostate_key, observe
from solver.payments import list_payments
from solver.rules import LATEST, Board, Game, new_board
from solver.strategy import Strategy, match_prob, num_columns, pay_probs, setup_prob


def board_of(info: naive.Infostate) -> Board:
    """Return a board that shows what the player knows; the rest is made up to agree with it.

    The opponent's hidden tiles take the numbers not shown, the lowest of a colour first, and all
    their spare chips lie on the last.
    """
    n, slot = len(info.tiles), len(info.slots)
    me, other = info.player, 1 - info.player
    board = new_board(n)
    board.tiles[me] = info.tiles
    board.chips[me] = info.chips
    for s, seen in enumerate(info.slots):
        board.chips[:, s] = seen.stacks
        board.shown[s] = seen.shown is not None
        if seen.shown is not None and seen.stacks[0] != seen.stacks[1]:
            board.pulled[int(np.argmin(seen.stacks)), s] = seen.pulled
    board.tiles[other] = made_up_tiles(info, other)
    board.chips[other, slot] = info.facing[1]
    board.chips[other, slot + 1 :] = 1
    if slot + 1 < n:
        board.chips[other, n - 1] += info.opponent_later - (n - 1 - slot)
    board.winnings[:] = info.winnings
    return board


def made_up_tiles(info: naive.Infostate, other: int) -> list[int]:
    """Return an order of the opponent's tiles that agrees with what was seen."""
    shown = {seen.shown[other] for seen in info.slots if seen.shown is not None}
    left = [tile for tile in range(len(info.tiles)) if tile not in shown]
    colours = [seen.colours[other] for seen in info.slots] + [info.facing[0]]
    tiles = []
    for s, colour in enumerate(colours):
        if s < len(info.slots) and info.slots[s].shown is not None:
            tiles.append(info.slots[s].shown[other])
        else:
            tiles.append(next(tile for tile in left if tile % 2 == colour))
            left.remove(tiles[-1])
    return tiles + left


def observation_of(info: naive.Infostate, pulls: int = LATEST) -> np.ndarray:
    """Return the observation of an infostate, int64 of shape (N, 4) or (N, 5)."""
    observation = np.zeros((len(info.tiles), num_columns(pulls)), np.int64)
    observe(board_of(info), len(info.slots), info.player, observation)
    return observation


def key_of(info: naive.Infostate, pulls: int = LATEST) -> int:
    """Return the key of an infostate."""
    return int(infostate_key(observation_of(info, pulls)))


def payments(board: Board, slot: int, player: int, pulls: int) -> list[tuple[int, ...]]:
    """Return the ways to pay in the order of the rules: chips that each tile gives."""
    return [tuple(way) for way in list_payments(board, player, slot, pulls).tolist()]


def naive_strategy(strategy: Strategy, game: Game) -> naive.Strategy:
    """Return a playable strategy as the reference takes it."""
    probs = {
        setup: float(setup_prob(strategy, np.array(setup[0]), np.array(setup[1])))
        for setup in naive.setups(game.num_tiles, game.num_chips)
    }
    total = sum(probs.values())

    def match(info: naive.Infostate) -> float:
        return float(match_prob(strategy, board_of(info), len(info.slots), info.player)[0])

    def pay(info: naive.Infostate) -> list[float]:
        board, slot = board_of(info), len(info.slots)
        ways = payments(board, slot, info.player, strategy.pulls)
        given = np.zeros(len(ways))
        assert pay_probs(strategy, board, slot, info.player, given) == len(ways)
        return [prob for _, prob in sorted(zip(ways, given.tolist(), strict=True))]

    return naive.Strategy({s: p / total for s, p in probs.items() if p > 0}, match, pay)


def all_infostates(game: Game, player: int) -> list[naive.Infostate]:
    """Return every decision of a player in the unreduced game, each once."""
    found = {}

    def walk(state: naive.State) -> None:
        if naive.is_over(state):
            return
        who = naive.decider(state)
        if who is None:
            walk(naive.play(state))
            return
        if who == player:
            found[naive.infostate(state, player)] = None
        for choice in naive.choices(state, game.pulls):
            walk(naive.play(state, choice))

    setups = naive.setups(game.num_tiles, game.num_chips)
    for mine in setups:
        for theirs in setups:
            walk(naive.start(mine, theirs))
    return list(found)
