"""A lock: the part of one seat's strategy that a solve leaves as it is told.

Written as JSON, every part optional::

    {
      "seat": 0,
      "setups": [{"setup": "2:4,0:1,1:1", "weight": 3}, {"setup": "1"}],
      "answers": [
        {"me": "0:1,1:1,2:4", "history": "", "facing": "w3", "match": 0.25},
        {"gap": 1, "match": 1}
      ]
    }

``setups``
    Boards, whole or half-placed (:mod:`solver.setups`), and how often one of those that complete
    them is placed: ``weight``, 1 if left out, in shares of the sum.  Which of them is left to the
    solver.  Setups that complete none are never placed; a last ``?`` takes the others in.
``answers``
    How often to match: in a situation, in the notation of :mod:`solver.situation`, or in all
    decisions of this ``slot``, own ``tile`` and ``stack`` in it, ``gap``, and opponent's tile
    ``facing``, as far as they are given.

Of two entries that a setup or a decision fits, the first counts.  Situations that differ only in
what cannot matter any more are one decision (:mod:`solver.infostate`).  With the objective ``win``
a lock ends when the game is decided, and so with the game.

A sampled solve can be held to a part of this, a :class:`Bound`: one board, and answers for kinds of
decisions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from solver.forms import read_form
from solver.infostate import HIDDEN, observe
from solver.kinds import ANY, KIND, NO_KINDS
from solver.rules import CHOICE, FORCED_FOLD, Game, InputError, classify, is_decided
from solver.setups import NOTHING_PLACED, PartialSetup, Placed, list_setups
from solver.situation import Situation, parse_facing, parse_situation
from solver.strategy import num_columns

__all__ = [
    "UNBOUND",
    "Bound",
    "Lock",
    "LockText",
    "bound_of",
    "check_lock",
    "parse_lock",
]

_KIND_PARTS = ("slot", "tile", "stack", "gap", "facing")
"""What an answer for a kind of decisions may name."""


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SetupText(_Text):
    """An entry of ``setups``."""

    setup: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class AnswerText(_Text):
    """An entry of ``answers``."""

    me: str | None = None
    history: str | None = None
    facing: str | None = None
    slot: int | None = Field(default=None, ge=1)
    tile: int | None = Field(default=None, ge=0)
    stack: int | None = Field(default=None, ge=1)
    gap: int | None = Field(default=None, ge=1)
    match: float = Field(ge=0, le=1, allow_inf_nan=False)


class LockText(_Text):
    """The JSON form of a lock."""

    seat: Literal[0, 1] = 0
    setups: list[SetupText] = []
    answers: list[AnswerText] = []

    @property
    def digest(self) -> str:
        """The SHA-256 of what the lock says, however it was laid out."""
        said = self.model_dump_json(include={"seat", "setups", "answers"})
        return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True)
class Lock:
    """A lock that fits its game.

    Attributes
    ----------
    game : Game
    text : LockText
    name : str
        What messages call it.
    boards : tuple of PartialSetup
        Those of ``text.setups``.
    situations : tuple of Situation or None
        Those of ``text.answers``; None where an entry is for all decisions of a kind.
    """

    game: Game
    text: LockText
    name: str = field(compare=False)
    boards: tuple[PartialSetup, ...]
    situations: tuple[Situation | None, ...]

    @property
    def seat(self) -> int:
        """The seat whose strategy is locked, 0 or 1."""
        return self.text.seat

    @cached_property
    def groups(self) -> list[tuple[float, NDArray[np.int64]]]:
        """Setups that are placed with a fixed probability in all, and that probability.

        Setups are numbers in the order of :func:`solver.setups.list_setups`.

        Raises
        ------
        InputError
            If no setup is left for an entry.
        """
        tiles, chips = list_setups(self.game)
        if not self.boards:
            return [(1.0, np.arange(len(tiles)))]
        total = sum(entry.weight for entry in self.text.setups)
        is_open = np.ones(len(tiles), np.bool_)
        groups = []
        for place, (entry, board) in enumerate(zip(self.text.setups, self.boards, strict=True)):
            fits = is_open & board.placed.fits(tiles, chips)
            if not fits.any():
                raise InputError(
                    f"{self.name}: setups.{place}: no setup is left for {entry.setup!r}; "
                    "earlier entries take all that fit"
                )
            is_open &= ~fits
            groups.append((entry.weight / total, np.flatnonzero(fits)))
        return groups

    def match_at(
        self, observations: NDArray[np.integer], slots: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the probability of matching that is fixed at each decision, NaN where none is.

        Parameters
        ----------
        observations : ndarray, shape (infostates, N, 4) or (infostates, N, 5)
            Of all decisions of the game, as :func:`solver.infostate.observe` fills them.
        slots : ndarray, shape (infostates,)
            The slot being decided, from 0.

        Raises
        ------
        InputError
            If no decision is left for an entry.
        """
        match = np.full(len(slots), np.nan)
        kinds = _kinds_of(self.text.answers)
        for place, (where, kind) in enumerate(zip(self.situations, kinds, strict=True)):
            if where is None:
                fits = _fits_kind(kind, observations, slots)
            else:
                fits = (observations == _observation(where)).all(axis=(1, 2))
            fits &= np.isnan(match)
            if not fits.any():
                raise InputError(
                    f"{self.name}: answers.{place}: no decision of {self.game.name} is left for it"
                )
            match[fits] = kind[-1]
        return match


