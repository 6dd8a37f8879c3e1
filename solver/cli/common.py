"""What the commands share: options, strategies by name, output, progress and interruption."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from solver.rules import Game, InputError

if TYPE_CHECKING:
    from solver.strategy import Strategy
    from solver.table import Table

__all__ = [
    "ASK_GAME",
    "ASK_JSON",
    "ASK_OBJECTIVE",
    "ASK_QUIET",
    "ASK_SEED",
    "ASK_THREADS",
    "DEFAULT_GAME",
    "Player",
    "command_line",
    "compile_notice",
    "default_table",
    "default_threads",
    "emit",
    "lock_cost",
    "open_player",
    "paying_by",
    "percent",
    "read_game",
    "read_text",
    "reading",
    "show_lock_cost",
    "watch",
]

ASK_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ASK_QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
ASK_SEED = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of everything random.")]
ASK_GAME = Annotated[
    str | None, typer.Option("--game", help="NxC, the game that a bot plays (tables know theirs).")
]
ASK_OBJECTIVE = Annotated[
    str | None, typer.Option("--objective", help="win or chips, for a bot (tables know theirs).")
]
ASK_THREADS = Annotated[
    int | None, typer.Option(min=1, max=64, help="Threads; the result is the same for any number.")
]

_PROJECT = Path(__file__).resolve().parents[2]
_SHARE = Path("share") / "blackwhite"
"""Where ``pip install`` puts the shipped table, under its folder for data."""

DEFAULT_GAME = "10x30"
MAX_TILES, MAX_CHIPS = 60, 1000


@dataclass(frozen=True)
class Player:
    """A strategy by name: a table, or a bot."""

    name: str
    game: Game
    strategy: Strategy
    table: Table | None


def read_game(text: str, *, pulls: str = "latest", objective: str = "win") -> Game:
    """Read a game written NxC, of a size that commands work with."""
    game = Game.parse(text, pulls=pulls, objective=objective)  # type: ignore[arg-type]
    if game.num_tiles > MAX_TILES or game.num_chips > MAX_CHIPS:
        raise InputError(
            f"game {text}: commands take up to {MAX_TILES} tiles and {MAX_CHIPS:,} chips"
        )
    return game


def default_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_table() -> Path:
    """Return the table to use where none is named: the shipped one, else the local one."""
    names = (Path("results") / DEFAULT_GAME, Path("results") / "local" / DEFAULT_GAME)
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    installed = [Path(sysconfig.get_path("data", scheme)) / _SHARE for scheme in schemes]
    for name in names:
        for base in (Path.cwd(), _PROJECT, *installed):
            if (base / name / "manifest.json").is_file():
                return base / name
    raise InputError(
        f"no table named, and none at {names[0]} or {names[1]} (here, beside the program, or "
        "installed with it); make one with `blackwhite solve`"
    )


def open_player(
    text: str | None, *, game: str | None = None, objective: str | None = None
) -> Player:
    """Return the table at path ``text``, or the bot ``bot:NAME``; see the options' help."""
    if text is not None and text.startswith("bot:"):
        from solver.bots import make_bot

        rules = read_game(game or DEFAULT_GAME, objective=objective or "win")
        return Player(text, rules, make_bot(text, rules), None)
    from solver.table import load_table

    path = Path(text) if text is not None else default_table()
    table = load_table(path)
    if game is not None and read_game(game).name != table.game.name:
        raise InputError(f"--game {game}: the table {path} is for {table.game.name}")
    if objective is not None and objective != table.game.objective:
        raise InputError(f"--objective {objective}: the table {path} is for {table.game.objective}")
    return Player(str(path), table.game, table.strategy, table)


def paying_by(player: Player, pulls: str | None) -> Game:
    """Return the player's game with another way for that player to pay, if one is named."""
    if pulls is None or pulls == player.game.pulls:
        return player.game
    game = replace(player.game, pulls=pulls)  # type: ignore[arg-type]  # it checks the name itself
    if player.game.pulls != "latest":
        raise InputError(
            f"--pulls {pulls}: in {player.name} both pay by {player.game.pulls}; leave --pulls out"
        )
    return game


def lock_cost(
    table: Table | None, exploitability: float | None, interval: list[float] | None = None
) -> dict[str, Any] | None:
    """Return what the lock of a table costs; None where its strategy is bound to none.

    ``exploitability`` is the table's, None if it is not known, or with ``interval`` a lower bound
    of it.  ``gap`` is None in a sampled table.
    """
    lock = None if table is None else table.manifest.lock
    if lock is None or lock.role != "locked":
        return None
    return {"seat": lock.seat, "cost": exploitability, "ci": interval, "gap": lock.gap}


