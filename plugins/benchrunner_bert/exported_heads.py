"""Fitted heads as other libraries know them: the published architecture of each kind of head."""

from __future__ import annotations

from dataclasses import dataclass

from benchrunner import CheckpointError
from benchrunner.engine import ExportedHead
from benchrunner_bert.configuration import Direction


@dataclass(frozen=True)
class Architecture:
    """A model of transformers: an encoder with one output layer."""

    name: str
    """Class name in transformers, as `architectures` of config.json has it."""
    module: str
    """Name of the output layer."""
    reads_summary: bool
    """Whether the output layer reads the pooled first token."""


_SEQUENCE = Architecture("BertForSequenceClassification", "classifier", reads_summary=True)
_ARCHITECTURES = {
    "single_label_classification": _SEQUENCE,
    "multi_label_classification": _SEQUENCE,
    "regression": _SEQUENCE,
    "multiple_choice": Architecture("BertForMultipleChoice", "classifier", reads_summary=True),
    "question_answering": Architecture("BertForQuestionAnswering", "qa_outputs", reads_summary=False),
    "token_classification": Architecture("BertForTokenClassification", "classifier", reads_summary=False),
}
"""Name of an `ExportKind` -> architecture."""


def architecture_of(head: ExportedHead, direction: Direction) -> Architecture:
    """Return the published architecture that computes what the head computes, or raise `CheckpointError`."""
    kind = head.kind.name
    architecture = _ARCHITECTURES.get(kind)
    if architecture is None:
        raise CheckpointError(
            f"No published BERT architecture has a head of the kind '{kind}'; there are {', '.join(_ARCHITECTURES)}."
        )
    if architecture.reads_summary != head.reads_summary:
        states = "the pooled first token" if architecture.reads_summary else "the states of the tokens"
        raise CheckpointError(f"The head cannot be exported: {architecture.name} reads {states}, this head does not.")
    if direction == "left-to-right" and architecture.reads_summary:
        raise CheckpointError(
            f"No published architecture has a head of the kind '{kind}' on a left-to-right BERT: it would read the "
            "state of the first token, which depends on no other token there. This head reads the last token's state."
        )
    return architecture


def configuration_of(head: ExportedHead, architecture: Architecture) -> dict[str, object]:
    """Return the entries of config.json that say what the head's outputs mean."""
    entries: dict[str, object] = {"architectures": [architecture.name]}
    if architecture is _SEQUENCE:
        entries["problem_type"] = head.kind.name
    if labels := head.kind.labels:
        entries["id2label"] = {str(index): label for index, label in enumerate(labels)}
        entries["label2id"] = {label: index for index, label in enumerate(labels)}
    return entries
