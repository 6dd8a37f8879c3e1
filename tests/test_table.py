"""Tables on disk: round trips, damage, interruption."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from solver.abstraction import VERSION
from solver.cfr import solve_exact, strategy_of
from solver.mccfr import solve_sampled
from solver.rules import Game, InputError
from solver.table import (
    Table,
    check_writable,
    exact_table,
    load_checkpoint,
    load_table,
    read_manifest,
    remove_unfinished,
    sampled_table,
    save_table,
    save_unfinished,
    unfinished_at,
)


def exact(game: Game, iterations: int = 30) -> Table:
    found = solve_exact(game, iterations=iterations)
    return exact_table(
        game,
        setup_probs=found.setup_probs,
        observations=found.observations,
        slots=found.slots,
        match=found.match,
        reach=found.reach,
        algorithm=found.algorithm,
        iterations=found.iterations,
        seconds=found.seconds,
        exploitability=found.exploitability,
        command="a test",
        checkpoint=found.state,
    )


def sampled(game: Game, iterations: int = 2000) -> Table:
    found = solve_sampled(game, iterations=iterations, seed=3, threads=1)
    return sampled_table(
        game,
        model=found.model,
        match=found.match,
        visits=found.visits,
        fine_keys=found.fine_keys,
        fine_match=found.fine_match,
        fine_visits=found.fine_visits,
        algorithm="rm+",
        options={"batch": 0},
        iterations=found.iterations,
        seconds=found.seconds,
        seed=found.seed,
        command="a test",
        checkpoint=found.state,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_table(exact(Game(3, 5)), tmp_path / "table")
    return tmp_path / "table"


def same(first, second) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "game", [Game(1, 1), Game(2, 5), Game(3, 6), Game(3, 5, "latest", "chips")]
)
def test_exact_table_plays_as_its_solution_after_a_round_trip(game, tmp_path):
    found = solve_exact(game, iterations=30)
    save_table(exact(game), tmp_path / "t")
    table = load_table(tmp_path / "t")
    assert table.game == game
    assert table.manifest.exploitability.value == found.exploitability
    assert same(table.strategy, strategy_of(found))


@pytest.mark.parametrize("game", [Game(1, 1), Game(2, 2), Game(3, 6), Game(10, 30)])
def test_sampled_table_plays_as_its_solution_after_a_round_trip(game, tmp_path):
    found = solve_sampled(game, iterations=2000, seed=3, threads=1)
    written = save_table(sampled(game), tmp_path / "t")
    table = load_table(tmp_path / "t")
    assert table.manifest == written
    assert table.manifest.seed == 3
    np.testing.assert_array_equal(table.visits, found.visits)
    wanted = found.strategy()
    np.testing.assert_array_equal(table.strategy.model, wanted.model)
    np.testing.assert_array_equal(table.strategy.source, wanted.source)
    np.testing.assert_allclose(table.strategy.match, wanted.match, atol=1e-7)


def test_checkpoint_comes_back_as_it_was(folder):
    state = load_checkpoint(folder)
    assert state.keys() == exact(Game(3, 5)).checkpoint.keys()
    assert all(
        np.array_equal(state[name], array) for name, array in exact(Game(3, 5)).checkpoint.items()
    )


def test_files_open_with_any_parquet_tool_and_say_what_they_hold(folder):
    setup = pl.read_parquet(folder / "setup.parquet")
    assert setup.columns == [
        "tile_1",
        "chips_1",
        "tile_2",
        "chips_2",
        "tile_3",
        "chips_3",
        "probability",
    ]
    assert setup.height == 36
    assert setup["probability"].sum() == pytest.approx(1, abs=1e-12)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["rows"]["setup.parquet"] == 36
    assert set(manifest["sha256"]) == {"setup.parquet", "decisions.parquet", "checkpoint.npz"}


@pytest.mark.parametrize("name", ["setup.parquet", "decisions.parquet", "checkpoint.npz"])
@pytest.mark.parametrize("damage", ["truncate", "change", "remove"])
def test_damaged_file_is_refused_by_name(folder, name, damage):
    file = folder / name
    data = bytearray(file.read_bytes())
    if damage == "truncate":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "change":
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    else:
        file.unlink()
    with pytest.raises(InputError, match=name):
        (load_checkpoint if name == "checkpoint.npz" else load_table)(folder)


def rewrite(folder: Path, change) -> None:
    """Change a table's frames and write them back with right sums."""
    table = load_table(folder)
    setup, decisions = change(table.setup, table.decisions)
    save_table(Table(table.manifest, setup, decisions), folder)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda s, d: (s.with_columns(probability=s["probability"] * 2), d), "sum to 2"),
        (lambda s, d: (s.with_columns(probability=-s["probability"]), d), "not a probability"),
        (lambda s, d: (s.reverse(), d), "tile_1 does not list"),
        (lambda s, d: (s.head(30), d), "30 rows, but the game has 36 setups"),
        (lambda s, d: (s, d.with_columns(match=d["match"] + 2)), "match: a number"),
        (lambda s, d: (s, pl.concat([d, d.head(1)])), "two infostates"),
        (lambda s, d: (s, d.drop("match")), "match"),
        (lambda s, d: (s, d.with_columns(match=pl.lit(None, pl.Float64))), "missing"),
    ],
)
def test_impossible_rows_are_refused_although_the_sums_are_right(folder, change, wanted):
    rewrite(folder, change)
    with pytest.raises(InputError, match=wanted):
        load_table(folder)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("format_version", 99, "format_version 99; this program reads 1"),
        ("format_version", None, "format_version"),
        ("method", "magic", "method"),
        ("iterations", -1, "iterations"),
        (
            "game",
            {"num_tiles": 9, "num_chips": 3, "pulls": "latest", "objective": "win"},
            "chips 3",
        ),
        ("sha256", {}, "no sum for setup.parquet"),
        ("rows", {}, "the manifest says None"),
    ],
)
def test_wrong_manifest_is_refused_naming_the_field(folder, key, value, wanted):
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest[key] = value
    file.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=wanted):
        load_table(folder)


