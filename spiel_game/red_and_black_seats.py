"""One seat of Red and Black as a game of its own, small enough for any solver.

Nobody's choice changes another's cards, so each bettor plays alone against the bank.  Before the
last card only this matters: whether the bettor holds two of either colour and, if so, how many
cards of either colour are left in the pack.  Folding the histories that share this turns a seat
into one bet, one draw of the situation and one choice.  The last card counts by its mean, and so do
the hands without a choice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pyspiel

from spiel_game.red_and_black_table import CARDS_EACH, PAYOUTS, RedAndBlackRules

__all__ = ["Situation", "child_named", "doubling_gain", "seat_game", "situations"]


class Situation(NamedTuple):
    """Two cards of each colour in hand: the cards left in the pack, and how likely that is."""

    own_left: int
    other_left: int
    prob: float


def situations(rules: RedAndBlackRules, bettor: int) -> list[Situation]:
    """Return where bettor 0, 1, ... from the banker's left may double, by own cards left.

    Examples
    --------
    >>> [(own, other, round(prob, 3)) for own, other, prob in situations(RedAndBlackRules(), 0)]
    [(50, 50, 0.382)]
    """
    whole, num_before = rules.cards_per_colour, CARDS_EACH * bettor
    found = []
    for own_before in range(min(whole, num_before), max(0, num_before - whole) - 1, -1):
        own, other = whole - own_before, whole - (num_before - own_before)
        ways_before = math.comb(whole, own_before) * math.comb(whole, num_before - own_before)
        prob = ways_before / math.comb(2 * whole, num_before)
        prob *= math.comb(own, 2) * math.comb(other, 2) / math.comb(own + other, 4)
        if prob > 0.0:
            found.append(Situation(own - 2, other - 2, prob))
    return found


def doubling_gain(situation: Situation) -> float:
    """Return the expected result of the last card, in bets: what doubling adds."""
    own, other, _ = situation
    return (own - other) / (own + other)


def seat_game(rules: RedAndBlackRules, bettor: int) -> pyspiel.Game:
    """Return a seat's game against the bank; values in bets of ``max_bet``, without antes.

    First a bet, such as ``1.0R``, of ``min_bet`` or ``max_bet``; then chance, ``50-45`` by cards
    left or ``uneven``; then ``leave`` or ``double``.
    """
    found = situations(rules, bettor)
    sizes = [amount / rules.max_bet for amount in sorted({rules.min_bet, rules.max_bet})]
    bets = [(size, colour) for size in sizes for colour in "RB"]
    names = " ".join(f'"{size!r}{colour}"' for size, colour in bets)
    lines = ['EFG 2 R "seat" { "bettor" "bank" }', f'p "" 1 1 "bet" {{ {names} }} 0']
    infosets, ends = 1, 0
    rest = 1.0 - math.fsum(situation.prob for situation in found)
    odds = " ".join(f'"{own}-{other}" {prob!r}' for own, other, prob in found)
    for number, (size, _) in enumerate(bets, 1):
        lines.append(f'c "" {number} "deal" {{ {odds} "uneven" {rest!r} }} 0')
        for situation in found:
            infosets += 1
            lines.append(f'p "" 1 {infosets} "{infosets}" {{ "leave" "double" }} 0')
            for stake in (size, 2 * size):
                ends += 1
                lines.append(_end(ends, stake * doubling_gain(situation)))
        ends += 1
        lines.append(_end(ends, size * _uneven_result(rules, found, rest)))
    return pyspiel.load_efg_game("\n".join(lines) + "\n")


def _end(number: int, won: float) -> str:
    return f't "" {number} "{number}" {{ {won!r} {-won!r} }}'


def _uneven_result(rules: RedAndBlackRules, found: list[Situation], rest: float) -> float:
    """Return a bettor's mean result in bets where the first four cards are not two and two."""
    whole = rules.cards_per_colour
    ways = [math.comb(whole, k) * math.comb(whole, CARDS_EACH - k) for k in range(CARDS_EACH + 1)]
    mean = math.fsum(w * pay for w, pay in zip(ways, PAYOUTS, strict=True)) / sum(ways)
    even = math.fsum(situation.prob * doubling_gain(situation) for situation in found)
    return (mean - even) / rest


def child_named(state: pyspiel.State, name: str) -> pyspiel.State:
    """Return the state after the action of this name (ids in such a game follow no order)."""
    return state.child(state.string_to_action(name))
