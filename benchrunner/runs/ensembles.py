"""Several finished fits that answer together: the mean of what each of them would say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits import Fit, identity
from benchrunner.runs.folder import RunFolder

if TYPE_CHECKING:
    from benchrunner.runs.runner import Runner

RULE = "mean"
"""Of probabilities, of numbers, of the scores of spans: see each problem's `average`."""


@dataclass(frozen=True)
class Ensemble:
    """Fits of one task; nothing is learned, so an ensemble is made of what its members left."""

    members: tuple[Fit, ...]
    """In the order of their ids; the same fit may stand here several times."""

    def __post_init__(self) -> None:
        if not self.members:
            raise RequestError("An ensemble needs at least one finished run.")
        object.__setattr__(self, "members", tuple(sorted(self.members, key=lambda fit: fit.id)))
        if len({fit.task for fit in self.members}) > 1:
            listed = ", ".join(f"{fit.id} ({fit.task})" for fit in self.members)
            raise RequestError(f"The members of an ensemble answer one task, not several: {listed}.")

    @property
    def id(self) -> str:
        return identity(self.as_dict())

    @property
    def task(self) -> str:
        return self.members[0].task

    def as_dict(self) -> dict[str, Any]:
        return {"rule": RULE, "members": [fit.id for fit in self.members]}


def outputs(ensemble: Ensemble, rows: Rows, runner: Runner) -> Any:
    """Raw outputs for rows of its task's data, as one fit's would be."""
    problem = runner.plugins.task(ensemble.task).problem
    found = [runner.kept_outputs(fit, rows) for fit in ensemble.members]
    return found[0] if len(found) == 1 else problem.average(found)


def settings(ensemble: Ensemble, runner: Runner) -> Mapping[str, Any]:
    """How its outputs become answers: its scores are its own, so a threshold is tuned for it as for a fit."""
    if len(ensemble.members) == 1:
        return runner.settings(ensemble.members[0])
    task = runner.plugins.task(ensemble.task)
    folder = RunFolder(runner.workspace.runs, ensemble.id)
    return runner.tuned(task, folder, lambda rows: outputs(ensemble, rows, runner))
