"""The tables of :mod:`full_game`: from counts to rows, each a CSV file and a table of the page."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from full_game_counts import Counts, early_slots, tall_from
from full_game_small import SmallGame, tile_under_stack
from numpy.typing import NDArray

from solver import Game

__all__ = [
    "GAPS",
    "HEIGHTS",
    "LEAST_SHARE",
    "SHARES",
    "Section",
    "agreement_row",
    "heights_of",
    "lead_labels",
    "lead_table",
    "match_table",
    "mean_interval",
    "range_label",
    "refresh",
    "room_sections",
    "setup_sections",
    "small_heights",
    "stack_section",
    "tall_sections",
]

HEIGHTS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 9), (10, 14), (15, 99))
GAPS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 9), (10, 14), (15, 99))
LEADS = ((1, 2), (3, 5), (6, 9), (10, 14), (15, 999))
SPARES = ((0, 0), (1, 2), (3, 5), (6, 9), (10, 14), (15, 99))
SHARES = ("none", "up to 1/3", "up to 1/2", "up to 2/3", "more", "all")
"""How many of the numbers still possible the own tile beats."""

MOST_FAMILIES, MOST_PATTERNS = 12, 10

LEAST_SHARE = 5e-4
"""Heights of a smaller share are left out."""


@dataclass(frozen=True)
class Section:
    """A table: ``name`` is its CSV file's, ``title`` what it shows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]

    def write(self, folder: Path) -> None:
        """Write it as CSV."""
        with (folder / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows([_exact(value) for value in row] for row in self.rows)

    def markdown(self) -> str:
        """Return it as a table for people."""
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(map(_short, row)) + " |" for row in self.rows]
        return f"**{self.title}** (`{self.name}.csv`)\n\n" + "\n".join(lines) + "\n"


def refresh(text: str, sections: list[Section]) -> str:
    """Return a page with its tables replaced by these; a table is known by its CSV file.

    Examples
    --------
    >>> page = "Before.\\n\\n**Old** (`a.csv`)\\n\\n| x |\\n|---|\\n| 1 |\\n\\nAfter."
    >>> print(refresh(page, [Section("a", "New", ("x",), [(2,)])]))
    Before.
    <BLANKLINE>
    **New** (`a.csv`)
    <BLANKLINE>
    | x |
    |---|
    | 2 |
    <BLANKLINE>
    After.
    """
    for section in sections:
        old = rf"^\*\*[^\n]*\*\* \(`{re.escape(section.name)}\.csv`\)\n\n(\|[^\n]*\n)+"
        new = section.markdown().replace("\\", r"\\")
        text = re.sub(old, new, text, flags=re.MULTILINE)
    return text


