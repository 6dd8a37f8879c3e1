"""Advice against other opponents, held to the plain reference at infostates drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import naive
import numpy as np
import pytest
from bridge import naive_strategy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_situations import play_some, some_situations
from random_strategies import random_strategy

from solver.advice import (
    Observed,
    Opponent,
    answer,
    observe_setups,
    parse_observations,
    query,
)
from solver.advice.mixture import Mixture, mix_posteriors
from solver.advice.posterior import filter_remainders, weigh_setups
from solver.advice.sampled_reply import sampled_reply
from solver.bots import BOTS, make_bot
from solver.judge import best_response
from solver.memoryless import row_starts
from solver.places import EMPTY
from solver.rules import Game, InputError
from solver.setups import Setup, draw_setup, list_setups
from solver.situation import Event, Facing, Situation, parse_situation
from solver.strategy import LISTED, MEMORYLESS, Strategy, make_strategy, setup_prob
from solver.table import load_table

RESULTS = Path(__file__).parents[1] / "results"


def a_strategy(name: str, game: Game) -> Strategy:
    """Return a bot, a shipped table or a random strategy by name."""
    if name == "table":
        return load_table(RESULTS / game.name).strategy
    if name == "random":
        return random_strategy(game, np.random.default_rng(5), "memoryless", "keyed")
    if name == "locked":
        return random_strategy(game, np.random.default_rng(5), "memoryless", "locked")
    return make_bot(name, game)


def some_observed(game: Game, strategy: Strategy) -> Observed:
    """Return observations of three setups and a half-seen one."""
    rng = np.random.default_rng(2)
    lines = [f"{draw_setup(game, rng)} x{count}" for count in (1, 4, 2)]
    lines.append("b:?,?:2" if game.num_tiles == 3 else "1:?,w:1,?:2")
    return observe_setups(parse_observations("\n".join(lines), game), strategy, game, prior=3.5)


def naive_opponent(opponent: Opponent, game: Game) -> naive.Strategy:
    """Return an opponent as the reference takes it: with the posterior mean of its setups."""
    plain = naive_strategy(opponent.strategy, game)
    if opponent.observed is None:
        return plain
    seen = opponent.observed
    sums: Counter = Counter({setup: seen.prior * prob for setup, prob in plain.setups.items()})
    for tiles, chips, count in zip(seen.tiles, seen.chips, seen.counts, strict=True):
        sums[tuple(tiles.tolist()), tuple(chips.tolist())] += count
    total = seen.prior + seen.counts.sum()
    return plain._replace(setups={setup: weight / total for setup, weight in sums.items()})


def situation_of(info: naive.Infostate, me: naive.Setup, game: Game) -> Situation:
    """Return what player 0 knows as a situation."""
    events = []
    for slot in info.slots:
        number = None if slot.shown is None else slot.shown[1]
        events.append(Event(slot.colours[1], slot.stacks[1], number, slot.folder == 0))
    return Situation(game, Setup(*me), tuple(events), Facing(*info.facing))


def infostates(
    strategy: naive.Strategy, game: Game, count: int, seed: int
) -> list[tuple[naive.Setup, naive.Infostate, list]]:
    """Draw infostates that the opponent leads to: my setup, what I know, and what it may be."""
    rng = np.random.default_rng(seed)
    own = naive.setups(game.num_tiles, game.num_chips)
    found: list = []
    while len(found) < count:
        me = own[rng.integers(len(own))]
        positions = [(naive.start(me, theirs), p) for theirs, p in strategy.setups.items()]
        while True:
            _, groups = naive.by_infostate(positions, strategy, 0, "latest")
            if not groups:
                break
            info, group = list(groups.items())[rng.integers(len(groups))]
            found.append((me, info, group))
            number = rng.integers(2)
            positions = [(naive.play(s, naive.choices(s, "latest")[number]), p) for s, p in group]
    return found[:count]


def agrees_with_reference(opponent: Opponent, own: Strategy, game: Game, count: int) -> None:
    """Assert that values and tiles equal the exact best response at infostates drawn."""
    plain = naive_opponent(opponent, game)
    rules = (game.objective, "latest", "latest")
    depths = set()
    for me, info, group in infostates(plain, game, count, seed=3):
        total = sum(prob for _, prob in group)
        fold, match = naive.choice_values(group, plain, 0, rules, {})
        advice = query(own, situation_of(info, me, game), game, opponent=opponent)
        assert advice.method == "exact"
        assert advice.known
        values = {one.action: one.value for one in advice.actions}
        assert values == pytest.approx({"fold": fold / total, "match": match / total}, abs=1e-9)
        tiles: Counter = Counter()
        for state, prob in group:
            tiles[state.tiles[1][len(info.slots)]] += prob / total
        found = {tile: prob for tile, prob in advice.opponent_tile.items() if prob > 0}
        assert found == pytest.approx(dict(tiles), abs=1e-9)
        depths.add(len(info.slots))
    assert len(depths) > 1


@pytest.mark.parametrize("game", [Game(3, 6), Game(3, 6, objective="chips"), Game(4, 6)])
@pytest.mark.parametrize("name", [*BOTS, "random"])
def test_values_equal_exact_best_response_against_each_bot(name, game):
    own = a_strategy("table" if game.is_win else "bot:random", game)
    agrees_with_reference(Opponent(name, a_strategy(name, game)), own, game, 25)


@pytest.mark.parametrize("game", [Game(3, 6), Game(4, 6)])
def test_values_equal_exact_best_response_against_another_table(game):
    opponent = Opponent("results", a_strategy("table", game))
    agrees_with_reference(opponent, a_strategy("bot:heuristic", game), game, 40)


@pytest.mark.parametrize("game", [Game(3, 6), Game(4, 6)])
@pytest.mark.parametrize("name", ["table", "bot:random", "bot:top-spike", "random"])
def test_values_equal_exact_best_response_against_observed_setups(name, game):
    strategy = a_strategy(name, game)
    opponent = Opponent("seen", strategy, some_observed(game, strategy))
    agrees_with_reference(opponent, strategy, game, 25)


@pytest.mark.parametrize("name", ["bot:random", "bot:caller", "bot:heuristic", "table", "seen"])
def test_best_first_answers_add_up_to_what_the_judge_finds(name):
    game = Game(3, 6)
    own, theirs = a_strategy("bot:folder", game), a_strategy("table", game)
    opponent = Opponent(name, theirs if name == "seen" else a_strategy(name, game))
    judged = opponent.strategy
    if name == "seen":
        opponent = Opponent(name, theirs, some_observed(game, theirs))
        judged = listed(naive_opponent(opponent, game), theirs, game)
    plain = naive_opponent(opponent, game)
    values = best_response(judged, game).setup_values
    for me, value in zip(naive.setups(3, 6), values, strict=True):
        positions = [(naive.start(me, other), prob) for other, prob in plain.setups.items()]
        ends, groups = naive.by_infostate(positions, plain, 0, "latest")
        total = sum(naive.payoff(state, 0) * prob for state, prob in ends)
        for info, group in groups.items():
            advice = query(own, situation_of(info, me, game), game, opponent=opponent)
            total += advice.actions[0].value * sum(prob for _, prob in group)
        assert total == pytest.approx(value, abs=1e-9)


def listed(plain: naive.Strategy, strategy: Strategy, game: Game) -> Strategy:
    """Return a strategy with the reference's setups and its own decisions."""
    tiles, chips = list_setups(game)
    rows = [(tuple(t), tuple(c)) for t, c in zip(tiles.tolist(), chips.tolist(), strict=True)]
    cumulative = np.cumsum([plain.setups.get(row, 0.0) for row in rows])
    return strategy._replace(
        setup_kind=LISTED,
        setup_tiles=tiles,
        setup_chips=chips,
        setup_cumulative=cumulative / cumulative[-1],
    )


