"""Advice at every infostate that can be reached, held to the plain best response there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from random_strategies import random_strategy

from solver.advice import answer, query
from solver.advice.ways import MOST_VALUED, count_payments, narrow_payments
from solver.rules import Game, InputError
from solver.situation import Situation, parse_situation
from solver.strategy import Strategy
from solver.table import load_table

RESULTS = Path(__file__).parents[1] / "results"


def infostates(
    setup: naive.Setup, plain: naive.Strategy, rules: tuple[str, str, str]
) -> Iterator[tuple[naive.Infostate, list[naive.Choice], list[float]]]:
    """Give each decision of player 0 with this setup, its choices and their best utilities.

    ``rules`` are the objective, the opponent's rule for paying and mine.
    """

    def walk(positions: list) -> Iterator:
        _, groups = naive.by_infostate(positions, plain, 0, rules[1])
        for info, group in groups.items():
            choices = naive.choices(group[0][0], rules[2])
            reach = sum(prob for _, prob in group)
            values = naive.choice_values(group, plain, 0, rules, {})
            yield info, choices, [value / reach for value in values]
            for number in range(len(choices)):
                yield from walk(
                    [(naive.play(s, naive.choices(s, rules[2])[number]), p) for s, p in group]
                )

    yield from walk([(naive.start(setup, theirs), p) for theirs, p in plain.setups.items()])


def situation_of(setup: naive.Setup, info: naive.Infostate, game: Game) -> Situation:
    """Return an infostate of player 0 in the notation of queries."""
    tokens, mine = [], iter(info.choices)
    for seen in info.slots:
        token = f"{'bw'[seen.colours[1]]}{seen.stacks[1]}"
        has_decided = seen.stacks[0] < seen.stacks[1] and can_pay(setup, info, seen)
        choice = next(mine) if has_decided else None
        if seen.shown is None:
            token += "fF"[seen.folder == 0]
        else:
            token += f"={seen.shown[1]}"
            pulls = [f"{s + 1}-{c}" for s, c in enumerate(choice or ()) if c]
            if pulls:
                token += "@" + ",".join(pulls)
            elif seen.stacks[0] > seen.stacks[1]:
                token += f"@-{seen.pulled}"
        tokens.append(token)
    me = ",".join(f"{tile}:{chips}" for tile, chips in zip(*setup, strict=True))
    facing = f"{'bw'[info.facing[0]]}{info.facing[1]}"
    return parse_situation(game, me=me, history=" ".join(tokens), facing=facing)


def can_pay(setup: naive.Setup, info: naive.Infostate, slot: naive.Slot) -> bool:
    """Whether player 0 had a choice in a past slot: it did unless it folded automatically."""
    if slot.folder is None:
        return True
    place = info.slots.index(slot)
    spent = [0] * len(setup[1])
    winnings, own = 0, iter(info.choices)
    for s, seen in enumerate(info.slots[: place + 1]):
        stack = setup[1][s] - spent[s]
        if stack < seen.stacks[1]:
            spare = sum(c - k - 1 for c, k in list(zip(setup[1], spent, strict=True))[s + 1 :])
            if winnings + spare < seen.stacks[1] - stack:
                if s == place:
                    return False
                continue
            choice = next(own)
            if choice is not None:
                spent = [k + c for k, c in zip(spent, choice, strict=True)]
                winnings -= seen.stacks[1] - stack - sum(choice)
        if seen.folder == 1:
            winnings += sum(seen.stacks)
        elif seen.shown is not None:
            stake = max(seen.stacks)
            first, second = seen.shown
            winnings += stake * (2 * (first > second) + (first == second))
    return True


def check(strategy: Strategy, game: Game, own: str, setups: list[naive.Setup]) -> int:
    """Assert that advice equals the plain best response with these setups; return how often."""
    plain = naive_strategy(strategy, game)
    mine = replace(game, pulls=own)
    count = 0
    for setup in setups:
        for info, choices, values in infostates(setup, plain, (game.objective, game.pulls, own)):
            advice = query(strategy, situation_of(setup, info, mine), mine)
            assert advice.method.startswith("exact")
            found = {}
            for action in advice.actions:
                taken = tuple(action.pulls.get(s + 1, 0) for s in range(game.num_tiles))
                found[None if action.action == "fold" else taken] = action.value
                assert action.win + action.draw + action.loss == pytest.approx(1, abs=1e-9)
            assert found == pytest.approx(dict(zip(choices, values, strict=True)), abs=1e-9)
            assert advice.actions[0].value == pytest.approx(max(values), abs=1e-9)
            if own != "latest":
                assert advice.payments.ways == len(choices) - 1
                default = naive.choices(plain_state(info), "latest")[1]
                cost = max(values[1:]) - values[choices.index(default)]
                assert advice.payments.default_cost == pytest.approx(cost, abs=1e-9)
            count += 1
    return count


def plain_state(info: naive.Infostate) -> naive.State:
    """Return a position in which player 0 has the same choices."""
    slot = len(info.slots)
    theirs = [1] * len(info.tiles)
    theirs[slot] = info.facing[1]
    return naive.State(
        (info.tiles, info.tiles), (info.chips, tuple(theirs)), info.winnings, info.slots, ((), ())
    )


def test_advice_is_the_best_response_everywhere_in_3x6():
    table = load_table(RESULTS / "3x6")
    assert check(table.strategy, table.game, "latest", naive.setups(3, 6)) > 1000


def test_advice_is_the_best_response_in_4x6_with_some_setups():
    table = load_table(RESULTS / "4x6")
    setups = naive.setups(4, 6)
    picked = np.random.default_rng(2).choice(len(setups), 2, replace=False)
    assert check(table.strategy, table.game, "latest", [setups[i] for i in picked]) > 100


@pytest.mark.slow
def test_advice_is_the_best_response_everywhere_in_4x6():
    table = load_table(RESULTS / "4x6")
    assert check(table.strategy, table.game, "latest", naive.setups(4, 6)) > 10_000


@pytest.mark.parametrize(("own", "objective"), [("tiles", "win"), ("free", "chips")])
def test_every_way_to_pay_is_worth_its_best_response_against_the_default_rule(own, objective):
    game = Game(3, 7, objective=objective)
    strategy = random_strategy(game, np.random.default_rng(3), "listed", "keyed")
    setups = naive.setups(3, 7)[::20]
    assert check(strategy, game, own, setups) > 30


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_every_way_to_pay_is_worth_its_best_response_when_both_choose(pulls):
    game = Game(3, 6, pulls=pulls)
    strategy = random_strategy(game, np.random.default_rng(4), "listed", "exact")
    assert check(strategy, game, pulls, naive.setups(3, 6)[::7]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_every_way_to_pay_is_worth_its_best_response_everywhere(pulls):
    game = Game(3, 6, pulls=pulls)
    strategy = random_strategy(game, np.random.default_rng(4), "uniform", "exact")
    assert check(strategy, game, pulls, naive.setups(3, 6)) > 1000


def full_situation(pulls: str) -> Situation:
    """Return one in which a gap can be paid in hundreds of ways; with ``free``, by winnings too."""
    game = Game(10, 30, pulls=pulls)
    if pulls == "tiles":
        return parse_situation(game, me="8:2,3:1,9:6,0:2,2:4,7:5,1:1,4:2,5:2,6:5", facing="b9")
    me = "8:4,3:1,9:6,0:1,2:3,7:5,1:1,4:4,5:2,6:3"
    return parse_situation(game, me=me, history="w3=7", facing="b9")


def all_ways(situation: Situation) -> tuple[list[tuple[int, ...]], int]:
    """Return every way to pay, by trying all, and the gap."""
    board, slot = situation.board(), situation.slot
    gap = situation.facing.stack - int(board.chips[0, slot])
    rooms = [int(c) if s > slot else 1 for s, c in enumerate(board.chips[0])]
    least = max(0, gap - int(board.winnings[0]))
    most = gap if situation.game.pulls == "free" else least
    return [way for way in product(*map(range, rooms)) if least <= sum(way) <= most], gap


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_ways_to_pay_are_counted_without_being_listed(pulls):
    situation = full_situation(pulls)
    ways, _ = all_ways(situation)
    code = situation.game.pulls_code
    assert count_payments(situation.board(), situation.slot, code) == len(ways) > 300


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_narrowing_finds_the_best_way_when_each_chip_has_a_price(pulls):
    situation = full_situation(pulls)
    board, slot, code = situation.board(), situation.slot, situation.game.pulls_code
    ways, gap = all_ways(situation)
    prices = np.array([0, 3, 9, 2, 8, 1, 7, 4, 6, 5]) - 4.5  # above what a chip won is worth
    rng = np.random.default_rng(1)
    counts = []

    def compare(tried: np.ndarray, num_draws: int) -> np.ndarray:
        counts.append(len(tried))
        return rng.normal(size=(num_draws, 1)) - tried @ prices

    kept, tried = narrow_payments(board, slot, code, compare)
    found = [tuple(way) for way in kept.tolist()]
    assert set(found) <= set(ways)
    assert found[1] == min(ways, key=lambda way: float(np.dot(way, prices)))
    assert len(found) == len(set(found)) <= MOST_VALUED
    assert len(counts) == 3
    assert counts[0] < tried < len(ways)
    assert sum(found[0]) == max(0, gap - board.winnings[0])


def test_narrowing_drops_ways_that_are_worse_beyond_chance():
    situation = full_situation("free")
    board, slot = situation.board(), situation.slot

    def compare(tried: np.ndarray, num_draws: int) -> np.ndarray:
        return np.tile(-tried.sum(axis=1).astype(float), (num_draws, 1))

    kept, _ = narrow_payments(board, slot, situation.game.pulls_code, compare)
    assert kept.tolist() == [[0] * 10]


def test_sampled_ways_to_pay_obey_the_rules_and_agree_with_exact_ones():
    game = Game(4, 9, pulls="free")
    strategy = random_strategy(
        replace(game, pulls="latest"), np.random.default_rng(8), "memoryless", "keyed"
    )

    shortfalls = []
    for me in ("0:1,3:4,1:2,2:2", "2:2,1:1,3:3,0:3"):
        situation = parse_situation(game, me=me, facing="b4")
        exact = query(strategy, situation, game)
        assert exact.method == "exact"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answer, "MOST_WAYS", 0)
            sampled = query(strategy, situation, game, samples=20_000)
        assert sampled.method.startswith("sampled")
        values = {(a.action, tuple(a.pulls.items())): a.value for a in exact.actions}
        assert len(sampled.actions) == len(exact.actions) > 2  # so few are all valued
        for action in sampled.actions:
            wanted = values[action.action, tuple(action.pulls.items())]
            low, high = action.ci95
            assert low < action.value < high
            assert action.value < wanted + (high - low)  # a way to play that exists
            shortfalls.append(wanted - action.value)
    assert np.mean(shortfalls) < 0.1


def test_other_rules_than_the_tables_are_refused_in_one_line():
    table = load_table(RESULTS / "3x6")
    free = random_strategy(Game(3, 5, pulls="free"), np.random.default_rng(0), "listed", "exact")
    situation = parse_situation(Game(3, 5, pulls="tiles"), me="0:1,1:1,2:3", facing="b2")
    with pytest.raises(InputError, match="pulls=free: the game has pulls=tiles"):
        query(free, situation, situation.game)
    situation = parse_situation(Game(3, 6, pulls="free"), me="0:1,1:1,2:4", facing="b2")
    advice = query(table.strategy, situation, situation.game)
    assert not advice.known
    assert "no answers to other payments" in advice.method
