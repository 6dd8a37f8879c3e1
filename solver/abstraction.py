"""Which decisions of the full game a strategy treats alike.

A decision to match or fold is reduced to a few features of the present and packed into one
integer, its key.  Keys are dense, 0 to ``num_keys(N) - 1``, so that a strategy is a flat array.
The features, each cut into few steps (``FEATURES``):

``slot``      the slot being played
``below``     opponent's unseen numbers of the faced colour that are lower than the own tile
``above``     those that are higher
``folded``    opponent's tiles of that colour folded so far: 0, 1, 2 or more
``strength``  how high the own later tiles are, in quarters of what they could be
``stack``     opponent's stack
``gap``       missing chips
``lead``      own winnings and later chips less the opponent's

That key alone forgets what a player holds back, so that a setup with a tall stack to come is played
like one without, and looks worse than it is.  A *fine* key adds the details (``DETAILS``):

``tall_tile``   tile under the tallest of the own later stacks, + 1; 0 if all are single chips
``tall_stack``  that stack now; the first of equals
``tall_ahead``  how many slots ahead it stands: 1, 2, 3 or more
``spare``       spare chips on the opponent's later tiles
``exact_lead``  the lead, not cut into steps; 31 stands for more, -31 for less

Both count the opponent's tiles that were shown and forget which they were.  A *shown* key knows
them (``shown``, a set of tiles as bits; those above 13 are left out), and the details but the exact
lead.  A *full* key holds all that the three know, so that each follows from it: it is what kernels
pass on.  In one table of int64, fine keys are 0 and more, and shown keys from ``IS_SHOWN`` on.

Every feature is defined once, in a small function below.  :func:`decision_key` and
:func:`decision_detail` read a board; kernels that keep a game in a few numbers call :func:`key_of`
and :func:`detail_of` with the same quantities.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.rules import colour, spare_chips
from solver.setups import count_bits

__all__ = [
    "DETAILS",
    "FEATURES",
    "IS_SHOWN",
    "VERSION",
    "decision_detail",
    "decision_full_key",
    "decision_key",
    "detail_columns",
    "detail_of",
    "detail_sizes",
    "feature_columns",
    "feature_labels",
    "feature_sizes",
    "fine_key_of",
    "full_key_of",
    "join_key",
    "key_of",
    "key_of_full",
    "lead_step",
    "num_keys",
    "pack_key",
    "shown_bits",
    "shown_key_of",
    "split_keys",
    "step_of",
    "strength_step",
    "tall_code",
]

VERSION = "shown-1"

FEATURES = ("slot", "below", "above", "folded", "strength", "stack", "gap", "lead")
"""The features of a key, from the one that changes slowest to the one that changes fastest."""

DETAILS = ("tall_tile", "tall_stack", "tall_ahead", "spare", "exact_lead")
"""What a fine key adds, from the one that changes slowest to the one that changes fastest."""

_DETAIL_BITS, _SHOWN_BITS = 22, 14
"""Bits of a full key that hold the detail and the shown tiles; the key comes above."""

IS_SHOWN = 1 << 62
"""Bit that tells shown keys from fine ones."""

_FOLDED_STEPS, _STRENGTH_STEPS, _STACK_STEPS, _GAP_STEPS, _LEAD_STEPS = 3, 4, 8, 6, 13

_AHEAD_STEPS, _RESERVE_STEPS = 4, 9

_MOST_LEAD = 31

_LEAD_EDGES = (3, 10, 20, 35, 55, 80)
"""Where the steps of a lead end, in hundredths of C."""


@njit(cache=True, nogil=True)
def num_keys(num_tiles):
    """Return the number of keys of a game with ``num_tiles`` tiles."""
    candidates = (num_tiles + 1) // 2 + 1
    steps = _FOLDED_STEPS * _STRENGTH_STEPS * _STACK_STEPS * _GAP_STEPS * _LEAD_STEPS
    return num_tiles * candidates * candidates * steps


@njit(cache=True, nogil=True)
def pack_key(num_tiles, slot, below, above, folded, strength, stack, gap, lead):
    """Pack feature steps into a key; mixed radix, in the order of the arguments."""
    candidates = (num_tiles + 1) // 2 + 1
    key = (slot * candidates + below) * candidates + above
    key = (key * _FOLDED_STEPS + folded) * _STRENGTH_STEPS + strength
    key = (key * _STACK_STEPS + stack) * _GAP_STEPS + gap
    return key * _LEAD_STEPS + lead


@njit(cache=True, nogil=True)
def step_of(value, num_steps):
    """Cut a positive number into steps that widen: 1, 2, 3, 4, 5-6, 7-9, 10-14, 15 and more."""
    if value <= 4:
        step = value - 1
    elif value <= 6:
        step = 4
    elif value <= 9:
        step = 5
    elif value <= 14:
        step = 6
    else:
        step = 7
    return min(step, num_steps - 1)


@njit(cache=True, nogil=True)
def lead_step(lead, num_chips):
    """Cut a lead into 13 steps that are finer near 0; step 6 is a lead of next to nothing."""
    size = 0
    for edge in _LEAD_EDGES:
        if 100 * abs(lead) > edge * num_chips:
            size += 1
    return 6 + size if lead > 0 else 6 - size


@njit(cache=True, nogil=True)
def strength_step(total, left, num_tiles):
    """Cut the sum of ``left`` later tiles into quarters of the most it could seem to be."""
    if left == 0:
        return 0
    return min(4 * total // (left * (num_tiles - 1) + 1), 3)


@njit(cache=True, nogil=True)
def candidates_of(num_tiles, faced, seen, mine):
    """Return ``(below, above)``: unseen numbers of colour ``faced`` on either side of ``mine``.

    ``seen`` is the set of the opponent's shown tiles, as bits.
    """
    unseen = (0x5555555555555555 << faced) & ((1 << num_tiles) - 1) & ~seen
    return count_bits(unseen & ((1 << mine) - 1)), count_bits(unseen >> (mine + 1))


@njit(cache=True, nogil=True)
def key_of(
    num_tiles, num_chips, slot, below, above, folded, strength, stack, gap, lead
):  # fmt: skip
    """Return the key of a decision from its quantities.

    ``strength`` is a step already (it belongs to a setup and a slot); ``below`` and ``above`` are
    the numbers of candidates, ``folded`` the number of tiles, ``stack``, ``gap`` and ``lead``
    chips.
    """
    return pack_key(
        num_tiles,
        slot,
        below,
        above,
        min(folded, _FOLDED_STEPS - 1),
        strength,
        step_of(stack, _STACK_STEPS),
        step_of(gap, _GAP_STEPS),
        lead_step(lead, num_chips),
    )


@njit(cache=True, nogil=True)
def decision_key(board, slot, player, num_chips):
    """Return the key of the decision that ``player`` faces in ``slot``."""
    n = board.tiles.shape[1]
    opponent = 1 - player
    faced = colour(board.tiles[opponent, slot])
    seen = 0
    folded = 0
    for s in range(slot):
        if board.shown[s]:
            seen |= 1 << board.tiles[opponent, s]
        elif colour(board.tiles[opponent, s]) == faced:
            folded += 1
    total = 0
    lead = board.winnings[player] - board.winnings[opponent]
    for s in range(slot + 1, n):
        total += board.tiles[player, s]
        lead += board.chips[player, s] - board.chips[opponent, s]
    below, above = candidates_of(n, faced, seen, board.tiles[player, slot])
    stack = board.chips[opponent, slot]
    return key_of(
        n,
        num_chips,
        slot,
        below,
        above,
        folded,
        strength_step(total, n - 1 - slot, n),
        stack,
        stack - board.chips[player, slot],
        lead,
    )


@njit(cache=True, nogil=True)
def reserve_step(chips):
    """Cut a number of chips, 0 or more, into steps: 0, then those of :func:`step_of`."""
    return step_of(chips, _RESERVE_STEPS - 1) + 1 if chips > 0 else 0


@njit(cache=True, nogil=True)
def tall_code(tile, stack, ahead):
    """Return the tallest own later stack as one number; 0 is kept for none above a chip.

    It stands on ``tile``, ``ahead`` slots from the one now decided.
    """
    code = (tile + 1) * _STACK_STEPS + step_of(stack, _STACK_STEPS)
    return code * _AHEAD_STEPS + min(ahead, _AHEAD_STEPS - 1)


@njit(cache=True, nogil=True)
def detail_of(tall, spare, lead):
    """Return a detail from :func:`tall_code` (or 0) and two numbers of chips."""
    lead = min(max(lead, -_MOST_LEAD), _MOST_LEAD) + _MOST_LEAD
    return (tall * _RESERVE_STEPS + reserve_step(spare)) * (2 * _MOST_LEAD + 1) + lead


@njit(cache=True, nogil=True)
def decision_detail(board, slot, player):
    """Return the detail of the decision that ``player`` faces in ``slot``."""
    n = board.tiles.shape[1]
    tall = 0
    highest = 1
    for later in range(slot + 1, n):
        if board.chips[player, later] > highest:
            highest = board.chips[player, later]
            tall = tall_code(board.tiles[player, later], highest, later - slot)
    spare = spare_chips(board.chips[1 - player], slot)
    lead = board.winnings[player] - board.winnings[1 - player]
    lead += spare_chips(board.chips[player], slot) - spare
    return detail_of(tall, spare, lead)


@njit(cache=True, nogil=True, forceinline=True)
def shown_bits(shown):
    """Return what keys keep of a set of shown tiles."""
    return shown & ((1 << _SHOWN_BITS) - 1)


@njit(cache=True, nogil=True, forceinline=True)
def full_key_of(key, detail, shown):
    """Return the full key of a decision; ``shown`` are the opponent's shown tiles, as bits."""
    return (((key << _DETAIL_BITS) | detail) << _SHOWN_BITS) | shown_bits(shown)


