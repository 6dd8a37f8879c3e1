"""Advice, held to a plain enumeration of everything the opponent may hold."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from random_situations import some_situations

from solver.abstraction import decision_key, num_keys
from solver.advice import query
from solver.advice.mixture import tile_probs
from solver.advice.posterior import (
    filter_remainders,
    list_remainders,
    list_strategy_setups,
    step_prob,
    weigh_setups,
)
from solver.advice.reply import best_reply
from solver.advice.sampled_reply import sampled_reply
from solver.bots import make_bot
from solver.mccfr import solve_sampled
from solver.memoryless import row_offsets, uniform_model
from solver.rules import (
    CHOICE,
    Board,
    Game,
    InputError,
    classify,
    new_board,
    pull_latest,
    settle,
)
from solver.setups import Setup, list_setups
from solver.situation import Situation, parse_situation
from solver.strategy import (
    BY_TILE,
    EXACT,
    FROM_COARSER,
    KEYED,
    LISTED,
    MEMORYLESS,
    Strategy,
    draw_strategy_setup,
    make_strategy,
    match_prob,
    setup_prob,
)


def keyed_strategy(game: Game, seed: int = 0, **parts: object) -> Strategy:
    """Return uneven memoryless setups with a random answer for every key."""
    rng = np.random.default_rng(seed)
    n, c = game.num_tiles, game.num_chips
    offsets, size = row_offsets(n, c)
    model = uniform_model(n, c) * rng.uniform(0.2, 1.8, size).astype(np.float32)
    starts = np.append(np.sort(offsets[offsets >= 0]), size)
    for low, high in itertools.pairwise(starts):
        model[low:high] /= model[low:high].sum()
    values: dict[str, object] = {
        "setup_kind": MEMORYLESS,
        "model": model,
        "offsets": offsets,
        "decision_kind": KEYED,
        "match": rng.random(num_keys(n)),
        "source": np.zeros(num_keys(n), np.uint8),
    }
    return make_strategy(n, c, game.is_win, **(values | parts))


class Naive:
    """Values of a situation by plain recursion over lists of candidates."""

    def __init__(self, strategy: Strategy, situation: Situation) -> None:
        self.strategy, self.situation, self.game = strategy, situation, situation.game

    def pay(self, chips: tuple, winnings: int, slot: int, gap: int) -> tuple:
        """Return chips and winnings after paying by the default rule."""
        chips, paid = list(chips), min(gap, winnings)
        for later in reversed(range(slot + 1, len(chips))):
            take = min(gap - paid, chips[later] - 1)
            chips[later] -= take
            gap -= take
        return tuple(chips), winnings - paid

    def match(self, slot: int, node: dict, tiles: tuple, chips: tuple) -> float:
        """Return the opponent's probability of matching."""
        board = Board(
            np.array([self.situation.me.tiles, tiles]),
            np.array([node["mine"], node["seen"] + chips[slot:]]),
            np.array(node["winnings"]),
            np.array(node["shown"] + (0,) * (len(tiles) - slot)),
            np.zeros((2, len(tiles)), np.int64),
        )
        return match_prob(self.strategy, board, slot, 1)[0]

    def outcomes(self, slot: int, node: dict, group: list) -> dict:
        """Return what can follow from a seen slot: by whom it is chosen, and by action children.

        A child is (shown number or None, node, candidates).
        """
        n = self.game.num_tiles
        stack, mine = group[0][1][slot], node["mine"][slot]
        winnings = node["winnings"]
        after = {**node, "seen": node["seen"] + (stack,)}
        folded = {**after, "shown": node["shown"] + (0,)}
        if stack == mine:
            return {"who": "nobody", "match": self.show(slot, after, group)}
        lower = 0 if mine < stack else 1
        pot, gap = mine + stack, abs(mine - stack)
        own_chips = node["mine"] if lower == 0 else group[0][1]
        means = winnings[lower] + sum(own_chips[slot + 1 :]) - (n - 1 - slot)
        gains = (0, pot) if lower == 0 else (pot, 0)
        folded["winnings"] = (winnings[0] + gains[0], winnings[1] + gains[1])
        if means < gap:
            return {"who": "nobody", "fold": [(None, folded, group)]}
        if lower == 0:
            chips, left = self.pay(node["mine"], winnings[0], slot, gap)
            paid = {**after, "mine": chips, "winnings": (left, winnings[1])}
            return {
                "who": "me",
                "fold": [(None, folded, group)],
                "match": self.show(slot, paid, group),
            }
        yes, no = [], []
        for tiles, chips, weight in group:
            prob = self.match(slot, node, tiles, chips)
            less, left = self.pay(chips, winnings[1], slot, gap)
            yes.append((tiles, less, weight * prob))
            no.append((tiles, chips, weight * (1 - prob)))
        paid = {**after, "winnings": (winnings[0], left)}
        return {
            "who": "opponent",
            "fold": [(None, folded, no)],
            "match": self.show(slot, paid, yes),
        }

    def show(self, slot: int, node: dict, group: list) -> list:
        """Return the children of shown tiles, one for each number."""
        own, stake = self.situation.me.tiles[slot], max(node["mine"][slot], node["seen"][slot])
        children = []
        for number in sorted({tiles[slot] for tiles, _, _ in group}):
            gains = (2 * stake, 0) if own > number else (0, 2 * stake)
            if own == number:
                gains = (stake, stake)
            child = {**node, "shown": node["shown"] + (1,)}
            child["winnings"] = tuple(w + g for w, g in zip(node["winnings"], gains, strict=True))
            children.append((number, child, [x for x in group if x[0][slot] == number]))
        return children

    def best(self, slot: int, node: dict, candidates: list) -> float:
        """Return my utility times weight from the start of a slot on."""
        if slot == self.game.num_tiles:
            ahead = node["winnings"][0] - self.game.num_chips
            return sum(x[2] for x in candidates) * (np.sign(ahead) if self.game.is_win else ahead)
        total = 0.0
        for look in {(x[0][slot] % 2, x[1][slot]) for x in candidates}:
            group = [x for x in candidates if (x[0][slot] % 2, x[1][slot]) == look]
            result = self.outcomes(slot, node, group)
            values = [
                sum(self.best(slot + 1, child, left) for _, child, left in result[action])
                for action in ("fold", "match")
                if action in result
            ]
            total += max(values) if result["who"] == "me" else sum(values)
        return total

    def values(self, candidates: list) -> tuple[dict, dict]:
        """Return utilities by action and the posterior over the faced tile."""
        situation = self.situation
        node = {"mine": situation.me.chips, "seen": (), "shown": (), "winnings": (0, 0)}
        for slot, event in enumerate(situation.events):
            look = (event.colour, event.stack)
            candidates = [x for x in candidates if (x[0][slot] % 2, x[1][slot]) == look]
            if not candidates:
                return {}, {}
            result = self.outcomes(slot, node, candidates)
            children = result["fold" if event.number is None else "match"]
            found = [child for child in children if child[0] == event.number]
            if not found:
                return {}, {}
            _, node, candidates = found[0]
        slot = situation.slot
        look = tuple(situation.facing)
        candidates = [x for x in candidates if (x[0][slot] % 2, x[1][slot]) == look and x[2] > 0]
        total = sum(x[2] for x in candidates)
        if not total:
            return {}, {}
        result = self.outcomes(slot, node, candidates)
        values = {
            action: sum(self.best(slot + 1, child, left) for _, child, left in result[action])
            / total
            for action in ("fold", "match")
        }
        tiles: dict = {}
        for x in candidates:
            tiles[x[0][slot]] = tiles.get(x[0][slot], 0.0) + x[2] / total
        return values, tiles


