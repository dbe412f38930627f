"""Parameters of study files: their values, and texts with parameters in them.

`{name}` in a text stands for a parameter's value. `{steps*2/5}` calculates with whole numbers and rounds down.
`{name.file}` is the value with only those characters that may stand in a file name. `{here}` is the folder of the file.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, final

from benchrunner import RequestError, closest_names, did_you_mean
from benchrunner.engine import Parameter

SEPARATORS = {"text": "", "list": ",", "words": " "}
"""Kind of a parameter -> what separates the words of its value: a shell splits `words`, where quotes keep blanks."""

HERE = "here"
"""Name that stands for the folder of the study file."""

_HOLE = re.compile(r"\{([^{}]*)\}")
_FILLING = re.compile(rf"({Parameter.PATTERN})(\.file|(?:[*/][1-9][0-9]*)*)")


@final
class MissingValue(Exception):
    """A text contains a parameter that has no value; `systems` are those that cannot do without it."""

    def __init__(self, parameter: str, systems: Sequence[str] = ()) -> None:
        super().__init__(parameter)
        self.parameter = parameter
        self.systems = systems


@final
@dataclass(frozen=True)
class Values:
    """The values of a study file's parameters, and the texts that they give."""

    words: Mapping[str, tuple[str, ...]]
    """Parameter -> its words: one for a text, several for a list."""
    joints: Mapping[str, str]
    """Parameter -> what joins its words in the middle of a text."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Template -> its text. A template may contain the templates before it, and names that are given a value later."""
    unset: Mapping[str, str] = field(default_factory=dict)
    """Parameter without a value -> the parameter that the user must set; a text that contains it raises `MissingValue`.
    """

    def knows(self, name: str) -> bool:
        """Whether the name is a parameter's, a variable's or a template's."""
        return name in self.words or name in self.templates or name in self.unset

    def without_value(self, name: str, cause: str) -> Values:
        """Return the values with one more parameter that has no value, because the parameter `cause` has none."""
        return replace(self, unset={**self.unset, name: cause})

    def with_template(self, name: str, text: str) -> Values:
        """Return the values with one more template."""
        return replace(self, templates={**self.templates, name: text})

    def with_value(self, name: str, value: str, separator: str = "") -> Values:
        """Return the values with one more parameter; raise a `ValueError` if the value cannot be split into words."""
        words = [value]
        if separator == ",":
            words = [word.strip() for word in value.split(",") if word.strip()]
        elif separator == " ":
            words = shlex.split(value)
        return replace(
            self,
            words={**self.words, name: tuple(words)},
            joints={**self.joints, name: separator},
        )

    def given(self, parameter: Parameter) -> str:
        """Write a value as a user would give it: words that need quotes have quotes."""
        words = self.words[parameter.name]
        return shlex.join(words) if parameter.separator == " " else self.joints[parameter.name].join(words)

    def default(self, parameter: Parameter, place: str) -> str:
        """Return a parameter's default with the parameters in it replaced."""
        template = parameter.default or ""
        return shlex.join(self.split(template, place)) if parameter.separator == " " else self.text(template, place)

    def text(self, template: str, place: str) -> str:
        """Replace the parameters in a text. `place` says in errors where the text stands."""
        return _HOLE.sub(lambda hole: self._filling(hole[1], place), template)

    def split(self, template: str, place: str) -> tuple[str, ...]:
        """Split a command into words, then replace the parameters, so that a value with a blank stays one word."""
        try:
            parts = shlex.split(template)
        except ValueError as error:
            raise RequestError(f"{place}: cannot be split into words: {error}.") from None
        return tuple(word for part in parts for word in self._words(part, place))

    def _words(self, part: str, place: str) -> tuple[str, ...]:
        hole = _HOLE.fullmatch(part)
        name = hole[1] if hole else ""
        if name in self.templates:
            return self._before(name).split(self.templates[name], place)
        return self.words[name] if name in self.words else (self.text(part, place),)

    def _before(self, template: str) -> Values:
        """Return the values with only those templates that precede a template, so that no template contains itself."""
        templates = itertools.takewhile(lambda entry: entry[0] != template, self.templates.items())
        return replace(self, templates=dict(templates))

    def _filling(self, content: str, place: str) -> str:
        """Return what replaces `{content}`."""
        match = _FILLING.fullmatch(content)
        if match is None:
            raise RequestError(f"{place}: {{{content}}} is none of {{name}}, {{name.file}} and {{name*2/5}}.")
        name, suffix = match[1], match[2]
        if name in self.unset:
            raise MissingValue(self.unset[name])
        if name in self.templates and not suffix:
            return self._before(name).text(self.templates[name], place)
        if name not in self.words:
            known = sorted({*self.words, *self.templates})
            hint = did_you_mean(name, known, f" Known here: {', '.join(known) or 'none'}.")
            raise RequestError(f"{place}: {{{name}}} is not defined.{hint}")
        value = self.joints[name].join(self.words[name])
        if suffix == ".file":
            return _file_name(name, value, place)
        return _calculated(name, value, suffix, place) if suffix else value


