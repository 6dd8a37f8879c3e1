"""The notation of situations: what is read, what is refused, and the round trip."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.rules import (
    CHOICE,
    Game,
    InputError,
    classify,
    later_chips,
    new_board,
    pull,
    settle,
)
from solver.setups import draw_setup
from solver.situation import (
    Event,
    Facing,
    Situation,
    format_situation,
    parse_situation,
    parse_situation_json,
)

ME = "0:2,3:3,2:1,1:2"  # 4x8


def draw_pulls(rng, game, board, slot, player):
    """Return chips by slot for a random way to pay that the rules allow."""
    n = game.num_tiles
    gap = abs(int(board.chips[0, slot] - board.chips[1, slot]))
    least = max(0, gap - int(board.winnings[player]))
    room = board.chips[player] - 1
    room[: slot + 1] = 0
    total = least
    if game.pulls == "free":
        total = int(rng.integers(least, min(gap, int(room.sum())) + 1))
    taken = np.zeros(n, np.int64)
    for _ in range(total):
        open_slots = np.flatnonzero(room > taken)
        taken[open_slots[-1] if game.pulls == "latest" else rng.choice(open_slots)] += 1
    return taken


def random_situation(game, rng):
    """Return a situation of a random game and the true board."""
    board = new_board(game.num_tiles)
    me, opponent = draw_setup(game, rng), draw_setup(game, rng)
    board.tiles[:] = me.tiles, opponent.tiles
    board.chips[:] = me.chips, opponent.chips
    events = []
    last = int(rng.integers(game.num_tiles))
    for slot in range(last):
        kind, player = classify(board, slot)
        folder = player
        pulls = theirs = None
        if kind == CHOICE and rng.random() < 0.5:
            folder = -1
            default = draw_pulls(rng, Game(game.num_tiles, game.num_chips), board, slot, player)
            taken = draw_pulls(rng, game, board, slot, player)
            if player == 0 and not np.array_equal(taken, default):
                pulls = tuple((s, int(taken[s])) for s in range(game.num_tiles) if taken[s])
            if player == 1 and taken.sum() != default.sum():
                theirs = int(taken.sum())
            pull(board, player, slot, taken)
        tile = int(board.tiles[1, slot])
        number = tile if folder < 0 else None
        stack = int(board.chips[1, slot])
        events.append(Event(tile % 2, stack, number, folder == 0, pulls, theirs))
        settle(board, slot, folder)
    facing = Facing(int(board.tiles[1, last]) % 2, int(board.chips[1, last]))
    return Situation(game, me, tuple(events), facing), board


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["1x1", "2x3", "3x6", "4x8", "5x15", "10x30"]),
    st.sampled_from(["latest", "tiles", "free"]),
)
def test_situation_survives_when_written_and_read(seed, size, pulls):
    game = Game.parse(size, pulls=pulls)
    situation, truth = random_situation(game, np.random.default_rng(seed))
    parts = format_situation(situation)
    assert parse_situation(game, **parts) == situation
    assert parse_situation_json(game, json.dumps(parts)) == situation
    board, slot = situation.board(), situation.slot
    assert len(situation.boards()) == slot + 1
    assert board.chips[0].tolist() == truth.chips[0].tolist()
    assert board.winnings.tolist() == truth.winnings.tolist()
    assert board.pulled.tolist() == truth.pulled.tolist()
    assert board.shown.tolist() == truth.shown.tolist()
    assert board.chips[1, : slot + 1].tolist() == truth.chips[1, : slot + 1].tolist()
    assert later_chips(board.chips[1], slot) == later_chips(truth.chips[1], slot)
    assert sorted(board.tiles[1].tolist()) == list(range(game.num_tiles))
    for s in range(slot + 1):
        assert board.tiles[1, s] % 2 == truth.tiles[1, s] % 2
        if truth.shown[s]:
            assert board.tiles[1, s] == truth.tiles[1, s]
    assert classify(board, slot) == classify(truth, slot)


def test_events_carry_what_was_written_when_parsed():
    game = Game(4, 8, pulls="free")
    situation = parse_situation(game, me="0:1,3:3,2:2,1:2", history="w3=1@2-1,4-1", facing="b2")
    assert situation.events[0].pulls == ((1, 1), (3, 1))
    assert situation.board().chips[0].tolist() == [1, 2, 2, 1]
    swapped = parse_situation(game, me="0:1,3:3,2:2,1:2", history="w3=1@4-1,2-1", facing="b2")
    assert swapped == situation


def test_default_pulls_are_left_out_when_written():
    for pulls in ("latest", "tiles", "free"):
        game = Game(4, 8, pulls=pulls)
        situation = parse_situation(game, me="0:1,3:3,2:1,1:3", history="w3=1@4-2", facing="b2")
        assert situation.events[0].pulls is None
        assert format_situation(situation)["history"] == "w3=1"
        theirs = parse_situation(game, me="0:3,3:3,2:1,1:1", history="w1=1@-2", facing="b2")
        assert theirs.events[0].opponent_pulled is None


def test_opponents_total_falls_when_it_pulls():
    game = Game(4, 8, pulls="free")
    board = parse_situation(game, me=ME, history="w1f b1=2@-2", facing="w2").board()
    assert board.winnings.tolist() == [9, 0]
    assert later_chips(board.chips[1], 2) == 2
    assert board.pulled[1].tolist() == [0, 2, 0, 0]


def test_stacks_may_be_equal_when_asked():
    assert parse_situation(Game(3, 6), me="0:1,2:4,1:1", facing="b1").slot == 0


REFUSED = [
    # pulls, history, facing, token named, reason
    ("latest", "w2=2", "b1", "1 'w2=2'", "tile 2 is black"),
    ("latest", "b2=0 b3=0", "w1", "2 'b3=0'", "shown before"),
    ("latest", "b2=4", "w1", "1 'b2=4'", "tiles are 0-3"),
    ("latest", "b1f b1f b1=0", "w1", "3 'b1=0'", "black tile number 3"),
    ("latest", "b1f b1f", "b2", "facing 'b2'", "black tile number 3"),
    ("latest", "w1F", "b2", "1 'w1F'", "I cannot have folded"),
    ("latest", "w3f", "b2", "1 'w3f'", "the opponent cannot have folded"),
    ("latest", "w2f", "b2", "1 'w2f'", "write =number"),
    ("latest", "w2F", "b2", "1 'w2F'", "write =number"),
    ("latest", "w2=1@4-1", "b2", "1 'w2=1@4-1'", "nobody pulled"),
    ("latest", "w3F@4-1", "b2", "1 'w3F@4-1'", "somebody folded"),
    ("latest", "w6=1", "b1", "1 'w6=1'", "need 1 each"),
    ("latest", "w0F", "b1", "1 'w0F'", "at least 1"),
    ("latest", "w3F b2f w1=1", "b1", "facing 'b1'", "has 2 left"),
    ("latest", "w3F b2f", "w3", "facing 'w3'", "need 1 each"),
    ("latest", "w3F b2f w1=3 b2F", "b1", "4 'b2F'", "at most 3 tokens"),
    ("latest", "w3=1@3-1", "b1", "1 'w3=1@3-1'", "none to spare"),
    ("latest", "w3=1@2-1", "b1", "1 'w3=1@2-1'", "pulls=latest takes 4-1"),
    ("latest", "w1=1@-2", "b1", "1 'w1=1@-2'", "winnings first, then 1"),
    ("latest", "w3=1@-1", "b1", "1 'w3=1@-1'", "I matched"),
    ("latest", "w1=1@4-1", "b1", "1 'w1=1@4-1'", "the opponent matched"),
    ("latest", "x3F", "b1", "1 'x3F'", "write colour"),
    ("latest", "w3", "b1", "1 'w3'", "write colour"),
    ("latest", "w3=1@4", "b1", "1 'w3=1@4'", "not slot-chips"),
    ("latest", "w3f x", "b1", "1 'w3f'", "the opponent cannot have folded"),
    ("latest", "w3F", "b", "facing 'b'", "such as w6"),
    ("latest", "", "w9999999999999", "facing 'w9999999999999'", "at most 5"),
    ("latest", "w3=9999999999999", "b1", "1 'w3=9999999999999'", "tiles are 0-3"),
    ("latest", "w٣F", "b1", "1 'w٣F'", "write colour"),
    ("latest", "", "w\uff13", "facing 'w\uff13'", "such as w6"),
    ("latest", "w3f", "b", "1 'w3f'", "the opponent cannot have folded"),
    ("free", "w2=1 b4=2@1-1", "b1", "2 'b4=2@1-1'", "later slots are 3-4"),
    ("free", "w2=1 b4=2@5-1", "b1", "2 'b4=2@5-1'", "later slots are 3-4"),
    ("free", "w3=1@2-1,2-1", "b1", "1 'w3=1@2-1,2-1'", "two pulls"),
    ("free", "w3=1@2-3", "b1", "1 'w3=1@2-3'", "can give 1 to 2"),
    ("free", "w3=1@2-0", "b1", "1 'w3=1@2-0'", "can give 1 to 2"),
    ("free", "w3=1@2-2", "b1", "1 'w3=1@2-2'", "pulls are 1 to 1"),
    ("free", "w4=1@2-1", "b1", "1 'w4=1@2-1'", "pulls are 2 to 2"),
    ("free", "w1f b4=0@4-1 w1=3@-3", "b1", "3 'w1=3@-3'", "nobody pulled"),
    ("free", "w1f b1=0@-3", "w1", "2 'b1=0@-3'", "only have pulled 2 to 2"),
    ("free", "w1=1@-1 b5=0@4-2", "w1", "2 'b5=0@4-2'", "need 1 each"),
    ("tiles", "w1f b5=0@4-1", "w1", "2 'b5=0@4-1'", "winnings first, then 0"),
    ("tiles", "w1f b1=0@-1", "w1", "2 'b1=0@-1'", "winnings first, then 2"),
]


@pytest.mark.parametrize(("pulls", "history", "facing", "token", "reason"), REFUSED)
def test_first_wrong_token_is_named_when_history_breaks_rules(
    pulls, history, facing, token, reason
):
    with pytest.raises(InputError) as caught:
        parse_situation(Game(4, 8, pulls=pulls), me=ME, history=history, facing=facing)
    message = str(caught.value)
    assert token in message
    assert reason in message
    assert "\n" not in message


def test_match_is_refused_when_it_could_not_be_paid():
    with pytest.raises(InputError, match=r"token 3 'b3=0'.*I had 0 chips.*forced fold, F"):
        parse_situation(Game(4, 9), me="1:1,0:6,2:1,3:1", history="b1=2 w1=1 b3=0", facing="w3")
    with pytest.raises(InputError, match=r"token 3 'w1=3'.*opponent had 0 chips.*forced fold, f"):
        parse_situation(Game(4, 9), me="2:1,1:1,0:3,3:4", history="w1=1 b6=0 w1=3", facing="b1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"me": "1:2,0:1"}', "facing"),
        ('{"me": "1:2,0:1", "facing": 3}', "facing"),
        ('{"me": "1:2,0:1", "facing": "b1", "more": 1}', "more"),
        ("[]", "situation: an object is needed"),
        ("{", "situation: not JSON: .* at line 1, column 2"),
        ('{"me": "1:2,0:1", "facing": "b', "not JSON: Unterminated string at line 1, column 29"),
        ('{"me": "1:2,0:1", "me": "1:2,0:1", "facing": "b1"}', "'me' stands twice"),
        ('{"me": "1:2,0:2", "facing": "b1"}', "4 chips placed"),
    ],
)
def test_json_is_refused_on_one_line_when_malformed(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_situation_json(Game(2, 3), text)
    assert "\n" not in str(caught.value)
