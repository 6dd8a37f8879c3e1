"""``solve --lock`` and what other commands make of its tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_cli import answer, run_in, snapshot

from solver.cli import checkpoints
from solver.table import load_table, read_manifest

NEVER_FOLD = {"answers": [{"gap": 1, "match": 1}]}
WHERE = {"me": "0:1,1:1,2:2,3:3,4:4,5:1", "facing": "w3"}
COST = 1 / 36
"""What it costs never to fold to a gap of 1 in 3x6, by the program of ``test_locks.py``."""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with a table of 3x6 that is bound to a lock, one that is not, and locks."""
    folder = tmp_path_factory.mktemp("locks")
    for name, lock in (
        ("gap.json", NEVER_FOLD),
        ("same.json", {"seat": 0, "setups": [], "answers": [{"match": 1.0, "gap": 1}]}),
        ("other.json", {"answers": [{"gap": 1, "match": 0}]}),
        ("first.json", {"setups": [{"setup": "9", "weight": 2}]}),
        ("three.json", {"setups": [{"setup": "2:4,0:1,1:1"}, {"setup": "1", "weight": 3}]}),
        ("where.json", {"answers": [WHERE | {"match": 1}]}),
        ("wrong.json", {"answers": [{"gap": 1, "match": 1}, {"gap": 2, "match": 2}]}),
        ("unused.json", {"answers": [{"gap": 1, "match": 1}, {"gap": 1, "match": 0}]}),
    ):
        (folder / name).write_text(json.dumps(lock))
    (folder / "broken.json").write_text("{")
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    assert run_in(folder, "solve", "3x6", "--lock", "gap.json", "--out", "bound")[0] == 0
    assert run_in(folder, "solve", "3x6", "--iterations", "20", "--out", "free")[0] == 0
    return folder


def test_table_and_opponent_are_written_and_cost_is_the_judges(home):
    manifest = json.loads((home / "bound" / "manifest.json").read_text())
    opponent = json.loads((home / "bound" / "opponent" / "manifest.json").read_text())
    assert (manifest["lock"]["role"], opponent["lock"]["role"]) == ("locked", "opponent")
    assert manifest["lock"]["answers"][0]["gap"] == 1
    assert manifest["lock"]["sha256"] == opponent["lock"]["sha256"]
    judged = answer(home, "exploit", "bound")
    lock = judged["lock"]
    assert (lock["seat"], lock["cost"], lock["ci"]) == (0, judged["exploitability"], None)
    assert lock["cost"] == pytest.approx(manifest["exploitability"]["value"], abs=1e-12)
    assert lock["cost"] - lock["gap"] <= COST <= lock["cost"]
    assert 0 < lock["gap"] <= 2e-4
    judged = answer(home, "exploit", "bound/opponent")
    assert judged["lock"] is None
    assert judged["exploitability"] == pytest.approx(opponent["exploitability"]["value"])
    assert answer(home, "exploit", "free")["lock"] is None


def test_locked_answers_stand_in_the_table(home):
    decisions = load_table(home / "bound").decisions
    gap = pl.lit(0)
    for s in (1, 2, 3):
        facing = pl.col(f"opp_chips_{s}") - pl.col(f"my_chips_{s}")
        gap = pl.when(pl.col("slot") == s).then(facing).otherwise(gap)
    bound = decisions.filter(gap == 1)
    assert bound.height > 100
    assert (bound["match"] == 1.0).all()
    assert decisions.filter(gap != 1)["match"].n_unique() > 10


def test_solve_says_what_the_lock_costs(home, tmp_path):
    solve = ["solve", "3x6", "--lock", str(home / "three.json"), "--out", "table"]
    data = answer(tmp_path, *solve)
    assert data["lock"]["cost"] == data["exploitability"]
    setups = load_table(tmp_path / "table").setup
    whole = setups.filter((pl.col("tile_1") == 2) & (pl.col("probability") > 0))
    assert whole.select("chips_1", "tile_2", "probability").rows() == [(4, 0, 0.25)]
    code, out, _ = run_in(tmp_path, *solve)
    assert code == 0
    assert re.search(r"the lock costs 0\.\d+: .*opponent's within", " ".join(out.split()))


def test_opponent_can_be_asked_against(home):
    asked = ["query", "bound", "--me", "0:1,1:1,2:4", "--facing", "b4", "--opponent"]
    found = answer(home, *asked, "bound/opponent")
    assert found["opponent"] == "bound/opponent"
    assert answer(home, "match", "bound", "bound/opponent", "--games", "100")["games"] == 100
    code, out, _ = run_in(home, "show", "bound/opponent")
    assert code == 0
    assert "opponent: 0 setups and 1 answers of seat 0 were locked" in out


