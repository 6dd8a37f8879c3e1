"""The value of a small game by linear programming, independent of every solver here.

The sequence form (von Stengel 1996) of the unreduced game, built from ``naive.py``: a *sequence*
is what a player chose so far, setup first.  With payoffs ``A`` (by sequence of player 0 and 1) and
realization plans ``x, y``, player 0 maximizes ``f' q`` subject to ``F' q <= A' x``, ``E x = e``,
``x >= 0``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import bridge
import naive
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, hstack, vstack

from solver.rules import Game
from solver.setups import list_setups
from solver.strategy import EXACT, LISTED, Strategy, make_strategy

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class SequenceForm:
    """Sequences, constraints and payoffs of a game with ``pulls=latest``.

    Attributes
    ----------
    sequences : tuple of dict
        By player: sequence -> number.  ``None`` is the empty one, a setup ``(tiles, chips)``, and
        ``(infostate, action)`` with action 0 fold, 1 match.
    parents : tuple of dict
        By player: infostate -> number of the sequence that leads there; ``None`` (the choice of a
        setup) -> 0.
    payoffs : csr_matrix, shape (sequences of 0, sequences of 1)
        Player 0's.
    """

    def __init__(self, game: Game):
        self.game = game
        self.setups = naive.setups(game.num_tiles, game.num_chips)
        start = {key: number for number, key in enumerate([None, *self.setups])}
        self.sequences = (dict(start), dict(start))
        self.parents: tuple[dict, dict] = ({None: 0}, {None: 0})
        entries: dict = defaultdict(float)
        for i, setup0 in enumerate(self.setups, 1):
            for j, setup1 in enumerate(self.setups, 1):
                self._walk(naive.start(setup0, setup1), (i, j), entries)
        rows, columns = zip(*entries, strict=True)
        shape = (len(self.sequences[0]), len(self.sequences[1]))
        self.payoffs = csr_matrix((list(entries.values()), (rows, columns)), shape)

    def _walk(self, state, at, entries):
        if naive.is_over(state):
            entries[at] += naive.payoff(state, 0, self.game.objective)
            return
        who = naive.decider(state)
        if who is None:
            self._walk(naive.play(state), at, entries)
            return
        info = naive.infostate(state, who)
        sequences = self.sequences[who]
        if info not in self.parents[who]:
            self.parents[who][info] = at[who]
            for action in (0, 1):
                sequences[info, action] = len(sequences)
        for action, choice in enumerate(naive.choices(state, "latest")):
            number = sequences[info, action]
            after = (number, at[1]) if who == 0 else (at[0], number)
            self._walk(naive.play(state, choice), after, entries)

    def constraints(self, player: int) -> tuple[csr_matrix, np.ndarray]:
        """Return ``E, e``: the empty sequence is 1, and what follows sums to what leads there."""
        sequences = self.sequences[player]
        entries = [(0, 0, 1.0)]
        for row, (info, parent) in enumerate(self.parents[player].items(), 1):
            entries.append((row, parent, -1.0))
            children = self.setups if info is None else [(info, 0), (info, 1)]
            entries += [(row, sequences[child], 1.0) for child in children]
        rows, columns, values = zip(*entries, strict=True)
        shape = (len(self.parents[player]) + 1, len(sequences))
        right = np.zeros(shape[0])
        right[0] = 1.0
        return coo_matrix((values, (rows, columns)), shape).tocsr(), right

    def solve(
        self, bound: Sequence[tuple[dict[int, float], float]] = ()
    ) -> tuple[float, np.ndarray]:
        """Return the value of the game to player 0, and an optimal realization plan.

        ``bound`` are equations that player 0's plan has to satisfy as well: factors by sequence,
        and what the sum is.
        """
        own, own_right = self.constraints(0)
        if bound:
            entries = [(r, c, f) for r, (row, _) in enumerate(bound) for c, f in row.items()]
            rows, columns, factors = zip(*entries, strict=True)
            more = coo_matrix((factors, (rows, columns)), (len(bound), own.shape[1]))
            own = vstack([own, more]).tocsr()
            own_right = np.concatenate([own_right, [right for _, right in bound]])
        other, other_right = self.constraints(1)
        num_x, num_q = own.shape[1], other.shape[0]
        found = linprog(
            np.concatenate([np.zeros(num_x), -other_right]),
            A_ub=hstack([-self.payoffs.T, other.T]).tocsr(),
            b_ub=np.zeros(other.shape[1]),
            A_eq=hstack([own, csr_matrix((own.shape[0], num_q))]).tocsr(),
            b_eq=own_right,
            bounds=[(0, None)] * num_x + [(None, None)] * num_q,
            method="highs",
            options=TIGHT,
        )
        assert found.success, found.message
        return -found.fun, np.clip(found.x[:num_x], 0.0, None)

    def plan_of(self, strategy: naive.Strategy, player: int) -> np.ndarray:
        """Return the realization plan of a strategy."""
        plan = np.zeros(len(self.sequences[player]))
        plan[0] = 1.0
        for setup in self.setups:
            plan[self.sequences[player][setup]] = strategy.setups.get(setup, 0.0)
        for info, parent in self.parents[player].items():  # parents come before children
            if info is not None:
                match = strategy.match(info)
                plan[self.sequences[player][info, 0]] = plan[parent] * (1 - match)
                plan[self.sequences[player][info, 1]] = plan[parent] * match
        return plan

    def best_response_value(self, plan: np.ndarray, player: int) -> float:
        """Return what ``player`` earns at best against the other's realization plan."""
        own, right = self.constraints(player)
        gains = self.payoffs @ plan if player == 0 else -(self.payoffs.T @ plan)
        found = linprog(-gains, A_eq=own, b_eq=right, method="highs", options=TIGHT)
        assert found.success, found.message
        return -found.fun

    def strategy(self, plan: np.ndarray) -> Strategy:
        """Return player 0's plan as a playable strategy for both seats.

        Infostates that the playable game merges are averaged by reach, which changes nothing for
        the opponent: futures are the same, and only their summed reach can be seen.
        """
        sequences = self.sequences[0]
        reach: dict[int, float] = defaultdict(float)
        match: dict[int, float] = defaultdict(float)
        for info, parent in self.parents[0].items():
            if info is not None:
                key = bridge.key_of(info)
                reach[key] += plan[parent]
                match[key] += plan[sequences[info, 1]]
        keys = sorted(reach)
        tiles, chips = list_setups(self.game)
        probs = np.array(
            [
                plan[sequences[tuple(t), tuple(c)]]
                for t, c in zip(tiles.tolist(), chips.tolist(), strict=True)
            ]
        )
        used = probs > 0
        cumulative = np.cumsum(probs[used])
        return make_strategy(
            self.game.num_tiles,
            self.game.num_chips,
            self.game.is_win,
            setup_kind=LISTED,
            setup_tiles=tiles[used],
            setup_chips=chips[used],
            setup_cumulative=cumulative / cumulative[-1],
            decision_kind=EXACT,
            keys=np.array(keys, np.uint64),
            match=np.array([match[k] / reach[k] if reach[k] > 0 else 0.0 for k in keys]),
        )
