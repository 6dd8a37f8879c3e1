"""Red and Black as an OpenSpiel game, ``python_red_and_black``.

In each hand everyone but the banker bets on red or black, in the open, from the banker's left.  The
banker then deals each of them five cards face up from one shuffled pack; who has two of either
colour after four cards may double the bet.  A hand over, the bank passes one seat to the left and
the pack is shuffled again.  Nothing is hidden and every card is a chance node, red or black.

Parameters: ``players`` (2), ``min_bet`` (1), ``max_bet`` (2), ``hands`` (0: one for each seat),
``ante`` (0; chips that everyone but the banker pays the banker before each hand),
``cards_per_colour`` (52, two packs), ``bet_step`` (1: bets are ``min_bet``, ``min_bet + bet_step``,
... up to ``max_bet``).  A value outside its range raises :class:`solver.rules.InputError`, one of
the wrong type ``pyspiel.SpielError``.

Actions: a bet is ``2 * step + colour`` with red 0, black 1; to double 1, to leave the bet 0; a card
is its colour.  Seat ``h mod players`` banks in hand ``h``.  Utility is net chips.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyspiel

from solver.rules import InputError
from spiel_game import red_and_black_table as tables
from spiel_game.red_and_black_table import (
    BET,
    CARDS_EACH,
    DEAL,
    DOUBLE,
    MOST_PLAYERS,
    OVER,
    PAYOUTS,
    Hand,
    RedAndBlackRules,
    Table,
    cards_left,
    next_seat,
    now_string,
    phase_of,
    table_string,
)

__all__ = ["RedAndBlackGame", "RedAndBlackState"]

_DEFAULTS = {field.name: field.default for field in fields(RedAndBlackRules)}


_GAME_TYPE = pyspiel.GameType(
    short_name="python_red_and_black",
    long_name="Python Red and Black",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MOST_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification=_DEFAULTS,
)


def _game_info(rules: RedAndBlackRules) -> pyspiel.GameInfo:
    most = PAYOUTS[-1] * rules.max_bet
    lowest, highest = 0, 0
    for seat in range(rules.players):
        banked = len(range(seat, rules.num_hands, rules.players))
        bet = rules.num_hands - banked
        antes = rules.ante * (banked * rules.num_bettors - bet)
        swing = most * (banked * rules.num_bettors + bet)
        lowest, highest = min(lowest, antes - swing), max(highest, antes + swing)
    return pyspiel.GameInfo(
        num_distinct_actions=2 * rules.num_bets,
        max_chance_outcomes=2,
        num_players=rules.players,
        min_utility=float(lowest),
        max_utility=float(highest),
        utility_sum=0.0,
        max_game_length=2 * rules.num_bettors * rules.num_hands,
    )


class RedAndBlackGame(pyspiel.Game):
    """The game; ``rules`` holds its parameters."""

    def __init__(self, params: dict | None = None) -> None:
        values = _DEFAULTS | (params or {})
        self.rules = RedAndBlackRules(**values)
        self._start = tables.start(self.rules)
        super().__init__(_GAME_TYPE, _game_info(self.rules), values)

    def new_initial_state(self) -> RedAndBlackState:
        """Return the state before the first bet."""
        return RedAndBlackState(self, self._start)

    def make_py_observer(self, iig_obs_type=None, params=None) -> Observer:
        """Return an observer; everything is public."""
        return Observer(self.rules, iig_obs_type, params)


class RedAndBlackState(pyspiel.State):
    """A state; ``table`` is immutable and shared by clones."""

    def __init__(self, game: RedAndBlackGame, table: Table) -> None:
        super().__init__(game)
        self.table = table

    def current_player(self) -> int:
        """Return who moves, CHANCE or TERMINAL."""
        phase = phase_of(self.table)
        if phase == OVER:
            return pyspiel.PlayerId.TERMINAL
        return pyspiel.PlayerId.CHANCE if phase == DEAL else next_seat(self.table)

    def _legal_actions(self, player: int) -> list[int]:
        return list(range(2 * self.table.rules.num_bets if phase_of(self.table) == BET else 2))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the next card's colours with their probabilities."""
        left = cards_left(self.table)
        return [(colour, num / sum(left)) for colour, num in enumerate(left) if num]

    def _apply_action(self, action: int) -> None:
        if self.is_chance_node():
            allowed = [outcome for outcome, _ in self.chance_outcomes()]
        else:
            allowed = self._legal_actions(self.current_player())
        if action not in allowed:
            raise ValueError(f"action {action}: allowed are {', '.join(map(str, allowed))}")
        self.table = tables.apply_move(self.table, action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return ("red", "black")[action]
        if phase_of(self.table) == DOUBLE:
            return "double" if action else "leave"
        return f"bet {self.table.rules.amount(action)} on {('red', 'black')[action % 2]}"

    def is_terminal(self) -> bool:
        """Whether all hands are played."""
        return phase_of(self.table) == OVER

    def returns(self) -> list[float]:
        """Return each seat's net chips, zeros before the end."""
        if not self.is_terminal():
            return [0.0] * self.table.rules.players
        return [float(won) for won in self.table.net]

    def __str__(self) -> str:
        return table_string(self.table)


class Observer:
    """Tensors and strings; everything is public, so private pieces are empty.

    Pieces (P players, H hands): ``player`` [P], ``to_act`` [P], ``banker`` [P], ``left`` [2] red
    and black cards in the pack, ``net`` [P] chips; of this hand by bettor from the banker's left
    ``bets`` [P-1, 2] chips on red and black, ``cards`` [P-1, 5, 2], ``doubled`` [P-1].  With
    perfect recall also the last three for each hand played: ``past_bets`` [H, P-1, 2] and so on.
    """

    def __init__(self, rules: RedAndBlackRules, iig_obs_type, params) -> None:
        if params:
            raise InputError(f"observation parameters {params}: there are none")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        self._public, self._recall = kind.public_info, kind.perfect_recall
        p, b, h = rules.players, rules.num_bettors, rules.num_hands
        shapes: dict[str, tuple[int, ...]] = {"player": (p,)}
        if self._public:
            shapes |= {"to_act": (p,), "banker": (p,), "left": (2,), "net": (p,)}
            shapes |= {"bets": (b, 2), "cards": (b, CARDS_EACH, 2), "doubled": (b,)}
        if self._public and self._recall:
            shapes |= {"past_bets": (h, b, 2), "past_cards": (h, b, CARDS_EACH, 2)}
            shapes |= {"past_doubled": (h, b)}
        sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        self.dict = {}
        begin = 0
        for name, shape in shapes.items():
            self.dict[name] = self.tensor[begin : begin + sizes[name]].reshape(shape)
            begin += sizes[name]

    def set_from(self, state, player: int) -> None:
        """Fill the tensors with the view of ``player``."""
        table = state.table
        views = self.dict
        self.tensor.fill(0)
        views["player"][player] = 1
        if not self._public:
            return
        views["net"][:] = table.net
        if phase_of(table) != OVER:
            views["banker"][len(table.past) % table.rules.players] = 1
            views["left"][:] = cards_left(table)
            names = ("bets", "cards", "doubled")
            _fill_hand(table.rules, table.hand, [views[name] for name in names])
        if phase_of(table) in (BET, DOUBLE):
            views["to_act"][next_seat(table)] = 1
        if self._recall:
            names = ("past_bets", "past_cards", "past_doubled")
            for number, hand in enumerate(table.past):
                _fill_hand(table.rules, hand, [views[name][number] for name in names])

    def string_from(self, state, player: int) -> str:
        """Return the view of ``player`` as text."""
        if not self._public:
            return f"P{player}"
        text = table_string if self._recall else now_string
        return f"P{player} | {text(state.table)}"


def _fill_hand(rules: RedAndBlackRules, hand: Hand, views: list[np.ndarray]) -> None:
    bets, cards, doubled = views
    for bettor, bet in enumerate(hand.bets):
        bets[bettor, bet % 2] = rules.amount(bet)
    for number, card in enumerate(hand.cards):
        cards[number // CARDS_EACH, number % CARDS_EACH, card] = 1
    doubled[: len(hand.doubled)] = hand.doubled


pyspiel.register_game(_GAME_TYPE, RedAndBlackGame)