@pytest.mark.parametrize("asked", [[], ["--lock", "same.json"]], ids=["kept", "named"])
def test_resumed_solve_keeps_the_lock(home, tmp_path, asked):
    for name in ("gap.json", "same.json"):
        (tmp_path / name).write_text((home / name).read_text())
    answer(tmp_path, "solve", "3x6", "--lock", "gap.json", "--iterations", "60", "--out", "whole")
    answer(tmp_path, "solve", "3x6", "--lock", "gap.json", "--iterations", "25", "--out", "parts")
    answer(tmp_path, "solve", "--resume", "parts", "--iterations", "60", *asked)
    whole, parts = snapshot(tmp_path / "whole"), snapshot(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name in whole:
        if not name.endswith("manifest.json"):
            assert whole[name] == parts[name], name


def test_checkpoint_keeps_the_lock(home, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints.Keeper, "close", lambda self, *, stopped: None)
    lock = str(home / "gap.json")
    answer(tmp_path, "solve", "3x6", "--lock", lock, "--iterations", "25", "--out", "cut")
    monkeypatch.undo()
    kept = read_manifest(tmp_path / "cut.unfinished")
    assert (kept.lock.digest, kept.lock.gap) == (read_manifest(home / "bound").lock.digest, None)
    found = answer(tmp_path, "solve", "--resume", "cut", "--target", "1e-4")["lock"]
    assert found["cost"] - found["gap"] <= COST <= found["cost"]


BAD = [
    (["3x6", "--lock", "nowhere.json"], r"nowhere\.json"),
    (["3x6", "--lock", "binary"], "--lock binary: not a text file"),
    (["3x6", "--lock", "broken.json"], r"--lock broken\.json: not JSON"),
    (["3x6", "--lock", "wrong.json"], r"--lock wrong\.json: answers\.1\.match"),
    (["3x6", "--lock", "unused.json"], r"--lock unused\.json: answers\.1: no decision of 3x6"),
    (["3x6", "--lock", "first.json"], r"--lock first\.json: setups\.0: .*tile 9"),
    (["--lock", "three.json"], r"--lock three\.json: setups\.1: a sampled solve .* one board"),
    (["6x12", "--lock", "where.json"], r"--lock where\.json: answers\.0: me: a sampled solve"),
    (["3x6", "--lock", "three.json", "--method", "mccfr"], r"three\.json: setups\.1: a sampled"),
    (["6x12", "--lock", "gap.json", "--pulls", "free"], "6x12 is too large to be solved exactly"),
    (["3x6", "--lock", "gap.json", "--algorithm", "lp"], r"--lock gap\.json: --algorithm lp"),
    (["--resume", "bound", "--lock", "other.json"], "bound was made with another lock"),
    (["--resume", "free", "--lock", "gap.json"], "free was made without a lock"),
    (["--resume", "bound/opponent"], r"opponent: holds no checkpoint\.npz"),
    (["4x8", "--resume", "bound"], "holds 3x6"),
]


@pytest.mark.parametrize(("arguments", "wanted"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_lock_gets_one_line_and_changes_nothing(home, arguments, wanted):
    before = snapshot(home)
    code, out, err = run_in(home, "solve", *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("blackwhite: ")
    assert re.search(wanted, err), err
    assert snapshot(home) == before


def test_changed_lock_is_refused_by_name(home, tmp_path):
    for name, content in snapshot(home / "bound").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"gap": 1,', '"gap": 2,'))
    code, _, err = run_in(tmp_path.parent, "exploit", tmp_path.name)
    assert code == 2
    assert re.search(r"manifest\.json: lock: wrong checksum", err)


def test_table_with_an_opponent_is_replaced_whole_but_nothing_foreign(home, tmp_path):
    lock = str(home / "gap.json")
    solve = ["solve", "3x6", "--iterations", "9", "--out", "table"]
    answer(tmp_path, *solve, "--lock", lock)
    (tmp_path / "table" / "opponent" / "notes.txt").write_text("keep me")
    code, _, err = run_in(tmp_path, *solve)
    assert code == 2
    assert "notes.txt" in err
    (tmp_path / "table" / "opponent" / "notes.txt").unlink()
    answer(tmp_path, *solve)
    assert not (tmp_path / "table" / "opponent").exists()


def test_lock_of_the_readme_is_one(home, tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    text = readme.partition("**How a lock is written**")[2].split("```")[1].removeprefix("text")
    (tmp_path / "lock.json").write_text(text)
    data = answer(tmp_path, "solve", "3x6", "--lock", "lock.json", "--iterations", "9")
    assert data["lock"]["cost"] > 0


@pytest.fixture(scope="module")
def sampled(home) -> Path:
    """The same folder with a table of 6x12 that is bound to a board and answers, by sampling."""
    lock = {"setups": [{"setup": "?:3,2"}], "answers": [{"gap": 1, "match": 1}]}
    (home / "six.json").write_text(json.dumps(lock))
    solve = ["solve", "6x12", "--lock", "six.json", "--iterations", "4096", "--out", "six"]
    data = answer(home, *solve)
    assert data["method"] == "mccfr"
    assert data["lock"] == {"seat": 0, "cost": None, "ci": None, "gap": None}
    return home


def test_large_game_is_sampled_within_the_lock(sampled):
    manifests = [read_manifest(sampled / place) for place in ("six", "six/opponent")]
    assert [found.lock.role for found in manifests] == ["locked", "opponent"]
    assert [found.lock.gap for found in manifests] == [None, None]
    assert manifests[0].lock.sha256 == manifests[1].lock.sha256
    table, opponent = (load_table(sampled / place) for place in ("six", "six/opponent"))
    assert table.strategy.kinds.tolist() == [[-1, -1, -1, 1, -1, -1, 1]]
    assert len(opponent.strategy.kinds) == 0
    first = table.setup.filter((pl.col("tiles_left") == 63) & (pl.col("probability") > 0))
    assert set(first["chips"]) == {3}
    assert set(first["tile"]) == {0, 1, 3, 4, 5}
    assert (opponent.setup["probability"] > 0).all()


def test_commands_know_a_sampled_lock(sampled):
    asked = ["query", "six", "--me", "0:3,2:2,5:2,1:1,3:1,4:3", "--facing", "b4", "--opponent"]
    found = answer(sampled, *asked, "six/opponent")
    assert found["opponent"] == "six/opponent"
    assert {a["action"]: a["table_probability"] for a in found["actions"]} == {
        "fold": 0.0,
        "match": 1.0,
    }
    assert answer(sampled, "match", "six", "six/opponent", "--games", "100")["games"] == 100
    assert "locked answers are not among them" in run_in(sampled, "show", "six")[1]
    search = ["exploit", "six", "--time-limit", "2"]
    judged = answer(sampled, *search)
    lock = judged["lock"]
    assert (lock["cost"], lock["ci"]) == (judged["lower"], judged["lower_ci"])
    assert lock["gap"] is None
    out = " ".join(run_in(sampled, *search)[1].split())
    assert re.search(r"the opponent found wins -?\d\S*, and without the lock", out)
    assert answer(sampled, "exploit", "six/opponent", "--time-limit", "2")["lock"] is None


def test_resumed_sampled_solve_keeps_the_lock(sampled):
    rest = ["solve", "--resume", "six", "--iterations", "8192", "--out", "on"]
    answer(sampled, *rest, "--lock", "six.json")
    whole = ["solve", "6x12", "--lock", "six.json", "--iterations", "8192", "--out", "whole"]
    answer(sampled, *whole)
    on, whole = snapshot(sampled / "on"), snapshot(sampled / "whole")
    assert on.keys() == whole.keys()
    for name in whole:
        if not name.endswith("manifest.json"):
            assert on[name] == whole[name], name
    code, _, err = run_in(sampled, "solve", "--resume", "six", "--lock", "gap.json")
    assert (code, err.count("\n")) == (2, 1)
    assert "six was made with another lock" in err


def test_killed_sampled_solve_goes_on_within_the_lock(sampled, monkeypatch):
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints.Keeper, "close", lambda self, *, stopped: None)
    solve = ["solve", "6x12", "--lock", "six.json", "--iterations", "8192", "--out", "cut"]
    answer(sampled, *solve)
    monkeypatch.undo()
    kept = read_manifest(sampled / "cut.unfinished")
    assert (kept.iterations, kept.lock.role, kept.lock.gap) == (4096, "locked", None)
    answer(sampled, "solve", "--resume", "cut", "--iterations", "8192", "--out", "cut")
    cut, whole = load_table(sampled / "cut"), load_table(sampled / "whole")
    assert cut.setup.equals(whole.setup)
    assert cut.decisions.equals(whole.decisions)


def test_small_game_that_is_sampled_costs_at_most_what_the_judge_says(home):
    solve = ["solve", "3x6", "--lock", "gap.json", "--method", "mccfr", "--iterations", "4096"]
    answer(home, *solve, "--out", "small")
    judged = answer(home, "exploit", "small")
    assert (judged["kind"], judged["lock"]["gap"]) == ("exact", None)
    assert judged["lock"]["cost"] == judged["exploitability"] >= COST
    out = run_in(home, "exploit", "small")[1]
    assert "the lock costs at most" in " ".join(out.split())
    files = answer(home, "export", "small", "--format", "npz", "--out", "small.npz")["files"]
    with np.load(files[0]) as arrays:
        assert arrays["locked_kinds"].tolist() == [[-1, -1, -1, 1, -1, -1, 1]]
