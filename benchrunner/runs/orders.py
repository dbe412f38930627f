"""Fits for worker processes, on this machine or on others: orders, answers, and the sending of fits."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, Self, final

from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, FitError, RequestError, UnknownName, described
from benchrunner.fits.computing import Computing
from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import quiet_report
from benchrunner.io.files import write_atomically
from benchrunner.methods.method import Team
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.predicting import kept_outputs, predict
from benchrunner.runs.references import PREFIX as RUN_PREFIX
from benchrunner.runs.runner import Report, Runner
from benchrunner.workspace import Workspace

LAST = "record.json"
"""File of a run that is written last: where it exists, all other files do."""


class SentFits(Protocol):
    """The fits of one study on the way to their workers and back."""

    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        """Send fits to workers and yield each fit with its record as its worker finishes."""

    def cancel(self) -> None:
        """Stop all workers; fits in training have a moment to write their checkpoints."""


def send_fits(
    fits: Iterable[Fit], runner: FitRunner, begin: Callable[[str], AbstractContextManager[SentFits]]
) -> Iterator[tuple[Fit, Record]]:
    """Yield finished fits from disk, and let `begin` send the other fits. Workers are stopped if the study stops.

    `begin` gets the value of `FitOrder.mark`. It is not called if all fits are finished.
    """
    unfinished = []
    for fit in fits:
        record = RunFolder(runner.workspace.runs, fit.id).finished_record()
        if record is None:
            unfinished.append(fit)
        else:
            yield fit, record
    if unfinished:
        with _marked(runner.workspace.runs) as mark, begin(mark) as sent:
            try:
                yield from sent.run(unfinished)
            except BaseException:  # Ctrl-C too: no worker may go on by itself
                sent.cancel()
                raise


@contextlib.contextmanager
def _marked(runs: Path) -> Iterator[str]:
    """Put a file of a new name into the runs folder and yield the name: see `FitOrder.mark`."""
    runs.mkdir(parents=True, exist_ok=True)
    mark = runs / f".{os.urandom(16).hex()}.mark"
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)


def packed(folder: Path) -> dict[str, bytes]:
    """Read the files of a run's folder, without its states, lock and temporary files: path -> bytes."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.is_file() and name.parts[0] not in ("checkpoint", "state") and not is_hidden:
            files[name.as_posix()] = path.read_bytes()
    return files


def unpack(files: Mapping[str, bytes], runs: Path, run: str) -> None:
    """Write the files of a run to its folder, unless the run is finished there already."""
    folder = RunFolder(runs, run)
    with folder.locked(lambda: None):
        if folder.finished_record() is not None:
            return
        for name in sorted(files, key=lambda name: name == LAST):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise FitError(f"A worker sent a file of the run {run} with the name {name}, which is outside of it.")
            write_atomically(folder.path / path, partial(Path.write_bytes, data=files[name]))


Files = Literal["shared", "returned", "auto"]
"""How the files of a run reach the runs folder: the worker writes them there (`shared`), they travel back with the
record (`returned`), or the worker decides (`auto`): it writes them there if it sees the folder."""

PASSED_ON = "BENCHRUNNER_"
"""Beginning of the names of the environment variables that a worker gets from the process that gives the order."""


