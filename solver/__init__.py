"""Solving Betting Black and White: exact and sampled equilibria, best responses, advice.

The functions of everyday use can be had from here; each is loaded when it is first asked for.

>>> import solver
>>> game = solver.Game.parse("2x3")
>>> solution = solver.solve_exact(game, target=1e-3)
>>> solver.exploitability(solver.strategy_of(solution), game) <= 1e-3
True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "ActionValue": "advice",
    "Advice": "advice",
    "BestResponse": "judge",
    "DrawnSetups": "completion",
    "ExactSolution": "cfr",
    "Game": "rules",
    "GameReview": "advice",
    "InputError": "rules",
    "Lock": "lock",
    "LockedSolution": "cfr",
    "MatchResult": "arena",
    "Opponent": "advice",
    "PartialSetup": "setups",
    "Payments": "advice",
    "Record": "record",
    "SampledLockedSolution": "mccfr",
    "SampledSolution": "mccfr",
    "SearchedResponse": "exploiter",
    "SeatsSolution": "lp",
    "Setup": "setups",
    "Situation": "situation",
    "Strategy": "strategy",
    "Table": "table",
    "best_response": "judge",
    "draw_setups": "completion",
    "evaluate": "judge",
    "exploitability": "judge",
    "format_situation": "situation",
    "load_table": "table",
    "make_bot": "bots",
    "new_field": "advice",
    "observe_setups": "advice",
    "parse_lock": "lock",
    "parse_observations": "advice",
    "parse_record": "record",
    "parse_records": "record",
    "parse_situation": "situation",
    "parse_situation_json": "situation",
    "play_match": "arena",
    "query": "advice",
    "rank_setup": "advice",
    "review_game": "advice",
    "save_table": "table",
    "search_best_response": "exploiter",
    "solve_exact": "cfr",
    "solve_locked": "cfr",
    "solve_locked_sampled": "mccfr",
    "solve_lp": "lp",
    "solve_sampled": "mccfr",
    "solve_seats": "lp",
    "strategy_of": "cfr",
    "summarise": "advice",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'solver' has no attribute {name!r}")
    return getattr(import_module(f"solver.{_HOMES[name]}"), name)
