"""OpenSpiel games; importing the package registers them.

>>> import pyspiel
>>> game = pyspiel.load_game("python_betting_black_white(num_tiles=3,num_chips=6)")
>>> str(game.new_initial_state())
'P0 |  |  | place\\nP1 |  |  | wait'
"""

from spiel_game import betting_black_white, put_and_take, red_and_black

__all__ = ["betting_black_white", "put_and_take", "red_and_black"]
