"""A table's contents: from what a solver found to named columns, and back to a strategy.

Exact tables
    ``setup``: one row a setup, ``tile_1, chips_1, ..., probability``.  ``decisions``: one row an
    infostate, ``slot``, then for each slot ``my_tile_s, my_chips_s, opp_tile_s, opp_chips_s`` (see
    :mod:`solver.infostate`), ``match`` and ``reach``, the player's own probability of coming there.
    Where players choose how to pay, ``match`` is divided into a column for each payment that is
    possible somewhere: ``match@3-1,4-2`` is the probability of matching with 1 chip off slot 3 and
    2 off slot 4, ``match@`` with winnings alone (see :mod:`solver.table.pay_columns`).
Sampled tables
    ``setup``: ``tiles_left`` (a sum of ``2**tile``), ``chips_left``, ``tile``, ``chips``,
    ``probability`` of putting that next.  ``decisions``: the features and details of
    :mod:`solver.abstraction`, ``shown``, ``match`` and ``visits``: one row a key that was met, its
    details and ``shown`` -1, one a fine key that answers for itself, its ``shown`` -1, and one a
    shown key, its ``exact_lead`` -1.  Locked answers stand in the manifest alone, and go before.

Slots count from 1 in these columns, as on the table in front of a player.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from solver.abstraction import (
    DETAILS,
    FEATURES,
    VERSION,
    detail_columns,
    detail_sizes,
    feature_columns,
    feature_sizes,
    num_keys,
    split_keys,
)
from solver.coarser import keyed_strategy
from solver.lock import UNBOUND, bound_of, check_lock
from solver.memoryless import count_entries, nth_tile, row_offsets, row_starts
from solver.places import EMPTY
from solver.rules import Game, InputError
from solver.setups import count_bits, count_setups, list_setups
from solver.strategy import Strategy, exact_strategy, num_columns
from solver.table.manifest import Abstraction, LockFacts, Manifest, Round, new_manifest
from solver.table.pay_columns import PREFIX, pay_columns, read_pay_columns
from solver.table.row_keys import keys_of_rows

__all__ = ["Table", "exact_table", "sampled_table"]

_TOLERANCE = 1e-4
"""How far probabilities in a file may be from summing to 1 (they are 32-bit in sampled tables)."""


@dataclass(frozen=True)
class Table:
    """A strategy as rows, with its manifest.

    Attributes
    ----------
    manifest : Manifest
        ``rows`` and ``sha256`` are filled in when the table is written.
    setup, decisions : polars.DataFrame
        As the module says.
    checkpoint : dict of ndarray or None
        A solver's state, to go on from; not read back with the table.
    opponent : Table or None
        The opponent's strategy, where a part of this one is locked; a table of its own in the
        folder ``opponent``, not read back with this one.
    """

    manifest: Manifest
    setup: pl.DataFrame
    decisions: pl.DataFrame
    checkpoint: dict[str, NDArray] | None = field(default=None, repr=False)
    opponent: Table | None = field(default=None, repr=False)

    @property
    def game(self) -> Game:
        """The game that the table was computed for."""
        return self.manifest.rules

    @cached_property
    def strategy(self) -> Strategy:
        """The table as compiled code plays it; raises :class:`InputError` on impossible rows."""
        if self.manifest.method == "exact":
            return _exact_strategy(self)
        return _sampled_strategy(self)

    @cached_property
    def visits(self) -> NDArray[np.int64] | None:
        """How often each key was met, int64 of shape (keys,); None for an exact table."""
        if self.manifest.method == "exact":
            return None
        visits = np.zeros(num_keys(self.game.num_tiles), np.int64)
        keys, is_coarse = self.decision_keys
        visits[keys[is_coarse]] = self.decisions["visits"].to_numpy()[is_coarse]
        return visits

    @cached_property
    def decision_keys(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The key of each row of a sampled table's decisions; whether it is a key (else finer)."""
        return keys_of_rows(self.decisions, self.game.num_tiles)