def candidates_of(strategy: Strategy, game: Game) -> list:
    """Return every setup with its probability under the strategy."""
    return [
        (tuple(t.tolist()), tuple(c.tolist()), setup_prob(strategy, t, c))
        for t, c in zip(*list_setups(game), strict=True)
    ]


def agrees_with_naive(strategy: Strategy, situation: Situation) -> None:
    """Assert that advice equals the plain recursion."""
    game = situation.game
    values, tiles = Naive(strategy, situation).values(candidates_of(strategy, game))
    advice = query(strategy, situation, game)
    assert advice.method == "exact"
    assert {a.action: a.value for a in advice.actions} == pytest.approx(values, abs=1e-9)
    assert advice.actions[0].value == max(a.value for a in advice.actions)
    found = {tile: prob for tile, prob in advice.opponent_tile.items() if prob > 0}
    assert found == pytest.approx(tiles, abs=1e-9)
    for action in advice.actions:
        assert action.win + action.draw + action.loss == pytest.approx(1)
        if game.is_win:
            assert action.win - action.loss == pytest.approx(action.value)


@pytest.mark.parametrize("objective", ["win", "chips"])
@pytest.mark.parametrize("kind", ["memoryless", "bot:random", "bot:top-spike", "bot:caller"])
def test_query_equals_plain_recursion_when_setups_are_listed(kind, objective):
    game = Game(3, 6, objective=objective)
    strategy = keyed_strategy(game) if kind == "memoryless" else make_bot(kind, game)
    for situation in some_situations(game, strategy, 40):
        agrees_with_naive(strategy, situation)


