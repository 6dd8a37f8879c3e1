"""The rules of Betting Black and White on plain numbers.

This module is the one place that knows the rules.  A game of ``N`` tiles (0 to N-1, even black,
odd white) and ``C`` chips a player is a :class:`Game`; a game in progress is a :class:`Board`,
a handful of small integer arrays that the compiled functions below read and modify in place.

Slots and players count from 0 here; texts for people count slots from 1.

A slot is played in three steps::

    kind, player = classify(board, slot)  # who acts, if anybody
    pull_latest(board, player, slot)                  # only if that player matches
    settle(board, slot, folder)                       # chips change hands

The ways to pay a gap (the ``pulls`` parameter) differ only in which chips :func:`pull_latest` or
:func:`pull` takes; everything else is common to them.  :func:`first_payment` and
:func:`next_payment` list the ways.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "BLACK",
    "FOLD",
    "FORCED_FOLD",
    "FREE",
    "CHOICE",
    "LATEST",
    "MATCH",
    "SHOW",
    "TILES",
    "WHITE",
    "Board",
    "Game",
    "InputError",
    "Objective",
    "Pulls",
    "chips_after_pulls",
    "classify",
    "colour",
    "first_payment",
    "gap_at",
    "is_decided",
    "later_chips",
    "new_board",
    "next_payment",
    "pull",
    "pull_latest",
    "settle",
    "spare_chips",
    "utility",
]

Pulls = Literal["latest", "tiles", "free"]
Objective = Literal["win", "chips"]

BLACK, WHITE = 0, 1
"""Colours: the parity of a tile's number."""

FOLD, MATCH = 0, 1
"""Actions of the player with fewer chips in a slot."""

LATEST, TILES, FREE = 0, 1, 2
"""The rules for paying a gap as compiled code takes them."""

SHOW, CHOICE, FORCED_FOLD = 0, 1, 2
"""What :func:`classify` says of a slot: tiles are shown at once, a player chooses, or must fold."""


class InputError(ValueError):
    """Input from outside that the rules or the file formats do not allow.

    The message is one line that names the bad part and what is allowed.
    """


@dataclass(frozen=True)
class Game:
    """A game's parameters.

    Attributes
    ----------
    num_tiles : int
        ``N >= 1``, tiles and slots a player.
    num_chips : int
        ``C >= N``, chips a player.
    pulls : {'latest', 'tiles', 'free'}
        Where the gap of a match may be paid from.
    objective : {'win', 'chips'}
        ``win`` pays +1, 0 or -1; ``chips`` pays own winnings minus C.

    Raises
    ------
    InputError
        If a parameter is outside its range.

    Examples
    --------
    >>> Game.parse("4x8").num_chips
    8
    >>> Game(10, 30).name
    '10x30'
    """

    num_tiles: int = 10
    num_chips: int = 30
    pulls: Pulls = "latest"
    objective: Objective = "win"

    def __post_init__(self) -> None:
        if self.num_tiles < 1:
            raise InputError(f"number of tiles {self.num_tiles}: a game needs at least 1 tile")
        if self.num_chips < self.num_tiles:
            raise InputError(
                f"number of chips {self.num_chips}: {self.num_tiles} tiles need at least "
                f"{self.num_tiles} chips, one on each"
            )
        if self.pulls not in get_args(Pulls):
            raise InputError(f"pulls {self.pulls!r}: allowed are {', '.join(get_args(Pulls))}")
        if self.objective not in get_args(Objective):
            raise InputError(
                f"objective {self.objective!r}: allowed are {', '.join(get_args(Objective))}"
            )

    @classmethod
    def parse(cls, text: str, *, pulls: Pulls = "latest", objective: Objective = "win") -> Game:
        """Read a game written ``NxC``, such as ``10x30``."""
        found = re.fullmatch(r"\s*([0-9]{1,12})[xX]([0-9]{1,12})\s*", text)
        if not found:
            raise InputError(
                f"game {text!r}: write it NxC, tiles and chips of each player, such as 10x30"
            )
        return cls(int(found[1]), int(found[2]), pulls=pulls, objective=objective)

    @property
    def name(self) -> str:
        """The game as written on the command line, ``NxC``."""
        return f"{self.num_tiles}x{self.num_chips}"

    @property
    def pulls_code(self) -> int:
        """The rule for paying a gap as a number: LATEST, TILES or FREE."""
        return get_args(Pulls).index(self.pulls)

    @property
    def is_win(self) -> bool:
        """Whether the objective is to hold more chips (else: chips themselves)."""
        return self.objective == "win"


