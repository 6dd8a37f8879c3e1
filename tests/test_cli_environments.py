"""``blackwhite red-and-black`` and ``blackwhite put-and-take`` as a user types them."""

import inspect
import re
from dataclasses import fields

import pytest
from test_cli import answer, run_in, snapshot

from solver.cli.environments import put_and_take, red_and_black
from spiel_game.put_and_take_rules import PutAndTakeRules
from spiel_game.red_and_black_policy import load_red_and_black
from spiel_game.red_and_black_table import RedAndBlackRules


def test_red_and_black_gives_the_first_seat_nothing(tmp_path):
    data = answer(tmp_path, "red-and-black")
    assert data["seat_values"] == [0]
    assert data["banker_value"] == 0
    (row,) = data["double_when"]
    assert (row["own_left"], row["other_left"], row["gain"], row["double"]) == (50, 50, 0, False)
    assert [round(prob, 4) for prob in data["own_colour_odds"][3:]] == [0.3187, 0.1531, 0.0283]


def test_red_and_black_takes_any_table(tmp_path):
    table = ["--players", "21", "--min-bet", "3", "--max-bet", "10", "--hands", "42", "--ante", "1"]
    data = answer(tmp_path, "red-and-black", *table)
    free = answer(tmp_path, "red-and-black", "--players", "21")
    assert len(data["seat_values"]) == 20
    assert data["seat_values"] == pytest.approx([v - 0.1 for v in free["seat_values"]], abs=1e-12)
    assert data["banker_value"] == pytest.approx(-sum(data["seat_values"]), abs=1e-12)
    assert data["match_values"] == pytest.approx([0] * 21, abs=1e-12)
    assert data["fair_ante"] == pytest.approx(sum(free["seat_values"]) * 10 / 20, abs=1e-12)
    assert free["uncounted_values"] == [0] * 20


def test_red_and_black_is_readable_and_writes_its_table(tmp_path):
    size = ["--players", "4", "--cards-per-colour", "8"]
    code, out, _ = run_in(tmp_path, "red-and-black", *size, "--out", "table")
    assert code == 0
    assert "bank" in out
    assert "never" in out
    table = load_red_and_black(tmp_path / "table")
    assert table.manifest.command.startswith("blackwhite red-and-black --players 4")
    assert table.manifest.rows["decisions.parquet"] == len(table.doubles)


def test_put_and_take_says_what_a_hand_pays(tmp_path):
    data = answer(tmp_path, "put-and-take")
    assert data["expected_put"] == pytest.approx(155 / 17, abs=1e-12)
    assert data["exact"]["expected_put"] == "155/17"
    assert (data["expected_net"], data["banker_expected_net"]) == (-1, 1)
    assert data["sd"] == data["banker_sd"] == pytest.approx((147312 / 833) ** 0.5)
    river = answer(tmp_path, "put-and-take", "--scale", "river", "--players", "8", "--ante", "0")
    assert f"{river['expected_put']:.2f}" == "10.29"
    assert (river["expected_net"], river["banker_expected_net"]) == (0, 0)
    code, out, _ = run_in(tmp_path, "put-and-take", "--scale", "red_and_black")
    assert code == 0
    assert "rank 9.1176, suit 1.1693" in out


BAD = [
    (["red-and-black", "--players", "22"], "players 22: 2 to 21"),
    (["red-and-black", "--players", "1"], "players 1: 2 to 21"),
    (
        ["red-and-black", "--players", "4", "--cards-per-colour", "7"],
        "players 4: 2 to 3 can play with 14 cards",
    ),
    (["red-and-black", "--min-bet", "5", "--max-bet", "2"], "max_bet 2: at least min_bet, 5"),
    (["red-and-black", "--min-bet", "0"], "min_bet 0"),
    (["red-and-black", "--hands", "-1"], "hands -1"),
    (["red-and-black", "--ante", "-1"], "ante -1"),
    (["red-and-black", "--players", "9" * 30], "players 9{30}: 2 to 21"),
    (["red-and-black", "--max-bet", "9" * 400], "max_bet 9{400}: allowed are 1 to 1,000,000"),
    (["red-and-black", "--hands", "9" * 30], "hands 9{30}: allowed are 0 to 10,000"),
    (["red-and-black", "--ante", "9" * 400], "ante 9{400}: allowed are 0 to 1,000,000"),
    (["red-and-black", "--cards-per-colour", "9" * 30], "cards_per_colour 9{30}: allowed are 3"),
    (["red-and-black", "--hands", "ten"], "--hands.*integer"),
    (["red-and-black", "--seed", "1"], "No such option: --seed"),
    (["red-and-black", "--out", "mine"], "mine: holds 'notes.txt'"),
    (["red-and-black", "--out", "mine/notes.txt"], "notes.txt: not a folder"),
    (["red-and-black", "--out", "mine/notes.txt/x"], "notes.txt is not a writable folder"),
    (["red-and-black", "--out", "."], "the current folder"),
    (["red-and-black", "--out", ""], "--out is empty"),
    (["put-and-take", "--players", "9"], "players 9: 2 to 8"),
    (["put-and-take", "--scale", "up"], "scale 'up': allowed are doubling, easy_go"),
    (["put-and-take", "--ante", "-1"], "ante -1"),
    (["put-and-take", "--ante", "9" * 400], "ante 9{400}: allowed are 0 to 1,000,000"),
    (["put-and-take", "--ante", "much"], "ante.*much|ante.*integer"),
]


@pytest.mark.parametrize(("arguments", "wanted"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_gets_one_line(tmp_path, arguments, wanted):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    code, out, err = run_in(tmp_path, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(wanted, err), err
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]


COMMANDS = [
    ["show", "table"],
    ["exploit", "table"],
    ["setup", "table"],
    ["match", "table", "bot:random"],
    ["match", "bot:random", "table", "--game", "3x6"],
    ["query", "table", "--me", "0:1,1:2", "--facing", "w1"],
    ["export", "table", "--out", "there"],
    ["solve", "--resume", "table"],
    ["solve", "2x3", "--out", "table"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_of_the_main_game_say_what_the_folder_is(tmp_path, arguments):
    answer(tmp_path, "red-and-black", "--out", "table")
    before = snapshot(tmp_path)
    code, out, err = run_in(tmp_path, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search("table.*a table of red-and-black.*one of betting-black-white", err), err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", ["red-and-black", "put-and-take"])
def test_ctrl_c_while_openspiel_loads_is_said_as_such(tmp_path, monkeypatch, command):
    def interrupted(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as stop:
            raise ImportError("initialization failed") from stop

    monkeypatch.setattr("spiel_game.red_and_black_optimum.solve_red_and_black", interrupted)
    monkeypatch.setattr("spiel_game.put_and_take_odds.pool_odds", interrupted)
    code, out, err = run_in(tmp_path, command)
    assert (code, out, err) == (2, "", "blackwhite: interrupted; nothing was written\n")


def test_command_and_games_have_the_same_defaults():
    for command, rules in ((red_and_black, RedAndBlackRules), (put_and_take, PutAndTakeRules)):
        options = inspect.signature(command).parameters
        for field in fields(rules):
            if field.name != "bet_step":  # the game's alone
                assert options[field.name].default == field.default
