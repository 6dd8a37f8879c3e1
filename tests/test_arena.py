"""Matches: held to the exact expectation over all pairs of setups."""

from __future__ import annotations

import itertools
import json
import math
import sys
from functools import cache

import numpy as np
import pytest
from random_strategies import random_strategy

from solver.arena import baseline, kernels, match, play_match
from solver.arena.baseline import NUM_FEATURES, REACHED, Baseline, tabulate_cards
from solver.arena.chances import card_chances, expected_setup_value
from solver.bots import BOTS, make_bot
from solver.cli.app import main
from solver.judge import evaluate
from solver.memoryless import row_offsets
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
    low, high = result.plain_ci95
    assert abs(result.plain_value - exact) < 4 * (high - low) / 3.92
    if game.is_win:
        assert result.plain_value == pytest.approx((result.wins - result.losses) / result.games)


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
    assert result.value == result.plain_value == 0.0
    assert result.ci95 == result.plain_ci95 == (0.0, 0.0)
    assert result.variance_gain == 1.0
    assert result.wins == result.losses


@pytest.mark.parametrize("objective", ["win", "chips"])
def test_match_is_even_when_mixed_strategy_meets_itself(objective):
    game = Game(4, 8, objective=objective)
    mixed = random_strategy(game, np.random.default_rng(0), "memoryless", "keyed")
    result = play_match(mixed, mixed, game, games=500)
    assert (result.value, result.ci95) == (0.0, (0.0, 0.0))


def test_pairs_narrow_the_interval_when_strategies_are_alike():
    game = Game(10, 30)
    a, b = make_bot("bot:random", game), make_bot("bot:random", game)._replace(match_constant=0.48)
    low, high = play_match(a, b, game, games=4000).plain_ci95
    single_game_half = 1.96 / np.sqrt(4000)
    assert (high - low) / 2 < 0.6 * single_game_half


def test_match_is_the_same_when_threads_differ():
    game = Game(4, 8)
    a, b = make_bot("bot:heuristic", game), make_bot("bot:random", game)
    one, two = (play_match(a, b, game, games=1001, seed=5, threads=t) for t in (1, 2))
    assert (one.games, one.value, one.ci95, one.wins) == (two.games, two.value, two.ci95, two.wins)
    assert (one.plain_value, one.variance_gain) == (two.plain_value, two.variance_gain)
    assert one.games == 1002
    assert one.wins + one.draws + one.losses == 1002
    assert play_match(a, b, game, games=1001, seed=6).value != one.value


def even_memoryless(game: Game, rng: np.random.Generator) -> Strategy:
    """Return a mixed strategy whose setup probabilities are 64ths, which float32 holds exactly."""
    offsets, size = row_offsets(game.num_tiles, game.num_chips)
    starts = np.append(np.sort(offsets[offsets >= 0]), size)
    rows = [rng.multinomial(64, np.full(k, 1 / k)) / 64 for k in np.diff(starts)]
    model = np.concatenate(rows).astype(np.float32)
    return random_strategy(game, rng, "memoryless", "keyed")._replace(model=model)


@cache
def players_of_every_kind(game: Game) -> dict[str, Strategy]:
    """Return a strategy of each kind of setup part, by name."""
    rng = np.random.default_rng(7)
    return {
        "memoryless": even_memoryless(game, rng),
        "listed": random_strategy(game, rng, "listed", "keyed"),
        "uniform": random_strategy(game, rng),
        "spike": make_bot("bot:top-spike", game),
    }


def random_baseline(a: Strategy, b: Strategy, game: Game) -> Baseline:
    rng = np.random.default_rng(3)
    cards = tabulate_cards(rng.normal(size=NUM_FEATURES), game)
    return Baseline(rng.normal(size=3), rng.uniform(1, 5, game.num_tiles), cards)


def fitted_baseline(a: Strategy, b: Strategy, game: Game) -> Baseline:
    found = match._fit_baseline(a, b, game, 100, *np.random.SeedSequence(0).spawn(2))
    assert found.card_values.any()
    assert found.value_weights.all()
    return found


def path_prob(a: Strategy, b: Strategy, board: Board, matches: tuple[bool, ...]) -> float:
    """Play the game on the board by these decisions; return how likely they are.

    Where nobody decides, either sign has probability 1/2, so that over all the sum is 1.
    """
    board.winnings[:], board.shown[:], board.pulled[:] = 0, 0, 0
    prob = 1.0
    for slot, is_match in enumerate(matches):
        kind, player = classify(board, slot)
        if kind != CHOICE:
            prob *= 0.5
            settle(board, slot, player)
            continue
        chance = match_prob((a, b)[player], board, slot, player)[0]
        prob *= chance if is_match else 1 - chance
        if is_match:
            pull_latest(board, player, slot)
        settle(board, slot, -1 if is_match else player)
    return prob


def reduced_mean(a: Strategy, b: Strategy, game: Game, guesses: Baseline) -> tuple[float, float]:
    """Return the exact mean of a game's reduced result, and of the luck guessed in decisions."""
    rows = list(zip(*list_setups(game), strict=True))
    pairs = itertools.product(*([(setup_prob(s, *row), row) for row in rows] for s in (a, b)))
    paths = list(itertools.product((False, True), repeat=game.num_tiles))
    board, room = new_board(game.num_tiles), kernels.new_room(game.num_tiles)
    no_trace = np.empty((0, REACHED + 1))
    offset = expected_setup_value(a, b, game, guesses.card_values)
    mean = decided = total = 0.0
    for (prob_a, setup_a), (prob_b, setup_b) in pairs:
        for path in paths if prob_a * prob_b else ():
            board.tiles[:], board.chips[:] = zip(setup_a, setup_b, strict=True)
            prob = prob_a * prob_b * path_prob(a, b, board, path)
            if prob == 0.0:
                continue
            board.tiles[:], board.chips[:] = zip(setup_a, setup_b, strict=True)
            guess = baseline.setup_value(board, guesses, game.num_chips)
            luck = np.where(path, 0.0, 1.0)
            result, lucky = kernels.play_game(a, b, board, luck, luck, guesses, room, no_trace)
            mean += prob * (result - lucky + offset)
            decided += prob * (lucky - guess)
            total += prob
    assert total == pytest.approx(1.0, abs=1e-12)
    return mean, decided