def _exact(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else round(value, 6) + 0.0
    return value


def _short(value: object) -> str:
    """Return a number as the pages write it: .123, 4.56."""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    text = f"{value + 0.0:.3f}" if abs(value) < 1 else f"{value:.2f}"
    if float(text) == 0:
        return "under .001" if value > 1e-6 else "0"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def mean_interval(total: float, squares: float, num: float) -> tuple[float, float, float]:
    """Return the mean of ``num`` numbers and its 95% confidence interval, from their sums.

    Examples
    --------
    >>> mean_interval(0.0, 4.0, 4.0)
    (0.0, -0.98, 0.98)
    """
    if num == 0:
        return (math.nan,) * 3
    mean = total / num
    half = 1.96 * math.sqrt(max(squares / num - mean**2, 0.0) / num)
    return mean, mean - half, mean + half


def range_label(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}+" if high >= 99 else f"{low}-{high}"


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def _tallest(chips: NDArray[np.int64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an entry of each row of chips: that of slot ``slots``."""
    return np.take_along_axis(chips, slots[:, None], axis=1)[:, 0]


def setup_sections(tiles: NDArray[np.int64], chips: NDArray[np.int64]) -> list[Section]:
    """Return what setups are placed: tallest stacks, families, patterns, order."""
    num, n = tiles.shape
    slot = chips.argmax(axis=1)  # of the tallest stack, the first of equals
    height, tile = _tallest(chips, slot), _tallest(tiles, slot)
    above = (chips > 1).sum(axis=1)
    is_before = np.arange(n) < slot[:, None]
    early = early_slots(n)
    thirds = (slot < early, (slot >= early) & (slot < n - early), slot >= n - early)
    third_names = (f"slot 1-{early}", "between", f"slot {n - early + 1}-{n}")

    def described(chosen: NDArray[np.bool_]) -> tuple[object, ...]:
        before = is_before & chosen[:, None]
        return (
            float(chosen.mean()),
            _ratio(above[chosen].sum(), chosen.sum()),
            *(_ratio((third & chosen).sum(), chosen.sum()) for third in thirds),
            _ratio(tiles[before].sum(), before.sum()),
            _ratio(chips[before].sum(), before.sum()),
        )

    names = ("share", "stacks above 1", *third_names, "mean tile before", "mean stack before")
    tallest, families = [], []
    for low, high in HEIGHTS:
        inside = (height >= low) & (height <= high)
        if inside.any():
            tallest.append((range_label(low, high), *described(inside)))
        for number in range(n):
            chosen = inside & (tile == number)
            if chosen.any():
                families.append((number, range_label(low, high), *described(chosen)))
    families.sort(key=lambda row: -float(str(row[2])))
    num_above = [(k, float((above == k).mean())) for k in range(n + 1) if (above == k).any()]
    by_tile = np.take_along_axis(chips, tiles.argsort(axis=1), axis=1)
    patterns = Counter(map(tuple, by_tile.tolist())).most_common(MOST_PATTERNS)
    order = []
    for number in range(n):
        where = (tiles == number).argmax(axis=1)
        order.append(
            (
                number,
                float(by_tile[:, number].mean()),
                float(1 + where.mean()),
                float((tile == number).mean()),
                _ratio(((where < slot) & (tile != number)).sum(), (tile != number).sum()),
            )
        )
    return [
        Section("tallest", "Height of the tallest stack", ("height", *names), tallest),
        Section("above", "Stacks above a chip", ("stacks above 1", "share"), num_above),
        Section(
            "families",
            f"The {MOST_FAMILIES} commonest families, by the tallest stack's tile and height",
            ("tile", "height", *names),
            families[:MOST_FAMILIES],
        ),
        Section(
            "patterns",
            f"The {MOST_PATTERNS} commonest chips by tile",
            (*(f"on {number}" for number in range(n)), "share"),
            [(*pattern, count / num) for pattern, count in patterns],
        ),
        Section(
            "order",
            "Chips and place of each tile",
            ("tile", "mean chips", "mean slot", "has the tallest", "else stands before it"),
            order,
        ),
    ]


def tall_sections(tiles: NDArray[np.int64], chips: NDArray[np.int64]) -> list[Section]:
    """Return where tall stacks stand: by slot, with the tiles under them."""
    n = tiles.shape[1]
    is_tall = chips >= tall_from(int(chips[0].sum()))
    rows = []
    for name, where in [
        *((str(slot + 1), np.arange(n) == slot) for slot in range(n)),
        ("any", np.ones(n, bool)),
    ]:
        chosen = is_tall & where
        under = np.bincount(tiles[chosen], minlength=n)
        num = int(under.sum())
        shares = [_ratio(count, num) for count in under]
        low = _ratio(under[: n // 2].sum(), num)
        rows.append((name, float(chosen.any(axis=1).mean()), low, *shares))
    title = f"Stacks of {tall_from(int(chips[0].sum()))} and more: how often, and on which tile"
    columns = ("slot", "setups with one", f"on 0-{n // 2 - 1}", *(f"on {t}" for t in range(n)))
    return [Section("tall", title, columns, rows)]


def stack_section(games: dict[str, NDArray[np.float64]], num_tiles: int) -> Section:
    """Return the tile under stacks of each height; ``games`` holds what `tile_under_stack` does."""
    rows: list[tuple[object, ...]] = []
    for name, counts in games.items():
        n = counts.shape[0]
        for low, high in HEIGHTS:
            under = counts[:, low : high + 1].sum(axis=1)
            if under.sum() >= LEAST_SHARE * counts.sum():
                shares = under / under.sum()
                blank = [""] * (num_tiles - n)
                mean = float(shares @ np.arange(n))
                share = float(under.sum() / counts.sum())
                rows.append(
                    (name, range_label(low, high), share, mean, *map(float, shares), *blank)
                )
    columns = ("game", "stack", "share", "mean tile", *(f"on {t}" for t in range(num_tiles)))
    return Section("stacks", "The tile under a stack, as placed", columns, rows)


def _share_class(beaten: int, possible: int) -> int:
    if beaten in (0, possible):
        return 0 if beaten == 0 else len(SHARES) - 1
    return 1 + int(np.searchsorted([1 / 3 + 1e-9, 1 / 2, 2 / 3 + 1e-9], beaten / possible))


def match_table(counts: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``(asked, matched)`` by step of ``GAPS`` and of ``SHARES``."""
    asked, matched = np.zeros((2, len(GAPS), len(SHARES)))
    for at, (low, high) in enumerate(GAPS):
        for beaten, possible in np.ndindex(counts.asked.shape[1:]):
            if possible > 0:
                place = at, _share_class(beaten, possible)
                asked[place] += counts.asked[low : high + 1, beaten, possible].sum()
                matched[place] += counts.matched[low : high + 1, beaten, possible].sum()
    return asked, matched


def lead_labels() -> list[str]:
    """Return the steps of leads as text."""
    ends = [f"{low}+" if high >= 99 else f"{low} to {high}" for low, high in LEADS]
    behind = [f"-{low} and less" if high >= 99 else f"-{high} to -{low}" for low, high in LEADS]
    return [*reversed(behind), "0", *ends]


def lead_table(games: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return games by slot, step of :func:`lead_labels` and result: shape (N, steps, 3).

    ``games`` are ``leads`` or ``totals`` of :class:`full_game_counts.Counts`.
    """
    leads = np.arange(games.shape[1]) - games.shape[1] // 2
    ranges = [*((-high, -low) for low, high in reversed(LEADS)), (0, 0), *LEADS]
    parts = [games[:, (leads >= low) & (leads <= high)].sum(axis=1) for low, high in ranges]
    return np.stack(parts, axis=1)


def agreement_row(name: str, counts: Counts) -> tuple[object, ...]:
    """Return how a table's answers agree with the rule: a row of the page."""
    (folds, matched_there), (matches, agreed) = counts.rule
    asked = folds + matches
    return (
        name,
        _ratio(matched_there + agreed, asked),
        _ratio(matches, asked),
        _ratio(agreed, matches),
        _ratio(matched_there, folds),
        _ratio(agreed + folds - matched_there, asked),
    )


def room_sections(game: Game, counts: Counts, small: list[SmallGame]) -> list[Section]:
    """Return who cannot pay, and what setups earn against tall early stacks."""
    tall, early = tall_from(game.num_chips), early_slots(game.num_tiles)

    def forced_row(name: str, lower: NDArray[np.float64], games: float) -> tuple[object, ...]:
        return name, float(lower.sum() / games), _ratio(lower[..., 1].sum(), lower.sum())

    lower, games = counts.lower, float(counts.shapes[..., 0].sum())
    by_slot = [forced_row(str(slot + 1), lower[slot], games) for slot in range(len(lower))]
    by_slot.append(forced_row("any", lower, games))
    for each in small:
        by_slot.append(forced_row(f"any, {each.game.name}, exact", each.counts.lower, 1.0))
    by_spare = []
    for low, high in SPARES:
        row = lower[:, low : high + 1].sum(axis=(0, 1))
        not_last = lower[:-1, low : high + 1].sum(axis=(0, 1))
        by_spare.append(
            (
                range_label(low, high),
                _ratio(row.sum(), lower.sum()),
                _ratio(row[1], row.sum()),
                _ratio(not_last[1], not_last.sum()),
            )
        )
    whose = ("at most one stack above 1", "two or more")
    against = ("no tall early stack", f"{tall}+ in slot 1-{early}")
    shapes = []
    for own, other in np.ndindex(2, 2):
        num, value, squares, forced = map(float, counts.shapes[own, other])
        mean = mean_interval(value, squares, num)
        share = _ratio(num, counts.shapes[..., 0].sum())
        shapes.append((whose[own], against[other], share, *mean, _ratio(forced, num)))
    return [
        Section(
            "forced",
            "Slots with fewer chips than the opponent, and how often the gap cannot be paid",
            ("slot", "has fewer", "cannot pay"),
            by_slot,
        ),
        Section(
            "spare",
            "The same by own spare chips on later tiles",
            ("spare chips", "share", "cannot pay", "before the last slot"),
            by_spare,
        ),
        Section(
            "shapes",
            "What setups earn, by the opponent's early stacks",
            ("own setup", "opponent", "share", "earns", "low", "high", "forced folds a game"),
            shapes,
        ),
    ]


def small_heights(games: list[SmallGame]) -> dict[str, NDArray[np.float64]]:
    """Return what :func:`stack_section` takes of exact games."""
    return {f"{small.game.name}, exact": small.heights for small in games}


def heights_of(tiles: NDArray[np.int64], chips: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the same of drawn setups."""
    return tile_under_stack(tiles, chips, np.full(len(tiles), 1 / len(tiles)))
