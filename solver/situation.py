"""A situation in a game, as one player sees it: its notation, and its place on a board.

A situation is written in three parts (slots count from 1 in text):

``me``
    The own setup as placed, ``tile:chips`` by slot: ``8:4,3:1,9:6``.
``history``
    One token for each past slot, ``w3=7 b5f w1F b4=0@9-2,10-1``: the opponent's colour (``b`` or
    ``w``), the chips then on the opponent's tile, and what happened: ``f`` the opponent folded,
    ``F`` I folded, ``=n`` the tiles were shown and the opponent's was n.  After ``@``: my pulls,
    ``slot-chips`` each, where they are not the default (winnings first, then the latest tiles);
    ``@-k``: the opponent matched and took k chips off later tiles, where that is not the default.
``facing``
    The opponent's tile in the slot being decided, ``w6``.

Reading replays the history by the rules.  What no opponent can have done is refused, and the
message names the first wrong token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from solver.forms import read_form
from solver.payments import pay_as_written
from solver.rules import (
    FORCED_FOLD,
    SHOW,
    Board,
    Game,
    InputError,
    classify,
    gap_at,
    new_board,
    pull,
    settle,
    spare_chips,
)
from solver.setups import Setup

__all__ = [
    "COLOURS",
    "Event",
    "Facing",
    "LETTERS",
    "Situation",
    "format_situation",
    "parse_event",
    "parse_facing",
    "parse_situation",
    "parse_situation_json",
]

_TOKEN = re.compile(r"([bw])([0-9]{1,99})(f|F|=([0-9]{1,99}))(@.*)?")
_FACING = re.compile(r"([bw])([0-9]{1,99})")
LETTERS = "bw"
"""Colours as written in tokens."""
COLOURS = ("black", "white")
"""Colours as people call them."""


@dataclass(frozen=True)
class Event:
    """What happened in a past slot.

    Attributes
    ----------
    colour : int
        Colour of the opponent's tile.
    stack : int
        Chips on the opponent's tile when the slot was reached.
    number : int or None
        The opponent's tile if the tiles were shown.
    has_me_folded : bool
        If they were not shown: whether I folded (else the opponent did).
    pulls : tuple of (int, int) or None
        My pulls as (slot from 0, chips), by slot, where they are not the default.
    opponent_pulled : int or None
        What the opponent took off later tiles, where it is not the default.
    """

    colour: int
    stack: int
    number: int | None = None
    has_me_folded: bool = False
    pulls: tuple[tuple[int, int], ...] | None = None
    opponent_pulled: int | None = None

    def __str__(self) -> str:
        if self.number is not None:
            outcome = f"={self.number}"
        else:
            outcome = "F" if self.has_me_folded else "f"
        suffix = ""
        if self.pulls is not None:
            suffix = "@" + ",".join(f"{slot + 1}-{chips}" for slot, chips in self.pulls)
        elif self.opponent_pulled is not None:
            suffix = f"@-{self.opponent_pulled}"
        return f"{LETTERS[self.colour]}{self.stack}{outcome}{suffix}"


class Facing(NamedTuple):
    """The opponent's tile in the slot being decided: colour and chips."""

    colour: int
    stack: int

    def __str__(self) -> str:
        return f"{LETTERS[self.colour]}{self.stack}"


@dataclass(frozen=True)
class Situation:
    """A point of a game as one player, here called I, sees it.

    Examples
    --------
    >>> situation = parse_situation(Game(3, 6), me="0:1,2:4,1:1", history="b2F", facing="w3")
    >>> situation.slot, situation.board().winnings.tolist()
    (1, [0, 3])
    """

    game: Game
    me: Setup
    events: tuple[Event, ...]
    facing: Facing

    @property
    def slot(self) -> int:
        """The slot being decided, from 0."""
        return len(self.events)

    def board(self) -> Board:
        """Return a new board at this point, with me as player 0.

        What is hidden of the opponent is filled in so that everything public is right: numbers
        never shown get the lowest unused tiles of their colours, then later slots the other tiles
        in increasing order; each later tile has 1 chip and the last one the rest of their total.
        """
        return self.boards()[-1]

    def boards(self) -> list[Board]:
        """Return a new board for each slot reached, the current one last; see :meth:`board`."""
        tokens = [str(event) for event in self.events]
        return _replay(self.game, self.me, self.events, self.facing, tokens)[0]


