"""Kinds of question that a task file may name: the core's problems with their columns, and those of other plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, final

from benchrunner import Classify, Regress, did_you_mean
from benchrunner.engine import Problem, decoding
from benchrunner_kinds import Candidates, Choose, ClassifyWords, MultiLabel, Span, Tag


@final
@dataclass(frozen=True)
class Kind:
    """A kind of question with the columns that its rows have."""

    problem: type[Problem]
    columns: Mapping[str, str]
    """Name of each column -> what it holds. Those in brackets may be missing."""
    needs: str = ""
    """Further keys of the file that this kind needs."""


_TEXTS = {"a": "the text", "b": "(the second text of a pair)"}
_ONE_OF = "the right label, one of `labels`"
_NUMBER = "the number of the right text, from 0"
KINDS: Mapping[str, Kind] = {
    "classify": Kind(Classify, {**_TEXTS, "label": _ONE_OF}, "`labels`"),
    "regress": Kind(Regress, {**_TEXTS, "label": "a number from `low` to `high`"}, "`low`, `high`"),
    "multi-label": Kind(
        MultiLabel, {**_TEXTS, "labels": "a list of labels, or a text with commas between them"}, "`labels`"
    ),
    "choose": Kind(
        Choose,
        {"a": "the text before", "choices": 'the texts to choose from: a list, or the columns `["one", "two"]`'}
        | {"label": _NUMBER},
        "`choices`, the number of texts, unless columns make the list",
    ),
    "candidates": Kind(
        Candidates,
        {"a": "the text before", "choices": "the texts to choose from, a list of any length"}
        | {"label": f"{_NUMBER}, or a list of them", "names": "(what the texts are called)"},
    ),
    "classify-words": Kind(
        ClassifyWords,
        {**_TEXTS, "marks": "lists of text (0 or 1), first character and end", "label": _ONE_OF},
        "`labels`, `marks`",
    ),
    "span": Kind(
        Span,
        {"id": "(a name of the question)", "question": "the question", "context": "the text with the answer"}
        | {"answers": "the answers: a text or a list", "starts": "(the first character of each answer)"},
    ),
    "tag": Kind(
        Tag,
        {"words": "the words: a list, or a text with blanks between them", "labels": "a label for each word, likewise"}
        | {"document": "(the number of the document)"},
        "`labels`",
    ),
}
"""Value of the key `problem` -> the problem, whose fields are further keys of the file."""


def kind_of(name: str) -> Kind:
    """Return the kind of a name, or of the problem `PACKAGE:Class` of a plugin; a `Mistake` if there is none."""
    if name in KINDS:
        return KINDS[name]
    if ":" in name:
        return Kind(_of_plugin(name), {})
    meant = did_you_mean(name, KINDS, f" Known: {', '.join(KINDS)}.")
    raise decoding.Mistake(
        f"there is no problem {name!r}.{meant} The problem of a plugin is written 'PACKAGE:Class'.", "problem"
    )


def _of_plugin(name: str) -> type[Problem]:
    """Import the problem of a plugin."""
    from benchrunner_submit import plugin_class

    problem = plugin_class(name, Problem, "problem")  # type: ignore[type-abstract]
    if not is_dataclass(problem):
        raise decoding.Mistake(f"the problem '{name}' is no dataclass, so that it has no keys.", "problem")
    return problem


def problem_of(table: decoding.Table) -> Problem:
    """Make the problem that the key `problem` names; the fields of the problem are keys of the same table."""
    problem = kind_of(table.value("problem", str)).problem
    named = {part.name: part.default for part in fields(problem) if part.name == "name"}  # type: ignore[arg-type]
    try:
        made: Any = table.made(problem, **named)
    except decoding.Mistake as mistake:
        if mistake.where:
            raise
        raise decoding.Mistake(mistake.sentence, "labels" if "labels" in table else "problem") from None
    except TypeError as error:  # a field of a type that no TOML value has
        raise decoding.Mistake(f"{problem.__name__}: {error}: make the task in Python.", "problem") from None
    return made  # type: ignore[no-any-return]