@pytest.mark.parametrize("name", ["random", "locked", "bot:random", "bot:top-spike"])
def test_mixture_equals_enumeration_when_setups_are_drawn_slot_by_slot(name, monkeypatch):
    game = Game(4, 9)
    strategy = a_strategy(name, game)
    if strategy.setup_kind == MEMORYLESS:  # rid of the rounding of numbers stored in 32 bits
        starts, model = row_starts(strategy.offsets), strategy.model.astype(np.float64)
        sums = np.add.reduceat(model, starts)
        lengths = np.diff(starts, append=len(model))
        strategy = strategy._replace(model=model / np.repeat(sums, lengths))
    seen = some_observed(game, strategy)
    opponent = Opponent("seen", strategy, seen)
    tiles, chips = list_setups(game)
    model = np.array([setup_prob(strategy, t, c) for t, c in zip(tiles, chips, strict=True)])
    counts = np.zeros(len(tiles))
    for t, c, count in zip(seen.tiles, seen.chips, seen.counts, strict=True):
        counts[((tiles == t) & (chips == c)).all(axis=1)] += count
    total = seen.prior + counts.sum()
    monkeypatch.setattr(answer, "EXACT_LIMIT", 0)
    shares = []
    for situation in situations_met(opponent, game, 40):
        mean = weigh_setups(
            situation, strategy, tiles, chips, (seen.prior * model + counts) / total
        )
        part = weigh_setups(situation, strategy, tiles, chips, counts / total)
        advice = query(strategy, situation, game, opponent=opponent, samples=20)
        assert advice.observed is not None
        share = part.evidence / mean.evidence
        assert advice.observed["probability"] == pytest.approx(share, abs=1e-9)
        probs = np.bincount(mean.tiles[:, situation.slot], mean.weights, 4)
        found = {tile: prob for tile, prob in advice.opponent_tile.items() if prob > 0}
        expected = {tile: prob for tile, prob in enumerate(probs) if prob > 0}
        assert found == pytest.approx(expected, abs=1e-9)
        shares.append(share)
    assert min(shares) < 0.5 < max(shares)


