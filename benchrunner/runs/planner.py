"""Plan fits: resolve tasks, backbones and recipes into a `Fit` with its identity, before anything runs."""

from __future__ import annotations

from dataclasses import is_dataclass
from pathlib import Path

from benchrunner.backbones.backbone import Backbone, BackboneFamily, check_redrawn
from benchrunner.data.rows import Rows
from benchrunner.errors import DataError, RequestError
from benchrunner.fits.executor import FitCost
from benchrunner.fits.fit import Fit
from benchrunner.io.identity import description_of, identity
from benchrunner.io.json_form import as_json
from benchrunner.io.messages import quoted
from benchrunner.methods.majority import Majority
from benchrunner.methods.method import Method
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.plugin_code import guarded
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.finished_fits import find_backbone
from benchrunner.tasks.folds import rows_in_folds
from benchrunner.tasks.row_remarks import RowRemarks
from benchrunner.tasks.row_sample import limited_rows
from benchrunner.tasks.task import Task
from benchrunner.training.feature_cache import files_read_whole
from benchrunner.workspace import Workspace

BASE_WEIGHTS = 110_000_000
"""Weights of a backbone that does not tell their number: 12 layers of 768, and a vocabulary of 30,000."""
TEXT_BYTES = 4
"""Bytes of text for each token of a subword tokenizer; English needs a little more."""
TRAINED_BYTES = 16
"""Bytes for each weight in training: the weight, its gradient and Adam's two moments, in fp32."""
ACTIVATION_BYTES = 0.006
"""Bytes of activations for each weight and each token of a micro-batch: 68 x hidden size x layers in fp32 (twice the 34
of Korthikanti et al. 2022, section 4.1, for 16 bits), where a layer has 12 x hidden size^2 weights of 768 columns."""
CHANGEABLE = {
    "data": "training data",
    "revision": "backbone",
    "suppliers": "code",
    "problem": "problem",
    "method_fields": "method",
}
"""Field of a fit that may change between the plan and the fit -> what a message calls it."""
MOST_QUOTED = 300
"""Characters of such a field that a message quotes."""
PROCESS_BYTES = 700_000_000
"""Bytes of a process that has loaded torch, the plugins and its data."""


