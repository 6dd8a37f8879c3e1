"""Starting a command: what it loads, and Ctrl-C before anything has begun."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from solver.advice.interval import t_quantile

INTERRUPT_AT = """
import os, signal, sys
import solver.cli

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000):
                    pass
            except BaseException:
                raise ImportError("swallowed") from None

sys.meta_path.insert(0, Finder())
sys.argv = ["blackwhite", "estimate", "3x6"]
solver.cli.main()
"""


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize("name", ["typer", "rich.console", "numba", "solver.rules"])
def test_interrupt_while_modules_load_ends_in_one_line(name):
    done = run(INTERRUPT_AT.format(name=name))
    assert done.stderr == "blackwhite: interrupted; nothing was written\n"
    assert (done.returncode, done.stdout) == (2, "")


INTERRUPT_AFTERWARDS = """
import atexit, os, signal, sys
import solver.cli

signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["blackwhite", "estimate", "3x6", "--json", "--quiet"]
solver.cli.main()
"""


def test_interrupt_after_the_output_leaves_no_traceback():
    done = run(INTERRUPT_AFTERWARDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["game"] == "3x6"


WRONG_INPUT = """
import sys
import numba.core.event
import solver.cli.app, solver.rules, solver.situation

read = solver.situation.parse_situation
def compiling(*args, **options):
    with numba.core.event.trigger_event("numba:compile"):
        return read(*args, **options)
solver.situation.parse_situation = compiling
sys.argv = ["blackwhite", "query", "bot:random", "--game", "3x6", *"{}".split()]
solver.cli.app.main()
"""


def test_wrong_input_gets_one_line_though_something_is_compiled():
    done = run(WRONG_INPUT.format("--me 0:1,1:1,2:4 --facing g4"))
    assert done.returncode == 2
    assert done.stderr == "blackwhite: facing 'g4': write colour and chips, such as w6\n"


def test_command_starts_without_what_only_some_commands_need():
    heavy = ("polars", "pydantic", "scipy.special", "scipy.linalg", "pyspiel", "solver.table")
    done = run(f"import solver.cli.app, sys; print([m for m in {heavy!r} if m in sys.modules])")
    assert done.stdout == "[]\n"


def test_advice_needs_neither_scipys_functions_nor_openspiel():
    heavy = ("scipy.special", "scipy.optimize", "pyspiel", "typer")
    done = run(f"import solver.advice, sys; print([m for m in {heavy!r} if m in sys.modules])")
    assert done.stdout == "[]\n"


def test_t_quantile_equals_scipys():
    special = pytest.importorskip("scipy.special")
    for freedom in (1, 2, 3, 4, 7, 19, 100, 499, 500, 501, 3000):
        wanted = special.stdtrit(freedom, 0.975)
        assert t_quantile(freedom) == pytest.approx(wanted, abs=1e-9)