def situations_met(opponent: Opponent, game: Game, count: int) -> list[Situation]:
    """Return situations in which I choose, against an opponent who places what was seen too."""
    seen = opponent.observed
    assert seen is not None
    places_seen = opponent.strategy._replace(
        setup_kind=LISTED,
        setup_tiles=seen.tiles,
        setup_chips=seen.chips,
        setup_cumulative=np.cumsum(seen.probs),
    )
    half = count // 2
    return [
        *some_situations(game, opponent.strategy, count - half),
        *some_situations(game, places_seen, half),
    ]


def test_sampled_values_lie_below_exact_ones_when_posterior_is_a_mixture():
    game = Game(4, 8)
    strategy = a_strategy("random", game)
    seen = some_observed(game, strategy)
    opponent = Opponent("seen", strategy, seen)
    shortfalls = []
    for situation in situations_met(opponent, game, 12):
        exact = query(strategy, situation, game, opponent=opponent)
        drawn = filter_remainders(situation, strategy, strategy)
        part = weigh_setups(situation, strategy, seen.tiles, seen.chips, seen.probs)
        posterior, _ = mix_posteriors(drawn, part, seen.share)
        reply = sampled_reply(
            strategy,
            strategy,
            situation.board(),
            situation.slot,
            posterior,
            samples=8000,
            rng=np.random.default_rng(0),
        )
        is_mixed = isinstance(posterior, Mixture)
        values = {one.action: one.value for one in exact.actions}
        for action, name in enumerate(("fold", "match")):
            error = reply.batches[:, action].std() / np.sqrt(20)
            shortfalls.append(values[name] - reply.outcomes[action, 0])
            assert shortfalls[-1] > -4 * error - 0.01
    assert is_mixed
    assert np.mean(shortfalls) < 0.05


