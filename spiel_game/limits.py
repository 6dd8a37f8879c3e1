"""The largest numbers that the card games take, and the check of a parameter."""

from __future__ import annotations

from solver.rules import InputError

__all__ = ["MOST", "MOST_HANDS", "check_number"]

MOST = 1_000_000
"""Of chips in a bet or an ante, and of cards of a colour; OpenSpiel lists bets one by one."""

MOST_HANDS = 10_000
"""Of hands in a match, all of which an infostate holds."""


def check_number(name: str, value: int, least: int, most: int = MOST) -> None:
    """Raise :class:`solver.rules.InputError` unless a parameter is within these limits.

    Examples
    --------
    >>> check_number("ante", -1, 0)
    Traceback (most recent call last):
    solver.rules.InputError: ante -1: allowed are 0 to 1,000,000
    """
    if not least <= value <= most:
        raise InputError(f"{name} {value}: allowed are {least:,} to {most:,}")
