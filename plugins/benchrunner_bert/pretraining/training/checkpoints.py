"""Checkpoints of an unfinished pre-training: a safetensors file each.

A run that continues has the weights and the log of an unbroken run, bit for bit, on the same machine with the same
number of processes and of threads. With other numbers some sums are added up in another order, and losses agree to
rounding. The log's rates are the exception: they are about the process that wrote the line.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from benchrunner import CheckpointError
from benchrunner.engine import first_line, seals, write_folder_atomically

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.deepspeed.engine import Engine

STATE = "state.safetensors"
FACTS = "state.json"


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
    pending: tuple[float, ...] = ()
    """Sums over the steps since the last line of the log; empty where a line was written at this step."""

    def restore(self, engine: Engine) -> None:
        """Restore the state in every process's engine; raise an error that names the file if one is damaged."""
        from safetensors.torch import load_file

        seals.check_files(self.folder, self.files, remedy(self.folder))
        try:
            tensors = load_file(self.folder / STATE)
        except Exception as error:  # a file that is cut or damaged raises many kinds
            raise CheckpointError(
                f"{self.folder / STATE}: cannot be read ({first_line(error)}). {remedy(self.folder)}"
            ) from None
        engine.restore(tensors)


class Checkpoints:
    """The last few checkpoints of a run, in `folder/step-N`."""

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        """Keep the last `keep` checkpoints in a folder."""
        self.folder = folder
        self._keep = keep

    def save(self, step: int, facts: dict[str, Any], engine: Engine, *, pending: Sequence[float] = ()) -> None:
        """Gather the state from all processes, and save it in the first. All processes must call this together."""
        from safetensors.torch import save_file

        tensors = dict[str, torch.Tensor]()
        for name, tensor in engine.state():
            if engine.rank == 0:
                tensors[name] = tensor.detach().cpu().clone()
        facts = {"step": step, "pending": list(pending), **facts}

        def files(part: Path) -> None:
            save_file(tensors, part / STATE)
            seals.write_sealed(part / FACTS, {**facts, "files": {STATE: seals.file_checksum(part / STATE)}})

        if engine.rank == 0:
            write_folder_atomically(self.folder / _name(step), files)
            self._remove_old()

    def sweep(self) -> None:
        """Remove unfinished files of processes that were killed, and old checkpoints that such processes left.

        The caller must hold the run's folder alone.
        """
        for folder in (self.folder, self.folder.parent, self.folder.parent / "exports"):
            for part in folder.glob(".*.part"):
                shutil.rmtree(part) if part.is_dir() else part.unlink()
        self._remove_old()

    @property
    def last_step(self) -> int:
        """Step of the newest checkpoint; 0 if there is none."""
        names = [folder.name.removeprefix("step-") for folder in self._folders()]
        return max((int(name) for name in names if name.isdigit()), default=0)

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
            return Saved(newest, step, facts, dict(facts.pop("files")), pending)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = first_line(error)
            raise CheckpointError(
                f"{newest / FACTS}: not the facts of this checkpoint ({reason}). {remedy(newest)}"
            ) from None

    def _remove_old(self) -> None:
        """Remove all but the last few checkpoints."""
        for old in self._folders()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))


def remedy(folder: Path) -> str:
    """Say what to do about a damaged checkpoint."""
    return f"Remove {folder}: the run continues from the checkpoint before it, or begins anew if there is none."


def _name(step: int) -> str:
    return f"step-{step:08}"