def _file_name(name: str, value: str, place: str) -> str:
    """Return the part of a value that may stand in a file name."""
    part = re.sub(r"[^\w.-]+", "-", value).strip("-.")
    if not part:
        raise RequestError(f"{place}: {{{name}.file}} is empty: no character of '{value}' may stand in a file name.")
    return part


def _calculated(name: str, value: str, operations: str, place: str) -> str:
    """Multiply and divide a whole number, from left to right, and round down."""
    if not re.fullmatch(r"[0-9]{1,18}", value):
        raise RequestError(f"{place}: {{{name}{operations}}} needs a whole number, and {name} is '{value}'.")
    result = int(value)
    for sign, factor in re.findall(r"([*/])([0-9]+)", operations):
        result = result * int(factor) if sign == "*" else result // int(factor)
    return str(result)


def parameter_values(study: str, path: Path, parameters: Sequence[Parameter], given: Mapping[str, str]) -> Values:
    """Take the given values and the defaults of the others; raise a `RequestError` for a name that is no parameter.

    A parameter without a value, or whose default contains such a parameter, is unset.
    """
    known = [parameter.name for parameter in parameters]
    for name in given:
        if name not in known:
            close = closest_names(name, known)
            hint = f" (did you mean {close[0]}?)" if close else ""
            refuse(study, parameters, f"has no parameter '{name}'{hint}")
    values = Values({}, {}).with_value(HERE, str(path.parent))
    for parameter in parameters:
        if parameter.name == HERE:
            raise RequestError(f"{path}: parameters.{HERE}: the name stands for the folder of this file already.")
        try:
            values = values.with_value(parameter.name, _value(parameter, values, path, given), parameter.separator)
        except MissingValue as missing:
            values = values.without_value(parameter.name, missing.parameter)
        except ValueError as error:  # a quote that is not closed
            place = f"{study}: {parameter.name}={given.get(parameter.name, parameter.default)}"
            raise RequestError(f"{place} cannot be split into words: {error}.") from None
    return values


def _value(parameter: Parameter, values: Values, path: Path, given: Mapping[str, str]) -> str:
    """Return a parameter's value as a user would give it; raise `MissingValue` if there is none."""
    if parameter.default is None and not given.get(parameter.name):
        raise MissingValue(parameter.name)
    if parameter.name in given:
        return given[parameter.name]
    return values.default(parameter, f"{path}: parameters.{parameter.name}.default")


def refuse(study: str, parameters: Sequence[Parameter], fault: str) -> NoReturn:
    """Raise a `RequestError` that lists every parameter."""
    if not parameters:
        raise RequestError(f"{study} {fault}; it has no parameters at all.")
    width = max(len(parameter.name) for parameter in parameters)
    lines = [f"  {parameter.name:<{width}}  {parameter.about} ({_default_text(parameter)})" for parameter in parameters]
    raise RequestError("\n".join([f"{study} {fault}. Its parameters, for --set NAME=VALUE:", *lines]))


def _default_text(parameter: Parameter) -> str:
    if parameter.default is None:
        return "required"
    return f"default: {parameter.default}" if parameter.default else "default: nothing"
