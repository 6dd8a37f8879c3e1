"""Single choices on tuples against whole slots on the arrays of solver.rules."""

import numpy as np
import pyspiel
import pytest

import spiel_game  # noqa: F401  registers the games
from solver.rules import (
    CHOICE,
    SHOW,
    Game,
    classify,
    later_chips,
    new_board,
    pull,
    pull_latest,
    settle,
    spare_chips,
    utility,
)
from solver.setups import draw_setup
from spiel_game.position import (
    DECIDE,
    OVER,
    PLACE_TILE,
    PULL,
    apply_choice,
    is_shown,
    options,
    placed_chips,
    placed_tiles,
    start,
)
from spiel_game.views import information_state_string

ALL_PULLS = ("latest", "tiles", "free")


def walk(position):
    """Yield every position of a game, each history once."""
    yield position
    for choice in options(position):
        yield from walk(apply_choice(position, choice))


def play(game, choices):
    position = start(game)
    for choice in choices:
        position = apply_choice(position, choice)
    return position


def board_with_setups(position):
    board = new_board(position.game.num_tiles)
    for player in (0, 1):
        board.tiles[player] = placed_tiles(position, player)
        board.chips[player] = placed_chips(position, player)
    return board


def replay_slot(board, slot, result, game):
    """Play one slot on the board as the position says it went; check each step on the way."""
    kind, player = classify(board, slot)
    if result.matcher >= 0:
        assert (kind, result.matcher) == (CHOICE, player)
        before = board.chips[player].copy()
        winnings = board.winnings[player]
        usual = type(board)(*(part.copy() for part in board))
        pull_latest(usual, player, slot)
        assert tuple(before - usual.chips[player]) == result.default
        if game.pulls == "latest":
            pull_latest(board, player, slot)
        else:
            gap = abs(board.chips[0, slot] - board.chips[1, slot])
            total = sum(result.taken)
            assert 0 <= gap - total <= winnings
            if game.pulls == "tiles":
                assert gap - total == min(gap, winnings)
            pull(board, player, slot, np.array(result.taken))
        assert tuple(before - board.chips[player]) == result.taken
        assert board.chips[player].min() >= 1
        assert board.winnings[player] >= 0
    elif kind == SHOW:
        assert result.folder == -1
    else:
        assert result.folder == player
    settle(board, slot, result.folder)


def check_random_game(game, rng, *, is_uniform_setup):
    """Play one random game on the OpenSpiel state and on the board, and compare after each move."""
    state = pyspiel.load_game(
        "python_betting_black_white",
        {
            "num_tiles": game.num_tiles,
            "num_chips": game.num_chips,
            "pulls": game.pulls,
            "objective": game.objective,
        },
    ).new_initial_state()
    setups = [draw_setup(game, rng) for _ in range(2)]
    board, num_played = None, 0
    while not state.is_terminal():
        position = state.position
        legal = state.legal_actions()
        assert len(legal) > 1
        if position.phase >= DECIDE or not is_uniform_setup:
            action = legal[int(rng.random() * len(legal))]
        else:
            setup, slot = setups[position.player], len(position.placed[position.player]) // 2
            action = (setup.tiles if position.phase == PLACE_TILE else setup.chips)[slot]
        if position.phase == DECIDE:
            assert classify(board, position.slot) == (CHOICE, position.player)
        state.apply_action(action)
        position = state.position
        if not position.chips[0]:
            continue
        if board is None:
            board = board_with_setups(position)
        for slot in range(num_played, len(position.results)):
            replay_slot(board, slot, position.results[slot], game)
            in_later = sum(later_chips(board.chips[player], slot) for player in (0, 1))
            assert board.winnings.sum() + in_later == 2 * game.num_chips
        num_played = len(position.results)
        assert tuple(board.winnings) == position.winnings
        assert tuple(map(tuple, board.chips)) == position.chips
        if not state.is_terminal():
            shown = [int(is_shown(position, slot)) for slot in range(game.num_tiles)]
            assert board.shown.tolist() == shown
    assert num_played == game.num_tiles
    assert sum(state.position.winnings) == 2 * game.num_chips
    assert state.returns() == [utility(won, game.num_chips, game.is_win) for won in board.winnings]


@pytest.mark.parametrize("pulls", ALL_PULLS)
def test_random_games_agree_with_the_rules_board(pulls):
    rng = np.random.default_rng(1)
    for number in range(200):
        game = Game(10, 30, pulls=pulls, objective=("win", "chips")[number % 2])
        check_random_game(game, rng, is_uniform_setup=number % 4 < 2)


@pytest.mark.slow
@pytest.mark.parametrize("pulls", ALL_PULLS)
def test_ten_thousand_random_games_agree_with_the_rules_board(pulls):
    rng = np.random.default_rng(2)
    for number in range(10_000):
        game = Game(10, 30, pulls=pulls, objective=("win", "chips")[number % 2])
        check_random_game(game, rng, is_uniform_setup=number % 4 < 2)


