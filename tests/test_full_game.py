"""What the account of the full game counts: its kernels against plain counts on small games."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import naive
import numpy as np
import pytest
from bridge import board_of, naive_strategy
from random_strategies import keyed_decisions, listed_setups
from test_abstraction import decisions

from solver import make_bot
from solver.rules import Game
from solver.setups import list_setups
from solver.strategy import FROM_ENDING, make_strategy, match_prob, setup_prob
from solver.table.manifest import Round

BENCHMARKS = Path(__file__).parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from full_game_counts import new_counts  # noqa: E402
from full_game_play import (  # noqa: E402
    RULE,
    TABLE,
    memory_keys,
    new_memory,
    play_answers,
    play_self,
)
from full_game_small import forget_shown, solve_small, tile_under_stack  # noqa: E402
from full_game_tables import agreement_row, lead_table, match_table, setup_sections  # noqa: E402
from full_game_walk import new_rows, walk_pairs  # noqa: E402

GAME = Game(3, 6)


def random_strategy(seed, game=GAME):
    rng = np.random.default_rng(seed)
    parts = {"decision_kind": 0, **listed_setups(game, rng), **keyed_decisions(game, rng)}
    return make_strategy(game.num_tiles, game.num_chips, game.is_win, **parts)


def candidates_by_hand(info):
    """Return ``(beaten, beating, possible)`` from what a player knows."""
    other, slot = 1 - info.player, len(info.slots)
    shown = {seen.shown[other] for seen in info.slots if seen.shown is not None}
    left = set(range(info.facing[0], len(info.tiles), 2)) - shown
    mine = info.tiles[slot]
    return sum(t < mine for t in left), sum(t > mine for t in left), len(left)


def rule_of(strategy):
    """Return the strategy with the rule's answers, as the reference takes it."""

    def match(info):
        prob, source = match_prob(strategy, board_of(info), len(info.slots), info.player)
        beaten, beating, _ = candidates_by_hand(info)
        return prob if source == FROM_ENDING else float(beaten > beating)

    return naive_strategy(strategy, GAME)._replace(match=match)


def plain_counts(strategy, game):
    """Return the first player's counts as dicts, in the order of the fields of ``Counts``."""
    found = [defaultdict(float) for _ in range(7)]
    asked, matched, rule, lower, leads, totals, shapes = found
    player = naive_strategy(strategy, game)

    def walk(state, prob, forced, trail):
        if naive.is_over(state) or max(state.winnings) > game.num_chips:
            own, other = state_setups
            shape = (
                int(sum(c > 1 for c in own[1]) > 1),
                int(other[1][0] >= 2),  # a third of 6 chips, in the first slot of three
            )
            value = naive.payoff(state, 0)
            for slot, (lead, total) in enumerate(trail):
                leads[slot, lead, int(value)] += prob
                totals[slot, total, int(value)] += prob
            for place, amount in enumerate((1.0, value, value**2, forced)):
                shapes[(*shape, place)] += prob * amount
            return
        slot, who = len(state.slots), naive.decider(state)
        lower_bettor = naive.lower_bettor(state)
        lead = state.winnings[0] - state.winnings[1]
        total = lead + sum(state.chips[0][slot:]) - sum(state.chips[1][slot:])
        trail = [*trail, (lead, total)]
        if lower_bettor == 0:
            lower[slot, naive.spare(state, 0), int(who is None)] += prob
        if who is None:
            walk(naive.play(state), prob, forced + (lower_bettor == 0), trail)
            return
        info = naive.infostate(state, who)
        match = player.match(info)
        if who == 0:
            beaten, beating, possible = candidates_by_hand(info)
            where = naive.gap(state), beaten, possible
            asked[where] += prob
            matched[where] += prob * match
            says = int(beaten > beating)
            rule[says, 0] += prob
            rule[says, 1] += prob * match
        for choice, chance in zip(naive.choices(state, "latest"), (1 - match, match), strict=True):
            if chance > 0:
                walk(naive.play(state, choice), prob * chance, forced, trail)

    for own, p in player.setups.items():
        for other, q in player.setups.items():
            state_setups = own, other
            walk(naive.start(own, other), p * q, 0, [])
    return found


