"""Exact solving of small games: the CFR family on the public tree.

:mod:`solver.cfr.solve` runs it until a limit, :mod:`solver.cfr.solver` is a solve in progress,
:mod:`solver.cfr.algorithms` names the algorithms, :mod:`solver.cfr.iterate` holds the compiled
iterations, :mod:`solver.cfr.passes` the passes over a branch of the tree, and
:mod:`solver.cfr.solution` what comes out.
"""

from solver.cfr.algorithms import Algorithm
from solver.cfr.solution import ExactSolution, LockedSolution, strategy_of
from solver.cfr.solve import default_target, solve_exact, solve_locked
from solver.cfr.solver import ExactSolver, best_response_values

__all__ = [
    "Algorithm",
    "ExactSolution",
    "ExactSolver",
    "LockedSolution",
    "best_response_values",
    "default_target",
    "solve_exact",
    "solve_locked",
    "strategy_of",
]
