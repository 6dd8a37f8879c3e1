"""The last slots of a game solved anew, so that the opponent gets no more than before.

:mod:`solver.endings.tree` lays out the rest of a game, :mod:`solver.endings.play` goes over it,
:mod:`solver.endings.blueprint` reads off what a strategy does there, :mod:`solver.endings.resolve`
solves it for one side; :mod:`solver.endings.combine` does so with every ending of a small game.
"""
