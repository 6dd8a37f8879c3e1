"""Matches: held to the exact expectation over all pairs of setups."""

from __future__ import annotations

import numpy as np
import pytest

from solver.arena import play_match
from solver.bots import BOTS, make_bot
from solver.rules import CHOICE, Board, Game, InputError, classify, new_board, pull_latest, settle
from solver.setups import list_setups
from solver.strategy import LISTED, Strategy, make_strategy, match_prob, setup_prob


def expected_value(a: Strategy, b: Strategy, game: Game) -> float:
    """Return a's expected utility by recursion over both actions for every pair of setups."""

    def play_on(board: Board, slot: int) -> float:
        if slot == game.num_tiles:
            ahead = int(board.winnings[0]) - game.num_chips
            return float(np.sign(ahead) if game.is_win else ahead)
        kind, player = classify(board, slot)
        if kind != CHOICE:
            settle(board, slot, player)
            return play_on(board, slot + 1)
        prob = match_prob((a, b)[player], board, slot, player)[0]
        value = 0.0
        if prob > 0:
            matched = Board(*(part.copy() for part in board))
            pull_latest(matched, player, slot)
            settle(matched, slot, -1)
            value += prob * play_on(matched, slot + 1)
        if prob < 1:
            settle(board, slot, player)
            value += (1 - prob) * play_on(board, slot + 1)
        return value

    tiles, chips = list_setups(game)
    rows = list(zip(tiles, chips, strict=True))
    total = 0.0
    for mine in rows:
        for theirs in rows:
            weight = setup_prob(a, *mine) * setup_prob(b, *theirs)
            if weight:
                board = new_board(game.num_tiles)
                board.tiles[0], board.chips[0] = mine
                board.tiles[1], board.chips[1] = theirs
                total += weight * play_on(board, 0)
    return total


def lone_setup(game: Game, tiles: tuple, chips: tuple, match: float) -> Strategy:
    """Return a strategy of one setup that matches with one probability."""
    return make_strategy(
        game.num_tiles,
        game.num_chips,
        game.is_win,
        setup_kind=LISTED,
        setup_tiles=np.array([tiles]),
        setup_chips=np.array([chips]),
        setup_cumulative=np.ones(1),
        match_constant=match,
    )


@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("bot:random", "bot:caller"),
        ("bot:heuristic", "bot:random"),
        ("bot:top-spike", "bot:heuristic"),
        ("bot:folder", "bot:top-spike"),
    ],
)
def test_match_value_equals_expectation_when_game_is_small(a, b, objective):
    game = Game(3, 6, objective=objective)
    players = make_bot(a, game), make_bot(b, game)
    exact = expected_value(*players, game)
    result = play_match(*players, game, games=20_000, seed=1)
    low, high = result.ci95
    assert low <= result.value <= high
    assert abs(result.value - exact) < 4 * (high - low) / 3.92
    if game.is_win:
        assert result.value == pytest.approx((result.wins - result.losses) / result.games)


def test_known_best_response_earns_its_value_when_played():
    game = Game(3, 6)
    a = lone_setup(game, (2, 0, 1), (4, 1, 1), 0.0)
    b = make_bot("bot:random", game)
    exact = expected_value(a, b, game)
    result = play_match(a, b, game, games=20_000)
    assert abs(result.value - exact) < 4 * (result.ci95[1] - result.ci95[0]) / 3.92


def test_interval_covers_expectation_about_as_often_as_it_says():
    game = Game(3, 6)
    players = make_bot("bot:heuristic", game), make_bot("bot:random", game)
    exact = expected_value(*players, game)
    hits = 0
    for seed in range(200):
        low, high = play_match(*players, game, games=400, seed=seed).ci95
        hits += low <= exact <= high
    assert 178 <= hits <= 199


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("game", [Game(3, 6), Game(10, 30, objective="chips")])
def test_match_is_even_when_strategy_meets_itself(name, game):
    bot = make_bot(name, game)
    result = play_match(bot, bot, game, games=500)
    assert result.value == 0.0
    assert result.ci95 == (0.0, 0.0)
    assert result.wins == result.losses


def test_pairs_narrow_the_interval_when_strategies_are_alike():
    game = Game(10, 30)
    a, b = make_bot("bot:random", game), make_bot("bot:random", game)._replace(match_constant=0.48)
    low, high = play_match(a, b, game, games=4000).ci95
    single_game_half = 1.96 / np.sqrt(4000)
    assert (high - low) / 2 < 0.6 * single_game_half


def test_match_is_the_same_when_threads_differ():
    game = Game(4, 8)
    a, b = make_bot("bot:heuristic", game), make_bot("bot:random", game)
    one, two = (play_match(a, b, game, games=1001, seed=5, threads=t) for t in (1, 2))
    assert (one.games, one.value, one.ci95, one.wins) == (two.games, two.value, two.ci95, two.wins)
    assert one.games == 1002
    assert one.wins + one.draws + one.losses == 1002
    assert play_match(a, b, game, games=1001, seed=6).value != one.value


def test_match_plays_to_the_end_when_a_winner_still_spends():
    # a banks 7 of 12 chips, more than its 6, then matches one chip too many and draws
    game = Game(3, 6)
    a = lone_setup(game, (2, 0, 1), (4, 1, 1), 1.0)
    b = lone_setup(game, (0, 1, 2), (3, 2, 1), 0.0)
    assert play_match(a, b, game, games=4).value == 0.0


def test_match_stops_when_progress_says_so():
    game = Game(3, 6)
    bot = make_bot("bot:random", game)
    seen = []

    def stop(games: int, seconds: float, exploitability: float | None) -> bool:
        seen.append((games, exploitability))
        return len(seen) < 3

    result = play_match(bot, bot, game, games=6400, progress=stop)
    assert [games for games, _ in seen] == [100, 200, 300]
    assert result.games == 300


@pytest.mark.parametrize(
    ("game", "options", "message"),
    [
        (Game(3, 6, pulls="tiles"), {}, "pulls 'tiles'"),
        (Game(3, 6), {"games": 0}, "games 0"),
        (Game(3, 6), {"threads": 0}, "threads 0"),
        (Game(3, 7), {}, "strategy for 3x6, win: the game is 3x7"),
    ],
)
def test_match_refuses_when_argument_is_wrong(game, options, message):
    bot = make_bot("bot:random", Game(3, 6))
    with pytest.raises(InputError, match=message):
        play_match(bot, bot, game, **options)
