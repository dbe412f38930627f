"""Checkpoints of an unfinished pre-training: a safetensors file each, or DeepSpeed's own files.

A run that continues has the weights and the log of an unbroken run, bit for bit, on the same machine with the same
number of processes and of threads. With other numbers some sums are added up in another order, and losses agree to
rounding. The log's rates are the exception: they are about the process that wrote the line.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from benchrunner import CheckpointError, RequestError
from benchrunner.engine import first_line, platform_facts, seals, write_atomically, write_folder_atomically
from benchrunner_bert.pretraining.deepspeed.zero_files import LATEST

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.deepspeed.engine import Engine

STATE = "state.safetensors"
FACTS = "state.json"

Layout = dict[str, Any]
"""Number of processes and stage that wrote DeepSpeed's own files; only the same number and stage can read them."""


@dataclass(frozen=True)
class Saved:
    """A checkpoint on disk."""

    folder: Path
    step: int
    """Number of steps that were taken, which is the next step, counted from 0."""
    facts: dict[str, Any]
    """Facts that decide the result: the request, the corpus, the tokenizer."""
    files: dict[str, str]
    """Checksums of the files of the state."""
    layout: Layout | None = None
    """Layout of DeepSpeed's own files; None where the state is whole, and the same whatever wrote it."""
    pending: tuple[float, ...] = ()
    """Sums over the steps since the last line of the log; empty where a line was written at this step."""

    def restore(self, engine: Engine) -> None:
        """Restore the state in every process's engine; raise an error that names the file if one is damaged."""
        if self.layout is None:
            seals.check_files(self.folder, self.files, remedy(self.folder))
            engine.restore(self.tensors())
        else:
            self._check_layout(_layout_of(engine))
            seals.check_files(self.folder, self._share_of(engine), remedy(self.folder))
            engine.wait()  # until all files are checked, by whichever process
            engine.read_shares(self.folder)

    def _share_of(self, engine: Engine) -> dict[str, str]:
        """Give the files that a process checks, so that the processes together check all."""
        return {name: self.files[name] for name in sorted(self.files)[engine.rank :: engine.world]}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Read the whole state."""
        from safetensors.torch import load_file

        try:
            return load_file(self.folder / STATE)
        except Exception as error:  # a file that is cut or damaged raises many kinds
            raise CheckpointError(
                f"{self.folder / STATE}: cannot be read ({first_line(error)}). {remedy(self.folder)}"
            ) from None

    def _check_layout(self, now: Layout) -> None:
        if self.layout is not None and self.layout != now:
            raise RequestError(
                f"{self.folder} is in DeepSpeed's own format, written with {_as_options(self.layout)}; now it is "
                f"{_as_options(now)}. Continue with the options that wrote it, or make a model of it: benchrunner "
                f"export {self.folder} DIR. (A run with --checkpoints whole continues with any number and stage.)"
            )


class Checkpoints:
    """The last few checkpoints of a run, in `folder/step-N`."""

    def __init__(self, folder: Path, *, keep: int = 2, shares: bool = False) -> None:
        """Keep the last `keep` checkpoints in a folder; with `shares`, in DeepSpeed's format: a file a process."""
        self.folder = folder
        self._keep = keep
        self._shares = shares

    def save(
        self,
        step: int,
        facts: dict[str, Any],
        engine: Engine,
        describe: Callable[[], str],
        *,
        pending: Sequence[float] = (),
    ) -> None:
        """Save the state. All processes must call this together.

        `describe` gives the description of the model for DeepSpeed's own files.
        """
        home = self.folder / _name(step)
        facts = {"step": step, "pending": list(pending), **facts}
        if self._shares:
            self._save_shares(home, {**facts, "deepspeed": _layout_of(engine)}, engine, describe)
        else:
            _save_whole(home, facts, engine.state(), write=engine.rank == 0)
        if engine.rank == 0:
            self._remove_old()

    def sweep(self) -> None:
        """Remove unfinished files of processes that were killed, and old checkpoints that such processes left.

        The file `latest` names the newest checkpoint afterwards, if that is in DeepSpeed's format. The caller must hold
        the run's folder alone.
        """
        for folder in (self.folder, self.folder.parent, self.folder.parent / "exports"):
            for part in folder.glob(".*.part"):
                shutil.rmtree(part) if part.is_dir() else part.unlink()
        self._remove_old()
        newest = self.last()
        if newest is not None and newest.layout is not None:
            self._name_latest(newest.folder)

    def last(self) -> Saved | None:
        """Find the newest checkpoint."""
        folders = self._folders()
        if not folders:
            return None
        newest = folders[-1]
        facts = seals.read_sealed(newest / FACTS, remedy(newest))
        try:
            step = int(facts.pop("step"))
            pending = tuple(float(total) for total in facts.pop("pending"))
            if newest.name != _name(step):
                raise ValueError(f"they are of step {step:,}, unlike the folder's name")
            return Saved(newest, step, facts, dict(facts.pop("files")), facts.pop("deepspeed", None), pending)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = first_line(error)
            raise CheckpointError(
                f"{newest / FACTS}: not the facts of this checkpoint ({reason}). {remedy(newest)}"
            ) from None

    def _save_shares(self, home: Path, facts: dict[str, Any], engine: Engine, describe: Callable[[], str]) -> None:
        """Let all processes write under a temporary name, and rename the folder when all have finished."""
        part = home.with_name(f".{home.name}.part")
        if engine.rank == 0:
            shutil.rmtree(part, ignore_errors=True)
        engine.wait()
        try:
            engine.write_shares(part, describe() if engine.rank == 0 else "")
        except OSError:  # a full disk: free what this checkpoint took
            shutil.rmtree(part, ignore_errors=True)
            raise
        if engine.rank == 0:
            seals.write_sealed(part / FACTS, {**facts, "files": seals.folder_checksums(part)})
            for path in (*part.rglob("*"), part):
                platform_facts.flush_to_disk(path)
            if home.exists():
                shutil.rmtree(home)
            part.replace(home)
            self._name_latest(home)
        engine.wait()

    def _name_latest(self, home: Path) -> None:
        """Write the file in which DeepSpeed's tools find the newest checkpoint."""
        write_atomically(self.folder / LATEST, lambda file: file.write_text(home.name, encoding="utf-8"))

    def _remove_old(self) -> None:
        """Remove all but the last few checkpoints, and the file `latest` if it names a removed one."""
        for old in self._folders()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)
        latest = self.folder / LATEST
        if latest.is_file() and not (self.folder / latest.read_text(encoding="utf-8")).is_dir():
            latest.unlink()

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))


def _save_whole(home: Path, facts: dict[str, Any], state: Iterable[tuple[str, torch.Tensor]], *, write: bool) -> None:
    """Gather the state from all processes; the process with `write` saves it."""
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().cpu().clone() for name, tensor in state if write}

    def files(part: Path) -> None:
        save_file(tensors, part / STATE)
        seals.write_sealed(part / FACTS, {**facts, "files": {STATE: seals.file_checksum(part / STATE)}})

    if write:
        write_folder_atomically(home, files)


def remedy(folder: Path) -> str:
    """Say what to do about a damaged checkpoint."""
    return f"Remove {folder}: the run continues from the checkpoint before it, or begins anew if there is none."


def _name(step: int) -> str:
    return f"step-{step:08}"


def _layout_of(engine: Engine) -> Layout:
    return {"processes": engine.world, "zero": engine.stage}


def _as_options(layout: Layout) -> str:
    return f"--processes {layout.get('processes')} --zero {layout.get('zero')}"
