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

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.abstraction import decision_key
from solver.advice.advice import ActionValue, Advice, Payments, Taken
from solver.advice.ending import resolve_decision
from solver.advice.interval import mean_interval
from solver.advice.mixture import Posterior, mix_posteriors, tile_probs
from solver.advice.opponent import TABLE, Observed, Opponent
from solver.advice.pay_reply import best_pay_reply, weigh_paying
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
from solver.advice.ways import count_payments
from solver.payments import list_payments
from solver.rules import (
    CHOICE,
    FOLD,
    FORCED_FOLD,
    LATEST,
    MATCH,
    SHOW,
    Board,
    Game,
    InputError,
    classify,
)
from solver.setups import count_setups
from solver.situation import Situation
from solver.strategy import (
    EXACT,
    FROM_COARSER,
    FROM_ENDING,
    FROM_LOCK,
    FROM_NOTHING,
    KEYED,
    LISTED,
    Strategy,
    check_fits,
    find_infostate,
    make_strategy,
    match_prob,
    pay_probs,
)

__all__ = ["ACTION_NAMES", "DEFAULT_SAMPLES", "query"]

EXACT_LIMIT = 20_000
"""Most holdings of the opponent for which the best response is computed exactly."""
MOST_WAYS = 2_000
"""Most ways to pay for which it is, where I may choose among them."""
VISIT_LIMIT = 1_000_000
"""Most holdings visited for it then, counted at every position."""

DEFAULT_SAMPLES = 8_000
"""Draws where values are sampled: a tenth of a second at most."""
_LEARNING_ALLOWANCE = 0.5
"""Share of its distance by which an interval's upper end is raised; see :func:`_interval`."""

ACTION_NAMES = {FOLD: "fold", MATCH: "match"}
"""Actions as texts and JSON call them."""


