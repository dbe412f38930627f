"""Contrasts: which systems or arms of a study are compared with which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchrunner.errors import RequestError, UnknownName
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
    spelled = spelled_names(study)
    if other not in spelled:
        raise UnknownName("system", other, _names(study), where="to compare with (--against)")
    name = spelled[other]
    contrasts = against(name, study.compared if name in study.compared else study.names)
    if not contrasts:
        raise RequestError(f"--against {other}: the study has no other system: add one, or leave --against out.")
    return replace(study, contrasts=contrasts)


def _names(study: Study) -> tuple[str, ...]:
    return (*study.arms, *study.lines, *study.names)


def spelled_names(study: Study) -> dict[str, str]:
    """Map every spelling of a name to the name: the whole name, or its backbone or the part after a slash if unique."""
    spelled: dict[str, str] = {}
    short: dict[str, list[str]] = {}
    for system in study.systems:
        short.setdefault(system.backbone, []).append(system.name)
    for name in _names(study):
        spelled[name] = name
        parts = name.split("/")
        for start in range(1, len(parts)):
            short.setdefault("/".join(parts[start:]), []).append(name)
    for ending, names in short.items():
        if len(set(names)) == 1:
            spelled.setdefault(ending, names[0])
    return spelled
