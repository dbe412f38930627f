"""Checks of study files: names that are taken, or that a user chooses, and columns that show nothing."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from benchrunner import PluginError, RequestError, did_you_mean
from benchrunner.results import Study, study as parts


def check_study(study: Study, path: Path) -> None:
    """Raise a `RequestError` if parts of a study do not agree."""
    columns, rows = [column.name for column in study.columns], [row.name for row in study.published]
    check_names(path, "column", [name.casefold() for name in columns])
    _check_backbones(path, study.systems)
    _check_repeated(path, "published row", rows)
    with as_request(path):
        study.check_published()
    for column in study.columns:
        for name in column.mean:
            if name not in columns or name == column.name:
                raise RequestError(
                    f"{path}: column {column.name}: its mean names '{name}', and the file has no other column of this "
                    "name."
                )
        if not column.is_measured and not any(column.name in row.cells for row in study.published):
            raise RequestError(
                f"{path}: column {column.name} shows nothing: give it a task, a figure or a mean, or published figures."
            )
    for system in study.systems:
        if system.series and system.at is None and study.axis != parts.TRAINING_ROWS:
            raise RequestError(
                f'{path}: system {system.name}: at: only the axis "{parts.TRAINING_ROWS}" has the place "all".'
            )
        if system.published and system.published not in rows:
            raise RequestError(f"{path}: system {system.name}: there is no published '{system.published}'.")


def check_names(path: Path, kind: str, names: list[str]) -> None:
    """Raise a `RequestError` if there are no systems or columns, or if a name is repeated or has a comma."""
    if not names:
        raise RequestError(f"{path}: a study needs at least one [[{kind}]].")
    for name in names:
        if "," in name:
            raise RequestError(
                f"{path}: {kind} {name}: a name has no comma, because commas separate names (--systems A,B)."
            )
    _check_repeated(path, kind, names)


def check_arms(path: Path, arms: Mapping[str, str], series: Collection[str]) -> None:
    """Raise a `RequestError` if only some systems have an arm, or if an arm has the name of something else.

    `arms` maps each system of the file to its arm; `series` are the names of lines of a figure.
    """
    if not any(arms.values()):
        return
    for system, arm in arms.items():
        if not arm:
            raise RequestError(
                f"{path}: system {system}: arm: is missing, and others have one. Give every system an arm, which "
                "may have a single system, or none."
            )
        if arm in arms or arm in series:
            kind = "system" if arm in arms else "series"
            raise RequestError(f"{path}: system {system}: arm: a {kind} is called '{arm}': give the arm another name.")


def _check_repeated(path: Path, kind: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise RequestError(f"{path}: two {kind}s are called '{name}'; each needs a name of its own.")


def _check_backbones(path: Path, systems: Iterable[parts.System]) -> None:
    """Raise a `RequestError` if two different commands build one backbone, or if it stands twice in one arm."""
    built = dict[str, parts.System]()
    of_arms = dict[tuple[str, str], parts.System]()
    for system in systems:
        if system.arm:
            twin = of_arms.setdefault((system.arm, system.backbone), system)
            if twin is not system:
                raise RequestError(
                    f"{path}: '{twin.name}' and '{system.name}' of the arm {system.arm} are the same backbone "
                    f"{system.backbone}: the systems of an arm are different pre-trainings, and restarts are an option."
                )
        if system.make:
            first = built.setdefault(system.backbone, system)
            if first.make != system.make:
                raise RequestError(
                    f"{path}: '{first.name}' and '{system.name}' are made by different commands, and would share the "
                    f"backbone {system.backbone}; each needs a backbone of its own."
                )


@contextlib.contextmanager
def as_request(where: object) -> Iterator[None]:
    """Turn a published row's error, which leaderboards of plugins raise, into an error about this file."""
    try:
        yield
    except PluginError as error:
        raise RequestError(f"{where}: {error}") from None


def choose(study: str, kind: str, extra: Mapping[str, bool], names: Iterable[str] | None) -> set[str]:
    """Return those names of systems or columns that a user asks for; upper and lower case are the same.

    `extra` maps each name to whether it is left out where the user names none (`names` is None).
    """
    if names is None:
        return {name for name, left_out in extra.items() if not left_out}
    known = {name.casefold(): name for name in extra}
    requested = dict.fromkeys(name.strip() for name in names if name.strip())
    for name in requested:
        if name.casefold() not in known:
            raise RequestError(
                f"{study} has no {kind} '{name}'.{did_you_mean(name, extra)} It has: {', '.join(extra)}."
            )
    if not requested:
        raise RequestError(f"Name one or more of the {kind}s of {study}: {', '.join(extra)}.")
    return {known[name.casefold()] for name in requested}


def columns_named(study: Study, names: Iterable[str] | None) -> tuple[parts.Column, ...]:
    """Return the columns with these names, in the order of the file; None means every column that is not extra."""
    chosen = choose(study.name, "column", {column.name: column.extra for column in study.columns}, names)
    return tuple(column for column in study.columns if column.name in chosen)
