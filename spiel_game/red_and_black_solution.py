"""Optimal play and seat values of Red and Black.

Packs are shuffled again after each hand and utilities add, so one hand from a fresh pack is a game
of its own and the whole match is that hand played ``hands`` times with the bank passing on.  A
bet's result is proportional to its size, so of the sizes only the two ends of the limits matter.

The hand is solved twice:

* OpenSpiel's CFR+ on the environment itself: one hand of ``python_red_and_black``, as a cached tree
  (3 players: some 85,000 states);
* OpenSpiel's external-sampling MCCFR on each seat's own game, see
  :mod:`spiel_game.red_and_black_seats`: in the whole tree 4,000 infostates ask the same few
  questions, each too rarely for sampling.

Both average policies are judged exactly: values by walking the whole tree, NashConv by best
responses.  How far the two answers are apart is part of the result.  :func:`exact_seat_values` is
a third way, a sum over situations for any number of players, and shares no solver with either.

Values are in bets of ``max_bet`` chips, of one hand, to the seat named.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyspiel

from solver.progress import Progress
from solver.rules import InputError
from spiel_game.red_and_black_seats import child_named, doubling_gain, seat_game, situations
from spiel_game.red_and_black_table import (
    DEAL,
    DOUBLE,
    OVER,
    RedAndBlackRules,
    Table,
    apply_move,
    cards_left,
    phase_of,
    start,
)

__all__ = [
    "Doubling",
    "RedAndBlackSolution",
    "SolvedPolicy",
    "exact_seat_values",
    "solve_red_and_black",
]


_MCCFR_BATCH = 1000


@dataclass(frozen=True)
class SolvedPolicy:
    """An average policy as judged on the whole tree.

    Attributes
    ----------
    seat_values : tuple of float
        In bets, from the banker's left, antes included.
    banker_value : float
        In bets.
    nash_conv : float
        What all seats together could gain by best responses, in bets.
    iterations : int
        0 if the work was stopped before: then the policy is uniform.
    """

    seat_values: tuple[float, ...]
    banker_value: float
    nash_conv: float
    iterations: int


@dataclass(frozen=True)
class Doubling:
    """The choice to double with two cards of each colour in hand.

    Attributes
    ----------
    seat : int
        1 for the player on the banker's left, and so on.
    own_left, other_left : int
        Cards left in the pack of the colour bet on, and of the other.
    gain : float
        What doubling gains, in bets; exact.
    cfr, mccfr : float
        How often either average policy doubles here.
    """

    seat: int
    own_left: int
    other_left: int
    gain: float
    cfr: float = 0.0
    mccfr: float = 0.0


@dataclass(frozen=True)
class RedAndBlackSolution:
    """Optimal play and its value; see the module for units.

    Attributes
    ----------
    seat_values : tuple of float
        By seat from the banker's left, by CFR+: its average policy's value.
    banker_value : float
        Minus their sum.
    double_when : tuple of Doubling
        Every doubling situation, by seat and cards left of the own colour.
    match_values : tuple of float
        Over all hands, by seat at the table; seat 0 banks first.
    cfr, mccfr : SolvedPolicy
        The two solutions.
    distance : float
        The largest difference between their values of a seat.
    seed : int
        Of the sampling.
    """

    seat_values: tuple[float, ...]
    banker_value: float
    double_when: tuple[Doubling, ...]
    match_values: tuple[float, ...]
    cfr: SolvedPolicy
    mccfr: SolvedPolicy
    distance: float
    seed: int


def solve_red_and_black(
    *,
    players: int = 2,
    min_bet: int = 1,
    max_bet: int = 2,
    hands: int = 0,
    ante: int = 0,
    cards_per_colour: int = 52,
    cfr_iterations: int = 20,
    mccfr_iterations: int = 20_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> RedAndBlackSolution:
    """Solve one hand twice and say how sure the answer is.

    Parameters
    ----------
    players, min_bet, max_bet, hands, ante, cards_per_colour : int
        As in :mod:`spiel_game.red_and_black`; 2 or 3 players.
    cfr_iterations, mccfr_iterations : int
        At least 1; those of MCCFR are for each seat.
    seed : int
        Of MCCFR, at least 0.
    progress : callable, optional
        Called with iterations of both methods so far, seconds and None; False stops the work.

    Raises
    ------
    InputError
        If a parameter is outside its range.

    Examples
    --------
    >>> solution = solve_red_and_black(cfr_iterations=2, mccfr_iterations=10)
    >>> [row.gain for row in solution.double_when], abs(solution.banker_value) < 1e-12
    ([0.0], True)
    """
    rules = RedAndBlackRules(players, min_bet, max_bet, hands, ante, cards_per_colour)
    if players > 3:
        raise InputError(f"players {players}: 2 or 3 players can be solved")
    numbers = {"cfr_iterations": cfr_iterations, "mccfr_iterations": mccfr_iterations}
    for name, value in numbers.items():
        if value < 1:
            raise InputError(f"{name} {value}: at least 1")
    if not 0 <= seed < 2**31:
        raise InputError(f"seed {seed}: 0 to {2**31 - 1}")
    hand = RedAndBlackRules(
        players, min_bet, max_bet, 1, ante, cards_per_colour, max(max_bet - min_bet, 1)
    )
    game = pyspiel.convert_to_cached_tree(pyspiel.load_game("python_red_and_black", vars(hand)))
    report = _reporter(progress)
    cfr, cfr_doubles = _solve_hand(game, hand, cfr_iterations, report)
    mccfr, mccfr_doubles = _solve_seats(hand, mccfr_iterations, seed, report)
    rows = [
        Doubling(bettor + 1, situation.own_left, situation.other_left, doubling_gain(situation))
        for bettor in range(hand.num_bettors)
        for situation in situations(hand, bettor)
    ]
    return RedAndBlackSolution(
        seat_values=cfr.seat_values,
        banker_value=cfr.banker_value,
        double_when=tuple(
            replace(row, cfr=often, mccfr=sampled)
            for row, often, sampled in zip(rows, cfr_doubles, mccfr_doubles, strict=True)
        ),
        match_values=_match_values(rules, cfr),
        cfr=cfr,
        mccfr=mccfr,
        distance=max(abs(a - b) for a, b in zip(cfr.seat_values, mccfr.seat_values, strict=True)),
        seed=seed,
    )


def exact_seat_values(
    *,
    players: int,
    min_bet: int = 1,
    max_bet: int = 2,
    ante: int = 0,
    cards_per_colour: int = 52,
) -> tuple[float, ...]:
    """Return the seat values of optimal play for any number of players, by counting.

    A bet that is not doubled is worth 0, so a seat's value is what doubling gains, less the ante.
    For a later seat it is averaged over the cards that earlier seats and the player have shown.

    Examples
    --------
    >>> exact_seat_values(players=2)
    (0.0,)
    """
    rules = RedAndBlackRules(players, min_bet, max_bet, 1, ante, cards_per_colour)
    values = []
    for bettor in range(rules.num_bettors):
        gains = (s.prob * max(0.0, doubling_gain(s)) for s in situations(rules, bettor))
        values.append(math.fsum(gains) - ante / max_bet)
    return tuple(values)


def _reporter(progress: Progress | None) -> Callable[[int], bool]:
    """Return a function that counts iterations, tells ``progress`` and stays False once told."""
    begin = time.perf_counter()
    total, go_on = 0, True

    def report(num_done: int) -> bool:
        nonlocal total, go_on
        total += num_done
        if go_on and num_done and progress is not None:
            go_on = progress(total, time.perf_counter() - begin, None)
        return go_on

    return report


def _iterate(
    step: Callable[[], None], iterations: int, batch: int, report: Callable[[int], bool]
) -> int:
    """Call ``step`` up to ``iterations`` times, reporting each batch; return how often."""
    done = 0
    while done < iterations and report(0):
        size = min(batch, iterations - done)
        for _ in range(size):
            step()
        done += size
        report(size)
    return done


def _solve_hand(
    game: pyspiel.Game, hand: RedAndBlackRules, iterations: int, report: Callable[[int], bool]
) -> tuple[SolvedPolicy, list[float]]:
    """Run CFR+ on the whole hand; return its policy's values and how often each row doubles."""
    solver = pyspiel.CFRPlusSolver(game)
    done = _iterate(solver.evaluate_and_update_policy, iterations, 1, report)
    policy = solver.tabular_average_policy()
    chips = pyspiel.expected_returns(game.new_initial_state(), policy, -1, False)
    nash_conv = pyspiel.nash_conv(game, policy, use_state_get_policy=True)
    bets = [won / hand.max_bet for won in chips]
    solved = SolvedPolicy(tuple(bets[1:]), bets[0], nash_conv / hand.max_bet, done)
    return solved, _hand_doublings(game, policy, hand)


