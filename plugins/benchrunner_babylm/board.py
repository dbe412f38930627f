"""The leaderboard: a file of predictions for each fine-tuning task, and the results of the baselines of 2024."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner import BoardFile, Leaderboard, PublishedColumn, PublishedRow
from benchrunner_babylm.predictions_file import PredictionsFile
from benchrunner_babylm.table import TABLE

SOURCE = "https://github.com/babylm/evaluation-pipeline-2024, README at d680c28, Detailed Score Breakdown"
NOTE = (
    "These files hold the fine-tuning tasks alone. The leaderboard takes one file, which the script collate_preds.sh "
    "of https://github.com/babylm-org/babylm-eval makes of them and of the zero-shot tasks: see the read-me of "
    "the plugin babylm."
)

COLUMNS: Mapping[str, PublishedColumn] = {
    row.name: PublishedColumn("dev", row.metrics[0].name, task=row.task_name, split="dev") for row in TABLE
}

# fmt: off
FIGURES: Mapping[str, tuple[float, ...]] = {
    "BabyLlama-10m": (65.0, 72.4, 82.0, 60.1, 83.6, 49.6, 38.5),
    "LTG-BERT-10m":  (68.8, 68.9, 82.2, 58.5, 34.2, 58.3, 61.5),
    "BabyLlama-100m": (66.1, 75.6, 86.8, 62.1, 84.5, 60.4, 38.5),
    "LTG-BERT-100m": (61.7, 77.7, 83.1, 52.6, 86.7, 46.8, 61.5),
}
# fmt: on
"""Baseline of 2024 -> its figures in the order of the columns. The later challenges printed none for these tasks."""


def board() -> Leaderboard:
    """Make the leaderboard."""
    return Leaderboard(
        name="babylm",
        title="BabyLM 2026 (Strict and Strict-Small), fine-tuning tasks",
        url="https://huggingface.co/spaces/BabyLM-community/BabyLM-Leaderboard-2026",
        archive="babylm/",
        files=tuple(
            BoardFile(f"{row.name}.json", row.task_name, "dev", row.rows, PredictionsFile(row.name, row.labels))
            for row in TABLE
        ),
        columns=COLUMNS,
        published=tuple(
            PublishedRow(
                system,
                SOURCE,
                dict(zip(COLUMNS, figures, strict=True)),
                notes="baseline of 2024, fine-tuned on all rows of MNLI and QQP",
            )
            for system, figures in FIGURES.items()
        ),
        note=NOTE,
    )
