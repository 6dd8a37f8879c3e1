"""Checkpoints: what a solve goes on from, and what it leaves while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from solver.cli.common import command_line, read_text, reading
from solver.rules import Game, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from solver.lock import Lock
    from solver.table import Manifest

__all__ = ["CHECKPOINT_SECONDS", "Keeper", "Start", "find_start", "lock_of", "state_of"]

CHECKPOINT_SECONDS = 60.0
"""Between two checkpoints of a solve."""


@dataclass(frozen=True)
class Start:
    """What a solve goes on from: a table at ``place``, or a solve kept beside it.

    ``source`` is the folder that is read.
    """

    place: Path
    source: Path
    manifest: Manifest


def find_start(resume: Path) -> Start:
    """Return what ``--resume`` names; raise :class:`InputError` if there is nothing.

    A solve kept beside a table is newer than the table.
    """
    from solver.table import place_of, read_manifest, unfinished_at

    place = place_of(resume)
    source = unfinished_at(place.absolute()) or place
    return Start(place, source, read_manifest(source))


def lock_of(file: Path | None, rules: Game, start: Start | None) -> Lock | None:
    """Return the lock that is asked for: that of the solve to go on from, if there is one."""
    from solver.lock import check_lock, parse_lock

    had = None if start is None else start.manifest.lock
    if file is None:
        return None if had is None else check_lock(had, rules, name="the lock in manifest.json")
    with reading():
        lock = parse_lock(read_text(str(file), "--lock"), rules, name=f"--lock {file}")
    if start is not None and (had is None or had.digest != lock.text.digest):
        made = "without a lock" if had is None else "with another lock"
        raise InputError(f"--lock {file}: the table in {start.place} was made {made}")
    return lock


def state_of(start: Start, rules: Game, method: str, algorithm: str | None) -> dict[str, NDArray]:
    """Return the state to go on from, if it is one of the solve that is asked for."""
    from solver.table import load_checkpoint

    old = start.manifest
    if old.rules != rules:
        raise InputError(
            f"--resume {start.place}: holds {old.rules.name}, pulls={old.rules.pulls}, "
            f"objective={old.rules.objective}; ask for the same game"
        )
    for name, asked, had in (
        ("--method", None if method == "auto" else method, old.method),
        ("--algorithm", algorithm, old.algorithm),
    ):
        if asked is not None and asked != had:
            raise InputError(f"{name} {asked}: the table in {start.place} was made with {had}")
    return load_checkpoint(start.source)


class Keeper:
    """Keeps a solve in progress beside the place of its table, so that a killed one can go on.

    Parameters
    ----------
    folder : Path
        Where the table will be.
    game : Game
    start : Start, optional
        What the solve goes on from.
    quiet : bool

    Attributes
    ----------
    command : str
        All commands of this solve so far, for the manifest.
    other : Path or None
        Another interrupted solve that is still kept at this one's place.
    has_written : bool
        Whether there is a checkpoint of this run.
    """

    def __init__(self, folder: Path, game: Game, start: Start | None, quiet: bool) -> None:
        from solver.table import unfinished_at

        self.folder = folder
        self.game = game
        self.seconds_before = start.manifest.seconds if start else 0.0
        before = f"{start.manifest.command} && " if start else ""
        self.command = before + command_line()
        self.has_written = False
        self._quiet = quiet
        self.other = unfinished_at(folder.absolute())
        if start is not None and self.other is not None and self.other.samefile(start.source):
            self.other = None
        if self.other is not None:
            self._announce(self.other)

    def _announce(self, other: Path) -> None:
        """Say that there is another interrupted solve, which this one will replace."""
        from solver.table import read_manifest

        try:
            iterations = f" of {read_manifest(other).iterations:,} iterations"
        except InputError:
            iterations = ""
        self._remark(
            f"An interrupted solve{iterations} is in {other}; "
            f"`blackwhite solve --resume {self.folder}` would go on from it; "
            "this one will replace it."
        )

    def _remark(self, text: str) -> None:
        if not self._quiet:
            sys.stderr.write(text + "\n")

    def writer(
        self, count: Callable[[Mapping[str, NDArray]], int], **facts: object
    ) -> Callable[[Mapping[str, NDArray], float], None]:
        """Return what a solver calls with its state and the seconds that it took so far.

        ``count`` tells the iterations of a state; ``facts`` are those of the manifest.
        """
        from solver.table import new_manifest, save_unfinished

        first = new_manifest(
            self.game,
            None,
            iterations=0,
            seconds=0.0,
            abstraction=None,
            command=self.command,
            **facts,
        )

        def write(state: Mapping[str, NDArray], seconds: float) -> None:
            now = {"iterations": count(state), "seconds": round(self.seconds_before + seconds, 3)}
            try:
                save_unfinished(self.folder, first.model_copy(update=now), state)
            except (OSError, InputError) as error:  # rather go on without than lose all
                self._remark(f"No checkpoint could be written: {error}")
                return
            self.has_written, self.other = True, None

        return write

    def close(self, *, stopped: bool) -> None:
        """Remove what was kept; not another solve's, where this one was stopped before its end."""
        from solver.table import remove_unfinished

        if not (stopped and self.other):
            remove_unfinished(self.folder)
            self.other = None
