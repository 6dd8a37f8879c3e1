"""The figures of :mod:`full_game`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from full_game_tables import GAPS, HEIGHTS, LEAST_SHARE, SHARES, range_label
from numpy.typing import NDArray

from solver.table.manifest import Round

__all__ = ["draw_leads", "draw_matches", "draw_rounds", "draw_stacks"]

LEAST_GAMES = 200
"""Shares of fewer games are not drawn."""


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "blackwhite"
    return pyplot


def _save(figure: Any, file: Path) -> None:
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def _heat_map(axis: Any, shares: NDArray[np.float64], rows: list[str], columns: list[str]) -> None:
    """Draw shares with their numbers; NaN stays blank."""
    axis.imshow(shares, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    for row, column in np.argwhere(~np.isnan(shares)):
        share = shares[row, column]
        ink = "white" if share > 0.6 else "black"
        axis.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=ink)


def draw_stacks(games: dict[str, NDArray[np.float64]], file: Path) -> None:
    """Draw which tile stands under stacks of each height, a panel a game."""
    pyplot = _pyplot()
    widths = [counts.shape[0] + 2 for counts in games.values()]
    figure, axes = pyplot.subplots(
        1, len(games), figsize=(0.6 * sum(widths), 3.8), width_ratios=widths, squeeze=False
    )
    for axis, (name, counts) in zip(axes[0], games.items(), strict=True):
        found = [(range_label(*ends), counts[:, ends[0] : ends[1] + 1].sum(1)) for ends in HEIGHTS]
        found = [
            (label, under / under.sum())
            for label, under in found
            if under.sum() >= LEAST_SHARE * counts.sum()
        ]
        tiles = [str(tile) for tile in range(counts.shape[0])]
        _heat_map(axis, np.stack([under for _, under in found]), [x for x, _ in found], tiles)
        axis.set_title(f"{name}: tile under a stack, %")
        axis.set_xlabel("tile")
        axis.set_ylabel("chips")
    _save(figure, file)


def draw_matches(asked: NDArray[np.float64], matched: NDArray[np.float64], file: Path) -> None:
    """Draw how often a gap is matched, by the numbers that the own tile beats."""
    figure, axis = _pyplot().subplots(figsize=(6, 4))
    shares = np.full(asked.shape, np.nan)
    np.divide(matched, asked, out=shares, where=asked >= LEAST_GAMES)
    _heat_map(axis, shares, [range_label(*ends) for ends in GAPS], list(SHARES))
    axis.set_title("matched, %")
    axis.set_xlabel("numbers still possible that the own tile beats")
    axis.set_ylabel("gap")
    _save(figure, file)


def draw_leads(games: dict[str, NDArray[np.float64]], labels: list[str], file: Path) -> None:
    """Draw the share of games won by lead, a panel a kind of lead, a line a slot."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(1, len(games), figsize=(5.5 * len(games), 4), sharey=True)
    for axis, (name, table) in zip(axes, games.items(), strict=True):
        num_slots = len(table)
        chosen = [slot for slot in range(1, num_slots) if slot % 2 or num_slots < 6]
        for place, slot in enumerate(chosen):
            num = table[slot].sum(axis=1)
            won = np.full(len(num), np.nan)
            np.divide(table[slot, :, 2], num, out=won, where=num >= LEAST_GAMES)
            colour = pyplot.get_cmap("viridis")(place / len(chosen))
            axis.plot(range(len(num)), won, "o-", color=colour, label=f"slot {slot + 1}")
        axis.set_xticks(range(len(labels)), labels, rotation=40, ha="right")
        axis.set_title(f"lead in {name}")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("games won")
    axes[0].legend()
    _save(figure, file)


def draw_rounds(rounds: list[Round], file: Path) -> None:
    """Draw what the searches for replies during a solve found against its average strategy."""
    figure, axis = _pyplot().subplots(figsize=(6, 3.5))
    millions = [each.iterations / 1e6 for each in rounds]
    axis.plot(millions, [each.best for each in rounds], "o-", label="best reply")
    axis.plot(millions, [each.mean for each in rounds], "o-", label="mean of those that win")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("iterations, millions")
    axis.set_ylabel("earned against the table")
    axis.grid(alpha=0.3)
    axis.legend()
    _save(figure, file)