def exact_table(
    game: Game,
    *,
    setup_probs: NDArray[np.float64],
    observations: NDArray[np.int16],
    slots: NDArray[np.integer],
    match: NDArray[np.float64],
    reach: NDArray[np.float64],
    pay_start: NDArray[np.int64] | None = None,
    pay: NDArray[np.float64] | None = None,
    algorithm: str,
    iterations: int,
    seconds: float,
    exploitability: float | None,
    command: str,
    checkpoint: dict[str, NDArray] | None = None,
    lock: LockFacts | None = None,
    opponent: Table | None = None,
) -> Table:
    """Return the table of an exact solution.

    Parameters
    ----------
    setup_probs : ndarray, shape (setups,)
        In the order of :func:`solver.setups.list_setups`.
    observations : ndarray, shape (infostates, N, 4) or (infostates, N, 5)
        What the player sees, as :func:`solver.infostate.observe` fills it.
    slots : ndarray, shape (infostates,)
        The open slot, from 0.
    match, reach : ndarray, shape (infostates,)
        Probability of matching; own probability of getting there.
    pay_start, pay : ndarray, optional
        Probability of each way to pay, given a match, as in :class:`solver.strategy.Strategy`.
        Left out, the default rule pays.
    lock : LockFacts, optional
        What was locked.
    opponent : Table, optional
        The opponent's strategy, where seats differ.
    """
    tiles, chips = list_setups(game)
    setup = {}
    for s in range(game.num_tiles):
        setup[f"tile_{s + 1}"] = tiles[:, s].astype(np.int16)
        setup[f"chips_{s + 1}"] = chips[:, s].astype(np.int16)
    decisions: dict[str, NDArray] = {"slot": (slots + 1).astype(np.int16)}
    for s in range(game.num_tiles):
        for column, name in enumerate(_observed(game)):
            decisions[f"{name}_{s + 1}"] = observations[:, s, column].astype(np.int16)
    decisions |= {"match": match, "reach": reach}
    if game.pulls != "latest":
        decisions |= pay_columns(game, observations, slots, match, pay_start, pay)
    return Table(
        manifest=new_manifest(
            game,
            exploitability,
            method="exact",
            algorithm=algorithm,
            iterations=iterations,
            seconds=round(seconds, 3),
            seed=None,
            abstraction=None,
            lock=lock,
            command=command,
        ),
        setup=pl.DataFrame(setup | {"probability": setup_probs}),
        decisions=pl.DataFrame(decisions),
        checkpoint=checkpoint,
        opponent=opponent,
    )


_OBSERVED = ("my_tile", "my_chips", "opp_tile", "opp_chips", "pulled")


def _observed(game: Game) -> tuple[str, ...]:
    """Return what each slot of an observation holds."""
    return _OBSERVED[: num_columns(game.pulls_code)]


def sampled_table(
    game: Game,
    *,
    model: NDArray[np.float32],
    match: NDArray[np.float64],
    visits: NDArray[np.int64],
    fine_keys: NDArray[np.int64],
    fine_match: NDArray[np.float64],
    fine_visits: NDArray[np.int64],
    algorithm: str,
    options: dict[str, float],
    iterations: int,
    seconds: float,
    seed: int,
    command: str,
    rounds: NDArray[np.float64] | None = None,
    checkpoint: dict[str, NDArray] | None = None,
    lock: LockFacts | None = None,
    opponent: Table | None = None,
) -> Table:
    """Return the table of a sampled solution.

    Parameters
    ----------
    model : ndarray, shape (entries,)
        Memoryless setup probabilities, see :mod:`solver.memoryless`.
    match : ndarray, shape (keys,)
        Probability of matching by key, see :mod:`solver.abstraction`.
    visits : ndarray, shape (keys,)
        How often the solver met each key; rows of keys never met are left out.
    fine_keys, fine_match, fine_visits : ndarray, shape (fine keys,)
        The same of fine and shown keys that answer for themselves.
    rounds : ndarray, shape (rounds, 3), optional
        Iterations, best and mean value of each search for replies.
    lock : LockFacts, optional
        What was locked.  In the locked seat's table its answers go before those of the rows.
    opponent : Table, optional
        The opponent's strategy, where seats differ.
    """
    offsets, size = row_offsets(game.num_tiles, game.num_chips)
    tiles_left, chips_left, tile, chips = _model_columns(offsets, size)
    met = np.flatnonzero(visits > 0)
    fine, details, shown = split_keys(fine_keys)
    keys = np.concatenate([met, fine])
    features = feature_columns(game.num_tiles)
    decisions: dict[str, NDArray] = {name: column[keys] for name, column in features.items()}
    decisions["slot"] = decisions["slot"] + 1
    none = np.full(len(met), -1, np.int16)
    for name, column in detail_columns(game.num_tiles, details).items():
        decisions[name] = np.concatenate([none, column])
    decisions["exact_lead"][len(met) :][shown >= 0] = -1
    decisions["shown"] = np.concatenate([none, shown.astype(np.int16)])
    decisions["match"] = np.concatenate([match[met], fine_match]).astype(np.float32)
    decisions["visits"] = np.concatenate([visits[met], fine_visits])
    return Table(
        manifest=new_manifest(
            game,
            None,
            method="mccfr",
            algorithm=algorithm,
            iterations=iterations,
            seconds=round(seconds, 3),
            seed=seed,
            options=options,
            abstraction=Abstraction(
                setups="memoryless",
                decisions=VERSION,
                parameters=dict(
                    zip(
                        FEATURES + DETAILS,
                        feature_sizes(game.num_tiles) + detail_sizes(game.num_tiles),
                        strict=True,
                    )
                ),
            ),
            rounds=[
                Round(iterations=int(iterations), best=round(best, 4), mean=round(mean, 4))
                for iterations, best, mean in (() if rounds is None else rounds)
            ],
            lock=lock,
            command=command,
        ),
        setup=pl.DataFrame(
            {
                "tiles_left": tiles_left,
                "chips_left": chips_left,
                "tile": tile,
                "chips": chips,
                "probability": model,
            }
        ),
        decisions=pl.DataFrame(decisions),
        checkpoint=checkpoint,
        opponent=opponent,
    )