class _SituationText(BaseModel):
    """The JSON form of a situation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    me: str
    history: str = ""
    facing: str


def parse_situation(game: Game, *, me: str, history: str = "", facing: str) -> Situation:
    """Read a situation.

    Raises
    ------
    InputError
        If a part is malformed, or the rules forbid it; the message names the first wrong token.

    Examples
    --------
    >>> parse_situation(Game(3, 6), me="0:1,2:4,1:1", history="b2f", facing="w3")
    Traceback (most recent call last):
    ...
    solver.rules.InputError: history token 1 'b2f': stacks 1 v 2, so the opponent cannot have folded
    """
    setup = Setup.parse(me, game)
    tokens = history.split()
    events: list[Event] = []
    for place, token in enumerate(tokens, 1):
        try:
            events.append(parse_event(token))
        except InputError as error:
            _replay(game, setup, tuple(events), None, tokens)  # an earlier one may be wrong too
            raise InputError(f"history token {place} {token!r}: {error}") from None
    try:
        faced = parse_facing(facing)
    except InputError:
        _replay(game, setup, tuple(events), None, tokens)
        raise
    _, normal_events = _replay(game, setup, tuple(events), faced, tokens)
    return Situation(game, setup, normal_events, faced)


def parse_situation_json(game: Game, text: str, *, name: str = "situation") -> Situation:
    """Read a situation from JSON text with the strings ``me``, ``history`` and ``facing``.

    ``name`` is what messages call the text.

    Examples
    --------
    >>> parse_situation_json(Game(2, 3), '{"me": "1:2,0:1", "history": "", "facing": "b1"}').slot
    0
    """
    try:
        parts = read_form(_SituationText, text)
    except InputError as error:
        raise InputError(
            f"{name}: {error}; a situation has the strings me, history, facing"
        ) from None
    return parse_situation(game, me=parts.me, history=parts.history, facing=parts.facing)


def format_situation(situation: Situation) -> dict[str, str]:
    """Return the strings ``me``, ``history`` and ``facing``; the inverse of reading them.

    Examples
    --------
    >>> parts = {"me": "0:1,2:4,1:1", "history": "b2F", "facing": "w3"}
    >>> format_situation(parse_situation(Game(3, 6), **parts)) == parts
    True
    """
    return {
        "me": str(situation.me),
        "history": " ".join(str(event) for event in situation.events),
        "facing": str(situation.facing),
    }


def parse_facing(text: str) -> Facing:
    """Read the opponent's tile in the slot being decided.

    Examples
    --------
    >>> parse_facing("w6")
    Facing(colour=1, stack=6)
    """
    found = _FACING.fullmatch(text.strip())
    if not found:
        raise InputError(f"facing {text!r}: write colour and chips, such as w6")
    return Facing(LETTERS.index(found[1]), int(found[2]))


def parse_event(token: str) -> Event:
    """Read one token of a history; messages leave out the token's name."""
    found = _TOKEN.fullmatch(token)
    if not found:
        raise InputError(
            "write colour, chips and outcome (f, F or =number), such as w3=7, b5f or b4=0@9-2,10-1"
        )
    colour, stack = LETTERS.index(found[1]), int(found[2])
    if found[4] is None:
        if found[5] is not None:
            raise InputError("pulls after @ belong to a match, and here somebody folded")
        return Event(colour, stack, has_me_folded=found[3] == "F")
    number, suffix = int(found[4]), found[5]
    if suffix is None:
        return Event(colour, stack, number)
    if theirs := re.fullmatch(r"@-([0-9]{1,99})", suffix):
        return Event(colour, stack, number, opponent_pulled=int(theirs[1]))
    pulls = []
    for part in suffix[1:].split(","):
        one = re.fullmatch(r"([0-9]{1,99})-([0-9]{1,99})", part)
        if not one:
            raise InputError(f"{part!r} after @ is not slot-chips, such as 10-1, or -chips")
        pulls.append((int(one[1]) - 1, int(one[2])))
    return Event(colour, stack, number, pulls=tuple(pulls))


def _replay(
    game: Game, me: Setup, events: tuple[Event, ...], facing: Facing | None, tokens: list[str]
) -> tuple[list[Board], tuple[Event, ...]]:
    """Play a history by the rules.

    Return the board at each slot reached, and the events with default pulls left out.

    ``tokens`` are the events as written, for messages.
    """
    board = new_board(game.num_tiles)
    board.tiles[0], board.chips[0] = me.tiles, me.chips
    boards = []
    normal_events = []
    for slot, event in enumerate(events):
        try:
            if slot == game.num_tiles - 1:
                raise InputError(
                    f"{game.name} has {game.num_tiles} slots and the last one is being decided, "
                    f"so there are at most {game.num_tiles - 1} tokens"
                )
            _place_tile(board, game, events, slot, event)
            boards.append(_filled_copy(board, slot))
            normal_events.append(_play_event(board, game, slot, event))
        except InputError as error:
            raise InputError(f"history token {slot + 1} {tokens[slot]!r}: {error}") from None
    if facing is not None:
        try:
            _place_tile(board, game, events, len(events), facing)
        except InputError as error:
            raise InputError(f"facing '{facing}': {error}") from None
        boards.append(_filled_copy(board, len(events)))
    return boards, tuple(normal_events)