def query(
    strategy: Strategy,
    situation: Situation,
    game: Game,
    *,
    opponent: Opponent | None = None,
    samples: int = DEFAULT_SAMPLES,
    seed: int = 0,
    visits: NDArray[np.int64] | NDArray[np.float64] | None = None,
    is_resolving: bool = False,
    taken: Taken | None = None,
) -> Advice:
    """Return advice for a situation to a player of ``strategy``.

    Parameters
    ----------
    strategy : Strategy
        Mine: where values are sampled, what my later decisions are when nothing better was learned.
    situation : Situation
        Mine, in ``game``.
    game : Game
        Its ``pulls`` say how I may pay.  The opponent pays as its strategy does: by the default
        rule, unless that was made for the same ``pulls``.
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
    taken : Taken, optional
        The action that I took: it is among those that are valued, however many ways to pay there
        are, and ``loss_ci95`` is about it.

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
    if situation.game != game:
        raise InputError(f"situation of {situation.game}: {game} was asked for")
    if opponent is None:
        opponent = Opponent(TABLE, strategy)
    for one in (strategy, opponent.strategy):
        check_fits(one, replace(game, pulls="latest") if one.pulls == LATEST else game)
    if samples < 1:
        raise InputError(f"samples {samples}: draw at least 1")
    board = situation.board()
    slot = situation.slot
    found = _find_posterior(opponent, situation, game)
    posterior, notes = found.posterior, [found.note] if found.note else []
    kind, player = classify(board, slot)
    is_mine = player == 0
    own_match, own_visits = 0.0, None
    if kind == CHOICE and is_mine:
        own_match, source = match_prob(strategy, board, slot, 0)
        if source not in (FROM_ENDING, FROM_LOCK):
            own_visits = _visits_of(strategy, board, slot, visits)
        if source == FROM_COARSER:
            notes.append("the table never met my infostate and answers from a coarser one")
        elif source == FROM_NOTHING:
            notes.append("the table has no answer for my infostate and folds")
    plays = opponent.strategy
    if plays.pulls == LATEST and any(e.opponent_pulled is not None for e in situation.events):
        notes.append("the opponent paid as the table never does: taken to be off its latest tiles")
    if plays.pulls == LATEST and plays.decision_kind == EXACT and game.pulls == "free":
        notes.append("the table has no answers to other payments than the default rule's")
    method = "exact" if found.is_exact else "exact for a nearly exact posterior"
    ci95, loss_ci95 = None, None
    actions: tuple[ActionValue, ...] = ()
    payments = None
    if is_mine:
        valued = _value_exactly(plays, board, slot, posterior, game)
        if valued is None:
            rng = np.random.default_rng(seed)
            valued, batches, method = _value_by_draws(
                strategy, opponent, found, board, slot, game, samples, rng, taken
            )
            ci95 = valued.intervals[valued.best] if valued.intervals else None
            if taken is not None and len(valued.ways):
                loss_ci95 = _loss_interval(valued, batches, taken)
        probs = _own_probs(strategy, board, slot, valued.ways, own_match)
        actions = _action_values(valued, probs)
        if kind == CHOICE and game.pulls != "latest":
            payments = _payments_of(board, slot, game, valued)
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
        loss_ci95=loss_ci95,
        payments=payments,
        opponent=opponent.name,
        observed=_observed_json(opponent.observed, found.share),
        resolved=resolved,
    )


class _Found(NamedTuple):
    """What the opponent may hold, and how that was found."""

    posterior: Posterior
    setups: Strategy  # what setups that are not listed were drawn from
    share: float  # probability that its setup is one of those observed
    is_exact: bool  # else past decisions of the opponent were weighed without its fine keys
    note: str | None  # what had to be assumed


def _find_posterior(opponent: Opponent, situation: Situation, game: Game) -> _Found:
    """Return what the opponent may hold.

    By the first of three readings that leaves anything possible: what the opponent is said to
    play, its setups alone, all setups alike.
    """
    plays = opponent.strategy
    uniform = make_strategy(game.num_tiles, game.num_chips, game.is_win)
    who = "the table" if opponent.name == TABLE else opponent.name
    has_decided = any(
        classify(board, slot) == (CHOICE, 1) for slot, board in enumerate(situation.boards()[:-1])
    )
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
            listed = Holdings(observed.tiles, observed.chips, observed.probs)
            seen = _weigh_listed(listed, decisions, situation)
            posterior, share = mix_posteriors(drawn, seen, observed.share)
        if len(posterior.weights):
            is_filtered = setups.setup_kind != LISTED and count_setups(game) > EXACT_LIMIT
            is_fine = decisions is not None and len(decisions.fine_keys) > 0
            is_exact = not (is_filtered and is_fine and has_decided)
            return _Found(posterior, setups, share, is_exact, note)
    raise AssertionError("a situation that was read fits some setup")


def _observed_json(observed: Observed | None, share: float) -> dict[str, float] | None:
    """Return what the answer says of observed setups."""
    if observed is None:
        return None
    return {"sightings": round(observed.total), "prior": observed.prior, "probability": share}


def _posterior_under(
    decisions: Strategy | None, setups: Strategy, situation: Situation, game: Game
) -> Holdings | Remainders:
    """Return the posterior under one reading, as a list where that is short enough."""
    listed = list_strategy_setups(setups, game, EXACT_LIMIT)
    if listed is not None:
        return _weigh_listed(listed, decisions, situation)
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


def _weigh_listed(listed: Holdings, decisions: Strategy | None, situation: Situation) -> Holdings:
    """Return which of some setups may have been placed, and how they stand now."""
    setups = listed[:3]
    if decisions is not None and decisions.pulls != LATEST:
        return weigh_paying(situation, decisions, *setups)
    return weigh_setups(situation, decisions, *setups)


def _tile_probs(posterior: Posterior, situation: Situation) -> dict[int, float]:
    """Return the probability of each number that the faced tile can be."""
    seen = {event.number for event in situation.events}
    probs = tile_probs(posterior, situation.slot, situation.game.num_tiles)
    candidates = range(situation.facing.colour, situation.game.num_tiles, 2)
    return {tile: float(probs[tile]) for tile in candidates if tile not in seen}


class _Valued(NamedTuple):
    """What my actions are worth: fold, then each way to pay, the default rule's first."""

    ways: NDArray[np.int64]  # (ways, N), what each takes off each tile; none if I must fold
    outcomes: NDArray[np.float64]  # (1 + ways, 4), as best_reply gives them
    intervals: tuple[tuple[float, float], ...] | None  # 95%, where they were sampled
    default_cost_ci95: tuple[float, float] | None
    num_tried: int

    @property
    def best(self) -> int:
        """The best action; of equals the first."""
        return int((np.round(self.outcomes[:, VALUE], 12)).argmax())


def _value_exactly(
    strategy: Strategy, board: Board, slot: int, posterior: Posterior, game: Game
) -> _Valued | None:
    """Return the values of a best response from here on; None where that is too much work."""
    if not isinstance(posterior, Holdings) or len(posterior.weights) > EXACT_LIMIT:
        return None
    if game.pulls == "latest" and strategy.pulls == LATEST:
        is_open = classify(board, slot)[0] == CHOICE
        ways = list_payments(board, 0, slot, LATEST)[: int(is_open)]
        outcomes = best_reply(strategy, board, slot, posterior)[: 1 + len(ways)]
        return _Valued(ways, outcomes, None, None, len(ways))
    is_payer = strategy.pulls != LATEST  # its payments cannot be sampled
    if not is_payer and count_payments(board, slot, game.pulls_code) > MOST_WAYS:
        return None
    limit = None if is_payer else VISIT_LIMIT
    found = best_pay_reply(strategy, board, slot, posterior, game.pulls_code, limit=limit)
    return None if found is None else _Valued(*found, None, None, len(found[0]))


