"""Looking back at finished games: what every decision cost, and how the setups rank.

Each decision is put to :func:`solver.advice.query` as the player saw it, so its values and its
posterior are those of advice then.  Its loss is the value of the better action less that of the
one taken.  Where values are sampled, the better of two close ones is partly luck, and losses are a
little high; ``loss_ci95`` tells how far.  Where players may choose how to pay, each way to pay is
an action of its own, and so the better action may be to pay otherwise.  :mod:`solver.advice.rank`
ranks the setups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solver.advice.advice import Advice, Taken
from solver.advice.answer import DEFAULT_SAMPLES, query
from solver.advice.interval import mean_interval
from solver.advice.rank import Field, Standing, rank_setup, same_margin
from solver.record import Choice, Entry, Record, format_record
from solver.rules import FOLD, Game, utility
from solver.strategy import Strategy

__all__ = ["GameReview", "PlayerSum", "ReviewedDecision", "Summary", "review_game", "summarise"]

NUM_WORST = 10
"""Decisions that a summary lists."""

_TIE = 1e-12
"""Values that differ by less are equal."""


@dataclass(frozen=True)
class ReviewedDecision:
    """A decision of a finished game.

    Attributes
    ----------
    slot, player : int
        Where and whose, from 1.
    tile, stack, opponent_stack : int
        The player's tile and chips there, and the opponent's chips.
    played : {'match', 'fold'}
        What was done.
    pulls : dict of int to int
        What a match took off each later slot, counted from 1; winnings paid the rest.
    loss : float
        Value of the better action less that of the one played; 0 if they are equal.
    loss_ci95 : tuple of float or None
        95% confidence interval of the loss where values were sampled; it has no part below 0.
    advice : Advice
        What could be known then; its first action is the better one.
    """

    slot: int
    player: int
    tile: int
    stack: int
    opponent_stack: int
    played: Literal["match", "fold"]
    pulls: dict[int, int]
    loss: float
    loss_ci95: tuple[float, float] | None
    advice: Advice

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON, those of the advice among them."""
        own = {name: value for name, value in vars(self).items() if name != "advice"}
        interval = None if self.loss_ci95 is None else list(self.loss_ci95)
        advice = self.advice.to_json()
        del advice["reason"]
        own["pulls"] = {str(slot): chips for slot, chips in self.pulls.items()}
        return own | {"loss_ci95": interval, "best": advice.pop("decision")} | advice