@njit(cache=True, nogil=True, forceinline=True)
def key_of_full(full):
    """Return the key of a full key."""
    return full >> (_DETAIL_BITS + _SHOWN_BITS)


@njit(cache=True, nogil=True, forceinline=True)
def fine_key_of(full):
    """Return the fine key of a full key."""
    return full >> _SHOWN_BITS


@njit(cache=True, nogil=True, forceinline=True)
def shown_key_of(full):
    """Return the shown key of a full key: without the exact lead."""
    detail = ((full >> _SHOWN_BITS) & ((1 << _DETAIL_BITS) - 1)) // (2 * _MOST_LEAD + 1)
    return IS_SHOWN | full_key_of(key_of_full(full), detail, full)


@njit(cache=True, nogil=True)
def decision_full_key(board, slot, player, num_chips):
    """Return the full key of the decision that ``player`` faces in ``slot``."""
    shown = 0
    for s in range(slot):
        if board.shown[s]:
            shown |= 1 << board.tiles[1 - player, s]
    key = decision_key(board, slot, player, num_chips)
    return full_key_of(key, decision_detail(board, slot, player), shown)


def split_keys(
    keys: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ``(key, detail, shown)`` of fine and shown keys; ``shown`` is -1 in fine ones.

    The detail of a shown key has an exact lead of 0 (step 31).

    Examples
    --------
    >>> full = full_key_of(7, detail_of(tall_code(9, 12, 2), 4, -3), 0b101)
    >>> key, detail, shown = split_keys(np.array([fine_key_of(full), shown_key_of(full)]))
    >>> key.tolist(), shown.tolist()
    ([7, 7], [-1, 5])
    """
    leads = 2 * _MOST_LEAD + 1
    is_shown = keys >= IS_SHOWN
    fine = np.where(is_shown, (keys & (IS_SHOWN - 1)) >> _SHOWN_BITS, keys)
    detail = fine & ((1 << _DETAIL_BITS) - 1)
    detail = np.where(is_shown, detail * leads + _MOST_LEAD, detail)
    shown = np.where(is_shown, keys & ((1 << _SHOWN_BITS) - 1), -1)
    return fine >> _DETAIL_BITS, detail, shown


@njit(cache=True, nogil=True)
def join_key(key, detail, shown):
    """Return a fine key, or a shown key where ``shown`` is not -1; undoes :func:`split_keys`."""
    if shown < 0:
        return (key << _DETAIL_BITS) | detail
    fine = (key << _DETAIL_BITS) | (detail // (2 * _MOST_LEAD + 1))
    return IS_SHOWN | (fine << _SHOWN_BITS) | shown


def detail_sizes(num_tiles: int) -> tuple[int, ...]:
    """Return the number of steps of each detail, in the order of ``DETAILS``.

    Examples
    --------
    >>> detail_sizes(10)
    (11, 8, 4, 9, 63)
    """
    return (num_tiles + 1, _STACK_STEPS, _AHEAD_STEPS, _RESERVE_STEPS, 2 * _MOST_LEAD + 1)


def detail_columns(num_tiles: int, details: NDArray[np.int64]) -> dict[str, NDArray[np.int16]]:
    """Return the steps of details, one column for each name in ``DETAILS``.

    Examples
    --------
    >>> found = detail_columns(10, np.array([detail_of(tall_code(9, 12, 2), 4, -3)]))
    >>> [int(found[name][0]) for name in DETAILS]
    [10, 6, 2, 4, 28]
    """
    steps = np.unravel_index(details, detail_sizes(num_tiles))
    return {name: step.astype(np.int16) for name, step in zip(DETAILS, steps, strict=True)}


def feature_sizes(num_tiles: int) -> tuple[int, ...]:
    """Return the number of steps of each feature, in the order of ``FEATURES``.

    A table over keys, reshaped to these sizes, has one axis for each feature.

    Examples
    --------
    >>> feature_sizes(10)
    (10, 6, 6, 3, 4, 8, 6, 13)
    """
    candidates = (num_tiles + 1) // 2 + 1
    steps = (_FOLDED_STEPS, _STRENGTH_STEPS, _STACK_STEPS, _GAP_STEPS, _LEAD_STEPS)
    return (num_tiles, candidates, candidates, *steps)


def feature_columns(num_tiles: int) -> dict[str, NDArray[np.int16]]:
    """Return the features of every key; the inverse of :func:`pack_key`.

    Returns
    -------
    dict of str to ndarray of int16, shape (num_keys,)
        For each feature, in the order of ``FEATURES``, its step in key 0, 1, 2, ...

    Examples
    --------
    >>> columns = feature_columns(4)
    >>> {name: int(column[-1]) for name, column in columns.items()}["lead"]
    12
    """
    sizes = feature_sizes(num_tiles)
    columns = {}
    for place, (name, size) in enumerate(zip(FEATURES, sizes, strict=True)):
        shape = [size if axis == place else 1 for axis in range(len(sizes))]
        steps = np.arange(size, dtype=np.int16).reshape(shape)
        columns[name] = np.broadcast_to(steps, sizes).reshape(-1)
    return columns


def feature_labels(num_tiles: int, num_chips: int) -> dict[str, tuple[str, ...]]:
    """Return what each step of each feature stands for, as text, lowest step first.

    Examples
    --------
    >>> feature_labels(10, 30)["stack"]
    ('1', '2', '3', '4', '5-6', '7-9', '10-14', '15+')
    >>> feature_labels(10, 30)["lead"][4:9]
    ('-6 to -4', '-3 to -1', '0', '1 to 3', '4 to 6')
    """
    sizes = dict(zip(FEATURES, feature_sizes(num_tiles), strict=True))
    counts = tuple(str(count) for count in range(sizes["below"]))
    leads = range(-2 * num_chips, 2 * num_chips + 1)
    most = sizes["folded"] - 1
    return {
        "slot": tuple(str(slot + 1) for slot in range(num_tiles)),
        "below": counts,
        "above": counts,
        "folded": (*(str(count) for count in range(most)), f"{most}+"),
        "strength": tuple(f"quarter {step + 1}" for step in range(sizes["strength"])),
        "stack": tuple(_widening_label(step, _STACK_STEPS) for step in range(_STACK_STEPS)),
        "gap": tuple(_widening_label(step, _GAP_STEPS) for step in range(_GAP_STEPS)),
        "lead": tuple(
            _range_label([x for x in leads if lead_step(x, num_chips) == step])
            for step in range(_LEAD_STEPS)
        ),
    }


def _widening_label(step: int, num_steps: int) -> str:
    """Return the numbers that :func:`step_of` puts into ``step``."""
    inside = [value for value in range(1, 31) if step_of(value, num_steps) == step]
    if step == num_steps - 1:
        return f"{inside[0]}+"
    return str(inside[0]) if len(inside) == 1 else f"{inside[0]}-{inside[-1]}"


def _range_label(inside: list[int]) -> str:
    """Return a range of leads as text; ``none`` for a step that the game is too small for."""
    if not inside:
        return "none"
    return str(inside[0]) if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
