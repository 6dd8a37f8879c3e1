"""Forms that people write as JSON: read in one way, and what is wrong said in one wording.

What Python's reader takes silently is refused: of a name that stands twice in an object it would
keep the last.
"""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from solver.rules import InputError

__all__ = ["DECODER", "fill_form", "read_form", "syntax_reason"]

_WORDS = {
    "missing": "missing",
    "extra_forbidden": "not known here",
    "string_type": "a string is needed",
    "int_type": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_type": "a number is needed",
    "finite_number": "a finite number is needed",
    "list_type": "a list is needed",
    "model_type": "an object is needed",
    "too_short": "{actual_length} given, and {min_length} are needed",
    "too_long": "more than {max_length} given",
    "greater_than": "it must be above {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "allowed are {expected}",
}
"""What is wrong, by Pydantic's name for it."""

Form = TypeVar("Form", bound=BaseModel)


def _refuse_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs of an object as a dictionary, if no name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{double!r} stands twice in one object")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_refuse_doubles)
"""Reads JSON; raises InputError where a name stands twice."""


def syntax_reason(error: json.JSONDecodeError) -> str:
    """Return why a text is not JSON, without the place.

    Examples
    --------
    >>> try:
    ...     DECODER.decode('{"me')
    ... except json.JSONDecodeError as error:
    ...     print(syntax_reason(error))
    Unterminated string
    """
    return error.msg.removesuffix(" at").removesuffix(" starting")


def fill_form(form: type[Form], data: object) -> Form:
    """Return what was read from JSON as a form; raise InputError naming the first wrong part.

    Examples
    --------
    >>> class Point(BaseModel):
    ...     x: int
    >>> fill_form(Point, {})
    Traceback (most recent call last):
    ...
    solver.rules.InputError: x: missing
    """
    try:
        return form.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors()[0]
        words = _WORDS.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
        raise InputError(": ".join([*_place(first["loc"]), words])) from None
    except RecursionError:
        raise InputError("too deeply nested") from None


def read_form(form: type[Form], text: str) -> Form:
    """Read a form from text.

    Raises
    ------
    InputError
        If it is not JSON, or not of the form; the message names the first wrong part.
    """
    try:
        data = DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {syntax_reason(error)} at {place}") from None
    except InputError:
        raise
    except (ValueError, RecursionError):  # a number of thousands of digits, or a deep nest
        raise InputError("not JSON that can be read: too long a number, or too deep") from None
    return fill_form(form, data)


def _place(parts: tuple[int | str, ...]) -> list[str]:
    """Return where something is wrong, as in ``answers.0.match``; nothing for the whole."""
    return [".".join(str(part) for part in parts)] if parts else []
