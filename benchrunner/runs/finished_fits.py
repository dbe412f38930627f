"""Finished fits as backbones, so that training goes on in stages: `run:ID`, or the folder of a fit's model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, DamagedFile, RequestError
from benchrunner.io.decoding import from_json
from benchrunner.io.json_files import read_json_object
from benchrunner.methods.method import BackboneReference
from benchrunner.plugins.backbone_search import Found, ask
from benchrunner.runs.folder import Family, RunFolder, find_run
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.fits.fit import Fit
    from benchrunner.methods.method import Method
    from benchrunner.plugins.registry import Plugins

PREFIX = "run:"


@dataclass(frozen=True)
class _OfFit(Backbone):
    """A backbone in the folder of a finished fit, which says what the backbone inside says."""

    name: str
    inner: Backbone

    @property
    def frozen(self) -> bool:  # type: ignore[override]
        return self.inner.frozen

    def layer_count(self, workspace: Workspace) -> int | None:
        return self.inner.layer_count(workspace)

    def weight_count(self, workspace: Workspace) -> int | None:
        return self.inner.weight_count(workspace)

    def summary(self, workspace: Workspace) -> str:
        return self.inner.summary(workspace)


@final
@dataclass(frozen=True)
class FinishedFit(_OfFit):
    """The encoder of a finished fit. Its head is used too where problem and method are the same."""

    folder: RunFolder
    fit: Fit
    about: str = "a finished fit"

    def hands_on(self, fit: Fit, method: Method) -> bool:
        """Whether another fit can start from this fit's head: same problem and method, same recipe of the head."""
        if (self.fit.problem, self.fit.method) != (fit.problem, fit.method):
            return False
        for name in method.recipe_fields:
            if name not in method.training_fields and getattr(self.fit.recipe, name) != getattr(fit.recipe, name):
                return False
        before = method.parameter_values(self.fit.recipe)
        after = method.parameter_values(fit.recipe)
        shaping = [own.name for own in method.parameters if own.shapes_head]
        return all(before[name] == after[name] for name in shaping)

    def revision(self, workspace: Workspace) -> str:
        return f"{PREFIX}{self.folder.path.name}"

    def summary(self, workspace: Workspace) -> str:
        """Return what the fit has learned with, or what its backbone says where the fit did not train it."""
        is_trained = not isinstance(self.inner, UnchangedBackbone)
        return self.fit.recipe.summary if is_trained else super().summary(workspace)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        if (record := self.folder.record()) is not None:
            self.folder.check_model(record)
        return self.inner.load(workspace, seed=seed)


@final
@dataclass(frozen=True)
class UnchangedBackbone(_OfFit):
    """The backbone that a finished fit read and did not change, with the weights that it drew for the fit."""

    about: str = "the backbone of a finished fit"

    def revision(self, workspace: Workspace) -> str:
        return self.inner.revision(workspace)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.inner.load(workspace, seed=0)  # as methods load an encoder that they do not train


def reference_to(fit: Fit, method: Method, plugins: Plugins) -> BackboneReference | None:
    """Return what stands for the encoder in the model of a fit; None if the model must have a copy.

    A copy is needed of an encoder that the method trains, and of one in a runs folder, whose weights may be removed.
    """
    path = Path(fit.backbone)
    if method.trains_encoder or PREFIX in fit.backbone or _run_of(path) is not None:
        return None
    is_path = fit.backbone not in plugins.backbones and path.exists()
    return BackboneReference(str(path.absolute()) if is_path else fit.backbone, fit.revision)


def find_backbone(reference: str, plugins: Plugins, workspace: Workspace) -> Found:
    """Return the backbone that a name, path, hub id or `run:ID` means, and its family."""

    def find_fit(reference: str, workspace: Workspace) -> Found | None:
        if reference.startswith(PREFIX):
            return _finished_fit(reference, plugins, workspace)
        run = None if reference in plugins.backbones else _run_of(Path(reference))
        return None if run is None else saved(run, plugins, workspace)

    return replace(plugins.backbone_search, find_fit=find_fit).find(reference, workspace)


