"""What advice says: the fields of an answer, and the same for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from solver.advice.ending import ResolvedDecision

__all__ = ["ActionValue", "Advice", "Payments", "Taken"]


class Taken(NamedTuple):
    """An action that I took, with its pulls by slot from 1, as in :class:`ActionValue`."""

    action: Literal["match", "fold"]
    pulls: dict[int, int]


@dataclass(frozen=True)
class ActionValue:
    """What an action is worth if I play on as well as I can.

    Attributes
    ----------
    action : {'match', 'fold'}
        The action.
    pulls : dict of int to int
        Chips that come off each later slot, counted from 1; winnings pay the rest.
    value : float
        My utility.
    win, draw, loss : float
        Probabilities; they sum to 1.
    table_probability : float
        How often the strategy itself takes this action.
    ci95 : tuple of float or None
        95% confidence interval of the value where it was sampled.
    """

    action: Literal["match", "fold"]
    pulls: dict[int, int]
    value: float
    win: float
    draw: float
    loss: float
    table_probability: float
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class Payments:
    """The ways in which I may pay a gap.

    Attributes
    ----------
    ways : int
        How many there are.
    tried : int
        How many were compared with each other; the rest were not looked at.
    valued : int
        How many of those are among the actions; the others were worse beyond chance, or not among
        the best.
    default : dict of int to int
        Pulls of the default rule: winnings first, then the latest tiles.
    default_cost : float
        Value of the best way to pay less that of the default rule.
    default_cost_ci95 : tuple of float or None
        95% confidence interval of it where it was sampled.
    """

    ways: int
    tried: int
    valued: int
    default: dict[int, int]
    default_cost: float
    default_cost_ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Advice:
    """The answer to a query.

    Attributes
    ----------
    decision : {'match', 'fold', 'none'}
        The better action, or none where nothing is to be decided.
    reason : str or None
        Why not: equal stacks, opponent decides, forced fold.
    actions : tuple of ActionValue
        Every action that I have, better first; for a forced fold that one.  Of many ways to pay
        those that were valued.
    opponent_tile : dict of int to float
        Probability of each number that the faced tile can be.
    opponent_left : tuple of int
        The opponent's numbers not shown so far.
    known : bool
        Whether the strategy meets this situation; if not, ``method`` says what was used instead.
    visits : int, float or None
        How often the strategy's solver met my infostate, if it was given.
    method : str
        How the values were found.
    ci95 : tuple of float or None
        95% confidence interval of the better action's value where it was sampled.
    loss_ci95 : tuple of float or None
        The same of what the best of the other actions is worth above the one that I took, where
        that was told; no part is below 0.
    opponent : str
        Name of the opponent that was assumed; ``table`` for the strategy itself.
    observed : dict of str to float or None
        Where setups seen before count: ``sightings``, how many there were, one setup maybe often;
        ``prior``, how many the strategy counts for; and ``probability``, how likely the
        opponent's setup now is one of them.
    payments : Payments or None
        The ways to pay, where I may choose among them.
    resolved : ResolvedDecision or None
        What to play where the rest of the game was re-solved, against an opponent who need not play
        the table; see :mod:`solver.advice.ending`.
    """

    decision: Literal["match", "fold", "none"]
    reason: str | None
    actions: tuple[ActionValue, ...]
    opponent_tile: dict[int, float]
    opponent_left: tuple[int, ...]
    known: bool
    visits: int | float | None
    method: str
    ci95: tuple[float, float] | None
    opponent: str
    observed: dict[str, float] | None
    loss_ci95: tuple[float, float] | None = None
    payments: Payments | None = None
    resolved: ResolvedDecision | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON, without ``loss_ci95``.

        ``payments`` and ``resolved`` are there only where they are not None.
        """
        data: dict[str, object] = {
            "decision": self.decision,
            "reason": self.reason,
            "actions": [_action_json(action) for action in self.actions],
            "opponent_tile": {str(tile): prob for tile, prob in self.opponent_tile.items()},
            "opponent_left": list(self.opponent_left),
            "known": self.known,
            "visits": self.visits,
            "method": self.method,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "opponent": self.opponent,
            "observed": self.observed,
        }
        if self.payments is not None:
            cost_ci95 = self.payments.default_cost_ci95
            data["payments"] = {
                **vars(self.payments),
                "default": _keyed(self.payments.default),
                "default_cost_ci95": None if cost_ci95 is None else list(cost_ci95),
            }
        if self.resolved is not None:
            data["resolved"] = self.resolved.to_json()
        return data


def _action_json(action: ActionValue) -> dict[str, object]:
    """Return an action's fields; the interval only where there is one."""
    data = {**vars(action), "pulls": _keyed(action.pulls)}
    interval = data.pop("ci95")
    return data if interval is None else data | {"ci95": list(interval)}


def _keyed(pulls: dict[int, int]) -> dict[str, int]:
    """Return pulls with the slots as JSON wants them."""
    return {str(slot): chips for slot, chips in pulls.items()}
