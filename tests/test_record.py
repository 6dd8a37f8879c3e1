"""The notation of finished games: what is read, what is refused, and the round trip."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_situation import draw_pulls

from solver.record import Record, format_record, parse_record, parse_records
from solver.rules import (
    CHOICE,
    FOLD,
    MATCH,
    Game,
    InputError,
    classify,
    later_chips,
    new_board,
    pull,
    settle,
)
from solver.setups import Setup, draw_setup
from solver.situation import Event, format_situation, parse_situation
from solver.strategy import draw_strategy_setup, match_prob


def random_record(game, rng, strategy=None):
    """Return a random game, the true board at each slot and the end, and the decisions.

    With a strategy both players place and decide by it, paying by the default rule.
    """
    board = new_board(game.num_tiles)
    setups = draw_setup(game, rng), draw_setup(game, rng)
    if strategy is not None:
        for player in (0, 1):
            draw_strategy_setup(strategy, rng, board.tiles[player], board.chips[player])
        rows = zip(board.tiles.tolist(), board.chips.tolist(), strict=True)
        setups = tuple(Setup(tuple(tiles), tuple(chips)) for tiles, chips in rows)
    for player, setup in enumerate(setups):
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
    moves, choices = [], []
    boards = [[part.copy() for part in board]]
    for slot in range(game.num_tiles):
        kind, player = classify(board, slot)
        folder, pulls = player, None
        tile, stack = int(board.tiles[1, slot]), int(board.chips[1, slot])
        if kind == CHOICE:
            prob = 0.5 if strategy is None else match_prob(strategy, board, slot, player)[0]
            action = MATCH if rng.random() < prob else FOLD
            choices.append((slot, player, action))
            if action == MATCH:
                folder = -1
                default = draw_pulls(rng, Game(game.num_tiles, game.num_chips), board, slot, player)
                taken = draw_pulls(rng, game, board, slot, player)
                if not np.array_equal(taken, default):
                    pulls = tuple((s, int(taken[s])) for s in range(game.num_tiles) if taken[s])
                pull(board, player, slot, taken)
        number = tile if folder < 0 else None
        moves.append(Event(tile % 2, stack, number, folder == 0, pulls))
        settle(board, slot, folder)
        boards.append([part.copy() for part in board])
    return Record(game, setups, tuple(moves)), boards, choices


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["1x1", "2x3", "3x6", "4x8", "5x15", "10x30"]),
    st.sampled_from(["latest", "tiles", "free"]),
)
def test_record_survives_when_written_and_read(seed, size, pulls):
    game = Game.parse(size, pulls=pulls)
    record, truth, choices = random_record(game, np.random.default_rng(seed))
    line = format_record(record)
    assert parse_record(game, line) == record
    assert format_record(parse_record(game, line)) == line
    assert parse_records(game, json.dumps(record.to_json())) == [(1, record)]
    assert record.choices() == choices
    for board, true in zip(record.boards(), truth, strict=True):
        for part, wanted in zip(board, true, strict=True):
            assert part.tolist() == wanted.tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["2x3", "3x6", "4x8", "10x30"]),
    st.sampled_from(["latest", "tiles", "free"]),
)
def test_situations_of_both_players_follow_from_a_record(seed, size, pulls):
    game = Game.parse(size, pulls=pulls)
    record, truth, _ = random_record(game, np.random.default_rng(seed))
    for slot in range(game.num_tiles):
        tiles, chips, winnings, shown, pulled = truth[slot]
        for player in (0, 1):
            situation = record.situation(player, slot)
            assert parse_situation(game, **format_situation(situation)) == situation
            board = situation.board()
            order = [player, 1 - player]
            assert board.winnings.tolist() == winnings[order].tolist()
            assert board.pulled.tolist() == pulled[order].tolist()
            assert board.shown.tolist() == shown.tolist()
            assert board.tiles[0].tolist() == tiles[player].tolist()
            assert board.chips[0].tolist() == chips[player].tolist()
            assert later_chips(board.chips[1], slot) == later_chips(chips[1 - player], slot)
            assert (board.tiles[1, slot] - tiles[1 - player, slot]) % 2 == 0


def test_games_come_with_their_lines():
    one, two = "1:2,0:1 0:1,1:2 b1f w2F", "1:2,0:1 1:1,0:2 w1=1 b1=0"
    text = f"# games of today\n\n{one}  # a draw\r\n   \n\t{two}\n"
    entries = parse_records(Game(2, 3), text)
    assert [line for line, _ in entries] == [3, 5]
    assert [format_record(record) for _, record in entries] == [one, two]
    objects = [json.dumps(record.to_json()) for _, record in entries]
    listed = parse_records(Game(2, 3), "\n[" + ",\n".join(objects) + "\n]\n")
    assert [line for line, _ in listed] == [2, 3]
    assert [record for _, record in listed] == [record for _, record in entries]


def test_pulls_belong_to_whoever_matched():
    game = Game(4, 8, pulls="free")
    line = "0:1,3:3,2:2,1:2 1:3,0:1,3:2,2:2 w3=1@2-1,4-1 b1=0@3-1 w1=3@3-1 b2=2"
    with pytest.raises(InputError, match=r"move 3 'w1=3@3-1'.*later slots are 4-4"):
        parse_record(game, line)
    record = parse_record(game, line.replace("w1=3@3-1", "w1f"))
    assert record.moves[0].pulls == ((1, 1), (3, 1))  # player 1 paid
    assert record.moves[1].pulls == ((2, 1),)  # player 2 paid
    assert record.situation(1, 2).events[1].pulls == ((2, 1),)
    assert record.situation(0, 2).events[1].pulls is None
    assert [choice.action for choice in record.choices()] == [MATCH, MATCH, FOLD, MATCH]


ONE, TWO = "0:2,3:3,2:1,1:2", "1:3,2:1,0:3,3:1"  # 4x8

REFUSED = [
    # pulls, line, what the message must name
    ("latest", "w3=1", "'w3=1' is no game", "two setups"),
    ("latest", f"{ONE} w3=1", "player 2: setup 'w3=1'", "tile:chips"),
    ("latest", f"{ONE},1:1 {TWO}", "player 1: setup", "5 slots"),
    ("latest", f"0:2,3:3,2:1,2:2 {TWO}", "player 1: setup", "tile 2 is placed twice"),
    ("latest", f"{ONE} 1:3,2:1,0:3,4:1", "player 2: setup", "tile 4 in slot 4; tiles are 0-3"),
    ("latest", f"{ONE} 1:3,2:1,0:3,3:2", "player 2: setup", "9 chips placed, but 4x8 has 8"),
    ("latest", f"{ONE} 1:3,2:2,0:3,3:0", "player 2: setup", "slot 4 is left bare"),
    ("latest", f"{ONE} 1:3,2:1,0:?,3:1", "player 2: setup", "slot 3 is not placed"),
    ("latest", f"{ONE} {TWO}", "0 moves, and 4x8 has 4", "allowed next: w3=1"),
    ("latest", f"{ONE} {TWO} x", "move 1 'x': write colour", "allowed here: w3=1"),
    ("latest", f"{ONE} {TWO} w3", "move 1 'w3': write colour", "w3F (player 1 folds)"),
    ("latest", f"{ONE} {TWO} b3=1", "move 1 'b3=1'", "tile there is white, not black"),
    ("latest", f"{ONE} {TWO} w2=1", "move 1 'w2=1'", "player 2 has 3 chips there, not 2"),
    ("latest", f"{ONE} {TWO} w3=3", "move 1 'w3=3'", "tile there is 1, not 3"),
    ("latest", f"{ONE} {TWO} w3f", "move 1 'w3f'", "stacks 2 v 3, so player 2 cannot have folded"),
    ("latest", f"{ONE} {TWO} w3F b1F", "move 2 'b1F'", "stacks 3 v 1, so player 1 cannot"),
    ("latest", f"{ONE} {TWO} w3F b1=2 b2=0", "move 3 'b2=0'", "player 2 has 3 chips there, not 2"),
    ("latest", f"{ONE} {TWO} w3F b1f b3F w1f b1f", "move 5 'b1f': the game has ended", "4 moves"),
    ("latest", f"{ONE} {TWO} w3F b1f b3F", "3 moves, and 4x8 has 4", "allowed next: w1=3"),
    ("latest", f"{ONE} {TWO} w3=1@-1", "move 1 'w3=1@-1'", "write pulls as slot-chips"),
    ("latest", f"{ONE} {TWO} w3=1@4", "move 1 'w3=1@4'", "not slot-chips"),
    ("latest", f"{ONE} {TWO} w3F@4-1", "move 1 'w3F@4-1'", "belong to a match"),
    ("latest", f"{ONE} {TWO} w3=1@2-1", "move 1 'w3=1@2-1'", "pulls=latest takes 4-1"),
    ("tiles", f"{ONE} {TWO} w3=1@2-2", "move 1 'w3=1@2-2'", "pulls are 1 to 1"),
    ("free", f"{ONE} {TWO} w3=1@3-1", "move 1 'w3=1@3-1'", "none to spare"),
    ("free", f"{ONE} {TWO} w3F b1=2@3-2,3-1", "move 2 'b1=2@3-2,3-1'", "two pulls from slot 3"),
]


@pytest.mark.parametrize(("pulls", "line", "token", "reason"), REFUSED)
def test_first_wrong_token_and_its_line_are_named(pulls, line, token, reason):
    with pytest.raises(InputError) as caught:
        parse_records(Game(4, 8, pulls=pulls), f"# {token}\n\n{line} # no\n{ONE} {TWO} nonsense")
    message = str(caught.value)
    assert message.startswith(f"line 3: {token}")
    assert reason in message
    assert "\n" not in message


def test_equal_stacks_and_forced_folds_leave_one_move():
    game = Game(3, 6)
    for move, reason in (("b2f", "so nobody can have folded"), ("b2=0@3-1", "so nobody pulled")):
        with pytest.raises(InputError, match=rf"{reason}.*allowed here: b2=0 \(equal stacks\)"):
            parse_record(game, f"1:2,0:2,2:2 0:2,1:2,2:2 {move} w2=1 b2=2")
    start = "1:2,0:3,2:1 2:2,1:1,0:3 b2=2 w1=1"
    wanted = r"move 3 'b3=0'.*player 1 had 0 chips.*gap of 2.*here: b3F \(player 1 must fold\)"
    with pytest.raises(InputError, match=wanted):
        parse_record(game, f"{start} b3=0")
    assert parse_record(game, f"{start} b3F").choices() == [(1, 1, MATCH)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no games"),
        ("# nothing\n\n", "no games"),
        ("[]", "no games"),
        ("{", "line 1: not JSON"),
        ("[\n{,", "line 2: not JSON"),
        ('{"setups": ["0:1", "0:1"], "moves": "b1=0"} {}', "line 1: not JSON: Extra data"),
        ('[{"setups": ["0:1", "0:1"], "moves": "b1=0"},]', "line 1: not JSON"),
        ('{"setups": ["0:1", "0:1"]}', "line 1, game 1: moves"),
        (
            '{"setups": ["0:1"], "moves": "b1=0"}',
            "line 1, game 1: setups: 1 given, and 2 are needed",
        ),
        ('[\n{"moves": "b1=0", "moves": ""}]', "line 2, game 1: 'moves' stands twice"),
        ('{"setups": ["0:1", 1], "moves": "b1=0"}', r"line 1, game 1: setups\.1"),
        (
            '{"setups": ["0:1", "0:1"], "moves": "b1=0", "more": 1}',
            "line 1, game 1: more: not known here",
        ),
        ("[\n[]]", "line 2, game 1: an object is needed"),
        ('\n{"setups": ["0:1", "0:1"], "moves": "b1f"}', "line 2, game 1: move 1 'b1f'"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_file_is_refused_on_one_line_when_it_holds_no_games(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_records(Game(1, 1), text)
    assert "\n" not in str(caught.value)
