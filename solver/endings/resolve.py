"""An ending solved anew for one side, so that the other gets no more than it got before.

The side that is re-solved, the *hero*, comes with the reaches that the blueprint gives its private
states.  The other side, the *villain*, may hold anything: ``bound[s]`` is what its private state s
gets against the blueprint if it answers best.  The hero's strategy in the ending minimises

    sum_s w[s] v[s]    subject to    v[s] <= bound[s] for every s,

``v[s]`` being what s gets against it in the same way and ``w`` a range of the villain.  If the
constraints hold, no best response to the whole strategy earns more than before, whatever happens
ahead of the ending (Burch, Johanson, Bowling 2014, "Solving imperfect information games using
decomposition", theorem 1): that is true for any number of endings with no slot in common, each
re-solved by itself.  The objective is where it departs from their gadget, which stops at the
constraints, and from the maximal margin of Moravcik et al. 2016, "Refining subgames in large
imperfect information games", which is 0 as soon as one private state cannot be pushed further.

The constraints become a game much like their gadgets: with weight 1 the villain is dealt a state
by ``w`` and plays the ending; with weight ``penalty`` it chooses a state, or none, and plays the
ending for what it then gets beyond ``bound``.  A penalty that is large enough makes that exact.
The game is solved by predictive CFR+ in vector form (:mod:`solver.endings.play`) with quadratic
averaging, both sides in turn.  Now and then what the villain gets is computed by an exact best
response in the ending.  So the excess over ``bound`` is known; the work ends once it is next to
nothing and the objective stands still, and a solution with too much of it is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solver.endings.play import best_values, learn_values, spread_reach
from solver.endings.tree import Ending

__all__ = [
    "MOST_EXCESS",
    "PENALTY",
    "Resolved",
    "resolve",
    "spread_range",
    "villain_values",
]

PENALTY = 8.0
"""Enough for the linear program's optimum in all endings that were compared with it."""

MOST_EXCESS = 2e-3
"""Most utility that a private state of the villain may gain in a solution that is taken."""

_CHECK_EVERY = 50
"""Iterations between two looks at what the villain gets."""

_STILL = 2e-4
"""Utility below which the objective's change since the last look, and the excess, are nothing."""

_TINY = 1e-9
"""Reach with which a strategy is averaged where the hero itself never comes."""


@dataclass(frozen=True)
class Resolved:
    """A re-solved ending.

    Attributes
    ----------
    match : ndarray of float64, shape (infostates,)
        The hero's probability of matching; 0 at the villain's.
    before, after : ndarray of float64, shape (villain's private states,)
        Villain's utility against the blueprint, and against ``match``, if it answers best.
    iterations : int
    """

    match: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    iterations: int

    @property
    def excess(self) -> float:
        """The most that any private state of the villain gains."""
        return float((self.after - self.before).max())


