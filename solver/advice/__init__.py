"""Advice in a situation: what the opponent may hold, and what matching and folding are worth.

:mod:`solver.advice.posterior` works out what may be held, :mod:`solver.advice.reply` the best
continuation exactly, :mod:`solver.advice.sampled_reply` by sampling; :mod:`solver.advice.answer`
answers.  :mod:`solver.advice.rank` ranks setups, :mod:`solver.advice.review` looks back at games.
"""

from solver.advice.answer import ActionValue, Advice, query
from solver.advice.rank import Field, Standing, new_field, rank_setup
from solver.advice.review import GameReview, Summary, review_game, summarise

__all__ = [
    "ActionValue",
    "Advice",
    "Field",
    "GameReview",
    "Standing",
    "Summary",
    "new_field",
    "query",
    "rank_setup",
    "review_game",
    "summarise",
]
