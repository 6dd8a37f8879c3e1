"""Golden playthroughs: whole games as text, in OpenSpiel's format.

A change of anything a user of the games sees changes these files.  After a change that is meant,
write them again and read the difference::

    python tests/test_spiel_playthroughs.py
"""

from pathlib import Path

import pytest
from open_spiel.python.algorithms.generate_playthrough import playthrough

import spiel_game  # noqa: F401  registers the games

FOLDER = Path(__file__).parent / "playthroughs"

GAMES = {
    "betting_black_white_3x6": "python_betting_black_white(num_tiles=3,num_chips=6)",
    "betting_black_white_5x20": "python_betting_black_white(num_tiles=5,num_chips=20)",
    "betting_black_white_4x8_latest_chips": (
        "python_betting_black_white(num_tiles=4,num_chips=8,pulls=latest,objective=chips)"
    ),
    "red_and_black_2": "python_red_and_black",
    "red_and_black_3_ante": "python_red_and_black(players=3,max_bet=5,bet_step=2,hands=2,ante=1)",
    "put_and_take_3": "python_put_and_take(scale=red_and_black,players=3)",
}


def record(text: str) -> str:
    """Play one game at random, always the same, and describe each state."""
    return playthrough(text, None, seed=7)


@pytest.mark.parametrize("name", GAMES)
def test_playthrough_is_as_recorded(name):
    assert record(GAMES[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in GAMES.items():
        (FOLDER / f"{name}.txt").write_text(record(text), encoding="utf-8")