def test_opponent_who_plays_the_table_is_what_query_assumes():
    game = Game(3, 6)
    own = a_strategy("table", game)
    for situation in some_situations(game, own, 5):
        assert query(own, situation, game, opponent=Opponent("table", own)) == query(
            own, situation, game
        )


def test_own_column_is_the_tables_when_opponent_plays_otherwise():
    game = Game(3, 6)
    own = a_strategy("table", game)
    for situation in some_situations(game, own, 5):
        alone = {a.action: a.table_probability for a in query(own, situation, game).actions}
        opponent = Opponent("bot:random", a_strategy("bot:random", game))
        advice = query(own, situation, game, opponent=opponent)
        assert {a.action: a.table_probability for a in advice.actions} == alone
        assert advice.opponent == "bot:random"


def test_own_later_decisions_are_the_tables_when_sampled(monkeypatch):
    game = Game(4, 8)
    monkeypatch.setattr(answer, "EXACT_LIMIT", 0)
    theirs = Opponent("bot:random", a_strategy("bot:random", game))
    situation = parse_situation(game, me="3:1,1:1,0:1,2:5", facing="b3")
    folder, caller = (
        query(a_strategy(name, game), situation, game, opponent=theirs, samples=10)
        for name in ("bot:folder", "bot:caller")
    )
    assert folder.method.startswith("sampled")  # and ten draws teach nothing
    assert {a.action: a.value for a in folder.actions} != {
        a.action: a.value for a in caller.actions
    }
    assert folder.opponent_tile == caller.opponent_tile


def test_query_names_the_opponent_when_it_never_acts_so():
    game = Game(3, 6)
    situation = parse_situation(game, me="2:4,0:1,1:1", history="b1f", facing="w4")
    opponent = Opponent("bot:caller", a_strategy("bot:caller", game))
    advice = query(a_strategy("table", game), situation, game, opponent=opponent)
    assert not advice.known
    assert "what bot:caller never does: its decisions were ignored" in advice.method


def test_observed_setups_answer_when_the_table_never_sets_up_so():
    game = Game(3, 6)
    situation = parse_situation(game, me="2:3,0:2,1:1", facing="b4")
    strategy = a_strategy("bot:top-spike", game)
    seen = observe_setups(parse_observations("0:4,1:1,2:1\n1:4,0:1,2:1", game), strategy, game)
    advice = query(strategy, situation, game, opponent=Opponent("seen", strategy, seen))
    assert advice.known
    assert advice.opponent_tile == {0: 1.0, 2: 0.0}
    assert advice.observed == {"sightings": 2, "prior": 20.0, "probability": 1.0}


def test_query_refuses_an_opponent_of_another_game():
    situation = parse_situation(Game(3, 6), me="2:3,0:2,1:1", facing="b4")
    opponent = Opponent("other", make_bot("bot:random", Game(4, 6)))
    with pytest.raises(InputError, match="strategy for 4x6"):
        query(make_bot("bot:random", Game(3, 6)), situation, Game(3, 6), opponent=opponent)


FULL = Game(10, 30)


@pytest.fixture(scope="module")
def full_strategy() -> Strategy:
    return random_strategy(FULL, np.random.default_rng(7), "memoryless", "keyed")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10_000), slots=st.integers(0, 8), name=st.sampled_from(["seen", *BOTS]))
