"""The Put and Take pools as an OpenSpiel game, ``python_put_and_take``: chance alone.

Each player but the banker gets five cards face up from one pack.  The banker turns five put cards,
for which players pay into the pool by the cards they hold, then five take cards, none of them
turned before, for which they take on the same scale.  The banker keeps a surplus and makes good a
shortage.

Parameters: ``scale`` (``doubling``, ``easy_go``, ``red_and_black`` or ``river``, see
:func:`spiel_game.put_and_take_rules.payment`), ``players`` (2; up to 8), ``ante`` (1; chips that
everyone but the banker puts into the pool first).  A value outside its range raises
:class:`solver.rules.InputError`, one of the wrong type ``pyspiel.SpielError``.

Every card is a chance node, its action the card (``4 * rank + suit``): five cards for each player
from the banker's left, the put cards, the take cards.  Seat 0 banks.  Utility is net chips.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyspiel

from solver.rules import InputError
from spiel_game.put_and_take_rules import (
    MOST_PLAYERS,
    NUM_CARDS,
    PutAndTakeRules,
    card_name,
    net_results,
)

__all__ = ["PutAndTakeGame", "PutAndTakeState"]

_DEFAULTS = {field.name: field.default for field in fields(PutAndTakeRules)}

_GAME_TYPE = pyspiel.GameType(
    short_name="python_put_and_take",
    long_name="Python Put and Take",
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
    parameter_specification=_DEFAULTS,
)


def _game_info(rules: PutAndTakeRules) -> pyspiel.GameInfo:
    most = rules.num_hands * (rules.most_paid + rules.ante)
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_CARDS,
        max_chance_outcomes=NUM_CARDS,
        num_players=rules.players,
        min_utility=-float(most),
        max_utility=float(most),
        utility_sum=0.0,
        max_game_length=0,
    )


class PutAndTakeGame(pyspiel.Game):
    """The game; ``rules`` holds its parameters."""

    def __init__(self, params: dict | None = None) -> None:
        values = _DEFAULTS | (params or {})
        self.rules = PutAndTakeRules(**values)
        super().__init__(_GAME_TYPE, _game_info(self.rules), values)

    def new_initial_state(self) -> PutAndTakeState:
        """Return the state before the first card."""
        return PutAndTakeState(self, self.rules)

    def make_py_observer(self, iig_obs_type=None, params=None) -> Observer:
        """Return an observer; everything is public."""
        return Observer(self.rules, iig_obs_type, params)

    def max_chance_nodes_in_history(self) -> int:
        """Return how many cards a game uses."""
        return self.rules.num_dealt


class PutAndTakeState(pyspiel.State):
    """A state; ``cards`` are those dealt and turned so far, an immutable tuple."""

    def __init__(self, game: PutAndTakeGame, rules: PutAndTakeRules) -> None:
        super().__init__(game)
        self.rules = rules
        self.cards: tuple[int, ...] = ()

    def current_player(self) -> int:
        """Return CHANCE or TERMINAL."""
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else pyspiel.PlayerId.CHANCE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the cards still in the pack, all as likely."""
        prob = 1.0 / (NUM_CARDS - len(self.cards))
        return [(card, prob) for card in range(NUM_CARDS) if card not in self.cards]

    def _apply_action(self, action: int) -> None:
        if self.is_terminal() or not 0 <= action < NUM_CARDS or action in self.cards:
            raise ValueError(f"action {action}: allowed are cards, 0 to 51, not yet dealt")
        self.cards = (*self.cards, action)

    def _action_to_string(self, player: int, action: int) -> str:
        return card_name(action)

    def is_terminal(self) -> bool:
        """Whether all cards are turned."""
        return len(self.cards) == self.rules.num_dealt

    def returns(self) -> list[float]:
        """Return each seat's net chips, zeros before the end."""
        if not self.is_terminal():
            return [0.0] * self.rules.players
        return [float(won) for won in net_results(self.rules, self.cards)]

    def __str__(self) -> str:
        return " ".join(card_name(card) for card in self.cards)


class Observer:
    """Tensors and strings; everything is public and never taken back, so private pieces are empty.

    Pieces: ``player`` [P]; ``cards`` [cards of a game, 52], one-hot in the order of dealing.
    """

    def __init__(self, rules: PutAndTakeRules, iig_obs_type, params) -> None:
        if params:
            raise InputError(f"observation parameters {params}: there are none")
        self._is_public = iig_obs_type is None or iig_obs_type.public_info
        num_shown = NUM_CARDS * rules.num_dealt if self._is_public else 0
        self.tensor = np.zeros(rules.players + num_shown, np.float32)
        self.dict = {"player": self.tensor[: rules.players]}
        if self._is_public:
            self.dict["cards"] = self.tensor[rules.players :].reshape(-1, NUM_CARDS)

    def set_from(self, state, player: int) -> None:
        """Fill the tensors with the view of ``player``."""
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if self._is_public:
            self.dict["cards"][range(len(state.cards)), state.cards] = 1

    def string_from(self, state, player: int) -> str:
        """Return the view of ``player`` as text."""
        return f"P{player} | {state}" if self._is_public else f"P{player}"


pyspiel.register_game(_GAME_TYPE, PutAndTakeGame)