@pytest.mark.parametrize("make_baseline", [random_baseline, fitted_baseline])
@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize(("a", "b"), [("memoryless", "listed"), ("spike", "uniform")])
def test_reduced_mean_is_exact_value_whatever_the_guesses(a, b, objective, make_baseline):
    game = Game(3, 6, objective=objective)
    players = players_of_every_kind(game)
    a, b = players[a], players[b]
    mean, decided = reduced_mean(a, b, game, make_baseline(a, b, game))
    assert mean == pytest.approx(evaluate(a, b, game).value, abs=1e-9)
    assert decided == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["memoryless", "listed", "uniform", "spike"])
@pytest.mark.parametrize("game", [Game(3, 6), Game(4, 7)])
def test_card_chances_are_those_of_all_setups(kind, game):
    check_card_chances(players_of_every_kind(game)[kind], game)


def test_card_chances_are_right_when_there_is_one_slot():
    check_card_chances(make_strategy(1, 3, True), Game(1, 3))


def check_card_chances(player: Strategy, game: Game) -> None:
    """Compare the chances of each card with the sum over all setups."""
    width = baseline.num_stacks(game.num_tiles, game.num_chips)
    expected = np.zeros((game.num_tiles, game.num_tiles * width))
    for tiles, chips in zip(*list_setups(game), strict=True):
        for slot, card in enumerate(baseline.card_id(tiles, chips, width)):
            expected[slot, card] += setup_prob(player, tiles, chips)
    np.testing.assert_allclose(card_chances(player, game), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        ("bot:heuristic", "bot:random", 1.9),
        ("bot:heuristic", "bot:top-spike", 1.4),
        ("bot:random", "bot:caller", 2.8),
    ],
)
def test_guesses_save_games_and_keep_the_mean_in_the_full_game(a, b, least):
    game = Game(10, 30)
    result = play_match(make_bot(a, game), make_bot(b, game), game, games=40_000, seed=2)
    half, plain_half = ((high - low) / 2 for low, high in (result.ci95, result.plain_ci95))
    assert result.variance_gain == pytest.approx((plain_half / half) ** 2)
    assert result.variance_gain > least
    # what was taken off has about the variance by which the two differ
    error = math.sqrt(plain_half**2 - half**2) / 1.96
    assert 0 < abs(result.value - result.plain_value) < 4 * error


@pytest.mark.parametrize(("is_win", "utility"), [(True, -1.0), (False, -2.0)])
def test_state_value_is_the_utility_after_the_last_slot(is_win, utility):
    guesses = Baseline(np.ones(3), np.ones(3), np.zeros((0, 0)))
    row = np.array([0.0, 0.0, -4.0, 1.0])  # 4 chips and 8
    assert baseline.state_value(row, 3, guesses, 6, is_win) == utility


def test_reduced_value_is_exact_when_nothing_is_left_to_luck():
    game = Game(3, 6)
    a = lone_setup(game, (2, 0, 1), (4, 1, 1), 0.0)
    b = lone_setup(game, (0, 1, 2), (3, 2, 1), 1.0)
    result = play_match(a, b, game, games=1000)
    assert result.value == result.plain_value == evaluate(a, b, game).value
    assert result.variance_gain == 1.0


def test_gain_is_a_ratio_that_knows_no_variance():
    assert match._gain(0.5, 0.25) == 2.0
    assert match._gain(0.5, 0.0) == math.inf
    assert match._gain(0.0, 0.0) == 1.0


def test_match_guesses_decisions_alone_when_cards_are_too_many(monkeypatch):
    game = Game(4, 8)
    players = make_bot("bot:top-spike", game), make_bot("bot:random", game)
    both = play_match(*players, game, games=4000)
    monkeypatch.setattr(match, "MAX_CARDS", 4 * 5 - 1)
    alone = play_match(*players, game, games=4000)
    assert alone.plain_value == both.plain_value
    assert 1.05 < alone.variance_gain < both.variance_gain


def test_match_command_tells_plain_and_reduced_values(monkeypatch, capsys):
    game = Game(3, 6)
    result = play_match(make_bot("bot:heuristic", game), make_bot("bot:random", game), game)
    words = ["blackwhite", "match", "bot:heuristic", "bot:random", "--game", "3x6", "--quiet"]
    texts = []
    for options in (["--json"], []):
        monkeypatch.setattr(sys, "argv", [*words, *options])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        texts.append(capsys.readouterr().out)
    data = json.loads(texts[0])
    for name in ("value", "plain_value", "variance_gain", "games", "wins", "draws", "losses"):
        assert data[name] == getattr(result, name)
    assert (data["ci95"], data["plain_ci95"]) == (list(result.ci95), list(result.plain_ci95))
    assert f"{result.value:+.4f}" in texts[1]
    assert f"{result.plain_value:+.4f}" in texts[1]
    assert f"{result.variance_gain:.2f} times smaller" in texts[1]


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