def test_answers_of_the_full_game_are_probabilities(full_strategy, seed, slots, name):
    rng = np.random.default_rng(seed)
    opponent = Opponent(name, full_strategy if name == "seen" else make_bot(name, FULL))
    placed = draw_setup(FULL, rng)
    places = opponent.strategy
    if name == "seen":
        lines = [f"{placed} x2", str(draw_setup(FULL, rng))]
        seen = observe_setups(parse_observations("\n".join(lines), FULL), full_strategy, FULL)
        opponent = Opponent(name, full_strategy, seen)
        places = full_strategy._replace(
            setup_kind=LISTED,
            setup_tiles=np.array([placed.tiles]),
            setup_chips=np.array([placed.chips]),
            setup_cumulative=np.ones(1),
        )
    met = (play_some(FULL, places, rng, slots) for _ in range(200))
    situation = next((one for one in met if one is not None), None)
    assume(situation is not None)  # nobody is below a stack of one chip
    assert situation is not None
    advice = query(full_strategy, situation, FULL, opponent=opponent, samples=100, seed=1)
    assert advice == query(full_strategy, situation, FULL, opponent=opponent, samples=100, seed=1)
    assert advice.opponent == name
    assert advice.known
    assert sum(advice.opponent_tile.values()) == pytest.approx(1)
    for one in advice.actions:
        assert one.win + one.draw + one.loss == pytest.approx(1)
        assert one.win - one.loss == pytest.approx(one.value)
    if name == "seen":
        assert advice.observed is not None
        assert 0 < advice.observed["probability"] <= 1


def test_answer_says_when_fine_keys_make_the_posterior_nearly_exact(full_strategy):
    fine = full_strategy._replace(fine_keys=np.full(4, EMPTY), fine_match=np.zeros(4))
    situation = some_situations(FULL, full_strategy, 1, least_slot=8)[0]
    bot = Opponent("bot:random", make_bot("bot:random", FULL))
    assert query(fine, situation, FULL).method == "exact for a nearly exact posterior"
    assert query(full_strategy, situation, FULL).method == "exact"
    assert query(fine, situation, FULL, opponent=bot).method == "exact"

    me = "5:4,4:4,8:1,0:1,3:4,2:2,7:3,1:1,6:1,9:9"
    equal = parse_situation(FULL, me=me, history="b4=0", facing="b5")
    assert query(fine, equal, FULL, samples=20).method.startswith("sampled: exact posterior")


def test_setup_seen_before_is_recognised_in_the_full_game(full_strategy):
    me = "5:4,4:4,8:1,0:1,3:4,2:2,7:3,1:1,6:1,9:9"
    theirs = "4:3,7:3,0:3,2:3,3:3,9:3,8:3,5:3,6:3,1:3"
    situation = parse_situation(FULL, me=me, history="b3=4 w3=7", facing="b3")
    shares = []
    for prior in (1.0, 100.0, 10_000.0):
        seen = observe_setups(parse_observations(theirs, FULL), full_strategy, FULL, prior=prior)
        opponent = Opponent("seen", full_strategy, seen)
        advice = query(full_strategy, situation, FULL, opponent=opponent, samples=100)
        plain = query(full_strategy, situation, FULL, samples=100)
        assert advice.observed is not None
        share = advice.observed["probability"]
        expected = {tile: (1 - share) * prob for tile, prob in plain.opponent_tile.items()}
        expected[0] += share
        assert advice.opponent_tile == pytest.approx(expected)
        shares.append(share)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.9


@pytest.mark.parametrize("name", ["random", "bot:random", "bot:top-spike"])
@pytest.mark.parametrize("text", ["0:?,w:?", "b,w:2", "?:3", "b:1,?:2,?:?,3", "?,?,?,w:4"])
def test_half_seen_setup_counts_as_the_setups_that_fit(text, name):
    game = Game(4, 8)
    strategy = a_strategy(name, game)
    (one,) = parse_observations(f"{text} x6", game)
    seen = observe_setups([one], strategy, game)
    fitting = {}
    for tiles, chips in zip(*list_setups(game), strict=True):
        is_fitting = all(
            (t is None or t == tile) and (k is None or k == tile % 2) and (c is None or c == stack)
            for t, k, c, tile, stack in zip(
                one.tiles, one.colours, one.chips, tiles, chips, strict=True
            )
        )
        if is_fitting:
            prob = setup_prob(strategy, tiles, chips)
            fitting[tuple(tiles.tolist()), tuple(chips.tolist())] = prob
    total = sum(fitting.values())
    assert len(fitting) == one.count_completions(game)
    assert len(seen.counts) == (sum(prob > 0 for prob in fitting.values()) or len(fitting))
    for tiles, chips, count in zip(seen.tiles, seen.chips, seen.counts, strict=True):
        prob = fitting[tuple(tiles.tolist()), tuple(chips.tolist())]
        assert count == pytest.approx(6 * prob / total if total else 6 / len(fitting))
    assert seen.total == 6
    assert seen.share == 6 / 26


