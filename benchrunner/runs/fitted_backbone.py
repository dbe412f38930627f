"""A finished fit is a backbone: stages are a chain of fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, RequestError
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.fits import Fit
    from benchrunner.methods.method import Method
    from benchrunner.plugins.registry import Plugins

PREFIX = "run:"


@final
@dataclass(frozen=True)
class FinishedFit(Backbone):
    """The encoder that a fit left; its head carries over where the problem is the same."""

    name: str
    inner: Backbone
    folder: RunFolder
    fit: Fit
    about: str = "a finished fit"

    def hands_on(self, fit: Fit, method: Method) -> bool:
        """Whether its head is one that this fit's method would build for the same problem."""
        alike = all(getattr(self.fit.recipe, name) == getattr(fit.recipe, name) for name in method.recipe_fields)
        return alike and (self.fit.problem, self.fit.method) == (fit.problem, fit.method)

    def revision(self, workspace: Workspace) -> str:
        return f"{PREFIX}{self.folder.path.name}"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.inner.load(workspace, seed=seed)


def find(reference: str, plugins: Plugins, workspace: Workspace) -> tuple[FinishedFit, BackboneFamily]:
    """`run:ID`, or a beginning of the id that is unambiguous; and the family that reads its checkpoint."""
    folder = find_run(workspace.runs, reference)
    record, fit = folder.record(), folder.fit()
    if record is None or record.status != "done":
        state = "not finished" if record is None else f"{record.status}: {record.reason}"
        raise RequestError(f"The fit {folder.path.name} ({fit.task}, {fit.backbone}) cannot be started from: {state}.")
    if not fit.backbone:
        raise RequestError(
            f"The fit {folder.path.name} is of the method '{fit.method}', which has no encoder to start from."
        )
    if not folder.model.is_dir():
        raise CheckpointError(
            f"The weights of fit {folder.path.name} ({fit.task}, {fit.backbone}) were not kept. Repeat the command "
            "that fitted it with --keep all, or 'benchrunner predict' with it: either fits it again."
        )
    inner, family = saved(folder, plugins, workspace)
    return FinishedFit(f"{PREFIX}{folder.path.name}", inner, folder, fit), family


def saved(folder: RunFolder, plugins: Plugins, workspace: Workspace) -> tuple[Backbone, BackboneFamily]:
    """The checkpoint inside a run's folder, and the family that knows it."""
    return plugins.backbone(str(folder.model), workspace)
