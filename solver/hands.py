"""The game in a few numbers, for kernels that play millions of games a second.

With ``pulls=latest`` every stack follows from the setup and one number a player: the chips taken
from later tiles so far.  A game in progress is then a slot and four numbers a player, a
:class:`Side`, that stay in registers and cost nothing to go back to, where a
:class:`solver.rules.Board` would be copied whole.  The rules are those of :mod:`solver.rules`;
tests play both side by side.

A setup is a *hand*, int64 of shape (N,): for each slot the tile, the strength step of the later
tiles, the stack placed and the spare chips placed on later tiles, packed into one number, a *card*.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from solver.abstraction import candidates_of, detail_of, key_of, strength_step, tall_code
from solver.rules import FOLD, MATCH, chips_after_pulls, colour, utility

__all__ = [
    "Side",
    "can_pay",
    "certain_choice",
    "hand_detail",
    "hand_key",
    "pack_hand",
    "show_or_fold",
    "side_after",
    "stack_now",
    "tile_of",
]

_STRENGTH, _PLACED, _SPARE = 8, 12, 32
"""Lowest bits of a card's fields; the tile starts at bit 0.  Stacks have 20 bits."""

_CHIPS = (1 << 20) - 1

_FOLDED_BITS = 8
"""Bits of the count of folded black tiles in ``Side.folded``; white ones come above."""


class Side(NamedTuple):
    """What has happened to one player so far.

    Attributes
    ----------
    winnings : int
        Chips won.
    pulled : int
        Chips taken from later tiles.
    shown : int
        Shown tiles, as bits.
    folded : int
        Tiles left face down in slots that somebody folded: black ones + 256 * white ones.
    """

    winnings: int
    pulled: int
    shown: int
    folded: int


@njit(cache=True, nogil=True)
def pack_hand(hand, tiles, chips):
    """Fill a hand from a setup (tiles and chips: int64, shape (N,))."""
    n = tiles.shape[0]
    later = 0
    total = 0
    for left in range(n):
        slot = n - 1 - left
        strength = strength_step(total, left, n)
        hand[slot] = (
            tiles[slot]
            | (strength << _STRENGTH)
            | (chips[slot] << _PLACED)
            | ((later - left) << _SPARE)
        )
        later += chips[slot]
        total += tiles[slot]


@njit(cache=True, nogil=True, forceinline=True)
def tile_of(card):
    """Return the tile of a card."""
    return card & 255


@njit(cache=True, nogil=True, forceinline=True)
def stack_now(card, side):
    """Return the stack of a slot that has been reached."""
    return chips_after_pulls((card >> _PLACED) & _CHIPS, card >> _SPARE, side.pulled)


@njit(cache=True, nogil=True, forceinline=True)
def spare_now(card, side):
    """Return the spare chips on the tiles after the slot that has been reached."""
    return max((card >> _SPARE) - side.pulled, 0)


@njit(cache=True, nogil=True, forceinline=True)
def can_pay(card, side, gap):
    """Whether winnings and the spare chips on later tiles reach the gap."""
    return side.winnings + spare_now(card, side) >= gap


@njit(cache=True, nogil=True, forceinline=True)
def side_after(side, card, opp_card, gap, stake, is_shown):
    """Return a side after a slot is settled by showing or by the other player's fold.

    ``gap`` is what this player pays first, 0 except for the one who matched; ``stake`` the chips
    on either tile when they are shown, or all chips of the slot (0 for the one who folded).
    """
    paid = min(gap, side.winnings)
    winnings = side.winnings - paid
    pulled = side.pulled + gap - paid
    tile = tile_of(card)
    if not is_shown:
        step = 1 << (_FOLDED_BITS * colour(tile))
        return Side(winnings + stake, pulled, side.shown, side.folded + step)
    if tile > tile_of(opp_card):
        winnings += 2 * stake
    elif tile == tile_of(opp_card):
        winnings += stake
    return Side(winnings, pulled, side.shown | (1 << tile), side.folded)


@njit(cache=True, nogil=True, forceinline=True)
def show_or_fold(actor, other, card, other_card, stack, other_stack, is_match):
    """Return ``(actor, other)`` after the player with the smaller ``stack`` matched or folded."""
    gap = 0
    stake = 0
    other_stake = stack + other_stack
    if is_match:
        gap = other_stack - stack
        stake = other_stack
        other_stake = other_stack
    return (
        side_after(actor, card, other_card, gap, stake, is_match),
        side_after(other, other_card, card, 0, other_stake, is_match),
    )


@njit(cache=True, nogil=True, forceinline=True)
def hand_key(num_tiles, num_chips, slot, actor, other, card, other_card, stack, other_stack):
    """Return the key of the actor's decision, the same as ``decision_key`` of the board.

    ``stack`` and ``other_stack`` are those of the slot now.
    """
    faced = colour(tile_of(other_card))
    below, above = candidates_of(num_tiles, faced, other.shown, tile_of(card))
    folded = (other.folded >> (_FOLDED_BITS * faced)) & ((1 << _FOLDED_BITS) - 1)
    lead = actor.winnings - other.winnings + spare_now(card, actor) - spare_now(other_card, other)
    strength = (card >> _STRENGTH) & 15
    gap = other_stack - stack
    return key_of(
        num_tiles, num_chips, slot, below, above, folded, strength, other_stack, gap, lead
    )


@njit(cache=True, nogil=True, forceinline=True)
def hand_detail(hand, slot, actor, other, other_card):
    """Return the detail of the actor's decision, the same as ``decision_detail`` of the board.

    ``hand`` is the actor's, ``other_card`` the other's card in the slot.
    """
    tall = 0
    highest = 1
    for later in range(slot + 1, hand.shape[0]):
        stack = stack_now(hand[later], actor)
        if stack > highest:
            highest = stack
            tall = tall_code(tile_of(hand[later]), stack, later - slot)
    other_spare = spare_now(other_card, other)
    lead = actor.winnings - other.winnings + spare_now(hand[slot], actor) - other_spare
    return detail_of(tall, other_spare, lead)


@njit(cache=True, nogil=True, forceinline=True)
def certain_choice(actor, other, card, other_card, stack, other_stack, num_chips, is_win):
    """Return the better action in the last slot if the other's tile is certain there, else -1.

    It is certain when no tile of its colour was left face down.
    """
    faced = colour(tile_of(other_card))
    if (other.folded >> (_FOLDED_BITS * faced)) & ((1 << _FOLDED_BITS) - 1) > 0:
        return -1
    matched = side_after(actor, card, other_card, other_stack - stack, other_stack, True)
    if utility(matched.winnings, num_chips, is_win) > utility(actor.winnings, num_chips, is_win):
        return MATCH
    return FOLD