def villain_values(
    ending: Ending, hero: int, hero_range: NDArray[np.float64], match: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what each private state of the villain gets if it answers best.

    Parameters
    ----------
    ending : Ending
    hero : int
        The side that follows ``match``.
    hero_range : ndarray of float64, shape (hero's cells at the root,)
        Probabilities.
    match : ndarray of float64, shape (infostates,)
        Probability of matching.

    Returns
    -------
    ndarray of float64, shape (villain's cells at the root,)
        Villain's utility.
    """
    reach = np.zeros(ending.cell_start[hero, -1])
    reach[: len(hero_range)] = hero_range
    spread_reach(ending, hero, match, reach)
    villain = 1 - hero
    values = np.zeros(ending.cell_start[villain, -1])
    best_values(ending, villain, match, reach, values, match.copy())
    return values[: ending.cell_start[villain, 1]].copy()


def resolve(
    ending: Ending,
    hero: int,
    ranges: tuple[NDArray[np.float64], NDArray[np.float64]],
    blueprint: NDArray[np.float64],
    *,
    iterations: int,
    penalty: float = PENALTY,
) -> Resolved:
    """Solve an ending anew for one side.

    Parameters
    ----------
    ending : Ending
    hero : int
        The side whose strategy is wanted.
    ranges : pair of ndarray of float64, shape (cells at the root,)
        The hero's reach by the blueprint, and the villain's ``w``; each sums to 1.
    blueprint : ndarray of float64, shape (infostates,)
        Hero's probability of matching so far.
    iterations : int
        At most.
    penalty : float
        Weight of the worst excess, in the objective's unit.
    """
    hero_range, villain_range = ranges
    before = villain_values(ending, hero, hero_range, blueprint)
    work = _new_work(ending, hero, hero_range, blueprint)
    last = np.inf
    done = 0
    while True:
        step = min(_CHECK_EVERY, iterations - done)
        _learn(ending, hero, hero_range, villain_range, penalty, before, work, done, step)
        done += step
        match = np.divide(
            work.matched, work.total, out=np.zeros_like(work.total), where=work.total > 0
        )
        after = villain_values(ending, hero, hero_range, match)
        objective = float(villain_range @ after)
        is_still = abs(objective - last) < _STILL and (after - before).max() < _STILL
        last = objective
        if is_still or done == iterations:
            return Resolved(match, before, after, done)


def spread_range(weights: NDArray[np.float64], evenly: float) -> NDArray[np.float64]:
    """Return a range that sums to 1, part of it spread evenly."""
    even = np.full(len(weights), 1.0 / len(weights))
    total = weights.sum()
    return even if total <= 0.0 else (1.0 - evenly) * weights / total + evenly * even


class _Work(NamedTuple):
    """The state of a solution.

    Attributes
    ----------
    match, total, matched : ndarray of float64, shape (infostates,)
        Current strategy of both sides; running sums of the hero's average.
    regrets : ndarray of float64, shape (infostates, 2)
    choice : ndarray of float64, shape (villain's cells at the root + 1,)
        The villain's probability of each state where it chooses; the last is none.
    choice_regrets : ndarray of float64, same shape
    reach, values : pair of ndarray of float64, by cell, hero's first
    """

    match: NDArray[np.float64]
    total: NDArray[np.float64]
    matched: NDArray[np.float64]
    regrets: NDArray[np.float64]
    choice: NDArray[np.float64]
    choice_regrets: NDArray[np.float64]
    reach: tuple[NDArray[np.float64], NDArray[np.float64]]
    values: tuple[NDArray[np.float64], NDArray[np.float64]]


def _new_work(
    ending: Ending, hero: int, hero_range: NDArray[np.float64], blueprint: NDArray[np.float64]
) -> _Work:
    """Allocate a solution; the hero begins with the blueprint, the villain with a coin."""
    num_infos = ending.num_infos
    villain_infos = np.zeros(num_infos, np.bool_)
    for meeting in np.flatnonzero(ending.decider == 1 - hero):
        start, stop = ending.span[meeting, 1 - hero]
        info = ending.info_start[meeting]
        villain_infos[info : info + stop - start] = True
    sizes = [int(ending.cell_start[side, -1]) for side in (hero, 1 - hero)]
    num_states = int(ending.cell_start[1 - hero, 1])
    choice = np.zeros(num_states + 1)
    choice[-1] = 1.0
    return _Work(
        match=np.where(villain_infos, 0.5, blueprint),
        total=np.zeros(num_infos),
        matched=np.zeros(num_infos),
        regrets=np.zeros((num_infos, 2)),
        choice=choice,
        choice_regrets=np.zeros(num_states + 1),
        reach=(np.zeros(sizes[0]), np.zeros(sizes[1])),
        values=(np.zeros(sizes[0]), np.zeros(sizes[1])),
    )


@njit(cache=True, nogil=True)
def _learn(ending, hero, hero_range, villain_range, penalty, bound, work, done, iterations):
    """Go on with a solution for some iterations, ``done`` of which were made before, in place."""
    villain = 1 - hero
    num_states = villain_range.shape[0]
    hero_reach, villain_reach = work.reach
    gains = np.zeros(num_states + 1)
    for iteration in range(done + 1, done + iterations + 1):
        hero_reach[: hero_range.shape[0]] = hero_range
        spread_reach(ending, hero, work.match, hero_reach)
        _add_average(ending, hero, hero_reach, float(iteration) ** 2, work)
        learn_values(ending, villain, work.match, hero_reach, work.values[1], work.regrets)
        mean = 0.0
        for s in range(num_states):
            gains[s] = work.values[1][s] - bound[s]
            mean += work.choice[s] * gains[s]
        sum_next = 0.0
        for s in range(num_states + 1):
            regret = max(work.choice_regrets[s] + gains[s] - mean, 0.0)
            work.choice_regrets[s] = regret
            gains[s] = max(regret + gains[s] - mean, 0.0)
            sum_next += gains[s]
        if sum_next > 0.0:
            for s in range(num_states + 1):
                work.choice[s] = gains[s] / sum_next
        gains[num_states] = 0.0
        for s in range(num_states):
            villain_reach[s] = villain_range[s] + penalty * work.choice[s]
        spread_reach(ending, villain, work.match, villain_reach)
        learn_values(ending, hero, work.match, villain_reach, work.values[0], work.regrets)


@njit(cache=True, nogil=True)
def _add_average(ending, hero, reach, weight, work):
    """Add the hero's strategy to the running sums of its average, in place."""
    for meeting in range(ending.meeting_node.shape[0]):
        if ending.decider[meeting] != hero:
            continue
        info = ending.info_start[meeting]
        for i in range(ending.span[meeting, hero, 0], ending.span[meeting, hero, 1]):
            share = weight * (reach[i] + _TINY)
            work.total[info] += share
            work.matched[info] += share * work.match[info]
            info += 1