class Board(NamedTuple):
    """A game in progress, seen from above: both players' tiles and chips.

    Attributes
    ----------
    tiles : ndarray of int64, shape (2, N)
        Tile of each player in each slot.
    chips : ndarray of int64, shape (2, N)
        Chips of each player in each slot: now for slots still to be played; for played slots the
        stack that both saw when the slot was reached.
    winnings : ndarray of int64, shape (2,)
        Chips won so far.
    shown : ndarray of int64, shape (N,)
        1 where a slot was played and its tiles shown, else 0.
    pulled : ndarray of int64, shape (2, N)
        Chips that each player took from later tiles to match in each slot (a public number).
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    winnings: NDArray[np.int64]
    shown: NDArray[np.int64]
    pulled: NDArray[np.int64]


@njit(cache=True, nogil=True)
def new_board(num_tiles):
    """Return an empty board for ``num_tiles`` slots."""
    return Board(
        np.zeros((2, num_tiles), np.int64),
        np.zeros((2, num_tiles), np.int64),
        np.zeros(2, np.int64),
        np.zeros(num_tiles, np.int64),
        np.zeros((2, num_tiles), np.int64),
    )


@njit(cache=True, nogil=True)
def colour(tile):
    """Return the colour of a tile: even black (0), odd white (1)."""
    return tile & 1


@njit(cache=True, nogil=True)
def later_chips(chips, slot):
    """Return the chips on the tiles after ``slot``; ``chips`` is one player's row."""
    total = 0
    for later in range(slot + 1, chips.shape[0]):
        total += chips[later]
    return total


@njit(cache=True, nogil=True)
def spare_chips(chips, slot):
    """Return the chips that later tiles can give up: theirs, less one for each tile."""
    return later_chips(chips, slot) - (chips.shape[0] - 1 - slot)


@njit(cache=True, nogil=True)
def gap_at(stack0, stack1):
    """Return the chips by which two stacks differ."""
    return abs(stack0 - stack1)


@njit(cache=True, nogil=True)
def classify(board, slot):
    """Return ``(kind, player)`` for a slot that has just been reached.

    ``kind`` is SHOW (equal stacks; player is -1), CHOICE (that player matches or folds) or
    FORCED_FOLD (that player cannot pay the gap).
    """
    stack0 = board.chips[0, slot]
    stack1 = board.chips[1, slot]
    if stack0 == stack1:
        return SHOW, -1
    player = 0 if stack0 < stack1 else 1
    means = board.winnings[player] + spare_chips(board.chips[player], slot)
    if means < gap_at(stack0, stack1):
        return FORCED_FOLD, player
    return CHOICE, player


@njit(cache=True, nogil=True)
def pull_latest(board, player, slot):
    """Pay the gap by the default rule, in place: winnings first, then the latest tiles.

    The stack in ``slot`` itself is left as it was seen.
    """
    gap = gap_at(board.chips[0, slot], board.chips[1, slot])
    paid = min(gap, board.winnings[player])
    board.winnings[player] -= paid
    gap -= paid
    board.pulled[player, slot] = gap
    later = board.chips.shape[1] - 1
    while gap > 0:
        taken = min(gap, board.chips[player, later] - 1)
        board.chips[player, later] -= taken
        gap -= taken
        later -= 1


