"""How the sampling solver samples, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from solver.abstraction import num_keys
from solver.mccfr.tables import RECORD, SKETCH
from solver.memoryless import count_entries
from solver.rules import Game, InputError
from solver.setups import NOTHING_PLACED, Placed, count_setups

__all__ = [
    "MEMORY_LIMIT",
    "NUM_CHUNKS",
    "SamplingOptions",
    "batch_for",
    "check_sampled",
    "epoch_for",
    "estimate_sampled",
    "is_listed",
    "places_for",
    "plans_for",
    "scouts_for",
]

NUM_CHUNKS = 8
"""Chunks of a batch, whatever the number of threads."""

MEMORY_LIMIT = 16 * 2**30
"""Bytes beyond which a game is refused."""


MOST_PLANS = 1_000_000

LISTED_PLANS = 5_000
"""Games of up to so many setups have a plan for each."""

FEW_PLANS = 2_000
"""Plans in other games."""

FEWEST_SCOUTS = 128

MOST_DOUBT = 1e9

MOST_CLIMBS = 1_000

EPOCH, EPOCH_LISTED = 2**20, 2**62
"""Iterations of an epoch in games with scouts, and where all setups are listed (no end)."""


@dataclass(frozen=True)
class SamplingOptions:
    """How a :class:`SampledSolver` samples and averages.

    Attributes
    ----------
    batch : int
        Iterations between two updates of the strategy; 0 chooses by the size of the game.
    plans : int
        Plans to choose setups from; 0 chooses by the number of setups.
    tried : int
        Plans and scouts tried in an iteration.
    scouts : int
        Plans that are tried and not played, in games whose setups are not listed.
    scouted : float
        Share of the tries that scouts get.
    uniform, crossed, elite, replied : float
        Probabilities with which the opponent's setup is not one of the strategy, so that others are
        answered too: drawn uniformly over all; from a cross of two plans; from the best scouts;
        from the replies found so far.  Where all setups are listed, only the first is needed.
    climbs : int
        Searches for replies to the average strategy after each epoch; 0 for none.
    plus : bool
        Regret matching+ for decisions (else plain regret matching).
    doubt : float
        Visits in an epoch after which a finer key answers half by its own regrets, and half as the
        key above it.
    averaging_power : float
        A batch's strategy counts in the average by its number to this power; 1 is linear.
    regret_power : float
        A batch's regrets count by its number to this power, so that early ones fade; 0 is alike.
    epoch : int
        Iterations after which all regrets are forgotten, plans and scouts are drawn anew, and the
        weights of averages and regrets begin again; 0 chooses by the size of the game.
    fine_places : int
        Places for fine keys, a power of two; 0 chooses by the size of the game.
    """

    batch: int = 0
    plans: int = 0
    tried: int = 10
    scouts: int = 1_024
    scouted: float = 0.6
    uniform: float = 0.05
    crossed: float = 0.25
    elite: float = 0.1
    replied: float = 0.05
    climbs: int = 8
    plus: bool = True
    doubt: float = 128.0
    averaging_power: float = 1.0
    regret_power: float = 1.0
    epoch: int = 0
    fine_places: int = 0

    def __post_init__(self) -> None:
        if self.batch < 0 or self.batch % NUM_CHUNKS:
            raise InputError(f"batch {self.batch}: allowed are 0 and multiples of {NUM_CHUNKS}")
        if not 0 <= self.plans <= MOST_PLANS:
            raise InputError(f"plans {self.plans}: allowed are 0 to {MOST_PLANS}")
        if self.tried < 1:
            raise InputError(f"tried {self.tried}: at least 1 plan must be tried")
        if self.scouts and not FEWEST_SCOUTS <= self.scouts <= MOST_PLANS:
            raise InputError(
                f"scouts {self.scouts}: allowed are 0 and {FEWEST_SCOUTS} to {MOST_PLANS}"
            )
        others = ("uniform", "crossed", "elite", "replied")
        for name in (*others, "scouted"):
            if not 0.0 <= (value := getattr(self, name)) <= 1.0:
                raise InputError(f"{name} {value}: allowed are 0 to 1")
        if (total := sum(getattr(self, name) for name in others)) > 1.0:
            raise InputError(f"{', '.join(others)}: together {total:g}, and at most 1 is allowed")
        for name in ("averaging_power", "regret_power"):
            if not 0.0 <= (value := getattr(self, name)) <= 8.0:
                raise InputError(f"{name} {value}: allowed are 0 to 8")
        if not 0.0 <= self.doubt <= MOST_DOUBT:
            raise InputError(f"doubt {self.doubt}: allowed are 0 to {MOST_DOUBT:g} visits")
        if not 0 <= self.climbs <= MOST_CLIMBS:
            raise InputError(f"climbs {self.climbs}: allowed are 0 to {MOST_CLIMBS}")
        if self.epoch < 0:
            raise InputError(f"epoch {self.epoch}: allowed are 0 and more iterations")
        if self.fine_places and (self.fine_places < 64 or self.fine_places.bit_count() != 1):
            raise InputError(
                f"fine_places {self.fine_places}: allowed are 0 and powers of two from 64"
            )


def estimate_sampled(game: Game) -> tuple[int, int]:
    """Return ``(bytes, rows)``: memory of a :class:`SampledSolver`, and rows of its two tables.

    Examples
    --------
    >>> size, rows = estimate_sampled(Game(10, 30))
    >>> rows == 1178310 + 2695680 + 2**25
    True
    """
    n, c = game.num_tiles, game.num_chips
    keys, entries = int(num_keys(n)), count_entries(n, c)
    options = SamplingOptions()
    places = places_for(game)
    answer = RECORD.itemsize + 4
    scouts = scouts_for(game, options)
    averages = 4 * places if scouts else 0  # that climbs are against
    tables = keys * answer + places * (answer + 8 + SKETCH) + averages
    plans = plans_for(game, options) + scouts
    tables += plans * (2 * n + 6) * 8 + entries * (2 * 8 + 4)
    room = (options.tried + 1) * 2**n * 2 * NUM_CHUNKS
    logs = max(room, batch_for(game) * (options.tried + 1) * 32) * 12
    return tables + logs, keys + places + entries


def check_sampled(game: Game, seed: int, threads: int, *, solvers: int = 1) -> None:
    """Refuse what so many solvers side by side cannot do."""
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: the sampling solver allows latest only")
    if seed < 0:
        raise InputError(f"seed {seed}: allowed are 0 and more")
    if threads < 1:
        raise InputError(f"threads {threads}: allowed are 1 and more")
    size = solvers * estimate_sampled(game)[0]
    if size > MEMORY_LIMIT:
        needed = f"{size / 2**30:,.1f} GiB" if size < 2**60 else "more than a billion GiB"
        raise InputError(
            f"game {game.name}: its tables need {needed}, and at most "
            f"{MEMORY_LIMIT / 2**30:.0f} GiB are allowed; use fewer tiles or chips"
        )


def places_for(game: Game) -> int:
    """Return how many places for fine and shown keys a game of this size can fill in minutes."""
    return 2 ** min(2 * game.num_tiles + 8, 25)


def plans_for(game: Game, options: SamplingOptions) -> int:
    """Return how many plans a solve chooses from."""
    if options.plans:
        return options.plans
    setups = count_setups(game)
    return setups if setups <= LISTED_PLANS else FEW_PLANS


def batch_for(game: Game) -> int:
    """Return how many iterations are played against one frozen strategy."""
    return 512 if game.num_tiles <= 5 else 4096


def epoch_for(game: Game, options: SamplingOptions) -> int:
    """Return how many batches regrets are remembered for."""
    iterations = options.epoch or (EPOCH_LISTED if is_listed(game, options) else EPOCH)
    return max(iterations // (options.batch or batch_for(game)), 1)


def is_listed(game: Game, options: SamplingOptions, placed: Placed = NOTHING_PLACED) -> bool:
    """Whether there is a plan for each setup that completes a board."""
    return placed.count(game) <= (options.plans or LISTED_PLANS)


def scouts_for(game: Game, options: SamplingOptions, placed: Placed = NOTHING_PLACED) -> int:
    """Return how many scouts a solve has: none where there is a plan for each setup."""
    return 0 if is_listed(game, options, placed) else options.scouts
