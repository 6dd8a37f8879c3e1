"""Optimal play of Red and Black as a table on disk and as an OpenSpiel policy.

The table is a folder as :mod:`solver.table` writes it: a manifest and ``decisions.parquet``, one
row a choice to double: ``seat`` (int16, 1 for the player on the banker's left), ``own_left`` and
``other_left`` (int64, cards of the colour bet on and of the other that are still in the pack),
``probability`` (float64, of coming to this choice in a hand), ``gain`` (float64, what doubling adds
to that player's result, in bets) and ``double`` (boolean).  It serves every game with this pack and
no more players, whatever the limits, hands and ante.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pyspiel
from pydantic import BaseModel, ConfigDict, model_validator

from solver.rules import InputError
from solver.table import FORMAT_VERSION, FolderManifest, load_folder, save_folder
from solver.table.manifest import Exploitability, package_versions
from spiel_game.red_and_black import RedAndBlackGame, RedAndBlackState
from spiel_game.red_and_black_optimum import Optimum, doublings
from spiel_game.red_and_black_table import BET, RedAndBlackRules, cards_left, phase_of
from spiel_game.tabulate import tabulate

__all__ = [
    "RedAndBlackManifest",
    "RedAndBlackPolicy",
    "RedAndBlackTable",
    "load_red_and_black",
    "red_and_black_table",
    "save_red_and_black",
]


class _Facts(BaseModel):
    """The part of the parameters that the choices depend on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["red-and-black"] = "red-and-black"
    players: int
    cards_per_colour: int


class RedAndBlackManifest(FolderManifest):
    """What a table of Red and Black says of itself."""

    game_name = "red-and-black"

    game: _Facts

    @model_validator(mode="after")
    def _check_game(self) -> RedAndBlackManifest:
        _ = self.rules
        return self

    @property
    def rules(self) -> RedAndBlackRules:
        """Rules with these players and this pack, the rest by default."""
        return RedAndBlackRules(self.game.players, cards_per_colour=self.game.cards_per_colour)


@dataclass(frozen=True)
class RedAndBlackTable:
    """When to double, as rows; see the module."""

    manifest: RedAndBlackManifest
    decisions: pl.DataFrame

    @cached_property
    def doubles(self) -> dict[tuple[int, int], bool]:
        """Whether to double, by ``(own_left, other_left)``.

        Raises
        ------
        InputError
            If the rows are not the choices of the manifest's game, one each.
        """
        rules = self.manifest.rules
        keys = [
            (choice.seat, choice.own_left, choice.other_left)
            for bettor in range(rules.num_bettors)
            for choice in doublings(rules, bettor)
        ]
        if self.decisions.select("seat", "own_left", "other_left").rows() != keys:
            raise InputError("decisions.parquet: seat, own_left or other_left: not the game's")
        if self.decisions["double"].dtype != pl.Boolean:
            raise InputError("decisions.parquet: double: must be true or false")
        answers = self.decisions["double"].to_list()
        return {key[1:]: answer for key, answer in zip(keys, answers, strict=True)}


def red_and_black_table(
    rules: RedAndBlackRules, optimum: Optimum, *, command: str
) -> RedAndBlackTable:
    """Return the table of optimal play; ``command`` is the one that makes it."""
    rows = optimum.double_when
    manifest = RedAndBlackManifest(
        format_version=FORMAT_VERSION,
        game=_Facts(players=rules.players, cards_per_colour=rules.cards_per_colour),
        method="exact",
        algorithm="dynamic programming",
        exploitability=Exploitability(kind="exact", value=0.0),
        versions=package_versions(),
        command=command,
    )
    decisions = pl.DataFrame(
        {
            "seat": np.array([row.seat for row in rows], np.int16),
            "own_left": np.array([row.own_left for row in rows], np.int64),
            "other_left": np.array([row.other_left for row in rows], np.int64),
            "probability": [float(row.prob) for row in rows],
            "gain": [float(row.gain) for row in rows],
            "double": [row.is_double for row in rows],
        }
    )
    return RedAndBlackTable(manifest, decisions)


def save_red_and_black(table: RedAndBlackTable, path: Path | str) -> RedAndBlackManifest:
    """Write a table, replacing the one at ``path`` whole; return its manifest as written."""
    return save_folder(path, table.manifest, {"decisions": table.decisions})


def load_red_and_black(path: Path | str) -> RedAndBlackTable:
    """Read and check the table at ``path``; raise :class:`InputError` naming a bad file."""
    manifest, frames = load_folder(path, RedAndBlackManifest, ["decisions"])
    table = RedAndBlackTable(manifest, frames["decisions"])
    try:
        _ = table.doubles
    except InputError as error:
        raise InputError(f"{path}/{error}") from None
    except pl.exceptions.ColumnNotFoundError as error:
        raise InputError(f"{path}/decisions.parquet: lacks the column {error}") from None
    return table


class RedAndBlackPolicy(pyspiel.Policy):
    """A table as everybody's policy: the largest bet, on red; double where the table says so.

    OpenSpiel's C++ and Python algorithms take it alike, for the Python game; those over
    ``pyspiel.convert_to_cached_tree(game)`` need :meth:`tabular`.

    Parameters
    ----------
    game : RedAndBlackGame
        As loaded by ``pyspiel.load_game``.
    table : RedAndBlackTable
        With the same pack, for as many players or more.

    Raises
    ------
    InputError
        If the table is for another game.

    Examples
    --------
    >>> import pyspiel
    >>> from spiel_game.red_and_black_optimum import solve_red_and_black
    >>> game = pyspiel.load_game("python_red_and_black(players=3)")
    >>> optimum = solve_red_and_black(game.rules)
    >>> policy = RedAndBlackPolicy(game, red_and_black_table(game.rules, optimum, command=""))
    >>> policy.action_probabilities(game.new_initial_state())
    {0: 0.0, 1: 0.0, 2: 1.0, 3: 0.0}
    """

    def __init__(self, game: RedAndBlackGame, table: RedAndBlackTable) -> None:
        super().__init__()
        facts, rules = table.manifest.game, game.rules
        if facts.cards_per_colour != rules.cards_per_colour or facts.players < rules.players:
            raise InputError(
                f"table for up to {facts.players} players and {facts.cards_per_colour} cards of a "
                f"colour: the game has {rules.players} and {rules.cards_per_colour}"
            )
        self._game, self._doubles = game, table.doubles

    def action_probabilities(
        self, state: RedAndBlackState, player: int | None = None
    ) -> dict[int, float]:
        """Return the probability of each legal action of the player to move."""
        table = state.table
        if phase_of(table) == BET:
            best = 2 * (table.rules.num_bets - 1)
        else:
            colour = table.hand.bets[len(table.hand.doubled)] % 2
            left = cards_left(table)
            best = int(self._doubles[left[colour], left[1 - colour]])
        return {action: float(action == best) for action in state.legal_actions()}

    def get_state_policy(
        self, state: RedAndBlackState, player: int | None = None
    ) -> list[tuple[int, float]]:
        """Return the same as pairs, which is how OpenSpiel's C++ code asks."""
        return list(self.action_probabilities(state, player).items())

    def tabular(self) -> pyspiel.TabularPolicy:
        """Return the same policy as a table of every infostate; walks the game, a small one."""
        return tabulate(self._game, self.action_probabilities)
