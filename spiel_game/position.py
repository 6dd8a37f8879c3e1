"""Betting Black and White one choice at a time, as immutable tuples.

:mod:`solver.rules` plays whole slots on arrays; OpenSpiel wants single choices and many cheap
copies.  A :class:`Position` is a game between two choices: it lists the choices open to the player
to move (:func:`options`) and gives the position after one of them (:func:`apply_choice`).  A choice
with one option is no choice and is made at once, so that every position that is not over has at
least two options.  The tests hold each slot against the arrays of :mod:`solver.rules`.

Order of choices: player 0 places tile and chips of slot 1, 2, ..., then player 1 does.  In a slot
the player with fewer chips folds or matches.  Who matches and may choose how to pay says how many
chips each later tile gives, from the latest slot back; winnings pay what is left.
"""

from __future__ import annotations

from typing import NamedTuple

from solver.rules import FOLD, MATCH, Game, utility

__all__ = [
    "DECIDE",
    "OVER",
    "PLACE_CHIPS",
    "PLACE_TILE",
    "PULL",
    "Position",
    "SlotResult",
    "apply_choice",
    "default_choice",
    "is_shown",
    "options",
    "placed_chips",
    "placed_tiles",
    "returns",
    "start",
    "winnings_and_later",
]

PLACE_TILE, PLACE_CHIPS, DECIDE, PULL, OVER = range(5)
"""Phases.  Only the player who places can tell the first two apart."""

Stacks = tuple[int, ...]


class SlotResult(NamedTuple):
    """How a slot ended.

    Attributes
    ----------
    folder : int
        The player who folded, or -1 if the tiles were shown.
    matcher : int
        The player who topped up, or -1.
    taken : tuple of int, length N
        Chips that the matcher took from the tile of each slot.
    default : tuple of int, length N
        Chips that the default way to pay would have taken: winnings first, then the latest tiles.
    """

    folder: int
    matcher: int
    taken: Stacks
    default: Stacks


class Position(NamedTuple):
    """A game between two choices.

    Attributes
    ----------
    game : Game
        Its parameters.
    placed : pair of tuples of int
        Each player's setup so far: tile, chips, tile, chips, ... by slot.
    chips : pair of tuples of int, length N (0 during the setup)
        Chips by slot: now for slots to be played, as both saw them for played ones.
    winnings : pair of int
        Chips won so far.
    slot : int
        The slot being played; N when the game is over.
    phase : int
        PLACE_TILE, PLACE_CHIPS, DECIDE, PULL or OVER.
    player : int
        Who chooses.
    pulling : tuple of int
        PULL: chips taken so far from slot N-1, N-2, ...
    results : tuple of SlotResult
        The slots played.
    """

    game: Game
    placed: tuple[Stacks, Stacks]
    chips: tuple[Stacks, Stacks]
    winnings: tuple[int, int]
    slot: int
    phase: int
    player: int
    pulling: Stacks
    results: tuple[SlotResult, ...]

    def __deepcopy__(self, memo: dict) -> Position:
        """Return itself: nothing in it can change."""
        return self


def start(game: Game) -> Position:
    """Return the first position of a game.

    Examples
    --------
    >>> options(start(Game(3, 6)))
    (0, 1, 2)
    """
    return _make_forced_choices(
        Position(game, ((), ()), ((), ()), (0, 0), 0, PLACE_TILE, 0, (), ())
    )


def placed_tiles(position: Position, player: int) -> Stacks:
    """Return a player's tiles by slot, as far as they are placed."""
    return position.placed[player][::2]


def placed_chips(position: Position, player: int) -> Stacks:
    """Return a player's stacks as they were placed, by slot."""
    return position.placed[player][1::2]


def options(position: Position) -> tuple[int, ...]:
    """Return what the player to move may choose, ascending; empty when the game is over.

    A tile's number, a number of chips to place, FOLD or MATCH, or a number of chips to take.
    """
    game = position.game
    if position.phase == DECIDE:
        return (FOLD, MATCH) if _can_match(position) else (FOLD,)
    if position.phase == PULL:
        low, high = _pull_bounds(position)
        return tuple(range(low, high + 1))
    if position.phase == OVER:
        return ()
    placed = position.placed[position.player]
    if position.phase == PLACE_TILE:
        used = placed[::2]
        return tuple(tile for tile in range(game.num_tiles) if tile not in used)
    left = game.num_chips - sum(placed[1::2])
    num_later = game.num_tiles - 1 - len(placed) // 2
    if num_later == 0:
        return (left,)
    return tuple(range(1, left - num_later + 1))


def apply_choice(position: Position, choice: int) -> Position:
    """Return the position after a choice and whatever is forced after it.

    Raises
    ------
    ValueError
        If ``choice`` is not one of the options.
    """
    allowed = options(position)
    if choice not in allowed:
        raise ValueError(f"action {choice}: allowed are {', '.join(map(str, allowed)) or 'none'}")
    return _make_forced_choices(_apply(position, choice))


def _make_forced_choices(position: Position) -> Position:
    while len(allowed := options(position)) == 1:
        position = _apply(position, allowed[0])
    return position


def _apply(position: Position, choice: int) -> Position:
    if position.phase == DECIDE:
        if choice == FOLD:
            return _settle(position, position.player, ())
        if position.game.pulls == "latest":
            return _settle(position, -1, _default_pulls(position))
        return _ask_pulls(position._replace(phase=PULL))
    if position.phase == PULL:
        return _ask_pulls(position._replace(pulling=(*position.pulling, choice)))
    return _place(position, choice)


