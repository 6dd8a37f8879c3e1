"""The table of when to double, on disk and as a policy."""

import pyspiel
import pytest
from test_table import exact

import spiel_game  # noqa: F401  registers the games
from solver.rules import Game, InputError
from solver.table import load_table, save_table
from spiel_game.red_and_black_optimum import solve_red_and_black
from spiel_game.red_and_black_policy import (
    RedAndBlackPolicy,
    RedAndBlackTable,
    load_red_and_black,
    red_and_black_table,
    save_red_and_black,
)
from spiel_game.red_and_black_table import RedAndBlackRules


def table_of(rules):
    return red_and_black_table(rules, solve_red_and_black(rules), command="a test")


def game_of(text):
    return pyspiel.load_game(f"python_red_and_black({text})")


def test_table_comes_back_as_it_was_written(tmp_path):
    table = table_of(RedAndBlackRules(players=21))
    written = save_red_and_black(table, tmp_path / "table")
    loaded = load_red_and_black(tmp_path / "table")
    assert loaded.manifest == written
    assert loaded.decisions.equals(table.decisions)
    assert loaded.doubles == table.doubles
    assert written.rows == {"decisions.parquet": 520}
    assert written.exploitability.value == 0
    assert loaded.doubles[48, 47]
    assert not loaded.doubles[50, 50]


@pytest.mark.parametrize(
    "text",
    [
        "players=2,max_bet=3",
        "players=3,cards_per_colour=5,hands=1,ante=1,max_bet=6,bet_step=4",
        "players=2,cards_per_colour=3,ante=1,max_bet=1",
    ],
)
def test_policy_is_worth_the_optimum_and_cannot_be_exploited(text):
    game = game_of(text)
    optimum = solve_red_and_black(game.rules)
    expected = [float(value * game.rules.largest_bet) for value in optimum.match_values]
    policy = RedAndBlackPolicy(game, table_of(game.rules))
    root = game.new_initial_state()
    assert pyspiel.expected_returns(root, policy, -1, False) == pytest.approx(expected, abs=1e-9)
    cached, tabular = pyspiel.convert_to_cached_tree(game), policy.tabular()
    found = pyspiel.expected_returns(cached.new_initial_state(), tabular, -1, False)
    assert found == pytest.approx(expected, abs=1e-9)
    if game.rules.cards_per_colour < 52:
        assert pyspiel.nash_conv(cached, tabular) == pytest.approx(0, abs=1e-9)


def test_policy_doubles_by_the_colour_bet_on():
    game = game_of("players=3,hands=1")
    policy = RedAndBlackPolicy(game, table_of(game.rules))
    answers = []
    for second_bet in (0, 1):
        state = game.new_initial_state()
        for action in (2, second_bet, *[1] * 5, 0, 0, 1, 1):  # five black cards, then two and two
            state.apply_action(action)
        assert state.current_player() == 2
        answers.append(policy.get_state_policy(state))
    assert answers == [[(0, 0.0), (1, 1.0)], [(0, 1.0), (1, 0.0)]]


def test_a_large_table_serves_fewer_players_and_no_other_pack():
    table = table_of(RedAndBlackRules(players=21))
    game = game_of("players=5,hands=3,ante=2")
    assert RedAndBlackPolicy(game, table).action_probabilities(game.new_initial_state())[2] == 1
    with pytest.raises(InputError, match="table for up to 4 players and 52 cards"):
        RedAndBlackPolicy(game, table_of(RedAndBlackRules(players=4)))
    with pytest.raises(InputError, match="the game has 3 and 20"):
        RedAndBlackPolicy(game_of("players=3,cards_per_colour=20"), table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1:], "not the game's"),
        (lambda rows: rows.with_columns(own_left=rows["own_left"] + 1), "not the game's"),
        (lambda rows: rows.with_columns(double=rows["gain"]), "double: must be true or false"),
        (lambda rows: rows.drop("double"), "lacks the column"),
    ],
)
def test_a_table_that_is_not_the_games_is_refused_by_name(tmp_path, change, message):
    table = table_of(RedAndBlackRules(players=3))
    save_red_and_black(RedAndBlackTable(table.manifest, change(table.decisions)), tmp_path / "t")
    with pytest.raises(InputError, match=rf"decisions\.parquet.*{message}"):
        load_red_and_black(tmp_path / "t")


def test_tables_of_the_two_games_are_told_apart_and_do_not_replace_each_other(tmp_path):
    ours, theirs = table_of(RedAndBlackRules(players=3)), exact(Game(2, 3))
    save_red_and_black(ours, tmp_path / "ours")
    save_table(theirs, tmp_path / "theirs")
    with pytest.raises(InputError, match=r"json: a table of red-and-black; this needs one of bet"):
        load_table(tmp_path / "ours")
    with pytest.raises(InputError, match=r"json: a table of betting-black-white; this needs one "):
        load_red_and_black(tmp_path / "theirs")
    with pytest.raises(InputError, match="ours: holds a table of red-and-black, and this is one"):
        save_table(theirs, tmp_path / "ours")
    with pytest.raises(InputError, match="theirs: holds a table of betting-black-white, and this"):
        save_red_and_black(ours, tmp_path / "theirs")
    assert load_red_and_black(tmp_path / "ours").doubles == ours.doubles
    assert load_table(tmp_path / "theirs").game == Game(2, 3)
    save_red_and_black(ours, tmp_path / "ours")
    (tmp_path / "ours" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest\.json: not the manifest of a table"):
        load_red_and_black(tmp_path / "ours")


def test_a_damaged_table_is_refused_by_name(tmp_path):
    save_red_and_black(table_of(RedAndBlackRules(players=3)), tmp_path / "t")
    manifest = tmp_path / "t" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"players": 3', '"players": 22'))
    with pytest.raises(InputError, match=r"manifest\.json: players 22: 2 to 21"):
        load_red_and_black(tmp_path / "t")
    manifest.write_text(text)
    (tmp_path / "t" / "decisions.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"decisions\.parquet: wrong checksum"):
        load_red_and_black(tmp_path / "t")
