"""What a player, or an onlooker, sees of a :class:`~spiel_game.position.Position`.

Strings use the notation of the command line.  An information state, the whole past of a player, is
``seat | own setup as placed | past slots | now``, such as ``P0 | 1:2,0:1 | w3=1 | b1``:

* a past slot is the opponent's colour and stack, then ``f`` (the opponent folded), ``F`` (folded
  oneself) or ``=n`` (shown, the opponent's number is n).  ``@10-2,9-1`` adds the chips taken from
  own later slots, ``@-3`` the chips that the opponent took from later tiles, each only where it
  differs from the default way to pay.  Stacks, winnings and totals follow from these.
* now is ``place``, ``wait``, the opponent's tile faced, that with ``match 10-2,9-0`` (own pulls so
  far) or ``matched`` (the opponent is choosing pulls), or ``over`` and the opponent's setup.

An observation is what lies on the table now, without the past.
"""

from __future__ import annotations

import numpy as np
import pyspiel

from solver.rules import InputError
from spiel_game.position import (
    DECIDE,
    OVER,
    PLACE_CHIPS,
    PULL,
    Position,
    is_shown,
    placed_chips,
    placed_tiles,
    winnings_and_later,
)

__all__ = ["Observer", "information_state_string", "observation_string", "setup_string"]


def setup_string(position: Position, player: int) -> str:
    """Return a player's setup so far, ``8:4,3:?``."""
    tiles, chips = placed_tiles(position, player), placed_chips(position, player)
    stacks = [*map(str, chips), "?"]
    return ",".join(f"{tile}:{stack}" for tile, stack in zip(tiles, stacks, strict=False))


def _faced(position: Position, player: int) -> str:
    """Return the opponent's colour and stack in the current slot."""
    tile = placed_tiles(position, 1 - player)[position.slot]
    return f"{'bw'[tile & 1]}{position.chips[1 - player][position.slot]}"


def _slot_token(position: Position, slot: int, player: int, *, with_own_pulls: bool) -> str:
    """Return a past slot as ``player`` saw it."""
    opponent = 1 - player
    result = position.results[slot]
    tile = placed_tiles(position, opponent)[slot]
    token = f"{'bw'[tile & 1]}{position.chips[opponent][slot]}"
    if result.folder < 0:
        token += f"={tile}"
    else:
        token += "F" if result.folder == player else "f"
    if result.matcher == opponent and sum(result.taken) != sum(result.default):
        token += f"@-{sum(result.taken)}"
    if result.matcher == player and result.taken != result.default and with_own_pulls:
        taken = [(s, less) for s, less in enumerate(result.taken, 1) if less]
        token += "@" + ",".join(f"{s}-{less}" for s, less in reversed(taken))
    return token


def _now(position: Position, player: int) -> str:
    """Return the last field of an information state."""
    if position.phase == OVER:
        return f"over {setup_string(position, 1 - player)}"
    if position.phase < DECIDE:
        return "place" if position.player == player else "wait"
    faced = _faced(position, player)
    if position.phase == DECIDE:
        return faced
    if position.player != player:
        return f"{faced} matched"
    return " ".join([faced, "match", _pulling_string(position)]).rstrip()


def _pulling_string(position: Position) -> str:
    num_tiles = position.game.num_tiles
    return ",".join(f"{num_tiles - i}-{less}" for i, less in enumerate(position.pulling))


def information_state_string(position: Position, player: int) -> str:
    """Return the whole past of ``player``; different pasts have different strings."""
    past = " ".join(
        _slot_token(position, slot, player, with_own_pulls=True)
        for slot in range(len(position.results))
    )
    setup, now = setup_string(position, player), _now(position, player)
    return f"P{player} | {setup} | {past} | {now}"


def observation_string(position: Position, player: int) -> str:
    """Return what ``player`` sees on the table now."""
    return f"{_private_string(position, player)} | {_public_string(position)}"


def _public_string(position: Position) -> str:
    """Return what an onlooker sees now: tiles, stacks, winnings, chips on later tiles."""
    parts = [_public_now(position)]
    for player in (0, 1):
        seen = [_public_tile(position, player, s) for s in range(_num_seen(position))]
        if position.phase in (DECIDE, PULL):
            seen[-1] += f":{position.chips[player][position.slot]}"
        winnings, later = winnings_and_later(position, player)
        parts.append(" ".join([*seen, f"won {winnings} later {later}"]))
    return " | ".join(parts)


def _public_now(position: Position) -> str:
    if position.phase == OVER:
        return "over"
    step = {DECIDE: "decides", PULL: "matches"}.get(position.phase, "places")
    return f"slot {position.slot + 1}, P{position.player} {step}"


def _num_seen(position: Position) -> int:
    """Return how many slots have been reached."""
    if not position.chips[0]:
        return 0
    return min(position.slot + 1, position.game.num_tiles)


def _public_tile(position: Position, player: int, slot: int) -> str:
    tile = placed_tiles(position, player)[slot]
    return f"{'bw'[tile & 1]}{tile if is_shown(position, slot) else ''}"


def _private_string(position: Position, player: int) -> str:
    """Return the own tiles and, where they are still to be played, their chips now."""
    own = setup_string(position, player)
    if position.chips[player]:
        tiles, chips = placed_tiles(position, player), position.chips[player]
        own = ",".join(
            f"{tile}:{chips[slot]}" if slot >= position.slot else f"{tile}"
            for slot, tile in enumerate(tiles)
        )
    pulling = ""
    if position.phase == PULL and position.player == player:
        pulling = f" match {_pulling_string(position)}".rstrip()
    return f"P{player} {own}{pulling}".rstrip()


