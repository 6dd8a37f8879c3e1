"""``solve``: making a table."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from solver.cli import checkpoints
from solver.cli.checkpoints import Keeper, Start, find_start, lock_of, state_of
from solver.cli.common import (
    ASK_JSON,
    ASK_QUIET,
    ASK_SEED,
    ASK_THREADS,
    DEFAULT_GAME,
    default_threads,
    emit,
    lock_cost,
    read_game,
    show_lock_cost,
    watch,
)
from solver.cli.estimating import DEFAULT_SECONDS, bytes_text, duration_text, method_by_size
from solver.rules import Game, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.cfr import ExactSolution
    from solver.cli.common import Watch
    from solver.lock import Lock
    from solver.mccfr import SampledSolution, SamplingOptions
    from solver.table import LockFacts, Table

__all__ = ["register"]

LONG_SECONDS = 5.0
"""Building a tree for longer is announced."""

_METHODS = ("auto", "exact", "mccfr")
_SAMPLED_ALGORITHMS = ("rm+", "rm")
_LP = "lp"


@dataclass(frozen=True)
class _Job:
    """What to solve, when to stop, where to go on from and where to keep checkpoints."""

    game: Game
    lock: Lock | None
    algorithm: str | None
    target: float | None
    iterations: int | None
    time_limit: float | None
    seed: int
    threads: int
    state: dict[str, NDArray] | None
    options: dict[str, Any]
    keeper: Keeper


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(solve)


def solve(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="NxC; default 10x30")] = None,
    objective: Annotated[str | None, typer.Option(help="win (the default) or chips")] = None,
    pulls: Annotated[
        str | None, typer.Option(help="latest (the default), tiles or free (exact only)")
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact or mccfr")] = "auto",
    algorithm: Annotated[
        str | None,
        typer.Option(help="exact: auto (dcfr), cfr, cfr+, dcfr, pcfr+, pdcfr+, lp; mccfr: rm+, rm"),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            help="Stop at this exploitability (exact only; with --lock, at this mean of what each "
            "seat could still gain); 1e-4 of the stakes where no number of iterations is given: 1, "
            "or with --objective chips the chips of a player."
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many, those before --resume included.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after so many seconds; 60 where no other limit is given."),
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option(
            help="A file of setups and answers that one seat is bound to; the rest is solved for "
            "both seats, the opponent's part into OUT/opponent.  A sampled solve takes one board, "
            "and answers by slot, tile, stack, gap and facing."
        ),
    ] = None,
    threads: ASK_THREADS = None,
    seed: ASK_SEED = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the table; default results/local/GAME.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on from the interrupted solve, or table, of this folder."),
    ] = None,
    as_json: ASK_JSON = False,
    quiet: ASK_QUIET = False,
) -> None:
    """Compute a strategy table.

    Small games are solved exactly, with their exploitability; large ones by sampling.
    Without a limit the solver stops after 60 seconds.  Every minute its state is written beside
    the table's place, and --resume goes on from there if the solve was killed.  The README says
    how a lock is written.
    """
    from solver.table import check_writable, save_table

    _check_limits(target, time_limit)
    if algorithm == _LP:
        method = _check_lp(method, target, iterations, resume, lock)
    start = find_start(resume) if resume else None
    rules = _asked_game(game, pulls, objective, start)
    folder = out or (start.place if start else Path("results") / "local" / rules.name)
    check_writable(folder)
    state, options = None, {}
    if start is not None:
        state, old = state_of(start, rules, method, algorithm), start.manifest
        method, algorithm, options = old.method, old.algorithm, old.options
        seed = seed if old.seed is None else old.seed
    bound = lock_of(lock, rules, start)
    if target is None and iterations is None and time_limit is None:
        time_limit = DEFAULT_SECONDS
    method = _choose(rules, method, time_limit, quiet, is_locked=bound is not None)
    if method == "mccfr" and bound is not None:
        _check_sampled_lock(bound)
    if method == "exact" and target is None and iterations is None:
        target = _default_target(rules)
    job = _Job(
        rules,
        bound,
        algorithm,
        target,
        iterations,
        time_limit,
        seed,
        threads or default_threads(),
        state,
        options,
        Keeper(folder, rules, start, quiet),
    )
    table, stopped = _run(job, method, quiet)
    save_table(table, folder)
    job.keeper.close(stopped=stopped)
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
        "interrupted": stopped,
        "target": target if method == "exact" else None,
        "lock": lock_cost(table, facts.exploitability.value),
    }
    goes_on = None if table.checkpoint is None else job.keeper.other or folder
    emit(data, as_json=as_json, show=lambda console: _show_solved(console, data, goes_on))


def _check_limits(target: float | None, time_limit: float | None) -> None:
    for name, value in (("--target", target), ("--time-limit", time_limit)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name} {value}: it must be a number above 0")


def _check_lp(
    method: str,
    target: float | None,
    iterations: int | None,
    resume: Path | None,
    lock: Path | None,
) -> str:
    """Return the method, exact; refuse what a linear program has no use for."""
    if lock is not None:
        raise InputError(f"--lock {lock}: --algorithm lp takes none; the other exact ones do")
    for name, value in (("--target", target), ("--iterations", iterations), ("--resume", resume)):
        if value is not None:
            raise InputError(f"{name}: --algorithm lp finds the optimum at once and takes none")
    return "exact" if method == "auto" else method


def _asked_game(
    game: str | None, pulls: str | None, objective: str | None, start: Start | None
) -> Game:
    """Return the game to solve: that of the table to go on from, where not told otherwise."""
    if start is not None:
        old = start.manifest.rules
        game, pulls, objective = game or old.name, pulls or old.pulls, objective or old.objective
    return read_game(game or DEFAULT_GAME, pulls=pulls or "latest", objective=objective or "win")


def _default_target(game: Game) -> float:
    from solver.cfr import default_target

    return default_target(game)


def _choose(
    game: Game, method: str, time_limit: float | None, quiet: bool, *, is_locked: bool
) -> str:
    """Return ``exact`` or ``mccfr``; say so if building the tree will take long."""
    from solver.tree.count import estimate_exact

    if method not in _METHODS:
        raise InputError(f"--method {method}: allowed are {', '.join(_METHODS)}")
    if method == "mccfr":
        return method
    size = estimate_exact(game)
    if method == "auto":
        chosen = method_by_size(size, time_limit, is_locked=is_locked)
        if chosen is None:
            raise InputError(
                f"--pulls {game.pulls}: {game.name} is too large to be solved exactly, "
                "and the sampling solver takes latest only"
            )
        if chosen == "mccfr":
            return chosen
    if size.kind != "lower bound" and size.build_seconds > LONG_SECONDS and not quiet:
        sys.stderr.write(
            f"Building the tree of {game.name} takes about {duration_text(size.build_seconds)} and "
            f"{bytes_text(size.num_bytes)}; limits are looked at after that.\n"
        )
    return "exact"


def _check_sampled_lock(lock: Lock) -> None:
    """Refuse what a sampled solve cannot keep; see :func:`solver.lock.bound_of`."""
    from solver.lock import bound_of

    bound_of(lock)


def _run(job: _Job, method: str, quiet: bool) -> tuple[Table, bool]:
    """Solve; return the table, and whether the user stopped it early."""
    if method == "mccfr":
        run = _solve_by_sampling
    else:
        run = _solve_by_lp if job.algorithm == _LP else _solve_exactly
    try:
        with watch(
            quiet=quiet,
            unit="iterations",
            iterations=job.iterations,
            seconds=job.time_limit,
            has_result=False,
        ) as follow:
            return run(job, follow), follow.stopped
    except KeyboardInterrupt:
        if not job.keeper.has_written:
            raise
        raise InputError(
            f"interrupted; `blackwhite solve --resume {job.keeper.folder}` goes on "
            "from the last checkpoint"
        ) from None


def _solve_exactly(job: _Job, follow: Watch) -> Table:
    from solver.cfr import solve_exact, solve_locked
    from solver.cfr.algorithms import check_algorithm
    from solver.table import LockFacts

    try:
        algorithm = check_algorithm(job.algorithm or "auto")
    except InputError as error:
        raise InputError(f"{error}, {_LP}") from None
    bound = job.lock and LockFacts.of(job.lock.text, "locked", None)
    settings: dict[str, Any] = {
        "algorithm": algorithm,
        "target": job.target,
        "iterations": job.iterations,
        "time_limit": job.time_limit,
        "threads": job.threads,
        "progress": follow,
        "state": job.state,
        "checkpoint": job.keeper.writer(
            lambda state: int(state["iterations"][0]),
            method="exact",
            algorithm=algorithm,
            seed=None,
            lock=bound,
        ),
        "checkpoint_seconds": checkpoints.CHECKPOINT_SECONDS,
    }
    if job.lock is None:
        return _exact_table(job, solve_exact(job.game, **settings))
    found = solve_locked(job.lock, **settings)
    facts = [LockFacts.of(job.lock.text, role, found.gap) for role in ("locked", "opponent")]
    opponent = _exact_table(job, found.opponent, lock=facts[1])
    return _exact_table(job, found.locked, lock=facts[0], opponent=opponent)


def _solve_by_lp(job: _Job, follow: Watch) -> Table:
    from solver.lp import solve_lp

    found = solve_lp(job.game, time_limit=job.time_limit, threads=job.threads, progress=follow)
    return _exact_table(job, found)


def _exact_table(
    job: _Job,
    found: ExactSolution,
    *,
    lock: LockFacts | None = None,
    opponent: Table | None = None,
) -> Table:
    from solver.table import exact_table

    may_choose = job.game.pulls != "latest"
    return exact_table(
        job.game,
        setup_probs=found.setup_probs,
        observations=found.observations,
        slots=found.slots,
        match=found.match,
        reach=found.reach,
        pay_start=found.pay_start if may_choose else None,
        pay=found.pay if may_choose else None,
        algorithm=found.algorithm,
        iterations=found.iterations,
        seconds=job.keeper.seconds_before + found.seconds,
        exploitability=found.exploitability,
        command=job.keeper.command,
        checkpoint=found.state or None,
        lock=lock,
        opponent=opponent,
    )


def _solve_by_sampling(job: _Job, follow: Watch) -> Table:
    from solver.mccfr import SamplingOptions, solve_locked_sampled, solve_sampled
    from solver.mccfr.locked import SEATS
    from solver.table import LockFacts

    if job.algorithm not in (None, *_SAMPLED_ALGORITHMS):
        allowed = ", ".join(_SAMPLED_ALGORITHMS)
        raise InputError(f"--algorithm {job.algorithm}: the sampling solver has {allowed}")
    if job.target is not None:
        raise InputError(
            "--target: a sampled table does not know its exploitability; "
            "use --iterations or --time-limit"
        )
    unknown = job.options.keys() - asdict(SamplingOptions()).keys()
    if unknown:
        raise InputError(
            f"--resume: option {sorted(unknown)[0]!r} is not known; the solve was begun by another "
            "version of this program"
        )
    options = SamplingOptions(**({"plus": job.algorithm != "rm"} | job.options))
    bound = job.lock and LockFacts.of(job.lock.text, "locked", None)
    counters = "counters" if job.lock is None else f"{SEATS[0]}_counters"
    settings: dict[str, Any] = {
        "options": options,
        "iterations": job.iterations,
        "time_limit": job.time_limit,
        "seed": job.seed,
        "threads": job.threads,
        "progress": follow,
        "state": job.state,
        "checkpoint": job.keeper.writer(
            lambda state: int(state[counters][0] * state[counters][4]),
            method="mccfr",
            algorithm=_sampled_algorithm(options),
            options=asdict(options),
            seed=job.seed,
            lock=bound,
        ),
        "checkpoint_seconds": checkpoints.CHECKPOINT_SECONDS,
    }
    if job.lock is None:
        return _sampled_table(job, solve_sampled(job.game, **settings))
    found = solve_locked_sampled(job.lock, **settings)
    facts = [LockFacts.of(job.lock.text, role, None) for role in ("locked", "opponent")]
    opponent = _sampled_table(job, found.opponent, lock=facts[1])
    return _sampled_table(job, found.locked, lock=facts[0], opponent=opponent)


def _sampled_algorithm(options: SamplingOptions) -> str:
    return "rm+" if options.plus else "rm"


def _sampled_table(
    job: _Job,
    found: SampledSolution,
    *,
    lock: LockFacts | None = None,
    opponent: Table | None = None,
) -> Table:
    from solver.table import sampled_table

    return sampled_table(
        job.game,
        model=found.model,
        match=found.match,
        visits=found.visits,
        fine_keys=found.fine_keys,
        fine_match=found.fine_match,
        fine_visits=found.fine_visits,
        rounds=found.rounds,
        algorithm=_sampled_algorithm(found.options),
        options=asdict(found.options),
        iterations=found.iterations,
        seconds=job.keeper.seconds_before + found.seconds,
        seed=found.seed,
        command=job.keeper.command,
        checkpoint=found.state or None,
        lock=lock,
        opponent=opponent,
    )


def _show_solved(console: Console, data: dict[str, Any], goes_on: Path | None) -> None:
    """Print what came out; ``goes_on`` is what ``--resume`` would go on from, if anything."""
    known, folder, lock = data["exploitability"], data["out"], data["lock"]
    console.print(
        f"{data['game']} by {data['method']} ({data['algorithm']}): "
        f"{data['iterations']:,} iterations in {data['seconds']:.1f} s, "
        f"{data['num_infostates']:,} infostates"
    )
    if known is None:
        console.print(f"exploitability: not known yet; `blackwhite exploit {folder}` measures it")
    else:
        console.print(f"exploitability: {known:.3g} (the best response scores that much)")
    if lock is not None:
        show_lock_cost(console, lock)
        known = None if lock["gap"] is None else lock["gap"] / 2
    if known is not None and data["target"] is not None and known > data["target"]:
        console.print(f"stopped before the target, {data['target']:.3g}, was reached")
    console.print(f"written to {folder}" + ("" if lock is None else ", and the opponent's within"))
    if data["interrupted"] and goes_on is None:
        console.print("interrupted")
    elif data["interrupted"]:
        here = "here" if str(goes_on) == folder else f"{goes_on}, which was there before"
        console.print(f"interrupted; `blackwhite solve --resume {folder}` goes on from {here}")