def test_query_equals_plain_recursion_when_game_is_longer():
    game = Game(4, 8)
    strategy = keyed_strategy(game)
    for situation in some_situations(game, strategy, 6):
        agrees_with_naive(strategy, situation)


def test_query_reads_listed_setups_when_few_are_played():
    game = Game(3, 6)
    tiles, chips = list_setups(game)
    chosen = [3, 17, 40]
    strategy = keyed_strategy(
        game,
        setup_kind=LISTED,
        setup_tiles=tiles[chosen],
        setup_chips=chips[chosen],
        setup_cumulative=np.array([0.5, 0.8, 1.0]),
    )
    for situation in some_situations(game, strategy, 10):
        agrees_with_naive(strategy, situation)


def test_filter_equals_listing_when_pulls_reach_late_stacks():
    game = Game(4, 9)
    strategy = keyed_strategy(game)
    is_reached = False
    for situation in some_situations(game, strategy, 60, least_slot=2):
        board = situation.board()
        is_reached |= bool(board.pulled[1].any() and board.chips[1, -1] == 1)
        _, tiles = Naive(strategy, situation).values(candidates_of(strategy, game))
        remainders = filter_remainders(situation, strategy, strategy)
        probs = np.bincount(remainders.tiles, remainders.weights, game.num_tiles)
        assert {t: p for t, p in enumerate(probs) if p > 0} == pytest.approx(tiles, abs=1e-9)
    assert is_reached


def test_filter_weighs_past_decisions_by_keys_alone_when_there_are_fine_ones():
    game = Game(4, 9)
    fine = solve_sampled(game, iterations=20_000, time_limit=None, seed=1, threads=1).strategy()
    keyed = fine._replace(fine_keys=fine.fine_keys[:0], fine_match=fine.fine_match[:0])
    listed = list_strategy_setups(fine, game, 10_000)
    most = 0.0
    for situation in some_situations(game, fine, 40, least_slot=1):
        remainders = filter_remainders(situation, fine, fine)
        found = np.bincount(remainders.tiles, remainders.weights, game.num_tiles)
        probs = [
            tile_probs(weigh_setups(situation, one, *listed[:3]), situation.slot, game.num_tiles)
            for one in (keyed, fine)
        ]
        assert found == pytest.approx(probs[0], abs=1e-6)
        most = max(most, float(abs(found - probs[1]).max()))
    assert most > 0.01


@pytest.mark.parametrize("kind", ["memoryless", "bot:random", "bot:top-spike"])
def test_listed_remainders_equal_listed_setups_when_game_is_small(kind):
    game = Game(4, 8)
    strategy = keyed_strategy(game) if kind == "memoryless" else make_bot(kind, game)
    for situation in some_situations(game, strategy, 10):
        board = situation.board()
        holdings = list_remainders(
            filter_remainders(situation, strategy, strategy), situation, strategy
        )
        outcomes = best_reply(strategy, board, situation.slot, holdings)
        advice = query(strategy, situation, game)
        values = {a.action: a.value for a in advice.actions}
        assert values == pytest.approx({"fold": outcomes[0, 0], "match": outcomes[1, 0]}, abs=1e-9)


@pytest.mark.parametrize("kind", ["memoryless", "bot:random", "bot:top-spike"])
def test_sampled_values_lie_below_exact_ones_when_both_are_known(kind):
    game = Game(4, 8)
    strategy = keyed_strategy(game) if kind == "memoryless" else make_bot(kind, game)
    shortfalls, errors = [], []
    for situation in some_situations(game, strategy, 12):
        advice = query(strategy, situation, game)
        exact = {a.action: a.value for a in advice.actions}
        reply = sampled_reply(
            strategy,
            strategy,
            situation.board(),
            situation.slot,
            filter_remainders(situation, strategy, strategy),
            samples=8000,
            rng=np.random.default_rng(0),
        )
        for action, name in enumerate(("fold", "match")):
            shortfalls.append(exact[name] - reply.outcomes[action, 0])
            errors.append(reply.batches[:, action].std() / np.sqrt(20))
            assert shortfalls[-1] > -4 * errors[-1] - 0.01
            value, win, draw, loss = reply.outcomes[action]
            assert win + draw + loss == pytest.approx(1)
            assert win - loss == pytest.approx(value)
    assert np.mean(shortfalls) < 0.05


