"""Locks of sampled solves: what they fix stays fixed, and the rest is played well."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from bridge import all_infostates, board_of

from solver.cfr import solve_locked
from solver.judge import evaluate, exploitability
from solver.kinds import fixed_match
from solver.lock import Lock, bound_of, parse_lock
from solver.mccfr import SamplingOptions, oracle, solve_locked_sampled
from solver.mccfr.kernels import Batch, draw_opponent, new_log, new_work, play_chunk
from solver.mccfr.locked import LockedSampledSolver
from solver.mccfr.oracle import value_plan
from solver.mccfr.solver import SampledSolver
from solver.plans import fixed_plan, lay_plan
from solver.rules import Game, InputError
from solver.setups import OPEN, list_completions, list_setups
from solver.strategy import FROM_LOCK, LISTED, draw_strategy_setup, match_prob, setup_prob

SMALL = SamplingOptions(batch=256)
SCOUTED = SamplingOptions(batch=256, plans=40, scouts=128, epoch=1024, climbs=1)
"""Few plans, so that setups are searched, and replies found after each epoch."""

LOCKS = {
    "board": {"setups": [{"setup": "1"}]},
    "answers": {"answers": [{"gap": 1, "match": 1}]},
    "both": {
        "setups": [{"setup": "?:2,0"}],
        "answers": [
            {"slot": 2, "match": 0.25},
            {"tile": 1, "facing": "w3", "match": 1},
            {"stack": 1, "gap": 2, "match": 0},
        ],
    },
}
BOARDS = ["5", "?:3,2", "?,?,4:1,?:1,0:?", "?:1,?:1,?,?:2,?:1,?:1", "1:2,3:1,5:4,0:1,2:1,4:3"]
"""Of 6x12."""


def lock_of(name: str, said: dict) -> Lock:
    return parse_lock(json.dumps(said), Game.parse(name))


@cache
def solved(name: str, said: str, iterations: int = 40_000):
    return solve_locked_sampled(
        parse_lock(said, Game.parse(name)), iterations=iterations, seed=1, options=SMALL
    )


@cache
def scouted(board: str) -> LockedSampledSolver:
    """A solver of 6x12 that is bound to a board, after an epoch, a short search, and a batch."""
    lock = lock_of("6x12", {"setups": [{"setup": board}]})
    solver = LockedSampledSolver(lock, seed=1, options=SCOUTED)
    with pytest.MonkeyPatch.context() as patch:
        for name, less in (("_POOL", 60), ("_KEPT", 8), ("_CHANGED", 24), ("_FINAL_GAMES", 500)):
            patch.setattr(oracle, name, less)
        solver.run_batches(5, lambda: True)
    return solver


def completes(tiles, chips, placed) -> bool:
    return bool(
        ((placed.tiles == OPEN) | (placed.tiles == tiles)).all()
        and ((placed.chips == OPEN) | (placed.chips == chips)).all()
        and sorted(tiles) == list(range(len(tiles)))
        and chips.sum() == 12
        and chips.min() >= 1
    )


@pytest.mark.parametrize("case", LOCKS)
@pytest.mark.parametrize("name", ["3x6", "4x6"])
def test_locked_table_loses_little_more_than_the_lock_costs(name, case):
    said = json.dumps(LOCKS[case])
    found = solved(name, said)
    game = Game.parse(name)
    exact = solve_locked(parse_lock(said, game), target=1e-3)
    most, least = exact.locked.exploitability, exact.locked.exploitability - exact.gap
    loses = exploitability(found.locked.strategy(), game)
    assert least - 1e-6 <= loses <= most + 0.16  # probabilities are stored in 32 bits
    wins = evaluate(found.opponent.strategy(), found.locked.strategy(), game).value
    assert least - 0.1 <= wins <= loses + 1e-6


@pytest.mark.parametrize("case", LOCKS)
def test_locked_answers_are_as_told_and_others_are_learned(case):
    game = Game.parse("4x6")
    said = LOCKS[case]
    strategy = solved("4x6", json.dumps(said)).locked.strategy()
    given, free = 0, set()
    for info in all_infostates(game, 0):
        if max(info.winnings) > game.num_chips:
            continue
        slot = len(info.slots)
        tile, stack = info.tiles[slot], info.chips[slot]
        seen = {
            "slot": slot + 1,
            "tile": tile,
            "stack": stack,
            "gap": info.facing[1] - stack,
            "facing": f"{'bw'[info.facing[0]]}{info.facing[1]}",
        }
        wanted = [
            entry["match"]
            for entry in said.get("answers", [])
            if all(seen[part] == value for part, value in entry.items() if part != "match")
        ]
        match, source = match_prob(strategy, board_of(info), slot, info.player)
        assert (source == FROM_LOCK) == bool(wanted)
        if wanted:
            assert match == wanted[0]
            given += 1
        else:
            free.add(round(match, 3))
    assert (given > 100) == ("answers" in said)
    assert len(free) > 20


def test_first_kind_that_fits_counts():
    answers = [{"slot": 2, "gap": 3, "match": 0.5}, {"facing": "b5", "match": 0.75}]
    kinds = bound_of(lock_of("4x8", {"answers": answers})).kinds
    assert fixed_match(kinds, 1, 0, 2, 0, 5) == 0.5
    assert fixed_match(kinds, 0, 0, 2, 0, 5) == 0.75
    assert fixed_match(kinds, 1, 0, 1, 0, 5) == 0.75
    assert fixed_match(kinds, 1, 0, 1, 1, 5) == -1.0
    assert fixed_match(kinds, 0, 0, 2, 0, 4) == -1.0


@pytest.mark.parametrize("board", BOARDS)
def test_all_that_the_locked_seat_places_completes_the_board(board):
    solver = scouted(board)
    locked, placed = solver.locked, solver.locked._bound.placed
    rng, work = np.random.default_rng(3), new_work(6)
    groups = [locked._plans, locked._scouts, locked._past, locked._replies]
    assert len(locked._past.chips) > 0
    for chips, turns in (row for group in groups for row in zip(group.chips, group.turns)):  # noqa: B905
        for _ in range(3):
            lay_plan(chips, turns, rng.random(6), work.tiles, work.chips)
            assert completes(work.tiles, work.chips, placed)
    sampling, _, theirs = solver.opponent._frozen(locked)
    shares = dict.fromkeys(("uniform", "crossed", "elite", "replied"), 0.0)
    for name in shares:
        if getattr(sampling, name) == 0.0:
            continue  # all setups are listed
        alone = sampling._replace(**(shares | {name: 1.0}))
        for _ in range(300):
            assert not draw_opponent(work, alone, theirs.setups, rng)
            assert completes(work.tiles, work.chips, placed)


@pytest.mark.parametrize("board", BOARDS)
def test_table_places_all_setups_that_complete_the_board_and_no_others(board):
    strategy = scouted(board).locked.strategy()
    rng = np.random.default_rng(1)
    placed = scouted(board).locked._bound.placed
    tiles, chips = list_completions(Game(6, 12), placed)
    probs = [setup_prob(strategy, *row) for row in zip(tiles, chips, strict=True)]
    assert min(probs) > 0.0
    assert sum(probs) == pytest.approx(1.0, abs=1e-5)
    for _ in range(3_000):
        draw_strategy_setup(strategy, rng, tiles[0], chips[0])
        assert completes(tiles[0], chips[0], placed)


def test_every_other_setup_has_no_probability_at_all():
    game = Game.parse("4x6")
    said = LOCKS["both"]
    strategy = solved("4x6", json.dumps(said)).locked.strategy()
    tiles, chips = list_setups(game)
    probs = np.array([setup_prob(strategy, *row) for row in zip(tiles, chips, strict=True)])
    np.testing.assert_array_equal(probs > 0.0, (chips[:, 0] == 2) & (tiles[:, 1] == 0))


def test_opponent_finds_replies_against_the_locked_average_and_the_locked_seat_within_the_lock():
    solver = scouted("5")
    assert solver.locked.rounds[:, 0].tolist() == [1024]
    assert solver.opponent.rounds[:, 0].tolist() == [1024]
    assert len(solver.opponent._replies.chips) > 0
    orders = np.argsort(solver.opponent._replies.turns, axis=1)
    assert (orders[:, 0] != 5).any()
    whole = scouted(BOARDS[-1])  # one plan, and nothing to look for
    assert whole.locked._plans.current.tolist() == [1.0]
    assert (len(whole.locked._replies.chips), len(whole.opponent._replies.chips) > 0) == (0, True)


def test_kernels_play_what_is_fixed():
    """The mean of many games of a plan is what the judge says."""
    said = LOCKS["both"] | {"setups": []}
    solver = LockedSampledSolver(lock_of("3x6", said), seed=1, options=SMALL)
    solver.run_batches(8, lambda: True)
    locked, opponent = (
        seat.current_strategy()._replace(match=seat._decisions.coarse.match.astype(float))
        for seat in (solver.locked, solver.opponent)
    )
    tiles, chips = list_setups(Game(3, 6))
    listed = {"setup_kind": LISTED, "setup_tiles": tiles, "setup_chips": chips}
    rng = np.random.default_rng(4)
    for seat, other in ((solver.locked, solver.opponent), (solver.opponent, solver.locked)):
        own, theirs = (locked, opponent) if seat is solver.locked else (opponent, locked)
        theirs = theirs._replace(**listed, setup_cumulative=np.cumsum(other._plans.current))
        for row in (3, 17, 42, 55):
            plan = fixed_plan(seat._plans.chips[row], seat._plans.turns[row], rng)
            alone = own._replace(
                setup_kind=LISTED,
                setup_tiles=tiles[[row]],
                setup_chips=chips[[row]],
                setup_cumulative=np.ones(1),
            )
            exact = evaluate(alone, theirs, Game(3, 6)).value
            batch = seat._frozen(other)
            found = value_plan(new_work(3), batch, *plan, 20_000, rng, rng)
            assert found == pytest.approx(exact, abs=4.5 / np.sqrt(20_000))


def test_nothing_is_learned_where_answers_are_fixed():
    said = {"answers": [{"slot": slot, "match": 0.5} for slot in (1, 2, 3)]}
    solver = LockedSampledSolver(lock_of("3x6", said), seed=1, options=SMALL)
    solver.run_batches(2, lambda: True)
    assert not solver.locked.visits.any()
    assert solver.opponent.visits.any()


def test_seats_of_equal_strategies_play_as_one_that_serves_both():
    solver = SampledSolver(Game(5, 10), seed=1, options=SamplingOptions(batch=256))
    solver.run(512)
    one = solver._frozen()
    copy = one.mine._replace(
        setups=type(one.mine.setups)(*(part.copy() for part in one.mine.setups)),
        answers=type(one.mine.answers)(*(part.copy() for part in one.mine.answers)),
    )
    logs = []
    for batch in (one, Batch(one.sampling, one.mine, copy)):
        logs.append(new_log(32, 10, 5))
        assert play_chunk(new_work(5), batch, logs[-1], np.random.default_rng(1), 32, 11 << 5) == 32
    for first, second in zip(*logs, strict=True):
        np.testing.assert_array_equal(first, second)


def assert_same_state(first: dict, second: dict) -> None:
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_tables_are_the_same_bit_for_bit_on_two_threads_and_after_a_break(monkeypatch):
    said = {"setups": [{"setup": "?:3,2"}], "answers": [{"gap": 1, "match": 0.5}]}
    lock = lock_of("6x12", said)
    for name, less in (("_POOL", 60), ("_CHANGED", 24), ("_FINAL_GAMES", 500)):
        monkeypatch.setattr(oracle, name, less)
    settings = {"iterations": 1536, "seed": 5, "options": SCOUTED}
    whole = solve_locked_sampled(lock, threads=1, **settings)
    again = solve_locked_sampled(lock, threads=2, **settings)
    assert_same_state(whole.locked.state, again.locked.state)
    half = solve_locked_sampled(lock, **(settings | {"iterations": 768}))
    rest = solve_locked_sampled(lock, **(settings | {"seed": 9}), state=half.locked.state)
    assert_same_state(whole.locked.state, rest.locked.state)
    np.testing.assert_array_equal(whole.opponent.model, rest.opponent.model)
    assert (whole.locked.model != whole.opponent.model).any()


def test_checkpoints_are_states_to_go_on_from():
    lock = lock_of("3x6", LOCKS["both"])
    states = []
    settings = {"iterations": 1024, "seed": 2, "options": SMALL}
    whole = solve_locked_sampled(
        lock, checkpoint=lambda state, _: states.append(state), checkpoint_seconds=0.0, **settings
    )
    rest = solve_locked_sampled(lock, state=states[0], **settings)
    assert_same_state(whole.locked.state, rest.locked.state)
    with pytest.raises(InputError, match=r"state: plan_chips has .* \(locked seat\)"):
        solve_locked_sampled(lock_of("3x6", LOCKS["board"]), state=states[0], **settings)


REFUSED = [
    ({"setups": [{"setup": "1"}, {"setup": "?"}]}, r"lock: setups\.1: .* one board"),
    (
        {"answers": [{"gap": 1, "match": 1}, {"me": "0:1,1:1,2:4", "facing": "w3", "match": 1}]},
        r"lock: answers\.1: me: .* slot, tile, stack, gap, facing alone",
    ),
]


@pytest.mark.parametrize(("said", "message"), REFUSED)
def test_what_only_an_exact_solve_can_keep_is_refused_by_name(said, message):
    with pytest.raises(InputError, match=message) as refused:
        solve_locked_sampled(lock_of("3x6", said), iterations=1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "kind",
    [
        {"gap": 4},
        {"stack": 2, "gap": 3},
        {"facing": "b5"},
        {"facing": "b1"},
        {"facing": "b2", "stack": 2},
        {"facing": "b4", "stack": 2, "gap": 1},
        {"facing": "w2", "gap": 2},
    ],
)
def test_kinds_that_no_two_stacks_make_are_refused(kind):
    with pytest.raises(InputError, match=r"lock: answers\.0: no decision of 3x6 is left for it"):
        lock_of("3x6", {"answers": [kind | {"match": 1}]})


def test_kind_that_an_earlier_entry_takes_in_is_refused():
    answers = [{"gap": 1, "match": 1}, {"slot": 2, "gap": 1, "match": 0}]
    with pytest.raises(InputError, match=r"lock: answers\.1: no decision"):
        lock_of("3x6", {"answers": answers})
    lock_of("3x6", {"answers": answers[::-1]})


def test_two_solvers_must_fit_in_memory(monkeypatch):
    from solver.mccfr import options

    game = Game(6, 12)
    monkeypatch.setattr(options, "MEMORY_LIMIT", 1.5 * options.estimate_sampled(game)[0])
    SampledSolver(game)
    with pytest.raises(InputError, match=r"6x12.*GiB"):
        LockedSampledSolver(lock_of("6x12", LOCKS["board"]))
