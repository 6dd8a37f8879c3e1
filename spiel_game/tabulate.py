"""Any policy as a table of every infostate, for OpenSpiel's C++ algorithms.

They run far faster over ``pyspiel.convert_to_cached_tree(game)``, whose states only a table can
answer.
"""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

__all__ = ["tabulate"]


def tabulate(
    game: pyspiel.Game, action_probabilities: Callable[[pyspiel.State], dict[int, float]]
) -> pyspiel.TabularPolicy:
    """Return the policy that gives these probabilities; walks the whole game: for small ones.

    Examples
    --------
    >>> game = pyspiel.load_game("kuhn_poker")
    >>> policy = tabulate(game, lambda state: {0: 1.0, 1: 0.0})  # everybody passes
    >>> pyspiel.nash_conv(game, policy)
    2.0
    """
    table: dict[str, list[tuple[int, float]]] = {}

    def walk(state: pyspiel.State) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node():
            infostate = state.information_state_string()
            if infostate not in table:
                table[infostate] = list(action_probabilities(state).items())
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.new_initial_state())
    return pyspiel.TabularPolicy(table)
