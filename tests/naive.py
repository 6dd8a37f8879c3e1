"""The plainest reference of the game: rules, values, best response and CFR in pure Python.

Nothing here is fast, nothing is compiled and nothing is shared with the solver.  A position is an
immutable :class:`State`; rules are functions on it; everything above them is a recursion over all
setups and all choices.  Slots, players and tiles count from 0.

Words: a *choice* is ``None`` for a fold, or, for a match, a tuple with the chips that each tile
gives up (one number a slot; winnings pay the rest of the gap).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import NamedTuple

Setup = tuple[tuple[int, ...], tuple[int, ...]]
Choice = tuple[int, ...] | None

# ------------------------------------------------------------------------------------- the rules


class Slot(NamedTuple):
    """What both players saw of a slot: colours and stacks, and how it ended."""

    colours: tuple[int, int]
    stacks: tuple[int, int]
    folder: int | None  # who folded; None if tiles were shown
    shown: tuple[int, int] | None  # the numbers, if shown
    pulled: int  # chips that the matching player took from later tiles


class State(NamedTuple):
    """A position at the start of a slot (or at the end), seen from above."""

    tiles: tuple[tuple[int, ...], tuple[int, ...]]
    chips: tuple[tuple[int, ...], tuple[int, ...]]  # as they stand now
    winnings: tuple[int, int]
    slots: tuple[Slot, ...]  # those already played
    choices: tuple[tuple[Choice, ...], tuple[Choice, ...]]  # each player's own, in order


class Infostate(NamedTuple):
    """What a player knows who forgets nothing."""

    player: int
    tiles: tuple[int, ...]
    chips: tuple[int, ...]  # own, as they stand now
    winnings: tuple[int, int]
    slots: tuple[Slot, ...]
    facing: tuple[int, int]  # opponent's colour and stack in the slot that is open
    opponent_later: int  # opponent's chips on later tiles, a public total
    choices: tuple[Choice, ...]


def setups(num_tiles: int, num_chips: int) -> list[Setup]:
    """Every order of the tiles with every split of the chips, at least 1 on each."""
    splits = [
        split
        for split in product(range(1, num_chips + 1), repeat=num_tiles)
        if sum(split) == num_chips
    ]
    return [(order, split) for order in permutations(range(num_tiles)) for split in splits]


def start(setup0: Setup, setup1: Setup) -> State:
    return State((setup0[0], setup1[0]), (setup0[1], setup1[1]), (0, 0), (), ((), ()))


def is_over(state: State) -> bool:
    return len(state.slots) == len(state.tiles[0])


def spare(state: State, player: int) -> int:
    """Chips that the player's later tiles can give up: all but one on each."""
    return sum(chips - 1 for chips in state.chips[player][len(state.slots) + 1 :])


def gap(state: State) -> int:
    slot = len(state.slots)
    return abs(state.chips[0][slot] - state.chips[1][slot])


def lower_bettor(state: State) -> int | None:
    """The player with fewer chips in the open slot; None if both have as many."""
    slot = len(state.slots)
    stack0, stack1 = state.chips[0][slot], state.chips[1][slot]
    if stack0 == stack1:
        return None
    return 0 if stack0 < stack1 else 1


def decider(state: State) -> int | None:
    """The player who may match or fold; None if nobody may."""
    player = lower_bettor(state)
    if player is None or state.winnings[player] + spare(state, player) < gap(state):
        return None
    return player


def choices(state: State, pulls: str) -> list[Choice]:
    """Everything the decider may do: fold first, then each way to pay the gap."""
    player = decider(state)
    assert player is not None
    slot, chips = len(state.slots), state.chips[player]
    winnings, need = state.winnings[player], gap(state)
    most = [stack - 1 if later > slot else 0 for later, stack in enumerate(chips)]
    if pulls == "latest":
        taken = [0] * len(chips)
        left = need - min(need, winnings)
        for later in reversed(range(len(chips))):
            taken[later] = min(left, most[later])
            left -= taken[later]
        return [None, tuple(taken)]
    ways = []
    for taken in product(*(range(limit + 1) for limit in most)):
        from_winnings = need - sum(taken)
        if 0 <= from_winnings <= winnings and (
            pulls == "free" or from_winnings == min(need, winnings)
        ):
            ways.append(taken)
    return [None, *ways]


def play(state: State, choice: Choice = None) -> State:
    """Play the open slot; ``choice`` is the decider's, and ignored where nobody may decide."""
    slot, who = len(state.slots), decider(state)
    stacks = (state.chips[0][slot], state.chips[1][slot])
    tiles = (state.tiles[0][slot], state.tiles[1][slot])
    chips, winnings = list(state.chips), list(state.winnings)
    own = list(state.choices)
    folder, pulled = None, 0
    if who is None:
        folder = lower_bettor(state)  # folds automatically; None: equal stacks
    else:
        own[who] = (*own[who], choice)
        if choice is None:
            folder = who
        else:
            pulled = sum(choice)
            winnings[who] -= gap(state) - pulled
            chips[who] = tuple(c - t for c, t in zip(chips[who], choice, strict=True))
    if folder is not None:
        winnings[1 - folder] += sum(stacks)
    elif tiles[0] == tiles[1]:
        winnings = [w + max(stacks) for w in winnings]
    else:
        winnings[0 if tiles[0] > tiles[1] else 1] += 2 * max(stacks)
    seen = Slot(
        (tiles[0] % 2, tiles[1] % 2), stacks, folder, tiles if folder is None else None, pulled
    )
    return State(
        state.tiles,
        (chips[0], chips[1]),
        (winnings[0], winnings[1]),
        (*state.slots, seen),
        (own[0], own[1]),
    )


