"""Advice in a situation: what the opponent may hold, and what matching and folding are worth.

:mod:`solver.advice.posterior` works out what may be held, :mod:`solver.advice.reply` the best
continuation exactly, :mod:`solver.advice.sampled_reply` by sampling; :mod:`solver.advice.answer`
answers.
"""

from solver.advice.answer import ActionValue, Advice, query

__all__ = ["ActionValue", "Advice", "query"]