def assert_counts(counts, plain, scale, tolerance):
    asked, matched, rule, lower, *by_lead, shapes = plain
    middle = counts.leads.shape[1] // 2
    leads, totals = (
        {(slot, middle + lead, 1 + sign): x for (slot, lead, sign), x in found.items()}
        for found in by_lead
    )
    pairs = zip(counts, (asked, matched, rule, lower, leads, totals, shapes), strict=True)
    for array, expected in pairs:
        wanted = np.zeros(array.shape)
        for place, number in expected.items():
            wanted[place] = number
        assert array / scale == pytest.approx(wanted, abs=tolerance)


def setups_of(strategy, game):
    tiles, chips = list_setups(game)
    return tiles, chips, np.array([setup_prob(strategy, t, c) for t, c in zip(tiles, chips)])  # noqa: B905


@pytest.mark.parametrize("seed", [1, 2])
def test_walk_counts_and_values_what_a_plain_recursion_does(seed):
    strategy, other = random_strategy(seed), random_strategy(seed + 10)
    other = other._replace(
        **{name: getattr(strategy, name) for name in strategy._fields if "setup" in name}
    )
    counts = new_counts(GAME)
    placed = setups_of(strategy, GAME)
    walk_pairs(strategy, strategy, *placed, counts, new_rows(3, 1 << 12))
    assert_counts(counts, plain_counts(strategy, GAME), 1.0, 1e-9)
    value = walk_pairs(strategy, other, *placed, new_counts(GAME), new_rows(3, 0))
    sides = naive_strategy(strategy, GAME), naive_strategy(other, GAME)
    assert value == pytest.approx(naive.expected_value(*sides), abs=1e-9)


def test_played_games_count_as_the_plain_recursion_does_but_for_luck():
    strategy = random_strategy(3)
    counts, games = new_counts(GAME), 100_000
    memories = new_memory(GAME, True, 1 << 14), new_memory(GAME, False, 1 << 14)
    play_self(strategy, games, np.random.default_rng(0), counts, *memories)
    assert_counts(counts, plain_counts(strategy, GAME), 2.0 * games, 0.01)
    for memory in memories:
        sums = memory.coarse.sum(axis=0)
        assert sums == pytest.approx([counts.matched.sum(), counts.asked.sum()])
        assert memory.fine.sum(axis=0) == pytest.approx(sums)


def test_other_answers_earn_what_the_plain_recursion_says():
    strategy = random_strategy(4)
    memory = new_memory(GAME, True, 2)
    assert play_answers(strategy, TABLE, memory, 1000, np.random.default_rng(0)) == (0.0, 0.0)
    num = 100_000
    total, squares = play_answers(strategy, RULE, memory, num, np.random.default_rng(1))
    error = np.sqrt(squares / num - (total / num) ** 2) / np.sqrt(num)
    exact = naive.expected_value(rule_of(strategy), naive_strategy(strategy, GAME))
    assert abs(exact) > 10 * error
    assert total / num == pytest.approx(exact, abs=4 * error)


def test_blind_keys_are_the_same_whichever_tiles_were_shown():
    game, rng = Game(10, 30), np.random.default_rng(5)
    num_sighted_differ = 0
    for _ in range(40):
        for board, slot, player in decisions(game, rng):
            theirs = board.tiles[1 - player]
            blind, sighted = (memory_keys(is_blind, board, slot, player, 30) for is_blind in (1, 0))
            kept = theirs.copy()
            for s in np.flatnonzero(board.shown[:slot]):
                for later in range(slot + 1, 10):
                    if theirs[s] % 2 == theirs[later] % 2:
                        theirs[s], theirs[later] = theirs[later], theirs[s]
                        assert memory_keys(1, board, slot, player, 30) == blind
                        num_sighted_differ += memory_keys(0, board, slot, player, 30) != sighted
            theirs[:] = kept
    assert num_sighted_differ > 0


