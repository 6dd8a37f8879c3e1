"""Locks: what they fix stays fixed, and what they cost is what independent code says."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import naive
import numpy as np
import pytest
from bridge import all_infostates, naive_strategy
from linear_program import SequenceForm

from solver.cfr import LockedSolution, solve_locked, strategy_of
from solver.judge import evaluate, exploitability
from solver.lock import parse_lock
from solver.lp import solve_lp
from solver.rules import Game, InputError
from solver.setups import Setup
from solver.situation import parse_situation
from solver.strategy import match_prob

TARGET = 1e-4


class Case(NamedTuple):
    """A lock, and the same told to the reference."""

    text: dict[str, Any]
    groups: tuple[tuple[float, Callable[[naive.Setup], bool]], ...] = ((1.0, lambda setup: True),)
    answer: Callable[[naive.Infostate], float | None] = lambda info: None


def here(info: naive.Infostate) -> tuple[int, int, int, int]:
    """Slot from 1, own tile, own stack and gap."""
    slot = len(info.slots)
    return slot + 1, info.tiles[slot], info.chips[slot], info.facing[1] - info.chips[slot]


def by_slot_and_facing(info: naive.Infostate) -> float | None:
    if here(info)[0] == 2:
        return 0.25
    return 0.9 if info.facing == (0, 2) else None


CASES = {
    "nothing": Case({}),
    "tile 1 first": Case({"setups": [{"setup": "1"}]}, ((1.0, lambda setup: setup[0][0] == 1),)),
    "tile 1 first or, seldom, others": Case(
        {"setups": [{"setup": "1:1", "weight": 3}, {"setup": "1"}, {"setup": "?"}], "seat": 1},
        (
            (0.6, lambda setup: setup[0][0] == 1 and setup[1][0] == 1),
            (0.2, lambda setup: setup[0][0] == 1 and setup[1][0] > 1),
            (0.2, lambda setup: setup[0][0] != 1),
        ),
    ),
    "never fold to a gap of 1": Case(
        {"answers": [{"gap": 1, "match": 1}]},
        answer=lambda info: 1.0 if here(info)[3] == 1 else None,
    ),
    "coin in slot 1": Case(
        {"answers": [{"slot": 1, "match": 0.5}], "seat": 1},
        answer=lambda info: 0.5 if here(info)[0] == 1 else None,
    ),
    "the first entry that fits": Case(
        {"answers": [{"slot": 2, "match": 0.25}, {"facing": "b2", "match": 0.9}]},
        answer=by_slot_and_facing,
    ),
    "tile 0 matches, single chips fold": Case(
        {
            "setups": [{"setup": "0"}, {"setup": "1"}],
            "answers": [{"tile": 0, "match": 1}, {"stack": 1, "match": 0}],
        },
        ((0.5, lambda setup: setup[0][0] == 0), (0.5, lambda setup: setup[0][0] == 1)),
        lambda info: 1.0 if here(info)[1] == 0 else 0.0 if here(info)[2] == 1 else None,
    ),
}
GAMES = [("2x3", "win"), ("2x5", "chips"), ("3x5", "win"), ("3x5", "chips"), ("3x6", "win")]


def is_over(info: naive.Infostate, game: Game) -> bool:
    """Whether the game is decided, and with it the lock over."""
    return game.is_win and max(info.winnings) > game.num_chips


@cache
def game_of(name: str, objective: str) -> Game:
    return Game.parse(name, objective=objective)


@cache
def sequence_form(name: str, objective: str) -> SequenceForm:
    return SequenceForm(game_of(name, objective))


@cache
def infostates(name: str, objective: str) -> list[naive.Infostate]:
    return all_infostates(game_of(name, objective), 0)


@cache
def solved(name: str, objective: str, case: str) -> LockedSolution:
    game = game_of(name, objective)
    lock = parse_lock(json.dumps(CASES[case].text), game)
    return solve_locked(lock, target=TARGET * (1 if game.is_win else game.num_chips))


def cost_by_linear_program(form: SequenceForm, case: Case) -> float:
    """Return what the lock costs by the sequence form of the unreduced game."""
    numbers, bound = form.sequences[0], []
    for share, fits in case.groups:
        bound.append(({numbers[setup]: 1.0 for setup in form.setups if fits(setup)}, share))
    for info, parent in form.parents[0].items():
        match = None if info is None or is_over(info, form.game) else case.answer(info)
        if match is not None:
            bound.append(({numbers[info, 1]: 1.0, parent: -match}, 0.0))
    return -form.solve(bound)[0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_cost_is_that_of_a_linear_program_of_the_unreduced_game(name, objective, case):
    found = solved(name, objective, case)
    assert found.locked.converged
    cost = cost_by_linear_program(sequence_form(name, objective), CASES[case])
    most = found.locked.exploitability
    assert most - found.gap - 1e-8 <= cost <= most + 1e-8


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_locked_probabilities_hold_exactly(name, objective, case):
    found = solved(name, objective, case)
    told, played = CASES[case], naive_strategy(strategy_of(found.locked), found.lock.game)
    bound = [
        (told.answer(info), played.match(info))
        for info in infostates(name, objective)
        if not is_over(info, found.lock.game) and told.answer(info) is not None
    ]
    assert all(wanted == match for wanted, match in bound)
    assert bool(bound) == ("answers" in told.text)
    for share, fits in told.groups:
        total = sum(prob for setup, prob in played.setups.items() if fits(setup))
        assert total == pytest.approx(share, abs=1e-12)
    assert all(any(fits(setup) for _, fits in told.groups) for setup in played.setups)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("name", "objective"), GAMES)
def test_judge_confirms_both_strategies(name, objective, case):
    found = solved(name, objective, case)
    game = found.lock.game
    for side in (found.locked, found.opponent):
        judged = exploitability(strategy_of(side), game)
        assert judged == pytest.approx(side.exploitability, abs=1e-10)
    value = evaluate(strategy_of(found.locked), strategy_of(found.opponent), game).value
    assert -found.locked.exploitability - 1e-10 <= value
    assert value <= found.gap - found.locked.exploitability + 1e-10


def test_without_entries_it_is_the_equilibrium():
    found = solved("3x6", "win", "nothing")
    assert found.locked.exploitability + found.opponent.exploitability == pytest.approx(found.gap)
    assert found.gap <= 2 * TARGET


def slot_1_answers(game: Game, strategy: naive.Strategy) -> list[dict[str, Any]]:
    """Return what a strategy answers in the first slot, situation by situation."""
    return [
        {
            "me": str(Setup(info.tiles, info.chips)),
            "facing": f"{'bw'[info.facing[0]]}{info.facing[1]}",
            "match": strategy.match(info),
        }
        for info in infostates(game.name, game.objective)
        if not info.slots
    ]


def test_locking_an_equilibrium_costs_nothing():
    game = game_of("3x6", "win")
    equilibrium = naive_strategy(strategy_of(solve_lp(game)), game)
    setups = [
        {"setup": str(Setup(*setup)), "weight": prob} for setup, prob in equilibrium.setups.items()
    ]
    answers = slot_1_answers(game, equilibrium)
    assert len(setups) > 3
    assert len(answers) > 100
    lock = parse_lock(json.dumps({"setups": setups, "answers": answers}), game)
    found = solve_locked(lock, target=TARGET)
    assert found.locked.exploitability <= 2 * TARGET
    played = naive_strategy(strategy_of(found.locked), game)
    assert played.setups == pytest.approx(equilibrium.setups, abs=1e-15)
    for info in infostates("3x6", "win"):
        if not info.slots:
            assert played.match(info) == equilibrium.match(info)


@pytest.mark.parametrize("match", [0.0, 0.3, 1.0])
def test_locking_everything_costs_what_the_plainest_best_response_earns(match):
    game = game_of("3x6", "win")
    setups = {((0, 2, 1), (4, 1, 1)): 0.75, ((2, 1, 0), (1, 2, 3)): 0.25}
    text = {
        "setups": [
            {"setup": str(Setup(*setup)), "weight": 4 * prob} for setup, prob in setups.items()
        ],
        "answers": [{"slot": slot, "match": match} for slot in (1, 2, 3)],
    }
    fixed = naive.Strategy(setups, lambda info: 0.0 if is_over(info, game) else match)
    value, _, _ = naive.best_response(fixed, naive.setups(3, 6), 1)
    found = solve_locked(parse_lock(json.dumps(text), game), target=TARGET)
    assert found.locked.exploitability == pytest.approx(value, abs=1e-12)
    assert value > 0.1


def test_one_situation_is_locked_and_no_other():
    game = game_of("3x6", "win")
    text = {"me": "0:1,2:1,1:4", "history": "b2F", "facing": "w3", "match": 0.125}
    found = solve_locked(parse_lock(json.dumps({"answers": [text]}), game), target=TARGET)
    played = naive_strategy(strategy_of(found.locked), game)
    locked = [info for info in infostates("3x6", "win") if played.match(info) == 0.125]
    past = naive.Slot((0, 0), (1, 2), 0, None, 0)
    assert [(info.tiles, info.chips, info.slots, info.facing) for info in locked] == [
        ((0, 2, 1), (1, 1, 4), (past,), (1, 3))
    ]


def test_situations_that_differ_in_what_cannot_matter_are_one_decision():
    game = Game(4, 6)
    past = {"history": "b1f w2F", "facing": "b2"}
    text = {"answers": [{"me": "2:2,0:1,1:1,3:2", "match": 0.125} | past]}
    found = solve_locked(parse_lock(json.dumps(text), game), iterations=20)
    strategy = strategy_of(found.locked)
    same, other = "0:2,2:1,1:1,3:2", "2:2,0:1,3:1,1:2"
    for me, is_locked in ((text["answers"][0]["me"], True), (same, True), (other, False)):
        where = parse_situation(game, me=me, **past)
        assert (match_prob(strategy, where.board(), where.slot, 0)[0] == 0.125) == is_locked


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_ways_to_pay_stay_free_where_a_match_is_locked(pulls):
    game = Game(3, 5, pulls=pulls)
    lock = parse_lock('{"answers": [{"gap": 1, "match": 0.5}]}', game)
    found = solve_locked(lock, target=TARGET)
    assert found.locked.converged
    strategy = strategy_of(found.locked)
    assert exploitability(strategy, game) == pytest.approx(found.locked.exploitability, abs=1e-10)
    played = naive_strategy(strategy, game)
    bound = [info for info in all_infostates(game, 0) if here(info)[3] == 1]
    matches = {played.match(info) for info in bound if not is_over(info, game)}
    assert matches == {0.5}


def test_solve_goes_on_from_any_checkpoint_to_the_same_end():
    lock = parse_lock(json.dumps(CASES["the first entry that fits"].text), Game(3, 6))
    states = []
    whole = solve_locked(
        lock,
        target=TARGET,
        checkpoint=lambda state, seconds: states.append(state),
        checkpoint_seconds=0.0,
    )
    assert len(states) > 2
    rest = solve_locked(lock, target=TARGET, state=states[1])
    assert (rest.locked.iterations, rest.gap) == (whole.locked.iterations, whole.gap)
    for name, array in whole.locked.state.items():
        assert np.array_equal(rest.locked.state[name], array), name


def test_any_number_of_threads_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr("solver.cfr.solver.THREADED_WORK", 0)
    lock = parse_lock(
        '{"setups": [{"setup": "1"}], "answers": [{"gap": 1, "match": 1}]}', Game(3, 6)
    )
    alone, together = (solve_locked(lock, iterations=30, threads=threads) for threads in (1, 3))
    assert alone.gap == together.gap
    assert np.array_equal(alone.locked.match, together.locked.match)


WRONG = [
    ("[", "lock: not JSON"),
    ('{"seat": 0, "seat": 1}', "lock: 'seat' stands twice"),
    ("[]", "lock: an object is needed"),
    ('{"seat": 2}', "lock: seat: .*0 or 1"),
    ('{"seats": 0}', "lock: seats: not known here"),
    ('{"setups": {"1": 2}}', "lock: setups: a list is needed"),
    ('{"setups": [{"weight": 2}]}', r"lock: setups\.0\.setup: "),
    ('{"setups": [{"setup": "1"}, {"setup": "2", "weight": 0}]}', r"lock: setups\.1\.weight: "),
    ('{"setups": [{"setup": "1", "weight": NaN}]}', r"lock: setups\.0\.weight: "),
    ('{"setups": [{"setup": "1"}, {"setup": "1:5,0"}]}', r"lock: setups\.1: setup '1:5,0'"),
    ('{"setups": [{"setup": "3"}]}', r"lock: setups\.0: .*tile 3"),
    ('{"answers": [{"gap": 1}]}', r"lock: answers\.0\.match: "),
    ('{"answers": [{"gap": 1, "match": 1.5}]}', r"lock: answers\.0\.match: "),
    ('{"answers": [{"gap": 1, "match": "1"}]}', r"lock: answers\.0\.match: "),
    ('{"answers": [{"gap": 0, "match": 1}]}', r"lock: answers\.0\.gap: "),
    ('{"answers": [{"gap": 1, "match": 1}, {"match": 1}]}', r"lock: answers\.1: it names no"),
    ('{"answers": [{"slot": 4, "match": 1}]}', r"lock: answers\.0: slot 4"),
    ('{"answers": [{"tile": 3, "match": 1}]}', r"lock: answers\.0: tile 3"),
    ('{"answers": [{"stack": 5, "match": 1}]}', r"lock: answers\.0: stack 5"),
    ('{"answers": [{"facing": "g1", "match": 1}]}', r"lock: answers\.0: facing 'g1'"),
    ('{"answers": [{"history": "b1f", "match": 1}]}', r"lock: answers\.0: history: "),
    ('{"answers": [{"me": "0:1,2:4,1:1", "match": 1}]}', r"lock: answers\.0: facing: missing"),
    (
        '{"answers": [{"me": "0:1,2:4,1:1", "facing": "b2", "gap": 1, "match": 1}]}',
        r"lock: answers\.0: gap: follows",
    ),
    (
        '{"answers": [{"me": "0:1,2:4,1:1", "history": "b2f", "facing": "w3", "match": 1}]}',
        r"lock: answers\.0: history token 1 'b2f'",
    ),
    (
        '{"answers": [{"me": "0:1,2:4,1:1", "facing": "w1", "match": 1}]}',
        r"lock: answers\.0: facing 'w1': stacks 1 v 1, so there is nothing to decide",
    ),
    (
        '{"answers": [{"me": "0:3,2:1,1:2", "facing": "w2", "match": 1}]}',
        r"lock: answers\.0: facing 'w2': stacks 3 v 2, so there is nothing to decide",
    ),
    (
        '{"answers": [{"me": "0:2,2:3,1:1", "history": "b3F", "facing": "b1", "match": 1}]}',
        r"lock: answers\.0: facing 'b1': stacks 3 v 1, so there is nothing to decide",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text for text, _ in WRONG])
def test_wrong_lock_is_refused_by_name(text, message):
    with pytest.raises(InputError, match=message) as refused:
        parse_lock(text, Game(3, 6))
    assert "\n" not in str(refused.value)


UNUSED = [
    ('{"setups": [{"setup": "?"}, {"setup": "1"}]}', r"lock: setups\.1: no setup is left for '1'"),
    ('{"answers": [{"gap": 1, "match": 1}, {"gap": 1, "match": 0}]}', r"lock: answers\.1: no dec"),
    ('{"answers": [{"gap": 9, "match": 1}]}', r"lock: answers\.0: no decision of 3x6 is left"),
    ('{"answers": [{"slot": 1, "stack": 4, "match": 1}]}', r"lock: answers\.0: no decision"),
]


@pytest.mark.parametrize(("text", "message"), UNUSED, ids=[text for text, _ in UNUSED])
def test_entry_for_which_nothing_is_left_is_refused_by_name(text, message):
    with pytest.raises(InputError, match=message):
        solve_locked(parse_lock(text, Game(3, 6)), iterations=1)


def test_forced_fold_cannot_be_locked():
    text = {"me": "2:1,0:4,1:1", "history": "b2F w2=1", "facing": "b2", "match": 1}
    with pytest.raises(InputError, match=r"answers\.0: facing 'b2': .* a forced fold"):
        parse_lock(json.dumps({"answers": [text]}), Game(3, 6, objective="chips"))


def test_lock_ends_when_the_game_is_decided():
    text = {"me": "0:1,1:3,2:2", "history": "b2=0 w2f", "facing": "b2", "match": 1}
    with pytest.raises(InputError, match=r"answers\.0: history: the game is decided"):
        parse_lock(json.dumps({"answers": [text]}), Game(3, 6))
    parse_lock(json.dumps({"answers": [text]}), Game(3, 6, objective="chips"))
