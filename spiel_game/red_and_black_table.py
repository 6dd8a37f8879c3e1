"""Red and Black as immutable tuples: bets, cards and choices to double, one at a time.

The rules alone, without OpenSpiel; :mod:`spiel_game.red_and_black` says what is played.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from solver.rules import InputError
from spiel_game.limits import MOST_HANDS, check_number

__all__ = [
    "BET",
    "BLACK",
    "CARDS_EACH",
    "DEAL",
    "DOUBLE",
    "MOST_PLAYERS",
    "OVER",
    "PAYOUTS",
    "RED",
    "Hand",
    "RedAndBlackRules",
    "Table",
    "apply_move",
    "bettor_seat",
    "cards_left",
    "may_double",
    "next_seat",
    "now_string",
    "phase_of",
    "start",
    "table_string",
]

RED, BLACK = 0, 1
"""Colours of cards and of bets."""

CARDS_EACH = 5
"""Cards dealt to each bettor."""

MOST_PLAYERS = 21
"""As many as two packs suffice for; larger packs are for no more players."""

PAYOUTS = (-4, -2, -1, 1, 2, 4)
"""A bettor's net result in bets, by the number of cards of the colour bet on."""

BET, DEAL, DOUBLE, OVER = range(4)
"""What comes next."""


@dataclass(frozen=True)
class RedAndBlackRules:
    """The parameters of the game, checked; see the module."""

    players: int = 2
    min_bet: int = 1
    max_bet: int = 2
    hands: int = 0
    ante: int = 0
    cards_per_colour: int = 52
    bet_step: int = 1

    def __post_init__(self) -> None:
        fewest = -(-CARDS_EACH // 2)
        check_number("cards_per_colour", self.cards_per_colour, fewest)
        most = min(2 * self.cards_per_colour // CARDS_EACH + 1, MOST_PLAYERS)
        if not 2 <= self.players <= most:
            raise InputError(
                f"players {self.players}: 2 to {most} can play with {2 * self.cards_per_colour} "
                f"cards, {CARDS_EACH} for each but the banker"
            )
        check_number("min_bet", self.min_bet, 1)
        if self.max_bet < self.min_bet:
            raise InputError(f"max_bet {self.max_bet}: at least min_bet, {self.min_bet}")
        check_number("max_bet", self.max_bet, 1)
        check_number("hands", self.hands, 0, MOST_HANDS)
        check_number("ante", self.ante, 0)
        check_number("bet_step", self.bet_step, 1)

    @property
    def num_hands(self) -> int:
        """Hands played: ``hands``, or one for each seat."""
        return self.hands or self.players

    @property
    def num_bettors(self) -> int:
        """Players who bet in a hand: all but the banker."""
        return self.players - 1

    @property
    def num_bets(self) -> int:
        """How many amounts a bet may have."""
        return (self.max_bet - self.min_bet) // self.bet_step + 1

    @property
    def largest_bet(self) -> int:
        """Chips of the largest bet that the steps reach; ``max_bet`` where they fit."""
        return self.amount(2 * (self.num_bets - 1))

    def amount(self, bet: int) -> int:
        """Return the chips of a bet action."""
        return self.min_bet + bet // 2 * self.bet_step


class Hand(NamedTuple):
    """One hand, as far as it is played.

    Attributes
    ----------
    bets : tuple of int
        Bet actions, from the banker's left.
    cards : tuple of int
        Cards dealt, red 0, black 1: five for each bettor in turn.
    doubled : tuple of bool
        For each bettor who has had four cards: whether the bet was doubled.
    """

    bets: tuple[int, ...] = ()
    cards: tuple[int, ...] = ()
    doubled: tuple[bool, ...] = ()


class Table(NamedTuple):
    """A game between two moves.

    Attributes
    ----------
    rules : RedAndBlackRules
    hand : Hand
        The hand being played; empty when the game is over.
    past : tuple of Hand
        Hands played.
    net : tuple of int, length players
        Chips won or lost by each seat, antes included, as far as settled.
    """

    rules: RedAndBlackRules
    hand: Hand
    past: tuple[Hand, ...]
    net: tuple[int, ...]

    def __deepcopy__(self, memo: dict) -> Table:
        """Return itself: nothing in it can change."""
        return self


def bettor_seat(table: Table, bettor: int) -> int:
    """Return the seat of the ``bettor``-th player from the banker's left."""
    return (len(table.past) + 1 + bettor) % table.rules.players


def may_double(cards: tuple[int, ...]) -> bool:
    """Whether a bettor's first four cards are two red and two black."""
    return len(cards) == CARDS_EACH - 1 and 2 * sum(cards) == len(cards)


def phase_of(table: Table) -> int:
    """Return what comes next: BET, DEAL, DOUBLE or OVER."""
    hand = table.hand
    if len(table.past) == table.rules.num_hands:
        return OVER
    if len(hand.bets) < table.rules.num_bettors:
        return BET
    bettor, num_dealt = divmod(len(hand.cards), CARDS_EACH)
    return DOUBLE if num_dealt == CARDS_EACH - 1 and len(hand.doubled) == bettor else DEAL


def next_seat(table: Table) -> int:
    """Return the seat that is to bet or to double."""
    hand = table.hand
    return bettor_seat(table, len(hand.bets if phase_of(table) == BET else hand.doubled))


def cards_left(table: Table) -> tuple[int, int]:
    """Return the red and black cards still in the pack."""
    black = sum(table.hand.cards)
    whole = table.rules.cards_per_colour
    return whole - (len(table.hand.cards) - black), whole - black


def start(rules: RedAndBlackRules) -> Table:
    """Return the table before the first bet."""
    return _pay_antes(Table(rules, Hand(), (), (0,) * rules.players))


def apply_move(table: Table, action: int) -> Table:
    """Return the table after a bet, a card, or a choice to double (which the caller checked)."""
    hand = table.hand
    phase = phase_of(table)
    if phase == BET:
        return table._replace(hand=hand._replace(bets=(*hand.bets, action)))
    if phase == DOUBLE:
        return table._replace(hand=hand._replace(doubled=(*hand.doubled, action == 1)))
    hand = hand._replace(cards=(*hand.cards, action))
    bettor, num_dealt = divmod(len(hand.cards), CARDS_EACH)
    if num_dealt == CARDS_EACH - 1 and not may_double(hand.cards[bettor * CARDS_EACH :]):
        hand = hand._replace(doubled=(*hand.doubled, False))
    table = table._replace(hand=hand)
    return _settle(table, bettor - 1) if num_dealt == 0 else table


def _settle(table: Table, bettor: int) -> Table:
    """Pay a bettor who has five cards; after the last one, start the next hand."""
    hand, rules = table.hand, table.rules
    bet = hand.bets[bettor]
    num_own = hand.cards[bettor * CARDS_EACH :].count(bet % 2)
    won = rules.amount(bet) * (2 if hand.doubled[bettor] else 1) * PAYOUTS[num_own]
    net = list(table.net)
    net[bettor_seat(table, bettor)] += won
    net[len(table.past) % rules.players] -= won
    table = table._replace(net=tuple(net))
    if bettor < rules.num_bettors - 1:
        return table
    return _pay_antes(table._replace(hand=Hand(), past=(*table.past, hand)))


def _pay_antes(table: Table) -> Table:
    rules = table.rules
    if len(table.past) == rules.num_hands:
        return table
    banker = len(table.past) % rules.players
    net = [won - rules.ante for won in table.net]
    net[banker] += rules.players * rules.ante
    return table._replace(net=tuple(net))


def hand_string(rules: RedAndBlackRules, hand: Hand) -> str:
    """Return a hand as text, ``2R 1B RRBRB RBRBxR``; x the bet was doubled, - it could have been.

    Different hands have different texts.
    """
    parts = [f"{rules.amount(bet)}{'RB'[bet % 2]}" for bet in hand.bets]
    for begin in range(0, len(hand.cards), CARDS_EACH):
        cards = hand.cards[begin : begin + CARDS_EACH]
        text = "".join("RB"[card] for card in cards)
        bettor = begin // CARDS_EACH
        if may_double(cards[:4]) and bettor < len(hand.doubled):
            text = f"{text[:4]}{'x' if hand.doubled[bettor] else '-'}{text[4:]}"
        parts.append(text)
    return " ".join(parts)


def table_string(table: Table) -> str:
    """Return the whole past, hands apart by a slash."""
    hands = [*table.past, table.hand] if phase_of(table) != OVER else table.past
    return " / ".join(hand_string(table.rules, hand) for hand in hands)


def now_string(table: Table) -> str:
    """Return the present without past hands."""
    if phase_of(table) == OVER:
        return f"over, net {' '.join(map(str, table.net))}"
    red, black = cards_left(table)
    number = len(table.past) + 1
    return (
        f"hand {number}: {hand_string(table.rules, table.hand)} | left {red}R {black}B | "
        f"net {' '.join(map(str, table.net))}"
    )