def show_lock_cost(console: Console, cost: dict[str, Any]) -> None:
    """Print what :func:`lock_cost` returned: nothing where no cost is known."""
    value, is_bound = cost["cost"], cost["ci"] is not None
    if value is None:
        return
    if cost["gap"] is not None:
        how = ", with the rest as it is played, at least" if is_bound else ""
        console.print(f"the lock costs{how} {value:.6g}: without it the game is worth 0")
        if not is_bound:
            console.print(f"perfect play of the rest would save at most {cost['gap']:.2g} of it")
        return
    if is_bound:
        console.print(
            f"the opponent found wins {value:.3g}, and without the lock the game is worth 0: the "
            "lock costs less if better play of the rest would save some of it, more if there is a "
            "stronger opponent"
        )
    else:
        console.print(
            f"the lock costs at most {value:.6g}: without it the game is worth 0, and better play "
            "of the rest may save some of it"
        )


def read_text(path: str, what: str) -> str:
    """Return the text of a file, or of standard input for ``-``.

    Editors of Windows begin files with a byte order mark, which is left out.
    """
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{what} {path}: not a text file, of UTF-8") from None
    return text.removeprefix("\ufeff")


def command_line() -> str:
    """Return the command as typed, for a manifest."""
    return shlex.join(["blackwhite", *sys.argv[1:]])


def emit(data: dict[str, Any], *, as_json: bool, show: Callable[[Console], None]) -> None:
    """Print ``data`` as one JSON object, or let ``show`` print for a person."""
    if as_json:
        sys.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        show(Console(highlight=False, soft_wrap=not sys.stdout.isatty()))


def percent(share: float) -> str:
    """Return a probability as people read it."""
    return f"{100 * share:.1f}%"


class Watch:
    """Follows long work: a progress bar on a terminal, a clean stop on Ctrl-C.

    Solvers call it as ``progress(iterations, seconds, exploitability)``; it answers False once
    the user has asked to stop.  A second Ctrl-C ends the program at once, and so does the first
    while there is no result yet.
    """

    def __init__(self, bar: Progress | None, unit: str, has_result: bool) -> None:
        self.stopped = False
        self._has_result = has_result
        self._bar = bar
        self._unit = unit
        self._task = bar.add_task("", total=None) if bar else None
        self.total_seconds: float | None = None
        self.total_iterations: int | None = None

    def interrupt(self, *_: object) -> None:
        """Note the first Ctrl-C."""
        if self.stopped or not self._has_result:
            raise KeyboardInterrupt
        self.stopped = True

    def __call__(self, iterations: int, seconds: float, exploitability: float | None) -> bool:
        """Show how far the work is; return whether to go on."""
        self._has_result = True
        if self._bar is not None and self._task is not None:
            text = f"{iterations:,} {self._unit}"
            if exploitability is not None:
                text += f", exploitability {exploitability:.3g}"
            share = max(
                iterations / self.total_iterations if self.total_iterations else 0.0,
                seconds / self.total_seconds if self.total_seconds else 0.0,
            )
            total = 1.0 if self.total_iterations or self.total_seconds else None
            self._bar.update(self._task, description=text, completed=min(share, 1.0), total=total)
        return not self.stopped


@contextmanager
def watch(
    *,
    quiet: bool,
    unit: str,
    iterations: int | None = None,
    seconds: float | None = None,
    has_result: bool = True,
) -> Iterator[Watch]:
    """Give a :class:`Watch` to long work.

    ``has_result`` says whether work that is stopped before it first tells how far it is has
    something to give.
    """
    bar = None
    if not quiet and sys.stderr.isatty():
        console = Console(stderr=True)
        bar = Progress(
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
    follower = Watch(bar, unit, has_result)
    follower.total_iterations, follower.total_seconds = iterations, seconds
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, follower.interrupt)
    try:
        if bar is not None:
            with bar:
                yield follower
        else:
            yield follower
    finally:
        signal.signal(signal.SIGINT, before)


_is_reading = False
"""Whether input is being read, of which wrong parts get one line and no other."""


@contextmanager
def reading() -> Iterator[None]:
    """Keep :func:`compile_notice` silent while input is read, which takes a few functions only."""
    global _is_reading
    _is_reading = True
    try:
        yield
    finally:
        _is_reading = False


@contextmanager
def compile_notice(*, quiet: bool) -> Iterator[None]:
    """Tell the user, at most once, if Numba has to compile: where nothing compiled was kept yet."""
    from numba.core import event

    class Notice(event.Listener):
        told = quiet

        def on_start(self, event: object) -> None:
            if not (self.told or _is_reading):
                self.told = True
                sys.stderr.write(
                    "Compiling for the first time (once for each kind of work), "
                    "from seconds to a minute or two ...\n"
                )
                sys.stderr.flush()

        def on_end(self, event: object) -> None:
            pass

    listener = Notice()
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
