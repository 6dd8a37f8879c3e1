"""Setups: how many there are, listing, numbering, drawing and completing them, and their notation.

A setup is an order of the N tiles and a composition of the C chips into N positive parts, so there
are ``N! * binom(C-1, N-1)`` of them.  They are numbered by ``order * compositions + composition``,
both in lexicographic order.  In text a setup is ``tile:chips`` by slot, ``8:4,3:1,9:6``; in a
half-placed board ``?`` stands for what is not placed yet: ``8:4,?:1,?``.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import Game, InputError

__all__ = [
    "NOTHING_PLACED",
    "OPEN",
    "PartialSetup",
    "Placed",
    "Setup",
    "complete_setup",
    "count_bits",
    "count_completions",
    "count_setups",
    "decode_setup",
    "draw_completion",
    "draw_composition",
    "draw_order",
    "draw_setup",
    "draw_uniform",
    "encode_setup",
    "list_completions",
    "list_compositions",
    "list_setups",
]

OPEN = -1
"""A tile or a stack that is not placed, in arrays."""

_PART = re.compile(r"([0-9]{1,99}|\?)(?::([0-9]{1,99}|\?))?")


@dataclass(frozen=True)
class Setup:
    """One player's tiles and chips by slot.

    Examples
    --------
    >>> setup = Setup.parse("1:2,0:1", Game(2, 3))
    >>> setup.tiles, setup.chips, str(setup)
    ((1, 0), (2, 1), '1:2,0:1')
    """

    tiles: tuple[int, ...]
    chips: tuple[int, ...]

    def __str__(self) -> str:
        return ",".join(f"{t}:{c}" for t, c in zip(self.tiles, self.chips, strict=True))

    @classmethod
    def of_rows(cls, tiles: NDArray[np.int64], chips: NDArray[np.int64]) -> Setup:
        """Return a row of tiles and one of chips, shape (N,) each, as a setup."""
        return cls(tuple(tiles.tolist()), tuple(chips.tolist()))

    @classmethod
    def parse(cls, text: str, game: Game) -> Setup:
        """Read a whole setup; raise :class:`InputError` naming the first thing wrong."""
        written = _read_slots(text, game, "")
        if len(written) < game.num_tiles:
            raise InputError(
                f"setup {text!r}: slot {len(written) + 1} is not placed; write tile:chips for each "
                f"of the {game.num_tiles} slots of {game.name}"
            )
        partial = PartialSetup.parse(text, game)
        for slot, (tile, chips) in enumerate(zip(partial.tiles, partial.chips, strict=True), 1):
            if tile is None or chips is None:
                raise InputError(f"setup {text!r}: slot {slot} is not placed; write tile:chips")
        return cls(
            tuple(t for t in partial.tiles if t is not None),
            tuple(c for c in partial.chips if c is not None),
        )


@dataclass(frozen=True)
class PartialSetup:
    """A board being placed: ``None`` where a tile or a stack is still open.

    Examples
    --------
    >>> PartialSetup.parse("1:?,?", Game(2, 3))
    PartialSetup(tiles=(1, None), chips=(None, None))
    """

    tiles: tuple[int | None, ...]
    chips: tuple[int | None, ...]

    @classmethod
    def parse(cls, text: str, game: Game) -> PartialSetup:
        """Read a board with ``?`` for open places; slots left out at the end are open."""
        n, c = game.num_tiles, game.num_chips
        written = _read_slots(text, game, "; ? stands for what is not placed yet")
        rest = [(None, None)] * (n - len(written))
        tiles = tuple(tile for tile, _ in [*written, *rest])
        chips = tuple(stack for _, stack in [*written, *rest])
        placed = sum(stack or 0 for stack in chips)
        num_open = chips.count(None)
        if num_open == 0 and placed != c:
            raise InputError(f"setup {text!r}: {placed} chips placed, but {game.name} has {c}")
        if placed + num_open > c:
            slots = ", ".join(str(s) for s, stack in enumerate(chips, 1) if stack is None)
            raise InputError(
                f"setup {text!r}: {placed} chips placed leave {c - placed} "
                f"for {num_open} open slots ({slots}), which need 1 each"
            )
        return cls(tiles, chips)

    @property
    def placed(self) -> Placed:
        """The board as compiled code reads it.

        Examples
        --------
        >>> PartialSetup.parse("1:?,?", Game(2, 3)).placed.tiles.tolist()
        [1, -1]
        """
        tiles, chips = (
            np.array([OPEN if part is None else part for part in parts], np.int64)
            for parts in (self.tiles, self.chips)
        )
        return Placed(tiles, chips)


class Placed(NamedTuple):
    """A half-placed board in arrays.

    Attributes
    ----------
    tiles, chips : ndarray of int64, shape (N,)
        What stands in each slot, ``OPEN`` where that is not said; in ``NOTHING_PLACED``, which is
        an empty board of any game, of shape (0,).
    """

    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]

    def __bool__(self) -> bool:
        return bool((self.tiles != OPEN).any() or (self.chips != OPEN).any())

    def fits(self, tiles: NDArray[np.int64], chips: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some setups complete the board; bool, shape (setups,).

        ``tiles`` and ``chips``, int64 of shape (setups, N), are what these place.
        """
        fits = ((self.tiles == OPEN) | (tiles == self.tiles)).all(axis=1)
        return fits & ((self.chips == OPEN) | (chips == self.chips)).all(axis=1)

    def count(self, game: Game) -> int:
        """Return how many setups complete the board."""
        if not self:
            return count_setups(game)
        is_open = self.chips == OPEN
        num_open, left = int(is_open.sum()), game.num_chips - int(self.chips[~is_open].sum())
        ways = math.comb(left - 1, num_open - 1) if num_open else 1
        return math.factorial(int((self.tiles == OPEN).sum())) * ways


