"""The sampling solver: the same table from the same seed, and tables that are hard to exploit."""

from __future__ import annotations

import dataclasses
import itertools
from threading import Event

import numpy as np
import pytest
from scipy.stats import chisquare

from solver.abstraction import (
    FEATURES,
    VERSION,
    feature_sizes,
    num_keys,
    pack_key,
    split_keys,
)
from solver.coarser import fill_from_coarser
from solver.judge import evaluate, exploitability
from solver.mccfr import SampledSolver, SamplingOptions, estimate_sampled, population, solve_sampled
from solver.mccfr.kernels import NUM_DECISIONS, NUM_TRIED, draw_opponent, new_work
from solver.mccfr.options import batch_for
from solver.mccfr.solver import forget, seek_replies
from solver.mccfr.tables import KNOWN, new_answers
from solver.mccfr.updates import apply_plans, refresh_answer
from solver.memoryless import row_offsets
from solver.places import find_place
from solver.plans import fixed_plan
from solver.rules import Game, InputError
from solver.setups import list_setups
from solver.strategy import FROM_COARSER, FROM_NOTHING, FROM_TABLE, LISTED, setup_prob

SMALL = SamplingOptions(batch=256)


def assert_same_state(first: dict, second: dict) -> None:
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def run_in_turn(tasks):
    for task in tasks:
        task()


def end_epoch(solver):
    seats = [(solver, solver)]
    forget(seats, seek_replies(seats, run_in_turn, Event()))


def test_table_is_the_same_bit_for_bit_when_two_threads_play():
    game, options = Game(5, 10), SamplingOptions(epoch=2 * batch_for(Game(5, 10)), climbs=2)
    solvers = [SampledSolver(game, seed=3, threads=n, options=options) for n in (1, 2)]
    for solver in solvers:
        solver.run(4 * solver.batch_size)
    assert_same_state(solvers[0].state(), solvers[1].state())