def _place(position: Position, choice: int) -> Position:
    player = position.player
    mine = (*position.placed[player], choice)
    placed = (mine, position.placed[1]) if player == 0 else (position.placed[0], mine)
    position = position._replace(placed=placed)
    if position.phase == PLACE_TILE:
        return position._replace(phase=PLACE_CHIPS)
    if len(mine) < 2 * position.game.num_tiles:
        return position._replace(phase=PLACE_TILE)
    if player == 0:
        return position._replace(phase=PLACE_TILE, player=1)
    return _reach(position._replace(chips=(placed[0][1::2], placed[1][1::2])), 0)


def _reach(position: Position, slot: int) -> Position:
    """Go to ``slot``, past equal stacks, which show their tiles at once."""
    if slot == position.game.num_tiles:
        return position._replace(slot=slot, phase=OVER, pulling=())
    stack0, stack1 = position.chips[0][slot], position.chips[1][slot]
    player = 0 if stack0 < stack1 else 1
    position = position._replace(slot=slot, phase=DECIDE, player=player, pulling=())
    return _settle(position, -1, ()) if stack0 == stack1 else position


def _settle(position: Position, folder: int, taken: Stacks) -> Position:
    """Pay for a match if there was one, hand out the chips of the slot, go to the next.

    ``taken`` holds the matcher's pulls by slot, and is empty if nobody matched.
    """
    slot, chips = position.slot, position.chips
    stacks = chips[0][slot], chips[1][slot]
    stake = max(stacks)
    winnings = list(position.winnings)
    nothing = (0,) * position.game.num_tiles
    result = SlotResult(folder, -1, nothing, nothing)
    if taken:
        player = position.player
        result = SlotResult(-1, player, taken, _default_pulls(position))
        winnings[player] -= stake - min(stacks) - sum(taken)
        mine = tuple(stack - less for stack, less in zip(chips[player], taken, strict=True))
        chips = (mine, chips[1]) if player == 0 else (chips[0], mine)
    if folder >= 0:
        winnings[1 - folder] += sum(stacks)
    else:
        tile0, tile1 = position.placed[0][2 * slot], position.placed[1][2 * slot]
        if tile0 == tile1:
            winnings[0] += stake
            winnings[1] += stake
        else:
            winnings[0 if tile0 > tile1 else 1] += 2 * stake
    settled = position._replace(
        chips=chips,
        winnings=(winnings[0], winnings[1]),
        results=(*position.results, result),
    )
    return _reach(settled, slot + 1)


def _gap(position: Position) -> int:
    slot = position.slot
    return abs(position.chips[0][slot] - position.chips[1][slot])


def _can_match(position: Position) -> bool:
    later = position.chips[position.player][position.slot + 1 :]
    return position.winnings[position.player] + sum(later) - len(later) >= _gap(position)


def _default_pulls(position: Position) -> Stacks:
    """Return the chips taken from each slot's tile if winnings pay first, then latest tiles."""
    return _latest_first(position, _gap(position) - position.winnings[position.player])


def _latest_first(position: Position, rest: int) -> Stacks:
    chips = position.chips[position.player]
    taken = [0] * len(chips)
    slot = len(chips) - 1
    while rest > 0:
        taken[slot] = min(rest, chips[slot] - 1)
        rest -= taken[slot]
        slot -= 1
    return tuple(taken)


def _ask_pulls(position: Position) -> Position:
    """Settle once every later tile has been asked for chips."""
    num_later = position.game.num_tiles - 1 - position.slot
    if len(position.pulling) < num_later:
        return position
    taken = (0,) * (position.slot + 1) + position.pulling[::-1]
    return _settle(position, -1, taken)


def _pull_bounds(position: Position) -> tuple[int, int]:
    """Return the fewest and the most chips that the tile now asked may give."""
    chips = position.chips[position.player]
    asked = len(chips) - 1 - len(position.pulling)
    between = chips[position.slot + 1 : asked]
    behind = sum(between) - len(between)
    rest = _gap(position) - sum(position.pulling)
    winnings = position.winnings[position.player]
    if position.game.pulls == "free":
        behind += winnings
    else:
        rest -= min(winnings, _gap(position))
    return max(0, rest - behind), min(rest, chips[asked] - 1)


def default_choice(position: Position) -> int:
    """Return the option that pays by the default rule, given what was taken so far (PULL only)."""
    due = _gap(position) - position.winnings[position.player] - sum(position.pulling)
    low, high = _pull_bounds(position)
    return min(max(due, low), high)


def is_shown(position: Position, slot: int) -> bool:
    """Whether the tiles of ``slot`` were shown (all are once the game is over)."""
    if position.phase == OVER:
        return True
    return slot < len(position.results) and position.results[slot].folder < 0


def winnings_and_later(position: Position, player: int) -> tuple[int, int]:
    """Return a player's winnings and chips on the tiles after the current slot, both public."""
    if not position.chips[player]:
        return 0, position.game.num_chips
    return position.winnings[player], sum(position.chips[player][position.slot + 1 :])


def returns(position: Position) -> list[float]:
    """Return both players' utilities; zeros before the end."""
    if position.phase != OVER:
        return [0.0, 0.0]
    game = position.game
    return [utility(won, game.num_chips, game.is_win) for won in position.winnings]