NOTHING_PLACED = Placed(np.zeros(0, np.int64), np.zeros(0, np.int64))


def _read_slots(text: str, game: Game, hint: str) -> list[tuple[int | None, int | None]]:
    """Return tile and chips of each slot that is written, None for a ``?``.

    ``hint`` ends the message for a slot that cannot be read.
    """
    n = game.num_tiles
    tokens = [token.strip() for token in text.split(",")] if text.strip() else []
    if len(tokens) > n:
        raise InputError(f"setup {text!r}: {len(tokens)} slots, but {game.name} has {n}")
    found: list[tuple[int | None, int | None]] = []
    for slot, token in enumerate(tokens, 1):
        part = _PART.fullmatch(token)
        if not part:
            raise InputError(
                f"setup {text!r}: {token!r} in slot {slot} is not tile:chips, such as 8:4{hint}"
            )
        tile = None if part[1] == "?" else int(part[1])
        stack = None if part[2] in (None, "?") else int(part[2])
        if tile is not None and tile >= n:
            raise InputError(f"setup {text!r}: tile {tile} in slot {slot}; tiles are 0-{n - 1}")
        if tile is not None and tile in (before for before, _ in found):
            raise InputError(f"setup {text!r}: tile {tile} is placed twice")
        if stack == 0:
            raise InputError(f"setup {text!r}: slot {slot} is left bare; it needs 1 chip")
        found.append((tile, stack))
    return found


def count_setups(game: Game) -> int:
    """Return the number of setups a player has.

    Examples
    --------
    >>> count_setups(Game(10, 30))
    36342450144000
    """
    return math.factorial(game.num_tiles) * math.comb(game.num_chips - 1, game.num_tiles - 1)


def list_setups(game: Game) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all setups in numbered order as ``(tiles, chips)``, int64 of shape (setups, N)."""
    n, c = game.num_tiles, game.num_chips
    orders = np.array(list(itertools.permutations(range(n))), np.int64)
    compositions = list_compositions(c, n)
    return np.repeat(orders, len(compositions), axis=0), np.tile(compositions, (len(orders), 1))


def list_completions(
    game: Game, placed: Placed = NOTHING_PLACED
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the setups that complete a board, as :func:`list_setups` does, in the same order.

    Examples
    --------
    >>> placed = PartialSetup.parse("?:1,0", Game(2, 3)).placed
    >>> [part.tolist() for part in list_completions(Game(2, 3), placed)]
    [[[1, 0]], [[1, 2]]]
    """
    n, c = game.num_tiles, game.num_chips
    if not placed:
        return list_setups(game)
    left = [tile for tile in range(n) if tile not in placed.tiles]
    orders = np.array(list(itertools.permutations(left)), np.int64)
    orders = orders.reshape(math.factorial(len(left)), len(left))
    open_tiles, open_chips = placed.tiles == OPEN, placed.chips == OPEN
    splits = np.zeros((1, 0), np.int64)
    if open_chips.any():
        chips_left = c - int(placed.chips[~open_chips].sum())
        splits = list_compositions(chips_left, int(open_chips.sum()))
    tiles, chips = (
        np.repeat(parts[np.newaxis], len(orders) * len(splits), axis=0) for parts in placed
    )
    tiles[:, open_tiles] = np.repeat(orders, len(splits), axis=0)
    chips[:, open_chips] = np.tile(splits, (len(orders), 1))
    return tiles, chips


def list_compositions(total: int, num_parts: int) -> NDArray[np.int64]:
    """Return all ways to split ``total`` into positive parts, int64 of shape (ways, parts).

    Examples
    --------
    >>> list_compositions(4, 2).tolist()
    [[1, 3], [2, 2], [3, 1]]
    """
    ways = math.comb(total - 1, num_parts - 1)
    cuts = np.array(list(itertools.combinations(range(1, total), num_parts - 1)), np.int64)
    cuts = cuts.reshape(ways, num_parts - 1)
    edges = np.hstack([np.zeros((ways, 1), np.int64), cuts, np.full((ways, 1), total)])
    return np.diff(edges, axis=1)


def encode_setup(setup: Setup, game: Game) -> int:
    """Return the number of a setup, from 0 to ``count_setups(game) - 1``."""
    n, c = game.num_tiles, game.num_chips
    order = 0
    left = list(range(n))
    for tile in setup.tiles:
        order = order * len(left) + left.index(tile)
        left.remove(tile)
    composition = 0
    chips_left = c
    for slot, stack in enumerate(setup.chips[:-1]):
        parts = n - 1 - slot
        composition += sum(math.comb(chips_left - s - 1, parts - 1) for s in range(1, stack))
        chips_left -= stack
    return order * math.comb(c - 1, n - 1) + composition


