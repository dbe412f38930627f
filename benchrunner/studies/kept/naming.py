"""Names of kept studies: those that users give, and names derived from what is compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchrunner.errors import RequestError
from benchrunner.fits.fit import identity
from benchrunner.io.decoding import as_json
from benchrunner.studies.kept.kept_form import kept_cells, without_cells
from benchrunner.studies.study import Study

LONGEST_NAME = 100
"""Characters of a study's name, so that every file system takes its file."""
LONGEST_WORD = 24
"""Characters of a backbone or task in a derived name."""
MANY = 3
"""From this number on, a derived name counts backbones or tasks instead of naming them."""


def check_name(name: str) -> str:
    """Return the name of a study; raise a `RequestError` if it cannot be the name of a file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) or len(name) > LONGEST_NAME:
        raise RequestError(
            f"A study's name has letters, digits and . _ + - only, begins with a letter or digit and is at most "
            f"{LONGEST_NAME} characters long, not '{name}'."
        )
    return name


def derived_name(study: Study) -> str:
    """Name a study by its file and scale, or by its backbones, its methods if they are several, and its tasks.

    Six digits of a hash tell it from other requests about the same.
    """
    cells = kept_cells((*study.stages, *study.cells))
    asked = replace(without_cells(study), path=None)  # the folder of a file changes nothing
    digits = identity({"study": as_json(asked), "cells": as_json(cells)})[:6]
    if study.name:
        return f"{_word(study.name.removesuffix('.toml'))}-{_word(study.scale.name)}-{digits}"
    compared = _listed(study.backbones, "backbones")
    if len(study.methods) > 1:
        compared += f"-by-{_listed(study.methods, 'methods')}"
    return f"{compared}-on-{_tasks([task.name for task in study.tasks])}-{digits}"


def _listed(names: Sequence[str], kind: str) -> str:
    return "-vs-".join(map(_word, names)) if len(names) < MANY else f"{len(names)}-{kind}"


def _tasks(tasks: Sequence[str]) -> str:
    if len(tasks) < MANY:
        return "-".join(map(_word, tasks))
    suites = {task.partition("/")[0] for task in tasks}
    return f"{len(tasks)}-tasks" if len(suites) > 1 else f"{len(tasks)}-{_word(suites.pop())}-tasks"


def _word(name: str) -> str:
    """Shorten a name for a study's name: without namespace or parent folders, with only letters, digits, - and ."""
    is_path = name.startswith(("/", ".", "~"))
    own = Path(name.rstrip("/")).name if is_path else name.partition("/")[2] or name
    word = re.sub(r"[^A-Za-z0-9.]+", "-", own).strip("-.")
    return word[:LONGEST_WORD].rstrip("-.") or "unnamed"