@pytest.mark.parametrize("kind", ["memoryless", "bot:random", "bot:top-spike"])
def test_steps_multiply_to_setup_probability_when_taken_in_turn(kind):
    game = Game(4, 8)
    strategy = keyed_strategy(game) if kind == "memoryless" else make_bot(kind, game)
    for tiles, chips in zip(*list_setups(game), strict=True):
        prob, mask, left = 1.0, 15, 8
        for slot in range(4):
            if prob > 0:
                prob *= step_prob(strategy, mask, 4 - slot, left, tiles[slot], chips[slot])
            mask ^= 1 << int(tiles[slot])
            left -= int(chips[slot])
        assert prob == pytest.approx(setup_prob(strategy, tiles, chips))


def test_filter_equals_rejection_when_game_is_full():
    game = Game(10, 30)
    strategy = keyed_strategy(game, setup_kind=BY_TILE, tile_chips=np.full(10, 3))
    rng = np.random.default_rng(3)
    me = Setup.parse("5:4,4:4,8:1,0:1,3:4,2:2,7:3,1:1,6:1,9:9", game)
    situation = parse_situation(game, me=str(me), history="b3=4 w3f", facing="b3")
    remainders = filter_remainders(situation, strategy, strategy)
    probs = np.bincount(remainders.tiles, remainders.weights, 10)
    counts = np.zeros(10)
    for _ in range(100_000):
        board = new_board(10)
        board.tiles[0], board.chips[0] = me.tiles, me.chips
        draw_strategy_setup(strategy, rng, board.tiles[1], board.chips[1])
        weight = 1.0
        for slot, event in enumerate((*situation.events, situation.facing)):
            if (board.tiles[1, slot] % 2, board.chips[1, slot]) != (event.colour, event.stack):
                weight = 0.0
                break
            if slot == situation.slot:
                break
            kind, player = classify(board, slot)
            if event.number is not None and board.tiles[1, slot] != event.number:
                weight = 0.0
                break
            if kind == CHOICE and player == 1:
                prob = match_prob(strategy, board, slot, 1)[0]
                weight *= prob if event.number is not None else 1 - prob
            if kind == CHOICE and event.number is not None:
                pull_latest(board, player, slot)
            settle(board, slot, -1 if event.number is not None else player)
        counts[board.tiles[1, situation.slot]] += weight
    noise = 4 * 0.5 / np.sqrt(counts.sum())
    assert noise < 0.1
    assert counts / counts.sum() == pytest.approx(probs, abs=noise)


def test_query_of_full_game_gives_interval_when_sampled():
    game = Game(10, 30)
    strategy = keyed_strategy(game)
    situation = parse_situation(
        game,
        me="8:4,3:1,9:6,0:1,5:4,2:2,7:6,1:1,6:3,4:2",
        history="w3=7",
        facing="b5",
    )
    advice = query(strategy, situation, game, samples=4000)
    assert advice.ci95 is not None
    assert advice.method.startswith("sampled")
    low, high = advice.ci95
    assert low < advice.actions[0].value < high
    assert advice == query(strategy, situation, game, samples=4000)
    assert advice != query(strategy, situation, game, samples=4000, seed=1)
    assert sum(advice.opponent_tile.values()) == pytest.approx(1)
    assert advice.opponent_left == (0, 1, 2, 3, 4, 5, 6, 8, 9)


def test_query_of_full_game_is_exact_when_few_slots_are_left():
    game = Game(10, 30)
    strategy = keyed_strategy(game)
    situation = some_situations(game, strategy, 1, least_slot=8)[0]
    advice = query(strategy, situation, game)
    assert advice.method == "exact"
    assert advice.ci95 is None


@pytest.mark.parametrize(
    ("me", "history", "facing", "reason", "actions"),
    [
        ("0:1,2:4,1:1", "", "b1", "equal stacks", []),
        ("0:1,2:4,1:1", "b1=2", "w3", "opponent decides", []),
        ("2:1,1:1,0:4", "b2F w2F", "b2", "opponent decides", []),
        ("2:4,1:1,0:1", "b4=0", "w1", "equal stacks", []),
        ("0:4,1:1,2:1", "b4=2", "w1", "equal stacks", []),
        ("1:1,0:4,2:1", "b1=2 w1=1", "b3", "forced fold", ["fold"]),
    ],
)
def test_query_decides_nothing_when_there_is_no_choice(me, history, facing, reason, actions):
    game = Game(3, 6)
    situation = parse_situation(game, me=me, history=history, facing=facing)
    advice = query(make_bot("bot:random", game), situation, game)
    assert (advice.decision, advice.reason) == ("none", reason)
    assert [a.action for a in advice.actions] == actions
    assert sum(advice.opponent_tile.values()) == pytest.approx(1)


