"""Sampled solving of games too large to list.

:mod:`solver.mccfr.solver` holds the method, :mod:`solver.mccfr.solve` and
:mod:`solver.mccfr.locked` solves from start to end, :mod:`solver.mccfr.options` settings and sizes;
:mod:`solver.mccfr.kernels` plays, :mod:`solver.mccfr.updates` brings the tables up to date.
"""

from solver.mccfr.locked import SampledLockedSolution, solve_locked_sampled
from solver.mccfr.options import MEMORY_LIMIT, SamplingOptions, estimate_sampled
from solver.mccfr.solve import SampledSolution, solve_sampled
from solver.mccfr.solver import SampledSolver

__all__ = [
    "MEMORY_LIMIT",
    "SampledLockedSolution",
    "SampledSolution",
    "SampledSolver",
    "SamplingOptions",
    "estimate_sampled",
    "solve_locked_sampled",
    "solve_sampled",
]
