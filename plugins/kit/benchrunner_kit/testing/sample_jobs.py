"""Fits outside of a runner: the jobs with which checks let a method fit and predict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Recipe, Rows, Workspace
from benchrunner.engine import Backbone, Cache, Encoder, Job, Method
from benchrunner.results import Computing, Fit

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Problem


def fit_job(
    method: Method,
    problem: Problem,
    table: pa.Table,
    backbone: Backbone | None,
    workspace: Workspace,
    home: Path,
    recipe: Recipe,
    *,
    seed: int = 0,
) -> Job:
    """Return the job of a fit on the CPU whose files are below `home`."""
    name = "" if backbone is None else backbone.name
    return Job(
        fit=Fit("check", name, method.name, recipe, seed, "", problem.identity(), "", {}),
        problem=problem,
        workspace=workspace,
        cache=Cache(home / "cache"),
        computing=Computing("cpu"),
        model=home / "model",
        checkpoint=home / "checkpoint",
        log=home / "log.jsonl",
        report=lambda event: None,
        train=Rows(table, "sample rows"),
        backbone=backbone,
        parameters=method.parameter_values(recipe),
    )


@final
@dataclass(frozen=True)
class Loaded(Backbone):
    """A backbone whose encoder is loaded already, so that a check keeps the encoder that a fit trains."""

    encoder: Encoder
    name: str = "loaded"
    about: str = "an encoder in memory"

    def revision(self, workspace: Workspace) -> str:
        return ""

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.encoder