def test_forgetting_averages_over_shown_numbers_of_the_opponent_by_weight():
    seen = np.array(
        [
            [[0, 1, 1, 1], [2, 1, -1, 2], [1, 4, -3, 0]],
            [[0, 1, 3, 1], [2, 1, -1, 2], [1, 4, -3, 0]],
            [[0, 1, 2, 1], [2, 1, -1, 2], [1, 4, -3, 0]],  # the other colour
            [[3, 1, 1, 1], [2, 1, -1, 2], [1, 4, -3, 0]],  # another own tile
        ]
    )
    slots, weight = np.ones(4, np.int64), np.array([3.0, 1.0, 1.0, 1.0])
    found = forget_shown(seen, slots, np.array([1.0, 0.0, 0.4, 0.2]), weight)
    assert found == pytest.approx([0.75, 0.75, 0.4, 0.2])


def test_exact_small_game_has_value_0_and_other_answers_lose():
    small = solve_small(GAME)
    assert small.values["equilibrium"] == pytest.approx(0.0, abs=1e-12)
    assert small.exploitability <= 1e-4
    for name in ("rule", "forgets"):
        assert small.values[name] <= 1e-9
        assert small.losses[name] >= -small.values[name] - 1e-9
    assert small.heights.sum() == pytest.approx(GAME.num_tiles)


def test_tables_keep_all_that_was_counted():
    strategy = random_strategy(6)
    counts = new_counts(GAME)
    tiles, chips, probs = setups_of(strategy, GAME)
    walk_pairs(strategy, strategy, tiles, chips, probs, counts, new_rows(3, 0))
    asked, matched = match_table(counts)
    assert asked.sum() == pytest.approx(counts.asked.sum())
    assert matched.sum() == pytest.approx(counts.matched.sum())
    assert lead_table(counts.leads).sum() == pytest.approx(counts.leads.sum())
    assert agreement_row("3x6", counts)[1] == pytest.approx(matched.sum() / asked.sum())
    assert tile_under_stack(tiles, chips, probs).sum(axis=1) == pytest.approx(np.ones(3))
    sections = {section.name: section for section in setup_sections(tiles, chips)}
    assert sum(row[1] for row in sections["tallest"].rows) == pytest.approx(1)
    assert sections["above"].rows == [(1, 0.3), (2, 0.6), (3, 0.1)]  # ways to split 6 chips
    assert all(row[:2] == (tile, 2.0) for tile, row in enumerate(sections["order"].rows))


def test_bots_without_keys_can_be_counted():
    strategy = make_bot("bot:heuristic", GAME)
    counts = new_counts(GAME)
    walk_pairs(strategy, strategy, *setups_of(strategy, GAME), counts, new_rows(3, 0))
    assert counts.shapes[..., 0].sum() == pytest.approx(1)


def test_what_was_found_in_each_round_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from full_game_figures import draw_rounds
    from matplotlib import pyplot

    rounds = [Round(iterations=10**6 * k, best=0.4 / k, mean=0.2 / k) for k in (1, 2, 3)]
    draw_rounds(rounds, tmp_path / "rounds.svg")
    best, mean = (line.get_xydata().tolist() for line in pyplot.gca().lines)
    assert best == [[1.0, 0.4], [2.0, 0.2], [3.0, 0.4 / 3]]
    assert mean == [[1.0, 0.2], [2.0, 0.1], [3.0, 0.2 / 3]]
    assert (tmp_path / "rounds.svg").read_text().startswith("<?xml")


@pytest.mark.slow
def test_script_describes_a_small_sampled_table(tmp_path):
    pytest.importorskip("matplotlib")
    out, table = tmp_path / "out", tmp_path / "table"
    solve = ["-m", "solver.cli", "solve", "4x8", "--method", "mccfr", "--iterations", "4096"]
    subprocess.run([sys.executable, *solve, "--out", table], check=True, capture_output=True)
    command = [sys.executable, BENCHMARKS / "full_game.py", table, "--exact", "3x6", "--out", out]
    sizes = ["--setups", "2000", "--games", "2000", "--pairs", "2000"]
    shown = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == (out / "tables.md").read_text().strip()
    assert {file.stem for file in out.glob("*.svg")} == {"leads", "matches", "stacks"}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["game"] == "4x8"
    assert (
        manifest["table"]["sha256"] == json.loads((table / "manifest.json").read_text())["sha256"]
    )
    with (out / "answers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["game"] for row in rows] == ["4x8"] * 3 + ["3x6, exact"] * 2