class Observer:
    """Tensors and strings for one kind of observation; see OpenSpiel's ``observation.py``.

    All numbers are 0/1 or counts of chips.  Pieces (N slots, tiles by number; ``[2, ...]`` is by
    seat):

    ``player`` [2]                 whose view this is
    public: ``phase`` [4]          setup, match or fold, pulls, over
    ``to_act`` [2], ``slot`` [N]   who chooses, and where
    ``seen_tiles`` [2, N, N + 2]   number if shown, else black, white; zeros if not reached
    ``stacks`` [2]                 chips in the current slot
    ``winnings``, ``later`` [2]    chips won, chips on later tiles
    private: ``tiles`` [N, N]      own tile by slot
    ``chips`` [N]                  own chips by slot, as they are now
    ``asked`` [N], ``pulling`` [N] the tile now asked to pay; chips taken so far in this match

    With perfect recall also:

    ``seen_stacks`` [2, N]         stacks of each slot when it was reached
    ``pulled`` [2, N]              chips taken from later tiles to match in each slot
    ``placed`` [N]                 own chips as they were placed
    ``own_pulls`` [N, N]           chips taken for each slot (first axis) from each own tile
    """

    def __init__(self, game, iig_obs_type: pyspiel.IIGObservationType | None, params) -> None:
        if params:
            raise InputError(f"observation parameters {params}: there are none")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
            raise InputError("observation of all players' hidden tiles: allowed are one or none")
        self._public = kind.public_info
        self._private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        self._recall = kind.perfect_recall
        n = game.num_tiles
        shapes: dict[str, tuple[int, ...]] = {"player": (2,)}
        if self._public:
            shapes |= {"phase": (4,), "to_act": (2,), "slot": (n,), "seen_tiles": (2, n, n + 2)}
            shapes |= {"stacks": (2,), "winnings": (2,), "later": (2,)}
        if self._private:
            shapes |= {"tiles": (n, n), "chips": (n,), "asked": (n,), "pulling": (n,)}
        if self._public and self._recall:
            shapes |= {"seen_stacks": (2, n), "pulled": (2, n)}
        if self._private and self._recall:
            shapes |= {"placed": (n,), "own_pulls": (n, n)}
        sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        self.dict = {}
        begin = 0
        for name, shape in shapes.items():
            self.dict[name] = self.tensor[begin : begin + sizes[name]].reshape(shape)
            begin += sizes[name]

    def set_from(self, state, player: int) -> None:
        """Fill the tensors with the view of ``player``."""
        position = state.position
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if self._public:
            self._set_public(position)
        if self._private:
            self._set_private(position, player)
        if self._public and self._recall:
            self._set_public_past(position)
        if self._private and self._recall:
            self._set_private_past(position, player)

    def _set_public(self, position: Position) -> None:
        views = self.dict
        views["phase"][max(position.phase - PLACE_CHIPS, 0)] = 1
        if position.phase != OVER:
            views["to_act"][position.player] = 1
            views["slot"][position.slot] = 1
        for player in (0, 1):
            tiles = placed_tiles(position, player)
            for slot in range(_num_seen(position)):
                shown = is_shown(position, slot)
                entry = tiles[slot] if shown else position.game.num_tiles + (tiles[slot] & 1)
                views["seen_tiles"][player, slot, entry] = 1
            if position.phase in (DECIDE, PULL):
                views["stacks"][player] = position.chips[player][position.slot]
            winnings, later = winnings_and_later(position, player)
            views["winnings"][player] = winnings
            views["later"][player] = later

    def _set_private(self, position: Position, player: int) -> None:
        views = self.dict
        for slot, tile in enumerate(placed_tiles(position, player)):
            views["tiles"][slot, tile] = 1
        chips = position.chips[player] or placed_chips(position, player)
        for slot in range(position.slot, len(chips)):
            views["chips"][slot] = chips[slot]
        if position.phase == PULL and position.player == player:
            last = position.game.num_tiles - 1
            views["asked"][last - len(position.pulling)] = 1
            for i, less in enumerate(position.pulling):
                views["pulling"][last - i] = less

    def _set_public_past(self, position: Position) -> None:
        seen = _num_seen(position)
        for player in (0, 1):
            self.dict["seen_stacks"][player, :seen] = position.chips[player][:seen]
        for slot, result in enumerate(position.results):
            if result.matcher >= 0:
                self.dict["pulled"][result.matcher, slot] = sum(result.taken)

    def _set_private_past(self, position: Position, player: int) -> None:
        chips = placed_chips(position, player)
        self.dict["placed"][: len(chips)] = chips
        for slot, result in enumerate(position.results):
            if result.matcher == player:
                self.dict["own_pulls"][slot] = result.taken

    def string_from(self, state, player: int) -> str:
        """Return the view of ``player`` as text."""
        position = state.position
        if self._public and self._private:
            describe = information_state_string if self._recall else observation_string
            return describe(position, player)
        if self._private:
            return (
                self._private_past(position, player)
                if self._recall
                else _private_string(position, player)
            )
        if not self._public:
            return ""
        return self._public_past(position) if self._recall else _public_string(position)

    @staticmethod
    def _public_past(position: Position) -> str:
        slots = [
            "/".join(_slot_token(position, s, player, with_own_pulls=False) for player in (1, 0))
            for s in range(len(position.results))
        ]
        return " | ".join([" ".join(slots), _public_string(position)])

    @staticmethod
    def _private_past(position: Position, player: int) -> str:
        pulls = [
            f"{slot}:" + ",".join(map(str, result.taken))
            for slot, result in enumerate(position.results, 1)
            if result.matcher == player
        ]
        return " ".join([_private_string(position, player), setup_string(position, player), *pulls])