def test_table_of_another_abstraction_is_refused(tmp_path):
    save_table(sampled(Game(3, 6)), tmp_path / "t")
    file = tmp_path / "t" / "manifest.json"
    file.write_text(file.read_text().replace(f'"{VERSION}"', '"tall-0"'))
    with pytest.raises(InputError, match=f"abstraction.*tall-0.*reads '{VERSION}'"):
        load_table(tmp_path / "t")


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00", '"a"'])
def test_manifest_that_is_no_manifest_is_refused_by_name(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"manifest\.json"):
        load_table(folder)


def test_table_is_replaced_whole(folder):
    save_table(sampled(Game(2, 3)), folder)
    assert read_manifest(folder).method == "mccfr"
    assert load_table(folder).game == Game(2, 3)
    assert [entry.name for entry in folder.parent.iterdir()] == ["table"]


def test_folder_with_anything_else_in_it_is_not_replaced(folder):
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        save_table(exact(Game(2, 3)), folder)
    assert load_table(folder).game == Game(3, 5)
    assert (folder / "notes.txt").read_text() == "mine"


def test_current_folder_is_not_replaced(folder, monkeypatch):
    (folder.parent / "empty").mkdir()
    for place in (folder, folder.parent / "empty"):
        monkeypatch.chdir(place)
        before = sorted(place.iterdir())
        for name in ("", ".", f"../{place.name}"):
            with pytest.raises(InputError, match="the current folder; a table needs a folder"):
                save_table(exact(Game(2, 3)), name)
        assert sorted(place.iterdir()) == before


