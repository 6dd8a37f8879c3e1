"""The Put and Take pools on plain numbers: cards, what a turned card pays, and who settles what.

The rules alone, without OpenSpiel; :mod:`spiel_game.put_and_take` says what is played.  A card is
``4 * rank + suit``: rank 0 is the ace, 12 the king, suits are clubs, diamonds, hearts, spades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solver.rules import InputError
from spiel_game.limits import check_number

__all__ = [
    "HAND",
    "MOST_PLAYERS",
    "NUM_CARDS",
    "NUM_RANKS",
    "NUM_SUITS",
    "SCALES",
    "SUIT_BONUS_FROM",
    "TURNS",
    "PutAndTakeRules",
    "card_name",
    "features",
    "is_red",
    "net_results",
    "payment",
    "weights",
]

SCALES = ("doubling", "easy_go", "red_and_black", "river")
"""What a turned card may pay; the first is the regular one."""

NUM_RANKS = 13
NUM_SUITS = 4
NUM_CARDS = NUM_RANKS * NUM_SUITS

HAND = 5
"""Cards held by each player but the banker."""

TURNS = 5
"""Put cards turned, and then as many take cards."""

SUIT_BONUS_FROM = 3
"""Cards of the turned suit that a hand must hold for the bonus of ``red_and_black``."""

MOST_PLAYERS = 8
"""The banker and seven hands; 45 cards of 52 are then used."""


@dataclass(frozen=True)
class PutAndTakeRules:
    """The parameters of the game, checked."""

    scale: str = SCALES[0]
    players: int = 2
    ante: int = 1

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise InputError(f"scale {self.scale!r}: allowed are {', '.join(SCALES)}")
        if not 2 <= self.players <= MOST_PLAYERS:
            raise InputError(
                f"players {self.players}: 2 to {MOST_PLAYERS} can play, the banker among them"
            )
        check_number("ante", self.ante, 0)

    @property
    def num_hands(self) -> int:
        """Players who hold cards: all but the banker."""
        return self.players - 1

    @property
    def num_dealt(self) -> int:
        """Cards that a game uses: hands, put cards, take cards."""
        return HAND * self.num_hands + 2 * TURNS

    @property
    def most_paid(self) -> int:
        """Chips, never exceeded, that a hand pays for five turned cards (or takes)."""
        return sum(
            (NUM_SUITS - 1) * by_rank + by_colour + by_suit
            for by_rank, by_colour, by_suit in (
                weights(self.scale, turn, NUM_RANKS - 1) for turn in range(TURNS)
            )
        )


def is_red(card: int) -> bool:
    """Whether a card is a diamond or a heart."""
    return card % NUM_SUITS in (1, 2)


def card_name(card: int) -> str:
    """Return a card as people write it.

    Examples
    --------
    >>> [card_name(card) for card in (0, 37, 51)]
    ['AC', '10D', 'KS']
    """
    rank, suit = divmod(card, NUM_SUITS)
    return f"{('A', *range(2, 11), 'J', 'Q', 'K')[rank]}{'CDHS'[suit]}"


def features(turned: int, hand: Sequence[int]) -> tuple[int, int, int]:
    """Return what counts of a hand when a card is turned, as three integers.

    The cards of its rank; those of them that are also of its colour; and 1 if three or more are of
    its suit, else 0.
    """
    same_rank = [card for card in hand if card // NUM_SUITS == turned // NUM_SUITS]
    num_suit = sum(card % NUM_SUITS == turned % NUM_SUITS for card in hand)
    same_colour = sum(is_red(card) == is_red(turned) for card in same_rank)
    return len(same_rank), same_colour, int(num_suit >= SUIT_BONUS_FROM)


def weights(scale: str, turn: int, rank: int) -> tuple[int, int, int]:
    """Return the chips paid for each of :func:`features`, for a card of ``rank`` turned.

    ``turn`` is 0 for the first put or take card, 4 for the last.
    """
    if scale == "river":
        return rank + 1, 0, 0
    return 2**turn, int(scale == "easy_go"), turn + 1 if scale == "red_and_black" else 0


def payment(scale: str, turn: int, turned: int, hand: Sequence[int]) -> int:
    """Return the chips that a hand pays (or takes) for the card turned at ``turn``, 0 to 4.

    Examples
    --------
    >>> payment("doubling", 4, 0, [1, 2, 8, 12, 16]), payment("river", 4, 48, [49, 0, 4, 8, 12])
    (32, 13)
    """
    pays = weights(scale, turn, turned // NUM_SUITS)
    return sum(count * pay for count, pay in zip(features(turned, hand), pays, strict=True))


def net_results(rules: PutAndTakeRules, cards: Sequence[int]) -> tuple[int, ...]:
    """Return each seat's net chips, the banker first.

    ``cards`` are all that the game uses, as they come: the hands from the banker's left, the put
    cards, the take cards.
    """
    put = cards[-2 * TURNS : -TURNS]
    take = cards[-TURNS:]
    nets = []
    for begin in range(0, HAND * rules.num_hands, HAND):
        hand = cards[begin : begin + HAND]
        net = -rules.ante
        for turn in range(TURNS):
            net += payment(rules.scale, turn, take[turn], hand)
            net -= payment(rules.scale, turn, put[turn], hand)
        nets.append(net)
    return -sum(nets), *nets