def decode_setup(number: int, game: Game) -> Setup:
    """Return the setup with this number; the inverse of :func:`encode_setup`.

    Examples
    --------
    >>> str(decode_setup(encode_setup(Setup((1, 0), (2, 1)), Game(2, 3)), Game(2, 3)))
    '1:2,0:1'
    """
    n, c = game.num_tiles, game.num_chips
    if not 0 <= number < count_setups(game):
        raise InputError(f"setup number {number}: {game.name} has 0 to {count_setups(game) - 1}")
    order, composition = divmod(number, math.comb(c - 1, n - 1))
    left = list(range(n))
    tiles = []
    for slot in range(n):
        place, order = divmod(order, math.factorial(n - 1 - slot))
        tiles.append(left.pop(place))
    chips = []
    chips_left = c
    for slot in range(n - 1):
        parts = n - 1 - slot
        stack = 1
        while composition >= (ways := math.comb(chips_left - stack - 1, parts - 1)):
            composition -= ways
            stack += 1
        chips.append(stack)
        chips_left -= stack
    return Setup(tuple(tiles), (*chips, chips_left))


@njit(cache=True, nogil=True)
def count_bits(mask):
    """Return how many of the lower 63 bits of a set are 1."""
    mask -= (mask >> 1) & 0x5555555555555555
    mask = (mask & 0x3333333333333333) + ((mask >> 2) & 0x3333333333333333)
    mask = (mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0F
    mask += mask >> 8
    mask += mask >> 16
    return (mask + (mask >> 32)) & 127


@njit(cache=True, nogil=True)
def draw_order(rng, items):
    """Shuffle ``items`` in place, uniformly."""
    for last in range(items.shape[0] - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        items[last], items[other] = items[other], items[last]


@njit(cache=True, nogil=True)
def draw_composition(rng, total, parts):
    """Fill ``parts`` with positive numbers that sum to ``total``, uniformly over all such."""
    num_cuts = parts.shape[0] - 1
    part = 0
    last_cut = 0
    for place in range(1, total):
        if rng.random() * (total - place) < num_cuts - part:
            parts[part] = place - last_cut
            last_cut = place
            part += 1
    parts[num_cuts] = total - last_cut


@njit(cache=True, nogil=True)
def draw_uniform(rng, num_chips, tiles, chips):
    """Fill ``tiles`` and ``chips`` (int64, shape (N,)) with a setup uniform over all."""
    for slot in range(tiles.shape[0]):
        tiles[slot] = slot
    draw_order(rng, tiles)
    draw_composition(rng, num_chips, chips)


@njit(cache=True, nogil=True)
def draw_completion(rng, num_chips, placed_tiles, placed_chips, tiles, chips):
    """Fill ``tiles`` and ``chips`` (int64, shape (N,)) with a completion, uniform over all.

    ``placed_tiles`` and ``placed_chips`` (int64, shape (N,)) are a board that can be completed,
    ``OPEN`` where it is open.
    """
    n = tiles.shape[0]
    used = 0
    num_open = 0
    chips_left = num_chips
    for slot in range(n):
        if placed_tiles[slot] >= 0:
            used |= 1 << placed_tiles[slot]
        if placed_chips[slot] >= 0:
            chips_left -= placed_chips[slot]
        else:
            num_open += 1
    count = 0
    for tile in range(n):
        if (used >> tile) & 1 == 0:
            chips[count] = tile  # the tiles left, until they are placed
            count += 1
    draw_order(rng, chips[:count])
    at = 0
    for slot in range(n):
        tiles[slot] = placed_tiles[slot]
        if tiles[slot] < 0:
            tiles[slot] = chips[at]
            at += 1
    if num_open > 0:
        draw_composition(rng, chips_left, chips[:num_open])
    for slot in range(n - 1, -1, -1):  # open stacks move to later places: the last goes first
        if placed_chips[slot] >= 0:
            chips[slot] = placed_chips[slot]
        else:
            num_open -= 1
            chips[slot] = chips[num_open]


def draw_setup(game: Game, rng: np.random.Generator) -> Setup:
    """Return a setup uniform over all of them."""
    return complete_setup(
        PartialSetup((None,) * game.num_tiles, (None,) * game.num_tiles), game, rng
    )


def complete_setup(partial: PartialSetup, game: Game, rng: np.random.Generator) -> Setup:
    """Return a completion of a half-placed board, uniform over all completions."""
    tiles, chips = np.zeros(game.num_tiles, np.int64), np.zeros(game.num_tiles, np.int64)
    draw_completion(rng, game.num_chips, *partial.placed, tiles, chips)
    return Setup.of_rows(tiles, chips)


def count_completions(partial: PartialSetup, game: Game) -> int:
    """Return how many setups a half-placed board can still become."""
    return partial.placed.count(game)
