"""The command as a whole: its parts, and the one place where errors become one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from solver.cli import advising, environments, estimating, judging, reviewing, solving, tables
from solver.cli.common import compile_notice
from solver.rules import InputError

__all__ = ["app", "main"]

_TYPER_INTERRUPTED = 130
"""What newer versions of Typer return for Ctrl-C, where older ones raise ``Abort``."""

_MAY_BE_EMPTY = {"history", "partial"}
"""Options for which an empty text says something: nothing played, nothing placed yet."""


class _Command(TyperCommand):
    """A command that refuses empty texts by name: as a path, one would be the current folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check the texts as typed, then read them."""
        typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            value = typed.get(param.name)
            if isinstance(value, str) and not value.strip() and param.name not in _MAY_BE_EMPTY:
                name = param.opts[0] if param.param_type_name == "option" else param.name.upper()
                hint = "" if param.required else "; name something, or leave it out"
                raise InputError(f"{name} is empty{hint}")
        return super().parse_args(ctx, args)


class _App(typer.Typer):
    """Makes every command a :class:`_Command`."""

    def command(self, *args: Any, **settings: Any) -> Callable[[Callable[..., Any]], Any]:
        """Register a command."""
        return super().command(*args, **{"cls": _Command, **settings})


app = _App(
    name="blackwhite",
    help="Strategies, best responses and exploitability for Betting Black and White.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (solving, estimating, judging, advising, reviewing, tables, environments):
    part.register(app)


@app.callback()
def about() -> None:
    """Strategies, best responses and exploitability for Betting Black and White."""


def main() -> None:
    """Run the command; exit 0, or 2 with one line on standard error for bad input."""
    quiet = not {"--quiet", "-q"}.isdisjoint(sys.argv)
    swallowed = _note_swallowed_interrupts()
    try:
        with compile_notice(quiet=quiet):
            code = app(standalone_mode=False)
            sys.stdout.flush()  # here, where an error of it is one line
        if code == _TYPER_INTERRUPTED:
            raise KeyboardInterrupt
    except InputError as error:
        _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _refuse("interrupted; nothing was written")
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _refuse(f"{error.filename or 'input or output'}: {error.strerror or error}")
    except MemoryError:
        _refuse("not enough memory; `blackwhite estimate` tells what a game needs")
    except Exception as error:
        # Typer's usage errors come from its own copy of click; they know how to say themselves.
        if hasattr(error, "format_message"):
            _refuse(error.format_message())
        if swallowed or _is_interrupt(error):
            _refuse("interrupted; nothing was written")
        if os.environ.get("BLACKWHITE_TRACEBACK"):
            raise
        _refuse(
            f"internal error, please report it: {type(error).__name__}: {error} "
            "(BLACKWHITE_TRACEBACK=1 shows where)"
        )
    sys.exit(code if isinstance(code, int) else 0)


def _note_swallowed_interrupts() -> list[object]:
    """Return a list that Ctrl-C fills where it cannot be raised: in the compiler's callbacks.

    The compiler then fails in its own way.
    """
    swallowed: list[object] = []
    report = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            swallowed.append(unraisable.exc_type)
        else:
            report(unraisable)

    sys.unraisablehook = hook
    return swallowed


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: OpenSpiel turns one while it loads into ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _refuse(message: str) -> None:
    sys.stderr.write("blackwhite: " + " ".join(message.split()) + "\n")
    sys.exit(2)