def payoff(state: State, player: int, objective: str = "win") -> float:
    """The player's utility at the end."""
    lead = state.winnings[player] - sum(state.winnings) // 2
    if objective == "chips":
        return float(lead)
    return float((lead > 0) - (lead < 0))


def infostate(state: State, player: int) -> Infostate:
    slot, other = len(state.slots), 1 - player
    return Infostate(
        player,
        state.tiles[player],
        state.chips[player],
        state.winnings,
        state.slots,
        (state.tiles[other][slot] % 2, state.chips[other][slot]),
        sum(state.chips[other][slot + 1 :]),
        state.choices[player],
    )


# -------------------------------------------------------------------------- strategies and values


class Strategy(NamedTuple):
    """Probability of each setup, of matching, and of each way to pay, given a match.

    The ways come in the order of ``choices``; without ``pay`` the default rule pays.
    """

    setups: dict[Setup, float]
    match: Callable[[Infostate], float]
    pay: Callable[[Infostate], list[float]] | None = None


def choice_probs(strategy: Strategy, state: State, pulls: str) -> list[float]:
    """The probability of each of the decider's choices."""
    info = infostate(state, decider(state))
    match = strategy.match(info)
    if strategy.pay is None:
        default = choices(state, "latest")[1]
        pay = [float(way == default) for way in choices(state, pulls)[1:]]
    else:
        pay = strategy.pay(info)
    return [1 - match, *(match * prob for prob in pay)]


def outcomes(
    state: State, prob: float, strategies: dict[int, Strategy], pulls: str = "latest"
) -> Iterator:
    """Play on from a position: ``(state, probability)`` at each end.

    A player without a strategy stops the play: there the position itself is given out.
    """
    if is_over(state):
        yield state, prob
        return
    who = decider(state)
    if who is None:
        yield from outcomes(play(state), prob, strategies, pulls)
    elif who not in strategies:
        yield state, prob
    else:
        probs = choice_probs(strategies[who], state, pulls)
        for choice, chance in zip(choices(state, pulls), probs, strict=True):
            if chance > 0:
                yield from outcomes(play(state, choice), prob * chance, strategies, pulls)


def expected_value(
    strategy0: Strategy, strategy1: Strategy, objective: str = "win", pulls: str = "latest"
) -> float:
    """Player 0's expected utility."""
    both = {0: strategy0, 1: strategy1}
    return sum(
        payoff(end, 0, objective) * prob
        for setup0, prob0 in strategy0.setups.items()
        for setup1, prob1 in strategy1.setups.items()
        for end, prob in outcomes(start(setup0, setup1), prob0 * prob1, both, pulls)
    )


def best_response(
    strategy: Strategy,
    all_setups: list[Setup],
    player: int,
    objective: str = "win",
    pulls: str = "latest",
    own_pulls: str | None = None,
) -> tuple[float, dict[Setup, float], dict[Infostate, int]]:
    """The best-response player's utility, the value of each setup, and the best of the choices.

    ``strategy`` plays the other seat under ``pulls``, the best-response player under ``own_pulls``
    if that is another rule.  Positions that the player cannot tell apart are kept
    together; they get one choice.
    """
    decisions: dict[Infostate, int] = {}
    rules = (objective, pulls, own_pulls or pulls)

    def begin(mine: Setup, theirs: Setup) -> State:
        return start(mine, theirs) if player == 0 else start(theirs, mine)

    values = {
        mine: best_value(
            [(begin(mine, theirs), prob) for theirs, prob in strategy.setups.items()],
            strategy,
            player,
            rules,
            decisions,
        )
        for mine in all_setups
    }
    return max(values.values()), values, decisions


def by_infostate(
    positions: list[tuple[State, float]], strategy: Strategy, player: int, pulls: str
) -> tuple[list[tuple[State, float]], dict[Infostate, list[tuple[State, float]]]]:
    """Play on to the player's next decision: the ends, and what each infostate may be."""
    ends, groups = [], defaultdict(list)
    for position, prob in positions:
        for state, chance in outcomes(position, prob, {1 - player: strategy}, pulls):
            if is_over(state):
                ends.append((state, chance))
            else:
                groups[infostate(state, player)].append((state, chance))
    return ends, groups


def choice_values(
    group: list[tuple[State, float]],
    strategy: Strategy,
    player: int,
    rules: tuple[str, str, str],
    decisions: dict[Infostate, int],
) -> list[float]:
    """The player's utility times probability for each choice at an infostate.

    ``rules`` are the objective, the opponent's and the player's own rule for paying; the best of
    the choices after this one are noted in ``decisions``.
    """
    own = rules[2]
    return [
        best_value(
            [(play(s, choices(s, own)[number]), p) for s, p in group],
            strategy,
            player,
            rules,
            decisions,
        )
        for number in range(len(choices(group[0][0], own)))
    ]


