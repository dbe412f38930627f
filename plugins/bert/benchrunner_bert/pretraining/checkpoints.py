"""The state of an unfinished pre-training: one safetensors file a checkpoint, the same whatever wrote it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchrunner.errors import CheckpointError
from benchrunner.records import write_folder_atomically

STATE, FACTS = "state.safetensors", "state.json"


@dataclass(frozen=True)
class Saved:
    """One checkpoint on disk."""

    folder: Path
    step: int
    """Steps that were taken: the next one to be taken, counted from 0."""
    facts: dict[str, Any]
    """What the run was asked, and the corpus it read."""

    def tensors(self) -> dict[str, torch.Tensor]:
        from safetensors.torch import load_file

        try:
            return load_file(self.folder / STATE)
        except Exception as error:  # a file that is cut or damaged raises many kinds
            raise CheckpointError(
                f"{self.folder / STATE} cannot be read ({error}). Remove {self.folder}: the run goes on from the "
                "checkpoint before it, if there is one."
            ) from None


class Checkpoints:
    """The last few of a run, in `folder/step-N`."""

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self._folder, self._keep = folder, keep

    def save(self, step: int, facts: dict[str, Any], state: Iterable[tuple[str, torch.Tensor]], *, write: bool) -> None:
        """All processes bring their pieces together; the one that is to `write` puts them down."""
        from safetensors.torch import save_file

        tensors = {name: one.detach().cpu().clone() for name, one in state if write}
        if not write:
            return

        def files(part: Path) -> None:
            save_file(tensors, part / STATE)
            text = json.dumps({"step": step, **facts}, indent=2, ensure_ascii=False)
            (part / FACTS).write_text(text + "\n", encoding="utf-8")

        write_folder_atomically(self._folder / f"step-{step:08}", files)
        for old in self._found()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)

    def last(self) -> Saved | None:
        """The newest whole one."""
        found = self._found()
        if not found:
            return None
        try:
            facts = json.loads((found[-1] / FACTS).read_text(encoding="utf-8"))
            return Saved(found[-1], int(facts.pop("step")), facts)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{found[-1] / FACTS} cannot be read ({error}); remove {found[-1]}.") from None

    def _found(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))
