"""Ensembles: several finished fits whose raw outputs are averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit, identity
from benchrunner.runs.folder import RunFolder

if TYPE_CHECKING:
    from benchrunner.runs.runner import Runner

RULE = "mean"
"""How outputs are combined: the mean, as each problem's `average` defines it."""


@dataclass(frozen=True)
class Ensemble:
    """Fits of one task that answer together. Nothing is learned."""

    members: tuple[Fit, ...]
    """Sorted by id; the same fit may occur several times."""

    def __post_init__(self) -> None:
        if not self.members:
            raise RequestError("An ensemble needs at least one finished run.")
        object.__setattr__(self, "members", tuple(sorted(self.members, key=lambda fit: fit.id)))
        if len({fit.task for fit in self.members}) > 1:
            listed = ", ".join(f"{fit.id} ({fit.task})" for fit in self.members)
            raise RequestError(f"The members of an ensemble answer one task, not several: {listed}.")

    @property
    def id(self) -> str:
        """Hash of the members and the rule; also the name of the folder with the tuned settings."""
        return identity(self.as_dict())

    @property
    def task(self) -> str:
        return self.members[0].task

    def as_dict(self) -> dict[str, Any]:
        return {"rule": RULE, "members": [fit.id for fit in self.members]}


def outputs(ensemble: Ensemble, rows: Rows, runner: Runner) -> Any:
    """Return the averaged raw outputs of the members for rows of their task."""
    problem = runner.plugins.tasks.find(ensemble.task).problem
    members = [runner.outputs(fit, rows) for fit in ensemble.members]
    return members[0] if len(members) == 1 else problem.average(members)


def settings(ensemble: Ensemble, runner: Runner) -> Mapping[str, Any]:
    """Return the settings that turn the averaged outputs into answers, tuned on dev as for a single fit."""
    if len(ensemble.members) == 1:
        return runner.settings(ensemble.members[0])
    task = runner.plugins.tasks.find(ensemble.task)
    folder = RunFolder(runner.workspace.runs, ensemble.id)
    return runner.tuned_settings(task, folder, lambda rows: outputs(ensemble, rows, runner))
