"""The oracle of a sampled solve: plans that win most against its average strategy.

After each epoch several climbs begin from random plans, changed ones of the strategy, and replies
found before, and change the best of them again and again; a plan's value is the mean of games in
which both sides answer by the average strategy.  What they find are *replies*: plans of all later
epochs, which are not replaced, and met as opponents.  So a hole, once found, stays in the game that
is solved (a double oracle: McMahan and others 2003).

A setup that wins is one of very many alike, and the strategy that has learned to answer it still
loses to its neighbours.  So climbs look for plans of several forms, and each reply comes with its
wider forms, in which single chips change places.

Where the seats differ, each has replies of its own, against the other's average strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.hands import Side, pack_hand
from solver.mccfr.kernels import (
    Batch,
    FrozenSetups,
    Work,
    current_match,
    draw_current,
    draw_luck,
    new_work,
    play_on,
    take_plan,
    take_slot,
)
from solver.plans import (
    change_plan,
    conform,
    draw_plan,
    fixed_plan,
    lay_plan,
    merged_plan,
    pinned_plan,
)
from solver.rules import Game, utility
from solver.setups import Placed

__all__ = ["Plan", "StoppedError", "find_replies", "value_plan"]

Plan = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Chips and turns, each of shape (N,)."""

_FORMS = (fixed_plan, merged_plan, pinned_plan)
"""From the narrowest to the widest."""

_FORM_OF_CLIMB = (0, 0, 0, 0, 1, 1, 2, 2)
"""The form of each climb's plans, over and over."""

_POOL, _KEPT, _CHANGED, _ROUNDS, _FOUND = 500, 32, 220, 7, 4
"""Plans that a climb begins with, keeps and changes in a round; its rounds; and what it returns."""

_GAMES, _FINAL_GAMES = 150, 5_000
"""Games that a new plan is valued by, a quarter of those of one that is kept for a round; and games
that decide whether a reply wins enough."""

_WINS = 0.03
"""Value from which a reply is worth keeping."""

_RECENT = 256
"""Of the replies found before, so many of the last ones are tried again."""


class StoppedError(Exception):
    """The search was told to stop before it was over."""


@njit(cache=True, nogil=True)
def _play_path(work, batch, rng):
    """Play a game with the hands in ``work``, each side by its strategy; return its value."""
    sampling, answers, kinds = batch.sampling, batch.mine.answers, batch.mine.kinds
    their_answers, their_kinds = batch.theirs.answers, batch.theirs.kinds
    mine = Side(0, 0, 0, 0)
    theirs = Side(0, 0, 0, 0)
    slot = 0
    while True:
        slot, mine, theirs, key = play_on(
            work, sampling, their_answers, kinds, their_kinds, rng, slot, mine, theirs
        )
        if key < 0:
            return utility(mine.winnings, sampling.num_chips, sampling.is_win)
        is_match = rng.random() < current_match(answers, key)
        mine, theirs = take_slot(work, slot, mine, theirs, is_match)
        slot += 1


@njit(cache=True, nogil=True)
def value_plan(work, batch, chips, turns, games, draws, rng):
    """Return the mean value of a plan's setups against the opponent in ``batch``.

    Both sides answer as there.  ``draws`` draws the setups, so that plans valued with the same meet
    the same opponents; ``rng`` draws the actions.
    """
    opponents = batch.theirs.setups
    total = 0.0
    for _ in range(games):
        draw_luck(work, draws)
        take_plan(work, opponents, draw_current(opponents, draws), work.theirs)
        draw_luck(work, draws)
        lay_plan(chips, turns, work.luck, work.tiles, work.chips)
        pack_hand(work.mine, work.tiles, work.chips)
        total += _play_path(work, batch, rng)
    return total / games


def find_replies(
    game: Game,
    average: Batch,
    known: Sequence[Plan],
    climbs: int,
    seed: Sequence[int],
    run_all: Callable[[Sequence[Callable[[], None]]], object],
    stop: Event,
) -> tuple[list[Plan], NDArray[np.float64]]:
    """Return ``(plans, values)``: those that win and are not known yet, and what all that win earn.

    Parameters
    ----------
    game : Game
    average : Batch
        With the plans and answers of the average strategies, the own one and the opponent's, which
        are one where it serves both seats.  Replies conform to what the own one is bound to.
    known : sequence of Plan
        Replies found before.
    climbs : int
        How many searches.
    seed : sequence of int
        The same seed finds the same replies, on any number of threads.
    run_all : callable
        Runs tasks, perhaps side by side.
    stop : Event
        May be set at any time.

    Raises
    ------
    StoppedError
        Soon after ``stop`` is set.
    """
    found: list[list[tuple[Plan, float]]] = [[] for _ in range(climbs)]

    def climb(number: int) -> None:
        start = known[-_RECENT:][number::climbs]
        found[number] = _climb(game, average, start, number, [*seed, number], stop)

    run_all([lambda number=number: climb(number) for number in range(climbs)])  # type: ignore[misc]
    seen = {_name(plan) for plan in known}
    fresh = []
    values = []
    for plan, value in (pair for pairs in found for pair in pairs):
        values.append(value)
        if _name(plan) not in seen:
            seen.add(_name(plan))
            fresh.append(plan)
    return fresh, np.array(values)