def _value_by_draws(
    strategy: Strategy,
    opponent: Opponent,
    found: _Found,
    board: Board,
    slot: int,
    game: Game,
    samples: int,
    rng: np.random.Generator,
    taken: Taken | None,
) -> tuple[_Valued, NDArray[np.float64], str]:
    """Return sampled values, the mean value of each action in each batch, and how it was done."""
    reply = sampled_reply(
        opponent.strategy,
        found.setups,
        board,
        slot,
        found.posterior,
        samples=samples,
        rng=rng,
        own=strategy,
        pulls=game.pulls_code,
        also=None if taken is None else _way_of(taken, game),
    )
    batches, num = reply.batches, reply.num_draws
    intervals = tuple(_interval(column, num, game) for column in batches.T)
    cost_ci95 = None
    if len(reply.ways):
        better = 1 + int(reply.outcomes[1:, VALUE].argmax())
        cost_ci95 = mean_interval(batches[:, better] - batches[:, 1])
    valued = _Valued(reply.ways, reply.outcomes, intervals, cost_ci95, reply.num_tried)
    sharp = "exact" if found.is_exact else "nearly exact"
    mine = "learned on separate draws" if reply.is_learned[valued.best] else "the table's own"
    return valued, batches, f"sampled: {sharp} posterior, {num} draws, my later decisions {mine}"


def _interval(batches: NDArray[np.float64], num_draws: int, game: Game) -> tuple[float, float]:
    """Return a 95% confidence interval of what playing on well is worth.

    Two things are added to that of the mean.  Decisions learned on more draws would be better ones,
    by half a standard error on average for the share of draws that are learned on, so the upper
    end is raised by half its distance (``tests/benchmarks/advice.py`` counts what that covers).
    And what happens in none of n draws has a probability below 3 / n with 95% confidence.
    """
    low, high = mean_interval(batches)
    most = 1.0 if game.is_win else float(game.num_chips)
    unmet = 3.0 / num_draws * 2 * most
    mean = (low + high) / 2
    high += (high - mean) * _LEARNING_ALLOWANCE
    return max(min(low, mean - unmet), -most), min(max(high, mean + unmet), most)


def _loss_interval(
    valued: _Valued, batches: NDArray[np.float64], taken: Taken
) -> tuple[float, float]:
    """Return the interval of what the best other action is worth above the one taken."""
    pulls = [{}, *(_pulls_of(way) for way in valued.ways)]
    own = FOLD if taken.action == ACTION_NAMES[FOLD] else 1 + pulls[1:].index(taken.pulls)
    others = valued.outcomes[:, VALUE].copy()
    others[own] = -np.inf
    low, high = mean_interval(batches[:, int(others.argmax())] - batches[:, own])
    return max(low, 0.0), max(high, 0.0)


def _way_of(taken: Taken, game: Game) -> NDArray[np.int64] | None:
    """Return what a match took off each tile; None for a fold."""
    if taken.action == ACTION_NAMES[FOLD]:
        return None
    way = np.zeros(game.num_tiles, np.int64)
    for slot, chips in taken.pulls.items():
        way[slot - 1] = chips
    return way


def _own_probs(
    strategy: Strategy, board: Board, slot: int, ways: NDArray[np.int64], match: float
) -> list[float]:
    """Return how often the strategy folds, and pays in each of the ways."""
    known = list_payments(board, 0, slot, strategy.pulls) if len(ways) else ways
    given = np.zeros(len(known))
    if len(ways):
        pay_probs(strategy, board, slot, 0, given)
    shares = {tuple(way): prob for way, prob in zip(known.tolist(), given.tolist(), strict=True)}
    return [1.0 - match, *(match * shares.get(tuple(way), 0.0) for way in ways.tolist())]


def _action_values(valued: _Valued, own_probs: list[float]) -> tuple[ActionValue, ...]:
    """Return the actions, better first; of equals the one that the table takes more."""
    actions = []
    for number, (outcome, prob) in enumerate(zip(valued.outcomes, own_probs, strict=True)):
        value, win, draw, loss = (float(x) for x in outcome)
        pulls = {} if number == FOLD else _pulls_of(valued.ways[number - 1])
        ci95 = None if valued.intervals is None else valued.intervals[number]
        name = ACTION_NAMES[min(number, MATCH)]
        actions.append(ActionValue(name, pulls, value, win, draw, loss, float(prob), ci95))  # type: ignore[arg-type]
    return tuple(sorted(actions, key=lambda a: (-round(a.value, 12), -a.table_probability)))


def _pulls_of(way: NDArray[np.int64]) -> dict[int, int]:
    """Return what a way to pay takes off later tiles, by slot from 1."""
    return {slot + 1: int(chips) for slot, chips in enumerate(way) if chips}


def _payments_of(board: Board, slot: int, game: Game, valued: _Valued) -> Payments:
    """Return what is to be said of the ways to pay."""
    values = valued.outcomes[1:, VALUE]
    return Payments(
        ways=count_payments(board, slot, game.pulls_code),
        tried=valued.num_tried,
        valued=len(valued.ways),
        default=_pulls_of(valued.ways[0]),
        default_cost=float(values.max() - values[0]),
        default_cost_ci95=valued.default_cost_ci95,
    )


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
