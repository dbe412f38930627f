"""The state of an unfinished pre-training: one safetensors file a checkpoint, or DeepSpeed's own files.

A run that goes on has the weights and the log of an unbroken run, bit for bit, on the same machine with the same number
of processes and of threads. With other numbers some sums are added up in another order, and losses agree to rounding.
The log's rates are the exception: they are about the process that wrote the line.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from benchrunner import CheckpointError, RequestError, flush_to_disk, write_atomically, write_folder_atomically
from benchrunner_bert.pretraining.deepspeed.zero_checkpoint import LATEST

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.deepspeed.engine import Engine

STATE, FACTS = "state.safetensors", "state.json"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Who else could write a file."""

Written = dict[str, Any]
"""How many processes at which stage wrote DeepSpeed's own files: only as many at the same stage read them."""


@dataclass(frozen=True)
class Saved:
    """One checkpoint on disk."""

    folder: Path
    step: int
    """Steps that were taken: the next one to be taken, counted from 0."""
    facts: dict[str, Any]
    """What the run was asked, and the corpus it read."""
    written: Written | None = None
    """Of DeepSpeed's own files; None where the state is whole, and the same whatever wrote it."""
    pending: tuple[float, ...] = ()
    """Sums over the steps since the last line of the log; empty where a line was written at this step."""

    def restore(self, engine: Engine) -> None:
        """Put it into every process's engine."""
        if self.written is None:
            engine.restore(self.tensors())
        else:
            self._check_written(_written(engine))
            _check_own(self.folder)
            engine.read_shares(self.folder)

    def tensors(self) -> dict[str, torch.Tensor]:
        from safetensors.torch import load_file

        try:
            return load_file(self.folder / STATE)
        except Exception as error:  # a file that is cut or damaged raises many kinds
            raise CheckpointError(
                f"{self.folder / STATE} cannot be read ({error}). Remove {self.folder}: the run goes on from the "
                "checkpoint before it, if there is one."
            ) from None

    def _check_written(self, now: Written) -> None:
        if self.written is not None and self.written != now:
            raise RequestError(
                f"{self.folder} is in DeepSpeed's own format, written with {_spelled(self.written)}; now it is "
                f"{_spelled(now)}. Go on with what wrote it, or make a model of it: benchrunner export {self.folder} "
                "DIR. (Checkpoints that --checkpoints whole writes go on with any.)"
            )


class Checkpoints:
    """The last few of a run, in `folder/step-N`."""

    def __init__(self, folder: Path, *, keep: int = 2, shares: bool = False) -> None:
        self.folder, self._keep, self._shares = folder, keep, shares

    def save(
        self,
        step: int,
        facts: dict[str, Any],
        engine: Engine,
        said: Callable[[], str],
        *,
        pending: Sequence[float] = (),
    ) -> None:
        """To be asked of all processes at once. `said` is what DeepSpeed's own files say of their model."""
        home = self.folder / f"step-{step:08}"
        facts = {"step": step, "pending": list(pending), **facts}
        if self._shares:
            self._save_shares(home, {**facts, "deepspeed": _written(engine)}, engine, said)
        else:
            _save_whole(home, facts, engine.state(), write=engine.rank == 0)
        if engine.rank == 0:
            self._forget()

    def sweep(self) -> None:
        """Remove what processes left that were killed while they wrote; only for who has the run alone."""
        for folder in (self.folder, self.folder.parent, self.folder.parent / "exports"):
            for part in folder.glob(".*.part"):
                shutil.rmtree(part) if part.is_dir() else part.unlink()

    def last(self) -> Saved | None:
        """The newest whole one."""
        found = self._found()
        if not found:
            return None
        try:
            facts = json.loads((found[-1] / FACTS).read_text(encoding="utf-8"))
            step, pending = int(facts.pop("step")), tuple(float(total) for total in facts.pop("pending", ()))
            return Saved(found[-1], step, facts, facts.pop("deepspeed", None), pending)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{found[-1] / FACTS} cannot be read ({error}); remove {found[-1]}.") from None

    def _save_shares(self, home: Path, facts: dict[str, Any], engine: Engine, said: Callable[[], str]) -> None:
        """Under a name that nobody looks for, until all processes have written."""
        part = home.with_name(f".{home.name}.part")
        if engine.rank == 0:
            shutil.rmtree(part, ignore_errors=True)
        engine.wait()
        engine.write_shares(part, said() if engine.rank == 0 else "")
        if engine.rank == 0:
            (part / FACTS).write_text(_text(facts), encoding="utf-8")
            for one in (self.folder, part, *part.rglob("*")):
                one.chmod(stat.S_IMODE(one.stat().st_mode) & ~_OTHERS)  # whatever the umask: see `_check_own`
            for one in (*part.rglob("*"), part):
                flush_to_disk(one)
            if home.exists():
                shutil.rmtree(home)
            part.replace(home)
            write_atomically(self.folder / LATEST, lambda one: one.write_text(home.name, encoding="utf-8"))
        engine.wait()

    def _forget(self) -> None:
        """All but the last few, and the name of one that is gone."""
        for old in self._found()[: -self._keep]:
            shutil.rmtree(old, ignore_errors=True)
        latest = self.folder / LATEST
        if latest.is_file() and not (self.folder / latest.read_text(encoding="utf-8")).is_dir():
            latest.unlink()

    def _found(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))


def _save_whole(home: Path, facts: dict[str, Any], state: Iterable[tuple[str, torch.Tensor]], *, write: bool) -> None:
    """All processes bring their pieces together; the one that is to `write` puts them down."""
    from safetensors.torch import save_file

    tensors = {name: one.detach().cpu().clone() for name, one in state if write}

    def files(part: Path) -> None:
        save_file(tensors, part / STATE)
        (part / FACTS).write_text(_text(facts), encoding="utf-8")

    if write:
        write_folder_atomically(home, files)


def _text(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _written(engine: Engine) -> Written:
    return {"processes": engine.world, "zero": engine.stage}


def _spelled(written: Written) -> str:
    return f"--processes {written.get('processes')} --zero {written.get('zero')}"


def _check_own(folder: Path) -> None:
    """DeepSpeed reads its files by pickle, which runs what is in them: nobody else may have written them."""
    for one in (folder.parent, folder, *folder.rglob("*")):
        facts = one.lstat()
        if stat.S_ISLNK(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & _OTHERS:
            reason = "is a link" if stat.S_ISLNK(facts.st_mode) else "could have been written by somebody else"
            raise CheckpointError(
                f"{one} {reason}. DeepSpeed runs what is in its own files when it reads them, so a run goes on from "
                f"those alone that belong to you. benchrunner export {folder} DIR reads them without running anything."
            )
