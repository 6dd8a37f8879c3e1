"""The exact judge: best responses, exploitability and expected values in the unreduced game.

It shares no code with the solvers; :mod:`solver.judge.history_walk` is its own walk over the game.
"""

from solver.judge.exact import (
    MAX_SETUPS,
    BestResponse,
    Evaluation,
    best_response,
    evaluate,
    exploitability,
    is_feasible,
)

__all__ = [
    "MAX_SETUPS",
    "BestResponse",
    "Evaluation",
    "best_response",
    "evaluate",
    "exploitability",
    "is_feasible",
]
