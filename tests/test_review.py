"""Reviews of finished games, held to a plain enumeration and to the exact judge."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from random_strategies import random_strategy
from test_query import keyed_strategy
from test_record import random_record

from solver.advice import new_field, query, rank, rank_setup, review_game, summarise
from solver.advice.advice import Taken
from solver.bots import make_bot
from solver.judge import best_response
from solver.record import Entry, parse_record
from solver.rules import MATCH, Game, InputError
from solver.setups import Setup, list_setups
from solver.strategy import LISTED, setup_prob
from solver.table import load_table

THREE = Game(3, 6)
RESULTS = Path(__file__).parents[1] / "results"


def review(strategy, line, game, **options):
    field = new_field(strategy, game)
    return review_game(strategy, Entry(1, parse_record(game, line)), game, field, **options)


def plain_values(strategy: naive.Strategy, record, choice) -> list[float] | None:
    """Return what fold and match are worth at a decision, by recursion over the naive rules.

    None if the strategy never leads there.
    """
    slot, player, _ = choice
    fixed = {1 - player: strategy}
    mine = (record.setups[player].tiles, record.setups[player].chips)
    truth = naive.start(*((s.tiles, s.chips) for s in record.setups))
    path = []
    for s in range(slot):
        acts = naive.decider(truth) is not None and record.moves[s].number is not None
        path.append(acts)
        truth = naive.play(truth, naive.choices(truth, "latest")[1] if acts else None)
    here = naive.infostate(truth, player)
    positions = []
    for theirs, prior in strategy.setups.items():
        state = naive.start(mine, theirs) if player == 0 else naive.start(theirs, mine)
        prob = prior
        for acts in path:
            who = naive.decider(state)
            if who is None or (who == player and len(naive.choices(state, "latest")) < 2):
                state = naive.play(state)
                continue
            if who != player:
                prob *= naive.choice_probs(strategy, state, "latest")[int(acts)]
            state = naive.play(state, naive.choices(state, "latest")[int(acts)])
        if prob > 0 and naive.decider(state) == player and naive.infostate(state, player) == here:
            positions.append((state, prob))
    if not positions:
        return None

    def best(group: list) -> float:
        total, split = 0.0, defaultdict(list)
        for position, prob in group:
            for state, chance in naive.outcomes(position, prob, fixed):
                if naive.is_over(state):
                    total += naive.payoff(state, player) * chance
                else:
                    split[naive.infostate(state, player)].append((state, chance))
        return total + sum(max(after(same, action) for action in (0, 1)) for same in split.values())

    def after(group: list, action: int) -> float:
        return best([(naive.play(s, naive.choices(s, "latest")[action]), p) for s, p in group])

    reach = sum(prob for _, prob in positions)
    return [after(positions, action) / reach for action in (0, 1)]


@pytest.mark.parametrize("kinds", [("listed", "exact"), ("uniform", "keyed")])
def test_loss_is_the_difference_of_exact_values(kinds):
    rng = np.random.default_rng(3)
    strategy = random_strategy(THREE, rng, *kinds)
    plain, field = naive_strategy(strategy, THREE), new_field(strategy, THREE)
    compared = 0
    for _ in range(40):
        record, _, choices = random_record(THREE, rng)
        found = review_game(strategy, Entry(1, record), THREE, field)
        assert [(d.slot - 1, d.player - 1) for d in found.decisions] == [c[:2] for c in choices]
        for choice, decision in zip(choices, found.decisions, strict=True):
            values = plain_values(plain, record, choice)
            if values is None:
                assert not decision.advice.known
                continue
            compared += 1
            got = {one.action: one.value for one in decision.advice.actions}
            assert [got["fold"], got["match"]] == pytest.approx(values, abs=1e-9)
            assert decision.loss == pytest.approx(max(values) - values[choice[2]], abs=1e-9)
            assert decision.loss_ci95 is None
        assert found.losses == {
            p: pytest.approx(sum(d.loss for d in found.decisions if d.player == p)) for p in (1, 2)
        }
    assert compared > 20


def test_better_value_in_slot_1_is_the_judges_best_response():
    strategy = random_strategy(THREE, np.random.default_rng(5), "listed", "exact")
    rng = np.random.default_rng(6)
    compared = 0
    while compared < 10:
        record, _, choices = random_record(THREE, rng)
        if not choices or choices[0][0] != 0:
            continue
        player = choices[0][1]
        faced, stack = record.situation(player, 0).facing
        alike = (strategy.setup_tiles[:, 0] % 2 == faced) & (strategy.setup_chips[:, 0] == stack)
        if not alike.any():
            continue
        compared += 1
        probs = np.cumsum(np.diff(strategy.setup_cumulative, prepend=0.0)[alike])
        posterior = strategy._replace(
            setup_tiles=strategy.setup_tiles[alike],
            setup_chips=strategy.setup_chips[alike],
            setup_cumulative=probs / probs[-1],
        )
        values = best_response(posterior, THREE).setup_values
        mine = record.setups[player]
        tiles, chips = list_setups(THREE)
        place = np.flatnonzero((tiles == mine.tiles).all(1) & (chips == mine.chips).all(1))[0]
        found = review_game(strategy, Entry(1, record), THREE, new_field(strategy, THREE))
        decision = found.decisions[0]
        better = max(one.value for one in decision.advice.actions)
        assert better == pytest.approx(values[place], abs=1e-9)


def test_moves_and_setups_of_an_equilibrium_lose_nothing():
    table = load_table(RESULTS / "3x6")
    field = new_field(table.strategy, THREE)
    rng = np.random.default_rng(0)
    games = []
    for _ in range(100):
        record, _, _ = random_record(THREE, rng, table.strategy)
        games.append(review_game(table.strategy, Entry(1, record), THREE, field))
    for game in games:
        for decision in game.decisions:
            played = next(a for a in decision.advice.actions if a.action == decision.played)
            if played.table_probability > 0.02:
                assert decision.loss < 5e-3
        for standing in game.standings.values():
            if standing.table_probability > 0.01:
                assert abs(standing.value) < 1e-4
    summary = summarise(games)
    assert summary.decisions > 50
    for player in summary.players:
        assert player.mean_loss < 1e-3


@pytest.mark.parametrize("kinds", [("listed", "exact"), ("memoryless", "keyed")])
def test_setups_are_worth_what_the_judge_says(kinds):
    strategy = random_strategy(THREE, np.random.default_rng(2), *kinds)
    field = new_field(strategy, THREE)
    values = best_response(strategy, THREE).setup_values
    tiles, chips = list_setups(THREE)
    prior = np.array([setup_prob(strategy, t, c) for t, c in zip(tiles, chips, strict=True)])
    for row in range(0, len(tiles), 7):
        standing = rank_setup(field, Setup(tuple(tiles[row].tolist()), tuple(chips[row].tolist())))
        assert standing.value == pytest.approx(values[row], abs=1e-6)
        assert standing.table_probability == pytest.approx(prior[row])
        assert standing.table_value == pytest.approx(prior @ values, abs=1e-6)
        worse = prior[values < values[row] - 1e-4].sum()
        assert standing.share_worse == pytest.approx(worse, abs=1e-6)
        assert standing.ci95 is None
        assert standing.method.startswith("exact")


def test_sampled_values_of_setups_agree_with_exact_play(monkeypatch):
    strategy = keyed_strategy(THREE)
    monkeypatch.setattr(rank, "MAX_PAIRS", 0)
    field = new_field(strategy, THREE, seed=1)
    plain = naive_strategy(strategy, THREE)
    setup = Setup((1, 0, 2), (2, 1, 3))
    standing = rank_setup(field, setup)
    alone = plain._replace(setups={(setup.tiles, setup.chips): 1.0})
    low, high = standing.ci95
    assert low - 0.01 < naive.expected_value(alone, plain) < high + 0.01
    assert abs(standing.table_value) < 0.1
    assert 0 <= standing.share_worse_ci95[0] <= standing.share_worse <= standing.share_worse_ci95[1]
    assert standing.share_worse + standing.share_better <= 1
    assert standing.method.startswith("sampled")
    again = rank_setup(new_field(strategy, THREE, seed=1), setup)
    assert again == standing


def test_sampled_reviews_say_how_sure_they_are(monkeypatch):
    monkeypatch.setattr("solver.advice.answer.EXACT_LIMIT", 10)
    game = Game(4, 8)
    strategy = keyed_strategy(game)
    field = new_field(strategy, game)
    rng = np.random.default_rng(1)
    num_sampled = 0
    for _ in range(8):
        record, _, _ = random_record(game, rng)
        found = review_game(strategy, Entry(1, record), game, field, samples=2000, seed=4)
        again = review_game(strategy, Entry(1, record), game, field, samples=2000, seed=4)
        assert again.to_json() == found.to_json()
        for decision in found.decisions:
            where = record.situation(decision.player - 1, decision.slot - 1)
            taken = Taken(decision.played, decision.pulls)
            again = query(strategy, where, game, samples=2000, seed=4, taken=taken)
            assert again == decision.advice
            if decision.advice.method.startswith("sampled"):
                num_sampled += 1
                low, high = decision.loss_ci95
                assert 0 <= low <= decision.loss <= high
            else:
                assert decision.loss_ci95 is None
    assert num_sampled > 3


def test_one_player_is_reviewed_when_asked():
    bot = make_bot("bot:random", THREE)
    line = "1:1,2:3,0:2 0:3,1:1,2:2 b3F w1=1 b2=2"
    both = review(bot, line, THREE)
    first = review(bot, line, THREE, players=(1,))
    assert {d.player for d in both.decisions} == {1, 2}
    assert first.decisions == tuple(d for d in both.decisions if d.player == 1)
    assert list(first.losses) == list(first.standings) == [1]
    assert both.winnings == (6, 6)
    assert both.utilities == (0.0, 0.0)


def test_summary_adds_games_up():
    bot = make_bot("bot:random", THREE)
    field = new_field(bot, THREE)
    rng = np.random.default_rng(9)
    games = [
        review_game(bot, Entry(line, random_record(THREE, rng)[0]), THREE, field)
        for line in range(1, 31)
    ]
    summary = summarise(games)
    decisions = [(game.line, d) for game in games for d in game.decisions]
    assert (summary.games, summary.decisions) == (30, len(decisions))
    for player in summary.players:
        losses = [game.losses[player.player] for game in games]
        assert player.loss == pytest.approx(sum(losses))
        assert player.mean_loss == pytest.approx(np.mean(losses))
        low, high = player.mean_loss_ci95
        assert (low + high) / 2 == pytest.approx(player.mean_loss)
        error = np.std(losses, ddof=1) / np.sqrt(30)
        assert (high - low) / 2 == pytest.approx(2.045 * error, rel=1e-3)  # t, 29 degrees
        assert player.decisions == sum(d.player == player.player for _, d in decisions)
    ordered = sorted((d.loss for _, d in decisions), reverse=True)
    assert [d.loss for _, d in summary.worst] == ordered[: len(summary.worst)]
    assert len(summary.worst) == 10
    assert all((line, d) in decisions for line, d in summary.worst)
    assert summarise(games[:1]).players[0].mean_loss_ci95 is None
    two = sorted(games, key=lambda game: game.losses[1])[:: len(games) - 1]
    low, high = summarise(two).players[0].mean_loss_ci95
    assert low == 0.0 < high  # Student's t alone would go below


def test_shares_of_all_setups_add_up_to_one(monkeypatch):
    monkeypatch.setattr(rank, "MAX_PAIRS", 0)
    field = new_field(make_bot("bot:random", THREE), THREE)._replace(values=np.ones(100))
    standing = rank_setup(field, Setup((0, 1, 2), (1, 1, 4)))
    assert (standing.share_worse, standing.share_better) == (0.0, 1.0)


def pulled_by(record, slot, player):
    """What came off the player's later tiles in a slot, by slot from 1."""
    before, after = (record.boards()[s].chips[player].tolist() for s in (slot, slot + 1))
    later = range(slot + 1, len(before))
    return {s + 1: before[s] - after[s] for s in later if before[s] > after[s]}


