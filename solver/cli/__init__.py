"""The command ``blackwhite``: reads what a person typed, calls the solver, prints what came out.

Each module holds the commands of one kind; :mod:`solver.cli.app` joins them, and
:mod:`solver.cli.common` has what they share.  Heavy imports stand inside the commands, so that
``--help`` and a typing error answer at once, and what all commands need is imported by
:func:`main`, so that Ctrl-C ends the program in one line then too.  Only Python's own start cannot
be guarded, and what comes before this module: :mod:`solver` itself, which imports next to nothing.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]

INTERRUPTED = "blackwhite: interrupted; nothing was written\n"


def main() -> None:
    """Run the command; exit 0, or 2 with one line on standard error for bad input or Ctrl-C."""
    before = None
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # While modules load, an exception can be swallowed or turned into another one.
        before = signal.signal(signal.SIGINT, _leave)
    from solver.cli import app

    try:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        app.main()
    except KeyboardInterrupt:
        _leave()
    finally:
        # All is written: what the interpreter still tidies up is not worth a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(*_: object) -> None:
    """End the program at once; nothing has been begun."""
    sys.stderr.write(INTERRUPTED)
    sys.stderr.flush()
    os._exit(2)