def test_observations_read_the_same_from_text_and_json():
    game = Game(3, 6)
    text = "# two games\n\n2:4,0:1,1:1 x3  # a spike\nb:1, w:?, ?:2\n"
    entries = '[{"setup": "2:4,0:1,1:1", "count": 3}, {"setup": "b:1,w:?,?:2"}]'
    from_text = parse_observations(text, game)
    from_json = parse_observations(f'{{"setups": {entries}}}', game)
    assert [one.place for one in from_text] == ["line 3", "line 4"]
    assert [one.place for one in from_json] == ["setups.0", "setups.1"]
    for a, b in zip(from_text, from_json, strict=True):
        assert (a.tiles, a.colours, a.chips, a.count) == (b.tiles, b.colours, b.chips, b.count)
    assert from_text[1].colours == (0, 1, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no setup in it"),
        ("# nothing", "no setup in it"),
        ("2:4,0:1,1:1\n2:4,0:2", "line 2: .*6 chips placed leave 0 for 1 open slots"),
        ("2:4,0:1,1:2", "line 1: .*7 chips"),
        ("2:4,2:1,0:1", "line 1: .*tile 2 is placed twice"),
        ("3:4", "line 1: .*tile 3 in slot 1; tiles are 0-2"),
        ("g:4", "line 1: .*'g:4' in slot 1"),
        ("2:4,0:1,1:1 3", "line 1: .*'1:1 3' in slot 3"),
        ("2:4,0:1,1:1 x0", "line 1: x0; a setup is seen 1 to 1,000,000 times"),
        ("?,?,?", "line 1: .*says nothing of a setup"),
        ("x3", "line 1: .*'x3' in slot 1"),
        ("w,w", "line 1: no setup of 3x6 has such colours"),
        ("2:4,0:1,1:1\nw3=1 b1f", "line 2: 'w3=1' is an answer; only setups"),
        ('{"setups": []}', "no setup in it"),
        ('{"setups": [{"setup": "2:4", "count": 0}]}', r"setups\.0\.count"),
        ('{"setups": [{"setup": 3}]}', r"setups\.0\.setup"),
        ('{"setups": [{"setup": "2:9"}]}', r"setups\.0: .*9 chips"),
        ('{"answers": []}', "answers are not read"),
        ('{"setups"', "not JSON"),
    ],
)
def test_observations_are_refused_by_line(text, message):
    game = Game(3, 6)
    with pytest.raises(InputError, match=message):
        observe_setups(parse_observations(text, game), make_strategy(3, 6, True), game)


def test_observations_are_refused_when_too_many_setups_fit(full_strategy):
    seen = parse_observations("9:12,8:6", FULL)
    with pytest.raises(InputError, match=r"line 1: [0-9,]+ setups fit.*at most 100,000"):
        observe_setups(seen, full_strategy, FULL)


@pytest.mark.parametrize("prior", [0.0, -1.0, float("nan"), float("inf")])
def test_observations_are_refused_when_prior_is_no_number_of_games(prior):
    game = Game(3, 6)
    with pytest.raises(InputError, match="prior"):
        observe_setups(
            parse_observations("2:4,0:1,1:1", game), make_strategy(3, 6, True), game, prior=prior
        )
