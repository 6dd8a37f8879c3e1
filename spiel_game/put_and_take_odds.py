"""What the Put and Take pools pay on average and how far results spread, exactly.

Put and take cards are exchangeable, so without an ante everybody's expectation is 0, and for the
spread two cards turned at once are enough.  Let ``f_k(h, c)`` be what hand ``h`` pays if card ``c``
is turned at turn ``k``, and ``c'`` another card turned.  In the variance of ``take - put`` all
products of two different turns cancel, and::

    Cov(net of h, net of h') = 2 sum over k of E[f_k(h, c) f_k(h', c)] - E[f_k(h, c) f_k(h', c')]

A payment is linear in three features of the hand (see
:func:`spiel_game.put_and_take_rules.features`).  Their second moments come from enumerating how
many cards the hand holds of each kind, where a kind is how a card relates to ``c`` and to ``c'``;
a second hand then counts by its mean, given what the first one left.  Everything is a
:class:`fractions.Fraction`, in chips and chips squared.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from spiel_game.put_and_take_rules import (
    HAND,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    SUIT_BONUS_FROM,
    TURNS,
    PutAndTakeRules,
    is_red,
    weights,
)

__all__ = ["Moments", "PoolOdds", "pool_odds", "second_moments"]

_Kind = tuple[bool, bool, bool]
_Matrix = tuple[tuple[Fraction, ...], ...]

_RANKS = range(NUM_RANKS)
_FEATURE_PAIRS = [(i, j) for i in range(3) for j in range(3)]


@dataclass(frozen=True)
class PoolOdds:
    """Exact expectations and variances of one hand; a player is anyone but the banker.

    Attributes
    ----------
    expected_put : Fraction
        Chips that a player pays for the put cards; the ante is not among them.
    put_parts : tuple of Fraction, length 3
        The same by what is paid for: rank, colour (``easy_go``), suit (``red_and_black``).
    put_variance : Fraction
        Of that payment.
    expected_net, variance : Fraction
        Of a player's net result, the ante paid.
    banker_expected, banker_variance : Fraction
        Of the banker's net result.
    """

    expected_put: Fraction
    put_parts: tuple[Fraction, ...]
    put_variance: Fraction
    expected_net: Fraction
    variance: Fraction
    banker_expected: Fraction
    banker_variance: Fraction


class Moments(NamedTuple):
    """Means of the products of two features, first axis by ``c``, second by ``c'``.

    Attributes
    ----------
    prob : Fraction
        That two turned cards, or one taken twice, are related in this way.
    is_same_rank : bool
        Whether they are.
    same_hand, other_hand : tuple of tuple of Fraction, 3 x 3
        ``E[feature_i(h, c) feature_j(h, c')]``, and the same with another player's ``h'``.
    """

    prob: Fraction
    is_same_rank: bool
    same_hand: _Matrix
    other_hand: _Matrix


def pool_odds(rules: PutAndTakeRules) -> PoolOdds:
    """Return expectations and variances.

    Examples
    --------
    >>> odds = pool_odds(PutAndTakeRules("doubling", players=3, ante=1))
    >>> odds.expected_put, odds.expected_net, odds.banker_expected
    (Fraction(155, 17), Fraction(-1, 1), Fraction(2, 1))
    """
    turns = range(TURNS)
    means = _expected_features(Counter(_kind(card, 0) for card in range(1, NUM_CARDS)))
    parts = tuple(
        mean * _total(_mean_weight(rules.scale, turn, which) for turn in turns)
        for which, mean in enumerate(means)
    )
    expected_put = _total(parts)
    once, twice = second_moments(is_one_card=True), second_moments(is_one_card=False)
    one_card = [_mean_product(rules.scale, turn, turn, once) for turn in turns]
    two_cards = [[_mean_product(rules.scale, k, j, twice) for j in turns] for k in turns]
    put_square = _total(same for same, _ in one_card) + _total(
        two_cards[k][j][0] for k in turns for j in turns if k != j
    )
    variance, covariance = (
        2 * _total(one_card[k][hand] - two_cards[k][k][hand] for k in turns) for hand in (0, 1)
    )
    num = rules.num_hands
    return PoolOdds(
        expected_put=expected_put,
        put_parts=parts,
        put_variance=put_square - expected_put**2,
        expected_net=Fraction(-rules.ante),
        variance=variance,
        banker_expected=Fraction(num * rules.ante),
        banker_variance=num * variance + num * (num - 1) * covariance,
    )


def _total(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def _mean_weight(scale: str, turn: int, which: int) -> Fraction:
    """Average the weight of a feature over ranks."""
    return Fraction(sum(weights(scale, turn, rank)[which] for rank in _RANKS), len(_RANKS))


def _mean_product(
    scale: str, first: int, second: int, moments: list[Moments]
) -> tuple[Fraction, Fraction]:
    """Return the mean product of what ``c`` pays at one turn and ``c'`` at another.

    First for one hand, then for two.
    """
    means = [Fraction(0), Fraction(0)]
    for related in moments:
        pairs = [(a, b) for a in _RANKS for b in _RANKS if (a == b) == related.is_same_rank]
        paid = [(weights(scale, first, a), weights(scale, second, b)) for a, b in pairs]
        for i, j in _FEATURE_PAIRS:
            pay = Fraction(sum(x[i] * y[j] for x, y in paid), len(paid))
            means[0] += related.prob * pay * related.same_hand[i][j]
            means[1] += related.prob * pay * related.other_hand[i][j]
    return means[0], means[1]


def second_moments(*, is_one_card: bool, num_cards: int = NUM_CARDS) -> list[Moments]:
    """Return the second moments of the features, by how the two turned cards are related.

    Parameters
    ----------
    is_one_card : bool
        Whether ``c'`` is ``c`` itself, or another card.
    num_cards : int
        Of the pack, the first of them; at least two hands and the cards turned.

    Returns
    -------
    list of Moments
        One entry for each relation of the cards, in numbers of cards squared; ``prob`` sums to 1.

    Examples
    --------
    >>> [(str(m.prob), m.is_same_rank) for m in second_moments(is_one_card=True)]
    [('1', True)]
    """
    turned = 0  # stands for any card, since all are alike to their features
    others = [turned] if is_one_card else range(1, num_cards)
    found: dict[tuple[bool, frozenset], tuple[Counter, int]] = {}
    for other in others:
        left = (card for card in range(num_cards) if card not in (turned, other))
        kinds = Counter((_kind(card, turned), _kind(card, other)) for card in left)
        key = (other // NUM_SUITS == turned // NUM_SUITS, frozenset(kinds.items()))
        found[key] = kinds, found.get(key, (kinds, 0))[1] + 1
    return [
        Moments(Fraction(times, len(others)), is_same_rank, *_products(kinds))
        for (is_same_rank, _), (kinds, times) in found.items()
    ]


def _kind(card: int, turned: int) -> _Kind:
    """Return how a card relates to a turned one: by rank; by rank and colour; by suit."""
    is_rank = card // NUM_SUITS == turned // NUM_SUITS
    return (
        is_rank,
        is_rank and is_red(card) == is_red(turned),
        card % NUM_SUITS == turned % NUM_SUITS,
    )


def _products(kinds: Counter[tuple[_Kind, _Kind]]) -> tuple[_Matrix, _Matrix]:
    """Return the mean products of features for one hand, and for two, from cards of these kinds."""
    names, sizes = list(kinds), list(kinds.values())
    same, apart = ([[Fraction(0)] * 3 for _ in range(3)] for _ in range(2))
    for held in _hands(sizes, HAND):
        ways = math.prod(map(math.comb, sizes, held))
        prob = Fraction(ways, math.comb(sum(sizes), HAND))
        first, second = (_side(names, held, side) for side in (0, 1))
        own = _features(first), _features(second)
        left = _side(names, map(operator.sub, sizes, held), 1)
        expected = _expected_features(left)
        for i, j in _FEATURE_PAIRS:
            same[i][j] += prob * own[0][i] * own[1][j]
            apart[i][j] += prob * own[0][i] * expected[j]
    return tuple(map(tuple, same)), tuple(map(tuple, apart))


def _hands(sizes: list[int], num_cards: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to hold so many cards of these kinds."""
    if not sizes:
        if num_cards == 0:
            yield ()
        return
    for num in range(min(sizes[0], num_cards) + 1):
        for rest in _hands(sizes[1:], num_cards - num):
            yield num, *rest


def _side(names: Iterable[tuple[_Kind, _Kind]], nums: Iterable[int], side: int) -> Counter[_Kind]:
    """Add up cards by how they relate to one of the two cards turned."""
    cards: Counter[_Kind] = Counter()
    for name, num in zip(names, nums, strict=True):
        cards[name[side]] += num
    return cards


def _numbers(cards: Counter[_Kind]) -> tuple[int, ...]:
    """Return how many cards are of the turned rank, of its rank and colour, of its suit."""
    return tuple(sum(num for kind, num in cards.items() if kind[which]) for which in range(3))


def _features(hand: Counter[_Kind]) -> tuple[int, int, int]:
    num_rank, num_colour, num_suit = _numbers(hand)
    return num_rank, num_colour, int(num_suit >= SUIT_BONUS_FROM)


def _expected_features(left: Counter[_Kind]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the mean features of a hand dealt from these cards."""
    total = left.total()
    num_rank, num_colour, num_suit = _numbers(left)
    suited = sum(
        math.comb(num_suit, num) * math.comb(total - num_suit, HAND - num)
        for num in range(SUIT_BONUS_FROM, HAND + 1)
    )
    return (
        Fraction(HAND * num_rank, total),
        Fraction(HAND * num_colour, total),
        Fraction(suited, math.comb(total, HAND)),
    )