def test_old_table_is_whole_when_the_writing_fails(folder, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk full"):
        save_table(exact(Game(2, 3)), folder)
    monkeypatch.undo()
    assert load_table(folder).game == Game(3, 5)
    assert [entry.name for entry in folder.parent.iterdir()] == ["table"]


def test_old_table_comes_back_when_a_run_was_killed_between_the_renames(folder):
    folder.rename(folder.with_name(".table.old"))
    assert load_table(folder).game == Game(3, 5)


@pytest.fixture
def unfinished(folder: Path) -> Path:
    """A solve in progress beside the table."""
    save_unfinished(folder, read_manifest(folder), load_checkpoint(folder))
    return folder.with_name("table.unfinished")


def test_solve_in_progress_comes_back_as_it_was_and_leaves_the_table_alone(folder, unfinished):
    assert unfinished_at(folder) == unfinished
    assert not read_manifest(unfinished).finished
    assert set(read_manifest(unfinished).sha256) == {"checkpoint.npz"}
    wanted, found = load_checkpoint(folder), load_checkpoint(unfinished)
    assert wanted.keys() == found.keys()
    assert all(np.array_equal(found[name], array) for name, array in wanted.items())
    assert load_table(folder).game == Game(3, 5)


def test_solve_in_progress_is_no_table(folder, unfinished):
    with pytest.raises(InputError, match=rf"interrupted solve.*--resume {folder}`"):
        load_table(unfinished)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(InputError, match=rf"no such table.*--resume {folder}`"):
        load_table(folder)


def test_removed_solve_in_progress_leaves_nothing(folder, unfinished):
    shutil.copytree(unfinished, folder.with_name(".table.unfinished.old"))
    remove_unfinished(folder)
    assert unfinished_at(folder) is None
    assert [entry.name for entry in folder.parent.iterdir()] == ["table"]
    remove_unfinished(folder)


def test_solve_in_progress_comes_back_when_a_run_was_killed_between_the_renames(folder, unfinished):
    unfinished.rename(folder.with_name(".table.unfinished.old"))
    assert unfinished_at(folder) == unfinished
    assert load_checkpoint(unfinished).keys() == load_checkpoint(folder).keys()


def test_damaged_solve_in_progress_is_refused_by_name(unfinished):
    file = unfinished / "checkpoint.npz"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"table\.unfinished/checkpoint\.npz: wrong checksum"):
        load_checkpoint(unfinished)


def test_places_of_solves_in_progress_are_kept_for_them(folder, unfinished):
    with pytest.raises(InputError, match=r"end in \.unfinished"):
        check_writable(unfinished)
    (unfinished / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        save_table(exact(Game(2, 3)), folder)


def test_what_killed_writers_left_long_ago_is_removed(folder):
    left = [folder.with_name(name) for name in (".table.new-1", ".table.unfinished.new-1")]
    fresh = folder.with_name(".table.new-2")
    for place in (*left, fresh):
        place.mkdir()
    for place in left:
        os.utime(place, (0, 0))
    save_table(exact(Game(2, 3)), folder)
    assert sorted(entry.name for entry in folder.parent.iterdir()) == [fresh.name, "table"]


WRITERS = {
    "table": "save_table(load_table(path), path)",
    "unfinished": "save_unfinished(path, read_manifest(path), load_checkpoint(path))",
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("what", ["table", "unfinished"])
def test_folder_is_whole_whenever_the_writer_is_killed(folder, what):
    """Kill a process that rewrites the folder over and over, at five moments."""
    code = (
        "import sys; from pathlib import Path\n"
        "from solver.table import *\n"
        f"path = Path(sys.argv[1]); {WRITERS[what]}; print('ready', flush=True)\n"
        f"while True: {WRITERS[what]}\n"
    )
    for wait in (0.0, 0.003, 0.007, 0.013, 0.021):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert load_table(folder).game == Game(3, 5)
        if what == "unfinished":
            found = unfinished_at(folder)
            assert found is not None
            assert load_checkpoint(found).keys() == load_checkpoint(folder).keys()