class Planner:
    """Plans fits with one set of plugins in one workspace."""

    most_splits = 6
    """Largest number of splits whose rows stay in memory."""

    def __init__(self, plugins: Plugins, workspace: Workspace) -> None:
        self.plugins = plugins
        self.workspace = workspace
        self._rows: dict[tuple[str, str], Rows] = {}
        self._layer_counts: dict[str, int | None] = {}
        self._weight_counts: dict[str, int | None] = {}
        self._columns: dict[str, tuple[list[str], str]] = {}
        self.remarks = RowRemarks(plugins.hook.describe_rows, self.rows)
        """What plugins say of the rows of splits."""

    def plan(
        self, task: Task, backbone: str, *, method: str | None = None, recipe: Recipe | None = None, seed: int = 0
    ) -> Fit:
        """Return the fit of a backbone to a task, with its identity. Nothing runs.

        Without a method or a recipe, those of the task are taken.
        """
        chosen = self.plugins.methods.find(method or task.method)
        what = f"Planning a fit of {backbone or 'no backbone'} to {task.name} with the method '{chosen.name}'"
        with guarded(what):
            return self._plan(task, backbone, chosen, recipe, seed)

    def _plan(self, task: Task, backbone: str, method: Method, recipe: Recipe | None, seed: int) -> Fit:
        method.check(task.problem)
        if task.only_scored and not method.given_answers:
            raise RequestError(f"{task.name} has no training rows: it is for answers of systems that ran elsewhere.")
        if task.problem.owns_weights and method.needs_backbone and not method.trains_in_steps:
            raise RequestError(
                f"The method '{method.name}' cannot train the weights that the kind '{task.problem.name}' owns "
                f"({task.name}). Use --method finetune."
            )
        recipe = _without_ignored_fields(recipe or task.recipe.changed(**method.recipe_defaults), task, method)
        method.check_recipe(recipe, task.problem)
        revision, family = "", None
        if method.needs_backbone:
            loadable, family = find_backbone(backbone, self.plugins, self.workspace)
            self._check_trainable(loadable, method)
            revision = loadable.revision(self.workspace)
            self._check_layers(loadable, revision, recipe)
            if recipe.summary == "pooler" and method.reads("summary", task.problem):
                recipe = recipe.changed(summary=loadable.summary(self.workspace))
        else:  # the method ignores these, so they must not make two of its fits different
            if backbone not in ("", "none"):
                self.backbone(backbone)  # none that does not exist gets a row
            backbone, seed = "", 0
        folds = 0
        if task.folds and not task.folds.held_out and not isinstance(method, Majority):
            folds = task.folds.number  # not of majority answers: a mean of other folds is low where a fold's is high
        fit = Fit(
            task=task.name,
            backbone=backbone,
            method=method.name,
            recipe=recipe,
            seed=seed,
            data=self.training_rows(task, recipe, seed).fingerprint,
            problem=as_json(task.problem.identity()),
            revision=revision,
            suppliers=self.suppliers(task, method, family),
            method_fields=_fields(method, task),
            folds=folds,
        )
        _ = fit.id  # fails here, and not later, where a problem's identity is no JSON
        return fit

    def trainings(self, fit: Fit) -> list[Fit]:
        """Plan the fits that a cross-validated fit consists of, one for each fold."""
        tasks = [self.plugins.tasks.find(f"{fit.task}.{fit.seed}.{fold}") for fold in range(1, fit.folds + 1)]
        return [self.plan(task, fit.backbone, method=fit.method, recipe=fit.recipe, seed=fit.seed) for task in tasks]

    def backbone(self, reference: str) -> Backbone:
        """Return the backbone that a name, path, hub id or `run:ID` means."""
        return find_backbone(reference, self.plugins, self.workspace)[0]

    def only_method(self, reference: str) -> str:
        """Name the one method that a file or folder takes as a backbone; empty where any method may take it."""
        return self.backbone(reference).only_method if Path(reference).exists() else ""

    def _check_trainable(self, backbone: Backbone, method: Method) -> None:
        """Raise a `RequestError` if the method would train a backbone whose weights must stay as they are."""
        if backbone.frozen and method.trains_encoder:
            raise RequestError(
                f"{backbone.name} is a frozen backbone: its weights must stay as they are, but the method "
                f"'{method.name}' trains them. 'benchrunner list methods' shows which leave the encoder as it is."
            )

    def cost(self, fit: Fit, shorter: Fit | None = None) -> FitCost:
        """Estimate what a fit costs, from the size of its backbone and of the rows that it learns from.

        `shorter` is the fit from whose state it goes on.
        """
        task, method = self.plugins.tasks.find(fit.task), self.plugins.methods.find(fit.method)
        if not method.needs_backbone or method.given_answers:
            return FitCost(flops=0.0, memory=PROCESS_BYTES)
        weights, recipe = self._weight_count(fit.backbone) or BASE_WEIGHTS, fit.recipe
        rows = self.training_rows(task, recipe, fit.seed).table
        passes = recipe.passes(rows.num_rows) if method.trains_in_steps else 1.0
        if shorter:
            passes -= shorter.recipe.passes(rows.num_rows)
        if task.folds:
            passes *= task.folds.passes
        tokens = min(recipe.micro_tokens, recipe.batch_size * recipe.max_length)
        return FitCost(
            flops=6.0 * weights * passes * rows.nbytes / TEXT_BYTES,  # forward and backward pass
            memory=PROCESS_BYTES + round(weights * (TRAINED_BYTES + ACTIVATION_BYTES * tokens)),
        )

    def _weight_count(self, reference: str) -> int | None:
        """Return the number of weights of a backbone, or None if it is not known before the backbone is loaded."""
        if reference not in self._weight_counts:
            with guarded(f"The number of weights of {reference}"):
                backbone, _ = find_backbone(reference, self.plugins, self.workspace)
                self._weight_counts[reference] = backbone.weight_count(self.workspace)
        return self._weight_counts[reference]

    def _check_layers(self, backbone: Backbone, revision: str, recipe: Recipe) -> None:
        """Raise a `RequestError` if the recipe treats layers in a way that the backbone's layers do not allow."""
        if recipe.redraw_layers or recipe.layer_decay != 1:
            if revision not in self._layer_counts:
                self._layer_counts[revision] = backbone.layer_count(self.workspace)
            if (layers := self._layer_counts[revision]) is not None:
                check_redrawn(recipe.redraw_layers, layers)

    def rows(self, task: Task, split: str) -> Rows:
        """Load the rows of a split. The last few splits stay in memory.

        The workspace's settings may limit the rows of dev splits. Predictions of fewer rows have other ids. Fits keep
        their ids, because training sees no dev rows.
        """
        key = (task.name, split)
        if key not in self._rows:
            while len(self._rows) >= self.most_splits:
                self._rows.pop(next(iter(self._rows)))
            rows = task.load(split, self.workspace)
            if task.folds:
                rows = rows_in_folds(rows, task.folds, split)
            self._check_columns(task, rows)
            if split in task.named("dev"):
                rows = task.scored(rows, self.workspace.settings.limit_dev)
            self._rows[key] = rows
        return self._rows[key]

    def _check_columns(self, task: Task, rows: Rows) -> None:
        """Raise a `DataError` if a split has an optional column that another split, read before, has not."""
        columns = [name for name in task.problem.optional_columns if name in rows.table.column_names]
        before, origin = self._columns.setdefault(task.name, (columns, rows.origin))
        for name in task.problem.optional_columns:
            if (name in columns) != (name in before):
                with_it, without = (rows.origin, origin) if name in columns else (origin, rows.origin)
                raise DataError(
                    f"{rows.origin}: the splits of {task.name} differ: {with_it} has the column '{name}', and "
                    f"{without} has not. A model reads it in all splits or in none."
                )

    def training_rows(self, task: Task, recipe: Recipe, seed: int) -> Rows:
        """Load the rows that a fit with this recipe and seed learns from."""
        return limited_rows(self.rows(task, task.train), task.problem, recipe.limit_train, seed=seed)

    def suppliers(self, task: Task, method: Method, family: BackboneFamily | None) -> dict[str, str]:
        """Return the plugins whose code has a part in a fit, the core included, with their versions."""
        plugins = [self.plugins.core]
        plugins += self.plugins.suppliers_of(task)
        plugins.append(self.plugins.supplier(method))
        if family is not None:
            plugins.append(self.plugins.supplier(family))
        return {plugin.title: plugin.code for plugin in plugins}

    def check_unchanged(self, fit: Fit) -> None:
        """Raise a `RequestError` if the same plan would give another fit now."""
        task = self.plugins.tasks.find(fit.task)
        with files_read_whole():
            now = self.plan(task, fit.backbone, method=fit.method, recipe=fit.recipe, seed=fit.seed)
        for name, what in CHANGEABLE.items():
            before, after = getattr(fit, name), getattr(now, name)
            if before != after:
                raise RequestError(
                    f"The {what} of the fit {fit.id} ({fit.task}, {fit.backbone or fit.method}) changed since it was "
                    f"planned: from {quoted(before, MOST_QUOTED)} to {quoted(after, MOST_QUOTED)}. Repeat the command "
                    "that planned it, which makes another fit."
                )


def _fields(method: Method, task: Task) -> str:
    """Hash the fields of a method that may change its fits; those of a dataclass that is not frozen are no values.

    Parameters are declared in a field, and their values are in the recipe. A method that gives answers gives others to
    each task, also where the training rows are equal.
    """
    if method.given_answers:
        return task.name
    if not is_dataclass(method) or not method.__dataclass_params__.frozen:
        return ""
    fields = description_of(method)
    for name in ("name", "about", "parameters"):
        fields.pop(name, None)
    return identity(fields) if fields else ""


def _without_ignored_fields(recipe: Recipe, task: Task, method: Method) -> Recipe:
    """Set recipe fields that neither the method nor the problem reads to their defaults.

    Recipes that differ only in such fields then give the same fit. Parameters of other methods, and parameters that
    have their default value, are removed for the same reason.
    """
    defaults = Recipe()
    ignored = {}
    for name in RECIPE_FIELDS:
        if not method.reads(name, task.problem):
            ignored[name] = getattr(defaults, name)
    return recipe.changed(**ignored, parameters=method.set_parameters(recipe))
