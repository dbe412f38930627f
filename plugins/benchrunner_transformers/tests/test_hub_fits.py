"""Fits of models of transformers: every family keeps the contract of backbones, and resumes to the same bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tiny_models import SETTINGS, backbone_of, write_model

from benchrunner import Recipe, Rows, Workspace
from benchrunner.engine import Backbone, Cache, Job, Problem
from benchrunner.results import Computing, Event, Fit
from benchrunner_kit.testing import check_backbone
from benchrunner_transformers.backbones import TransformersFamily
from kinds_of_tasks import PROBLEMS, rows_of_kind

QUICK = ("gpt2", "t5")
"""Model types that every run of the tests fits: without padding, and padded; the others are slow tests."""
FAMILIES = [
    pytest.param(name, id=name, marks=() if name in QUICK else pytest.mark.slow)
    for name in SETTINGS
    if name != "funnel"
]
KINDS = ("regress", "choose", "span", "tag")


class Killed(Exception):
    """Stands for a kill of the process."""


def job_of(home: Path, problem: Problem, rows: dict[str, list[Any]], backbone: Backbone, kill_at: int = 0) -> Job:
    """Make the job of a fit in a folder. `kill_at` is the step after which the fit is killed; 0: it is not."""

    def report(event: Event) -> None:
        if event.kind == "step" and event.done == kill_at:
            raise Killed

    recipe = Recipe(lr=1e-3, epochs=2, batch_size=6, max_length=40, stride=10, dropout=0.1, context="sentence")
    workspace = Workspace(home / "runs", home / "cache")
    return Job(
        fit=Fit("task", backbone.name, "finetune", recipe, 0, "", problem.identity(), "", {}),
        problem=problem,
        workspace=workspace,
        cache=Cache(home / "cache"),
        computing=Computing("cpu", checkpoint_seconds=0),
        model=home / "model",
        checkpoint=home / "checkpoint",
        log=home / "log.jsonl",
        report=report,
        train=Rows(pa.table(rows), "rows"),
        backbone=backbone,
    )


def fitted(home: Path, kind: str, model: Path, *, kill_at: int = 0) -> np.ndarray:
    """Fine-tune, killed after a step and resumed if asked; return the predictions of the saved model."""
    from benchrunner.engine import Finetune

    problem, rows = PROBLEMS[kind], rows_of_kind(kind, 48, 1)
    backbone = backbone_of(model)
    table = problem.check(Rows(pa.table(rows), "rows"), labelled=True)
    job = replace(job_of(home, problem, rows, backbone, kill_at), train=Rows(table, "rows"))
    if kill_at:
        with pytest.raises(Killed):
            Finetune().fit(job)
        job = replace(job, report=lambda event: None)
    outcome = Finetune().fit(job)
    assert outcome.status == "done" and outcome.work["train_tokens"] > 0
    return Finetune().predict(replace(job, backbone=backbone_of(job.model), cache=Cache(home / "again")), table)


@pytest.mark.parametrize("model_type", FAMILIES)
def test_a_killed_fit_ends_with_the_same_bits(model_type: str, tmp_path: Path) -> None:
    """Regression on pairs, choices, spans and tags take turns from family to family."""
    kind = KINDS[list(SETTINGS).index(model_type) % len(KINDS)]
    write_model(model_type, tmp_path / "start")
    whole = fitted(tmp_path / "whole", kind, tmp_path / "start")
    resumed = fitted(tmp_path / "killed", kind, tmp_path / "start", kill_at=5)
    assert not np.isnan(whole).any() and whole[np.isfinite(whole)].std() > 0  # missing spans of short texts are -inf
    np.testing.assert_array_equal(whole, resumed)


@pytest.mark.parametrize("model_type", FAMILIES)
def test_the_contract_of_backbones_is_kept(model_type: str, tmp_path: Path) -> None:
    write_model(model_type, tmp_path / "start")
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    check_backbone(backbone_of(tmp_path / "start"), TransformersFamily(), workspace, tmp_path / "saved")
