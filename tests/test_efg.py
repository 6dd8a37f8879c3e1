"""The exported extensive form, read and judged by OpenSpiel."""

import pyspiel
import pytest

from solver.efg import efg_lines
from solver.rules import Game, InputError


def load(game, folder):
    file = folder / "game.efg"
    file.write_text("".join(line + "\n" for line in efg_lines(game)))
    return pyspiel.load_game(f"efg_game(filename={file})")


@pytest.mark.parametrize(("game", "value"), [(Game(2, 3), 0.5), (Game(3, 6), 0.6)])
def test_uniform_policy_is_as_exploitable_as_by_hand_when_read_by_openspiel(game, value, tmp_path):
    policy = pyspiel.UniformRandomPolicy(load(game, tmp_path))
    assert pyspiel.exploitability(load(game, tmp_path), policy) == pytest.approx(value, abs=1e-12)


def test_ends_and_infostates_have_the_known_counts_at_3x6(tmp_path):
    lines = list(efg_lines(Game(3, 6)))
    ends = [line for line in lines if line.startswith("t ")]
    infostates = {tuple(line.split(maxsplit=4)[2:4]) for line in lines if line.startswith("p ")}
    assert len(ends) == 15_380
    assert len(infostates) == 7_120 + 2  # and the two setups


def test_chips_are_payoffs_when_asked_for():
    lines = [line for line in efg_lines(Game(2, 3, objective="chips")) if line.startswith("t ")]
    payoffs = {line[line.index("{") :] for line in lines}
    assert "{ 3 -3 }" in payoffs


def test_large_games_and_other_pulls_are_refused():
    with pytest.raises(InputError, match=r"10x30.*too many"):
        efg_lines(Game(10, 30))
    with pytest.raises(InputError, match="pulls=free"):
        efg_lines(Game(3, 6, pulls="free"))
