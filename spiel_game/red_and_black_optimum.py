"""Optimal play of Red and Black and what it is worth, exactly.

Nobody's choice changes another's cards, packs are shuffled again after each hand and utilities add.
So each bettor plays alone against the bank, in each hand anew, and a state is what the bettor holds
and how many cards of the colour bet on (the *own* colour) and of the other are left in the pack.
Backward induction over these states (:func:`deal_value`) gives the value of any pack; the packs
that a bettor may meet have hypergeometric probabilities (:func:`packs`).  Everything is a
:class:`fractions.Fraction`.

A bet's result is proportional to its size and is never worth less than 0 before the ante, so the
largest bet is optimal; colours are alike before the first card.  Values are in bets of that size,
of one hand, to the player named, unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from spiel_game.red_and_black_table import CARDS_EACH, PAYOUTS, RedAndBlackRules

__all__ = [
    "Doubling",
    "DoublingRule",
    "Optimum",
    "Pack",
    "deal_value",
    "doubling_rule",
    "doublings",
    "own_colour_odds",
    "packs",
    "solve_red_and_black",
]

_ZERO = Fraction(0)


class Pack(NamedTuple):
    """Cards left of the own and of the other colour, and how likely that is."""

    own_left: int
    other_left: int
    prob: Fraction


class Doubling(NamedTuple):
    """A choice to double: two cards of each colour in hand, the last one still to come.

    Attributes
    ----------
    seat : int
        1 for the player on the banker's left, and so on.
    own_left, other_left : int
        Cards left in the pack of the colour bet on, and of the other.
    prob : Fraction
        That this seat comes to this choice, in a hand.
    gain : Fraction
        What doubling adds, in bets.
    """

    seat: int
    own_left: int
    other_left: int
    prob: Fraction
    gain: Fraction

    @property
    def is_double(self) -> bool:
        """Whether to double: only for a gain, since at 0 it would just raise the spread."""
        return self.gain > 0


class DoublingRule(NamedTuple):
    """All choices of one seat in short.

    Attributes
    ----------
    cards_left : int
        Cards left in the pack, of both colours, whenever this seat may double.
    double_from : int or None
        The fewest of the own colour among them with which to double; None for never.
    may_double, doubles : Fraction
        How often the seat may double and does, of all hands.
    """

    cards_left: int
    double_from: int | None
    may_double: Fraction
    doubles: Fraction


@dataclass(frozen=True)
class Optimum:
    """Optimal play and its value; see the module for units.

    Attributes
    ----------
    seat_values : tuple of Fraction, length players - 1
        To each seat from the banker's left, antes paid.
    uncounted_values : tuple of Fraction, length players - 1
        The same for a player who forgets the cards of others, so knows the own hand only.
    banker_value : Fraction
        Minus the sum of ``seat_values``.
    fair_ante : Fraction
        The ante, in chips, with which a hand is worth 0 to the banker.
    match_values : tuple of Fraction, length players
        Over all hands, by seat at the table; seat 0 banks first.
    double_when : tuple of Doubling
        Every choice to double, by seat and then by cards left of the own colour.
    """

    seat_values: tuple[Fraction, ...]
    uncounted_values: tuple[Fraction, ...]
    banker_value: Fraction
    fair_ante: Fraction
    match_values: tuple[Fraction, ...]
    double_when: tuple[Doubling, ...]


def solve_red_and_black(rules: RedAndBlackRules) -> Optimum:
    """Return optimal play and its values.

    Examples
    --------
    >>> found = solve_red_and_black(RedAndBlackRules(players=3))
    >>> [round(float(value), 6) for value in found.seat_values], found.uncounted_values[1]
    ([0.0, 0.003697], Fraction(0, 1))
    """
    ante = Fraction(rules.ante, rules.largest_bet)
    double_when = tuple(
        choice for bettor in range(rules.num_bettors) for choice in doublings(rules, bettor)
    )
    counted, uncounted = [], []
    for bettor in range(rules.num_bettors):
        value = _total(p.prob * deal_value(p.own_left, p.other_left) for p in packs(rules, bettor))
        gains = [choice.prob * choice.gain for choice in double_when if choice.seat == bettor + 1]
        plain = value - _total(max(_ZERO, gain) for gain in gains)
        counted.append(value)
        uncounted.append(plain + max(_ZERO, _total(gains)))
    seat_values = tuple(value - ante for value in counted)
    banker_value = -_total(seat_values)
    by_distance = (banker_value, *seat_values)
    return Optimum(
        seat_values=seat_values,
        uncounted_values=tuple(value - ante for value in uncounted),
        banker_value=banker_value,
        fair_ante=_total(counted) * rules.largest_bet / rules.num_bettors,
        match_values=tuple(
            _total(
                by_distance[(seat - banker) % rules.players]
                * len(range(banker, rules.num_hands, rules.players))
                for banker in range(rules.players)
            )
            for seat in range(rules.players)
        ),
        double_when=double_when,
    )


def doubling_rule(found: Optimum, seat: int) -> DoublingRule:
    """Return when and how often the seat doubles, counted from 1 on the banker's left.

    Examples
    --------
    >>> rule = doubling_rule(solve_red_and_black(RedAndBlackRules(players=3)), 2)
    >>> rule.cards_left, rule.double_from, round(float(rule.doubles), 3)
    (95, 48, 0.191)
    """
    choices = [choice for choice in found.double_when if choice.seat == seat]
    doubled = [choice for choice in choices if choice.is_double]
    return DoublingRule(
        cards_left=choices[0].own_left + choices[0].other_left,
        double_from=min((choice.own_left for choice in doubled), default=None),
        may_double=_total(choice.prob for choice in choices),
        doubles=_total(choice.prob for choice in doubled),
    )


@lru_cache(maxsize=1 << 16)
def deal_value(own_left: int, other_left: int, num_own: int = 0, num_other: int = 0) -> Fraction:
    """Return what a bet is worth, in bets, to a bettor who plays the rest of the deal optimally.

    Parameters
    ----------
    own_left, other_left : int
        Cards left in the pack, enough for the rest of the deal.
    num_own, num_other : int
        Cards of either colour in hand.

    Examples
    --------
    >>> deal_value(2, 1, 2, 2)  # of three cards left, two pay 1 and one costs 1; doubled
    Fraction(2, 3)
    """
    if num_own + num_other == CARDS_EACH:
        return Fraction(PAYOUTS[num_own])
    mean = _mean_value(own_left, other_left, num_own, num_other)
    return mean + max(_ZERO, mean) if num_own == num_other == 2 else mean


def _mean_value(own_left: int, other_left: int, num_own: int, num_other: int) -> Fraction:
    """Average :func:`deal_value` over the next card."""
    mean = _ZERO
    if own_left:
        mean += own_left * deal_value(own_left - 1, other_left, num_own + 1, num_other)
    if other_left:
        mean += other_left * deal_value(own_left, other_left - 1, num_own, num_other + 1)
    return mean / (own_left + other_left)


def packs(rules: RedAndBlackRules, bettor: int) -> Iterator[Pack]:
    """Yield the packs from which bettor 0, 1, ... from the banker's left may be dealt.

    Examples
    --------
    >>> [str(pack.prob) for pack in packs(RedAndBlackRules(cards_per_colour=3, players=2), 0)]
    ['1']
    """
    whole, num_before = rules.cards_per_colour, CARDS_EACH * bettor
    for own_before in range(min(whole, num_before), max(0, num_before - whole) - 1, -1):
        own_left, other_left = whole - own_before, whole - num_before + own_before
        ways = math.comb(whole, own_before) * math.comb(whole, num_before - own_before)
        yield Pack(own_left, other_left, Fraction(ways, math.comb(2 * whole, num_before)))


def doublings(rules: RedAndBlackRules, bettor: int) -> Iterator[Doubling]:
    """Yield the choices to double of bettor 0, 1, ..., by own cards left.

    Examples
    --------
    >>> [(c.own_left, float(round(c.prob, 3)), str(c.gain))
    ...  for c in doublings(RedAndBlackRules(), 0)]
    [(50, 0.382, '0')]
    """
    for own_left, other_left, prob in packs(rules, bettor):
        if ways := math.comb(own_left, 2) * math.comb(other_left, 2):
            prob *= Fraction(ways, math.comb(own_left + other_left, 4))
            gain = _mean_value(own_left - 2, other_left - 2, 2, 2)
            yield Doubling(bettor + 1, own_left - 2, other_left - 2, prob, gain)


def _total(values: Iterable[Fraction]) -> Fraction:
    return sum(values, _ZERO)


def own_colour_odds(cards_per_colour: int = 52) -> tuple[Fraction, ...]:
    """Return the probabilities of 0 to 5 cards of one's colour, from a whole pack.

    Examples
    --------
    >>> [float(round(prob, 4)) for prob in own_colour_odds()[3:]]
    [0.3187, 0.1531, 0.0283]
    """
    whole = cards_per_colour
    deals = math.comb(2 * whole, CARDS_EACH)
    return tuple(
        Fraction(math.comb(whole, own) * math.comb(whole, CARDS_EACH - own), deals)
        for own in range(CARDS_EACH + 1)
    )
