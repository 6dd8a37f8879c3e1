"""Advice for a situation: what each action is worth against an opponent who plays a strategy.

The opponent's hidden part is a posterior: the strategy's setups, weighted by the probability of
everything the opponent did.  Where what it may hold can be listed, the values are those of an
exact best response from here on; else they are sampled.  See :mod:`solver.advice.posterior`,
:mod:`solver.advice.reply` and :mod:`solver.advice.sampled_reply`.

Where the strategy never does what the opponent did, the posterior is taken over the strategy's
setups without regard to its decisions; if no such setup fits either, over all setups that fit.

The opponent may play another strategy than mine, and place setups seen of it before; see
:mod:`solver.advice.opponent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import decision_key
from solver.advice.ending import ResolvedDecision, resolve_decision
from solver.advice.interval import mean_interval
from solver.advice.mixture import Posterior, mix_posteriors, tile_probs
from solver.advice.opponent import TABLE, Observed, Opponent
from solver.advice.posterior import (
    Holdings,
    Remainders,
    count_remainders,
    filter_remainders,
    list_remainders,
    list_strategy_setups,
    weigh_setups,
)
from solver.advice.reply import VALUE, best_reply
from solver.advice.sampled_reply import sampled_reply
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    MATCH,
    SHOW,
    Board,
    Game,
    InputError,
    classify,
    pull_latest,
)
from solver.setups import count_setups
from solver.situation import Situation
from solver.strategy import (
    EXACT,
    FROM_COARSER,
    FROM_ENDING,
    FROM_NOTHING,
    KEYED,
    LISTED,
    Strategy,
    check_fits,
    find_infostate,
    make_strategy,
    match_prob,
)

__all__ = ["ActionValue", "Advice", "query"]

EXACT_LIMIT = 20_000
"""Most holdings of the opponent for which the best response is computed exactly."""

_NAMES = {FOLD: "fold", MATCH: "match"}


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
    """

    action: Literal["match", "fold"]
    pulls: dict[int, int]
    value: float
    win: float
    draw: float
    loss: float
    table_probability: float


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
        Every action that I have, better first; for a forced fold that one.
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
    lead_ci95 : tuple of float or None
        The same of what the better action's value is above the other's.
    opponent : str
        Name of the opponent that was assumed; ``table`` for the strategy itself.
    observed : dict of str to float or None
        Where setups seen before count: ``setups``, how many; ``prior``, how many the strategy
        counts for; and ``probability``, how likely the opponent's setup now is one of them.
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
    lead_ci95: tuple[float, float] | None = None
    resolved: ResolvedDecision | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON; ``resolved`` only where there is one."""
        written: dict[str, object] = {
            "decision": self.decision,
            "reason": self.reason,
            "actions": [
                {**vars(action), "pulls": {str(s): chips for s, chips in action.pulls.items()}}
                for action in self.actions
            ],
            "opponent_tile": {str(tile): prob for tile, prob in self.opponent_tile.items()},
            "opponent_left": list(self.opponent_left),
            "known": self.known,
            "visits": self.visits,
            "method": self.method,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "opponent": self.opponent,
            "observed": self.observed,
        }
        if self.resolved is not None:
            written["resolved"] = self.resolved.to_json()
        return written


def query(
    strategy: Strategy,
    situation: Situation,
    game: Game,
    *,
    opponent: Opponent | None = None,
    samples: int = 20_000,
    seed: int = 0,
    visits: NDArray[np.int64] | NDArray[np.float64] | None = None,
    is_resolving: bool = False,
) -> Advice:
    """Return advice for a situation to a player of ``strategy``.

    Parameters
    ----------
    strategy : Strategy
        Mine: where values are sampled, what my later decisions are when nothing better was learned.
    situation : Situation
        Mine, in ``game``.
    game : Game
        With ``pulls='latest'``.
    opponent : Opponent, optional
        What the opponent plays; left out, ``strategy`` as well.
    samples : int
        Draws of what the opponent holds, where that cannot be listed.
    seed : int
        Seed of those draws; the same seed gives the same answer.
    visits : ndarray, shape of ``strategy.match``, optional
        How often the solver met each infostate or key.
    is_resolving : bool
        Whether to solve the rest of the game anew where few slots are left.  The values and the
        decision stay those against the opponent that was named; ``resolved`` says what to play
        against one who may play anything.

    Raises
    ------
    InputError
        If an argument is outside its range.

    Examples
    --------
    >>> from solver.bots import make_bot
    >>> from solver.situation import parse_situation
    >>> game = Game(2, 3)
    >>> situation = parse_situation(game, me="1:2,0:1", history="b1f", facing="w2")
    >>> advice = query(make_bot("bot:random", game), situation, game)
    >>> advice.decision, [(a.action, a.value) for a in advice.actions]
    ('fold', [('fold', 0.0), ('match', -1.0)])
    >>> caller = Opponent("bot:caller", make_bot("bot:caller", game))
    >>> advice = query(make_bot("bot:random", game), situation, game, opponent=caller)
    >>> advice.opponent, advice.known
    ('bot:caller', False)
    """
    if game.pulls != "latest":
        raise InputError(f"pulls {game.pulls!r}: advice is given for latest")
    if situation.game != game:
        raise InputError(f"situation of {situation.game}: {game} was asked for")
    if opponent is None:
        opponent = Opponent(TABLE, strategy)
    for one in (strategy, opponent.strategy):
        check_fits(one, game)
    if samples < 1:
        raise InputError(f"samples {samples}: draw at least 1")
    board = situation.board()
    slot = situation.slot
    found = _find_posterior(opponent, situation, game)
    posterior, notes = found.posterior, [found.note] if found.note else []
    kind, player = classify(board, slot)
    is_mine = player == 0
    own_probs, own_visits = np.array([1.0, 0.0]), None
    if kind == CHOICE and is_mine:
        prob, source = match_prob(strategy, board, slot, 0)
        own_probs = np.array([1.0 - prob, prob])
        own_visits = None if source == FROM_ENDING else _visits_of(strategy, board, slot, visits)
        if source == FROM_COARSER:
            notes.append("the table never met my infostate and answers from a coarser one")
        elif source == FROM_NOTHING:
            notes.append("the table has no answer for my infostate and folds")
    sharp = "exact" if found.is_exact else "nearly exact"
    method = "exact" if found.is_exact else "exact for a nearly exact posterior"
    ci95, lead_ci95 = None, None
    actions: tuple[ActionValue, ...] = ()
    if is_mine:
        if isinstance(posterior, Holdings) and len(posterior.weights) <= EXACT_LIMIT:
            outcomes = best_reply(opponent.strategy, board, slot, posterior)
        else:
            rng = np.random.default_rng(seed)
            reply = sampled_reply(
                opponent.strategy,
                found.setups,
                board,
                slot,
                posterior,
                samples=samples,
                rng=rng,
                own=strategy,
            )
            outcomes = reply.outcomes
            best = int(outcomes[:, VALUE].argmax()) if kind == CHOICE else FOLD
            mine = "learned on separate draws" if reply.is_learned[best] else "the table's own"
            method = (
                f"sampled: {sharp} posterior, {reply.num_draws} draws, my later decisions {mine}"
            )
            ci95 = mean_interval(reply.batches[:, best])
            if kind == CHOICE:
                lead_ci95 = mean_interval(reply.batches[:, best] - reply.batches[:, 1 - best])
        actions = _action_values(situation, outcomes, own_probs, kind == CHOICE)
    resolved = None
    if is_resolving:
        resolved, note = resolve_decision(strategy, situation, game)
        method = f"{method}; {note}" if note else method
    reason: str | None
    if kind == SHOW:
        reason = "equal stacks"
    elif not is_mine:
        reason = "opponent decides"
    else:
        reason = "forced fold" if kind == FORCED_FOLD else None
    seen = {event.number for event in situation.events}
    return Advice(
        decision=actions[0].action if reason is None else "none",
        reason=reason,
        actions=actions,
        opponent_tile=_tile_probs(posterior, situation),
        opponent_left=tuple(tile for tile in range(game.num_tiles) if tile not in seen),
        known=not notes,
        visits=own_visits,
        method="; ".join([method, *notes]),
        ci95=ci95,
        lead_ci95=lead_ci95,
        opponent=opponent.name,
        observed=_observed_json(opponent.observed, found.share),
        resolved=resolved,
    )


class _Found(NamedTuple):
    """What the opponent may hold, and how that was found."""

    posterior: Posterior
    setups: Strategy  # what setups that are not listed were drawn from
    share: float  # probability that its setup is one of those observed
    is_exact: bool  # else fine keys of the opponent's past decisions were left out of account
    note: str | None  # what had to be assumed


def _find_posterior(opponent: Opponent, situation: Situation, game: Game) -> _Found:
    """Return what the opponent may hold.

    By the first of three readings that leaves anything possible: what the opponent is said to
    play, its setups alone, all setups alike.
    """
    plays = opponent.strategy
    uniform = make_strategy(game.num_tiles, game.num_chips, game.is_win)
    who = "the table" if opponent.name == TABLE else opponent.name
    ignored = f"the opponent did what {who} never does: its decisions were ignored"
    unlike = f"{who} never sets up like this: all setups that fit were used alike"
    for decisions, setups, observed, note in (
        (plays, plays, opponent.observed, None),
        (None, plays, opponent.observed, ignored),
        (None, uniform, None, unlike),
    ):
        drawn = _posterior_under(decisions, setups, situation, game)
        posterior: Posterior = drawn
        share = 0.0
        if observed is not None:
            seen = weigh_setups(
                situation, decisions, observed.tiles, observed.chips, observed.probs
            )
            posterior, share = mix_posteriors(drawn, seen, observed.share)
        if len(posterior.weights):
            is_filtered = setups.setup_kind != LISTED and count_setups(game) > EXACT_LIMIT
            is_exact = decisions is None or not len(plays.fine_keys) or not is_filtered
            return _Found(posterior, setups, share, is_exact, note)
    raise AssertionError("a situation that was read fits some setup")


def _observed_json(observed: Observed | None, share: float) -> dict[str, float] | None:
    """Return what the answer says of observed setups."""
    if observed is None:
        return None
    return {"setups": observed.total, "prior": observed.prior, "probability": share}


def _posterior_under(
    decisions: Strategy | None, setups: Strategy, situation: Situation, game: Game
) -> Holdings | Remainders:
    """Return the posterior under one reading, as a list where that is short enough."""
    listed = list_strategy_setups(setups, game, EXACT_LIMIT)
    if listed is not None:
        return weigh_setups(situation, decisions, listed.tiles, listed.chips, listed.weights)
    if decisions is not None and decisions.decision_kind == EXACT:
        raise InputError(
            f"strategy with a decision for each infostate: in {game.name} it needs listed setups"
        )
    remainders = filter_remainders(situation, decisions, setups)
    if not len(remainders.weights):
        return remainders
    if count_remainders(remainders, setups) <= EXACT_LIMIT:
        return list_remainders(remainders, situation, setups)
    return remainders


def _tile_probs(posterior: Posterior, situation: Situation) -> dict[int, float]:
    """Return the probability of each number that the faced tile can be."""
    seen = {event.number for event in situation.events}
    probs = tile_probs(posterior, situation.slot, situation.game.num_tiles)
    candidates = range(situation.facing.colour, situation.game.num_tiles, 2)
    return {tile: float(probs[tile]) for tile in candidates if tile not in seen}


def _action_values(
    situation: Situation, outcomes: NDArray[np.float64], own_probs: NDArray[np.float64], both: bool
) -> tuple[ActionValue, ...]:
    """Return the actions, the better one first; of equals the one that the table takes more."""
    actions = []
    for action in (FOLD, MATCH) if both else (FOLD,):
        value, win, draw, loss = (float(x) for x in outcomes[action])
        pulls = _default_pulls(situation) if action == MATCH else {}
        prob = float(own_probs[action])
        actions.append(ActionValue(_NAMES[action], pulls, value, win, draw, loss, prob))  # type: ignore[arg-type]
    return tuple(sorted(actions, key=lambda a: (-round(a.value, 12), -a.table_probability)))


def _default_pulls(situation: Situation) -> dict[int, int]:
    """Return what a match takes off my later tiles by the default rule, by slot from 1."""
    board, slot = situation.board(), situation.slot
    before = board.chips[0].copy()
    pull_latest(board, 0, slot)
    taken = before - board.chips[0]
    return {s + 1: int(taken[s]) for s in range(len(taken)) if taken[s]}


def _visits_of(
    strategy: Strategy,
    board: Board,
    slot: int,
    visits: NDArray[np.int64] | NDArray[np.float64] | None,
) -> int | float | None:
    """Return how often the solver met my infostate; None if that was not recorded."""
    if visits is None:
        return None
    if strategy.decision_kind == KEYED:
        return visits[decision_key(board, slot, 0, strategy.num_chips)].item()
    if strategy.decision_kind == EXACT:
        row = find_infostate(strategy, board, slot, 0)
        return visits[row].item() if row >= 0 else 0
    return None