def test_2x3_has_the_histories_counted_by_hand():
    # 16 pairs of setups.  8 have equal stacks throughout: 1 history.  The other 8 start 1 v 2: the
    # lower may match (then slot 2 is 1 v 1 and shown) or fold; after the fold slot 2 is 1 v 2 and
    # the other player, with 3 winnings, may match or fold: 3 histories.  8 + 24.
    for pulls in ALL_PULLS:
        nodes = list(walk(start(Game(2, 3, pulls=pulls))))
        assert sum(node.phase == OVER for node in nodes) == 32
        asked = {
            information_state_string(node, node.player) for node in nodes if node.phase == DECIDE
        }
        # Each seat: 2 setups starting with 1 chip meet either colour in slot 1; the 2 others meet
        # either colour in slot 2 after a fold.
        assert len(asked) == 2 * (2 * 2 + 2 * 2)


def test_3x6_has_the_known_number_of_histories_and_infostates():
    nodes = list(walk(start(Game(3, 6))))
    assert sum(node.phase == OVER for node in nodes) == 15_380
    asked = {information_state_string(node, node.player) for node in nodes if node.phase == DECIDE}
    assert len(asked) == 7_120


def test_the_worked_examples_of_the_rules():
    # Setups 1:2,0:1 against 0:1,1:2 and 1:1,0:2; only choices with two options are listed.
    first, second, third = (1, 2), (0, 1), (1, 1)
    game = Game(2, 3)
    folded = play(game, (*first, *second, 0))
    assert (folded.winnings, folded.slot, folded.player) == ((3, 0), 1, 0)
    assert apply_choice(folded, 0).winnings == (3, 3)
    assert apply_choice(folded, 1).winnings == (2, 4)
    matched = play(game, (*first, *second, 1))
    assert (matched.phase, matched.winnings) == (OVER, (4, 2))
    assert play(game, (*first, *third, 0, 1)).winnings == (4, 2)
    assert play(game, (*first, *third, 1)).winnings == (3, 3)


def test_forced_choices_are_made_without_asking():
    assert play(Game(3, 3), (2, 0)).placed == ((2, 1, 0, 1, 1, 1), ())
    # The last tile takes what is left, and equal stacks are shown.
    equal = play(Game(3, 6), (0, 1, 1, 1, 1, 1, 2, 1))
    assert equal.placed == ((0, 1, 1, 1, 2, 4), (1, 1, 2, 1, 0, 4))
    assert equal.winnings == (8, 4)
    # 2,3,1 against 1,1,4: player 1 matches and wins twice; player 0 is left with 1 chip against 3
    # and nothing to pay with, and folds unasked.
    broke = play(Game(3, 6), (0, 2, 1, 3, 1, 1, 2, 1, 1, 1))
    assert broke.phase == OVER
    assert [result.folder for result in broke.results] == [-1, -1, 0]
    assert broke.winnings == (0, 12)


def test_pulls_offer_what_the_rules_allow():
    # 4x9: stacks 1,3,3,2 against 4,2,2,1; the gap of 3 comes from slots 4, 3, 2 with 1, 2, 2 spare.
    setups = (0, 1, 1, 3, 2, 3, 3, 4, 0, 2, 1, 2)
    free = play(Game(4, 9, pulls="free"), (*setups, 1))
    assert free.phase == PULL
    assert free.chips == ((1, 3, 3, 2), (4, 2, 2, 1))
    assert options(free) == (0, 1)
    assert options(apply_choice(free, 0)) == (1, 2)
    assert options(apply_choice(free, 1)) == (0, 1, 2)
    done = apply_choice(apply_choice(free, 1), 0)
    assert done.results[0].taken == (0, 2, 0, 1)
    assert done.results[0].default == (0, 0, 2, 1)


@pytest.mark.parametrize(("pulls", "expected"), [("free", (0, 1, 2)), ("tiles", None)])
def test_winnings_come_first_only_where_tiles_pay_the_rest(pulls, expected):
    # 3x6: player 0 wins slot 1 (1 v 1) and has 2 winnings; slot 2 is 1 v 3, its gap 2.
    position = play(Game(3, 6, pulls=pulls), (2, 1, 0, 1, 1, 1, 2, 3, 1))
    if expected is None:
        assert position.phase == OVER or not position.pulling
        assert position.results[1].taken == (0, 0, 0)
    else:
        assert position.phase == PULL
        assert options(position) == expected


def test_illegal_choices_are_refused_by_name():
    with pytest.raises(ValueError, match="action 3: allowed are 0, 1, 2"):
        apply_choice(start(Game(3, 6)), 3)


def test_spare_chips_decide_who_may_match():
    game = Game(4, 9)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        position = start(game)
        while position.phase != OVER:
            if position.phase == DECIDE:
                chips = np.array(position.chips[position.player])
                means = position.winnings[position.player] + spare_chips(chips, position.slot)
                stacks = [position.chips[player][position.slot] for player in (0, 1)]
                assert stacks[position.player] == min(stacks)
                assert means >= max(stacks) - min(stacks)
            allowed = options(position)
            position = apply_choice(position, allowed[int(rng.random() * len(allowed))])
