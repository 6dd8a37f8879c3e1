"""The manifest of a table: what it is, how it was made, and the sums of its files."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from solver.abstraction import VERSION
from solver.lock import LockText
from solver.rules import Game, InputError, Objective, Pulls

__all__ = [
    "FORMAT_VERSION",
    "Abstraction",
    "Exploitability",
    "FolderManifest",
    "GameFacts",
    "LockFacts",
    "Manifest",
    "Round",
    "game_of",
    "new_manifest",
    "package_versions",
]

FORMAT_VERSION = 1

_PACKAGES = ("blackwhite", "numba", "numpy", "polars", "scipy")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GameFacts(_Part):
    """The game's parameters, as in :class:`solver.rules.Game`."""

    num_tiles: int
    num_chips: int
    pulls: Pulls
    objective: Objective


class Exploitability(_Part):
    """What the best response scores against the table, in utilities; null where not known.

    ``kind`` is ``exact`` (by best response over the whole game) or ``unknown``.
    """

    kind: Literal["exact", "unknown"]
    value: float | None


class Abstraction(_Part):
    """Which decisions a sampled table treats alike, and the family its setups come from."""

    setups: str
    decisions: str
    parameters: dict[str, float | int | str | list[int] | list[float]]

    @field_validator("decisions")
    @classmethod
    def _check_version(cls, found: str) -> str:
        if found != VERSION:
            raise ValueError(f"{found!r}; this program reads {VERSION!r}")
        return found


class LockFacts(LockText):
    """What was locked when the table was solved, and whose strategy of the two it holds.

    ``sha256`` is of the lock alone.  ``gap`` is what best responses of both seats earn in all, the
    locked seat's within the lock: the lock costs at least the exploitability of the locked seat's
    table less this; null in a solve in progress, and in a sampled table, which does not know it.
    """

    role: Literal["locked", "opponent"]
    gap: float | None
    sha256: str

    @classmethod
    def of(cls, text: LockText, role: Literal["locked", "opponent"], gap: float | None) -> Self:
        """Return the facts of a lock."""
        return cls(
            seat=text.seat,
            setups=text.setups,
            answers=text.answers,
            role=role,
            gap=gap,
            sha256=text.digest,
        )

    @model_validator(mode="after")
    def _check_sum(self) -> Self:
        if self.sha256 != self.digest:
            raise ValueError("wrong checksum; the lock is damaged or was changed")
        return self


class Round(_Part):
    """A search for replies to a sampled strategy while it was solved.

    ``best`` and ``mean`` are what the plans earned that won, with the strategy's own answers, after
    so many iterations; 0 where none won.
    """

    iterations: int = Field(ge=0)
    best: float
    mean: float


class FolderManifest(_Part):
    """What every table says of itself, whatever the game.

    ``game_name`` says which game the tables of a class are of, as :func:`game_of` reads it.
    ``rows`` and ``sha256`` have one entry for each Parquet file; ``sha256`` also covers the
    checkpoint where there is one.
    """

    game_name: ClassVar[str]

    format_version: int
    method: Literal["exact", "mccfr"]
    algorithm: str
    exploitability: Exploitability
    rows: dict[str, int] = {}
    sha256: dict[str, str] = {}
    versions: dict[str, str]
    command: str

    @model_validator(mode="before")
    @classmethod
    def _check_kind(cls, data: object) -> object:
        if not isinstance(data, dict) or "format_version" not in data:
            raise ValueError("not the manifest of a table (no format_version in it)")
        found = data["format_version"]
        if found != FORMAT_VERSION:
            raise ValueError(f"format_version {found!r}; this program reads {FORMAT_VERSION}")
        if game_of(data) not in {None, cls.game_name}:
            raise ValueError(f"a table of {game_of(data)}; this needs one of {cls.game_name}")
        return data

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a manifest file; raise :class:`InputError` naming what is wrong in it."""
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a text file") from None
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = first["msg"].removeprefix("Value error, ")
            raise InputError(f"{path}: {where + ': ' if where else ''}{reason}") from None


class Manifest(FolderManifest):
    """All that a table of Betting Black and White says of itself.

    ``iterations`` and ``seconds`` count from the start, over all resumed runs; ``options`` are the
    settings of the sampling, and ``rounds`` what was found against it on the way.  ``finished`` is
    False for a solve in progress, which has a checkpoint and no Parquet files yet.
    """

    game_name = "betting-black-white"

    game: GameFacts
    iterations: int = Field(ge=0)
    seconds: float = Field(ge=0)
    seed: int | None
    options: dict[str, float | int | bool] = {}
    abstraction: Abstraction | None
    rounds: list[Round] = []
    lock: LockFacts | None = None
    finished: bool = True

    @model_validator(mode="after")
    def _check_game(self) -> Self:
        _ = self.rules
        return self

    @property
    def rules(self) -> Game:
        """The game as the solvers know it."""
        return Game(**self.game.model_dump())


def game_of(data: object) -> str | None:
    """Return which game the table is of whose manifest holds ``data``, None where it does not say.

    Only the games beside the main one are named in it.

    Examples
    --------
    >>> game_of({"game": {"num_tiles": 3}}), game_of({"game": {"name": "red-and-black"}})
    ('betting-black-white', 'red-and-black')
    """
    game = data.get("game") if isinstance(data, dict) else None
    return str(game.get("name", Manifest.game_name)) if isinstance(game, dict) else None


def new_manifest(game: Game, exploitability: float | None, **facts: object) -> Manifest:
    """Return a manifest of today's format and packages with these facts."""
    return Manifest(
        format_version=FORMAT_VERSION,
        game=GameFacts(
            num_tiles=game.num_tiles,
            num_chips=game.num_chips,
            pulls=game.pulls,
            objective=game.objective,
        ),
        exploitability=Exploitability(
            kind="unknown" if exploitability is None else "exact", value=exploitability
        ),
        versions=package_versions(),
        **facts,  # type: ignore[arg-type]
    )


def package_versions() -> dict[str, str]:
    """Return the versions of what computes a table."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