def test_query_says_what_it_used_when_opponent_never_acts_so():
    game = Game(3, 6)
    situation = parse_situation(game, me="2:4,0:1,1:1", history="b1f", facing="w4")
    assert query(make_bot("bot:random", game), situation, game).known
    advice = query(make_bot("bot:caller", game), situation, game)
    assert not advice.known
    assert "its decisions were ignored" in advice.method
    _, tiles = Naive(make_bot("bot:random", game), situation).values(
        candidates_of(make_bot("bot:random", game), game)
    )
    assert advice.opponent_tile == pytest.approx(tiles)


def test_query_says_what_it_used_when_opponent_never_sets_up_so():
    game = Game(3, 6)
    situation = parse_situation(game, me="2:3,0:2,1:1", history="", facing="b4")
    advice = query(make_bot("bot:top-spike", game), situation, game)
    assert not advice.known
    assert "all setups that fit" in advice.method
    assert advice.opponent_tile == pytest.approx({0: 0.5, 2: 0.5})


@pytest.mark.parametrize("game", [Game(3, 6), Game(10, 30)])
def test_query_is_not_known_when_own_key_comes_from_coarser(game):
    strategy = keyed_strategy(
        game, source=np.full(num_keys(game.num_tiles), FROM_COARSER, np.uint8)
    )
    situation = some_situations(game, strategy, 1)[0]
    advice = query(strategy, situation, game, samples=200)
    assert not advice.known
    assert "coarser" in advice.method


def test_query_is_not_known_when_exact_table_lacks_own_infostate():
    game = Game(3, 6)
    strategy = make_strategy(3, 6, True, decision_kind=EXACT)
    situation = parse_situation(game, me="2:3,0:2,1:1", history="", facing="b4")
    advice = query(strategy, situation, game, visits=np.zeros(0))
    assert not advice.known
    assert "no answer" in advice.method
    assert advice.visits == 0.0
    assert {a.action: a.table_probability for a in advice.actions} == {"fold": 1.0, "match": 0.0}


def test_query_gives_visits_and_table_probability_when_recorded():
    game = Game(3, 6)
    strategy = keyed_strategy(game)
    situation = parse_situation(game, me="2:3,0:2,1:1", history="", facing="b4")
    key = decision_key(situation.board(), 0, 0, 6)
    visits = np.arange(num_keys(3), dtype=np.float64)
    advice = query(strategy, situation, game, visits=visits)
    assert advice.visits == key
    probs = {a.action: a.table_probability for a in advice.actions}
    assert probs == pytest.approx({"match": strategy.match[key], "fold": 1 - strategy.match[key]})
    assert {a.action: a.pulls for a in advice.actions} == {"match": {2: 1}, "fold": {}}


def test_advice_has_the_promised_fields_when_written_as_json():
    game = Game(3, 6)
    situation = parse_situation(game, me="2:3,0:2,1:1", history="", facing="b4")
    written = json.loads(json.dumps(query(keyed_strategy(game), situation, game).to_json()))
    assert list(written) == [
        "decision",
        "reason",
        "actions",
        "opponent_tile",
        "opponent_left",
        "known",
        "visits",
        "method",
        "ci95",
        "opponent",
        "observed",
    ]
    assert (written["opponent"], written["observed"]) == ("table", None)
    assert list(written["actions"][0]) == [
        "action",
        "pulls",
        "value",
        "win",
        "draw",
        "loss",
        "table_probability",
    ]


@pytest.mark.parametrize(
    ("game", "strategy_game", "samples", "message"),
    [
        (Game(3, 6, objective="chips"), Game(3, 6), 10, "strategy for 3x6, win: the game is"),
        (Game(3, 6), Game(3, 7), 10, "strategy for 3x7, win: the game is"),
        (Game(3, 6), Game(3, 6), 0, "samples 0"),
    ],
)
def test_query_refuses_when_argument_is_wrong(game, strategy_game, samples, message):
    situation = parse_situation(game, me="2:3,0:2,1:1", history="", facing="b4")
    with pytest.raises(InputError, match=message):
        query(make_bot("bot:random", strategy_game), situation, game, samples=samples)