def best_value(
    positions: list[tuple[State, float]],
    strategy: Strategy,
    player: int,
    rules: tuple[str, str, str],
    decisions: dict[Infostate, int],
) -> float:
    """The player's best utility times probability from positions with one own setup."""
    objective, pulls, _ = rules
    ends, groups = by_infostate(positions, strategy, player, pulls)
    total = sum(payoff(state, player, objective) * prob for state, prob in ends)
    for info, group in groups.items():
        values = choice_values(group, strategy, player, rules, decisions)
        decisions[info] = values.index(max(values))
        total += max(values)
    return total


# ------------------------------------------------------------------------------------------- CFR


class Tables:
    """What CFR remembers, for both players.  A player's setup is the action at infostate None."""

    def __init__(self, all_setups: list[Setup]):
        self.setups = all_setups
        self.regrets: dict = defaultdict(lambda: [0.0, 0.0])
        self.sums: dict = defaultdict(lambda: [0.0, 0.0])  # average strategy, weighted by reach
        for player in (0, 1):
            self.regrets[player, None] = [0.0] * len(all_setups)
            self.sums[player, None] = [0.0] * len(all_setups)

    def current(self, player: int, info: Infostate | None) -> list[float]:
        """Regret matching: in proportion to positive regret, uniform where there is none."""
        return normal([max(r, 0.0) for r in self.regrets[player, info]])

    def average(self, player: int, info: Infostate | None) -> list[float]:
        return normal(self.sums[player, info])

    def average_strategy(self, player: int) -> Strategy:
        probs = dict(zip(self.setups, self.average(player, None), strict=True))
        return Strategy(probs, lambda info: self.average(player, info)[1])


def normal(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [w / total if total > 0 else 1 / len(weights) for w in weights]


def cfr_pass(tables: Tables, updates: tuple[int, ...], weight: float, objective: str) -> None:
    """Add one traversal's regrets, and strategies times ``weight``, for the players given.

    Every strategy is the current one as it was before the pass.
    """
    gains: dict = defaultdict(lambda: [0.0, 0.0])
    before = {}

    def policy(player: int, info: Infostate | None) -> list[float]:
        if (player, info) not in before:
            before[player, info] = tables.current(player, info)
        return before[player, info]

    def walk(state: State, reach: tuple[float, float]) -> float:
        """Player 0's expected value; ``reach`` holds what each player contributes."""
        if is_over(state):
            return payoff(state, 0, objective)
        who = decider(state)
        if who is None:
            return walk(play(state), reach)
        info = infostate(state, who)
        probs = policy(who, info)
        values = []
        for choice, prob in zip(choices(state, "latest"), probs, strict=True):
            next_reach = (reach[0] * prob, reach[1]) if who == 0 else (reach[0], reach[1] * prob)
            values.append(walk(play(state, choice), next_reach))
        mean = sum(p * v for p, v in zip(probs, values, strict=True))
        sign = 1 if who == 0 else -1
        for action in (0, 1):
            gains[who, info][action] += reach[1 - who] * sign * (values[action] - mean)
        own_reach[who, info] = reach[who]
        return mean

    own_reach: dict = {}
    n = len(tables.setups)
    setup_values = {0: [0.0] * n, 1: [0.0] * n}
    probs0, probs1 = policy(0, None), policy(1, None)
    for i, j in product(range(n), repeat=2):
        value = walk(start(tables.setups[i], tables.setups[j]), (probs0[i], probs1[j]))
        setup_values[0][i] += probs1[j] * value
        setup_values[1][j] -= probs0[i] * value
    for player in updates:
        probs = policy(player, None)
        mean = sum(p * v for p, v in zip(probs, setup_values[player], strict=True))
        gains[player, None] = [v - mean for v in setup_values[player]]
        own_reach[player, None] = 1.0
    for (player, info), gain in gains.items():
        if player in updates:
            for action, prob in enumerate(policy(player, info)):
                tables.regrets[player, info][action] += gain[action]
                tables.sums[player, info][action] += weight * own_reach[player, info] * prob


def cfr_iteration(tables: Tables, objective: str = "win", *, in_turn: bool = False) -> None:
    """One iteration of vanilla CFR, average weighted evenly: both players at once or in turn."""
    for players in [(0,), (1,)] if in_turn else [(0, 1)]:
        cfr_pass(tables, players, 1.0, objective)


def cfr_plus_iteration(tables: Tables, iteration: int, objective: str = "win") -> None:
    """One iteration of CFR+: players in turn, regrets cut at 0, average weighted by iteration.

    ``iteration`` counts from 1.
    """
    for player in (0, 1):
        cfr_pass(tables, (player,), float(iteration), objective)
        for (owner, _), regrets in tables.regrets.items():
            if owner == player:
                regrets[:] = [max(r, 0.0) for r in regrets]
