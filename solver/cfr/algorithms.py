"""The CFR family as schedules of one update formula.

``cfr``     counterfactual regret minimization (Zinkevich et al. 2007), uniform averaging
``cfr+``    regrets cut at 0, linear averaging (Tammelin 2014)
``dcfr``    regrets discounted by t^1.5 / (t^1.5 + 1) above 0 and 1/2 below, averaging weight t^2
            (Brown and Sandholm 2019: alpha 1.5, beta 0, gamma 2)
``pcfr+``   regrets cut at 0, the last regret expected to come again, averaging weight t^2
            (Farina, Kroer and Sandholm 2021)
``pdcfr+``  the same with discounting by t^2.3 / (t^2.3 + 1) and averaging weight t^5
            (Xu et al. 2024)

Departures: alternating updates for all of them; CFR as published updates both at once.  Where one
strategy serves both seats, the choice of a setup is predicted as in PCFR+ in all of them (Farina,
Kroer and Sandholm 2021), see :mod:`solver.cfr.solver`.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from solver.rules import InputError

__all__ = ["Algorithm", "check_algorithm", "schedule"]

Algorithm = Literal["cfr", "cfr+", "dcfr", "pcfr+", "pdcfr+"]


def check_algorithm(algorithm: str) -> Algorithm:
    """Return the algorithm named; raise InputError if there is none."""
    if algorithm == "auto":
        return "dcfr"
    if algorithm not in get_args(Algorithm):
        raise InputError(
            f"algorithm {algorithm!r}: allowed are auto, {', '.join(get_args(Algorithm))}"
        )
    return algorithm  # type: ignore[return-value]


def schedule(algorithm: Algorithm, first: int, count: int) -> NDArray[np.float64]:
    """Return the numbers of iterations ``first`` (from 1) on.

    Returns
    -------
    ndarray of float64, shape (count, 4)
        ``positive, negative, predict, weight`` of :class:`solver.cfr.passes.Rule`.
    """
    t = np.arange(first, first + count, dtype=np.float64)
    rows = np.empty((count, 4))
    if algorithm == "cfr":
        rows[:] = 1.0, 1.0, 0.0, 1.0
    elif algorithm == "cfr+":
        rows[:] = 1.0, 0.0, 0.0, 1.0
        rows[:, 3] = t
    elif algorithm == "dcfr":
        rows[:, 0] = t**1.5 / (t**1.5 + 1)
        rows[:, 1] = 0.5
        rows[:, 2] = 0.0
        rows[:, 3] = t**2
    elif algorithm == "pcfr+":
        rows[:] = 1.0, 0.0, 1.0, 1.0
        rows[:, 3] = t**2
    else:
        rows[:, 0] = t**2.3 / (t**2.3 + 1)
        rows[:, 1] = 0.0
        rows[:, 2] = 1.0
        rows[:, 3] = t**5
    return rows
