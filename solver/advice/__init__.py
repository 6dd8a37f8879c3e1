"""Advice in a situation: what the opponent may hold, and what matching and folding are worth.

:mod:`solver.advice.posterior` works out what may be held, :mod:`solver.advice.reply` the best
continuation exactly, :mod:`solver.advice.sampled_reply` by sampling; :mod:`solver.advice.answer`
answers, with the fields of :mod:`solver.advice.advice`.  The opponent need not play the table:
:mod:`solver.advice.opponent` says what else, also from setups that were seen
(:mod:`solver.advice.observations`).  :mod:`solver.advice.rank` ranks
setups, :mod:`solver.advice.review` looks back at games.
"""

from solver.advice.advice import ActionValue, Advice, Payments
from solver.advice.answer import query
from solver.advice.observations import SeenSetup, parse_observations
from solver.advice.opponent import DEFAULT_PRIOR, Observed, Opponent, observe_setups
from solver.advice.rank import Field, Standing, new_field, rank_setup
from solver.advice.review import GameReview, Summary, review_game, summarise

__all__ = [
    "DEFAULT_PRIOR",
    "ActionValue",
    "Advice",
    "Field",
    "GameReview",
    "Observed",
    "Opponent",
    "Payments",
    "SeenSetup",
    "Standing",
    "Summary",
    "new_field",
    "observe_setups",
    "parse_observations",
    "query",
    "rank_setup",
    "review_game",
    "summarise",
]