def test_seed_decides_the_table_when_all_else_is_equal():
    first, again, other = (solve_sampled(Game(3, 6), iterations=2048, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.match, again.match)
    np.testing.assert_array_equal(first.model, again.model)
    assert (first.model != other.model).any()


def test_restored_solver_goes_on_bit_for_bit():
    game = Game(4, 8)
    whole = solve_sampled(game, iterations=1024, seed=5, options=SMALL)
    half = solve_sampled(game, iterations=512, seed=5, options=SMALL)
    rest = solve_sampled(game, iterations=1024, seed=99, options=SMALL, state=half.state)
    assert (rest.iterations, rest.games, rest.seed) == (whole.iterations, whole.games, 5)
    assert_same_state(whole.state, rest.state)
    np.testing.assert_array_equal(whole.model, rest.model)


def test_restored_solver_forgets_when_the_whole_one_does():
    game, options = Game(6, 12), SamplingOptions(batch=256, epoch=768, climbs=1)
    whole = solve_sampled(game, iterations=2048, seed=5, options=options)
    half = solve_sampled(game, iterations=1024, seed=5, options=options)
    rest = solve_sampled(game, iterations=2048, seed=5, options=options, state=half.state)
    assert_same_state(whole.state, rest.state)


@pytest.mark.parametrize("threads", [1, 2])
def test_search_for_replies_is_begun_again_when_it_was_stopped(threads, monkeypatch):
    from solver.mccfr import solver as mccfr

    monkeypatch.setattr(mccfr, "_LOOK_SECONDS", 0.001)
    game, options = Game(6, 12), SamplingOptions(batch=256, epoch=512, climbs=3)
    whole = SampledSolver(game, seed=5, options=options)
    whole.run(1024)
    half = SampledSolver(game, seed=5, threads=threads, options=options)
    half.run(512)
    ended = half.state()
    half.run_batches(2, lambda: False)  # asked after a batch, or else while replies are looked for
    assert half.iterations == 512
    assert_same_state(half.state(), ended)
    half.run(512)
    assert_same_state(half.state(), whole.state())


def test_search_for_replies_ends_soon_when_who_is_asked_fails(monkeypatch):
    from solver.mccfr import solver as mccfr

    monkeypatch.setattr(mccfr, "_LOOK_SECONDS", 0.001)
    solver = SampledSolver(
        Game(6, 12), seed=5, options=SamplingOptions(batch=256, epoch=256, climbs=50)
    )
    solver.run(256)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.run_batches(1, interrupt)
    assert solver.iterations == 256
    assert not solver.rounds.size
    solver.run(256)
    assert len(solver.rounds) == 1


def test_table_is_the_same_when_logs_have_to_grow(monkeypatch):
    from solver.mccfr import solver as mccfr

    solver = SampledSolver(Game(4, 8), seed=1)
    solver.run(1024)
    new_log = mccfr.new_log

    def short_log(iterations, tried, num_tiles):
        log = new_log(iterations, tried, num_tiles)
        room = (tried + 1) << num_tiles
        return log._replace(key=log.key[:room], diff=log.diff[:room])

    monkeypatch.setattr(mccfr, "new_log", short_log)
    short = SampledSolver(Game(4, 8), seed=1)
    short.run(1024)
    assert_same_state(solver.state(), short.state())


@pytest.mark.parametrize("name", ["1x1", "1x3", "2x2", "2x3", "3x6", "4x4", "7x9"])
@pytest.mark.parametrize("objective", ["win", "chips"])
def test_probabilities_are_proper_when_a_game_of_any_size_is_solved(name, objective):
    game = Game.parse(name, objective=objective)
    found = solve_sampled(game, iterations=512, options=SMALL)
    assert (found.match >= 0).all()
    assert (found.match <= 1).all()
    offsets, size = row_offsets(game.num_tiles, game.num_chips)
    starts = np.sort(offsets[offsets >= 0])
    assert found.model.shape == (size,)
    assert found.model.dtype == np.float32
    if size:
        np.testing.assert_allclose(np.add.reduceat(found.model, starts), 1.0, atol=1e-5)
    if game.num_tiles <= 4:
        strategy = found.strategy()
        listed = zip(*list_setups(game), strict=True)
        assert sum(setup_prob(strategy, t, c) for t, c in listed) == pytest.approx(1, abs=1e-5)


def test_every_setup_stays_possible_when_plans_are_few():
    options = SamplingOptions(batch=8, plans=3)
    found = solve_sampled(Game(6, 12), iterations=24, options=options)
    assert (found.model > 0.0).all()
    offsets, size = row_offsets(6, 12)
    starts = np.append(np.sort(offsets[offsets >= 0]), size)
    uniform = [
        np.allclose(found.model[a:b], 1 / (b - a), atol=1e-6) for a, b in itertools.pairwise(starts)
    ]
    assert 0.2 < np.mean(uniform) < 1.0  # rows that no plan comes through


def test_plans_gain_what_they_are_worth_when_compared_with_exact_values(monkeypatch):
    """One long batch against a frozen strategy: mean gain = exact value of the setup."""
    from solver.mccfr import solver as mccfr

    game = Game(3, 6)
    first = SampledSolver(game, seed=1, options=SMALL)
    first.run(2048)
    options = SamplingOptions(batch=80_000, uniform=0.0)
    long = SampledSolver(game, seed=2, options=options)
    long.restore(first.state() | {"counters": long.state()["counters"]})
    long._plans.gained[:] = long._plans.tried[:] = 0.0
    for name in ("refresh_plans", "refresh_decisions"):
        monkeypatch.setattr(mccfr, name, lambda *_: None)
    tiles, chips = list_setups(game)
    base = first.current_strategy()._replace(
        match=first._decisions.coarse.match.astype(float),  # a coin for keys never met, as there
        setup_kind=LISTED,
        setup_tiles=tiles,
        setup_chips=chips,
        setup_cumulative=np.cumsum(first._plans.current),
    )
    long.run(1)
    assert (long._plans.tried > 5_000).all()
    for plan in range(len(tiles)):
        alone = base._replace(
            setup_tiles=tiles[[plan]], setup_chips=chips[[plan]], setup_cumulative=np.ones(1)
        )
        exact = evaluate(alone, base, game).value
        count = long._plans.tried[plan]
        found = long._plans.gained[plan] / count
        assert found == pytest.approx(exact, abs=6 / np.sqrt(count))


def test_proven_scouts_take_the_places_of_plans_that_are_not_played(monkeypatch):
    monkeypatch.setattr(population, "_YOUNG", 4)
    game = Game(6, 12)
    solver = SampledSolver(game, seed=1, options=SamplingOptions(batch=256, plans=100, scouts=128))
    solver.run(2048)
    plans, scouts = solver._plans, solver._scouts
    step = solver._step()
    scouts.tried[:] = 400.0 * step
    scouts.gained[:] = -1.0
    scouts.gained[[3, 50, 127]] = np.array([40.0, 80.0, 60.0]) * step
    scouts.tried[50] = 100.0 * step  # too few tries
    best = scouts.chips[[3, 127]].copy()
    before = [column.copy() for column in plans]
    played = plans.summed / plans.summed.sum() + plans.current
    kept = scouts.chips[50].copy()
    population.send_scouts(scouts, plans, game, solver.batches, step, np.random.default_rng(1))
    fresh = plans.born == solver.batches
    assert fresh.sum() == 2
    assert sorted(map(tuple, plans.chips[fresh])) == sorted(map(tuple, best))
    assert played[fresh].max() <= played[~fresh].min()
    for old, new in zip(before, plans, strict=True):
        if new is not plans.current:
            np.testing.assert_array_equal(new[~fresh], old[~fresh])
    assert plans.current.sum() == pytest.approx(1.0)
    assert not plans.current[fresh].any()
    np.testing.assert_array_equal(scouts.chips[0], kept)  # the best that was not promoted
    assert scouts.tried[0] == 50.0 * step
    assert not scouts.tried[population.ELITE :].any()
    assert (scouts.chips.sum(axis=1) == 12).all()
    again = plans.chips.copy()
    scouts.gained[:] = scouts.tried[:] = 400.0 * step
    population.send_scouts(scouts, plans, game, solver.batches, step, np.random.default_rng(2))
    np.testing.assert_array_equal(plans.chips[fresh], again[fresh])  # too young


def test_scouts_climb_when_the_strategy_never_changes(monkeypatch):
    """Nothing is learned here but by the scouts: the strategy is one plan, its answers a coin."""
    monkeypatch.setattr(population, "_PROMOTED", 0)
    game = Game(6, 12)
    solver = SampledSolver(game, seed=1, options=SamplingOptions(batch=1024, scouts=256))
    solver._plans.current[:] = 0.0
    solver._plans.current[0] = 1.0
    best = []
    for _ in range(5):
        for _ in range(solver._generation()):
            frozen = solver._frozen()
            for chunk in range(8):
                solver._play(chunk, frozen)
            for log in solver._logs:
                apply_plans(solver._plans, solver._scouts, log, 1.0)
            solver.batches += 1
        rng = np.random.default_rng(solver.batches)
        population.send_scouts(solver._scouts, solver._plans, game, solver.batches, 1.0, rng)
        mean = solver._scouts.gained / solver._scouts.tried.clip(1.0)
        best.append(mean[: population.ELITE].mean())
    assert best[-1] > best[0] + 0.1


def test_crossed_opponents_mix_chips_and_turns_of_plans():
    solver = SampledSolver(Game(4, 8), options=SMALL)
    table = solver._plans
    table.chips[0], table.turns[0] = [1, 1, 1, 5], [0, 1, 2, 3]
    table.chips[1], table.turns[1] = [1, 1, 1, 5], [3, 2, 1, 0]
    table.current[:] = 0.0
    table.current[:2] = 0.5
    sampling, _, theirs = solver._frozen()
    sampling = sampling._replace(uniform=0.0, crossed=1.0)
    work, rng = new_work(4), np.random.default_rng(1)
    tall, orders = np.zeros(4), np.zeros(2)
    for _ in range(8_000):
        draw_opponent(work, sampling, theirs.setups, rng)
        assert sorted(work.chips) == [1, 1, 1, 5]
        tall[work.tiles[work.chips.argmax()]] += 1
        orders[work.tiles[0] > 0] += 1
        assert work.tiles.tolist() in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert chisquare(tall, [1_000, 1_000, 1_000, 5_000]).pvalue > 0.001
    assert chisquare(orders).pvalue > 0.001


def test_gains_count_against_the_current_strategy_only():
    solver = SampledSolver(Game(6, 12), options=SamplingOptions(batch=256))
    others = {"uniform": 0.0, "crossed": 0.0, "elite": 0.0}
    frozen = solver._frozen()
    for name in others:
        sampling = frozen.sampling._replace(**(others | {name: 1.0}))
        solver._play(0, frozen._replace(sampling=sampling))
        assert solver._logs[0].fill[NUM_TRIED] == 0
        assert solver._logs[0].fill[NUM_DECISIONS] > 0
    solver._play(0, frozen._replace(sampling=frozen.sampling._replace(**others)))
    assert solver._logs[0].fill[NUM_TRIED] == 10 * 256 // 8


@pytest.mark.parametrize(
    ("name", "iterations", "most"), [("3x6", 60_000, 0.12), ("4x6", 60_000, 0.16)]
)
def test_exploitability_falls_when_small_games_are_solved(name, iterations, most):
    game = Game.parse(name)
    short = solve_sampled(game, iterations=512, seed=1, options=SMALL)
    found = solve_sampled(game, iterations=iterations, seed=1, options=SMALL)
    value = exploitability(found.strategy(), game)
    assert value < most
    assert value < 0.7 * exploitability(short.strategy(), game)


@pytest.mark.slow
def test_exploitability_is_below_a_tenth_when_4x8_is_solved_by_3_million_iterations():
    game = Game(4, 8)
    found = solve_sampled(game, iterations=3_000_000, time_limit=None, seed=1)
    assert exploitability(found.strategy(), game) < 0.10


@pytest.mark.parametrize(
    "options",
    [
        SamplingOptions(batch=256, plus=False),
        SamplingOptions(batch=256, uniform=0.2),
        SamplingOptions(batch=256, tried=1, plans=40),
        SamplingOptions(batch=256, averaging_power=0.0, regret_power=0.0),
        SamplingOptions(batch=256, epoch=512),
    ],
)
def test_options_change_the_table(options):
    usual = solve_sampled(Game(3, 6), iterations=2048, options=SMALL)
    found = solve_sampled(Game(3, 6), iterations=2048, options=options)
    assert (found.model != usual.model).any()
    assert exploitability(found.strategy(), Game(3, 6)) < 0.6


def test_average_is_weighted_by_batch_number():
    """Two batches: the average is the mean of their strategies with weights 1 and 2."""
    solver = SampledSolver(Game(2, 4), seed=4, options=SamplingOptions(batch=64))
    solver.run(64)
    second = solver._plans.current.copy()
    solver.run(64)
    uniform = np.full(second.shape, 1 / len(second))
    np.testing.assert_allclose(solver._plans.summed, uniform + 2 * second)


def test_an_epoch_forgets_regrets_weights_and_plans_but_neither_keys_nor_averages():
    """Epochs of two batches of weights 1 and 2."""
    game = Game(6, 12)
    solver = SampledSolver(
        game, seed=4, options=SamplingOptions(batch=64, epoch=128, plans=40, climbs=0)
    )
    first, plans = solver._plans.current.copy(), solver._plans
    solver.run(64)
    second = solver._plans.current.copy()
    solver.run(64)
    coarse, fine = solver._decisions.coarse, solver._decisions.fine
    visits, match = coarse.record["visits"].copy(), coarse.match.copy()
    places = np.flatnonzero(fine.match >= 0.0)
    averages = solver._average_of(fine, places)
    assert len(places) > 0
    assert (coarse.record["fold"] + coarse.record["match"] != 0.0).any()
    end_epoch(solver)
    for forgotten in (coarse.record["fold"], coarse.record["match"], solver._plans.gained):
        assert not forgotten.any()
    assert (solver._plans.chips != plans.chips).any()
    assert not fine.record["lately"].any()
    assert (fine.match == -1.0).all()
    is_old = fine.record["until"][places] > 0.0
    assert 0 < is_old.sum() < len(places)
    assert (fine.record["since"][places[~is_old]] == solver._weights).all()
    np.testing.assert_allclose(solver._average_of(fine, places)[is_old], averages[is_old])
    np.testing.assert_array_equal(coarse.match, match)
    np.testing.assert_array_equal(coarse.record["visits"], visits)
    played = first + 2 * second
    np.testing.assert_array_equal(solver._past.chips, plans.chips[played > 0.0])
    np.testing.assert_allclose(solver._past.summed, played[played > 0.0])
    solver._plans.summed[:] = 0.0
    solver.run(64)  # forgets once more, draws the same plans, and plays them all alike
    np.testing.assert_allclose(solver._plans.summed, np.full(40, 1 / 40))
    assert solver._weights == 1 + 2 + 1


def test_replies_win_by_the_judge_and_stay_among_the_plans():
    game = Game(4, 6)
    options = SamplingOptions(batch=256, epoch=2048, plans=60, climbs=2)
    solver = SampledSolver(game, seed=4, options=options)
    solver.run(2048)
    strategy = solver.strategy()
    end_epoch(solver)
    chips, turns = solver._replies
    distinct = {(*c, *t) for c, t in zip(chips.tolist(), turns.tolist(), strict=True)}
    assert 8 <= len(distinct) == len(chips) <= 2 * 3 * 4
    np.testing.assert_array_equal(solver._plans.chips[-len(chips) :], chips)
    np.testing.assert_array_equal(solver._plans.turns[-len(chips) :], turns)
    rng = np.random.default_rng(5)
    values = []
    for plan in range(len(chips)):
        stacks, order = fixed_plan(chips[plan], turns[plan], rng)
        tiles = np.argsort(order)[np.newaxis]
        alone = strategy._replace(
            setup_kind=LISTED,
            setup_tiles=tiles,
            setup_chips=stacks[tiles],
            setup_cumulative=np.ones(1),
        )
        values.append(evaluate(alone, strategy, game).value)
    assert np.mean(values) > 0.03
    assert np.max(values) > 0.1
    iterations, best, mean = solver.rounds[0]
    assert iterations == 2048
    assert mean == pytest.approx(np.mean(values), abs=0.03)  # these of 5,000 games each
    assert best == pytest.approx(np.max(values), abs=0.03)
    solver.run(2048 + 256)  # forgets twice more
    assert solver.rounds[:, 0].tolist() == [2048, 2048, 4096]
    np.testing.assert_array_equal(solver._replies.chips[: len(chips)], chips)
    assert (solver._plans.chips[-len(solver._replies.chips) :][: len(chips)] == chips).all()


def test_decisions_average_over_time_from_when_a_key_began_to_answer():
    """Batches 3 and 6, the only ones that met a key, gave it two strategies."""
    record, match = new_answers(1, 0.5)
    total, changes = 0.0, {3: 2.0, 6: -1.0}
    for batch in range(1, 9):
        total += batch
        if batch in changes:
            record["fold"], record["match"] = 1.0, 1.0 + changes[batch]
            record["lately"] += 1
            refresh_answer(record, match, 0, 0.5, False, 0.0, total)
    assert (record["since"][0], record["until"][0]) == (6.0, 21.0)
    first, second = 3 / 4, 0.0
    summed = record["summed"][0] + (total - 21.0) * match[0]
    assert summed / (total - 6.0) == pytest.approx(
        ((4 + 5 + 6) * first + (7 + 8) * second) / (4 + 5 + 6 + 7 + 8)
    )


def test_an_average_leaves_out_the_time_in_which_a_key_did_not_answer():
    """It answered in batches 2 and 3, was silenced, and answers again from batch 6 on."""
    record, match = new_answers(1, -1.0)
    record["fold"], record["match"], record["lately"] = 1.0, 3.0, 1
    refresh_answer(record, match, 0, 0.5, False, 0.0, 1.0)
    record["summed"] += 2 * match  # of weight 1 each
    record["until"], match[0] = 3.0, -1.0
    record["match"] = 0.0
    refresh_answer(record, match, 0, 0.5, False, 0.0, 6.0)
    assert (record["summed"][0], record["since"][0], record["until"][0]) == (1.5, 4.0, 6.0)
    assert match[0] == 0.0


def test_answers_are_drawn_towards_the_key_above_by_few_visits():
    """Its own regrets say 1, the key above .2; 32 of 32 + 128 visits are a fifth of the way."""
    record, match = new_answers(1, -1.0)
    record["match"], record["lately"] = 1.0, 32
    refresh_answer(record, match, 0, 0.2, True, 128.0, 1.0)
    assert match[0] == pytest.approx(0.2 + 0.2 * 0.8)


def test_fine_keys_have_rows_once_they_are_known():
    found = solve_sampled(Game(4, 8), iterations=4096, seed=1, options=SMALL)
    assert (np.diff(found.fine_keys) > 0).all()
    assert found.fine_visits.min() >= KNOWN
    assert set(found.fine_visits.tolist()) <= {d << e for d in (2, 3) for e in range(40)}
    keys, _, shown = split_keys(found.fine_keys)
    assert (shown < 0).any()
    assert (shown >= 0).any()
    for kind in (shown < 0, shown >= 0):
        sums = np.zeros(len(found.visits), np.int64)
        np.add.at(sums, keys[kind], found.fine_visits[kind])
        assert (sums <= found.visits).all()
    strategy = found.strategy()
    for key, match in zip(found.fine_keys[:50], found.fine_match[:50], strict=True):
        place = find_place(strategy.fine_keys, 0, len(strategy.fine_keys), key)
        assert strategy.fine_match[place] == match


def test_keys_answer_alone_when_there_is_no_room_for_fine_ones():
    options = SamplingOptions(batch=256, fine_places=64)
    solver = SampledSolver(Game(4, 8), seed=1, options=options)
    solver.run(4096)
    assert solver._decisions.filled.tolist() == [11, 11, 11, 11]
    assert exploitability(solver.strategy(), Game(4, 8)) < 0.6


def test_never_met_keys_are_answered_by_the_nearest_coarser_key():
    sizes = feature_sizes(4)
    match, visits = np.full(num_keys(4), 0.5), np.zeros(num_keys(4), np.int64)
    steps = dict(zip(FEATURES, (1, 1, 1, 0, 2, 3, 1, 6), strict=True))

    def key(**changed: int) -> int:
        return int(pack_key(4, *(steps | changed).values()))

    match[key()], visits[key()] = 0.9, 3
    match[key(strength=1)], visits[key(strength=1)] = 0.1, 1
    answer, source = fill_from_coarser(4, match, visits)
    assert (answer[key()], source[key()]) == (0.9, FROM_TABLE)
    assert answer[key(strength=0)] == pytest.approx(0.7)  # the mean by visits
    assert answer[key(slot=0, gap=0)] == pytest.approx(0.7)
    assert (source[key(strength=0)], source[key(slot=0)]) == (FROM_COARSER, FROM_COARSER)
    assert (answer[key(below=0)], source[key(below=0)]) == (0.0, FROM_NOTHING)
    assert sum(source == FROM_TABLE) == 2
    assert sum(source == FROM_COARSER) == np.prod(sizes) // sizes[1] // sizes[2] - 2


def test_progress_stops_the_work_when_it_returns_false():
    seen: list[tuple[int, float | None]] = []

    def stop_after_three(iterations: int, seconds: float, value: float | None) -> bool:
        seen.append((iterations, value))
        return len(seen) < 3

    found = solve_sampled(Game(3, 6), iterations=10**9, progress=stop_after_three, options=SMALL)
    assert found.iterations == 768
    assert seen == [(256, None), (512, None), (768, None)]
    assert found.abstraction["version"] == VERSION


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"iterations": 0}, "iterations 0"),
        ({"iterations": None, "time_limit": None}, "neither"),
        ({"time_limit": -1.0}, "time_limit -1.0"),
        ({"time_limit": float("nan")}, "time_limit nan"),
        ({"seed": -1}, "seed -1"),
        ({"threads": 0}, "threads 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, words):
    with pytest.raises(InputError, match=words):
        solve_sampled(Game(2, 3), **({"iterations": 8} | arguments))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("batch", 7),
        ("batch", -8),
        ("tried", 0),
        ("plans", -1),
        ("uniform", 1.5),
        ("fine_places", 100),
        ("uniform", float("nan")),
        ("scouts", 7),
        ("scouted", 1.5),
        ("averaging_power", -1.0),
        ("regret_power", 9.0),
        ("epoch", -1),
        ("doubt", -1.0),
        ("climbs", -1),
    ],
)
def test_bad_options_are_refused_by_name(option, value):
    with pytest.raises(InputError, match=f"{option} {value}"):
        SamplingOptions(**{option: value})


