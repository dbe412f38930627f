"""From a fit to its record: the page to read first.

load the task's rows -> check that they and the backbone are what the fit was planned for -> let the method learn
-> write the record -> predict a split -> decode -> score -> write that record.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound
from benchrunner.errors import BenchrunnerError, FitError, RequestError, described
from benchrunner.files import write_atomically, write_folder_atomically, write_json
from benchrunner.fits import Fit, Prediction, identity
from benchrunner.methods.method import Job, Method
from benchrunner.metrics import Score
from benchrunner.plugins.registry import Plugins
from benchrunner.progress import Event, silent
from benchrunner.recipes import SPECIAL, Recipe
from benchrunner.records import Record
from benchrunner.runs import fitted_backbone
from benchrunner.runs.evaluation import judged
from benchrunner.runs.folder import Family, RunFolder, read_answers, write_prediction
from benchrunner.tasks.task import Task
from benchrunner.training.feature_cache import Cache
from benchrunner.workspace import CHECKPOINT_SECONDS, Workspace

if TYPE_CHECKING:
    import pyarrow as pa

MAJORITY = "majority"


@dataclass(frozen=True)
class Predicted:
    """A split's answers with their record."""

    record: Record
    answers: list[Any]
    """One a row, in the order of the rows."""
    folder: Path


