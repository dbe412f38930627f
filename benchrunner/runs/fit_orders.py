"""Fits for worker processes: a fit with all that a worker needs to run it, and what the worker answers."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import traceback
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Self, final

from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, FitError, RequestError, UnknownName, described
from benchrunner.fits.computing import Computing
from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import quiet_report
from benchrunner.methods.method import Team
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.predicting import kept_outputs, predict
from benchrunner.runs.runner import Report, Runner
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class FitOrder:
    """A fit for a worker process, with all that it needs. An order can be pickled.

    The plugins of the fit must be installed where the worker runs, in the same versions, and so must the data.
    """

    fit: Fit
    workspace: Workspace
    computing: Computing
    """How the worker computes the fit; the device is the worker's."""
    threads: int | None = None
    """Number of threads of torch and of tokenizers; None leaves the numbers that the worker process has."""
    rows: Rows | None = None
    """Rows to predict with the fit, whose folder is locked by the process that gives the order; None: fit."""

    @classmethod
    def of(cls, fit: Fit, runner: FitRunner, *, device: str | None = None, threads: int | None = None) -> Self:
        """Make the order for a fit of a runner. Without a device, the device of the runner is taken."""
        settings = dataclasses.replace(runner.workspace.settings, may_run_code=True)
        return cls(
            fit=fit,
            workspace=dataclasses.replace(runner.workspace, settings=settings),
            computing=dataclasses.replace(runner.computing, device=device or runner.computing.resolved().device),
            threads=threads,
            rows=runner.rows,
        )

    def on(self, device: str) -> Self:
        """Return this order for a worker with another device."""
        return dataclasses.replace(self, computing=dataclasses.replace(self.computing, device=device))

    def run(
        self,
        *,
        plugins: Plugins | None = None,
        report: Report = quiet_report,
        runners: MutableMapping[Any, Runner] | None = None,
        team: Team | None = None,
    ) -> FitAnswer:
        """Run the fit in this process and predict its dev splits, or take part in a team's training.

        Errors are part of the answer.

        `plugins` are those that are installed here, unless they are given. `runners` keeps the runner of an order, so
        that a later order with the same mapping, plugins and report need not load the same data again. A
        `KeyboardInterrupt` is raised, after the training has written its checkpoint.
        """
        try:
            self._set_threads()
            runner = self._runner(plugins, report, {} if runners is None else runners)
            if team is None:
                return self._answer(runner)
            runner.take_part(self.fit, team)
            return FitAnswer()
        except UnknownName as error:
            return FitAnswer(error=RequestError(f"{error} A worker needs the same plugins as the command."))
        except RequestError as error:  # as text: a plugin's subclass may not survive pickling
            return FitAnswer(error=RequestError(str(error)))
        except BenchrunnerError as error:
            return FitAnswer(error=FitError(str(error)))
        except OSError as error:  # a full disk, a folder that cannot be written
            text = str(error.strerror or error)
            return FitAnswer(error=OSError(error.errno, text, error.filename, None, error.filename2))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            text = f"A worker process failed, and wrote the reason to its log: {described(error)}"
            return FitAnswer(error=FitError(text))

    def _runner(self, plugins: Plugins | None, report: Report, runners: MutableMapping[Any, Runner]) -> Runner:
        """Return the runner of an earlier order with the same settings, or make a runner and keep only this one."""
        key = (self.workspace, self.computing)
        if key not in runners:
            runners.clear()
            plugins = discover() if plugins is None else plugins
            runners[key] = Runner(plugins, self.workspace, self.computing, report=report)
        return runners[key]

    def _answer(self, runner: Runner) -> FitAnswer:
        fit = self.fit
        if self.rows is not None:
            kept_outputs(fit, self.rows, runner)
            return FitAnswer(record=runner.folder(fit).record())
        record = runner.run(fit)
        with contextlib.suppress(FitError):  # the process that gave the order predicts as well and reports the error
            for split in runner.plugins.tasks.find(fit.task).named("dev") if record.status == "done" else []:
                predict(fit, split, runner)
        return FitAnswer(record=record)

    def _set_threads(self) -> None:
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
            # The threads of tokenizers begin with the first texts; without a limit, each worker has one for each core.
            os.environ.setdefault("RAYON_NUM_THREADS", str(self.threads))


@final
@dataclass(frozen=True)
class FitAnswer:
    """What a worker gives back: a record, or the error that ends the whole command."""

    record: Record | None = None
    error: Exception | None = None
    """A RequestError, a FitError or an OSError."""

    def checked(self) -> Record:
        """Return the record of the fit that a worker ran; raise the worker's error if there is one."""
        if self.error is not None:
            raise self.error
        assert self.record is not None
        return self.record