class Bound(NamedTuple):
    """What a sampled strategy is held to.

    Attributes
    ----------
    placed : Placed
        The board that all its setups complete; an empty one is ``NOTHING_PLACED``.
    kinds : ndarray of float64, shape (kinds, KIND)
        Kinds of decisions with fixed answers (:mod:`solver.kinds`).
    """

    placed: Placed
    kinds: NDArray[np.float64]


UNBOUND = Bound(NOTHING_PLACED, NO_KINDS)
"""A strategy that is held to nothing."""


def bound_of(lock: Lock) -> Bound:
    """Return a lock as a sampled solve keeps it.

    Raises
    ------
    InputError
        Naming the first entry that only an exact solve can keep: a second board, since setups that
        are drawn slot by slot cannot be a mixture of given shares, or a situation, since samples
        are told apart by less than the history.

    Examples
    --------
    >>> lock = parse_lock('{"answers": [{"gap": 1, "facing": "w3", "match": 0.5}]}', Game(3, 6))
    >>> bound_of(lock).kinds.tolist()
    [[-1.0, -1.0, -1.0, 1.0, 1.0, 3.0, 0.5]]
    """
    if len(lock.boards) > 1:
        raise InputError(
            f"{lock.name}: setups.1: a sampled solve is held to one board, whole or half-placed; "
            "only an exact solve takes several"
        )
    for place, where in enumerate(lock.situations):
        if where is not None:
            raise InputError(
                f"{lock.name}: answers.{place}: me: a sampled solve takes answers by "
                f"{', '.join(_KIND_PARTS)} alone; only an exact solve takes a situation"
            )
    placed = lock.boards[0].placed if lock.boards else NOTHING_PLACED
    return Bound(placed or NOTHING_PLACED, _kinds_of(lock.text.answers))


def _kinds_of(answers: Sequence[AnswerText]) -> NDArray[np.float64]:
    """Return answers for kinds of decisions as :mod:`solver.kinds` has them."""
    kinds = np.full((len(answers), KIND), ANY, np.float64)
    for kind, answer in zip(kinds, answers, strict=True):
        if answer.slot is not None:
            kind[0] = answer.slot - 1
        for part, name in enumerate(("tile", "stack", "gap"), 1):
            if (value := getattr(answer, name)) is not None:
                kind[part] = value
        if answer.facing is not None:
            kind[4:6] = parse_facing(answer.facing)
        kind[6] = answer.match
    return kinds


def parse_lock(text: str, game: Game, *, name: str = "lock") -> Lock:
    """Read a lock.

    Raises
    ------
    InputError
        Naming the first entry that is malformed, or that the rules forbid.

    Examples
    --------
    >>> lock = parse_lock('{"setups": [{"setup": "2"}]}', Game(3, 6))
    >>> [(share, len(members)) for share, members in lock.groups]
    [(1.0, 20)]
    >>> parse_lock('{"answers": [{"gap": 1, "match": 2}]}', Game(3, 6))
    Traceback (most recent call last):
    ...
    solver.rules.InputError: lock: answers.0.match: it must be at most 1.0
    """
    try:
        found = read_form(LockText, text)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return check_lock(found, game, name=name)


