"""A finished fit is a backbone: stages are a chain of fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.backbones import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, RequestError
from benchrunner.places import Places
from benchrunner.records import RunFolder, find_run

if TYPE_CHECKING:
    from benchrunner.encoders import Encoder
    from benchrunner.fits import Fit
    from benchrunner.methods import Method
    from benchrunner.plugins import Plugins

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
        alike = all(getattr(self.fit.recipe, name) == getattr(fit.recipe, name) for name in method.reads)
        return alike and (self.fit.problem, self.fit.method) == (fit.problem, fit.method)

    def revision(self, places: Places) -> str:
        return f"{PREFIX}{self.folder.path.name}"

    def load(self, places: Places, *, seed: int) -> Encoder:
        return self.inner.load(places, seed=seed)


def find(reference: str, plugins: Plugins, places: Places) -> tuple[FinishedFit, BackboneFamily]:
    """`run:ID`, or a beginning of the id that is unambiguous; and the family that reads its checkpoint."""
    folder = find_run(places.runs, reference)
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
    inner, family = saved(folder, plugins, places)
    return FinishedFit(f"{PREFIX}{folder.path.name}", inner, folder, fit), family


def saved(folder: RunFolder, plugins: Plugins, places: Places) -> tuple[Backbone, BackboneFamily]:
    """The checkpoint inside a run's folder, and the family that knows it."""
    return plugins.backbone(str(folder.model), places)