def _solve_seats(
    hand: RedAndBlackRules, iterations: int, seed: int, report: Callable[[int], bool]
) -> tuple[SolvedPolicy, list[float]]:
    """Run MCCFR on each seat's own game; return the same two."""
    values, nash_conv, doubles, done = [], 0.0, [], 0
    for bettor in range(hand.num_bettors):
        game = seat_game(hand, bettor)
        # The policy reads the solver's tables: the solver must outlive every use of it.
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed=seed + bettor)
        done = _iterate(solver.run_iteration, iterations, _MCCFR_BATCH, report)
        policy = solver.average_policy()
        root = game.new_initial_state()
        won = pyspiel.expected_returns(root, policy, -1, False)[0]
        values.append(won - hand.ante / hand.max_bet)
        nash_conv += pyspiel.nash_conv(game, policy, use_state_get_policy=True)
        dealt = [(prob, root.child(bet)) for bet, prob in policy.action_probabilities(root).items()]
        for situation in situations(hand, bettor):
            name = f"{situation.own_left}-{situation.other_left}"
            asked = [(prob, child_named(state, name)) for prob, state in dealt]
            answers = [
                prob * policy.action_probabilities(state)[state.string_to_action("double")]
                for prob, state in asked
            ]
            doubles.append(math.fsum(answers))
    return SolvedPolicy(tuple(values), 0.0 - math.fsum(values), nash_conv, done), doubles


