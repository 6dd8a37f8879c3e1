"""Exact solving of small games: the CFR family on the public tree.

:mod:`solver.cfr.solver` runs it, :mod:`solver.cfr.passes` holds the compiled passes over the tree,
:mod:`solver.cfr.solution` what comes out.
"""

from solver.cfr.solution import ExactSolution, strategy_of
from solver.cfr.solver import (
    Algorithm,
    ExactSolver,
    best_response_values,
    default_target,
    solve_exact,
)

__all__ = [
    "Algorithm",
    "ExactSolution",
    "ExactSolver",
    "best_response_values",
    "default_target",
    "solve_exact",
    "strategy_of",
]