class Runner:
    """Runs fits in one place with one set of plugins."""

    def __init__(
        self,
        plugins: Plugins,
        workspace: Workspace,
        *,
        device: str = "auto",
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        report: Callable[[Fit, Event], None] = silent,
    ) -> None:
        self.plugins, self.workspace, self.report = plugins, workspace, report
        self.checkpoint_seconds = checkpoint_seconds
        self.cache = Cache(workspace.cache)
        self._device = device
        self._rows: dict[tuple[str, str], Rows] = {}
        self._warned: set[str] = set()

    @property
    def device(self) -> str:
        """Where models run, `auto` resolved."""
        import torch

        if self._device == "auto":
            self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=self._device)
        except (RuntimeError, AssertionError) as error:
            raise RequestError(f"Device '{self._device}' cannot be used: {str(error).splitlines()[0]}") from None
        return self._device

    def precision(self, asked: str) -> str:
        """`auto` is bf16 on accelerators that have it, and fp32 on the CPU."""
        if asked != "auto":
            return asked
        import torch

        return "bf16" if self.device.startswith("cuda") and torch.cuda.is_bf16_supported() else "fp32"

    def plan(
        self, task: Task, backbone: str, *, method: str | None = None, recipe: Recipe | None = None, seed: int = 0
    ) -> Fit:
        """The fit that is meant, with its identity: nothing has run yet."""
        how = self.plugins.method(method or task.method)
        wanted = _settled(recipe or task.recipe.changed(**how.recipe_defaults), task, how)
        revision, family = "", None
        if how.needs_backbone:
            found, family = self._found(backbone)
            revision = found.revision(self.workspace)
        else:  # what it never looks at must not tell two of its fits apart
            backbone, wanted, seed = "", Recipe(limit_train=wanted.limit_train), 0
        return Fit(
            task=task.name,
            backbone=backbone,
            method=how.name,
            recipe=wanted,
            seed=seed,
            data=self._training_rows(task, wanted).fingerprint,
            problem=task.problem.identity(),
            revision=revision,
            suppliers=self._versions(task, how, family),
        )

    def _versions(self, task: Task, method: Method, family: BackboneFamily | None) -> dict[str, str]:
        """The core's, and those of the plugins that these came from."""
        others = [one for one in (method, family) if one is not None]
        suppliers = [self.plugins.core, *self.plugins.suppliers_of(task), *map(self.plugins.supplier, others)]
        return {one.title: one.version for one in suppliers}

    def backbone(self, reference: str) -> Backbone:
        """By name, path or hub id, or a finished fit as `run:ID`."""
        return self._found(reference)[0]

    def _found(self, reference: str) -> tuple[Backbone, BackboneFamily]:
        """The same, with the family whose code loads it."""
        if reference.startswith(fitted_backbone.PREFIX):
            return fitted_backbone.find(reference, self.plugins, self.workspace)
        if reference not in self.plugins.backbones and (run := fitted_backbone.run_of(Path(reference))) is not None:
            return fitted_backbone.saved(run, self.plugins, self.workspace)
        return self.plugins.backbone(reference, self.workspace)

    def rows(self, task: Task, split: str) -> Rows:
        """A split's rows; the last few are kept at hand."""
        key = (task.name, split)
        if key not in self._rows:
            while len(self._rows) >= 6:
                self._rows.pop(next(iter(self._rows)))
            self._rows[key] = task.load(split, self.workspace)
        return self._rows[key]

    def _training_rows(self, task: Task, recipe: Recipe) -> Rows:
        rows = self.rows(task, task.train)
        if recipe.limit_train is None or recipe.limit_train >= len(rows):
            return rows
        return Rows(rows.table.slice(0, recipe.limit_train), rows.origin, rows.lines, rows.notes)

    def folder(self, fit: Fit) -> RunFolder:
        return RunFolder(self.workspace.runs, fit.id)

    def run(self, fit: Fit, *, weights: bool = False) -> Record:
        """The fit's record: read where it is finished, made where it is not. `weights` asks for its model as well."""
        with self._locked(fit) as folder:
            return self._run(fit, folder, weights=weights)

    @contextlib.contextmanager
    def _locked(self, fit: Fit) -> Iterator[RunFolder]:
        """A fit's folder, held alone: while it learns, while its weights are read, while they are removed."""
        folder = self.folder(fit)
        with folder.locked(lambda: self._event(fit, Event("waiting", text=f"another process runs {fit.id}"))):
            yield folder

    def _run(self, fit: Fit, folder: RunFolder, *, weights: bool) -> Record:
        record = folder.record()
        if record is not None and record.status != "failed":
            if record.status == "diverged" or folder.model.exists() or not weights:
                return record
            self._event(fit, Event("note", text="its weights were not kept, so it is fitted again"))
        return self._fit(fit, folder)

    def _fit(self, fit: Fit, folder: RunFolder) -> Record:
        task, method = self.plugins.task(fit.task), self.plugins.method(fit.method)
        rows = self._training_rows(task, fit.recipe)
        backbone, family = self._found(fit.backbone) if method.needs_backbone else (None, None)
        code = self._versions(task, method, family)
        self._check_unchanged(fit, rows, backbone, code)
        folder.sweep()
        write_json(folder.path / "fit.json", fit.as_dict())
        if family is not None:
            folder.keep_family(Family(self.plugins.supplier(family).title, family.name))
        self._tell("before_fit", fit=fit)
        job = self._job(fit, folder, task, code, train=rows, backbone=backbone)
        started = time.monotonic()
        try:
            outcome = method.fit(job)
        except Exception as error:  # a fit of any plugin may fail in any way; the study goes on
            known = isinstance(error, BenchrunnerError)
            reason = str(error) if known else self._unforeseen(folder, error)
            record = Record(fit.id, "failed", reason, timings={"seconds": time.monotonic() - started})
            write_json(folder.path / "record.json", record.as_json())
            self._tell("on_fit_error", fit=fit, error=error)
            return record
        timings = {**outcome.timings, "seconds": time.monotonic() - started}
        notes = (*rows.notes, *outcome.notes)
        record = Record(fit.id, outcome.status, outcome.reason, timings=timings, numerics=outcome.numerics, notes=notes)
        write_json(folder.path / "record.json", record.as_json())
        shutil.rmtree(folder.checkpoint, ignore_errors=True)
        self._tell("after_fit", fit=fit, record=record)
        return record

    @staticmethod
    def _unforeseen(folder: RunFolder, error: Exception) -> str:
        """Somebody's bug in one line; where it happened stands in the run's folder."""
        (folder.path / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        return f"{described(error)} (see {folder.path / 'traceback.txt'})"

    def _check_unchanged(self, fit: Fit, rows: Rows, backbone: Backbone | None, versions: Mapping[str, str]) -> None:
        if rows.fingerprint != fit.data:
            raise RequestError(f"{rows.origin}: the training data of {fit.task} changed since this fit was planned.")
        if backbone is not None and backbone.revision(self.workspace) != fit.revision:
            raise RequestError(f"The backbone {fit.backbone} changed since this fit was planned.")
        if versions != fit.suppliers:
            then, now = (", ".join(f"{name} {one}" for name, one in some.items()) for some in (fit.suppliers, versions))
            raise RequestError(
                f"The fit {fit.id} is of {then}; installed is {now}. Repeat the command that planned it: "
                "other code makes another fit."
            )

    def _job(
        self,
        fit: Fit,
        folder: RunFolder,
        task: Task,
        code: Mapping[str, str],
        *,
        backbone: Backbone | None,
        train: Rows | None = None,
    ) -> Job:
        head = None
        if isinstance(backbone, fitted_backbone.FinishedFit) and backbone.hands_on(
            fit, self.plugins.method(fit.method)
        ):
            head = backbone.folder.model
        return Job(
            fit=fit,
            problem=task.problem,
            workspace=self.workspace,
            cache=self.cache,
            device=self.device if backbone is not None else "cpu",
            model=folder.model,
            checkpoint=folder.checkpoint,
            log=folder.log,
            report=lambda event: self._event(fit, event),
            train=train,
            backbone=backbone,
            code=code,
            head=head,
            checkpoint_seconds=self.checkpoint_seconds,
        )

    def predict(self, fit: Fit, split: str, *, settings: Mapping[str, Any] | None = None) -> Predicted:
        """The fit's answers to a split, with their scores where the rows have labels; computed once.

        `settings` decides how outputs become answers, instead of what was tuned on dev.
        """
        task = self.plugins.task(fit.task)
        rows = self.rows(task, split)
        chosen = self.settings(fit) if settings is None else {**task.problem.decoding, **settings}
        prediction = Prediction(fit.id, task.name, split, rows.fingerprint, dict(chosen))
        folder = self.folder(fit)
        record = folder.prediction_record(prediction.id)
        if record is None:
            with self._locked(fit):
                record = folder.prediction_record(prediction.id) or self._predict(fit, folder, rows, prediction)
        home = folder.prediction(prediction.id)
        return Predicted(record, read_answers(home / "answers.jsonl"), home)

    def _predict(self, fit: Fit, folder: RunFolder, rows: Rows, prediction: Prediction) -> Record:
        task, started = self.plugins.task(fit.task), time.monotonic()
        baseline = None if fit.method == MAJORITY else lambda: self.baseline(fit, prediction.split)
        outputs = self._kept_outputs(fit, folder, rows)
        with self._foreign(folder):
            answers = task.problem.decode(outputs, rows.table, prediction.settings)
            extra_figures = {}
            if task.scores_extra_figures:
                extra_figures = task.problem.extra_figures(outputs, rows.table, prediction.settings)
            timings = {"seconds": time.monotonic() - started}
            record = judged(prediction, task, rows, answers, extra_figures, timings, baseline)
            lines = [json.dumps({"index": at, "answer": one}, ensure_ascii=False) for at, one in enumerate(answers)]
        home = folder.prediction(prediction.id)
        write_folder_atomically(home, lambda part: write_prediction(part, prediction, record, lines))
        return record

    def settings(self, fit: Fit) -> Mapping[str, Any]:
        """How a fit's outputs become answers."""
        task, folder = self.plugins.task(fit.task), self.folder(fit)
        return self.tuned(task, folder, lambda rows: self.kept_outputs(fit, rows))

    def tuned(self, task: Task, folder: RunFolder, outputs: Callable[[Rows], Any]) -> Mapping[str, Any]:
        """A problem's settings, with what is tuned on the task's selection splits put in and kept in the folder.

        The rows of several splits are tuned on together, so that a threshold serves all of them.
        """
        settings, splits = dict(task.problem.decoding), task.selection_splits
        if not splits or not task.problem.tunes:
            return settings
        try:
            parts = [self.rows(task, split) for split in splits]
        except DataNotFound:
            return settings | folder.tuned("")  # what dev said when it was at hand
        fingerprints = [rows.fingerprint for rows in parts]
        key = identity({"task": task.name, "data": fingerprints if len(parts) > 1 else fingerprints[0]})
        known = folder.tuned(key)
        if not known:
            answered = [outputs(rows) for rows in parts]
            with self._foreign(folder):
                known = dict(task.problem.tune(*_joined(answered, parts), task.metrics[0]))
                folder.keep_tuned(key, known)
        return settings | known

    def kept_outputs(self, fit: Fit, rows: Rows) -> Any:
        """Raw outputs for rows of the task's data: computed once, so that choosing another threshold costs nothing."""
        with self._locked(fit) as folder:
            return self._kept_outputs(fit, folder, rows)

    def _kept_outputs(self, fit: Fit, folder: RunFolder, rows: Rows) -> Any:
        import numpy as np

        decoding = self.plugins.task(fit.task).problem.decoding
        file = folder.outputs(identity({"data": rows.fingerprint, "decoding": dict(decoding)}))
        with contextlib.suppress(OSError, ValueError, EOFError):
            return np.load(file, mmap_mode="r", allow_pickle=False)
        outputs = self._outputs(fit, folder, rows)

        def write(part: Path) -> None:
            with part.open("wb") as target:
                np.save(target, outputs)

        write_atomically(file, write)
        return outputs

    def _outputs(self, fit: Fit, folder: RunFolder, rows: Rows) -> Any:
        """What the model says to any rows of its problem, in their order."""
        fitted = self._run(fit, folder, weights=True)
        if fitted.status != "done":
            raise FitError(f"The fit {fit.id} ({fit.task}, {fit.backbone}) has no answers: {fitted.reason}")
        task, method = self.plugins.task(fit.task), self.plugins.method(fit.method)
        saved = fitted_backbone.saved(folder, self.plugins, self.workspace) if method.needs_backbone else (None, None)
        job = self._job(fit, folder, task, self._versions(task, method, saved[1]), backbone=saved[0])
        with self._foreign(folder):
            outputs = method.predict(job, rows.table)
            wanted = task.problem.output_count(rows.table)
        if len(outputs) != wanted:
            raise FitError(f"{method.name} gave {len(outputs)} outputs, where {wanted} were expected for {rows.origin}")
        return outputs

    @contextlib.contextmanager
    def _foreign(self, folder: RunFolder) -> Iterator[None]:
        """A plugin's method, problem or metric may fail in any way; the study goes on."""
        try:
            yield
        except BenchrunnerError:
            raise
        except Exception as error:
            raise FitError(self._unforeseen(folder, error)) from error

    def baseline(self, fit: Fit, split: str) -> Mapping[str, Score]:
        """What the same training rows' majority scores on a split."""
        task = self.plugins.task(fit.task)
        return self.predict(self.plan(task, "", method=MAJORITY, recipe=fit.recipe), split).record.scores

    def forget_weights(self, fit: Fit) -> None:
        """Remove a fit's model; its record and predictions stay."""
        if self.plugins.method(fit.method).needs_backbone and self.folder(fit).model.exists():
            with self._locked(fit) as folder:
                shutil.rmtree(folder.model, ignore_errors=True)

    def _event(self, fit: Fit, event: Event) -> None:
        self.report(fit, event)
        self._tell("on_progress", fit=fit, event=event)

    def _tell(self, hook: str, **facts: Any) -> None:
        """Call every observer; one that fails is reported once and stops nobody."""
        for observer in getattr(self.plugins.hook, hook).get_hookimpls():
            try:
                observer.function(*(facts[name] for name in observer.argnames))
            except (Exception, SystemExit) as error:  # an observer may fail in any way
                text = f"The observer {hook} of plugin '{observer.plugin_name}' failed: {described(error)}"
                if text not in self._warned:
                    self._warned.add(text)
                    print(text, file=sys.stderr)


def _joined(outputs: Sequence[Any], parts: Sequence[Rows]) -> tuple[Any, pa.Table]:
    """The outputs and the rows of several splits as if they were one split."""
    if len(parts) == 1:
        return outputs[0], parts[0].table
    import numpy as np
    import pyarrow as pa

    return np.concatenate(outputs), pa.concat_tables([rows.table for rows in parts], promote_options="default")


def _settled(recipe: Recipe, task: Task, method: Method) -> Recipe:
    """What neither the problem nor the method reads is as it always is: it must not tell two fits apart."""
    known = {*task.problem.recipe_fields, *method.recipe_fields}
    defaults = Recipe()
    return recipe.changed(**{name: getattr(defaults, name) for name in SPECIAL if name not in known})
