"""Contrasts: which systems or arms of a study are compared with which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchrunner.errors import RequestError, UnknownName
from benchrunner.plugins.offered_values import meant
from benchrunner.studies.study import Study

Contrast = tuple[str, str]


def against(name: str, names: Iterable[str]) -> tuple[Contrast, ...]:
    """Return the contrasts of all other systems or arms with one of them."""
    return tuple((other, name) for other in names if other != name)


def compared_with(study: Study, other: str) -> Study:
    """Return a study that compares all systems, arms or series with one of them, and no other pairs.

    Its name is that of the table; of a name such as `maker/model`, the part after a slash is enough if only one system
    ends so.
    """
    name = meant_name(other, study)
    if name is None:
        raise UnknownName("system", other, _names(study), where="to compare with (--against)")
    contrasts = against(name, study.compared if name in study.compared else study.names)
    if not contrasts:
        raise RequestError(f"--against {other}: the study has no other system: add one, or leave --against out.")
    return replace(study, contrasts=contrasts)


def _names(study: Study) -> tuple[str, ...]:
    return (*study.arms, *study.lines, *study.names)


def meant_name(name: str, study: Study) -> str | None:
    """Return the name of a system, an arm or a series that is spelled whole, from a slash on, or as its backbone.

    None if there is none; raise a `RequestError` if several names end so.
    """
    full = meant(name, _names(study))
    of_backbone = [system.name for system in study.systems if system.backbone == name]
    return full or (of_backbone[0] if len(of_backbone) == 1 else None)