@njit(cache=True, nogil=True)
def pull(board, player, slot, taken):
    """Pay the gap as the player chooses, in place.

    ``taken[s]`` chips come off later tile ``s``; winnings pay the rest.  The caller has checked
    that every later tile keeps a chip and that winnings suffice.
    """
    gap = gap_at(board.chips[0, slot], board.chips[1, slot])
    total = 0
    for later in range(slot + 1, board.chips.shape[1]):
        board.chips[player, later] -= taken[later]
        total += taken[later]
    board.pulled[player, slot] = total
    board.winnings[player] -= gap - total


@njit(cache=True, nogil=True)
def first_payment(board, player, slot, taken):
    """Fill ``taken`` (int64, shape (N,)) with what the default rule takes from each later tile.

    It is the first of all ways to pay: those that take fewer chips from later tiles come first,
    and of two that take as many, the one that takes more from the latest tile on which they differ.
    """
    gap = gap_at(board.chips[0, slot], board.chips[1, slot])
    take_from(board, player, slot, taken.shape[0] - 1, max(gap - board.winnings[player], 0), taken)


@njit(cache=True, nogil=True)
def take_from(board, player, slot, latest, total, taken):
    """Let tiles from ``latest`` back to the one after ``slot`` give ``total``, the latest first.

    With ``latest`` N-1 that is the first of the ways to pay that take so many from later tiles.
    """
    for later in range(latest, -1, -1):
        spare = board.chips[player, later] - 1 if later > slot else 0
        taken[later] = min(total, spare)
        total -= taken[later]


@njit(cache=True, nogil=True)
def next_payment(board, player, slot, pulls, taken):
    """Change ``taken`` to the next way to pay that ``pulls`` allows; False if it was the last.

    ``pulls`` is LATEST, TILES or FREE; ``taken`` comes from :func:`first_payment`.
    """
    if pulls == LATEST:
        return False
    n = taken.shape[0]
    moved = 0  # chips that earlier tiles gave, free to be given otherwise
    room = 0  # what those tiles could give in all
    for later in range(slot + 1, n):
        if taken[later] > 0 and room > moved:
            taken[later] -= 1
            take_from(board, player, slot, later - 1, moved + 1, taken)
            return True
        moved += taken[later]
        room += board.chips[player, later] - 1
    gap = gap_at(board.chips[0, slot], board.chips[1, slot])
    if pulls == TILES or moved == min(gap, room):
        return False
    take_from(board, player, slot, n - 1, moved + 1, taken)
    return True


@njit(cache=True, nogil=True)
def settle(board, slot, folder):
    """Hand out the chips of a slot, in place.

    ``folder`` is the player who folded, or -1 if the tiles are shown (any gap paid by then).
    """
    stack0 = board.chips[0, slot]
    stack1 = board.chips[1, slot]
    if folder >= 0:
        board.winnings[1 - folder] += stack0 + stack1
        return
    board.shown[slot] = 1
    stake = max(stack0, stack1)
    tile0 = board.tiles[0, slot]
    tile1 = board.tiles[1, slot]
    if tile0 > tile1:
        board.winnings[0] += 2 * stake
    elif tile1 > tile0:
        board.winnings[1] += 2 * stake
    else:
        board.winnings[0] += stake
        board.winnings[1] += stake


@njit(cache=True, nogil=True)
def is_decided(winnings0, winnings1, num_chips):
    """Whether a player holds more than C as winnings, and so can no longer be made to lose."""
    return winnings0 > num_chips or winnings1 > num_chips


@njit(cache=True, nogil=True)
def utility(winnings, num_chips, is_win):
    """Return the utility of a player who ends with ``winnings``: a sign, or chips above C."""
    if is_win:
        return float(np.sign(winnings - num_chips))
    return float(winnings - num_chips)


@njit(cache=True, nogil=True)
def chips_after_pulls(placed, spare_after, pulled):
    """Return what is left of a stack after ``pulled`` chips in all were taken latest-first.

    ``placed`` is the stack as placed and ``spare_after`` the spare chips placed on the tiles
    behind it.  With ``pulls=latest`` every stack of a game follows from the setup and this one
    number a player, so that nothing needs to be copied or undone.
    """
    reached = min(max(pulled - spare_after, 0), placed - 1)
    return placed - reached