def test_shares_of_opponents_that_exceed_1_are_refused():
    with pytest.raises(InputError, match=r"elite, replied: together 1\.35"):
        SamplingOptions(uniform=0.7, crossed=0.5)


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_other_pulls_are_refused(pulls):
    with pytest.raises(InputError, match=pulls):
        SampledSolver(Game(3, 6, pulls=pulls))


@pytest.mark.parametrize("name", ["25x60", "40x100", "999999x999999"])
def test_games_too_large_for_memory_are_refused(name):
    with pytest.raises(InputError, match=f"{name}.*GiB"):
        SampledSolver(Game.parse(name))


def test_states_of_other_games_or_batches_are_refused_and_leave_the_solver_alone():
    solver = SampledSolver(Game(3, 6), options=SMALL)
    other = SampledSolver(Game(3, 7), options=SMALL)
    with pytest.raises(InputError, match="plan_chips"):
        solver.restore(other.state())
    batches = SampledSolver(Game(3, 6), options=dataclasses.replace(SMALL, batch=512))
    batches.run(1)
    with pytest.raises(InputError, match="512"):
        solver.restore(batches.state())
    with pytest.raises(InputError, match="nothing"):
        solver.restore({})
    assert solver.iterations == 0
    assert not solver.visits.any()


def test_estimate_counts_what_the_solver_holds():
    game = Game(6, 12)
    size, rows = estimate_sampled(game)
    solver = SampledSolver(game)
    decisions = solver._decisions
    arrays = [
        *decisions.coarse,
        *decisions.fine,
        decisions.fine_keys,
        decisions.seen,
        *solver._plans,
        solver.average_model(),
        np.zeros(row_offsets(6, 12)[1]),
        np.zeros(len(decisions.fine_keys), np.float32),  # averages that replies are sought against
    ]
    arrays += [array for log in solver._logs for array in log]
    assert sum(array.nbytes for array in arrays) == pytest.approx(size, rel=0.1)
    places = decisions.coarse.match.size + decisions.fine.match.size
    assert rows == places + solver.average_model().size
