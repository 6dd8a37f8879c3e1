"""The command ``blackwhite``: reads what a person typed, calls the solver, prints what came out.

Each module holds the commands of one kind; :mod:`solver.cli.app` joins them, and
:mod:`solver.cli.common` has what they share.  Heavy imports stand inside the commands, so that
``--help`` and a typing error answer at once.
"""

from solver.cli.app import main

__all__ = ["main"]
