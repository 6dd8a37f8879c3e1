"""A small game as a flat public tree, and how large that tree is.

:mod:`solver.tree.build` puts it together level by level; :mod:`solver.tree.expand` expands nodes,
:mod:`solver.tree.last` prices the last slot, :mod:`solver.tree.parts` holds the arrays,
:mod:`solver.tree.view` says what players see there, :mod:`solver.tree.count` estimates sizes.
"""

from solver.tree.build import PublicTree, Side, Tree, build_tree

__all__ = ["PublicTree", "Side", "Tree", "build_tree"]