def check_lock(text: LockText, game: Game, *, name: str = "lock") -> Lock:
    """Return what was read as a lock of a game; see :func:`parse_lock`."""
    boards = []
    situations = []
    for place, entry in enumerate(text.setups):
        try:
            boards.append(PartialSetup.parse(entry.setup, game))
        except InputError as error:
            raise InputError(f"{name}: setups.{place}: {error}") from None
    for place, answer in enumerate(text.answers):
        try:
            situations.append(_situation(answer, game))
        except InputError as error:
            raise InputError(f"{name}: answers.{place}: {error}") from None
        if situations[-1] is None:
            before = zip(text.answers[:place], situations, strict=False)
            wider = [earlier for earlier, where in before if where is None]
            if not _is_possible(answer, game) or any(_takes_in(one, answer) for one in wider):
                raise InputError(
                    f"{name}: answers.{place}: no decision of {game.name} is left for it"
                )
    return Lock(game, text, name, tuple(boards), tuple(situations))


def _situation(answer: AnswerText, game: Game) -> Situation | None:
    """Return the situation of an answer; None if it is for all decisions of a kind."""
    kind = {part: getattr(answer, part) for part in _KIND_PARTS[:-1]}
    given = [part for part, value in kind.items() if value is not None]
    if answer.me is None:
        if answer.history is not None:
            raise InputError("history: belongs to a situation, which has me and facing too")
        if answer.facing is not None:
            parse_facing(answer.facing)
        elif not given:
            raise InputError(
                "it names no decision; allowed are me, history and facing, "
                "or some of slot, tile, stack, gap and facing"
            )
        most = game.num_chips - game.num_tiles + 1
        for part, top in (("slot", game.num_tiles), ("tile", game.num_tiles - 1), ("stack", most)):
            if kind[part] is not None and kind[part] > top:
                raise InputError(f"{part} {kind[part]}: {game.name} has none above {top}")
        return None
    if given:
        raise InputError(f"{given[0]}: follows from me, history and facing; leave it out")
    if answer.facing is None:
        raise InputError("facing: missing; a situation has me, history and facing")
    where = parse_situation(game, me=answer.me, history=answer.history or "", facing=answer.facing)
    _check_decision(where)
    return where


def _is_possible(answer: AnswerText, game: Game) -> bool:
    """Whether two stacks of the game can be as an answer for a kind of decisions says."""
    most = game.num_chips - game.num_tiles + 1
    faced = None if answer.facing is None else parse_facing(answer.facing).stack
    for stack in range(1, most) if answer.stack is None else (answer.stack,):
        lowest = stack + (answer.gap or 1)
        highest = most if answer.gap is None else min(lowest, most)
        if lowest <= highest and (faced is None or lowest <= faced <= highest):
            return True
    return False


def _takes_in(wider: AnswerText, answer: AnswerText) -> bool:
    """Whether an answer is for all decisions that another is for, by what they name alike."""
    named = [part for part in _KIND_PARTS if getattr(wider, part) is not None]
    return all(getattr(wider, part) == getattr(answer, part) for part in named)


def _check_decision(where: Situation) -> None:
    """Refuse a situation in which there is nothing to decide."""
    board = where.board()
    kind, player = classify(board, where.slot)
    stacks = f"stacks {board.chips[0, where.slot]} v {where.facing.stack}"
    if kind == FORCED_FOLD and player == 0:
        raise InputError(f"facing '{where.facing}': {stacks} and too few chips: a forced fold")
    if kind != CHOICE or player != 0:
        raise InputError(f"facing '{where.facing}': {stacks}, so there is nothing to decide")
    mine, theirs = board.winnings
    if where.game.is_win and is_decided(mine, theirs, where.game.num_chips):
        raise InputError("history: the game is decided by then, and locks end with it")


def _observation(where: Situation) -> NDArray[np.int64]:
    seen = np.empty((where.game.num_tiles, num_columns(where.game.pulls_code)), np.int64)
    observe(where.board(), where.slot, 0, seen)
    return seen


def _fits_kind(
    kind: NDArray[np.float64], observations: NDArray[np.integer], slots: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return which decisions are of a kind (:mod:`solver.kinds`)."""
    seen = observations[np.arange(len(slots)), slots]
    tile, stack, hidden, faced = (seen[:, column] for column in range(4))
    found = (slots, tile, stack, faced - stack, HIDDEN - hidden, faced)
    fits = np.ones(len(slots), np.bool_)
    for wanted, column in zip(kind[:-1], found, strict=True):
        if wanted != ANY:
            fits &= column == wanted
    return fits
