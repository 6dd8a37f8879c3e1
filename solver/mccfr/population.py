"""Which plans a sampled solve chooses from, and the scouts that look for better ones.

A game with few setups has a plan for each of them, for good.  Others begin with random plans, and
have *scouts* beside them: plans that are not played, only tried against the current strategy.  In
every generation of scouts the best are kept, the others give way to changed copies and crosses of
the best, to changed copies of plans that are played, and to new ones.  The best of all take the
places of the plans that are played least; from then on what they gain decides how often they are
played, like that of any other.

So setups are searched while answers are learned: a double oracle (McMahan and others 2003) with a
local search for an oracle.

Where the setups of a strategy are bound to a half-placed board, all plans and scouts conform to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solver.mccfr.options import SamplingOptions, is_listed, plans_for, scouts_for
from solver.mccfr.tables import Population, Replies, Scouts, new_population, new_scouts
from solver.plans import change_plan, conform, draw_plan, list_plans
from solver.rules import Game
from solver.setups import NOTHING_PLACED, Placed

__all__ = ["ELITE", "TRIES", "first_population", "first_scouts", "replies_among", "send_scouts"]

ELITE = 64
"""The best scouts, which are kept, changed and crossed, and met as opponents; they stand first."""

TRIES = 300
"""How often each scout is tried in a generation."""

_PROMOTED = 32
"""Scouts that become plans after a generation, at most."""

_PROVEN = 350
"""Tries that a scout needs for that: more than one generation."""

_DOUBT = 140
"""Tries without gain that each is judged with beside its own: what scouts gain differs by about
.1, and a single try by 1.2."""

_YOUNG = 48
"""Batches in which a plan is left alone."""

_FOR_GOOD = 2**62
"""When plans that are never replaced are said to have come in."""

_FROM_ELITE, _FROM_PLANS, _CROSSED = 0.7, 0.8, 0.9
"""Where new scouts come from: running sums of the shares; what is left is drawn anew."""


def first_population(
    game: Game,
    options: SamplingOptions,
    replies: Replies,
    rng: np.random.Generator,
    placed: Placed = NOTHING_PLACED,
) -> Population:
    """Return the plans that an epoch begins with: random ones, and replies, which stay.

    All conform to the board ``placed``, as the replies do.
    """
    if is_listed(game, options, placed):
        return new_population(*list_plans(game, placed))
    num_replies = replies_among(replies, options, game)
    chips, turns = _draw_plans(game, plans_for(game, options) - num_replies, rng, placed)
    first = len(replies.chips) - num_replies
    plans = new_population(
        np.concatenate([chips, replies.chips[first:]]),
        np.concatenate([turns, replies.turns[first:]]),
    )
    plans.born[len(chips) :] = _FOR_GOOD
    return plans


def replies_among(replies: Replies, options: SamplingOptions, game: Game) -> int:
    """Return how many replies, the last ones found, stand among the plans, as the last of them."""
    return min(len(replies.chips), plans_for(game, options) // 2)


def first_scouts(
    game: Game,
    options: SamplingOptions,
    rng: np.random.Generator,
    placed: Placed = NOTHING_PLACED,
) -> Scouts:
    """Return the scouts that a solve begins with; none where all setups are listed."""
    return new_scouts(*_draw_plans(game, scouts_for(game, options, placed), rng, placed))


def _draw_plans(
    game: Game, count: int, rng: np.random.Generator, placed: Placed
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the chips and turns of random conforming plans; int64, shape (count, N)."""
    chips = np.zeros((count, game.num_tiles), np.int64)
    turns = np.zeros((count, game.num_tiles), np.int64)
    for plan in range(count):
        chips[plan], turns[plan] = conform(*draw_plan(game, rng), placed, rng)
    return chips, turns


def send_scouts(
    scouts: Scouts,
    plans: Population,
    game: Game,
    batch: int,
    step: float,
    rng: np.random.Generator,
    placed: Placed = NOTHING_PLACED,
) -> None:
    """Let the best scouts become plans, and replace all but the next best, in place.

    ``step`` is the weight of a try now; new scouts conform to the board ``placed``.
    """
    mean = scouts.gained / (scouts.tried + _DOUBT * step)
    ranked = np.argsort(-mean, kind="stable")
    proven = ranked[(scouts.tried[ranked] >= _PROVEN * step) & (mean[ranked] > 0.0)]
    promoted = proven[:_PROMOTED]
    _take_in(plans, scouts, promoted, batch)
    elite = ranked[~np.isin(ranked, promoted)][:ELITE]
    parents = np.concatenate([elite, promoted])
    chips, turns = scouts.chips[parents], scouts.turns[parents]
    gained, tried = scouts.gained[elite], scouts.tried[elite]
    played = np.cumsum(plans.current)
    for scout in range(len(elite), len(mean)):
        kind = rng.random()
        one, other = rng.integers(len(parents), size=2)
        if kind < _FROM_ELITE:
            child = change_plan(chips[one], turns[one], rng)
        elif kind < _FROM_PLANS:
            plan = min(int(np.searchsorted(played, rng.random())), len(played) - 1)
            child = change_plan(plans.chips[plan], plans.turns[plan], rng)
        elif kind < _CROSSED:
            child = chips[one], turns[other]
        else:
            child = draw_plan(game, rng)
        scouts.chips[scout], scouts.turns[scout] = conform(*child, placed, rng)
    scouts.chips[: len(elite)] = chips[: len(elite)]
    scouts.turns[: len(elite)] = turns[: len(elite)]
    scouts.gained[:] = scouts.tried[:] = 0.0
    # Half of the past counts on, so that luck wears off and holes that were closed are left.
    scouts.gained[: len(elite)], scouts.tried[: len(elite)] = 0.5 * gained, 0.5 * tried


def _take_in(plans: Population, scouts: Scouts, promoted: NDArray[np.int64], batch: int) -> None:
    """Put scouts in the places of the plans that are played least, in place.

    The shares of those go to the others.
    """
    share = plans.summed / max(float(plans.summed.sum()), 1e-300) + plans.current
    old = np.flatnonzero((batch - plans.born >= _YOUNG) | (plans.born == 0))
    worst = old[np.argsort(share[old], kind="stable")][: len(promoted)]
    promoted = promoted[: len(worst)]
    for name in ("chips", "turns", "gained", "tried"):
        getattr(plans, name)[worst] = getattr(scouts, name)[promoted]
    plans.current[worst] = plans.summed[worst] = 0.0
    plans.born[worst] = batch
    left = plans.current.sum()
    plans.current[:] = plans.current / left if left > 0.0 else 1.0 / len(share)
