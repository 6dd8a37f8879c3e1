"""The last slots of a game solved anew, so that the opponent gets no more than before.

:mod:`solver.endings.states` packs what a side may hold, :mod:`solver.endings.tree` lays out the
rest of a game, grown by :mod:`solver.endings.grow`, and :mod:`solver.endings.play` goes over it.
:mod:`solver.endings.blueprint` reads off what a strategy does there, :mod:`solver.endings.resolve`
solves it for one side, and :mod:`solver.endings.combine` does so with every ending of a small game.
"""
