"""Which plans a sampled solve chooses from, and how those that earn nothing are replaced.

A game with few setups has a plan for each of them, for good.  Others begin with random plans; from
time to time the least played make room for changed copies of the most played and for new ones.
What a new plan is worth shows in what it gains, like that of any other.
"""

from __future__ import annotations

import numpy as np

from solver.mccfr.options import SamplingOptions, plans_for
from solver.mccfr.tables import Population, new_population
from solver.plans import change_plan, draw_plan, list_plans
from solver.rules import Game
from solver.setups import count_setups

__all__ = ["first_population", "is_listed", "renew"]

_RENEWED = 0.1
"""Share of the plans that are replaced at a time."""

_NEW = 0.15
"""Share of those that are drawn anew instead of changed from others."""

_YOUNG = 48
"""Batches in which a plan is left alone."""


def is_listed(game: Game, options: SamplingOptions) -> bool:
    """Whether there is a plan for each setup of the game."""
    return count_setups(game) <= plans_for(game, options)


def first_population(game: Game, options: SamplingOptions, rng: np.random.Generator) -> Population:
    """Return the plans that a solve begins with."""
    if is_listed(game, options):
        return new_population(*list_plans(game))
    plans = [draw_plan(game, rng) for _ in range(plans_for(game, options))]
    return new_population(
        np.array([chips for chips, _ in plans]), np.array([turns for _, turns in plans])
    )


def renew(table: Population, game: Game, batch: int, rng: np.random.Generator) -> None:
    """Replace the plans that are played least, in place; their shares go to the others."""
    share = table.summed / max(float(table.summed.sum()), 1e-300)
    mean = np.divide(table.gained, table.tried, out=np.zeros_like(share), where=table.tried > 0.0)
    old = np.flatnonzero((batch - table.born >= _YOUNG) | (table.born == 0))
    played = share + table.current
    worst = old[np.lexsort((mean[old], played[old]))][: int(_RENEWED * len(share))]
    parents = rng.choice(len(share), len(worst), p=played / played.sum())
    children = [
        draw_plan(game, rng)
        if rng.random() < _NEW
        else change_plan(table.chips[parent], table.turns[parent], rng)
        for parent in parents
    ]
    for plan, (chips, turns) in zip(worst, children, strict=True):
        table.chips[plan] = chips
        table.turns[plan] = turns
    for sums in (table.current, table.summed, table.gained, table.tried):
        sums[worst] = 0.0
    table.born[worst] = batch
    left = table.current.sum()
    table.current[:] = table.current / left if left > 0.0 else 1.0 / len(share)
