"""Exact solving of small games by linear programming.

:mod:`solver.lp.solve` is what to call, :mod:`solver.lp.search` lets the program grow,
:mod:`solver.lp.program` is the linear program over part of the choices, :mod:`solver.lp.model` its
variables and payoffs, and :mod:`solver.lp.plans` turns solutions into strategies and back.
"""

from solver.lp.solve import SeatsSolution, solve_lp, solve_seats

__all__ = ["SeatsSolution", "solve_lp", "solve_seats"]
