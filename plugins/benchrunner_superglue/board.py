"""The leaderboard of SuperGLUE: a zip archive with a file of JSON lines for each task, and the paper's Table 3."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner import BoardFile, FileKind, Leaderboard, PublishedColumn, PublishedRow
from benchrunner_submit import JsonLines, JsonValues, Labels, Text
from benchrunner_superglue.multirc_file import MultiRcFile
from benchrunner_superglue.table import CB_LABELS

SOURCE = "Wang et al. 2019 (SuperGLUE), Table 3"


def _texts(*labels: str) -> FileKind:
    return JsonLines("idx", Labels({label: label for label in labels}))


_LOWER = _texts("false", "true")
_ENTAILED = _texts("entailment", "not_entailment")
_UPPER = JsonLines("idx", Labels({"false": "False", "true": "True"}))


def _file(name: str, task: str, rows: int, kind: FileKind, *, split: str = "test", figure: str = "") -> BoardFile:
    return BoardFile(f"{name}.jsonl", f"superglue/{task}", split, rows, kind, extra_figure=figure)


FILES = (
    _file("BoolQ", "boolq", 3_245, _LOWER),
    _file("CB", "cb", 250, _texts(*CB_LABELS)),
    _file("COPA", "copa", 500, JsonLines("idx", JsonValues({"0": 0, "1": 1}))),
    _file("MultiRC", "multirc", 9_693, MultiRcFile()),
    _file("ReCoRD", "record", 10_000, JsonLines("idx", Text()), figure="choice"),
    _file("RTE", "rte-ax", 3_000, _ENTAILED),
    _file("WiC", "wic", 1_400, _LOWER),
    _file("WSC", "wsc", 146, _UPPER),
    _file("AX-b", "rte-ax", 1_104, _ENTAILED, split="ax_b"),
    _file("AX-g", "rte-ax", 356, _ENTAILED, split="ax_g"),
)
"""The spellings are those of jiant, the toolkit of the benchmark's authors: WSC's labels begin with a capital."""


def _column(task: str, metric: str, split: str = "test") -> PublishedColumn:
    beside = "dev" if split == "test" else split  # the diagnostics have labels, so that we have figures of our own
    return PublishedColumn("test", metric, task=f"superglue/{task}", split=split, beside=beside)


COLUMNS: Mapping[str, PublishedColumn] = {
    "Avg": PublishedColumn("test", "SuperGLUE score", suite="superglue"),
    "BoolQ": _column("boolq", "accuracy"),
    "CB F1": _column("cb", "f1_macro"),
    "CB acc": _column("cb", "accuracy"),
    "COPA": _column("copa", "accuracy"),
    "MultiRC F1a": _column("multirc", "f1a"),
    "MultiRC EM": _column("multirc", "exact_match"),
    "ReCoRD F1": _column("record", "f1"),
    "ReCoRD EM": _column("record", "exact_match"),
    "RTE": _column("rte-ax", "accuracy"),
    "WiC": _column("wic", "accuracy"),
    "WSC": _column("wsc", "accuracy"),
    "AX-b": _column("rte-ax", "matthews", "ax_b"),
    "AX-g parity": _column("rte-ax", "gender_parity", "ax_g"),
    "AX-g acc": _column("rte-ax", "accuracy", "ax_g"),
}

# fmt: off
FIGURES: Mapping[str, tuple[float, ...]] = {
    "Most frequent class":
        (47.1, 62.3, 21.7, 48.4, 50.0, 61.1, 0.3, 33.4, 32.5, 50.3, 50.0, 65.1, 0.0, 100.0, 50.0),
    "BERT-LARGE":
        (69.0, 77.4, 75.7, 83.6, 70.6, 70.0, 24.0, 72.0, 71.3, 71.6, 69.5, 64.3, 23.0, 97.8, 51.7),
    "BERT++":
        (71.5, 79.0, 84.7, 90.4, 73.8, 70.0, 24.1, 72.0, 71.3, 79.0, 69.5, 64.3, 38.0, 99.4, 51.4),
    "Human":
        (89.8, 89.0, 95.8, 98.9, 100.0, 81.8, 51.9, 91.7, 91.3, 93.6, 80.0, 100.0, 77.0, 99.3, 99.7),
}
# fmt: on
NOTES = {
    "Most frequent class": "ReCoRD: the entity with the highest F1 with the other entities",
    "BERT-LARGE": "cased",
    "BERT++": "cased; fine-tuned on MultiNLI (BoolQ, CB, RTE) or SWAG (COPA) first",
    "Human": "estimated; MultiRC on a part of the test set",
}


def board() -> Leaderboard:
    """Make the leaderboard."""
    published = list[PublishedRow]()
    for system, figures in FIGURES.items():
        cells = dict(zip(COLUMNS, figures, strict=True))
        is_default = system == "BERT-LARGE"
        published.append(PublishedRow(system, SOURCE, cells, notes=NOTES[system], by_default=is_default))
    return Leaderboard(
        name="superglue",
        title="SuperGLUE",
        url="https://super.gluebenchmark.com",
        archive="superglue.zip",
        files=FILES,
        columns=COLUMNS,
        published=tuple(published),
    )
