"""Orders for workers on other machines, and their answers, with which the files of a run may travel."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self, final

from benchrunner import FitError, RequestError, Workspace
from benchrunner.engine import seals, write_atomically
from benchrunner.results import Event, Fit, FitAnswer, FitOrder, FitRunner, Plugins, Record, RunFolder, Runner

PASSED_ON = "BENCHRUNNER_"
"""Beginning of the names of the environment variables that a worker gets from the command."""
Files = Literal["shared", "returned", "auto"]
"""How the files of a run reach the runs folder: the worker writes them there (`shared`), they travel back with the
record (`returned`), or the worker decides (`auto`): it writes them there if it sees the folder."""


@final
@dataclass(frozen=True)
class RemoteOrder:
    """A fit for a worker on another machine.

    An order can be pickled. The worker may see other folders. The data must be where the worker runs, and the plugins
    of the fit installed there, in the same versions.
    """

    order: FitOrder
    folder: Path
    """Working folder of the command: names of backbones may be paths relative to it."""
    environment: Mapping[str, str]
    """Environment variables for the worker."""
    files: Files
    mark: str
    """Name of a file in the runs folder, by which a worker knows that it sees the same folder; empty: it does."""

    @classmethod
    def of(cls, fit: Fit, runner: FitRunner, *, cores: int, gpus: float, files: Files, mark: str) -> Self:
        """Make the order for a fit of a runner, for a worker with some cores, and with its first GPU if it has one."""
        order = FitOrder.of(fit, runner, device="cuda:0" if gpus else "cpu", threads=cores)
        places = order.workspace
        data = places.data and places.data.absolute()
        places = replace(places, runs=places.runs.absolute(), cache=places.cache.absolute(), data=data)
        passed_on = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        if places.settings.offline:
            passed_on["HF_HUB_OFFLINE"] = "1"
        return cls(replace(order, workspace=places), Path.cwd(), passed_on, files, mark)

    def run(
        self,
        report: Callable[[Fit, Event], None],
        plugins: Plugins | None = None,
        *,
        seconds: float = 0,
        runners: MutableMapping[Any, Runner] | None = None,
    ) -> RemoteAnswer:
        """Run the fit in this process. Errors are part of the answer; a `KeyboardInterrupt` is raised.

        `seconds` is the least time between two reported events that have no text. Orders with the same `runners` find
        the plugins and the data of the order before, as in `FitOrder.run`.
        """
        sent = float("-inf")

        def report_seldom(fit: Fit, event: Event) -> None:
            nonlocal sent
            if time.monotonic() - sent >= seconds or event.text:
                sent = time.monotonic()
                report(fit, event)

        # A command in the background (nohup ... &) ignores SIGINT; its worker must not, because it cancels the fit.
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(self.environment)
        if self.folder.is_dir():
            os.chdir(self.folder)
        host = platform.node()
        try:
            places = self._places()
        except RequestError as error:
            return RemoteAnswer(FitAnswer(error=error), host)
        answer = replace(self.order, workspace=places).run(report=report_seldom, plugins=plugins, runners=runners)
        record, runs = answer.record, self.order.workspace.runs
        if record is None or places.runs == runs:
            return RemoteAnswer(answer, host)
        folder = RunFolder(places.runs, record.id)
        reason = record.reason.replace(str(folder.path), str(runs / record.id))
        files = packed(folder.path)
        if record.status != "failed":
            folder.remove()
        return RemoteAnswer(FitAnswer(replace(record, reason=reason)), host, files)

    def _places(self) -> Workspace:
        """Return the folders for this fit; raise a `RequestError` if the worker does not see a folder that it needs."""
        places = self.order.workspace
        if places.data is not None and not places.data.is_dir():
            raise RequestError(f"The data folder {places.data} does not exist. Put the data there on every machine.")
        is_seen = not self.mark or (places.runs / self.mark).is_file()
        if self.files == "shared" and not is_seen:
            raise RequestError(
                f"The runs folder {places.runs} is another one than that of the command, or is not there. Give --runs "
                "a folder that all machines share."
            )
        if self.files == "shared" or (self.files == "auto" and is_seen):
            return places
        backbone = self.order.fit.backbone
        if backbone.startswith("run:"):
            raise RequestError(
                f"The backbone {backbone} is a finished fit, which a worker reads in the runs folder, but it does not "
                f"see {places.runs}. Give --runs a folder that all machines share."
            )
        cache = Workspace.from_environment().cache  # the home folder may have another name here
        return replace(places, runs=cache / "runs", cache=cache)


@final
@dataclass(frozen=True)
class RemoteAnswer:
    """What a worker on another machine gives back for an order."""

    answer: FitAnswer
    host: str = ""
    """Name of the machine that ran the fit."""
    files: Mapping[str, bytes] | None = None
    """The files of the run, if the worker did not write them to the runs folder: path in the run's folder -> bytes."""

    def record_in(self, runs: Path) -> Record:
        """Return the record of the fit that a worker ran, after writing the files that came with it to `runs`.

        Raises the worker's error if there is one. An error from another machine begins with the machine's name.
        """
        error = self.answer.error
        if error is not None and self.host not in ("", platform.node()):
            if isinstance(error, OSError):
                error.strerror = f"{error.strerror} (on {self.host})"
                raise error
            raise type(error)(f"On {self.host}: {error}")
        record = self.answer.checked()
        if self.files is not None:
            unpack(self.files, runs, record.id)
        return record


def packed(folder: Path) -> dict[str, bytes]:
    """Read the files of a run's folder, without its states, lock and temporary files: path -> bytes."""
    files = {}
    for name in seals.file_names(folder):
        if name.split("/")[0] not in ("checkpoint", "state"):
            files[name] = (folder / name).read_bytes()
    return files


def unpack(files: Mapping[str, bytes], runs: Path, run: str) -> None:
    """Write the files of a run to its folder, unless the run is finished there already."""
    folder = RunFolder(runs, run)
    with folder.locked(lambda: None):
        if folder.finished_record() is not None:
            return
        for name in sorted(files, key=lambda name: name == "record.json"):  # last: where it is, all others are
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise FitError(f"A worker sent a file of the run {run} with the name {name}, which is outside of it.")
            write_atomically(folder.path / path, partial(Path.write_bytes, data=files[name]))
