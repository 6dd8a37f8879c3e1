"""Matches between two strategies.

* :mod:`solver.arena.match`: plays a match and says who wins how much.
* :mod:`solver.arena.kernels`: the games themselves.
* :mod:`solver.arena.baseline`: guesses of the luck in a game, taken off its result.
* :mod:`solver.arena.chances`: the exact mean of what is guessed from the setups.
"""

from solver.arena.match import MatchResult, Progress, play_match

__all__ = ["MatchResult", "Progress", "play_match"]