def _finished_fit(reference: str, plugins: Plugins, workspace: Workspace) -> tuple[FinishedFit, BackboneFamily]:
    """Return the backbone that `run:ID` means (the beginning of the id is enough), and the family that loads it."""
    folder = find_run(workspace.runs, reference)
    record, fit = folder.record(), folder.fit()
    if record is None or record.status != "done":
        state = "is not finished" if record is None else f"{record.status} ({record.reason.rstrip('.')})"
        raise RequestError(
            f"No fit can start from the fit {folder.path.name} ({fit.task}, {fit.backbone}), because it {state}. "
            "Choose another of 'benchrunner runs list'."
        )
    if not fit.backbone:
        raise RequestError(
            f"No fit can start from the fit {folder.path.name}: its method '{fit.method}' has no encoder. Choose "
            "another of 'benchrunner runs list'."
        )
    if fit.folds:
        raise RequestError(fit.no_model)
    if not folder.model.is_dir():
        raise CheckpointError(
            f"{fit.weights_gone}. Repeat the command that fitted it with --keep all, or "
            "'benchrunner predict' with it: either fits it again."
        )
    inner, family = saved(folder, plugins, workspace)
    return FinishedFit(f"{PREFIX}{folder.path.name}", inner, folder, fit), family


def _run_of(model: Path) -> RunFolder | None:
    """Return the run whose `model` folder this is, or None."""
    home = model.absolute().parent
    folder = RunFolder(home.parent, home.name)
    return folder if folder.model == model.absolute() and (home / "fit.json").is_file() else None


def saved(folder: RunFolder, plugins: Plugins, workspace: Workspace) -> Found:
    """Return the checkpoint in a run's folder, and the family that made it.

    No other family is asked: two families may have similar layouts, and would load the same weights as other models.
    """
    reference = folder.model / BackboneReference.FILE
    if reference.is_file():
        values = read_json_object(reference, error=DamagedFile)
        return _unchanged(folder, from_json(BackboneReference, values, reference, DamagedFile), plugins, workspace)
    family = _recorded(folder.family(), folder, plugins)
    supplier = plugins.supplier(family)
    backbone = ask(family, supplier, str(folder.model), workspace)
    if backbone is None:
        raise CheckpointError(
            f"The backbone family '{family.name}' of the plugin {supplier.title} does not recognise {folder.model}, "
            f"which a fit with this family saved. Remove the run's folder {folder.path} to fit it again."
        )
    return backbone, family


def _unchanged(folder: RunFolder, reference: BackboneReference, plugins: Plugins, workspace: Workspace) -> Found:
    """Return the backbone that a model refers to; raise a `CheckpointError` if it is gone or another one by now."""
    needs = (
        f"The fit {folder.path.name} did not change its encoder, and reads it from the backbone {reference.backbone}"
    )
    remedy = f"Put the backbone back, or remove the folder {folder.path} and repeat the command that made it."
    try:
        backbone, family = find_backbone(reference.backbone, plugins, workspace)
        revision = backbone.revision(workspace)
    except RequestError as error:
        raise CheckpointError(f"{needs}, which cannot be read: {error} {remedy}") from None
    if revision != reference.revision or maker(family, plugins) != folder.family():
        raise CheckpointError(f"{needs}, which is another one by now: its files or its plugin changed. {remedy}")
    return UnchangedBackbone(str(folder.model), backbone), family


def maker(family: BackboneFamily, plugins: Plugins) -> Family:
    """Return the description of a family by which a run's folder names it, and by which `saved` finds it again."""
    return Family(plugins.supplier(family).title, family.name)


def _recorded(made: Family, folder: RunFolder, plugins: Plugins) -> BackboneFamily:
    """Return the recorded family, or raise a `CheckpointError` that says what is missing."""
    for family in plugins.families:
        if (plugins.supplier(family).title, family.name) == (made.plugin, made.name):
            return family
    installed = any(made.plugin == plugin.title for plugin in plugins.loaded)
    missing = "which is installed but has no such family" if installed else "which is not installed or set aside"
    raise CheckpointError(
        f"No plugin can load {folder.model}: it was made by the backbone family '{made.name}' of the plugin "
        f"{made.plugin}, {missing}. Only that family reads it; 'benchrunner doctor' shows the plugins in use."
    )
