"""Setups seen of an opponent in past games: their notation.

Text, one setup a line, as placed and in the notation of a half-placed board (:mod:`solver.setups`):
``8:4,3:1,9:6``; ``?`` stands for a tile or a stack that was not seen, and here ``b`` or ``w`` for a
tile of which only the colour was.  Slots left out at the end were not seen.  `` x3`` after it says
that it was seen three times.  Blank lines and what follows a ``#`` are skipped.

The same as JSON, where a count left out is 1:
``{"setups": [{"setup": "8:4,3:1,9:6"}, {"setup": "b:4,?,9:6", "count": 3}]}``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from solver.forms import read_form
from solver.rules import Game, InputError
from solver.setups import PartialSetup

__all__ = ["MAX_COUNT", "SeenSetup", "parse_observations"]

MAX_COUNT = 1_000_000
"""Most times that one setup may be said to be seen."""
_ALLOWED = "allowed is tile:chips by slot, such as 8:4,b:1,?:6, and how often, such as x3"
_LINE = re.compile(r"(.*?)(?:\s+x([0-9]{1,9}))?")
_ANSWER = re.compile(r"[bw][0-9]+(?:f|F|=[0-9]+)?(?:@.*)?")
_COLOURS = {"b": 0, "w": 1}


@dataclass(frozen=True)
class SeenSetup:
    """What was seen of a setup, and how often.

    Attributes
    ----------
    tiles, colours, chips : tuple of int or None
        By slot; None where it was not seen.  The colour of a tile that was seen is left out.
    count : int
        How often.
    place : str
        Where it was read, for messages.
    """

    tiles: tuple[int | None, ...]
    colours: tuple[int | None, ...]
    chips: tuple[int | None, ...]
    count: int
    place: str

    def count_completions(self, game: Game) -> int:
        """Return how many setups fit.

        Examples
        --------
        >>> parse_observations("b,?:2", Game(3, 6))[0].count_completions(Game(3, 6))
        12
        """
        left = [tile for tile in range(game.num_tiles) if tile not in self.tiles]
        num_white = sum(tile % 2 for tile in left)
        num_black = len(left) - num_white
        either = len(left) - self.colours.count(0) - self.colours.count(1)
        free_black = num_black - self.colours.count(0)
        if not 0 <= free_black <= either:
            return 0
        orders = math.factorial(num_black) * math.factorial(num_white)
        orders *= math.comb(either, free_black)
        num_open = self.chips.count(None)
        spare = game.num_chips - sum(stack or 0 for stack in self.chips)
        return orders * (math.comb(spare - 1, num_open - 1) if num_open else 1)


class _SetupText(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    setup: str
    count: int = Field(default=1, ge=1, le=MAX_COUNT)


class _ObservationsText(BaseModel):
    """The JSON form of observations."""

    model_config = ConfigDict(extra="forbid", strict=True)

    setups: list[_SetupText]


def parse_observations(text: str, game: Game) -> tuple[SeenSetup, ...]:
    """Read setups that were seen, in text or, if it starts with a brace, JSON.

    Raises
    ------
    InputError
        If there is none, or one is malformed; the message names the line or the entry.

    Examples
    --------
    >>> [(one.tiles, one.count) for one in parse_observations("0:1,2:4,1:1 x3", Game(3, 6))]
    [((0, 2, 1), 3)]
    >>> parse_observations("b1f", Game(3, 6))
    Traceback (most recent call last):
    ...
    solver.rules.InputError: line 1: 'b1f' is an answer; only setups are read, no answers
    """
    parts = _json_parts(text) if text.lstrip().startswith("{") else _text_parts(text)
    seen = tuple(_read_setup(setup, count, place, game) for setup, count, place in parts)
    if not seen:
        raise InputError(f"no setup in it; {_ALLOWED}")
    return seen


def _text_parts(text: str) -> list[tuple[str, int, str]]:
    """Return ``(setup, count, place)`` of each line that holds a setup."""
    parts = []
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.partition("#")[0].strip()
        if not line:
            continue
        place = f"line {number}"
        setup, times = _LINE.fullmatch(line).groups()  # type: ignore[union-attr]
        first = setup.split()[0] if setup else ""
        if _ANSWER.fullmatch(first):
            raise InputError(f"{place}: {first!r} is an answer; only setups are read, no answers")
        count = int(times) if times else 1
        if not 1 <= count <= MAX_COUNT:
            raise InputError(f"{place}: x{times}; a setup is seen 1 to {MAX_COUNT:,} times")
        parts.append((setup, count, place))
    return parts


def _json_parts(text: str) -> list[tuple[str, int, str]]:
    """Return ``(setup, count, place)`` of each entry."""
    try:
        found = read_form(_ObservationsText, text)
    except InputError as error:
        raise InputError(
            f"{error}; allowed is a list setups, of entries with the string setup "
            "and the number count; answers are not read"
        ) from None
    return [(one.setup, one.count, f"setups.{k}") for k, one in enumerate(found.setups)]


def _read_setup(text: str, count: int, place: str, game: Game) -> SeenSetup:
    """Read one setup; messages name its place."""
    tokens = [token.strip() for token in text.split(",")]
    colours: list[int | None] = [None] * game.num_tiles
    for slot, token in enumerate(tokens[: game.num_tiles]):
        if token[:1] in _COLOURS and token[1:2] in ("", ":"):
            colours[slot] = _COLOURS[token[0]]
            tokens[slot] = "?" + token[1:]
    try:
        partial = PartialSetup.parse(",".join(tokens), game)
    except InputError as error:
        raise InputError(f"{place}: {error}; {_ALLOWED}") from None
    if all(part is None for part in (*partial.tiles, *partial.chips, *colours)):
        raise InputError(f"{place}: {text!r} says nothing of a setup; {_ALLOWED}")
    return SeenSetup(partial.tiles, tuple(colours), partial.chips, count, place)
