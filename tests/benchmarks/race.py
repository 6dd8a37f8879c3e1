"""A peer brought to an exploitability: what it is asked for, and what came of it.

Only a peer's iterations are timed, in stretches whose ends grow by a tenth; at each end, outside
the time, its average strategies are evaluated on the sequence form.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sequence_form import SequenceForm

from solver import Game

__all__ = ["Peer", "Row", "Task", "Weights", "memory_limit", "race"]

EVALUATION_GROWTH = 1.1
FIRST_EVALUATION = 4

Weights = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Both players' average strategies, as :meth:`sequence_form.Side.plan` takes them."""


@dataclass(frozen=True)
class Task:
    """What is to be solved.

    Attributes
    ----------
    game : Game
    file : Path
        The game as an ``.efg`` file; other files may be written beside it.
    targets : tuple of float
        Exploitabilities, from the largest to the smallest.
    time_limit : float
        Seconds of solving that a peer gets.
    repeats : int
        Calls of our solver, of which the median is reported.
    """

    game: Game
    file: Path
    targets: tuple[float, ...]
    time_limit: float
    repeats: int


@dataclass(frozen=True)
class Peer:
    """A solver that is set up and can be run on.

    Attributes
    ----------
    name, settings : str
    building : float
        Seconds that loading the game and setting up took.
    step : callable
        Runs so many iterations and waits until they are done.
    weights : callable
        Returns the average strategies.
    own_exploitability : callable
        Returns what its library says of the average strategies, which it is given.
    """

    name: str
    settings: str
    building: float
    step: Callable[[int], None]
    weights: Callable[[], Weights]
    own_exploitability: Callable[[Weights], float]


@dataclass(frozen=True)
class Row:
    """What came of one solver with one target; numbers that there are none of are NaN.

    Attributes
    ----------
    solver, settings : str
    target : float
    iterations : int
        0 for a linear program, and where nothing was run.
    ms_an_iteration, seconds, seconds_with_building : float
    exploitability : float
        Reached in the end.
    reached : bool
        Whether that is the target or less.
    confirmed_within : float
        Difference to what the library itself says of the last strategy; for ours, the judge.
    note : str
    """

    solver: str
    settings: str
    target: float
    iterations: int = 0
    ms_an_iteration: float = math.nan
    seconds: float = math.nan
    seconds_with_building: float = math.nan
    exploitability: float = math.nan
    reached: bool = False
    confirmed_within: float = math.nan
    note: str = ""


def memory_limit() -> int:
    """Return the bytes of memory that a solver may take: 70% of the machine's."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 7 // 10


def race(task: Task, form: SequenceForm, peer: Peer) -> Iterator[Row]:
    """Run a peer until each target or the time limit, and yield a row a target."""
    iterations, seconds, exploitability = 0, 0.0, math.inf
    evaluate_at = FIRST_EVALUATION
    seen: list[tuple[float, int, float, float]] = []
    left = list(task.targets)
    while left and seconds < task.time_limit:
        start = time.perf_counter()
        peer.step(evaluate_at - iterations)
        seconds += time.perf_counter() - start
        iterations = evaluate_at
        average = peer.weights()
        exploitability = form.exploitability(*average)
        while left and exploitability <= left[0]:
            seen.append((left.pop(0), iterations, seconds, exploitability))
        in_time = math.ceil((task.time_limit - seconds) * iterations / seconds)
        growth = math.ceil(iterations * (EVALUATION_GROWTH - 1))
        evaluate_at = iterations + max(1, min(growth, in_time))
    confirmed_within = abs(peer.own_exploitability(average) - exploitability)
    seen += [(target, iterations, seconds, exploitability) for target in left]
    for target, run, took, value in seen:
        yield Row(
            peer.name,
            peer.settings,
            target,
            iterations=run,
            ms_an_iteration=1000 * took / run,
            seconds=took,
            seconds_with_building=took + peer.building,
            exploitability=value,
            reached=value <= target,
            confirmed_within=confirmed_within,
        )
