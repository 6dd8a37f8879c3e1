"""python_betting_black_white as OpenSpiel sees it."""

import itertools
import pickle
import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python.observation import make_observation
from open_spiel.python.tests import games_sim_test

import spiel_game  # noqa: F401  registers the games
from solver.rules import Game, InputError
from solver.setups import draw_setup
from spiel_game.position import DECIDE, PLACE_TILE, PULL

NAME = "python_betting_black_white"
VARIANTS = [
    f"{NAME}(num_tiles={n},num_chips={c},pulls={pulls},objective={objective})"
    for n, c in ((3, 6), (10, 30))
    for pulls in ("latest", "tiles", "free")
    for objective in ("win", "chips")
]


def random_states(text, seed):
    """Yield every state of a random game."""
    rng = random.Random(seed)
    state = pyspiel.load_game(text).new_initial_state()
    yield state
    while not state.is_terminal():
        state = state.child(rng.choice(state.legal_actions()))
        yield state


@pytest.mark.parametrize("text", VARIANTS)
def test_open_spiel_accepts_random_games(text):
    pyspiel.random_sim_test(pyspiel.load_game(text), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize("text", [*VARIANTS, NAME])
def test_open_spiel_simulates_games(text):
    np.random.seed(1)  # noqa: NPY002  the simulation draws from the global state
    games_sim_test.GamesSimTest().sim_game(pyspiel.load_game(text))


@pytest.mark.parametrize("text", VARIANTS)
def test_every_state_survives_clone_pickle_and_serialization(text):
    game = pyspiel.load_game(text)
    for state in random_states(text, seed=3):
        copies = [
            state.clone(),
            pickle.loads(pickle.dumps(state)),
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
        ]
        for copy in copies:
            assert str(copy) == str(state)
            assert copy.position == state.position
            assert copy.history() == state.history()
            assert copy.legal_actions() == state.legal_actions()
            if not state.is_terminal():
                copy.apply_action(copy.legal_actions()[-1])  # must leave the original alone
                assert copy.history() != state.history()


def test_defaults_are_the_full_rule():
    game = pyspiel.load_game(NAME)
    assert game.get_parameters() == {
        "num_tiles": 10,
        "num_chips": 30,
        "pulls": "free",
        "objective": "win",
    }
    assert str(pyspiel.load_game(str(game))) == str(game)
    assert (game.min_utility(), game.max_utility()) == (-1, 1)
    chips = pyspiel.load_game(f"{NAME}(objective=chips)")
    assert (chips.min_utility(), chips.max_utility()) == (-30, 30)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ("num_tiles=5,num_chips=4", InputError, "number of chips 4: 5 tiles need at least 5"),
        ("num_tiles=1", InputError, "number of tiles 1: .* at least 2"),
        ("pulls=any", InputError, "pulls 'any': allowed are latest, tiles, free"),
        ("objective=lose", InputError, "objective 'lose': allowed are win, chips"),
        ("num_tiles=ten", pyspiel.SpielError, "num_tiles.*kInt"),
        ("tiles=5", pyspiel.SpielError, "Unknown parameter 'tiles'"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, error, message):
    with pytest.raises(error, match=message):
        pyspiel.load_game(f"{NAME}({parameters})")


def test_illegal_actions_are_refused():
    state = pyspiel.load_game(NAME).new_initial_state()
    with pytest.raises(ValueError, match="action 10: allowed are 0, 1"):
        state.apply_action(10)


def test_actions_have_readable_names():
    state = pyspiel.load_game(f"{NAME}(num_tiles=4,num_chips=9)").new_initial_state()
    names = []
    for action in (0, 1, 1, 3, 2, 3, 3, 4, 0, 2, 1, 2, 1, 1):
        names.append(state.action_to_string(action))
        state.apply_action(action)
    assert names[:2] == ["tile 0 in slot 1", "1 chips on slot 1"]
    assert names[-2:] == ["match", "take 1 from slot 4"]


def check_views_of_tree(root):
    """Check every state under ``root``: what strings and tensors tell, and what they must not."""
    strings, legal, parents, tensors, public = set(), {}, {}, {}, {}

    def walk(state, pasts):
        text = str(state)
        assert text not in strings  # every history has its own
        strings.add(text)
        if state.is_terminal():
            return
        seen = [(result.folder, sum(result.taken)) for result in state.position.results]
        for player in (0, 1):
            infostate = state.information_state_string(player)
            assert public.setdefault(infostate, seen) == seen
            tensor = bytes(np.array(state.information_state_tensor(player), np.float32))
            assert tensors.setdefault(infostate, tensor) == tensor
        player = state.current_player()
        infostate = state.information_state_string()
        assert legal.setdefault(infostate, state.legal_actions()) == state.legal_actions()
        assert parents.setdefault(infostate, pasts[player]) == pasts[player]  # perfect recall
        for action in state.legal_actions():
            past = (*pasts[player], (infostate, action))
            walk(state.child(action), (past, pasts[1]) if player == 0 else (pasts[0], past))

    walk(root, ((), ()))
    assert len(set(tensors.values())) == len(tensors)


def test_strings_and_tensors_tell_all_that_a_player_knows_and_no_more():
    check_views_of_tree(pyspiel.load_game(f"{NAME}(num_tiles=3,num_chips=5)").new_initial_state())


def test_strings_and_tensors_tell_all_pulls():
    rules = Game(4, 11, pulls="free")
    rng = np.random.default_rng(6)
    for _ in range(12):
        state = pyspiel.load_game(f"{NAME}(num_tiles=4,num_chips=11)").new_initial_state()
        setups = [draw_setup(rules, rng) for _ in range(2)]
        while state.position.phase < DECIDE:
            setup = setups[state.current_player()]
            slot = len(state.position.placed[state.current_player()]) // 2
            is_tile = state.position.phase == PLACE_TILE
            state.apply_action((setup.tiles if is_tile else setup.chips)[slot])
        check_views_of_tree(state)


def test_hidden_choices_leave_the_opponents_view_as_it_was():
    game = pyspiel.load_game(f"{NAME}(num_tiles=5,num_chips=40)")
    kinds = [pyspiel.IIGObservationType(perfect_recall=recall) for recall in (True, False)]
    views = [make_observation(game, kind) for kind in kinds]
    num_pulls = 0
    for seed in range(60):
        for before, after in itertools.pairwise(random_states(str(game), seed)):
            phases = {before.position.phase, after.position.phase}
            is_setup, is_pull = max(phases) < DECIDE, phases == {PULL}
            if before.current_player() != after.current_player() or not (is_setup or is_pull):
                continue
            num_pulls += is_pull
            opponent = 1 - before.current_player()
            for view in views:
                view.set_from(before, opponent)
                seen = view.tensor.copy()
                view.set_from(after, opponent)
                assert np.array_equal(view.tensor, seen)
                assert view.string_from(after, opponent) == view.string_from(before, opponent)
    assert num_pulls > 20


def test_information_state_uses_the_notation_of_the_command_line():
    game = pyspiel.load_game(f"{NAME}(num_tiles=4,num_chips=9)")
    # Player 0 places 0:1,1:3,2:3,3:2, player 1 3:4,0:2,1:2,2:1.
    state = game.new_initial_state()
    for action in (0, 1, 1, 3, 2, 3, 3, 4, 0, 2, 1, 2):
        state.apply_action(action)
    assert state.information_state_string(0) == "P0 | 0:1,1:3,2:3,3:2 |  | w4"
    state.apply_action(1)
    assert state.information_state_string(0) == "P0 | 0:1,1:3,2:3,3:2 |  | w4 match"
    assert state.information_state_string(1) == "P1 | 3:4,0:2,1:2,2:1 |  | b1 matched"
    state.apply_action(1)
    assert state.information_state_string(0) == "P0 | 0:1,1:3,2:3,3:2 |  | w4 match 4-1"
    state.apply_action(0)
    assert state.information_state_string(0) == "P0 | 0:1,1:3,2:3,3:2 | w4=3@4-1,2-2 | b2"
    assert state.information_state_string(1) == "P1 | 3:4,0:2,1:2,2:1 | b1=0 | w1"
    assert state.observation_string(0) == (
        "P0 0,1:1,2:3,3:1 | slot 2, P0 decides | b0 w:1 won 0 later 4 | w3 b:2 won 8 later 3"
    )


def test_an_end_shows_everything():
    state = list(random_states(f"{NAME}(num_tiles=3,num_chips=6)", seed=5))[-1]
    for player in (0, 1):
        own = state.information_state_string(player).split(" | ")[1]
        assert state.information_state_string(1 - player).endswith(f"over {own}")


def test_observers_come_in_every_kind_but_all_hidden_tiles():
    game = pyspiel.load_game(f"{NAME}(num_tiles=3,num_chips=6)")
    state = list(random_states(str(game), seed=1))[-3]
    views = {}
    for recall in (True, False):
        for public in (True, False):
            for private in (pyspiel.PrivateInfoType.NONE, pyspiel.PrivateInfoType.SINGLE_PLAYER):
                kind = pyspiel.IIGObservationType(
                    perfect_recall=recall, public_info=public, private_info=private
                )
                view = make_observation(game, kind)
                view.set_from(state, 0)
                views[recall, public, private] = (len(view.tensor), view.string_from(state, 0))
    assert len(set(views.values())) == 7  # with nothing public or private, recall has nothing
    everything = pyspiel.IIGObservationType(
        perfect_recall=True, private_info=pyspiel.PrivateInfoType.ALL_PLAYERS
    )
    with pytest.raises(InputError, match="all players"):
        game.make_py_observer(everything)
    with pytest.raises(InputError, match="observation parameters"):
        game.make_py_observer(None, {"depth": 3})
