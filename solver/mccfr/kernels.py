"""Compiled parts of :mod:`solver.mccfr`: playing.

A batch is played with frozen strategies, one's own and the opponent's: its chunks only read them
and write logs, which :mod:`solver.mccfr.updates` adds to the own tables afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import fine_key_of, full_key_of, key_of_full, shown_key_of
from solver.hands import (
    Side,
    can_pay,
    certain_choice,
    hand_detail,
    hand_key,
    pack_hand,
    show_or_fold,
    stack_now,
    tile_of,
)
from solver.kinds import fixed_match
from solver.mccfr.tables import NUM_PARTS
from solver.places import find_place
from solver.plans import conform_plan, lay_plan
from solver.rules import FOLD, MATCH, colour, is_decided, utility
from solver.setups import draw_completion, draw_uniform

__all__ = [
    "FRAME",
    "NUM_DECISIONS",
    "NUM_ENDS",
    "NUM_GAMES",
    "NUM_TRIED",
    "Batch",
    "Frozen",
    "FrozenAnswers",
    "FrozenSetups",
    "Log",
    "Sampling",
    "Work",
    "longer_log",
    "new_log",
    "new_work",
    "play_chunk",
]

FRAME = 10
"""Numbers in a frame: the decision's key, its slot, and both sides."""

NUM_DECISIONS, NUM_TRIED, NUM_GAMES, NUM_ENDS = 0, 1, 2, 3
"""What the fill counts of a log count."""


class Sampling(NamedTuple):
    """How a chunk samples.

    Attributes
    ----------
    num_chips : int
    is_win : bool
    tried, scouted : int
        Plans and scouts tried in each iteration.
    uniform, crossed, elite : float
        Probabilities with which the opponent's setup is drawn uniformly over all that it may place,
        from a cross of two of its plans, and from its best scouts.
    num_elite : int
        How many scouts are the best ones; they come first.
    replied : float
        The same for one of its replies.
    num_replies : int
        How many of its plans are replies; they are the last ones.
    is_fixed : bool
        Whether any answers, of either side, are fixed.
    """

    num_chips: int
    is_win: bool
    tried: int
    scouted: int
    uniform: float
    crossed: float
    elite: float
    num_elite: int
    replied: float
    num_replies: int
    is_fixed: bool


class FrozenSetups(NamedTuple):
    """Where a strategy's setups come from.

    Attributes
    ----------
    chips, turns : ndarray of int64, shape (plans + scouts, N)
        The plans, then the scouts.
    cumulative : ndarray of float64, shape (plans,)
        Running sums of the current probabilities of the plans.
    placed_tiles, placed_chips : ndarray of int64, shape (N,) or (0,)
        The board that all its setups complete (:class:`solver.setups.Placed`).
    """

    chips: NDArray[np.int64]
    turns: NDArray[np.int64]
    cumulative: NDArray[np.float64]
    placed_tiles: NDArray[np.int64]
    placed_chips: NDArray[np.int64]


class FrozenAnswers(NamedTuple):
    """What a strategy answers where nothing is fixed.

    Attributes
    ----------
    coarse : ndarray of float32, shape (keys,)
        Probability of matching by key.
    fine_keys, fine : ndarray of int64 and float32, shape (places,)
        Fine and shown keys by place, and the same for them; -1 for those that do not answer yet.
    """

    coarse: NDArray[np.float32]
    fine_keys: NDArray[np.int64]
    fine: NDArray[np.float32]


class Frozen(NamedTuple):
    """A strategy that a chunk plays and leaves as it is.

    Attributes
    ----------
    setups : FrozenSetups
    answers : FrozenAnswers
    kinds : ndarray of float64, shape (kinds, KIND)
        Decisions with fixed answers (:mod:`solver.kinds`).
    """

    setups: FrozenSetups
    answers: FrozenAnswers
    kinds: NDArray[np.float64]


