"""Codes of warnings: what each says, its cause and its cure. A code never changes, and is never given again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class CodedWarning(NamedTuple):
    """A kind of warning about a figure, a study, or a file of answers."""

    code: str
    short: str
    """What stands below a table."""
    cause: str
    cure: str
    pattern: str
    """Fits the texts that are this warning, wherever they stand."""


WARNINGS = (
    CodedWarning(
        "C1",
        "constant answers",
        "All answers are equal, but for one in 200 at most: the fit has learned nothing.",
        "Train longer, or with another learning rate.",
        "constant predictions|the same answer in ",
    ),
    CodedWarning(
        "C2",
        "not better than the majority",
        "The headline metric is at most that of the most frequent training answer.",
        "As for C1; with few rows, the task may be too hard.",
        "no better than majority",
    ),
    CodedWarning(
        "C3",
        "some restarts learned nothing",
        "Some fits have C1, C2 or no score, others learned: a mean of few restarts says little.",
        "More restarts, a lower learning rate or a longer warm-up.",
        "in some restarts",
    ),
    CodedWarning(
        "C4",
        "some fits have no scores",
        "Fits diverged or failed; the note has the reason.",
        "Repeat the command after the reason is gone; for diverged fits, lower the learning rate.",
        "no scores",
    ),
    CodedWarning(
        "C5",
        "a score is absent",
        "A metric has no value, or a fit that the mean needs has none.",
        "The note has the reason.",
        "a score is absent|no figure: ",
    ),
    CodedWarning(
        "C6",
        "best at the edge of the grid",
        "The chosen value is the smallest or largest of three or more.",
        "Extend the grid on this side.",
        "at the edge of the grid",
    ),
    CodedWarning(
        "C7",
        "raised by the choice on dev",
        "Dev chose the grid point, and is scored too.",
        "Compare on a test split.",
        "dev chose among",
    ),
    CodedWarning(
        "C8",
        "different budgets",
        "Systems had different numbers of grid points or epochs.",
        "Give all systems grids of one size.",
        "different budgets",
    ),
    CodedWarning(
        "C9",
        "few training rows",
        "Fits learned from some of the training rows only.",
        "Leave out `--limit-train`.",
        "random training rows|limited training rows",
    ),
    CodedWarning(
        "C10",
        "not all rows of dev",
        "Some of the dev rows are scored, or select, only.",
        "Leave out `--limit-dev`; nothing is fitted again.",
        "scored on .* rows|limited dev rows",
    ),
    CodedWarning(
        "C11",
        "not the official rows",
        "The data has more or fewer rows than the official one.",
        "`benchrunner data status` shows where the data was found.",
        "where the official count is",
    ),
    CodedWarning(
        "S1",
        "one restart: other seeds may reverse this, so give more",
        "Tests of single fits say nothing about other seeds.",
        "`--restarts 3` or more; of files of answers, one for each seed.",
        "With one restart",
    ),
    CodedWarning(
        "S2",
        "one pre-training: others may reverse this",
        "Tests of one pre-training say nothing about others.",
        "Pre-train with several seeds.",
        "With one pre-training",
    ),
    CodedWarning(
        "S3",
        "few clusters",
        "Rows are of few articles, speakers or the like.",
        "Do not generalize to others.",
        "of which so few tell little",
    ),
    CodedWarning(
        "S4",
        "no interval",
        "An interval or a test could not be computed; the note has the reason.",
        "Give the data that the fits were scored on.",
        "no interval for",
    ),
    CodedWarning(
        "S5",
        "published figures of other rows",
        "Published test figures stand beside ours of dev.",
        "Compare with figures marked `dev`.",
        "are of other rows than ours",
    ),
    CodedWarning(
        "S7",
        "busy machine",
        "Other processes ran while costs were measured: times are longer.",
        "`--cost` again on a quiet machine.",
        "machine was busy",
    ),
    CodedWarning(
        "D1",
        "rows stand in train",
        "Rows that are scored are among the training rows: a model that remembers them scores too high.",
        "Remove them from train or from this split; `report` has the score without them.",
        "stand in train",
    ),
    CodedWarning(
        "D2",
        "texts stand in train",
        "Rows share one of several texts with training rows.",
        "`report` has the score without them.",
        "share a text with train",
    ),
    CodedWarning(
        "D3",
        "the same rows with other labels",
        "Training rows with equal texts have different labels.",
        "Decide on one label.",
        "stand there again with another label",
    ),
    CodedWarning(
        "D4",
        "labels that no row has",
        "A split has no rows of a label: scores say nothing about it.",
        "Divide the rows again.",
        "no row of .* has the label",
    ),
)


OF_DATA = "D"
"""First letter of the codes about the data of a split, which stand beside every figure."""


def code_of(text: str) -> str:
    """Return the code of a warning; empty for a text that is none."""
    for warning in reversed(WARNINGS):  # "constant predictions in some restarts" is C3
        if re.search(warning.pattern, text):
            return warning.code
    return ""


def coded(text: str) -> str:
    """Write the text of a warning with its code before it, such as "C4 a fit has no scores"."""
    return f"{code_of(text)} {text}".lstrip()


def coded_warnings(texts: Iterable[str]) -> list[dict[str, str]]:
    """Return the texts that are warnings, with their codes, as JSON values."""
    return [{"code": code_of(text), "text": text} for text in texts if code_of(text)]
