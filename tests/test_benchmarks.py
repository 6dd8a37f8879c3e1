"""What the benchmark measures with: the sequence form of the exported game, and its program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from benchmarks.sequence_form import in_steps, read_form, solve_program
from test_abstraction import decisions

from solver.abstraction import decision_detail, decision_key
from solver.efg import efg_lines
from solver.infostate import observe
from solver.rules import Game, new_board

PEERS = Path(__file__).parent / "benchmarks" / "peers.py"


def uniform(form):
    return [np.ones(side.num_sequences) for side in form.sides]


@pytest.mark.parametrize(("game", "value"), [(Game(2, 3), 0.5), (Game(3, 6), 0.6)])
def test_uniform_strategies_are_as_exploitable_as_by_hand(game, value):
    form = read_form(efg_lines(game))
    assert form.exploitability(*uniform(form)) == pytest.approx(value, abs=1e-12)


def test_sizes_are_the_known_ones_at_3x6():
    form = read_form(efg_lines(Game(3, 6)))
    assert form.num_ends == 15_380
    assert sum(len(side.parent) for side in form.sides) == 7_120 + 2  # and the two setups


def test_exploitability_of_random_strategies_is_openspiels(tmp_path):
    lines = list(efg_lines(Game(3, 5)))
    file = tmp_path / "game.efg"
    file.write_text("".join(line + "\n" for line in lines))
    game = pyspiel.load_game(f"efg_game(filename={file})")
    form = read_form(lines)
    rng = np.random.default_rng(7)
    weights = [rng.random(side.num_sequences) for side in form.sides]
    num_setups = int(form.sides[0].num_actions[0])
    policy = {}
    for player, side in enumerate(form.sides):
        for infoset, first in enumerate(side.start[:-1]):
            probs = weights[player][first : side.start[infoset + 1]]
            action = 0 if infoset == 0 else num_setups  # fold and match come after the setups
            key = f"{player}-{player}-{infoset + 1}-"
            policy[key] = list(enumerate((probs / probs.sum()).tolist(), action))
    by_openspiel = pyspiel.exploitability(game, policy)
    assert form.exploitability(*weights) == pytest.approx(by_openspiel, abs=1e-12)


@pytest.mark.parametrize(("name", "branching"), [("2x5", 2), ("2x5", 8), ("3x6", 60)])
def test_setups_in_steps_leave_the_game_what_it_is(name, branching, tmp_path):
    lines = list(efg_lines(Game.parse(name)))
    in_parts = list(in_steps(lines, branching))
    file = tmp_path / "game.efg"
    file.write_text("".join(line + "\n" for line in in_parts))
    assert pyspiel.load_game(f"efg_game(filename={file})").num_distinct_actions() == branching
    form, parts = read_form(lines), read_form(in_parts)
    assert parts.num_ends == form.num_ends
    # all parts are of one size, so that uniform steps make uniform setups
    expected = form.exploitability(*uniform(form))
    assert parts.exploitability(*uniform(parts)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["2x3", "3x5"])
def test_linear_program_finds_value_0_and_strategies_that_cannot_be_exploited(name):
    form = read_form(efg_lines(Game.parse(name)))
    value, *plans = solve_program(form)
    assert value == pytest.approx(0.0, abs=1e-9)
    assert form.exploitability(*plans) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_benchmark_runs_and_all_reach_the_target(tmp_path):
    out = tmp_path / "peers.json"
    names = [part for name in ("ours", "openspiel", "lp") for part in ("--only", name)]
    command = [sys.executable, PEERS, "2x3", "--target", "1e-2", "--out", out, *names]
    subprocess.run(command, check=True)
    rows = json.loads(out.read_text())["rows"]
    assert {row["solver"] for row in rows} == {"ours", "OpenSpiel CFR+", "sequence-form LP"}
    assert all(row["reached"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "files"),
    [
        ("algorithms.py", ["2x3", "--seconds", "0.1"], {"curves.csv", "curves.svg"}),
        ("price_of_pulls.py", ["2x3", "--objective", "win"], {"prices.csv"}),
    ],
)
def test_scripts_write_what_they_measure(script, arguments, files, tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(PEERS.with_name(script)), *arguments, "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert {file.name for file in tmp_path.iterdir()} == files | {"manifest.json"}
    assert "2x3" in (tmp_path / min(files)).read_text()


@pytest.mark.slow
def test_advice_is_timed_and_its_intervals_counted(tmp_path):
    table = tmp_path / "10x30"
    solve = ["solve", "10x30", "--iterations", "2000", "--out", str(table), "--quiet"]
    subprocess.run([sys.executable, "-m", "solver.cli", *solve], check=True, capture_output=True)
    out = tmp_path / "advice"
    options = ["--situations", "3", "--long", "2000", "--queries", "5", "--out", str(out)]
    script = str(PEERS.with_name("advice.py"))
    subprocess.run([sys.executable, script, str(table), *options], check=True, capture_output=True)
    assert {file.name for file in out.iterdir()} == {"coverage.csv", "speed.csv", "manifest.json"}
    assert len((out / "coverage.csv").read_text().splitlines()) == 4
    facts = json.loads((out / "manifest.json").read_text())
    assert facts["situations"] == 3
    assert 0 <= facts["covered"] <= 3
    assert "first answer, slot" in (out / "speed.csv").read_text()


@pytest.mark.slow
def test_figures_of_the_other_environments_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    script = str(PEERS.with_name("red_and_black.py"))
    command = [sys.executable, script, "--game", "2-full", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    files = {"convergence.csv", "convergence.svg", "pools.csv", "seats.csv"}
    assert {file.name for file in tmp_path.iterdir()} == files | {"manifest.json", "table"}
    assert "2-full,MCCFR,100,0.0" in (tmp_path / "convergence.csv").read_text()


@pytest.mark.parametrize("game", [Game(3, 6), Game(5, 9), Game(10, 30)])
def test_boards_laid_from_observations_have_the_keys_of_those_observed(game, monkeypatch):
    """The diagnosis knows infostates by observation; its keys must be those of the solver."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    from diagnosis import lay_board

    rng = np.random.default_rng(3)
    num_decisions = 0
    for _ in range(60):
        for board, slot, player in decisions(game, rng):
            seen = np.zeros((game.num_tiles, 4), np.int64)
            observe(board, slot, player, seen)
            laid = new_board(game.num_tiles)
            lay_board(laid, seen, slot, game.num_chips)
            key, detail = (
                decision_key(board, slot, player, game.num_chips),
                decision_detail(board, slot, player),
            )
            assert decision_key(laid, slot, 0, game.num_chips) == key
            assert decision_detail(laid, slot, 0) == detail
            num_decisions += 1
    assert num_decisions > 60


def test_rival_with_the_same_keys_is_the_strategy_itself(monkeypatch):
    """The seats of a symmetric game then learn alike, and an answer is worth the same in both."""
    monkeypatch.syspath_prepend(str(PEERS.parent))
    from diagnosis import KeyedSolve, build_tree

    game = Game(3, 6)
    plain = {"drop_dominated": False, "fold_endings": False}
    one = KeyedSolve(build_tree(game, **plain), "coarse", "listed", 0.2)
    two = KeyedSolve(
        build_tree(game, **plain, one_strategy=False), "coarse", "listed", 0.2, "coarse"
    )
    for solve in (one, two):
        for _ in range(20):
            solve.iterate()
    for average in ("infostate", "key", "time"):
        assert two.exploitability(average) == pytest.approx(one.exploitability(average), abs=1e-9)
    assert one.exploitability("time") > 0.01
