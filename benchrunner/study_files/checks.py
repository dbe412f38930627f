"""Checks of study files: names that are taken, figures in no column, columns that show nothing."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchrunner.errors import PluginError, RequestError
from benchrunner.leaderboards.published import check_rows
from benchrunner.studies.study import Study, System


def check_study(study: Study, path: Path) -> None:
    """Raise a `RequestError` if parts of a study do not agree."""
    columns, rows = [column.name for column in study.columns], [row.name for row in study.published]
    check_names(path, "column", [name.casefold() for name in columns])
    _check_backbones(path, study.systems)
    _check_repeated(path, "published row", rows)
    with as_request(path):
        check_rows(columns, study.published)
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


def _check_repeated(path: Path, kind: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise RequestError(f"{path}: two {kind}s are called '{name}'; each needs a name of its own.")


def _check_backbones(path: Path, systems: Iterable[System]) -> None:
    """Raise a `RequestError` if two different commands build the same backbone."""
    built = dict[str, System]()
    for system in systems:
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