@dataclass(frozen=True)
class GameReview:
    """A reviewed game.

    Attributes
    ----------
    line : int
        Where the game starts in its file.
    record : Record
        The game.
    winnings : tuple of int
        What players 1 and 2 ended with.
    utilities : tuple of float
        The same as utilities.
    decisions : tuple of ReviewedDecision
        Those of the players asked for, in order.
    losses : dict of int to float
        Sum of the losses of each player asked for, by player from 1.
    standings : dict of int to Standing
        How their setups rank.
    """

    line: int
    record: Record
    winnings: tuple[int, int]
    utilities: tuple[float, float]
    decisions: tuple[ReviewedDecision, ...]
    losses: dict[int, float]
    standings: dict[int, Standing]

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON."""
        return {
            "line": self.line,
            "record": format_record(self.record),
            "winnings": list(self.winnings),
            "utilities": list(self.utilities),
            "decisions": [decision.to_json() for decision in self.decisions],
            "losses": {str(player): loss for player, loss in self.losses.items()},
            "setups": [
                {"player": player, "setup": str(self.record.setups[player - 1])} | place.to_json()
                for player, place in self.standings.items()
            ],
        }


@dataclass(frozen=True)
class PlayerSum:
    """What a player lost over all games.

    Attributes
    ----------
    player : int
        From 1.
    decisions, mistakes : int
        Decisions, and those of them that lost more than :func:`solver.advice.rank.same_margin`.
    loss, mean_loss : float
        Sum of the losses, and the same a game.
    mean_loss_ci95 : tuple of float or None
        95% confidence interval of ``mean_loss`` over games like these (Student's t), without its
        part below 0, where no loss is; None for one.
    """

    player: int
    decisions: int
    mistakes: int
    loss: float
    mean_loss: float
    mean_loss_ci95: tuple[float, float] | None

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON."""
        interval = None if self.mean_loss_ci95 is None else list(self.mean_loss_ci95)
        return vars(self) | {"mean_loss_ci95": interval}


@dataclass(frozen=True)
class Summary:
    """What reviews add up to.

    Attributes
    ----------
    games, decisions : int
        How many.
    players : tuple of PlayerSum
        The players asked for.
    worst : tuple of (int, ReviewedDecision)
        The line of the game and the decision, the greatest loss first: mistakes only.
    """

    games: int
    decisions: int
    players: tuple[PlayerSum, ...]
    worst: tuple[tuple[int, ReviewedDecision], ...]

    def to_json(self) -> dict[str, object]:
        """Return the fields as plain values for JSON."""
        names = ("slot", "player", "played", "loss")
        return {
            "games": self.games,
            "decisions": self.decisions,
            "players": [player.to_json() for player in self.players],
            "worst": [
                {"line": line} | {name: getattr(decision, name) for name in names}
                for line, decision in self.worst
            ],
        }


def review_game(
    strategy: Strategy,
    entry: Entry,
    game: Game,
    field: Field,
    *,
    players: Sequence[int] = (1, 2),
    samples: int = DEFAULT_SAMPLES,
    seed: int = 0,
    visits: NDArray[np.int64] | NDArray[np.float64] | None = None,
) -> GameReview:
    """Look back at a game against opponents who play ``strategy``.

    Parameters
    ----------
    strategy : Strategy
        For both players what the other one is taken to play.
    entry : Entry
        The game, and its line.
    game : Game
        Its ``pulls`` say how the players could pay; see :func:`solver.advice.query`.
    field : Field
        From :func:`solver.advice.rank.new_field`, for the same strategy.
    players : sequence of int
        Whose decisions and setups, from 1.
    samples, seed, visits
        As for :func:`solver.advice.query`.

    Raises
    ------
    InputError
        If an argument is outside its range.

    Examples
    --------
    >>> from solver.advice.rank import new_field
    >>> from solver.bots import make_bot
    >>> from solver.record import parse_records
    >>> game = Game(2, 3)
    >>> bot = make_bot("bot:random", game)
    >>> [entry] = parse_records(game, "1:2,0:1 1:1,0:2 w1f b2=0")
    >>> found = review_game(bot, entry, game, new_field(bot, game))
    >>> [(d.slot, d.player, d.played, d.loss) for d in found.decisions]
    [(1, 2, 'fold', 0.5), (2, 1, 'match', 0.0)]
    """
    record = entry.record
    decisions = []
    for choice in record.choices():
        if choice.player + 1 in players:
            situation = record.situation(choice.player, choice.slot)
            taken = _taken(record, choice)
            advice = query(
                strategy, situation, game, samples=samples, seed=seed, visits=visits, taken=taken
            )
            decisions.append(_judge(record, choice, taken, advice))
    first, second = (int(chips) for chips in record.boards()[-1].winnings)
    return GameReview(
        line=entry.line,
        record=record,
        winnings=(first, second),
        utilities=(
            float(utility(first, game.num_chips, game.is_win)),
            float(utility(second, game.num_chips, game.is_win)),
        ),
        decisions=tuple(decisions),
        losses={p: math.fsum(d.loss for d in decisions if d.player == p) for p in players},
        standings={p: rank_setup(field, record.setups[p - 1]) for p in players},
    )


def summarise(reviews: Iterable[GameReview], *, players: Sequence[int] = (1, 2)) -> Summary:
    """Return what reviews add up to, for the players that they were made for."""
    reviews = list(reviews)
    every = [(review.line, decision) for review in reviews for decision in review.decisions]
    mistakes = [
        (review.line, decision)
        for review in reviews
        for decision in review.decisions
        if decision.loss > same_margin(review.record.game)
    ]
    mistakes.sort(key=lambda one: -one[1].loss)
    sums = []
    for player in players:
        own = [decision for _, decision in every if decision.player == player]
        losses = np.array([review.losses[player] for review in reviews])
        mean = float(losses.mean()) if len(losses) else 0.0
        interval = _loss_interval(losses) if len(losses) > 1 else None
        num_mistakes = sum(decision.player == player for _, decision in mistakes)
        sums.append(PlayerSum(player, len(own), num_mistakes, float(losses.sum()), mean, interval))
    return Summary(len(reviews), len(every), tuple(sums), tuple(mistakes[:NUM_WORST]))


def _loss_interval(losses: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95% interval of a mean loss, cut off at 0."""
    low, high = mean_interval(losses)
    return max(low, 0.0), high


def _taken(record: Record, choice: Choice) -> Taken:
    """Return what was done, and how a match was paid."""
    slot, player, action = choice
    before, after = (board.chips[player] for board in record.boards()[slot : slot + 2])
    pulled = (before - after)[slot + 1 :]
    pulls = {slot + 2 + k: int(chips) for k, chips in enumerate(pulled) if chips}
    return Taken("fold" if action == FOLD else "match", pulls)


def _judge(record: Record, choice: Choice, taken: Taken, advice: Advice) -> ReviewedDecision:
    """Return what a decision cost by the advice on it."""
    slot, player, _ = choice
    board = record.boards()[slot]
    own = next(one for one in advice.actions if (one.action, one.pulls) == taken)
    loss = advice.actions[0].value - own.value
    return ReviewedDecision(
        slot=slot + 1,
        player=player + 1,
        tile=int(board.tiles[player, slot]),
        stack=int(board.chips[player, slot]),
        opponent_stack=int(board.chips[1 - player, slot]),
        played=taken.action,
        pulls=taken.pulls,
        loss=loss if loss > _TIE else 0.0,
        loss_ci95=advice.loss_ci95,
        advice=advice,
    )
