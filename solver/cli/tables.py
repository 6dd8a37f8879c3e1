"""``show`` and ``export``: reading a table, and handing it to other programs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import (
    ASK_GAME,
    ASK_JSON,
    ASK_QUIET,
    Player,
    emit,
    open_player,
    percent,
)
from solver.rules import InputError

if TYPE_CHECKING:
    import polars as pl

    from solver.table import LockFacts, Table

__all__ = ["register"]

_FORMATS = ("csv", "parquet", "npz", "efg")


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(show)
    app.command()(export)


def show(
    table: Annotated[str | None, typer.Argument(help="A table's folder.")] = None,
    top: Annotated[int, typer.Option(min=1, max=1000, help="Rows of each list.")] = 10,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Read a table in the terminal: what it is, what it places, how often it matches."""
    player = open_player(table)
    if player.table is None:
        raise InputError(f"{player.name}: a bot has no table to show")
    found = player.table
    setups, header = _likely_setups(found, top)
    rates = _match_rates(found)
    data = {
        "manifest": found.manifest.model_dump(),
        "setups": setups,
        "match_rates": rates,
    }

    def render(console: Console) -> None:
        facts = found.manifest
        known = facts.exploitability.value
        console.print(
            f"[bold]{found.game.name}[/bold]  objective {found.game.objective}, "
            f"pulls {found.game.pulls}\n"
            f"{facts.method} ({facts.algorithm}), {facts.iterations:,} iterations, "
            f"{facts.seconds:.1f} s, "
            f"exploitability {'not known' if known is None else f'{known:.3g}'}\n"
            f"{_lock_text(facts.lock)}"
            f"made by: {facts.command}"
        )
        grid = Grid(header, "probability")
        for row in setups:
            grid.add_row(row["place"], percent(row["probability"]))
        console.print(grid)
        grid = Grid("slot", "gap", "decisions", "match rate")
        for row in rates:
            grid.add_row(
                str(row["slot"]), row["gap"], f"{row['decisions']:,}", percent(row["match"])
            )
        console.print(grid)
        console.print(
            "Match rates are weighted by reach (the strategy's own) or visits (by the solver)"
            + ("; locked answers are not among them." if len(found.strategy.kinds) else "."),
            style="dim",
        )

    emit(data, as_json=as_json, show=render)


def _lock_text(lock: LockFacts | None) -> str:
    """Return whose strategy it is, if a part of one seat's was locked; a line, or nothing."""
    if lock is None:
        return ""
    entries = f"{len(lock.setups)} setups and {len(lock.answers)} answers of seat {lock.seat}"
    return f"{lock.role}: {entries} were locked\n"


def _likely_setups(table: Table, top: int) -> tuple[list[dict[str, Any]], str]:
    """Return the likeliest setups, or for a sampled table the likeliest first placements."""
    import polars as pl

    n = table.game.num_tiles
    if table.manifest.method == "exact":
        rows = table.setup.sort("probability", descending=True).head(top).to_dicts()
        found = [
            {
                "place": ",".join(f"{r[f'tile_{s}']}:{r[f'chips_{s}']}" for s in range(1, n + 1)),
                "probability": r["probability"],
            }
            for r in rows
            if r["probability"] > 0
        ]
        return found, "setup"
    first = table.setup.filter(pl.col("tiles_left") == 2**n - 1)
    rows = first.sort("probability", descending=True).head(top).to_dicts()
    return [
        {"place": f"{r['tile']}:{r['chips']}", "probability": r["probability"]} for r in rows
    ], "slot 1"


def _match_rates(table: Table) -> list[dict[str, Any]]:
    """Return how often the table matches, by slot and gap."""
    import polars as pl

    n = table.game.num_tiles
    if table.manifest.method == "exact":
        gap = pl.lit(0)
        for s in range(1, n + 1):
            facing = pl.col(f"opp_chips_{s}") - pl.col(f"my_chips_{s}")
            gap = pl.when(pl.col("slot") == s).then(facing).otherwise(gap)
        frame = table.decisions.with_columns(gap=gap, weight=pl.col("reach"))
        names: dict[int, str] = {}
    else:
        from solver.abstraction import feature_labels

        whole = table.decisions.filter(pl.col("tall_tile") < 0)  # fine keys are visits of these
        frame = whole.with_columns(weight=pl.col("visits").cast(pl.Float64))
        names = dict(enumerate(feature_labels(n, table.game.num_chips)["gap"]))
    weighted = (pl.col("match") * pl.col("weight")).sum() / pl.col("weight").sum()
    rows = frame.group_by("slot", "gap").agg(match=weighted, decisions=pl.len())
    return [
        {
            "slot": r["slot"],
            "gap": names.get(r["gap"], str(r["gap"])),
            "decisions": r["decisions"],
            "match": r["match"],
        }
        for r in rows.sort("slot", "gap").to_dicts()
        if r["match"] == r["match"]  # never reached: no rate
    ]


def export(
    table: Annotated[
        str | None, typer.Argument(help="A table's folder; for efg also bot:NAME.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=", ".join(_FORMATS))] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="Where to; default GAME-FORMAT in this folder.")
    ] = None,
    game: ASK_GAME = None,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Write a table for other programs: csv and parquet give a folder, npz and efg a file.

    efg holds the whole game (not the strategy) for other game solvers.
    """
    if form not in _FORMATS:
        raise InputError(f"--format {form}: allowed are {', '.join(_FORMATS)}")
    found = open_player(table, game=game)
    folder = form in ("csv", "parquet")
    name = f"{found.game.name}{'-' if folder else '.'}{form}"
    target = (out or Path(name)).absolute()
    if form == "npz" and target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    if target.exists():
        raise InputError(f"--out {target}: exists already; name a new place")
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: {target.parent} is not a folder")
    work = target.with_name(f".{target.name}.new")
    try:
        _write(found, form, work)
        work.rename(target)
    finally:
        if work.is_dir():
            shutil.rmtree(work)
        work.unlink(missing_ok=True)
    files = sorted(target.iterdir()) if folder else [target]
    data = {"format": form, "out": str(target), "files": [str(file) for file in files]}

    def render(console: Console) -> None:
        for file in files:
            console.print(f"{file}  {file.stat().st_size:,} bytes")

    emit(data, as_json=as_json, show=render)


def _write(player: Player, form: str, target: Path) -> None:
    """Write what ``form`` asks for to ``target``, which is not there yet."""
    if form == "efg":
        from solver.efg import efg_lines

        lines = efg_lines(player.game)
        with target.open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return
    table = player.table
    if table is None:
        raise InputError(f"{player.name}: a bot has no table to write; only efg is possible")
    if form == "parquet":
        from solver.table import save_table

        save_table(table, target)
        return
    frames: dict[str, pl.DataFrame] = {"setup": table.setup, "decisions": table.decisions}
    if form == "npz":
        import numpy as np

        arrays = {
            f"{name}_{column}": frame[column].to_numpy()
            for name, frame in frames.items()
            for column in frame.columns
        }
        if len(table.strategy.kinds):  # locked answers, as solver.kinds has them
            arrays["locked_kinds"] = table.strategy.kinds
        with target.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        return
    target.mkdir()
    for name, frame in frames.items():
        frame.write_csv(target / f"{name}.csv")
    facts = table.manifest.model_copy(update={"sha256": {}, "rows": {}})
    (target / "manifest.json").write_text(facts.model_dump_json(indent=2) + "\n")
