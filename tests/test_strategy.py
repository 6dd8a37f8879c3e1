"""Playable strategies: setups drawn and priced, and where match probabilities come from."""

from __future__ import annotations

import numpy as np
import pytest
from bridge import all_infostates, board_of, key_of
from random_strategies import DECISIONS, SETUPS, random_strategy
from scipy.stats import chisquare

from solver.rules import Game
from solver.setups import Setup, count_setups, encode_setup, list_setups
from solver.strategy import (
    BY_TILE,
    EXACT,
    FROM_ENDING,
    FROM_LOCK,
    FROM_NOTHING,
    FROM_TABLE,
    Strategy,
    draw_strategy_setup,
    make_strategy,
    match_prob,
    setup_prob,
)


def setup_strategy(kind: str, game: Game) -> Strategy:
    if kind == "by_tile":
        chips = np.array([2, 1, 1, 2][: game.num_tiles])
        return make_strategy(
            game.num_tiles, game.num_chips, True, setup_kind=BY_TILE, tile_chips=chips
        )
    return random_strategy(game, np.random.default_rng(1), kind)


def setup_probs(strategy: Strategy, game: Game) -> np.ndarray:
    listed = zip(*list_setups(game), strict=True)
    return np.array([setup_prob(strategy, tiles, chips) for tiles, chips in listed])


@pytest.mark.parametrize("kind", [*SETUPS, "by_tile"])
def test_setup_probabilities_sum_to_1_and_match_the_draws(kind):
    game = Game(4, 6)
    strategy = setup_strategy(kind, game)
    probs = setup_probs(strategy, game)
    assert probs.sum() == pytest.approx(1.0, abs=1e-6)
    rng = np.random.default_rng(2)
    tiles, chips = np.zeros(4, np.int64), np.zeros(4, np.int64)
    counts = np.zeros(count_setups(game))
    num_draws = 20_000
    for _ in range(num_draws):
        draw_strategy_setup(strategy, rng, tiles, chips)
        counts[encode_setup(Setup(tuple(tiles.tolist()), tuple(chips.tolist())), game)] += 1
    assert counts[probs == 0].sum() == 0
    frequent = probs * num_draws >= 5
    rare = probs[~frequent].sum()
    observed, expected = counts[frequent], probs[frequent]
    if rare * num_draws >= 5:
        observed = np.append(observed, counts[~frequent].sum())
        expected = np.append(expected, rare)
    expected = expected * observed.sum() / expected.sum()
    assert chisquare(observed, expected).pvalue > 0.01


@pytest.mark.parametrize("kind", [*SETUPS, "by_tile"])
def test_same_seed_draws_the_same_setups(kind):
    game = Game(4, 6)
    strategy = setup_strategy(kind, game)
    runs = []
    for _ in range(2):
        rng = np.random.default_rng(5)
        tiles, chips = np.zeros(4, np.int64), np.zeros(4, np.int64)
        runs.append([])
        for _ in range(20):
            draw_strategy_setup(strategy, rng, tiles, chips)
            runs[-1].append((*tiles.tolist(), *chips.tolist()))
    assert runs[0] == runs[1]


def answers(strategy: Strategy, game: Game) -> dict:
    """Return ``(probability, source)`` at every infostate of seat 0."""
    return {
        info: match_prob(strategy, board_of(info), len(info.slots), 0)
        for info in all_infostates(game, 0)
    }


@pytest.mark.parametrize("decisions", DECISIONS)
def test_match_probabilities_are_probabilities(decisions):
    game = Game(3, 5)
    strategy = random_strategy(game, np.random.default_rng(3), decisions=decisions)
    for prob, source in answers(strategy, game).values():
        assert 0 <= prob <= 1
        assert source in (FROM_TABLE, FROM_ENDING, FROM_LOCK)


def test_exact_decisions_answer_with_the_entry_of_their_key():
    game = Game(3, 5)
    strategy = random_strategy(game, np.random.default_rng(4), decisions="exact")
    entries = dict(zip(strategy.keys.tolist(), strategy.match, strict=True))
    for info, (prob, source) in answers(strategy, game).items():
        if max(info.winnings) > 5:
            assert (prob, source) == (0.0, FROM_ENDING)
        else:
            assert (prob, source) == (entries[key_of(info)], FROM_TABLE)


def test_exact_decisions_without_an_entry_say_so():
    game = Game(3, 5)
    empty = make_strategy(3, 5, True, decision_kind=EXACT)
    for info, (prob, source) in answers(empty, game).items():
        if source == FROM_NOTHING:
            assert prob == 0.0
            assert max(info.winnings) <= 5
        else:
            assert source == FROM_ENDING


@pytest.mark.parametrize("objective", ["win", "chips"])
def test_certain_last_slot_is_answered_by_the_better_action(objective):
    """If every other number of the faced colour was shown, the last tile is the one left."""
    game = Game.parse("3x6", objective=objective)
    strategy = make_strategy(3, 6, game.is_win, decision_kind=EXACT)
    num_certain = 0
    for info, (prob, source) in answers(strategy, game).items():
        folded = [s.colours[1] for s in info.slots if s.shown is None]
        is_certain = len(info.slots) == 2 and info.facing[0] not in folded
        if not is_certain or (game.is_win and max(info.winnings) > 6):
            continue
        num_certain += 1
        assert source == FROM_ENDING
        shown = [s.shown[1] for s in info.slots if s.shown is not None]
        (theirs,) = (t for t in range(info.facing[0], 3, 2) if t not in shown)
        mine, stake, gap = info.tiles[2], info.facing[1], info.facing[1] - info.chips[2]
        taken = 2 * stake if mine > theirs else stake if mine == theirs else 0
        ends = [info.winnings[0], info.winnings[0] - gap + taken]
        worth = [np.sign(w - 6) if game.is_win else w for w in ends]
        assert prob == float(worth[1] > worth[0])
    assert num_certain > 100


def test_unknown_parts_are_refused():
    with pytest.raises(TypeError, match="colour"):
        make_strategy(3, 6, True, colour=1)
