"""``solve`` and ``estimate``: making a table, and what that will take."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from solver.cli.common import (
    ASK_JSON,
    ASK_QUIET,
    ASK_SEED,
    ASK_THREADS,
    DEFAULT_GAME,
    command_line,
    default_threads,
    emit,
    read_game,
    watch,
)
from solver.rules import Game, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.cli.common import Watch
    from solver.table import Manifest, Table
    from solver.tree.count import SizeEstimate

__all__ = ["register"]

DEFAULT_SECONDS = 60.0
EXACT_BYTES = 4 << 30
"""``--method auto`` solves exactly what fits in this."""

LONG_SECONDS = 5.0
"""Building a tree for longer is announced."""

_METHODS = ("auto", "exact", "mccfr")
_SAMPLED_ALGORITHMS = ("rm+", "rm")


@dataclass(frozen=True)
class _Job:
    """What to solve, when to stop, and where to go on from."""

    game: Game
    algorithm: str | None
    target: float | None
    iterations: int | None
    time_limit: float | None
    seed: int
    threads: int
    state: dict[str, NDArray] | None
    options: dict[str, Any]
    seconds_before: float


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(solve)
    app.command()(estimate)


def _default_target(game: Game) -> float:
    from solver.cfr import default_target

    return default_target(game)


def _choose(game: Game, method: str, time_limit: float | None, quiet: bool) -> str:
    """Return ``exact`` or ``mccfr``; say so if building the tree will take long."""
    from solver.tree.count import estimate_exact

    if method not in _METHODS:
        raise InputError(f"--method {method}: allowed are {', '.join(_METHODS)}")
    if method == "mccfr":
        return method
    size = estimate_exact(game)
    if method == "auto" and not _is_exact_choice(size, time_limit):
        return "mccfr"
    if size.kind != "lower bound" and size.build_seconds > LONG_SECONDS and not quiet:
        sys.stderr.write(
            f"Building the tree of {game.name} takes about {_duration(size.build_seconds)} and "
            f"{_bytes(size.num_bytes)}; limits are looked at after that.\n"
        )
    return "exact"


def _is_exact_choice(size: SizeEstimate, time_limit: float | None) -> bool:
    """Whether ``auto`` solves exactly: the tree fits, and half of the time is left for solving."""
    fits = size.kind != "lower bound" and size.num_bytes <= EXACT_BYTES
    return fits and (time_limit is None or size.build_seconds <= time_limit / 2)


def solve(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="NxC; default 10x30")] = None,
    objective: Annotated[str | None, typer.Option(help="win (the default) or chips")] = None,
    pulls: Annotated[str, typer.Option(help="latest")] = "latest",
    method: Annotated[str, typer.Option(help="auto, exact or mccfr")] = "auto",
    algorithm: Annotated[
        str | None, typer.Option(help="exact: cfr, cfr+, dcfr, pcfr+, pdcfr+; mccfr: rm+, rm")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop at this exploitability (exact only).")
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Stop after so many.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after so many seconds; 60 where no other limit is given."),
    ] = None,
    threads: ASK_THREADS = None,
    seed: ASK_SEED = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the table; default results/local/GAME.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on from the table in this folder.")
    ] = None,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Compute a strategy table.

    Small games are solved exactly, with their exploitability; large ones by sampling.
    Without a limit the solver stops after 60 seconds.
    """
    from solver.table import check_writable, load_checkpoint, save_table

    rules = _asked_game(game, pulls, objective, resume)
    for name, value in (("--target", target), ("--time-limit", time_limit)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name} {value}: it must be a number above 0")
    if rules.pulls != "latest":
        raise InputError(f"--pulls {pulls}: tables are computed for latest")
    folder = out or resume or Path("results") / "local" / rules.name
    check_writable(folder)
    state, options, seconds_before = None, {}, 0.0
    if resume is not None:
        old = _continued(resume, rules, method, algorithm)
        method, algorithm, seconds_before = old.method, old.algorithm, old.seconds
        options = old.options
        state = load_checkpoint(resume)
    if target is None and iterations is None and time_limit is None:
        time_limit = DEFAULT_SECONDS
    method = _choose(rules, method, time_limit, quiet)
    if method == "mccfr" and target is not None:
        raise InputError(
            "--target: a sampled table does not know its exploitability; "
            "use --iterations or --time-limit"
        )
    if method == "exact" and target is None and iterations is None:
        target = _default_target(rules)
    job = _Job(
        rules,
        algorithm,
        target,
        iterations,
        time_limit,
        seed,
        threads or default_threads(),
        state,
        options,
        seconds_before,
    )
    with watch(quiet=quiet, unit="iterations", iterations=iterations, seconds=time_limit) as follow:
        table = (_solve_exactly if method == "exact" else _solve_by_sampling)(job, follow)
    save_table(table, folder)
    facts = table.manifest
    data = {
        "game": rules.name,
        "method": facts.method,
        "algorithm": facts.algorithm,
        "iterations": facts.iterations,
        "seconds": facts.seconds,
        "exploitability": facts.exploitability.value,
        "num_infostates": table.decisions.height,
        "out": str(folder),
        "interrupted": follow.stopped,
    }

    def show(console: Console) -> None:
        known = facts.exploitability.value
        console.print(
            f"{rules.name} by {facts.method} ({facts.algorithm}): {facts.iterations:,} iterations "
            f"in {facts.seconds:.1f} s, {table.decisions.height:,} infostates"
        )
        if known is None:
            console.print(
                f"exploitability: not known yet; `blackwhite exploit {folder}` measures it"
            )
        else:
            console.print(f"exploitability: {known:.3g} (the best response scores that much)")
        console.print(f"written to {folder}")
        if follow.stopped:
            console.print(f"interrupted; `blackwhite solve --resume {folder}` goes on from here")

    emit(data, as_json=as_json, show=show)


