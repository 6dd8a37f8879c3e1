"""Sampled solving of games too large to list.

:mod:`solver.mccfr.solver` holds the method, :mod:`solver.mccfr.options` its settings and sizes,
:mod:`solver.mccfr.kernels` plays, :mod:`solver.mccfr.updates` brings the tables up to date.
"""

from solver.mccfr.options import MEMORY_LIMIT, SamplingOptions, estimate_sampled
from solver.mccfr.solver import SampledSolution, SampledSolver, solve_sampled

__all__ = [
    "MEMORY_LIMIT",
    "SampledSolution",
    "SampledSolver",
    "SamplingOptions",
    "estimate_sampled",
    "solve_sampled",
]