def _place_tile(
    board: Board, game: Game, events: tuple[Event, ...], slot: int, tile: Event | Facing
) -> None:
    """Check that the opponent can have this tile in ``slot`` and put it on the board, in place.

    A number not shown is stood for by the lowest of its colour.
    """
    n = game.num_tiles
    name = COLOURS[tile.colour]
    there_are = (n + 1 - tile.colour) // 2
    so_far = 1 + sum(event.colour == tile.colour for event in events[:slot])
    if so_far > there_are:
        raise InputError(f"{name} tile number {so_far}, but a player has {there_are}")
    board.tiles[1, slot] = tile.colour
    number = tile.number if isinstance(tile, Event) else None
    if number is not None:
        if number >= n:
            raise InputError(f"tile {number}; tiles are 0-{n - 1}")
        if number % 2 != tile.colour:
            raise InputError(f"tile {number} is {COLOURS[number % 2]}, not {name}")
        if number in (event.number for event in events[:slot]):
            raise InputError(f"tile {number} was shown before")
        board.tiles[1, slot] = number
    left = game.num_chips - int(board.chips[1, :slot].sum() + board.pulled[1].sum())
    num_later = n - 1 - slot
    if tile.stack < 1:
        raise InputError("a stack has at least 1 chip")
    if tile.stack > left - num_later:
        raise InputError(
            f"stack {tile.stack}, but the opponent has {left} chips left and {num_later} later "
            f"tiles need 1 each, so at most {left - num_later}"
        )
    if num_later == 0 and tile.stack != left:
        raise InputError(f"stack {tile.stack}, but in the last slot the opponent has {left} left")
    board.chips[1, slot] = tile.stack
    if num_later:
        board.chips[1, slot + 1 :] = 1
        board.chips[1, -1] = left - tile.stack - (num_later - 1)


def _play_event(board: Board, game: Game, slot: int, event: Event) -> Event:
    """Check an event against the rules and play it, in place; return it with defaults left out."""
    kind, player = classify(board, slot)
    stacks = f"stacks {board.chips[0, slot]} v {event.stack}"
    if event.number is None:
        folder = 0 if event.has_me_folded else 1
        who = ("I", "the opponent")[folder]
        if kind == SHOW:
            raise InputError(f"{stacks} are equal, so the tiles were shown: write =number")
        if player != folder:
            raise InputError(f"{stacks}, so {who} cannot have folded")
        settle(board, slot, folder)
        return event
    normal = Event(event.colour, event.stack, event.number)
    if kind == SHOW:
        if event.pulls is not None or event.opponent_pulled is not None:
            raise InputError(f"{stacks} are equal, so nobody pulled chips")
    elif kind == FORCED_FOLD:
        who, letter = (("I", "F"), ("the opponent", "f"))[player]
        means = board.winnings[player] + spare_chips(board.chips[player], slot)
        raise InputError(
            f"{stacks}, and {who} had {means} chips to pay the gap with: a forced fold, {letter}"
        )
    elif player == 0:
        if event.opponent_pulled is not None:
            raise InputError(f"{stacks}, so I matched: write my pulls as slot-chips")
        pulls = pay_as_written(board, game, player, slot, event.pulls)
        normal = Event(event.colour, event.stack, event.number, pulls=pulls)
    else:
        if event.pulls is not None:
            raise InputError(f"{stacks}, so the opponent matched: write the sum pulled as @-chips")
        normal = _pay_theirs(board, game, slot, event)
    settle(board, slot, -1)
    return normal


def _pay_theirs(board: Board, game: Game, slot: int, event: Event) -> Event:
    """Pay the opponent's gap, in place; return the event with a default sum left out."""
    gap = int(gap_at(board.chips[0, slot], board.chips[1, slot]))
    least = max(0, gap - int(board.winnings[1]))
    total = least if event.opponent_pulled is None else event.opponent_pulled
    if game.pulls != "free" and total != least:
        raise InputError(
            f"the opponent pulled {total}; pulls={game.pulls} pays winnings first, then {least}; "
            "--pulls free accepts other sums"
        )
    most = min(gap, int(spare_chips(board.chips[1], slot)))
    if not least <= total <= most:
        raise InputError(f"the opponent pulled {total}, but can only have pulled {least} to {most}")
    taken = np.zeros(game.num_tiles, np.int64)
    taken[-1] = total
    pull(board, 1, slot, taken)
    return Event(
        event.colour, event.stack, event.number, opponent_pulled=None if total == least else total
    )


def _filled_copy(board: Board, slot: int) -> Board:
    """Return a copy in which the opponent's hidden tiles have numbers of the right colours."""
    board = Board(*(part.copy() for part in board))
    row = board.tiles[1]
    shown = {int(row[s]) for s in range(slot) if board.shown[s]}
    unused = [tile for tile in range(len(row)) if tile not in shown]
    for s in range(slot + 1):
        if not board.shown[s]:
            row[s] = next(tile for tile in unused if tile % 2 == row[s] % 2)
            unused.remove(int(row[s]))
    row[slot + 1 :] = unused
    return board