def _climb(
    game: Game,
    average: Batch,
    known: Sequence[Plan],
    number: int,
    seed: list[int],
    stop: Event,
) -> list[tuple[Plan, float]]:
    """Return the best plans of one climb and their wider forms, those that win, with values."""
    rng = np.random.default_rng(seed)
    form = _FORM_OF_CLIMB[number % len(_FORM_OF_CLIMB)]
    setups = average.mine.setups
    placed = Placed(setups.placed_tiles, setups.placed_chips)

    def shaped(plan: Plan, shape: Callable[..., Plan] = _FORMS[form]) -> Plan:
        return conform(*shape(*plan, rng), placed, rng)

    values = _Values(game, average, seed, stop)
    plans = [shaped(plan) for plan in known]
    while len(plans) < _POOL:
        plans.append(shaped(_start(game, setups, rng)))
    ranked = np.argsort(-values(plans, _GAMES))[:_KEPT]
    kept = [plans[i] for i in ranked]
    sums, weights = values.last[ranked], np.ones(len(kept))
    for _ in range(_ROUNDS):
        parents = [kept[int(rng.integers(len(kept)))] for _ in range(_CHANGED)]
        changed = [shaped(change_plan(chips, turns, rng)) for chips, turns in parents]
        best = np.argsort(-values(changed, _GAMES))[:_KEPT]
        both = kept + [changed[i] for i in best]
        sums = np.concatenate([sums, np.zeros(len(best))]) + 4 * values(both, 4 * _GAMES)
        weights = np.concatenate([weights, np.zeros(len(best))]) + 4
        order = _distinct(both, np.argsort(-sums / weights))[:_KEPT]
        kept, sums, weights = [both[i] for i in order], sums[order], weights[order]
    replies = kept[:_FOUND]
    for wider in _FORMS[form + 1 :]:
        replies += [shaped(plan, wider) for plan in kept[:_FOUND]]
    final = values(replies, _FINAL_GAMES)
    return [(plan, value) for plan, value in zip(replies, final, strict=True) if value > _WINS]


class _Values:
    """Values plans, each call against other opponents, by games of its own for each plan.

    ``last`` are the values of the last call.
    """

    def __init__(self, game: Game, average: Batch, seed: list[int], stop: Event) -> None:
        self._work: Work = new_work(game.num_tiles)
        self._average = average
        self._seed = seed
        self._stop = stop
        self._calls = 0
        self.last: NDArray[np.float64] = np.zeros(0)

    def __call__(self, plans: Sequence[Plan], games: int) -> NDArray[np.float64]:
        self._calls += 1
        seed = [*self._seed, self._calls]
        self.last = np.array([self._value(*plan, games, seed, i) for i, plan in enumerate(plans)])
        return self.last

    def _value(
        self,
        chips: NDArray[np.int64],
        turns: NDArray[np.int64],
        games: int,
        seed: list[int],
        number: int,
    ) -> float:
        if self._stop.is_set():
            raise StoppedError
        draws, rng = _rng(seed), _rng([*seed, number])
        return value_plan(self._work, self._average, chips, turns, games, draws, rng)


def _rng(seed: list[int]) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _start(game: Game, setups: FrozenSetups, rng: np.random.Generator) -> Plan:
    """Return a plan to begin with: random, of the strategy, or a changed one of the strategy."""
    kind = int(rng.integers(3))
    if kind == 0:
        return draw_plan(game, rng)
    last = len(setups.cumulative) - 1
    plan = min(int(np.searchsorted(setups.cumulative, rng.random())), last)
    chips, turns = setups.chips[plan], setups.turns[plan]
    return change_plan(chips, turns, rng) if kind == 1 else (chips, turns)


def _distinct(plans: Sequence[Plan], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``order`` without the plans that stand in it before."""
    seen = set()
    found = []
    for i in order:
        if _name(plans[i]) not in seen:
            seen.add(_name(plans[i]))
            found.append(i)
    return np.array(found)


def _name(plan: Plan) -> tuple[bytes, bytes]:
    return plan[0].tobytes(), plan[1].tobytes()
