"""Betting Black and White as an OpenSpiel game, ``python_betting_black_white``.

Both players' secret setups are placed one tile and one stack at a time, player 0's whole setup
before player 1's, each hidden from the other; then the slots are played.  The order and the
meaning of actions are those of :mod:`spiel_game.position`, and action ids are reused:

=============  =====================================================
phase          action
=============  =====================================================
place a tile   its number
place chips    how many
match or fold  0 fold, 1 match
pulls          how many chips the tile now asked gives
=============  =====================================================

Choices with one option are made without asking.  With ``objective=win`` the game goes on to slot N
even if a player can no longer lose.  Parameters: ``num_tiles`` (10), ``num_chips`` (30), ``pulls``
(``free``, ``tiles`` or ``latest``), ``objective`` (``win`` or ``chips``); a value outside its
range raises :class:`solver.rules.InputError`, one of the wrong type ``pyspiel.SpielError``.
"""

from __future__ import annotations

import pyspiel

from solver.rules import Game as Rules
from solver.rules import InputError
from spiel_game import position as positions
from spiel_game.position import DECIDE, OVER, PLACE_CHIPS, PLACE_TILE, PULL, Position
from spiel_game.views import Observer, information_state_string

__all__ = ["BettingBlackWhiteGame", "BettingBlackWhiteState"]

_DEFAULTS = {"num_tiles": 10, "num_chips": 30, "pulls": "free", "objective": "win"}

_GAME_TYPE = pyspiel.GameType(
    short_name="python_betting_black_white",
    long_name="Python Betting Black and White",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification=_DEFAULTS,
)


def _game_info(rules: Rules) -> pyspiel.GameInfo:
    n, most = rules.num_tiles, rules.num_chips - rules.num_tiles + 1
    most_pulls = n * (n - 1) // 2 if rules.pulls != "latest" else 0
    bound = 1.0 if rules.is_win else float(rules.num_chips)
    return pyspiel.GameInfo(
        num_distinct_actions=max(n, most + 1),
        max_chance_outcomes=0,
        num_players=2,
        min_utility=-bound,
        max_utility=bound,
        utility_sum=0.0,
        max_game_length=4 * (n - 1) + n + most_pulls,
    )


class BettingBlackWhiteGame(pyspiel.Game):
    """The game; ``rules`` holds its parameters as :class:`solver.rules.Game`."""

    def __init__(self, params: dict | None = None) -> None:
        values = _DEFAULTS | (params or {})
        self.rules = Rules(**values)
        if self.rules.num_tiles < 2:
            raise InputError(
                f"number of tiles {self.rules.num_tiles}: a game with choices needs at least 2"
            )
        self.num_tiles = self.rules.num_tiles
        self._start = positions.start(self.rules)
        super().__init__(_GAME_TYPE, _game_info(self.rules), values)

    def new_initial_state(self) -> BettingBlackWhiteState:
        """Return the state before anything is placed."""
        return BettingBlackWhiteState(self, self._start)

    def make_py_observer(self, iig_obs_type=None, params=None) -> Observer:
        """Return an observer; see :class:`spiel_game.views.Observer`."""
        return Observer(self, iig_obs_type, params)


class BettingBlackWhiteState(pyspiel.State):
    """A state; ``position`` is the game between two choices, immutable and shared by clones."""

    def __init__(self, game: BettingBlackWhiteGame, position: Position) -> None:
        super().__init__(game)
        self.position = position

    def current_player(self) -> int:
        """Return who chooses, or TERMINAL."""
        if self.position.phase == OVER:
            return pyspiel.PlayerId.TERMINAL
        return self.position.player

    def _legal_actions(self, player: int) -> list[int]:
        return list(positions.options(self.position))

    def _apply_action(self, action: int) -> None:
        self.position = positions.apply_choice(self.position, action)

    def _action_to_string(self, player: int, action: int) -> str:
        position = self.position
        if position.phase == PLACE_TILE:
            return f"tile {action} in slot {len(position.placed[position.player]) // 2 + 1}"
        if position.phase == PLACE_CHIPS:
            return f"{action} chips on slot {len(position.placed[position.player]) // 2 + 1}"
        if position.phase == DECIDE:
            return "match" if action else "fold"
        if position.phase == PULL:
            return f"take {action} from slot {position.game.num_tiles - len(position.pulling)}"
        return f"action {action}"

    def is_terminal(self) -> bool:
        """Whether all slots have been played."""
        return self.position.phase == OVER

    def returns(self) -> list[float]:
        """Return both players' utilities."""
        return positions.returns(self.position)

    def __str__(self) -> str:
        return "\n".join(information_state_string(self.position, player) for player in (0, 1))


pyspiel.register_game(_GAME_TYPE, BettingBlackWhiteGame)