@njit(cache=True)
def _model_columns(offsets, size):
    """Return ``(tiles_left, chips_left, tile, chips)`` of each entry of a memoryless model."""
    tiles_left = np.zeros(size, np.int32)
    chips_left = np.zeros(size, np.int16)
    tile = np.zeros(size, np.int16)
    chips = np.zeros(size, np.int16)
    for mask in range(offsets.shape[0]):
        num_left = count_bits(mask)
        for left in range(offsets.shape[1]):
            if offsets[mask, left] < 0:
                continue
            width = left - num_left + 1
            for rank in range(num_left):
                for stack in range(1, width + 1):
                    entry = offsets[mask, left] + rank * width + stack - 1
                    tiles_left[entry] = mask
                    chips_left[entry] = left
                    tile[entry] = nth_tile(mask, rank)
                    chips[entry] = stack
    return tiles_left, chips_left, tile, chips


def _check_probabilities(values: NDArray, what: str) -> None:
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1 + 1e-9).all()):
        raise InputError(f"{what}: a number is not a probability, 0 to 1")


def _check_height(frame: pl.DataFrame, name: str, wanted: int, what: str) -> None:
    if frame.height != wanted:
        raise InputError(f"{name}: {frame.height} rows, but the game has {wanted} {what}")


def _exact_strategy(table: Table) -> Strategy:
    game = table.game
    n = game.num_tiles
    _check_height(table.setup, "setup.parquet", count_setups(game), "setups")
    tiles, chips = list_setups(game)
    for s in range(n):
        columns = table.setup[f"tile_{s + 1}"], table.setup[f"chips_{s + 1}"]
        for column, wanted in zip(columns, (tiles[:, s], chips[:, s]), strict=True):
            if not np.array_equal(column.to_numpy(), wanted):
                raise InputError(f"setup.parquet: {column.name} does not list {game.name}'s setups")
    probs = table.setup["probability"].to_numpy()
    _check_probabilities(probs, "setup.parquet: probability")
    if abs(probs.sum() - 1) > _TOLERANCE:
        raise InputError(f"setup.parquet: probabilities sum to {probs.sum():.6g}, not 1")
    match = table.decisions["match"].to_numpy()
    _check_probabilities(match, "decisions.parquet: match")
    names = _observed(game)
    observations = np.zeros((len(match), n, len(names)), np.int64)
    for s in range(n):
        for place, name in enumerate(names):
            observations[:, s, place] = table.decisions[f"{name}_{s + 1}"].to_numpy()
    pay_start, pay = _read_payments(table, observations, match)
    try:
        return exact_strategy(game, probs, observations, match, pay_start=pay_start, pay=pay)
    except InputError as error:
        raise InputError(f"decisions.parquet: {error}") from None


def _read_payments(
    table: Table, observations: NDArray[np.int64], match: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | tuple[None, None]:
    """Return ``(pay_start, pay)`` of an exact table; nothing where players cannot choose."""
    if table.game.pulls == "latest":
        return None, None
    decisions = table.decisions
    names = [name for name in decisions.columns if name.startswith(PREFIX)]
    columns = {name: decisions[name].to_numpy() for name in names}
    for name, column in columns.items():
        _check_probabilities(column, f"decisions.parquet: {name}")
    slots = decisions["slot"].to_numpy() - 1
    return read_pay_columns(table.game, observations, slots, match, columns)


def _sampled_strategy(table: Table) -> Strategy:
    game = table.game
    _check_height(
        table.setup, "setup.parquet", count_entries(game.num_tiles, game.num_chips), "placements"
    )
    offsets, size = row_offsets(game.num_tiles, game.num_chips)
    columns = _model_columns(offsets, size)
    names = ("tiles_left", "chips_left", "tile", "chips")
    for name, wanted in zip(names, columns, strict=True):
        if not np.array_equal(table.setup[name].to_numpy(), wanted):
            raise InputError(f"setup.parquet: {name} does not list {game.name}'s placements")
    model = table.setup["probability"].to_numpy().astype(np.float32)
    _check_probabilities(model, "setup.parquet: probability")
    starts = row_starts(offsets)
    if size and (np.abs(np.add.reduceat(model.astype(np.float64), starts) - 1) > _TOLERANCE).any():
        raise InputError("setup.parquet: the probabilities of a row do not sum to 1")
    match = table.decisions["match"].to_numpy().astype(np.float64)
    _check_probabilities(match, "decisions.parquet: match")
    keys, is_coarse = table.decision_keys
    dense = np.zeros(num_keys(game.num_tiles))
    dense[keys[is_coarse]] = match[is_coarse]
    fine_keys = keys[~is_coarse]
    assert table.visits is not None
    lock = table.manifest.lock
    bound = UNBOUND
    if lock is not None and lock.role == "locked":
        bound = bound_of(check_lock(lock, game, name="manifest.json: lock"))
    found = keyed_strategy(
        game, model, dense, table.visits, fine_keys, match[~is_coarse], bound.kinds
    )
    if np.count_nonzero(found.fine_keys != EMPTY) < len(fine_keys):
        raise InputError("decisions.parquet: two rows have the same features")
    return found