def _asked_game(game: str | None, pulls: str, objective: str | None, resume: Path | None) -> Game:
    """Return the game to solve: that of the table to go on from, where not told otherwise."""
    from solver.table import read_manifest

    if resume is not None:
        old = read_manifest(resume).rules
        game, objective = game or old.name, objective or old.objective
    return read_game(game or DEFAULT_GAME, pulls=pulls, objective=objective or "win")


def _continued(resume: Path, rules: Game, method: str, algorithm: str | None) -> Manifest:
    """Check that a table can be gone on from; return its manifest."""
    from solver.table import read_manifest

    old = read_manifest(resume)
    if old.rules != rules:
        raise InputError(
            f"--resume {resume}: holds {old.rules.name}, pulls={old.rules.pulls}, "
            f"objective={old.rules.objective}; ask for the same game"
        )
    for name, asked, had in (
        ("--method", None if method == "auto" else method, old.method),
        ("--algorithm", algorithm, old.algorithm),
    ):
        if asked is not None and asked != had:
            raise InputError(f"{name} {asked}: the table in {resume} was made with {had}")
    return old


def _solve_exactly(job: _Job, follow: Watch) -> Table:
    from solver.cfr import solve_exact
    from solver.table import exact_table

    found = solve_exact(
        job.game,
        algorithm=job.algorithm or "auto",
        target=job.target,
        iterations=job.iterations,
        time_limit=job.time_limit,
        progress=follow,
        state=job.state,
    )
    return exact_table(
        job.game,
        setup_probs=found.setup_probs,
        observations=found.observations,
        slots=found.slots,
        match=found.match,
        reach=found.reach,
        algorithm=found.algorithm,
        iterations=found.iterations,
        seconds=job.seconds_before + found.seconds,
        exploitability=found.exploitability,
        command=command_line(),
        checkpoint=found.state,
    )


def _solve_by_sampling(job: _Job, follow: Watch) -> Table:
    from solver.mccfr import SamplingOptions, solve_sampled
    from solver.table import sampled_table

    if job.algorithm not in (None, *_SAMPLED_ALGORITHMS):
        allowed = ", ".join(_SAMPLED_ALGORITHMS)
        raise InputError(f"--algorithm {job.algorithm}: the sampling solver has {allowed}")
    found = solve_sampled(
        job.game,
        options=SamplingOptions(**({"plus": job.algorithm != "rm"} | job.options)),
        iterations=job.iterations,
        time_limit=job.time_limit,
        seed=job.seed,
        threads=job.threads,
        progress=follow,
        state=job.state,
    )
    return sampled_table(
        job.game,
        model=found.model,
        match=found.match,
        visits=found.visits,
        algorithm="rm+" if found.options.plus else "rm",
        options=asdict(found.options),
        iterations=found.iterations,
        seconds=job.seconds_before + found.seconds,
        seed=found.seed,
        command=command_line(),
        checkpoint=found.state,
    )


def estimate(
    game: Annotated[str, typer.Argument(metavar="[GAME]", help="NxC")] = DEFAULT_GAME,
    objective: Annotated[str, typer.Option(help="win or chips")] = "win",
    pulls: Annotated[str, typer.Option(help="latest")] = "latest",
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Say how large a game is, and what solving it takes, before anything is built."""
    from solver.mccfr import MEMORY_LIMIT, estimate_sampled
    from solver.tree.count import estimate_exact

    rules = read_game(game, pulls=pulls, objective=objective)
    exact = estimate_exact(rules)
    sampled_bytes, sampled_rows = estimate_sampled(rules)
    bound = exact.kind == "lower bound"
    data = {
        "game": rules.name,
        "method": "exact" if _is_exact_choice(exact, DEFAULT_SECONDS) else "mccfr",
        "setups": exact.num_setups,
        "public_nodes": exact.num_nodes,
        "infostates": exact.num_infostates,
        "memory_bytes": exact.num_bytes,
        "build_seconds": exact.build_seconds,
        "seconds": exact.seconds,
        "counts": exact.kind,
        "sampled": {"memory_bytes": sampled_bytes, "rows": sampled_rows},
    }

    def show(console: Console) -> None:
        least = "at least " if bound else "about " if exact.kind == "sampled" else ""
        grid = Grid("", "exact", "sampled (mccfr)")
        grid.add_row("setups a player", f"{exact.num_setups:,}", "the same")
        grid.add_row("public nodes", least + _large(exact.num_nodes), "-")
        grid.add_row("infostates", least + _large(exact.num_infostates), "-")
        grid.add_row("table rows", "setups and infostates", _large(sampled_rows))
        grid.add_row("memory", least + _bytes(exact.num_bytes), _bytes(sampled_bytes))
        grid.add_row("time to build", least + _duration(exact.build_seconds), "none")
        grid.add_row("time to exploitability 1e-4", least + _duration(exact.seconds), "as given")
        console.print(grid)
        chosen = data["method"]
        if chosen == "mccfr" and sampled_bytes > MEMORY_LIMIT:
            console.print(f"{rules.name} is too large for either method here.")
        else:
            console.print(f"`blackwhite solve {rules.name}`, in its 60 seconds, chooses {chosen}.")

    emit(data, as_json=as_json, show=show)


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"{number:.2e}"


def _bytes(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            return f"{number:.4g} {unit}"
        number /= 1024
    return f"{number:,.0f} PiB"


def _duration(seconds: float) -> str:
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86_400:.2g} days"
