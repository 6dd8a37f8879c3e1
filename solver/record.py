"""Records of finished games: both setups and what happened in every slot.

A game is written on one line, in tokens between blanks::

    8:4,3:1,9:6,... 0:2,5:3,... w3=7 b5f w1F ...

First the setups of players 1 and 2 as placed, ``tile:chips`` by slot; then a move for each slot, in
the notation of histories (:mod:`solver.situation`) as player 1 sees it: the colour of player 2's
tile, the chips then on it, and what happened: ``f`` player 2 folded, ``F`` player 1 folded, ``=n``
the tiles were shown and player 2's was n.  Who matched follows from the stacks.  Since both setups
are known, ``@`` gives the pulls of whoever matched, ``slot-chips`` each, where they are not the
default (winnings first, then the latest tiles).

A file holds a game a line; ``#`` starts a comment, and blank lines say nothing.  Or it is JSON: one
object ``{"setups": [SETUP, SETUP], "moves": "w3=7 b5f w1F ..."}`` or a list of such.

Every slot has its move, also once the game is decided.  Reading plays the game by the rules; the
first token that they do not allow is named, with those that may stand there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from solver.forms import DECODER, fill_form, syntax_reason
from solver.payments import pay_as_written
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    SHOW,
    Board,
    Game,
    InputError,
    classify,
    colour,
    gap_at,
    new_board,
    settle,
    spare_chips,
)
from solver.setups import Setup
from solver.situation import COLOURS, LETTERS, Event, Facing, Situation, parse_event

__all__ = ["Choice", "Entry", "Record", "format_record", "parse_record", "parse_records"]

_BLANKS = re.compile(r"\s*")


class Choice(NamedTuple):
    """A decision that was taken: slot and player from 0, and FOLD or MATCH."""

    slot: int
    player: int
    action: int


@dataclass(frozen=True)
class Record:
    """A finished game.

    Attributes
    ----------
    game : Game
        Its rules.
    setups : tuple of Setup
        What players 0 and 1 placed (texts call them 1 and 2).
    moves : tuple of Event
        One a slot, as player 0 sees it, but ``pulls`` are those of whoever matched.

    Examples
    --------
    >>> record = parse_record(Game(2, 3), "1:2,0:1 0:1,1:2 b1f w2F")
    >>> record.choices()
    [Choice(slot=0, player=1, action=0), Choice(slot=1, player=0, action=0)]
    >>> record.boards()[-1].winnings.tolist()
    [3, 3]
    """

    game: Game
    setups: tuple[Setup, Setup]
    moves: tuple[Event, ...]

    def boards(self) -> list[Board]:
        """Return a new board for each slot reached, and one for the end."""
        board = _first_board(self.game, self.setups)
        boards = [_copy(board)]
        for slot, move in enumerate(self.moves):
            _play_move(board, self.game, slot, move)
            boards.append(_copy(board))
        return boards

    def choices(self) -> list[Choice]:
        """Return every decision that a player had, in order."""
        found = []
        for slot, (board, move) in enumerate(zip(self.boards(), self.moves, strict=False)):
            kind, player = classify(board, slot)
            if kind == CHOICE:
                found.append(Choice(slot, player, FOLD if move.number is None else MATCH))
        return found

    def situation(self, player: int, slot: int) -> Situation:
        """Return what ``player`` saw when ``slot`` was reached.

        Examples
        --------
        >>> from solver.situation import format_situation
        >>> record = parse_record(Game(2, 3), "1:2,0:1 0:1,1:2 b1f w2F")
        >>> format_situation(record.situation(1, 1))
        {'me': '0:1,1:2', 'history': 'w2F', 'facing': 'b1'}
        """
        boards = self.boards()
        events = tuple(_seen_by(player, boards, s, self.moves[s]) for s in range(slot))
        facing = Facing(*_face(boards[slot], 1 - player, slot))
        return Situation(self.game, self.setups[player], events, facing)

    def to_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "setups": [str(setup) for setup in self.setups],
            "moves": " ".join(str(move) for move in self.moves),
        }


class Entry(NamedTuple):
    """A game of a file, and the line on which it starts, from 1."""

    line: int
    record: Record


class _RecordText(BaseModel):
    """The JSON form of a record."""

    model_config = ConfigDict(extra="forbid", strict=True)

    setups: list[str] = Field(min_length=2, max_length=2)
    moves: str


def parse_record(game: Game, text: str) -> Record:
    """Read one game in the form of a line.

    Raises
    ------
    InputError
        If a token is malformed or against the rules; the message names the first such token.

    Examples
    --------
    >>> parse_record(Game(2, 3), "1:2,0:1 0:1,1:2 b2f w2F")
    Traceback (most recent call last):
    ...
    solver.rules.InputError: move 1 'b2f': player 2 has 1 chips there, not 2; allowed here: b1=0 \