class Batch(NamedTuple):
    """What a chunk reads and leaves as it is.

    What plays a game is given no more of it than it needs: handing on a tuple of arrays costs time
    for each of them.

    Attributes
    ----------
    sampling : Sampling
    mine, theirs : Frozen
        The same where one strategy serves both seats.
    """

    sampling: Sampling
    mine: Frozen
    theirs: Frozen


class Log(NamedTuple):
    """What a chunk found, in the order of play.

    Attributes
    ----------
    key, diff : ndarray of int64 and float32, shape (room,)
        Own decisions: the full key, and the value of matching less that of folding (to oneself).
    plan, gain : ndarrays of int64 and float32, shape (tried,)
        Plans and scouts tried, and the value of each less that of the current strategy.
    fill : ndarray of int64, shape (4,)
        How many of each there are, the games played, and the ends reached in them.
    """

    key: NDArray[np.int64]
    diff: NDArray[np.float32]
    plan: NDArray[np.int64]
    gain: NDArray[np.float32]
    fill: NDArray[np.int64]


class Work(NamedTuple):
    """Room for one game.

    Attributes
    ----------
    mine, theirs : ndarray of int64, shape (N,)
        The two hands.
    frames : ndarray of int64, shape (N, FRAME)
        Full key, slot and both sides at each own decision that is still open.
    folded_value : ndarray of float64, shape (N,)
        Own value of folding at a frame, NaN while that branch is being played.
    tiles, chips : ndarray of int64, shape (N,)
        A setup, before it is packed into a hand.
    luck : ndarray of float64, shape (N,)
        What the order of a setup is drawn with.
    crossed, turns : ndarray of int64, shape (N,)
        The chips of a crossed plan, by tile, and its turns.
    """

    mine: NDArray[np.int64]
    theirs: NDArray[np.int64]
    frames: NDArray[np.int64]
    folded_value: NDArray[np.float64]
    tiles: NDArray[np.int64]
    chips: NDArray[np.int64]
    luck: NDArray[np.float64]
    crossed: NDArray[np.int64]
    turns: NDArray[np.int64]


def new_work(num_tiles: int) -> Work:
    """Return room for games of ``num_tiles`` slots."""
    n = num_tiles
    return Work(
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, FRAME), np.int64),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


def new_log(iterations: int, tried: int, num_tiles: int) -> Log:
    """Return an empty log with room for a typical chunk."""
    room = max(2 * (tried + 1) << num_tiles, iterations * (tried + 1) * 32)
    return Log(
        np.zeros(room, np.int64),
        np.zeros(room, np.float32),
        np.zeros(iterations * tried, np.int64),
        np.zeros(iterations * tried, np.float32),
        np.zeros(4, np.int64),
    )


