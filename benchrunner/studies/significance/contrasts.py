"""Contrasts: which systems or arms of a study are compared with which, from texts such as `one - other`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from benchrunner.errors import RequestError, UnknownName
from benchrunner.studies.study import Study

Contrast = tuple[str, str]


def divided(text: str, known: Collection[str], minus: str = " - ") -> Iterator[Contrast]:
    """Yield each way to divide a text at a minus between two different known names; names may have a minus, too."""
    parts = text.split(minus)
    for count in range(1, len(parts)):
        first = minus.join(parts[:count]).strip()
        second = minus.join(parts[count:]).strip()
        if first != second and first in known and second in known:
            yield first, second


def against(name: str, names: Iterable[str]) -> tuple[Contrast, ...]:
    """Return the contrasts of all other systems or arms with one of them."""
    return tuple((other, name) for other in names if other != name)


def check_contrast(contrast: Contrast, arm_of: dict[str, str], place: str) -> None:
    """Raise a `RequestError` if one of the two is an arm that contains the other. `arm_of` maps systems to arms."""
    name, other = contrast
    if other == arm_of.get(name) or name == arm_of.get(other):
        raise RequestError(f"{place}: of {name} and {other}, one is an arm that contains the other.")


def with_contrasts(study: Study, other: str | None, texts: Sequence[str]) -> Study:
    """Return a study that compares all systems, arms or series with `other`, and the pairs that `texts` name.

    Names are those of the table; of a name such as `maker/model`, the part after a slash is enough if only one system
    ends so. A text is `A - B`, or `A-B` where this can be read in one way only.
    """
    if other is None and not texts:
        return study
    spelled = spelled_names(study)
    contrasts = dict[Contrast, None]()
    if other is not None:
        if other not in spelled:
            raise UnknownName("system", other, _names(study), where="to compare with (--against)")
        name = spelled[other]
        names = study.compared if name in study.compared else study.names
        contrasts |= dict.fromkeys(against(name, names))
        if not contrasts:
            raise RequestError(f"--against {other}: there is no other system to compare with {other}.")
    for text in texts:
        first, second = _contrast(text, spelled, study)
        contrasts[first, second] = None
    arm_of = {system.name: system.arm for system in study.systems if system.arm}
    for contrast in contrasts:
        check_contrast(contrast, arm_of, "--against and --contrast")
    return replace(study, contrasts=tuple(contrasts))


def _contrast(text: str, spelled: dict[str, str], study: Study) -> Contrast:
    """Read one contrast; raise a `RequestError` if the text names no two systems, or may name several pairs."""
    for minus in (" - ", "-"):
        found = dict[Contrast, None]()
        for first, second in divided(text, spelled, minus):
            if spelled[first] != spelled[second]:
                found[spelled[first], spelled[second]] = None
        if len(found) == 1:
            return next(iter(found))
        if found:
            read = " or as ".join(f"'{first}' and '{second}'" for first, second in found)
            advice = "Write 'A - B' with blanks" if minus == "-" else "Give the two as --systems, without --contrast"
            raise RequestError(f"--contrast {text} may be read as {read}. {advice}.")
    raise RequestError(
        f"--contrast {text} is not 'A - B' with two different names of systems or arms; they are: "
        f"{', '.join(_names(study))}."
    )


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
