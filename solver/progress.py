"""How long work tells how far it is."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[int, float, float | None], bool]
"""Called with iterations (or games, or branches), seconds, and the last exploitability
if one is known.  Returning False stops the work, which then returns what it has."""
