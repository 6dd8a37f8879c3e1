"""What the strategy of a sampled table does, and what common advice is worth against it.

::

    python tests/benchmarks/full_game.py                   # of results/10x30
    python tests/benchmarks/full_game.py results/local/10x30 --out results/local/full-game

Setups are drawn from the table, and the table plays itself; the numbers of ``results/full-game.md``
are counted there.  Advice is tested on players who have the table's setups and other answers: pairs
of games with setups and luck exchanged, means with 95% intervals.  One forgets which tiles were
shown, another only which of those on either side of the own tile: both answer with means of the
table's answers, so that their difference is what counting is worth.  In small games that are solved
exactly the same players are judged exactly.  ``tables.md`` holds the tables in the page's order,
and each is a CSV file too.  The tables of the page (``OUT.md``, beside the folder) are written
anew; what its sentences say of them is not.
"""

from __future__ import annotations

import csv
import time
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from full_game_counts import Counts, new_counts
from full_game_figures import draw_leads, draw_matches, draw_rounds, draw_stacks
from full_game_play import (
    MEMORY,
    RULE,
    Memory,
    draw_setups,
    new_memory,
    play_answers,
    play_self,
)
from full_game_small import SmallGame, solve_small
from full_game_tables import (
    GAPS,
    SHARES,
    Section,
    agreement_row,
    heights_of,
    lead_labels,
    lead_table,
    match_table,
    mean_interval,
    range_label,
    refresh,
    room_sections,
    setup_sections,
    small_heights,
    stack_section,
    tall_sections,
)
from making import write_manifest
from numpy.typing import NDArray

from solver import Game, InputError, Strategy, load_table

TABLE = Path("results/10x30")
SMALL = ["4x8", "4x10"]
PRICES = Path(__file__).parents[2] / "results" / "price-of-pulls" / "prices.csv"

PLAYERS = {
    "rule": "match if more numbers lie below than above",
    "forgets": "forgets shown tiles",
    "sighted": "counts below and above, no more",
}


def facts_section(game: Game, counts: Counts) -> Section:
    """Return the games in a few numbers."""
    players = float(counts.shapes[..., 0].sum())
    asked, matched = float(counts.asked.sum()), float(counts.matched.sum())
    results = counts.leads[0].sum(axis=0)
    rows: list[tuple[object, ...]] = [
        ("games", int(players / 2)),
        ("decisions a player and game", asked / players),
        ("matched", matched / asked),
        ("forced folds a player and game", float(counts.lower[..., 1].sum() / players)),
        ("games drawn", float(results[1] / results.sum())),
        ("games decided before the last slot", 1 - float(counts.leads[-1].sum() / players)),
    ]
    return Section("facts", f"{game.name}: the table against itself", ("what", "value"), rows)


def match_sections(counts: Counts) -> list[Section]:
    """Return when a gap is matched: the page's table, and all of it."""
    asked, matched = match_table(counts)
    shares = np.full(asked.shape, np.nan)
    np.divide(matched, asked, out=shares, where=asked > 0)
    rows = [
        (range_label(*ends), float(asked[at].sum() / asked.sum()), *map(float, shares[at]))
        for at, ends in enumerate(GAPS)
        if asked[at].sum() > 0
    ]
    whole = [
        (gap, beaten, possible, float(num), float(counts.matched[gap, beaten, possible] / num))
        for (gap, beaten, possible), num in np.ndenumerate(counts.asked)
        if num > 0
    ]
    return [
        Section(
            "matches",
            "Matched, by gap and by the numbers still possible that the own tile beats",
            ("gap", "share of decisions", *SHARES),
            rows,
        ),
        Section(
            "all-matches",
            "The same, all of it",
            ("gap", "beaten", "possible", "decisions", "matched"),
            whole,
        ),
    ]


def lead_sections(games: dict[str, NDArray[np.float64]]) -> list[Section]:
    """Return games won by lead in winnings and in all chips, and all results."""
    sections = []
    whole: list[tuple[object, ...]] = []
    for name, table in games.items():
        rows: list[tuple[object, ...]] = []
        for slot in range(1, len(table)):
            num = table[slot].sum(axis=1)
            won = np.full(len(num), np.nan)
            np.divide(table[slot, :, 2], num, out=won, where=num > 0)
            rows.append((slot + 1, *map(float, won)))
            for label, results in zip(lead_labels(), table[slot], strict=True):
                whole.append((name, slot + 1, label, *map(int, results)))
        columns = ("slot", *lead_labels())
        file = f"leads-{name.replace(' ', '-')}"
        sections.append(Section(file, f"Games won, by lead in {name}", columns, rows))
    columns = ("lead in", "slot", "lead", "lost", "drawn", "won")
    return [*sections, Section("all-leads", "Results", columns, whole)]