@final
@dataclass(frozen=True)
class FitOrder:
    """One fit for a worker process, with everything that the worker needs to run it. An order can be pickled.

    The plugins of the fit must be installed where the worker runs, in the same versions, and so must the data.
    """

    fit: Fit
    workspace: Workspace
    computing: Computing
    """How the worker computes the fit; the device is the worker's."""
    threads: int | None = None
    """Number of threads of torch and of tokenizers; None leaves the numbers that the worker process has."""
    folder: Path | None = None
    """Working folder of the process that gives the order: names of backbones may be paths relative to it."""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Environment variables for the worker."""
    files: Files = "shared"
    mark: str = ""
    """Name of a file in the runs folder, by which a worker on another machine knows that it sees the same folder."""
    rows: Rows | None = None
    """Rows to predict with the fit, whose folder is locked by the process that gives the order; None: fit."""

    @classmethod
    def of(
        cls,
        fit: Fit,
        runner: FitRunner,
        *,
        device: str | None = None,
        threads: int | None = None,
        files: Files = "shared",
        mark: str = "",
    ) -> Self:
        """Make the order for a fit of a runner. Without a device, the device of the runner is taken."""
        places = runner.workspace
        return cls(
            fit=fit,
            workspace=dataclasses.replace(
                places,
                runs=places.runs.absolute(),
                cache=places.cache.absolute(),
                data=None if places.data is None else places.data.absolute(),
                settings=dataclasses.replace(places.settings, may_run_code=True),
            ),
            computing=dataclasses.replace(runner.computing, device=device or runner.computing.resolved().device),
            threads=threads,
            folder=Path.cwd(),
            environment={name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)},
            files=files,
            mark=mark,
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
            self._settle_in()
            runner = self._runner(plugins, report, {} if runners is None else runners)
            if team is None:
                return self._answer(runner)
            runner.take_part(self.fit, team)
            return FitAnswer()
        except UnknownName as error:
            return _failed(RequestError(f"{error} A worker needs the same plugins as the command."))
        except RequestError as error:  # as text: a plugin's subclass may not survive pickling
            return _failed(RequestError(str(error)))
        except BenchrunnerError as error:
            return _failed(FitError(str(error)))
        except OSError as error:  # a full disk, a folder that cannot be written
            text = str(error.strerror or error)
            return _failed(OSError(error.errno, text, error.filename, None, error.filename2))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            traceback.print_exc(file=sys.stderr)
            return _failed(FitError(f"A worker process failed, and wrote the reason to its log: {described(error)}"))

    def _runner(self, plugins: Plugins | None, report: Report, runners: MutableMapping[Any, Runner]) -> Runner:
        """Return the runner of an earlier order with the same settings, or make a runner and keep only this one."""
        workspace = self._workspace()
        key = (workspace, self.computing)
        if key not in runners:
            runners.clear()
            plugins = discover() if plugins is None else plugins
            runners[key] = Runner(plugins, workspace, self.computing, report=report)
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
        files = None
        if runner.workspace.runs != self.workspace.runs:
            folder = runner.folder(fit).path
            own, final = str(folder), str(self.workspace.runs / fit.id)
            record = dataclasses.replace(record, reason=record.reason.replace(own, final))
            files = packed(folder)
            if record.status != "failed":
                runner.forget(fit)
        return FitAnswer(record=record, files=files, host=platform.node())

    def _settle_in(self) -> None:
        """Take the settings of the process that gave the order."""
        os.environ.update(self.environment)
        if self.workspace.settings.offline:
            os.environ["HF_HUB_OFFLINE"] = "1"
        if self.folder is not None and self.folder.is_dir():
            os.chdir(self.folder)
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
            # The threads of tokenizers begin with the first texts; without a limit, each worker has one for each core.
            os.environ.setdefault("RAYON_NUM_THREADS", str(self.threads))

    def _workspace(self) -> Workspace:
        """Return the folders for this fit; raise a `RequestError` if the worker does not see a folder that it needs."""
        places = self.workspace
        if places.data is not None and not places.data.is_dir():
            raise RequestError(f"The data folder {places.data} does not exist. Put the data there on every machine.")
        seen = not self.mark or (places.runs / self.mark).is_file()
        if self.files == "shared" and not seen:
            raise RequestError(
                f"The runs folder {places.runs} is another one than that of the command, or is not there. Give --runs "
                "a folder that all machines share."
            )
        if self.files == "shared" or (self.files == "auto" and seen):
            return places
        if self.fit.backbone.startswith(RUN_PREFIX):
            raise RequestError(
                f"The backbone {self.fit.backbone} is a finished fit, which a worker reads in the runs folder, but "
                f"it does not see {places.runs}. Give --runs a folder that all machines share."
            )
        cache = Workspace.from_environment().cache  # the home folder may have another name here
        return dataclasses.replace(places, runs=cache / "runs", cache=cache)


@final
@dataclass(frozen=True)
class FitAnswer:
    """What a worker gives back for an order: a record, or the error that ends the whole command."""

    record: Record | None = None
    error: Exception | None = None
    """A RequestError, a FitError or an OSError."""
    files: Mapping[str, bytes] | None = None
    """The files of the run, if the worker did not write them to the runs folder: path in the run's folder -> bytes."""
    host: str = ""
    """Name of the machine that ran the fit."""

    def record_in(self, runs: Path) -> Record:
        """Return the record of the fit that a worker ran, after writing the files that came with it to `runs`.

        Raises the worker's error if there is one. An error from another machine begins with the machine's name.
        """
        if self.error is not None:
            raise self._located(self.error)
        assert self.record is not None
        if self.files is not None:
            unpack(self.files, runs, self.record.id)
        return self.record

    def _located(self, error: Exception) -> Exception:
        if self.host in ("", platform.node()):
            return error
        if isinstance(error, OSError):
            return OSError(error.errno, f"{error.strerror} (on {self.host})", error.filename, None, error.filename2)
        return type(error)(f"On {self.host}: {error}")


def _failed(error: Exception) -> FitAnswer:
    return FitAnswer(error=error, host=platform.node())