(player 2 matches), b1f (player 2 folds)
    """
    tokens = text.split()
    if len(tokens) < 2:
        raise InputError(
            f"{text.strip()!r} is no game; write two setups, then a move for each of the "
            f"{game.num_tiles} slots of {game.name}"
        )
    return _read_game(game, tokens[:2], tokens[2:])


def format_record(record: Record) -> str:
    """Return a game as a line; the inverse of :func:`parse_record`.

    Examples
    --------
    >>> line = "1:2,0:1 0:1,1:2 b1f w2F"
    >>> format_record(parse_record(Game(2, 3), line)) == line
    True
    """
    return " ".join(str(part) for part in (*record.setups, *record.moves))


def parse_records(game: Game, text: str) -> list[Entry]:
    """Read a file of games: a game a line, or JSON.

    Raises
    ------
    InputError
        If there is no game, or one is wrong; the message names its line and first wrong token.

    Examples
    --------
    >>> [line for line, _ in parse_records(Game(1, 1), "# two\\n0:1 0:1 b1=0\\n\\n0:1 0:1 b1=0")]
    [2, 4]
    """
    if text.lstrip()[:1] in ("{", "["):
        return _parse_json(game, text)
    entries = []
    for line, row in enumerate(text.split("\n"), 1):
        tokens = row.partition("#")[0]
        if not tokens.strip():
            continue
        try:
            entries.append(Entry(line, parse_record(game, tokens)))
        except InputError as error:
            raise InputError(f"line {line}: {error}") from None
    if not entries:
        raise InputError("no games; write one a line: two setups, then a move a slot")
    return entries


def _parse_json(game: Game, text: str) -> list[Entry]:
    """Read an object or a list of them, keeping track of lines."""
    entries = []
    for number, (start, data) in enumerate(_split_json(text), 1):
        line = text.count("\n", 0, start) + 1
        try:
            parts = fill_form(_RecordText, data)
        except InputError as error:
            raise InputError(
                f"line {line}, game {number}: {error}; a game has setups, a list of two strings, "
                "and moves, a string"
            ) from None
        try:
            record = _read_game(game, parts.setups, parts.moves.split())
        except InputError as error:
            raise InputError(f"line {line}, game {number}: {error}") from None
        entries.append(Entry(line, record))
    if not entries:
        raise InputError("no games; the list is empty")
    return entries


def _split_json(text: str) -> list[tuple[int, object]]:
    """Return each value of a JSON list, or the one value, with the place where it starts."""
    found: list[tuple[int, object]] = []

    def skip(place: int) -> int:
        return _BLANKS.match(text, place).end()  # type: ignore[union-attr]

    place = skip(0)
    try:
        is_list = text[place] == "["
        place = skip(place + 1) if is_list else place
        while not (is_list and not found and text[place : place + 1] == "]"):
            value, end = DECODER.raw_decode(text, place)
            found.append((place, value))
            place = skip(end)
            if not is_list or text[place : place + 1] != ",":
                break
            place = skip(place + 1)
        if is_list:
            if text[place : place + 1] != "]":
                raise json.JSONDecodeError("Expecting , or ]", text, place)
            place = skip(place + 1)
        if place < len(text):
            raise json.JSONDecodeError("Extra data", text, place)
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}: not JSON: {syntax_reason(error)} at column {error.colno}; "
            "write one game as an object, or a list of them"
        ) from None
    except InputError as error:
        line = text.count("\n", 0, place) + 1
        raise InputError(f"line {line}, game {len(found) + 1}: {error}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or a deep nest
        raise InputError("line 1: not JSON of games, which holds strings only") from None
    return found


def _read_game(game: Game, setups: list[str], moves: list[str]) -> Record:
    """Read the parts of a game and play it."""
    placed = []
    for player, text in enumerate(setups, 1):
        try:
            placed.append(Setup.parse(text, game))
        except InputError as error:
            raise InputError(f"player {player}: {error}") from None
    both = (placed[0], placed[1])
    board = _first_board(game, both)
    events = []
    for slot, token in enumerate(moves):
        name = f"move {slot + 1} {token!r}"
        if slot == game.num_tiles:
            raise InputError(f"{name}: the game has ended; {game.name} has {slot} moves")
        allowed = _allowed(board, slot)
        try:
            events.append(_play_move(board, game, slot, parse_event(token)))
        except InputError as error:
            raise InputError(f"{name}: {error}; allowed here: {allowed}") from None
    if len(events) < game.num_tiles:
        raise InputError(
            f"{len(events)} moves, and {game.name} has {game.num_tiles}; "
            f"allowed next: {_allowed(board, len(events))}"
        )
    return Record(game, both, tuple(events))


def _first_board(game: Game, setups: tuple[Setup, Setup]) -> Board:
    """Return the board before slot 1."""
    board = new_board(game.num_tiles)
    for player, setup in enumerate(setups):
        board.tiles[player], board.chips[player] = setup.tiles, setup.chips
    return board


def _copy(board: Board) -> Board:
    """Return a board with arrays of its own."""
    return Board(*(part.copy() for part in board))


def _face(board: Board, player: int, slot: int) -> tuple[int, int]:
    """Return what the other player sees of a tile: colour and stack."""
    return int(colour(board.tiles[player, slot])), int(board.chips[player, slot])


def _allowed(board: Board, slot: int) -> str:
    """Return the tokens that may stand for a slot, without pulls."""
    faced, stack = _face(board, 1, slot)
    token = f"{LETTERS[faced]}{stack}"
    shown = f"{token}={board.tiles[1, slot]}"
    kind, player = classify(board, slot)
    if kind == SHOW:
        return f"{shown} (equal stacks)"
    folded, who = f"{token}{'Ff'[player]}", f"player {player + 1}"
    if kind == FORCED_FOLD:
        return f"{folded} ({who} must fold)"
    return f"{shown} ({who} matches), {folded} ({who} folds)"


def _play_move(board: Board, game: Game, slot: int, move: Event) -> Event:
    """Check a move against setups and rules and play it, in place; leave default pulls out."""
    faced, stack = _face(board, 1, slot)
    if move.colour != faced:
        raise InputError(f"player 2's tile there is {COLOURS[faced]}, not {COLOURS[move.colour]}")
    if move.stack != stack:
        raise InputError(f"player 2 has {stack} chips there, not {move.stack}")
    kind, player = classify(board, slot)
    stacks = f"stacks {board.chips[0, slot]} v {stack}"
    if move.number is None:
        folder = 0 if move.has_me_folded else 1
        if kind == SHOW:
            raise InputError(f"{stacks} are equal, so nobody can have folded")
        if player != folder:
            raise InputError(f"{stacks}, so player {folder + 1} cannot have folded")
        settle(board, slot, folder)
        return move
    if kind == FORCED_FOLD:
        means = board.winnings[player] + spare_chips(board.chips[player], slot)
        gap = gap_at(board.chips[0, slot], board.chips[1, slot])
        raise InputError(
            f"{stacks}, and player {player + 1} had {means} chips to pay the gap of {gap} with"
        )
    if move.number != board.tiles[1, slot]:
        raise InputError(f"player 2's tile there is {board.tiles[1, slot]}, not {move.number}")
    if move.opponent_pulled is not None:
        raise InputError("both setups are known, so write pulls as slot-chips")
    pulls = None
    if kind == CHOICE:
        pulls = pay_as_written(board, game, player, slot, move.pulls)
    elif move.pulls is not None:
        raise InputError(f"{stacks} are equal, so nobody pulled chips")
    settle(board, slot, -1)
    return Event(move.colour, move.stack, move.number, pulls=pulls)


def _seen_by(player: int, boards: list[Board], slot: int, move: Event) -> Event:
    """Return a move as ``player`` saw it; ``boards`` are those of the record."""
    before, after = boards[slot], boards[slot + 1]
    other = 1 - player
    faced, stack = _face(before, other, slot)
    if move.number is None:
        return Event(faced, stack, has_me_folded=move.has_me_folded == (player == 0))
    _, payer = classify(before, slot)
    theirs = None
    if payer == other:
        gap = gap_at(before.chips[0, slot], before.chips[1, slot])
        total = int(after.pulled[other, slot])
        theirs = None if total == max(0, gap - before.winnings[other]) else total
    number = int(before.tiles[other, slot])
    pulls = move.pulls if payer == player else None
    return Event(faced, stack, number, pulls=pulls, opponent_pulled=theirs)