@pytest.mark.parametrize("pulls", ["tiles", "free"])
def test_loss_counts_the_payment_when_players_may_choose_it(pulls):
    rng = np.random.default_rng(3)
    strategy = random_strategy(THREE, rng, "listed", "exact")
    game, field = Game(3, 6, pulls=pulls), new_field(strategy, THREE)
    num_costly = 0
    for _ in range(60):
        record, _, choices = random_record(game, rng)
        found = review_game(strategy, Entry(1, record), game, field)
        for (slot, player, action), decision in zip(choices, found.decisions, strict=True):
            values = {
                (one.action, str(one.pulls)): one.value
                for one in query(strategy, record.situation(player, slot), game).actions
            }
            pulled = pulled_by(record, slot, player) if action == MATCH else {}
            own = values[("fold", "match")[action], str(pulled)]
            assert decision.loss == pytest.approx(max(values.values()) - own, abs=1e-9)
            best_match = max(value for (name, _), value in values.items() if name == "match")
            num_costly += action == MATCH and best_match > own + 1e-6
    assert num_costly > 1


def test_payment_that_was_made_is_valued_however_many_there_are(monkeypatch):
    monkeypatch.setattr("solver.advice.answer.EXACT_LIMIT", 10)
    monkeypatch.setattr("solver.advice.ways.MOST_VALUED", 2)
    game = Game(5, 20, pulls="free")
    rng = np.random.default_rng(1)
    latest = Game(5, 20)
    strategy = keyed_strategy(latest)
    field = new_field(strategy, latest)
    num_many = 0
    for _ in range(6):
        record, _, choices = random_record(game, rng)
        found = review_game(strategy, Entry(1, record), game, field, samples=500)
        for (slot, player, action), decision in zip(choices, found.decisions, strict=True):
            if action == MATCH:
                assert decision.pulls == pulled_by(record, slot, player)
                num_many += decision.advice.payments.ways > decision.advice.payments.valued
            if decision.loss_ci95 is not None:
                low, high = decision.loss_ci95
                assert 0 <= low <= max(decision.loss, low) <= high
    assert num_many > 2


def test_other_rules_for_paying_are_refused():
    game = Game(3, 6, pulls="free")
    bot = make_bot("bot:random", game)._replace(pulls=2)
    with pytest.raises(InputError, match="'free'"):
        new_field(bot, game)


def test_listed_strategies_of_many_setups_are_sampled(monkeypatch):
    strategy = random_strategy(THREE, np.random.default_rng(2), "listed", "exact")
    assert strategy.setup_kind == LISTED
    monkeypatch.setattr(rank, "MAX_PAIRS", 10)
    assert new_field(strategy, THREE).holdings is None
