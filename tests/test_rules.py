"""The compiled rules against worked games and the plain reference."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.payments import list_payments
from solver.rules import (
    CHOICE,
    FORCED_FOLD,
    SHOW,
    Board,
    Game,
    InputError,
    chips_after_pulls,
    classify,
    gap_at,
    is_decided,
    later_chips,
    new_board,
    pull,
    pull_latest,
    settle,
    spare_chips,
    utility,
)
from solver.setups import Setup, decode_setup


def board_with(*texts: str, game: Game) -> Board:
    board = new_board(game.num_tiles)
    for player, text in enumerate(texts):
        setup = Setup.parse(text, game)
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
    return board


def played(board: Board, actions: str) -> list[str]:
    """Play a game; return one line a slot.

    ``actions`` holds one letter for each decision, ``f`` or ``m``.
    """
    lines, left = [], iter(actions)
    for slot in range(board.shown.shape[0]):
        stacks = f"{board.chips[0, slot]} v {board.chips[1, slot]}"
        kind, player = classify(board, slot)
        folder = player if kind == FORCED_FOLD else -1
        event = {SHOW: "shown", FORCED_FOLD: f"{player} must fold"}.get(kind)
        if kind == CHOICE:
            if next(left) == "m":
                pull_latest(board, player, slot)
                event = f"{player} matches"
            else:
                folder = player
                event = f"{player} folds"
        settle(board, slot, folder)
        lines.append(f"{stacks}, {event}: {board.winnings[0]}-{board.winnings[1]}")
    assert next(left, None) is None
    return lines


@pytest.mark.parametrize(
    ("theirs", "actions", "lines"),
    [
        ("0:1,1:2", "ff", ["2 v 1, 1 folds: 3-0", "1 v 2, 0 folds: 3-3"]),
        ("0:1,1:2", "fm", ["2 v 1, 1 folds: 3-0", "1 v 2, 0 matches: 2-4"]),
        ("0:1,1:2", "m", ["2 v 1, 1 matches: 4-0", "1 v 1, shown: 4-2"]),
        ("1:1,0:2", "fm", ["2 v 1, 1 folds: 3-0", "1 v 2, 0 matches: 4-2"]),
        ("1:1,0:2", "m", ["2 v 1, 1 matches: 2-2", "1 v 1, shown: 3-3"]),
    ],
)
def test_worked_examples_of_2x3_go_as_written(theirs, actions, lines):
    assert played(board_with("1:2,0:1", theirs, game=Game(2, 3)), actions) == lines


def test_player_without_means_folds_automatically():
    board = board_with("0:1,1:2,2:3", "2:4,1:1,0:1", game=Game(3, 6))
    assert classify(board, 0) == (CHOICE, 0)  # 1 + 2 spare chips are exactly the gap
    board.chips[0] = 1, 2, 2
    assert classify(board, 0) == (FORCED_FOLD, 0)
    board.winnings[0] = 1
    assert classify(board, 0) == (CHOICE, 0)


def test_only_winnings_can_pay_in_the_last_slot():
    board = board_with("0:5,1:1", "1:4,0:2", game=Game(2, 6))
    assert spare_chips(board.chips[0], 1) == 0
    assert classify(board, 1) == (FORCED_FOLD, 0)
    board.winnings[0] = 1
    assert classify(board, 1) == (CHOICE, 0)


def test_gap_is_paid_from_winnings_then_from_the_latest_tiles():
    board = board_with("0:1,1:2,2:3,3:4", "3:6,2:2,1:1,0:1", game=Game(4, 10))
    board.winnings[0] = 1
    pull_latest(board, 0, 0)
    assert board.winnings[0] == 0
    assert board.chips[0].tolist() == [1, 2, 2, 1]  # 3 from slot 4, 1 from slot 3
    assert board.pulled[0].tolist() == [4, 0, 0, 0]


def naive_kind(state: naive.State) -> tuple[int, int]:
    lower = naive.lower_bettor(state)
    if lower is None:
        return SHOW, -1
    return (FORCED_FOLD if naive.decider(state) is None else CHOICE), lower


def check_same(board: Board, state: naive.State) -> None:
    assert tuple(board.winnings) == state.winnings
    assert [tuple(row) for row in board.chips.tolist()] == list(state.chips)
    for slot, seen in enumerate(state.slots):
        assert board.shown[slot] == (seen.shown is not None)
        assert board.pulled[:, slot].sum() == seen.pulled


@given(
    size=st.sampled_from([(1, 1), (1, 4), (2, 2), (2, 7), (3, 5), (4, 9), (6, 12), (10, 30)]),
    pulls=st.sampled_from(["latest", "tiles", "free"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=200, deadline=None)
def test_rules_equal_plain_ones_in_random_games(size, pulls, seed):
    game = Game(*size, pulls=pulls)
    rng = np.random.default_rng(seed)
    setups = [random_setup(game, rng) for _ in range(2)]
    board = board_with(*map(str, setups), game=game)
    state = naive.start(*((s.tiles, s.chips) for s in setups))
    for slot in range(game.num_tiles):
        kind, player = classify(board, slot)
        assert (kind, player) == naive_kind(state)
        assert gap_at(*board.chips[:, slot]) == naive.gap(state)
        choice = None
        if kind == CHOICE and rng.random() < 0.7:
            choice = random_payment(state, pulls, rng)
            if pulls == "latest":
                pull_latest(board, player, slot)
            else:
                pull(board, player, slot, np.array(choice))
        is_fold = kind == FORCED_FOLD or (kind == CHOICE and choice is None)
        settle(board, slot, player if is_fold else -1)
        state = naive.play(state, choice)
        check_same(board, state)
        on_later_tiles = sum(later_chips(board.chips[p], slot) for p in (0, 1))
        assert board.winnings.sum() + on_later_tiles == 2 * game.num_chips
        assert (board.chips >= 1).all()
    for objective in ("win", "chips"):
        for player in (0, 1):
            paid = utility(board.winnings[player], game.num_chips, objective == "win")
            assert paid == naive.payoff(state, player, objective)


def random_setup(game: Game, rng: np.random.Generator) -> Setup:
    cuts = np.sort(rng.permutation(game.num_chips - 1)[: game.num_tiles - 1]) + 1
    chips = np.diff([0, *cuts, game.num_chips])
    return Setup(tuple(rng.permutation(game.num_tiles).tolist()), tuple(chips.tolist()))


def random_payment(state: naive.State, pulls: str, rng: np.random.Generator) -> tuple[int, ...]:
    """Return a legal way to pay; in large games without listing all of them."""
    if pulls == "latest" or len(state.tiles[0]) <= 4:
        ways = naive.choices(state, pulls)[1:]
        return ways[rng.integers(len(ways))]
    player, slot = naive.decider(state), len(state.slots)
    need, winnings = naive.gap(state), state.winnings[player]
    least = max(need - winnings, 0)
    most = min(need, naive.spare(state, player)) if pulls == "free" else least
    taken = [0] * len(state.tiles[0])
    for _ in range(rng.integers(least, most + 1)):
        open_tiles = [
            s for s in range(slot + 1, len(taken)) if state.chips[player][s] - taken[s] > 1
        ]
        taken[rng.choice(open_tiles)] += 1
    return tuple(taken)


@given(
    size=st.sampled_from([(2, 7), (3, 9), (4, 9), (5, 10)]),
    pulls=st.sampled_from(["latest", "tiles", "free"]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_ways_to_pay_are_the_plain_ones_in_canonical_order(size, pulls, seed):
    """Fewer chips from later tiles first; of as many, more from the latest tile first."""
    game = Game(*size, pulls=pulls)
    rng = np.random.default_rng(seed)
    setups = [random_setup(game, rng) for _ in range(2)]
    board = board_with(*map(str, setups), game=game)
    state = naive.start(*((s.tiles, s.chips) for s in setups))
    for slot in range(game.num_tiles):
        kind, player = classify(board, slot)
        choice = None
        if kind == CHOICE:
            found = [tuple(way) for way in list_payments(board, player, slot, game.pulls_code)]
            plain = naive.choices(state, pulls)[1:]
            assert found == sorted(plain, key=lambda way: (sum(way), [-t for t in way[::-1]]))
            assert [found[0]] == naive.choices(state, "latest")[1:]
            if rng.random() < 0.7:
                choice = found[rng.integers(len(found))]
                pull(board, player, slot, np.array(choice))
        settle(board, slot, player if kind != SHOW and choice is None else -1)
        state = naive.play(state, choice)


def test_ways_to_pay_are_nested():
    state = naive.start(((0, 1, 2), (1, 3, 3)), ((2, 1, 0), (4, 2, 1)))
    state = state._replace(winnings=(2, 0))
    latest, tiles, free = (set(naive.choices(state, p)) for p in ("latest", "tiles", "free"))
    assert latest < tiles < free
    assert tiles == {None, (0, 0, 1), (0, 1, 0)}
    assert len(free) == 1 + 2 + 3 + 2  # fold; 1, 2 or 3 chips from the two tiles


@given(
    chips=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    gaps=st.lists(st.integers(0, 6), max_size=6),
)
@settings(deadline=None)
def test_chips_after_pulls_equals_pulling_again_and_again(chips, gaps):
    """Slot 0 matches again and again, without winnings, while later tiles can pay."""
    board = new_board(len(chips) + 1)
    board.chips[0, 1:] = chips
    total = 0
    for gap in gaps:
        if gap > spare_chips(board.chips[0], 0):
            break
        board.chips[:, 0] = 1, 1 + gap
        pull_latest(board, 0, 0)
        total += gap
    behind = [sum(c - 1 for c in chips[s + 1 :]) for s in range(len(chips))]
    closed = [chips_after_pulls(c, b, total) for c, b in zip(chips, behind, strict=True)]
    assert closed == board.chips[0, 1:].tolist()


def test_utility_is_a_sign_or_a_difference():
    assert [utility(w, 6, True) for w in (0, 6, 7)] == [-1.0, 0.0, 1.0]
    assert [utility(w, 6, False) for w in (0, 6, 7)] == [-6.0, 0.0, 1.0]


def test_game_is_decided_above_half_the_chips():
    assert not is_decided(6, 0, 6)
    assert is_decided(7, 0, 6)
    assert is_decided(0, 7, 6)


@given(number=st.integers(0, 60 * 60 - 1), actions=st.integers(0, 7))
@settings(deadline=None)
def test_decided_game_cannot_be_lost_by_a_player_who_folds(number, actions):
    game = Game(3, 6)
    board = board_with(*(str(decode_setup(k, game)) for k in divmod(number, 60)), game=game)
    ahead = -1
    for slot in range(3):
        kind, player = classify(board, slot)
        folder = player if kind == FORCED_FOLD else -1
        if kind == CHOICE:
            if player == ahead or actions >> slot & 1:
                folder = player
            else:
                pull_latest(board, player, slot)
        settle(board, slot, folder)
        if ahead < 0 and is_decided(*board.winnings, 6):
            ahead = int(np.argmax(board.winnings))
    if ahead >= 0:
        assert board.winnings[ahead] > 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Game(0, 3), "number of tiles 0"),
        (lambda: Game(4, 3), "number of chips 3: 4 tiles need at least 4 chips"),
        (lambda: Game(4, 8, pulls="any"), "pulls 'any': allowed are latest, tiles, free"),
        (lambda: Game(4, 8, objective="fun"), "objective 'fun': allowed are win, chips"),
        (lambda: Game.parse("4by8"), "game '4by8': write it NxC"),
        (lambda: Game.parse("\uff14x8"), "game '\uff14x8': write it NxC"),
        (lambda: Game.parse("-4x8"), "game '-4x8'"),
    ],
)
def test_game_refuses_parameters_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_game_is_written_as_it_is_read():
    assert Game.parse(" 10X30 ") == Game()
    assert Game.parse("4x8", pulls="free", objective="chips").name == "4x8"