def longer_log(log: Log, room: int) -> Log:
    """Return a copy of a log with room for more decisions."""
    more = len(log.key) + room
    return log._replace(
        key=np.concatenate([log.key, np.zeros(more, np.int64)]),
        diff=np.concatenate([log.diff, np.zeros(more, np.float32)]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def draw_luck(work, rng):
    """Draw what the order of a setup depends on, in place."""
    for tile in range(work.luck.shape[0]):
        work.luck[tile] = rng.random()


@njit(cache=True, nogil=True, forceinline=True)
def draw_current(setups, rng):
    """Return a plan drawn from the current strategy."""
    plan = np.searchsorted(setups.cumulative, rng.random(), side="right")
    return min(plan, setups.cumulative.shape[0] - 1)


@njit(cache=True, nogil=True, forceinline=True)
def take_plan(work, setups, plan, hand):
    """Fill a hand with a setup of a plan or scout, by the luck already drawn, in place."""
    lay_plan(setups.chips[plan], setups.turns[plan], work.luck, work.tiles, work.chips)
    pack_hand(hand, work.tiles, work.chips)


@njit(cache=True, nogil=True, forceinline=True)
def start_frame(work, depth, key, slot, mine, theirs):
    """Keep the state at an own decision, to come back to it, in place."""
    frame = work.frames[depth]
    frame[0] = key
    frame[1] = slot
    frame[2], frame[3], frame[4], frame[5] = mine
    frame[6], frame[7], frame[8], frame[9] = theirs
    work.folded_value[depth] = np.nan


@njit(cache=True, nogil=True, forceinline=True)
def back_to_frame(work, depth):
    """Return ``(slot, mine, theirs)`` as they were at an own decision."""
    frame = work.frames[depth]
    mine = Side(frame[2], frame[3], frame[4], frame[5])
    theirs = Side(frame[6], frame[7], frame[8], frame[9])
    return frame[1], mine, theirs


@njit(cache=True, nogil=True, forceinline=True)
def take_slot(work, slot, mine, theirs, is_match):
    """Return ``(mine, theirs)`` after the own action at an own decision."""
    card, other_card = work.mine[slot], work.theirs[slot]
    stack = stack_now(card, mine)
    other_stack = stack_now(other_card, theirs)
    return show_or_fold(mine, theirs, card, other_card, stack, other_stack, is_match)


@njit(cache=True, nogil=True, forceinline=True)
def choice_at(sampling, hand, slot, actor, other, card, other_card, stack, other_stack):
    """Return ``(action, key)`` of the player with the smaller stack, who holds ``hand``.

    The action is -1, and the key the full one of the decision, where a strategy has to choose.
    """
    n = hand.shape[0]
    if not can_pay(card, actor, other_stack - stack):
        return FOLD, -1
    if slot == n - 1:
        choice = certain_choice(
            actor, other, card, other_card, stack, other_stack, sampling.num_chips, sampling.is_win
        )
        if choice >= 0:
            return choice, -1
    key = hand_key(n, sampling.num_chips, slot, actor, other, card, other_card, stack, other_stack)
    detail = hand_detail(hand, slot, actor, other, other_card)
    return -1, full_key_of(key, detail, other.shown)


@njit(cache=True, nogil=True)
def fixed_action(kinds, rng, slot, actor, card, other_card, stack, other_stack):
    """Return the action of the player with the smaller stack where the answer is fixed, else -1.

    It is drawn with the given probability, unless the player cannot pay.
    """
    if not can_pay(card, actor, other_stack - stack):
        return -1
    faced = colour(tile_of(other_card))
    match = fixed_match(kinds, slot, tile_of(card), stack, faced, other_stack)
    if match < 0.0:
        return -1
    return MATCH if rng.random() < match else FOLD


@njit(cache=True, nogil=True, forceinline=True)
def current_match(answers, full):
    """Return the probability of matching at a decision that is not fixed, from its full key."""
    key = key_of_full(full)
    size = answers.fine_keys.shape[0] // NUM_PARTS
    first = (key & (NUM_PARTS - 1)) * size
    place = find_place(answers.fine_keys, first, size, shown_key_of(full))
    if place >= 0 and answers.fine[place] >= 0.0:
        return answers.fine[place]
    place = find_place(answers.fine_keys, first, size, fine_key_of(full))
    if place >= 0 and answers.fine[place] >= 0.0:
        return answers.fine[place]
    return answers.coarse[key]


@njit(cache=True, nogil=True, forceinline=True)
def play_on(work, sampling, answers, my_kinds, their_kinds, rng, slot, mine, theirs):
    """Play until an own decision or the end.

    The opponent's actions are drawn from its ``answers``; what is fixed, of either side, is drawn
    as given.

    Returns
    -------
    (slot, mine, theirs, key)
        The key is that of an own decision in the slot, or -1 at the end.
    """
    n = work.mine.shape[0]
    while slot < n:
        if sampling.is_win and is_decided(mine.winnings, theirs.winnings, sampling.num_chips):
            break
        card, other_card = work.mine[slot], work.theirs[slot]
        stack = stack_now(card, mine)
        other_stack = stack_now(other_card, theirs)
        if stack < other_stack:
            action = -1
            if sampling.is_fixed:
                action = fixed_action(
                    my_kinds, rng, slot, mine, card, other_card, stack, other_stack
                )
            if action < 0:
                action, key = choice_at(
                    sampling, work.mine, slot, mine, theirs, card, other_card, stack, other_stack
                )
                if action < 0:
                    return slot, mine, theirs, key
            mine, theirs = show_or_fold(
                mine, theirs, card, other_card, stack, other_stack, action == MATCH
            )
        elif other_stack < stack:
            action = -1
            if sampling.is_fixed:
                action = fixed_action(
                    their_kinds, rng, slot, theirs, other_card, card, other_stack, stack
                )
            if action < 0:
                action, key = choice_at(
                    sampling, work.theirs, slot, theirs, mine, other_card, card, other_stack, stack
                )
            if action < 0:
                match = current_match(answers, key)
                action = MATCH if rng.random() < match else FOLD
            theirs, mine = show_or_fold(
                theirs, mine, other_card, card, other_stack, stack, action == MATCH
            )
        else:
            mine, theirs = show_or_fold(mine, theirs, card, other_card, stack, other_stack, True)
        slot += 1
    return slot, mine, theirs, -1


@njit(cache=True, nogil=True)
def play_both(work, sampling, own_answers, answers, my_kinds, their_kinds, log, rng):
    """Play a game with both actions at each own decision; return its value to oneself.

    Both hands are in ``work``.  The value is that of the current strategy; the difference between
    the two actions of every decision met goes to the log.
    """
    log.fill[NUM_GAMES] += 1
    mine = Side(0, 0, 0, 0)
    theirs = Side(0, 0, 0, 0)
    depth = 0
    slot = 0
    while True:
        slot, mine, theirs, key = play_on(
            work, sampling, answers, my_kinds, their_kinds, rng, slot, mine, theirs
        )
        is_match = key < 0
        if key >= 0:
            start_frame(work, depth, key, slot, mine, theirs)
            depth += 1
        else:
            value = utility(mine.winnings, sampling.num_chips, sampling.is_win)
            log.fill[NUM_ENDS] += 1
            depth, value = close_frames(work, own_answers, log, depth, value)
            if depth == 0:
                return value
            work.folded_value[depth - 1] = value
            slot, mine, theirs = back_to_frame(work, depth - 1)
        mine, theirs = take_slot(work, slot, mine, theirs, is_match)
        slot += 1


@njit(cache=True, nogil=True, forceinline=True)
def close_frames(work, answers, log, depth, value):
    """Close the frames whose matching branch just ended with ``value``, and log them.

    Returns the number of frames left and the value, to oneself, of the branch that ends there.
    """
    while depth > 0 and not np.isnan(work.folded_value[depth - 1]):
        depth -= 1
        key = work.frames[depth, 0]
        diff = value - work.folded_value[depth]
        place = log.fill[NUM_DECISIONS]
        log.key[place] = key
        log.diff[place] = diff
        log.fill[NUM_DECISIONS] = place + 1
        match = current_match(answers, key)
        value = work.folded_value[depth] + match * diff
    return depth, value


@njit(cache=True, nogil=True, forceinline=True)
def take_crossed(work, setups, rng, hand):
    """Fill a hand with the chips of one current plan in the turns of another, in place.

    Half of the time the tallest stack changes places with that of another tile.  What the board
    says that a strategy is bound to goes before.
    """
    chips, turns = draw_current(setups, rng), draw_current(setups, rng)
    tallest = 0
    for tile in range(work.crossed.shape[0]):
        work.crossed[tile] = setups.chips[chips, tile]
        work.turns[tile] = setups.turns[turns, tile]
        if work.crossed[tile] > work.crossed[tallest]:
            tallest = tile
    if rng.random() < 0.5:
        tile = int(rng.random() * work.crossed.shape[0])
        stack = work.crossed[tile]
        work.crossed[tile] = work.crossed[tallest]
        work.crossed[tallest] = stack
    if setups.placed_tiles.shape[0] > 0:
        conform_plan(
            work.crossed,
            work.turns,
            setups.placed_tiles,
            setups.placed_chips,
            work.luck,
            rng,
            work.tiles,
            work.chips,
        )
    lay_plan(work.crossed, work.turns, work.luck, work.tiles, work.chips)
    pack_hand(hand, work.tiles, work.chips)


@njit(cache=True, nogil=True, forceinline=True)
def take_any(work, setups, num_chips, rng, hand):
    """Fill a hand with a setup uniform over all that a strategy may place, in place."""
    if setups.placed_tiles.shape[0] > 0:
        draw_completion(
            rng,
            num_chips,
            setups.placed_tiles,
            setups.placed_chips,
            work.tiles,
            work.chips,
        )
    else:
        draw_uniform(rng, num_chips, work.tiles, work.chips)
    pack_hand(hand, work.tiles, work.chips)


@njit(cache=True, nogil=True)
def draw_opponent(work, sampling, theirs, rng):
    """Draw the opponent's hand, in place; return whether it is one of its current strategy."""
    kind = rng.random() - sampling.uniform
    if kind < 0.0:
        take_any(work, theirs, sampling.num_chips, rng, work.theirs)
        return False
    draw_luck(work, rng)
    kind -= sampling.crossed
    if kind < 0.0:
        take_crossed(work, theirs, rng, work.theirs)
        return False
    kind -= sampling.elite
    if kind < 0.0:
        scout = int(rng.random() * sampling.num_elite)
        take_plan(work, theirs, theirs.cumulative.shape[0] + scout, work.theirs)
        return False
    kind -= sampling.replied
    if kind < 0.0:
        plan = theirs.cumulative.shape[0] - 1 - int(rng.random() * sampling.num_replies)
        take_plan(work, theirs, plan, work.theirs)
        return False
    take_plan(work, theirs, draw_current(theirs, rng), work.theirs)
    return True


@njit(cache=True, nogil=True)
def play_iteration(work, batch, log, rng):
    """Play one iteration: an opponent, an own setup, and plans and scouts tried instead of it.

    All own setups are laid with the same luck.  What is gained from opponents outside their current
    strategy does not count; they are there for the answers.
    """
    sampling, setups = batch.sampling, batch.mine.setups
    answers, their_answers = batch.mine.answers, batch.theirs.answers
    kinds, their_kinds = batch.mine.kinds, batch.theirs.kinds
    counts = draw_opponent(work, sampling, batch.theirs.setups, rng)
    draw_luck(work, rng)
    take_plan(work, setups, draw_current(setups, rng), work.mine)
    current = play_both(work, sampling, answers, their_answers, kinds, their_kinds, log, rng)
    num_plans = setups.cumulative.shape[0]
    for turn in range(sampling.tried + sampling.scouted):
        if turn < sampling.tried:
            plan = int(rng.random() * num_plans)
        else:
            plan = num_plans + int(rng.random() * (setups.chips.shape[0] - num_plans))
        take_plan(work, setups, plan, work.mine)
        value = play_both(work, sampling, answers, their_answers, kinds, their_kinds, log, rng)
        if counts:
            place = log.fill[NUM_TRIED]
            log.plan[place] = plan
            log.gain[place] = value - current
            log.fill[NUM_TRIED] = place + 1


@njit(cache=True, nogil=True)
def play_chunk(work, batch, log, rng, iterations, room):
    """Play up to ``iterations``; return how many were played.

    Stops early when the log has less than ``room`` places left, the most an iteration can need.
    """
    for done in range(iterations):
        if log.fill[NUM_DECISIONS] + room > log.key.shape[0]:
            return done
        play_iteration(work, batch, log, rng)
    return iterations