def other_answers(
    strategy: Strategy, memories: tuple[Memory, Memory], num_pairs: int, seeds: list
) -> list[tuple[object, ...]]:
    """Return what other answers earn against the table, with intervals."""
    blind, sighted = memories
    rows = []
    kinds = {"rule": (RULE, blind), "forgets": (MEMORY, blind), "sighted": (MEMORY, sighted)}
    for (name, (kind, memory)), seed in zip(kinds.items(), seeds, strict=True):
        rng = np.random.default_rng(seed)
        found = play_answers(strategy, kind, memory, num_pairs, rng)
        rows.append((PLAYERS[name], *mean_interval(*found, num_pairs), ""))
    return rows


def answer_section(name: str, found: list[tuple[object, ...]], small: list[SmallGame]) -> Section:
    """Return what players with other answers earn, in all games."""
    rows = [(name, *row) for row in found]
    for each in small:
        for player in ("rule", "forgets"):
            value, loss = each.values[player], each.losses[player]
            rows.append((f"{each.game.name}, exact", PLAYERS[player], value, "", "", loss))
    columns = ("game", "answers", "earns", "low", "high", "exploitability")
    return Section("answers", "The table's setups with other answers", columns, rows)


def price_section() -> Section:
    """Return what choosing where to pay is worth, from the results of that benchmark."""
    found = defaultdict(list)
    with PRICES.open() as file:
        for row in csv.DictReader(file):
            found[row["objective"], row["pulls"]].append(row)
    rows = [
        (
            *key,
            ", ".join(row["game"] for row in group),
            min(float(row["lower"]) for row in group),
            max(float(row["upper"]) for row in group),
        )
        for key, group in found.items()
    ]
    columns = ("objective", "pulls", "games", "least", "most")
    return Section("pulls", "What choosing where to pay is worth in equilibrium", columns, rows)


def measure(
    strategy: Strategy, game: Game, num: tuple[int, int, int], seed: int, small: list[SmallGame]
) -> tuple[list[Section], dict[str, tuple]]:
    """Return the sections in the page's order, and what the figures draw."""
    num_setups, num_games, num_pairs = num
    for_setups, for_games, *for_answers = np.random.SeedSequence(seed).spawn(5)
    tiles, chips = draw_setups(strategy, num_setups, np.random.default_rng(for_setups))
    counts = new_counts(game)
    memories = new_memory(game, True), new_memory(game, False)
    play_self(strategy, num_games, np.random.default_rng(for_games), counts, *memories)
    heights = {game.name: heights_of(tiles, chips)} | small_heights(small)
    leads = {"winnings": lead_table(counts.leads), "all chips": lead_table(counts.totals)}
    columns = ("game", "matches", "rule matches", "if it does", "if it folds", "agree")
    agree = [agreement_row(game.name, counts)]
    agree += [agreement_row(f"{each.game.name}, exact", each.counts) for each in small]
    sections = [
        facts_section(game, counts),
        *setup_sections(tiles, chips),
        *tall_sections(tiles, chips),
        *match_sections(counts),
        *lead_sections(leads),
        stack_section(heights, game.num_tiles),
        answer_section(game.name, other_answers(strategy, memories, num_pairs, for_answers), small),
        Section("rule", "The rule and the table's own answers", columns, agree),
        price_section(),
        *room_sections(game, counts, small),
    ]
    figures = {
        "stacks": (draw_stacks, heights),
        "matches": (draw_matches, *match_table(counts)),
        "leads": (draw_leads, leads, lead_labels()),
    }
    return sections, figures


def main(
    table: Annotated[Path, typer.Argument(help="A sampled table's folder.")] = TABLE,
    exact: Annotated[list[str] | None, typer.Option(help="Small games, NxC.")] = None,
    setups: Annotated[int, typer.Option(help="Setups to draw.")] = 200_000,
    games: Annotated[int, typer.Option(help="Games against itself.")] = 2_000_000,
    pairs: Annotated[int, typer.Option(help="Pairs of games of each other player.")] = 500_000,
    seed: int = 0,
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("results/full-game"),
) -> None:
    """Describe a sampled table's strategy, and test common advice."""
    start = time.perf_counter()
    try:
        read = load_table(table)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    if read.manifest.method == "exact":
        raise typer.BadParameter(f"{table}: an exact table; this is about sampled ones")
    out.mkdir(parents=True, exist_ok=True)
    small = [solve_small(Game.parse(name)) for name in exact or SMALL]
    sections, figures = measure(read.strategy, read.game, (setups, games, pairs), seed, small)
    for section in sections:
        section.write(out)
    if read.manifest.rounds:
        figures["rounds"] = (draw_rounds, read.manifest.rounds)
    for name, (draw, *arguments) in figures.items():
        draw(*arguments, out / f"{name}.svg")
    shown = [each.markdown() for each in sections if not each.name.startswith("all-")]
    text = "\n".join(shown)
    (out / "tables.md").write_text(text)
    page = out.with_suffix(".md")
    if page.exists():
        page.write_text(refresh(page.read_text(), sections))
    write_manifest(
        out,
        table={"folder": str(table), "sha256": read.manifest.sha256},
        game=read.game.name,
        setups=setups,
        games=games,
        pairs=pairs,
        seed=seed,
        exact={each.game.name: each.losses["equilibrium"] for each in small},
        seconds=round(time.perf_counter() - start),
    )
    print(text)


if __name__ == "__main__":
    typer.run(main)