def _match_values(rules: RedAndBlackRules, solved: SolvedPolicy) -> tuple[float, ...]:
    """Add up the values of each seat at the table over all hands."""
    by_distance = (solved.banker_value, *solved.seat_values)
    return tuple(
        sum(by_distance[(seat - number) % rules.players] for number in range(rules.num_hands))
        for seat in range(rules.players)
    )


def _hand_doublings(
    game: pyspiel.Game, policy: pyspiel.Policy, hand: RedAndBlackRules
) -> list[float]:
    """Average a policy's doubling over the histories that share a situation, by their reach."""
    reach: dict[tuple[int, int, int], float] = defaultdict(float)
    doubled: dict[tuple[int, int, int], float] = defaultdict(float)

    def walk(state: pyspiel.State, table: Table, prob: float) -> None:
        phase = phase_of(table)
        if phase == OVER:
            return
        if phase == DEAL:
            steps = dict(state.chance_outcomes())
        else:
            steps = policy.action_probabilities(state)
        if phase == DOUBLE:
            situation = _situation(table)
            reach[situation] += prob
            doubled[situation] += prob * steps[1]
        for action, factor in steps.items():
            if factor > 0.0:
                walk(state.child(action), apply_move(table, action), prob * factor)

    walk(game.new_initial_state(), start(hand), 1.0)
    keys = [
        (bettor, situation.own_left, situation.other_left)
        for bettor in range(hand.num_bettors)
        for situation in situations(hand, bettor)
    ]
    return [doubled[key] / reach[key] if reach[key] > 0.0 else 0.0 for key in keys]


def _situation(table: Table) -> tuple[int, int, int]:
    """Return the bettor who may double and the cards left of the own and the other colour."""
    bettor = len(table.hand.doubled)
    left = cards_left(table)
    colour = table.hand.bets[bettor] % 2
    return bettor, left[colour], left[1 - colour]
