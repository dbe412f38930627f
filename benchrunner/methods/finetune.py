"""All weights trained, with a linear layer on top: what Devlin et al. 2019 do for every task."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from benchrunner.methods import Job, Method, Outcome
from benchrunner.progress import Event
from benchrunner.records import write_folder_atomically

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from benchrunner.encoders import Encoder
    from benchrunner.features import Features
    from benchrunner.heads import LinearHead
    from benchrunner.training import Training


@final
class Finetune(Method):
    """Encoder and head learn together."""

    name = "finetune"
    about = "train all weights with a linear layer on top"

    def fit(self, job: Job) -> Outcome:
        import torch

        from benchrunner.checkpoints import Checkpoint
        from benchrunner.heads import LinearHead
        from benchrunner.training import Training
        from benchrunner.vocabulary import WordsInUse

        assert job.train is not None and job.backbone is not None
        recipe, device = job.fit.recipe, torch.device(job.device)
        encoder = job.backbone.load(job.places, seed=job.fit.seed)
        if recipe.dropout is not None:
            encoder.set_dropout(recipe.dropout)
        head = LinearHead(encoder.hidden_size, job.problem.head, seed=job.fit.seed)
        notes = list(encoder.notes)
        if job.head is not None:
            _load_head(head, job.head)
            notes.append("the head goes on from the earlier fit's, whose problem is the same")
        job.report(Event("encoding"))
        started = time.monotonic()
        features = _encode(job, job.train.table, encoder)
        encoded = time.monotonic()
        words = WordsInUse(encoder.word_embedding, features) if encoder.word_embedding is not None else None
        encoder.to(device)
        head.to(device)
        training = Training(
            model=lambda batch: head(encoder, batch),
            modules={"encoder": encoder, "head": head},
            features=words.features if words is not None else features,
            problem=job.problem,
            recipe=recipe,
            seed=job.fit.seed,
            device=device,
            checkpoint=Checkpoint(job.checkpoint),
            log=job.log,
            report=lambda step, steps: job.report(Event("step", step, steps)),
            checkpoint_seconds=job.checkpoint_seconds,
        )
        training.run()
        seconds = time.monotonic() - encoded
        timings = {
            "encode_seconds": encoded - started,
            "train_seconds": seconds,
            "examples_per_second": recipe.batch_size * (training.schedule.steps - training.first) / seconds,
        }
        numerics = _numerics(training)
        if training.diverged is not None:
            reason = f"the loss was not a finite number at step {training.diverged} of {training.schedule.steps}"
            return Outcome("diverged", reason, timings, numerics, tuple(notes))
        if words is not None:
            words.restore(training.schedule.untouched())
        write_folder_atomically(job.model, lambda folder: _save(folder, encoder.cpu(), head.cpu(), job))
        return Outcome("done", "", timings, numerics, tuple(notes))

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        import torch

        from benchrunner.prediction import predict

        assert job.backbone is not None
        device = torch.device(job.device)
        encoder, head = load(job)
        encoder.to(device).eval()
        head.to(device).eval()
        return predict(
            lambda batch: head(encoder, batch),
            _encode(job, table, encoder),
            device,
            precision=job.fit.recipe.precision,
            micro_tokens=job.fit.recipe.micro_tokens,
            report=lambda done, total: job.report(Event("predicting", done, total)),
        )


def load(job: Job) -> tuple[Encoder, LinearHead]:
    """What a finished fit left: `job.backbone` reads `job.model`."""
    from benchrunner.heads import LinearHead

    assert job.backbone is not None
    encoder = job.backbone.load(job.places, seed=job.fit.seed)
    head = LinearHead(encoder.hidden_size, job.problem.head, seed=job.fit.seed)
    _load_head(head, job.model)
    return encoder, head


def _encode(job: Job, table: pa.Table, encoder: Encoder) -> Features:
    length = min(job.fit.recipe.max_length, encoder.max_length)
    return job.cache.features(table, job.problem, encoder, length, job.fit.suppliers)


def _save(folder: Path, encoder: Encoder, head: LinearHead, job: Job) -> None:
    from safetensors.torch import save_file

    encoder.save(folder)
    save_file({name: one.contiguous() for name, one in head.state_dict().items()}, folder / "head.safetensors")
    (folder / "head.json").write_text(
        json.dumps({"problem": job.problem.identity()}, indent=2) + "\n", encoding="utf-8"
    )


def _load_head(head: LinearHead, folder: Path) -> None:
    from safetensors.torch import load_file

    head.load_state_dict(load_file(folder / "head.safetensors"))


def _numerics(training: Training) -> dict[str, Any]:
    """How it was computed: where these are equal, so are the bits."""
    import importlib.metadata

    import torch

    from benchrunner.attention import implementation

    device = training.device
    kernels = {
        "train": _kernel(implementation, training, dropping=True),
        "predict": _kernel(implementation, training, dropping=False),
    }
    return {
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "precision": training.recipe.precision,
        "attention": kernels,
        "micro_tokens": training.micro_tokens,
        "micro_tokens_asked": training.recipe.micro_tokens,
        "versions": {name: importlib.metadata.version(name) for name in ("torch", "numpy", "tokenizers")},
        "python": platform.python_version(),
    }


def _kernel(implementation: Callable[..., Any], training: Training, *, dropping: bool) -> str:
    import torch

    kind = torch.bfloat16 if training.recipe.precision == "bf16" else torch.float32
    return str(implementation(training.device, kind, 64, dropping=dropping).__name__)
