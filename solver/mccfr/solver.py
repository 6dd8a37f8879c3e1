"""Sampling solver for games too large to list: Monte Carlo CFR on plans and table keys.

The strategy has two parts: a probability for each of a few thousand plans, which setups are drawn
from (:mod:`solver.plans`), and a probability of matching for each decision key
(:mod:`solver.abstraction`).  One table serves both seats, unless a part of one seat's is locked
(:mod:`solver.mccfr.locked`).  Each iteration

1. draws the opponent's setup from the current strategy, or else uniformly over all, from a cross
   of two plans or from the best scouts, so that setups that nobody plays find answers too;
2. draws an own setup from the current strategy and plays it; then tries several plans, drawn
   uniformly, in its place, and adds to each one's regret what it scored more than the first, if
   the opponent was the current strategy;
3. plays both actions at every own decision and one, drawn from the current strategy, at the
   opponent's (external sampling: Lanctot and others 2009), and adds the difference of the two to
   the regrets of the decision's key and of its fine key.

Regrets of decisions are turned into a strategy by regret matching+ (Tammelin 2014) or plain regret
matching, those of plans by the latter.  No importance weights are needed, since own plans and
actions are tried alike however the strategy changes (compare ESCHER, McAleer and others 2022).
Early regrets fade as in linear CFR (Brown and Sandholm 2019).  The answer is the linearly weighted
average strategy; what its plans place together is summed up as a memoryless setup model.

All regrets are forgotten from time to time, and the weights of regrets and averages begin anew,
while the average goes on over all such *epochs*: an answer that is seldom met stays where its first
samples put it, and only a fresh start draws it again.  Plans and scouts are drawn anew as well, so
that setups come from many populations and are harder to read; answers begin as they were.

After each epoch, replies to the average strategy are looked for; they are among the plans of all
later epochs (:mod:`solver.mccfr.oracle`).  Nothing is forgotten before they are found, so that work
stopped in the middle goes on from the end of the epoch.

In games with more setups than plans, scouts look for better plans all the time, and those that are
played least make room for what they find (:mod:`solver.mccfr.population`).

A fine key's answer is drawn towards that of the key above it, and a shown key's towards that of
its fine key, the more so the less often it was met in this epoch.  Wherever there is none, the key
above answers.

The average of a decision is taken over time alone, each batch by its weight.  Counting visits
instead, as external sampling allows where all own actions are walked, would weigh a batch by how
often the opponent's setups of that batch led there: answers to a setup would count most while they
are poor enough to invite it.

Departures: strategies are frozen for a batch of iterations, so that its chunks are independent and
two threads give the same table as one, bit for bit; regrets are cut at 0 once a batch; and where
the opponent's tile in the last slot is certain the better action is played without a table, as
:func:`solver.strategy.match_prob` does.  A key stands for many infostates, so the guarantees of CFR
do not carry over: only measuring in the unabstracted game says how good a table is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import IS_SHOWN, num_keys, split_keys
from solver.coarser import keyed_strategy
from solver.lock import UNBOUND, Bound
from solver.mccfr.kernels import (
    NUM_ENDS,
    NUM_GAMES,
    Batch,
    Frozen,
    FrozenAnswers,
    FrozenSetups,
    Sampling,
    longer_log,
    new_log,
    new_work,
    play_chunk,
)
from solver.mccfr.options import (
    NUM_CHUNKS,
    SamplingOptions,
    batch_for,
    check_sampled,
    epoch_for,
    is_listed,
    places_for,
)
from solver.mccfr.oracle import Plan, StoppedError, find_replies
from solver.mccfr.population import (
    ELITE,
    TRIES,
    first_population,
    first_scouts,
    replies_among,
    send_scouts,
)
from solver.mccfr.tables import (
    KNOWN,
    NUM_PARTS,
    SHOWN_KNOWN,
    Answers,
    Past,
    Population,
    Replies,
    Scouts,
    new_answers,
    new_decisions,
)
from solver.mccfr.updates import (
    apply_decisions,
    apply_plans,
    refresh_decisions,
    refresh_plans,
)
from solver.memoryless import condition_model, row_offsets, row_starts, uniform_model
from solver.places import EMPTY, MOST_FILLED, take_places
from solver.plans import project_plans
from solver.rules import Game, InputError
from solver.strategy import Strategy

__all__ = ["Found", "SampledSolver", "forget", "run_batches", "seek_replies"]

_DOUBT = 1_000
"""Tries of a plan that its first gains are weighed down by."""

_GRAIN = 1_024
"""Fine and shown keys' probabilities are rounded to so many parts: far below their noise, and a
table of millions of them is a third smaller."""

_SUPPORT = 1e-4
"""How likely each slot of a setup is to be placed at random, so that every setup that may be placed
is possible and whatever the opponent shows can be made sense of."""

_LOOK_SECONDS = 0.2
"""How often it is asked whether to go on while replies are looked for."""

RunAll = Callable[[Sequence[Callable[[], None]]], object]
"""Runs tasks that may run side by side."""

Seats = Sequence[tuple["SampledSolver", "SampledSolver"]]
"""Solvers, each with its opponent: itself, where one strategy serves both seats."""


class Found(NamedTuple):
    """What a search found that wins against the average strategy.

    Attributes
    ----------
    replies : list of Plan
        Those that were not known before.
    values : ndarray of float64
        What all that win earn.
    """

    replies: list[Plan]
    values: NDArray[np.float64]


class SampledSolver:
    """Monte Carlo CFR in steps.

    Parameters
    ----------
    game : Game
        With ``pulls=latest``.
    seed : int
        The same seed gives the same table, on any number of threads.
    threads : int
    options : SamplingOptions, optional
    bound : Bound, optional
        What the strategy is held to, where another is solved beside it
        (:mod:`solver.mccfr.locked`).
    seat : int, optional
        Then its seat; both are told apart by it where random numbers are drawn.

    Raises
    ------
    InputError
        For ``pulls`` other than ``latest``, and for games whose tables would not fit in memory.

    Examples
    --------
    >>> solver = SampledSolver(Game(2, 3), seed=1)
    >>> solver.run(1000)
    >>> solver.iterations
    1024
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: int = 0,
        threads: int = 1,
        options: SamplingOptions | None = None,
        bound: Bound = UNBOUND,
        seat: int | None = None,
    ) -> None:
        check_sampled(game, seed, threads)
        self.game = game
        self._bound = bound
        self._stream = () if seat is None else (seat,)
        self.seed = seed
        self.threads = threads
        self.options = options or SamplingOptions()
        self.batch_size = self.options.batch or batch_for(game)
        self._epoch = epoch_for(game, self.options)
        self.batches = 0
        self.games = 0
        self.playouts = 0
        self._weights = 0.0
        n = game.num_tiles
        places = self.options.fine_places or places_for(game)
        self._decisions = new_decisions(num_keys(n), places)
        nothing = np.zeros((0, n), np.int64)
        self._replies = Replies(nothing, nothing)
        self._rounds = np.zeros((0, 3))
        self._past = Past(nothing, nothing, np.zeros(0))
        self._draw_population(self._rng(NUM_CHUNKS))
        self._is_listed = is_listed(game, self.options, bound.placed)
        self._scouted = (
            round(self.options.scouted * self.options.tried) if len(self._scouts.chips) else 0
        )
        self._logs = [
            new_log(self.batch_size // NUM_CHUNKS, self.options.tried, n) for _ in range(NUM_CHUNKS)
        ]

    @property
    def iterations(self) -> int:
        """Iterations played so far."""
        return self.batches * self.batch_size

    def run(self, iterations: int) -> None:
        """Play at least so many iterations more, in whole batches."""
        self.run_batches(math.ceil(iterations / self.batch_size), lambda: True)

    def run_batches(self, count: int, go_on: Callable[[], bool]) -> None:
        """Play up to ``count`` batches, as long as ``go_on()`` says so."""
        run_batches([(self, self)], count, go_on, self.threads)

    def _draw_population(self, rng: np.random.Generator) -> None:
        """Draw plans and scouts anew, the former with ``rng``."""
        placed = self._bound.placed
        self._plans = first_population(self.game, self.options, self._replies, rng, placed)
        rng = self._rng(NUM_CHUNKS + 1)
        self._scouts = first_scouts(self.game, self.options, rng, placed)

    def _begin_batch(self, against: SampledSolver) -> list[Callable[[], None]]:
        """Return what plays the chunks of a batch against another's strategy as it stands."""
        batch = self._frozen(against)
        self._weights += self._weight()
        return [lambda chunk=chunk: self._play(chunk, batch) for chunk in range(NUM_CHUNKS)]  # type: ignore[misc]

    def _updates(self) -> list[Callable[[], None]]:
        """Return what brings the tables up to date after the chunks of a batch were played."""
        updates: list[Callable[[], None]] = [self._update_plans]
        for part in range(NUM_PARTS):
            updates.append(lambda part=part: self._update_decisions(part))  # type: ignore[misc]
        return updates

    def _end_batch(self, against: SampledSolver) -> None:
        """Count a batch, and send scouts if a generation of them is over."""
        self.games += sum(int(log.fill[NUM_GAMES]) for log in self._logs)
        self.playouts += sum(int(log.fill[NUM_ENDS]) for log in self._logs)
        self.batches += 1
        if self._scouted and self.batches % self._generation(against) == 0:
            send_scouts(
                self._scouts,
                self._plans,
                self.game,
                self.batches,
                self._step(),
                self._rng(NUM_CHUNKS),
                self._bound.placed,
            )

    def _generation(self, against: SampledSolver | None = None) -> int:
        """Return the batches of a generation of scouts."""
        counted = 1.0 - sum(self._others(against or self))
        tries = max(counted * self._scouted * self.batch_size, 1.0)
        return max(round(TRIES * len(self._scouts.chips) / tries), 1)

    def _others(self, against: SampledSolver) -> tuple[float, float, float]:
        """Return how often opponents are uniform, crossed, and of the best scouts."""
        options = self.options
        if against._is_listed:
            return options.uniform, 0.0, 0.0
        return options.uniform, options.crossed, options.elite if against._scouted else 0.0

    def _frozen(self, against: SampledSolver | None = None) -> Batch:
        """Return what the chunks of a batch are played with, against another or oneself."""
        against = against or self
        mine = self._frozen_strategy()
        theirs = mine if against is self else against._frozen_strategy()
        return Batch(self._sampling(against), mine, theirs)

    def _sampling(self, against: SampledSolver) -> Sampling:
        """Return how the chunks of a batch sample."""
        return Sampling(
            self.game.num_chips,
            self.game.is_win,
            self.options.tried - self._scouted,
            self._scouted,
            *self._others(against),
            ELITE,
            self.options.replied if len(against._replies.chips) else 0.0,
            replies_among(against._replies, self.options, self.game),
            len(self.kinds) + len(against.kinds) > 0,
        )

    def _frozen_strategy(self) -> Frozen:
        """Return the current strategy as kernels play it."""
        setups = FrozenSetups(
            np.concatenate([self._plans.chips, self._scouts.chips]),
            np.concatenate([self._plans.turns, self._scouts.turns]),
            np.cumsum(self._plans.current),
            *self._bound.placed,
        )
        table = self._decisions
        answers = FrozenAnswers(table.coarse.match, table.fine_keys, table.fine.match)
        return Frozen(setups, answers, self.kinds)

    def _rng(self, part: int) -> np.random.Generator:
        """Return the generator of a chunk of the batch to come, or of what follows its chunks."""
        seeds = np.random.SeedSequence(self.seed, spawn_key=(self.batches, part, *self._stream))
        return np.random.Generator(np.random.PCG64(seeds))

    def _play(self, chunk: int, batch: Batch) -> None:
        """Play a chunk of a batch into its own log, with its own seed."""
        n = self.game.num_tiles
        rng = self._rng(chunk)
        work = new_work(n)
        room = (self.options.tried + 1) << n
        self._logs[chunk].fill[:] = 0
        left = self.batch_size // NUM_CHUNKS
        while left > 0:
            left -= play_chunk(work, batch, self._logs[chunk], rng, left, room)
            if left > 0:
                self._logs[chunk] = longer_log(self._logs[chunk], room)

    def _age(self) -> int:
        """Return how many batches of this epoch are done."""
        return self.batches % self._epoch

    @property
    def begins_epoch(self) -> bool:
        """Whether the next batch is the first of an epoch, not the first of all."""
        return self.batches > 0 and self._age() == 0

    def _end_epoch(self) -> None:
        """Forget all regrets, in place.

        Keys answer as before until the next samples, but fine and shown ones no more until then;
        plans that were played are kept for the average.
        """
        fine = self._decisions.fine
        for answers in (self._decisions.coarse, fine):
            answers.record["fold"] = answers.record["match"] = 0.0
            answers.record["lately"] = 0
        ended = np.flatnonzero(fine.match >= 0.0)
        past = self._weights - fine.record["until"][ended]
        fine.record["summed"][ended] += past * fine.match[ended]
        is_new = fine.record["since"][ended] == self._weights  # it has not answered in any batch
        fine.record["until"][ended] = np.where(is_new, 0.0, self._weights)
        fine.match[ended] = -1.0
        self._past = self._all_plans()

    def _all_plans(self) -> Past:
        """Return the plans of all epochs that were played, this one's last."""
        used = self._plans.summed > 0.0
        return Past(
            np.concatenate([self._past.chips, self._plans.chips[used]]),
            np.concatenate([self._past.turns, self._plans.turns[used]]),
            np.concatenate([self._past.summed, self._plans.summed[used]]),
        )

    def _average_of_past(self) -> Frozen:
        """Return the average strategy at the end of an epoch as kernels play it."""
        fine = self._decisions.fine
        fine_match = np.full(len(fine.match), -1.0, np.float32)
        places, _ = self._known_places()
        places = places[fine.record["since"][places] < self._weights]  # have answered in a batch
        fine_match[places] = self._average_of(fine, places)
        past = self._all_plans()
        setups = FrozenSetups(
            past.chips,
            past.turns,
            np.cumsum(past.summed) / past.summed.sum(),
            *self._bound.placed,
        )
        answers = FrozenAnswers(
            self.average_match().astype(np.float32), self._decisions.fine_keys, fine_match
        )
        return Frozen(setups, answers, self.kinds)

    def _seek_replies(self, average: Batch, run_all: RunAll, stop: Event) -> Found:
        """Return what wins with the average strategies at the end of an epoch."""
        known = list(zip(*self._replies, strict=True))
        seed = [self.seed, self.batches, *self._stream]
        climbs = self.options.climbs
        return Found(*find_replies(self.game, average, known, climbs, seed, run_all, stop))

    def _take_replies(self, found: Found) -> None:
        """Add to the replies what was found."""
        plans, values = found
        best, mean = (values.max(), values.mean()) if len(values) else (0.0, 0.0)
        self._rounds = np.vstack([self._rounds, [self.iterations, best, mean]])
        if plans:
            chips, turns = (np.array(column) for column in zip(*plans, strict=True))
            self._replies = Replies(
                np.concatenate([self._replies.chips, chips]),
                np.concatenate([self._replies.turns, turns]),
            )

    def _weight(self) -> float:
        """Return what this batch's strategy counts in the average."""
        return float(self._age() + 1) ** self.options.averaging_power

    def _step(self) -> float:
        """Return what a regret of this batch counts: later ones more, so that early ones fade."""
        return float(self._age() + 1) ** self.options.regret_power

    def _update_plans(self) -> None:
        self._plans.summed[:] += self._weight() * self._plans.current
        for log in self._logs:
            apply_plans(self._plans, self._scouts, log, self._step())
        refresh_plans(self._plans, _DOUBT * self._step())

    def _update_decisions(self, part: int) -> None:
        for log in self._logs:
            apply_decisions(self._decisions, log, part, self._step())
        for log in self._logs:
            refresh_decisions(
                self._decisions, log, part, self.options.plus, self.options.doubt, self._weights
            )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything that :meth:`restore` needs to go on bit for bit."""
        counters = [self.batches, self.games, self.playouts, self.seed, self.batch_size]
        state: dict[str, NDArray[Any]] = {
            "counters": np.array(counters, np.int64),
            "weights": np.array([self._weights]),
            "seen": self._decisions.seen.copy(),
        }
        for name in Population._fields:
            state[f"plan_{name}"] = getattr(self._plans, name).copy()
        for name in Scouts._fields:
            state[f"scout_{name}"] = getattr(self._scouts, name).copy()
        for name in Past._fields:
            state[f"past_{name}"] = getattr(self._past, name).copy()
        for name in Replies._fields:
            state[f"reply_{name}"] = getattr(self._replies, name).copy()
        state["rounds"] = self._rounds.copy()
        places = np.flatnonzero(self._decisions.fine_keys != EMPTY)
        state["fine_keys"] = self._decisions.fine_keys[places]
        for name in Answers._fields:
            state[f"coarse_{name}"] = getattr(self._decisions.coarse, name).copy()
            state[f"fine_{name}"] = getattr(self._decisions.fine, name)[places]
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a saved state of the same game.

        Raises
        ------
        InputError
            If a part is missing or belongs to a game of another size, or has more fine keys than
            there is room for.
        """
        coarse, fine = self._decisions.coarse, self._decisions.fine
        targets = {f"coarse_{name}": getattr(coarse, name) for name in Answers._fields}
        targets |= {f"plan_{name}": getattr(self._plans, name) for name in Population._fields}
        targets |= {f"scout_{name}": getattr(self._scouts, name) for name in Scouts._fields}
        targets |= {
            "seen": self._decisions.seen,
            "counters": np.zeros(5, np.int64),
            "weights": np.zeros(1),
        }
        grown = {f"fine_{name}": getattr(fine, name) for name in Answers._fields}
        grown |= {"fine_keys": self._decisions.fine_keys}
        grown |= {f"past_{name}": getattr(self._past, name) for name in Past._fields}
        grown |= {f"reply_{name}": getattr(self._replies, name) for name in Replies._fields}
        grown |= {"rounds": self._rounds}
        rows = {name.partition("_")[0]: len(state.get(name, ())) for name in grown}
        wanted = {name: (target.shape, target.dtype) for name, target in targets.items()}
        for name, target in grown.items():
            shape = (rows[name.partition("_")[0]], *target.shape[1:])
            wanted[name] = (shape, target.dtype)
        for name, (shape, dtype) in wanted.items():
            if name not in state or (state[name].shape, state[name].dtype) != (shape, dtype):
                found = f"shape {state[name].shape}" if name in state else "nothing"
                raise InputError(
                    f"state: {name} has {found}, but this version and {self.game.name} need {shape}"
                )
        batches, games, playouts, seed, batch_size = (int(count) for count in state["counters"])
        if batch_size != self.batch_size:
            raise InputError(
                f"state: saved with batches of {batch_size} iterations, but this solver's have "
                f"{self.batch_size}; give the same options"
            )
        places = self._take_fine_keys(state["fine_keys"])
        for name, target in targets.items():
            target[:] = state[name]
        for name in Answers._fields:
            getattr(fine, name)[places] = state[f"fine_{name}"]
        self._past = Past(*(state[f"past_{name}"].copy() for name in Past._fields))
        self._replies = Replies(*(state[f"reply_{name}"].copy() for name in Replies._fields))
        self._rounds = state["rounds"].copy()
        self.batches, self.games, self.playouts, self.seed = batches, games, playouts, seed
        self._weights = float(state["weights"][0])

    def _take_fine_keys(self, fine_keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Fill the table of fine keys anew with these; return the place of each."""
        table = self._decisions
        parts = split_keys(fine_keys)[0] % NUM_PARTS
        size = len(table.fine_keys) // NUM_PARTS
        room = int(MOST_FILLED * size)
        filled = np.bincount(parts, minlength=NUM_PARTS)
        if filled.max() > room:
            raise InputError(
                f"state: {len(fine_keys)} fine keys are too many for {len(table.fine_keys)} places"
            )
        fresh = new_answers(1, -1.0)
        for name in Answers._fields:
            getattr(table.fine, name)[:] = getattr(fresh, name)[0]
        table.fine_keys[:] = EMPTY
        table.filled[:] = filled
        return take_places(table.fine_keys, parts * size, size, fine_keys)

    def current_strategy(self) -> Strategy:
        """Return the strategy of the last iteration, which is noisier than the average."""
        table = self._decisions
        places = np.flatnonzero(table.fine.match >= 0.0)
        return keyed_strategy(
            self.game,
            self._model(Past(self._plans.chips, self._plans.turns, self._plans.current)),
            table.coarse.match.astype(np.float64),
            table.coarse.record["visits"],
            table.fine_keys[places],
            table.fine.match[places].astype(np.float64),
            self.kinds,
        )

    def strategy(self) -> Strategy:
        """Return the average strategy."""
        fine_keys, fine_match, _ = self.average_fine()
        return keyed_strategy(
            self.game,
            self.average_model(),
            self.average_match(),
            self.visits,
            fine_keys,
            fine_match,
            self.kinds,
        )

    @property
    def kinds(self) -> NDArray[np.float64]:
        """Answers that are given (:mod:`solver.kinds`); float64, shape (kinds, KIND)."""
        return self._bound.kinds

    def average_match(self) -> NDArray[np.float64]:
        """Return the average probability of matching by key; float64, shape (keys,)."""
        return self._average_of(self._decisions.coarse, slice(None))

    def average_fine(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return ``(fine keys, match, visits)`` of those met often enough, in increasing order.

        Visits are rounded down to two leading binary digits.
        """
        places, fine_keys = self._known_places()
        fine = self._decisions.fine
        match = np.round(self._average_of(fine, places) * _GRAIN) / _GRAIN
        return fine_keys, match, _two_digits(fine.record["visits"][places])

    def _known_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of the fine keys met often enough, and these, in increasing order."""
        fine_keys = self._decisions.fine_keys
        places = np.flatnonzero(self._decisions.fine.record["until"] > 0.0)
        least = np.where(fine_keys[places] >= IS_SHOWN, SHOWN_KNOWN, KNOWN)
        places = places[self._decisions.fine.record["visits"][places] >= least]
        places = places[np.argsort(fine_keys[places])]
        return places, fine_keys[places]

    def _average_of(
        self, answers: Answers, places: slice | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the average, over the time in which they answered, of the keys at these places."""
        match = answers.match[places].astype(np.float64)
        record = answers.record[places]
        past = np.where(match >= 0.0, self._weights - record["until"], 0.0)
        summed = record["summed"] + past * match
        weight = record["until"] + past - record["since"]
        known = (record["until"] > 0.0) & (weight > 0.0)
        return np.divide(summed, weight, out=match, where=known)

    def average_model(self) -> NDArray[np.float32]:
        """Return the average setup strategy as a memoryless model; float32, shape (entries,)."""
        if self.batches == 0:
            return self._model(Past(self._plans.chips, self._plans.turns, self._plans.current))
        return self._model(self._all_plans())

    def _model(self, plans: Past) -> NDArray[np.float32]:
        """Return the model that places as these plans do together; other rows are uniform.

        So is the noise in all rows, over what the strategy may place there.
        """
        offsets, size = row_offsets(self.game.num_tiles, self.game.num_chips)
        sums = project_plans(*plans, offsets, size)
        if size == 0:
            return sums.astype(np.float32)
        starts = row_starts(offsets)
        widths = np.diff(np.append(starts, size))
        totals = np.repeat(np.add.reduceat(sums, starts), widths)
        uniform = uniform_model(self.game.num_tiles, self.game.num_chips).astype(np.float64)
        if placed := self._bound.placed:
            fits = condition_model(uniform, offsets, *placed)[0] > 0.0
            counts = np.repeat(np.add.reduceat(fits.astype(np.int64), starts), widths)
            uniform = np.divide(fits, counts, out=uniform, where=counts > 0)
        model = np.divide(sums, totals, out=uniform.copy(), where=totals > 0.0)
        return ((1.0 - _SUPPORT) * model + _SUPPORT * uniform).astype(np.float32)

    @property
    def rounds(self) -> NDArray[np.float64]:
        """What the searches for replies found; see :class:`SampledSolution`."""
        return self._rounds.copy()

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often each key was met; int64, shape (keys,)."""
        return self._decisions.coarse.record["visits"]


def _two_digits(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts, at least 1, rounded down to two leading binary digits.

    How well a key is known needs no more, and the table is a quarter smaller.
    """
    dropped = np.maximum(np.frexp(counts)[1] - 2, 0)
    return counts >> dropped << dropped


def run_batches(seats: Seats, count: int, go_on: Callable[[], bool], threads: int) -> None:
    """Play up to ``count`` batches for each seat, as long as ``go_on()`` says so.

    It is asked after each batch, and all the time while replies are looked for.  In a batch every
    seat plays against the strategies as they stood before it; then all tables are brought up to
    date.
    """
    with ThreadPoolExecutor(threads) as pool:
        stop = Event()

        def run_all(tasks: Sequence[Callable[[], None]]) -> object:
            return list(pool.map(lambda task: task(), tasks))

        def run_watched(tasks: Sequence[Callable[[], None]]) -> object:
            futures = [pool.submit(task) for task in tasks]
            try:
                while wait(futures, _LOOK_SECONDS).not_done:
                    if not stop.is_set() and not go_on():
                        stop.set()
            except BaseException:
                stop.set()
                raise
            return [future.result() for future in futures]

        while count > 0:
            if seats[0][0].begins_epoch:
                try:
                    found = seek_replies(seats, run_watched, stop)
                except StoppedError:
                    return
                forget(seats, found)
            run_all([task for one, other in seats for task in one._begin_batch(other)])
            run_all([task for one, _ in seats for task in one._updates()])
            for one, other in seats:
                one._end_batch(other)
            count -= 1
            if not go_on():
                return


def seek_replies(seats: Seats, run_all: RunAll, stop: Event) -> dict[SampledSolver, Found]:
    """Return what each seat that looks for replies found against the other's average strategy.

    The tables stay as they are.

    Raises
    ------
    StoppedError
        Once ``stop`` is set.
    """
    climbing = [(one, other) for one, other in seats if one.options.climbs and not one._is_listed]
    averages = {one: one._average_of_past() for one, _ in seats} if climbing else {}
    return {
        one: one._seek_replies(
            Batch(one._sampling(other), averages[one], averages[other]), run_all, stop
        )
        for one, other in climbing
    }


def forget(seats: Seats, found: dict[SampledSolver, Found]) -> None:
    """Forget all regrets, take in the replies found, and draw plans and scouts anew, in place."""
    for one, _ in seats:
        one._end_epoch()
        if one in found:
            one._take_replies(found[one])
        one._draw_population(one._rng(NUM_CHUNKS + 2))
