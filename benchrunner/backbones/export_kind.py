"""Kinds of heads that other libraries know: a problem names the kind, a backbone family exports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class ExportKind:
    """The type of a fitted head in other libraries, such as transformers.

    The first-party problems use the names `single_label_classification`, `multi_label_classification`, `regression`
    (the problem types of transformers), `multiple_choice`, `question_answering` and `token_classification`. A backbone
    family refuses names that it does not know.
    """

    name: str
    labels: tuple[str, ...] = ()
    """Names of the head's outputs, in their order; empty where outputs have no names."""
