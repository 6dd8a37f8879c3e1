"""A small game as a flat public tree, and how large that tree is.

:mod:`solver.tree.build` puts it together, branch by branch of the first slot.  A branch is grown
slot by slot (:mod:`solver.tree.branch`, which asks :mod:`solver.tree.room` for what a node is made
of, :mod:`solver.tree.expand` for its children and :mod:`solver.tree.last` for the last slot);
:mod:`solver.tree.bounds` finds what is settled in it, :mod:`solver.tree.reduce` leaves that out,
and :mod:`solver.tree.flat` holds what solvers read.  :mod:`solver.tree.view` says what players see
there, :mod:`solver.tree.count` estimates sizes, :mod:`solver.tree.parts` holds common arrays.
"""

from solver.tree.build import PublicTree, build_tree
from solver.tree.flat import Side, Tree

__all__ = ["PublicTree", "Side", "Tree", "build_tree"]
