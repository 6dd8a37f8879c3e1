"""The command as a user types it: results as JSON, and one clear line for whatever is wrong."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from solver.cfr.solver import ExactSolver
from solver.cli import checkpoints, common
from solver.cli.app import main
from solver.rules import Game
from solver.table import load_checkpoint, load_table, read_manifest, save_unfinished

SETUP = "8:4,3:1,9:6,0:1,2:3,7:5,1:1,4:4,5:2,6:3"
GAMES = """# 3x6
1:1,2:3,0:2 0:3,1:1,2:2 b3F w1=1 b2=2

0:3,2:2,1:1 2:3,1:2,0:1 b3=2 w2=1 b1=0  # nobody had a choice
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with an exact table of 3x6, a sampled one of 10x30, and damaged ones."""
    folder = tmp_path_factory.mktemp("home")
    for arguments in (
        ["solve", "3x6", "--target", "1e-3"],
        ["solve", "--iterations", "20000", "--threads", "1"],
        ["solve", "2x4", "--target", "1e-3"],
    ):
        assert run_in(folder, *arguments)[0] == 0
    local = folder / "results" / "local"
    for name, file in (
        ("truncated", "setup.parquet"),
        ("changed", "decisions.parquet"),
        ("broken", "manifest.json"),
    ):
        copy = folder / name
        copy.mkdir()
        for entry in (local / "3x6").iterdir():
            (copy / entry.name).write_bytes(entry.read_bytes())
        data = (copy / file).read_bytes()
        bad = data[:-1] + b"?" if name == "changed" else data[: len(data) // 2]
        (copy / file).write_bytes(bad)
    for name in ("killed", "damaged"):
        save_unfinished(folder / name, read_manifest(local / "3x6"), load_checkpoint(local / "3x6"))
    (folder / "damaged.unfinished" / "checkpoint.npz").write_bytes(b"PK")
    (folder / "file").write_text("not a folder")
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("keep me")
    (folder / "bad.json").write_text('{"me": 3}')
    (folder / "seen.txt").write_text("2:4,0:1,1:1 x3\nb:1,?,1:3  # half seen\n")
    (folder / "twice.txt").write_text("2:4,0:1,1:1\n2:4,0:1,2:1\n")
    (folder / "answers.txt").write_text("w3=1\n")
    (folder / "no.json").write_text("{")
    (folder / "games.txt").write_text(GAMES)
    (folder / "wrong.txt").write_text(GAMES.replace("b3=2 w2=1", "b3=2 w2f"))
    (folder / "short.txt").write_text(GAMES.replace(" b2=2", ""))
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    return folder


def run_in(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process; return its exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    argv, cwd = sys.argv, Path.cwd()
    sys.argv = ["blackwhite", *arguments]
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = argv
        os.chdir(cwd)
    return code, out.getvalue(), err.getvalue()


def answer(folder: Path, *arguments: str) -> dict:
    code, out, err = run_in(folder, *arguments, "--json", "--quiet")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_query_prices_every_way_to_pay_when_asked(home):
    ask = ["query", "results/local/3x6", "--me", "0:1,1:2,2:3", "--facing", "w2"]
    data = answer(home, *ask, "--pulls", "tiles")
    ways = [row["pulls"] for row in data["actions"] if row["action"] == "match"]
    assert sorted(ways, key=str) == [{"2": 1}, {"3": 1}]
    facts = data["payments"]
    assert (facts["ways"], facts["tried"], facts["valued"]) == (2, 2, 2)
    assert facts["default"] == {"3": 1}
    values = {str(row["pulls"]): row["value"] for row in data["actions"]}
    best = max(values["{'2': 1}"], values["{'3': 1}"])
    assert facts["default_cost"] == pytest.approx(best - values["{'3': 1}"])
    assert "payments" not in answer(home, *ask)
    code, out, _ = run_in(home, *ask, "--pulls", "tiles")
    assert code == 0
    assert "(default)" in out
    assert "ways to pay: 2" in out
    assert "paying by the default rule costs" in out


def test_query_says_how_many_ways_were_left_out(home):
    ask = ["query", "--me", "8:2,3:1,9:6,0:2,2:4,7:5,1:1,4:2,5:2,6:5", "--facing", "b9"]
    data = answer(home, *ask, "--pulls", "free")
    facts = data["payments"]
    assert facts["ways"] > facts["tried"] > facts["valued"] == len(data["actions"]) - 1
    assert all(row["ci95"][0] <= row["value"] <= row["ci95"][1] for row in data["actions"])
    assert f"{facts['ways']:,}" in run_in(home, *ask, "--pulls", "free")[1]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


QUERY = ["query", "results/local/3x6", "--me", "0:1,1:1,2:4", "--facing", "b4"]

BAD = [
    (["solve", "3x"], "'3x'.*NxC"),
    (["solve", "5x3"], "5 tiles need at least 5"),
    (["solve", "0x0"], "tiles 0"),
    (["solve", "999999x999999"], "999999x999999.*60 tiles"),
    (["solve", "40x100"], "40x100.*GiB"),
    (["solve", "3x6", "--method", "magic"], "magic.*auto, exact, mccfr"),
    (["solve", "3x6", "--algorithm", "magic"], r"magic.*dcfr"),
    (["solve", "--method", "mccfr", "--algorithm", "magic"], r"magic.*rm\+"),
    (["solve", "3x6", "--target", "0"], "--target 0"),
    (["solve", "3x6", "--target", "nan"], "--target nan"),
    (["solve", "--method", "mccfr", "--target", "0.1"], "--target.*sampled"),
    (["solve", "3x6", "--time-limit", "-1"], "--time-limit -1"),
    (["solve", "3x6", "--iterations", "0"], "--iterations"),
    (["solve", "3x6", "--iterations", "many"], "--iterations"),
    (["solve", "3x6", "--threads", "0"], "--threads"),
    (["solve", "3x6", "--seed", "-1"], "--seed"),
    (["solve", "3x6", "--objective", "luck"], "luck.*win, chips"),
    (["solve", "3x6", "--pulls", "sideways"], "sideways.*latest, tiles, free"),
    (["solve", "3x6", "--pulls", "free", "--method", "mccfr"], "free.*latest"),
    (["solve", "10x30", "--pulls", "tiles"], "--pulls tiles: 10x30 is too large.*latest"),
    (["solve", "3x6", "--algorithm", "lp", "--target", "0.1"], "--target.*lp"),
    (["solve", "3x6", "--algorithm", "lp", "--iterations", "9"], "--iterations.*lp"),
    (["solve", "--algorithm", "lp", "--resume", "results/local/3x6"], "--resume.*lp"),
    (["solve", "3x6", "--algorithm", "lp", "--method", "mccfr"], r"lp.*rm\+"),
    (["solve", "10x30", "--method", "exact"], "10x30"),
    (["solve", "3x6", "--out", "file"], "file.*not a folder"),
    (["solve", "3x6", "--out", "file/deeper"], "file.*not a writable folder"),
    (["solve", "3x6", "--out", "mine"], r"notes\.txt"),
    (["solve", "3x6", "--out", "/proc/none/there"], "/proc"),
    (["solve", "3x6", "--resume", "mine"], "mine"),
    (["solve", "3x6", "--resume", "nowhere"], "nowhere: no such table"),
    (["solve", "3x6", "--resume", "results/local/2x4"], "holds 2x4"),
    (["solve", "3x6", "--resume", "results/local/3x6", "--algorithm", "cfr"], r"cfr.*dcfr"),
    (
        ["solve", "3x6", "--resume", "results/local/3x6", "--pulls", "free"],
        "holds 3x6, pulls=latest",
    ),
    (["solve", "4x8", "--resume", "killed"], "killed: holds 3x6"),
    (["solve", "--resume", "killed", "--method", "mccfr"], "mccfr.*exact"),
    (["solve", "--resume", "damaged"], r"damaged\.unfinished/checkpoint\.npz: wrong checksum"),
    (["solve", "3x6", "--out", "killed.unfinished"], r"killed\.unfinished.*solves in progress"),
    (["show", "killed.unfinished"], r"interrupted solve.*--resume \S*killed`"),
    (["exploit", "killed"], r"killed: no such table.*--resume \S*killed`"),
    (["solve", "3x6", "extra"], "extra"),
    (["exploit", "nowhere"], "nowhere: no such table"),
    (["exploit", "mine"], "mine: not a table"),
    (["exploit", "file"], "file: not a table"),
    (["exploit", "truncated"], r"setup\.parquet: wrong checksum"),
    (["exploit", "changed"], r"decisions\.parquet: wrong checksum"),
    (["exploit", "broken"], r"manifest\.json"),
    (["exploit", "bot:nobody", "--game", "3x6"], "nobody.*random"),
    (["exploit", "bot:random", "--game", "3 by 6"], "3 by 6"),
    (["exploit", "results/local/3x6", "--game", "4x8"], "4x8.*3x6"),
    (["exploit", "results/local/3x6", "--objective", "chips"], "chips.*win"),
    (["exploit", "results/local/3x6", "--method", "guess"], "guess.*auto, exact, search"),
    (["exploit", "results/local/10x30", "--method", "exact"], "10x30"),
    (["exploit", "results/local/10x30", "--time-limit", "0"], "--time-limit 0"),
    (["match", "bot:random"], "Missing argument"),
    (["match", "results/local/3x6", "results/local/2x4"], "3x6.*2x4"),
    (["match", "bot:random", "bot:folder", "--games", "0"], "--games"),
    (["export", "bot:random", "--game", "3x6"], "bot:random.*no table"),
    (["show", "bot:random"], "bot:random.*no table"),
    (["query", "results/local/3x6", "--me", "0:1,2:4,1:1"], "--facing"),
    (["query", "results/local/3x6", "--facing", "w1"], "--me"),
    (["query", "--me", "0:1,2:4,1:1", "--facing", "w1"], "slot 4"),
    (["query", "--me", SETUP.replace("3:1", "8:1"), "--facing", "w1"], "8 is placed twice"),
    (["query", "--me", SETUP.replace("8:4", "8:5"), "--facing", "w1"], "31 chips"),
    (["query", "--me", SETUP, "--facing", "g6"], "g6"),
    (["query", "--me", SETUP, "--facing", "w6", "--pulls", "all"], "'all'.*latest, tiles, free"),
    (
        ["query", "--me", SETUP, "--facing", "w6", "--history", "w3=7@9-1", "--pulls", "free"],
        "w3=7@9-1",
    ),
    (["query", "--me", SETUP, "--facing", "w60"], "w60"),
    (["query", "--me", SETUP, "--history", "w3=8", "--facing", "w1"], "w3=8"),
    (["query", "--me", SETUP, "--history", "w3=7 w3=7", "--facing", "w1"], "w3=7"),
    (["query", "--me", SETUP, "--history", "w5f", "--facing", "w1"], "w5f"),
    (["query", "--me", SETUP, "--history", "w3F", "--facing", "w1"], "w3F"),
    (["query", "--situation", "bad.json"], r"--situation bad\.json: me: a string is needed"),
    (
        ["query", "--situation", "no.json"],
        r"--situation no\.json: not JSON: .* at line 1, column 2",
    ),
    (["query", "--situation", "nowhere.json"], r"nowhere\.json"),
    (["review"], "Missing argument"),
    (["review", "nowhere.txt", "results/local/3x6"], r"nowhere\.txt"),
    (["review", "mine", "results/local/3x6"], "mine"),
    (["review", "binary", "results/local/3x6"], "binary: not a text file"),
    (["review", "no.json", "results/local/3x6"], r"record no\.json: line 1: not JSON"),
    (["review", "bad.json", "results/local/3x6"], "line 1, game 1: setups"),
    (["review", "games.txt", "results/local/3x6", "--player", "3"], "--player"),
    (["review", "games.txt"], "line 2: player 1: setup .*slot 4 is not placed"),
    (["review", "games.txt", "nowhere"], "nowhere: no such table"),
    (["review", "games.txt", "results/local/3x6", "--game", "4x8"], "4x8.*3x6"),
    (
        ["review", "wrong.txt", "results/local/3x6"],
        r"line 4: move 2 'w2f': stacks 2 v 2 .*; allowed here: w2=1 \(equal stacks\)",
    ),
    (["review", "short.txt", "results/local/3x6"], "line 2: 2 moves.*3; allowed next: b2=2"),
    ([*QUERY, "--opponent", "nobody"], "--opponent nobody: .*table, uniform, bot:NAME"),
    ([*QUERY, "--opponent", "bot:nobody"], "--opponent bot:nobody: .*bot:random"),
    ([*QUERY, "--opponent", "results/local/2x4"], "2x4, win, pulls latest; results/local/3x6 is"),
    ([*QUERY, "--opponent", "mine"], "--opponent mine: .*mine: not a table"),
    ([*QUERY, "--opponent", "twice.txt"], r"--opponent twice\.txt: line 2: .*2 is placed twice"),
    ([*QUERY, "--opponent", "answers.txt"], r"--opponent answers\.txt: line 1: .*no answers"),
    ([*QUERY, "--opponent", "bad.json"], r"--opponent bad\.json: .*allowed is a list setups"),
    ([*QUERY, "--opponent", "seen.txt", "--prior", "0"], "--prior 0"),
    ([*QUERY, "--opponent", "seen.txt", "--prior", "nan"], "--prior nan"),
    ([*QUERY, "--opponent", "uniform", "--prior", "9"], "--prior 9: it goes with"),
    ([*QUERY, "--prior", "9"], "--prior 9: it goes with"),
    (["setup", "results/local/3x6", "--partial", "0:1,0:1"], "0 is placed twice"),
    (["setup", "results/local/3x6", "--partial", "0:9"], "9 chips"),
    (["setup", "results/local/3x6", "-n", "0"], "--n"),
    (["show", "nowhere"], "nowhere: no such table"),
    (["export", "results/local/3x6", "--format", "pdf"], "pdf.*csv, parquet, npz, efg"),
    (["export", "results/local/3x6", "--out", "mine"], "mine: exists already"),
    (["export", "results/local/3x6", "--out", "no/where"], "not a folder"),
    (["export", "results/local/10x30", "--format", "efg"], "10x30"),
    (["estimate", "ten by thirty"], "ten by thirty"),
    (["nonsense"], "nonsense"),
    (["exploit", ""], "TABLE is empty; name something, or leave it out"),
    (["show", " "], "TABLE is empty"),
    (["match", "bot:random", ""], "B is empty$"),
    (["review", ""], "RECORD is empty$"),
    (["solve", "3x6", "--out", ""], "--out is empty"),
    (["solve", "3x6", "--lock="], "--lock is empty"),
    (["solve", "--resume", ""], "--resume is empty"),
    (["solve", ""], "GAME is empty"),
    (["export", "results/local/3x6", "--out", ""], "--out is empty"),
    (["red-and-black", "--out", ""], "--out is empty"),
    ([*QUERY, "--opponent", ""], "--opponent is empty"),
    (["query", "--situation", ""], "--situation is empty"),
    (["solve", "--nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("arguments", "wanted"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_gets_one_line_and_changes_nothing(home, arguments, wanted):
    before = snapshot(home)
    code, out, err = run_in(home, *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("blackwhite: ")
    assert re.search(wanted, err), err
    assert snapshot(home) == before


def test_solve_says_what_it_did(home, tmp_path):
    data = answer(home, "solve", "2x4", "--target", "1e-4", "--out", str(tmp_path / "t"))
    assert data["game"] == "2x4"
    assert data["method"] == "exact"
    assert data["exploitability"] <= 1e-4
    assert data["num_infostates"] == load_table(tmp_path / "t").decisions.height
    assert Path(data["out"]) == tmp_path / "t"


@pytest.mark.parametrize("objective", ["win", "chips"])
def test_reported_exploitability_is_the_judges(home, tmp_path, objective):
    out = str(tmp_path / "t")
    solved = answer(
        home, "solve", "3x5", "--objective", objective, "--target", "1e-3", "--out", out
    )
    judged = answer(home, "exploit", out)
    assert judged["kind"] == "exact"
    assert judged["exploitability"] == pytest.approx(solved["exploitability"], abs=1e-12)


def test_bots_are_judged_exactly_in_small_games(home):
    data = answer(home, "exploit", "bot:random", "--game", "3x6")
    assert data["exploitability"] == pytest.approx(0.6, abs=1e-12)
    assert data["best_response"]["setup"] == "0:1,2:4,1:1"


def test_bracket_is_said_to_be_one_where_the_game_is_too_large(home):
    data = answer(home, "exploit", "results/local/10x30", "--time-limit", "2")
    assert data["kind"] == "bracket"
    low, high = data["lower_ci"]
    assert low <= data["lower"] <= high <= data["upper"] == 1.0
    assert len(data["best_response"]["setup"].split(",")) == 10


@pytest.mark.parametrize("method", ["exact", "mccfr"])
def test_resumed_solve_equals_an_uninterrupted_one(home, tmp_path, method):
    once, twice = str(tmp_path / "once"), str(tmp_path / "twice")
    common = ["--method", method, "--threads", "1"]
    answer(home, "solve", "3x6", *common, "--iterations", "8192", "--out", once)
    answer(home, "solve", "3x6", *common, "--iterations", "4096", "--out", twice)
    answer(home, "solve", "3x6", "--resume", twice, "--iterations", "8192")
    first, second = load_table(Path(once)), load_table(Path(twice))
    assert first.manifest.iterations == second.manifest.iterations == 8192
    assert first.setup.equals(second.setup)
    assert first.decisions.equals(second.decisions)
    began, went_on = second.manifest.command.split(" && ")
    assert "--iterations 4096" in began
    assert f"--resume {twice} --iterations 8192" in went_on


def test_same_seed_gives_the_same_table_on_one_thread_and_two(home, tmp_path):
    for threads in ("1", "2"):
        answer(
            home, "solve", "5x10", "--method", "mccfr", "--iterations", "20000",
            "--threads", threads, "--seed", "7", "--out", str(tmp_path / threads),
        )  # fmt: skip
    first, second = (load_table(tmp_path / threads) for threads in ("1", "2"))
    assert first.setup.equals(second.setup)
    assert first.decisions.equals(second.decisions)


def test_query_answers_the_worked_example_of_the_rules(home):
    data = answer(home, "query", "bot:random", "--game", "2x3", "--me", "0:1,1:2", "--facing", "w2")
    fold, match = sorted(data["actions"], key=lambda row: row["action"])
    # The opponent holds 1:2, 0:1. Matching loses 2-4. After folding slot 2 is 1 v 2 and the
    # opponent decides: folding draws 3-3, matching loses to my 1; a coin does either.
    assert data["opponent_tile"] == {"1": 1.0}
    assert data["decision"] == "fold"
    assert (fold["value"], fold["win"], fold["draw"], fold["loss"]) == (0.5, 0.5, 0.5, 0.0)
    assert (match["value"], match["loss"]) == (-1.0, 1.0)
    assert data["known"] is True


def test_query_reads_a_situation_from_a_file(home, tmp_path):
    where = {"me": SETUP, "history": "w3=7", "facing": "b6"}
    (tmp_path / "s.json").write_text(json.dumps(where))
    typed = answer(home, "query", "--me", SETUP, "--history", "w3=7", "--facing", "b6")
    assert answer(home, "query", "--situation", str(tmp_path / "s.json")) == typed
    assert typed["decision"] in ("match", "fold")
    assert sum(typed["opponent_tile"].values()) == pytest.approx(1)
    assert 7 not in typed["opponent_left"]


@pytest.mark.parametrize("name", ["uniform", "bot:random"])
def test_query_against_uniform_is_advice_of_the_bot(home, name):
    asked = answer(home, *QUERY, "--opponent", name)
    bot = answer(home, "query", "bot:random", "--game", "3x6", *QUERY[2:])
    assert asked["opponent"] == name
    assert asked["opponent_tile"] == bot["opponent_tile"] == {"0": 0.5, "2": 0.5}
    for mine, theirs in zip(asked["actions"], bot["actions"], strict=True):
        for field in ("action", "value", "win", "draw", "loss"):
            assert mine[field] == theirs[field]


def test_query_resolves_the_rest_of_the_game_unless_told_not_to(home):
    ask = ["query", "bot:heuristic", "--game", "3x6", *QUERY[2:]]
    data = answer(home, *ask)
    assert data["method"] == "exact; ending re-solved from slot 1"
    play = data["resolved"]
    assert play["fold"] + play["match"] == pytest.approx(1)
    assert play["value"] >= play["table_value"] - 0.002
    assert "safe play: match" in run_in(home, *ask)[1]
    plain = answer(home, *ask, "--no-resolve")
    assert "resolved" not in plain
    assert plain["method"] == "exact"
    assert plain["actions"] == data["actions"]
    assert "resolved" not in answer(home, *QUERY)  # the table is exact


def test_query_says_which_opponent_it_assumed(home):
    assert answer(home, *QUERY) == answer(home, *QUERY, "--opponent", "table")
    assert answer(home, *QUERY)["opponent"] == "table"
    again = answer(home, *QUERY, "--opponent", "results/local/3x6")
    assert again == {**answer(home, *QUERY), "opponent": "results/local/3x6"}
    assert "assumed: the opponent plays the table" in run_in(home, *QUERY)[1]
    assert (
        "assumed: the opponent plays bot:caller"
        in run_in(home, *QUERY, "--opponent", "bot:caller")[1]
    )


def test_query_counts_setups_seen_of_the_opponent(home):
    alone = answer(home, *QUERY)["opponent_tile"]["2"]
    probs = []
    for prior in ("1e6", "20", "1"):
        data = answer(home, *QUERY, "--opponent", "seen.txt", "--prior", prior)
        assert data["observed"]["sightings"] == 4
        assert data["observed"]["prior"] == float(prior)
        probs.append(data["opponent_tile"]["2"])
    assert probs[0] == pytest.approx(alone, abs=1e-4)
    assert probs[0] < probs[1] < probs[2]
    default = answer(home, *QUERY, "--opponent", "seen.txt")
    assert default["observed"]["prior"] == 20
    (home / "[b]seen.txt").write_text((home / "seen.txt").read_text())
    text = run_in(home, *QUERY, "--opponent", "[b]seen.txt")[1]
    assert "places a setup seen in [b]seen.txt (4 sightings, prior 20)" in text


def test_setups_drawn_for_a_half_placed_board_complete_it(home):
    data = answer(home, "setup", "-n", "5", "--partial", "9:?,?:7", "--seed", "1")
    assert len(data["setups"]) == 5
    for text in data["setups"]:
        first, second = text.split(",")[:2]
        assert first.startswith("9:")
        assert second.endswith(":7")
    assert data == answer(home, "setup", "-n", "5", "--partial", "9:?,?:7", "--seed", "1")


def test_match_counts_every_game(home):
    data = answer(home, "match", "results/local/3x6", "bot:random", "--games", "4000")
    assert data["games"] == data["wins"] + data["draws"] + data["losses"] == 4000
    assert data["ci95"][0] <= data["value"] <= data["ci95"][1]
    assert data["value"] > 0


def test_estimate_knows_the_sizes(home):
    assert answer(home, "estimate")["setups"] == 36_342_450_144_000
    small = answer(home, "estimate", "3x6")
    assert (small["setups"], small["method"]) == (60, "exact")
    assert small["infostates"] == load_table(home / "results/local/3x6").decisions.height


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "efg"])
def test_export_writes_what_it_says(home, tmp_path, form):
    data = answer(
        home, "export", "results/local/3x6", "--format", form, "--out", str(tmp_path / "x")
    )
    assert data["files"]
    assert all(Path(file).stat().st_size > 0 for file in data["files"])


def test_show_lists_likely_setups_and_match_rates(home):
    for table in ("results/local/3x6", "results/local/10x30"):
        data = answer(home, "show", table, "--top", "3")
        assert len(data["setups"]) == 3
        assert all(0 <= row["match"] <= 1 for row in data["match_rates"])
        code, out, _ = run_in(home, "show", table)
        assert code == 0
        assert "match rate" in out


def interrupt_after(calls: int, monkeypatch) -> None:
    """Send this process SIGINT, as Ctrl-C does, at some call of the progress function."""
    plain = common.Watch.__call__
    count = 0

    def counted(self, iterations, seconds, exploitability):
        nonlocal count
        count += 1
        if count == calls:
            signal.raise_signal(signal.SIGINT)
        return plain(self, iterations, seconds, exploitability)

    monkeypatch.setattr(common.Watch, "__call__", counted)


@pytest.mark.parametrize("method", ["exact", "mccfr"])
def test_interrupted_solve_keeps_what_it_has(home, tmp_path, monkeypatch, method):
    interrupt_after(2, monkeypatch)
    out = str(tmp_path / "t")
    solved = ["solve", "3x6", "--method", method, "--iterations", "100000000", "--out", out]
    data = answer(home, *solved)
    assert 0 < data["iterations"] < 100_000_000
    table = load_table(out)
    assert table.game == Game(3, 6)
    assert table.manifest.iterations == data["iterations"]


def interrupt_while_building(monkeypatch, game: Game) -> None:
    """Send this process SIGINT as the tree of ``game`` is about to be built."""
    plain = ExactSolver.__init__

    def interrupted(self, rules, **options):
        if rules == game:
            signal.raise_signal(signal.SIGINT)
        plain(self, rules, **options)

    monkeypatch.setattr(ExactSolver, "__init__", interrupted)


def test_solve_interrupted_before_its_first_iteration_changes_nothing(home, monkeypatch):
    interrupt_while_building(monkeypatch, Game(3, 6))
    before = snapshot(home)
    for arguments in (["solve", "3x6"], ["solve", "--resume", "killed"]):
        code, out, err = run_in(home, *arguments, "--quiet")
        assert (code, out) == (2, "")
        assert err.strip() == "blackwhite: interrupted; nothing was written"
    assert snapshot(home) == before


LENGTH = {"exact": 4000, "mccfr": 60_000}
"""Iterations that take long enough to be killed in between."""


@pytest.fixture(scope="module")
def uninterrupted(home) -> dict[str, Path]:
    """Tables of 3x6, by method."""
    for method, length in LENGTH.items():
        solved = ["solve", "3x6", "--method", method, "--iterations", str(length)]
        answer(home, *solved, "--threads", "1", "--out", f"whole-{method}")
    return {method: home / f"whole-{method}" for method in LENGTH}


def kill_midway(folder: Path, method: str, out: Path) -> int:
    """Kill a solve that writes checkpoints all the time; return the iterations of the last."""
    code = (
        "from solver.cli import checkpoints, main\ncheckpoints.CHECKPOINT_SECONDS = 0.0\nmain()\n"
    )
    solved = ["solve", "3x6", "--method", method, "--iterations", str(LENGTH[method])]
    solved += ["--threads", "1", "--out", str(out), "--quiet"]
    process = subprocess.Popen([sys.executable, "-c", code, *solved], cwd=folder)
    kept = out.with_name(f"{out.name}.unfinished") / "manifest.json"
    iterations = 0
    while iterations < 100:
        assert process.poll() is None, "the solve ended before it could be killed"
        time.sleep(0.005)
        with contextlib.suppress(FileNotFoundError):
            iterations = json.loads(kept.read_text())["iterations"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return read_manifest(kept.parent).iterations


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("method", ["exact", "mccfr"])
def test_killed_solve_goes_on_from_its_last_checkpoint(home, tmp_path, uninterrupted, method):
    out = tmp_path / "t"
    assert 100 <= kill_midway(home, method, out) < LENGTH[method]
    kept = tmp_path / "t.unfinished"
    set_seconds(kept, 1000.0)
    data = answer(home, "solve", "--resume", str(kept), "--iterations", str(LENGTH[method]))
    assert data["out"] == str(out)
    assert data["iterations"] == read_manifest(uninterrupted[method]).iterations
    assert data["seconds"] > 1000
    for name in ("setup.parquet", "decisions.parquet", "checkpoint.npz"):
        assert (out / name).read_bytes() == (uninterrupted[method] / name).read_bytes()
    assert not kept.exists()


def test_interrupted_solve_goes_on_to_the_same_table(home, tmp_path, uninterrupted, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    out = tmp_path / "t"
    with monkeypatch.context() as patch:
        interrupt_after(20, patch)
        answer(home, "solve", "3x6", "--iterations", "4000", "--out", str(out))
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]
    answer(home, "solve", "--resume", str(out), "--iterations", "4000")
    for name in ("setup.parquet", "decisions.parquet"):
        assert (out / name).read_bytes() == (uninterrupted["exact"] / name).read_bytes()


def set_seconds(folder: Path, seconds: float) -> None:
    """Make a manifest say that a solve took so long."""
    facts = read_manifest(folder).model_copy(update={"seconds": seconds})
    (folder / "manifest.json").write_text(facts.model_dump_json())


def leave_unfinished(home: Path, out: Path) -> Path:
    """Put the state of 3x6 beside ``out``, as a killed solve leaves it; return its folder."""
    table = home / "results" / "local" / "3x6"
    save_unfinished(out, read_manifest(table), load_checkpoint(table))
    return out.with_name(f"{out.name}.unfinished")


def test_checkpoint_is_newer_than_the_table_beside_it(home, tmp_path):
    out = tmp_path / "t"
    answer(home, "solve", "3x6", "--iterations", "10", "--out", str(out))
    last = read_manifest(leave_unfinished(home, out)).iterations
    data = answer(home, "solve", "--resume", str(out), "--iterations", "11")
    assert data["iterations"] == last > 11
    assert not (tmp_path / "t.unfinished").exists()


def test_fresh_solve_says_that_an_interrupted_one_is_there_and_replaces_it(home, tmp_path):
    kept = leave_unfinished(home, tmp_path / "t")
    arguments = ["solve", "2x4", "--iterations", "20", "--out", str(tmp_path / "t")]
    code, _, err = run_in(home, *arguments)
    assert code == 0
    assert err.count("\n") == 1
    assert re.search(rf"interrupted solve of [\d,]+ iterations.*--resume {tmp_path}/t`", err)
    assert load_table(tmp_path / "t").game == Game(2, 4)
    assert not kept.exists()


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_interrupting_a_fresh_solve_keeps_another_until_its_own_checkpoint(
    home, tmp_path, monkeypatch, seconds
):
    kept = leave_unfinished(home, tmp_path / "t")
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", seconds)
    interrupt_after(3, monkeypatch)
    code, out, _ = run_in(
        home, "solve", "2x4", "--iterations", "99999999", "--out", str(tmp_path / "t")
    )
    assert code == 0
    assert load_table(tmp_path / "t").game == Game(2, 4)
    assert kept.exists() == (seconds > 0)
    assert ("was there before" in out) == (seconds > 0)


def test_second_interruption_leaves_the_last_checkpoint(home, tmp_path, monkeypatch):
    kept = leave_unfinished(home, tmp_path / "t")
    set_seconds(kept, 1000.0)
    first = read_manifest(kept).iterations
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    plain = common.Watch.__call__

    def interrupted_twice(self, iterations, seconds, exploitability):
        if iterations > first + 1:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return plain(self, iterations, seconds, exploitability)

    monkeypatch.setattr(common.Watch, "__call__", interrupted_twice)
    code, _, err = run_in(home, "solve", "--resume", str(kept), "--iterations", "4000")
    assert code == 2
    assert f"--resume {tmp_path / 't'}` goes on from the last checkpoint" in err
    assert read_manifest(kept).iterations == first + 1
    assert read_manifest(kept).seconds > 1000
    assert [entry.name for entry in tmp_path.iterdir()] == [kept.name]


def test_solve_goes_on_without_checkpoints_that_cannot_be_written(home, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("solver.table.save_unfinished", fail)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    arguments = ["solve", "2x4", "--iterations", "20", "--out", str(tmp_path / "t")]
    code, _, err = run_in(home, *arguments)
    assert code == 0
    assert "No checkpoint could be written: disk full" in err
    assert load_table(tmp_path / "t").manifest.iterations == 20


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_ways_to_pay_are_solved_exactly_and_remembered(home, tmp_path, pulls):
    out = str(tmp_path / "t")
    data = answer(home, "solve", "3x6", "--pulls", pulls, "--iterations", "50", "--out", out)
    assert data["method"] == "exact"
    assert load_table(out).game == Game(3, 6, pulls)
    more = answer(home, "solve", "--resume", out, "--iterations", "60")
    assert more["iterations"] == 60
    assert load_table(out).game == Game(3, 6, pulls)
    size = answer(home, "estimate", "3x6", "--pulls", pulls)
    assert (size["method"], size["sampled"]) == ("exact", None)
    assert size["infostates"] == data["num_infostates"]


def test_any_number_of_threads_gives_the_same_exact_table(home, tmp_path):
    for threads in ("1", "2"):
        out = str(tmp_path / threads)
        answer(home, "solve", "4x6", "--iterations", "30", "--threads", threads, "--out", out)
    first, second = (tmp_path / threads / "decisions.parquet" for threads in ("1", "2"))
    assert first.read_bytes() == second.read_bytes()


def test_linear_program_finds_the_optimum(home, tmp_path):
    out = str(tmp_path / "t")
    data = answer(home, "solve", "2x4", "--algorithm", "lp", "--out", out)
    assert (data["method"], data["algorithm"]) == ("exact", "lp")
    assert data["exploitability"] < 1e-9
    assert answer(home, "exploit", out)["exploitability"] < 1e-9


def test_interrupted_judge_gives_a_lower_bound_and_says_so(home, monkeypatch):
    interrupt_after(1, monkeypatch)
    data = answer(home, "exploit", "bot:top-spike", "--game", "3x6", "--threads", "1")
    assert data["kind"] == "bracket"
    assert data["lower"] <= 1 / 3 + 1e-12 <= data["upper"]


def test_query_on_an_exact_table_is_exact(home):
    data = answer(home, "query", "results/local/3x6", "--me", "0:1,1:1,2:4", "--facing", "b2")
    assert data["known"] is True
    assert data["method"].startswith("exact")
    for row in data["actions"]:
        assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
        assert row["value"] == pytest.approx(row["win"] - row["loss"])


def test_review_answers_in_json_and_sums_up(home):
    data = answer(home, "review", "games.txt", "results/local/3x6")
    names = {"game", "table", "pulls", "player", "seed", "is_complete", "games", "summary"}
    assert names == data.keys()
    first, second = data["games"]
    assert [first["line"], second["line"]] == [2, 4]
    assert first["winnings"] == [6, 6]
    assert second["decisions"] == []
    places = [(row["slot"], row["player"], row["played"]) for row in first["decisions"]]
    assert places == [(1, 1, "fold"), (2, 2, "match")]
    for row in first["decisions"]:
        values = {action["action"]: action["value"] for action in row["actions"]}
        assert row["loss"] == pytest.approx(max(values.values()) - values[row["played"]])
        assert row["best"] == max(values, key=lambda name: values[name])
        assert sum(row["opponent_tile"].values()) == pytest.approx(1)
        assert row["method"].startswith("exact")
        assert row["loss_ci95"] is None
    asked = answer(
        home, "query", "results/local/3x6", "--me", "1:1,2:3,0:2", "--history", "", "--facing", "b3"
    )
    assert first["decisions"][0]["actions"] == asked["actions"]
    assert first["losses"]["1"] == first["decisions"][0]["loss"]
    for row in first["setups"]:
        assert row["share_worse"] + row["share_better"] <= 1 + 1e-9
        assert row["method"].startswith("exact")
    summary = data["summary"]
    assert (summary["games"], summary["decisions"]) == (2, 2)
    assert summary["players"][0]["loss"] == first["losses"]["1"]
    assert summary["worst"][0]["line"] == 2
    only = answer(home, "review", "games.txt", "results/local/3x6", "--player", "2")
    assert [row["player"] for row in only["games"][0]["decisions"]] == [2]


def test_review_reads_json_and_prints_for_people(home, tmp_path):
    data = answer(home, "review", "games.txt", "results/local/3x6")
    games = []
    for one in data["games"]:
        first, second, moves = one["record"].split(" ", 2)
        games.append({"setups": [first, second], "moves": moves})
    (tmp_path / "games.json").write_text(json.dumps(games))
    again = answer(home, "review", str(tmp_path / "games.json"), "results/local/3x6")
    assert [one["losses"] for one in again["games"]] == [one["losses"] for one in data["games"]]
    code, out, err = run_in(home, "review", "games.txt", "results/local/3x6", "--quiet")
    assert (code, err) == (0, "")
    assert "line 2" in out
    assert "2 games" in out
    (tmp_path / "many.txt").write_text("0:3,2:2,1:1 2:3,1:2,0:1 b3=2 w2=1 b1=0\n" * 11)
    code, out, _ = run_in(home, "review", str(tmp_path / "many.txt"), "results/local/3x6", "-q")
    assert code == 0
    assert "11 games" in out
    assert "line 2" not in out


def test_byte_order_mark_is_left_out(home, tmp_path):
    parts = {"me": "0:1,1:1,2:4", "history": "", "facing": "b4"}
    lock = {"answers": [{"gap": 1, "match": 1}]}
    for name, text in (
        ("situation.json", json.dumps(parts)),
        ("seen.json", '{"setups": [{"setup": "2:4,0:1,1:1"}]}'),
        ("games.txt", GAMES),
        ("games.json", '{"setups": ["0:3,2:2,1:1", "2:3,1:2,0:1"], "moves": "b3=2 w2=1 b1=0"}'),
        ("lock.json", json.dumps(lock)),
    ):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    situation, seen = (str(tmp_path / name) for name in ("situation.json", "seen.json"))
    found = answer(home, *QUERY[:2], "--situation", situation, "--opponent", seen)
    assert found["actions"] == answer(home, *QUERY, "--opponent", seen)["actions"]
    for name, num_games in (("games.txt", 2), ("games.json", 1)):
        data = answer(home, "review", str(tmp_path / name), "results/local/3x6")
        assert len(data["games"]) == num_games
    bound = ("--lock", str(tmp_path / "lock.json"), "--out", str(tmp_path / "bound"))
    assert answer(tmp_path, "solve", "3x6", "--iterations", "5", *bound)["lock"]["seat"] == 0


def test_review_prices_payments_when_told_how_players_could_pay(home, tmp_path):
    (tmp_path / "paid.txt").write_text("0:1,1:2,2:3 1:2,0:1,2:3 w2=1@2-1 b1=0 b3=2\n")
    ask = ["review", str(tmp_path / "paid.txt"), "results/local/3x6", "--quiet"]
    code, out, err = run_in(home, *ask)
    assert (code, out) == (2, "")
    assert "pulls=latest takes 3-1; --pulls tiles or --pulls free accepts" in err
    for pulls in ("tiles", "free"):
        data = answer(home, *ask[:-1], "--pulls", pulls)
        row = data["games"][0]["decisions"][0]
        assert (data["pulls"], row["played"], row["pulls"]) == (pulls, "match", {"2": 1})
        values = {json.dumps(one["pulls"]): one["value"] for one in row["actions"]}
        assert row["loss"] == pytest.approx(max(values.values()) - values['{"2": 1}'])
        assert "match @2-1" in run_in(home, *ask, "--pulls", pulls)[1]


def test_review_of_the_readme_is_a_game(home, tmp_path):
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    line = re.search(r"cat > games\.txt <<END\n(.*?)\nEND", text, flags=re.S)[1]
    (tmp_path / "games.txt").write_text(line)
    data = answer(home, "review", str(tmp_path / "games.txt"), "--seed", "3")
    assert data["game"] == "10x30"
    assert data["games"][0]["winnings"] == [34, 26]
    for row in data["games"][0]["setups"]:
        assert row["ci95"][0] < row["value"] < row["ci95"][1]
        assert row["method"].startswith("sampled")


def test_exported_parquet_is_a_table(home, tmp_path):
    answer(home, "export", "results/local/3x6", "--format", "parquet", "--out", str(tmp_path / "x"))
    assert load_table(tmp_path / "x").setup.equals(load_table(home / "results/local/3x6").setup)


def test_export_never_overwrites(home, tmp_path):
    (tmp_path / "x.npz").write_text("mine")
    code, _, err = run_in(
        home, "export", "results/local/3x6", "--format", "npz", "--out", str(tmp_path / "x")
    )
    assert code == 2
    assert "exists already" in err
    assert (tmp_path / "x.npz").read_text() == "mine"


def test_python_of_the_readme_runs(home):
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert len(blocks) == 3
    out = "results/local/red-and-black"
    assert run_in(home, "red-and-black", "--players", "21", "--out", out)[0] == 0
    cwd = Path.cwd()
    os.chdir(home)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec("\n".join(blocks), {})
    finally:
        os.chdir(cwd)
