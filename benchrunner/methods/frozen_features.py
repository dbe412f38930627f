"""A frozen encoder's layers read by a BiLSTM: the feature-based approach of Devlin et al. 2019, 5.3."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError
from benchrunner.file_faults import either
from benchrunner.files import write_folder_atomically
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.progress import Event

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.methods.heads import BiLstmHead


def chosen_layers(choice: str, layers: int) -> list[int]:
    """The states that a choice reads: 0 is the embeddings, `layers` the last layer."""
    wanted = {
        "embeddings": [0],
        "second-to-last": [layers - 1],
        "last": [layers],
        "weighted-sum-last-4": list(range(layers - 3, layers + 1)),
        "concat-last-4": list(range(layers - 3, layers + 1)),
        "weighted-sum-all": list(range(1, layers + 1)),
    }
    possible = [name for name, found in wanted.items() if found[0] >= (name != "embeddings")]
    if choice not in possible:
        enough = f"this one has {layers} layer(s), enough for {either(possible)}"
        raise RequestError(f"'{choice}' needs a deeper encoder: {enough}.")
    return wanted[choice]


@final
class FrozenFeatures(Method):
    """The encoder runs once over each data set; what is learned is a BiLSTM, and how layers are weighted."""

    name = "features"
    about = "frozen encoder, its layers into a two-layer BiLSTM (--features says which)"
    recipe_fields = ("features",)
    recipe_defaults: Mapping[str, Any] = {"lr": 1e-3, "epochs": 10}
    """Adam's own usual rate: the paper gives none for this approach, and nothing here is pre-trained."""

    def fit(self, job: Job) -> Outcome:
        from benchrunner.methods import saved_model
        from benchrunner.training import numerics

        assert job.train is not None and job.backbone is not None
        encoder = job.backbone.load(job.workspace, seed=0)  # frozen, so restarts differ in what is learned alone
        if job.fit.recipe.dropout is not None:
            encoder.set_dropout(job.fit.recipe.dropout)
        started = time.monotonic()
        reader = Reader(encoder, job, job.train.table)
        computed = time.monotonic()
        notes = list(encoder.notes)
        if job.head is not None:
            saved_model.load(reader.learned, job.head)
            notes.append(saved_model.HANDED_ON)
        training = saved_model.training(job, reader, reader.learned, reader.strands)
        training.run()
        timings = {"encode_seconds": computed - started, **training.timings(time.monotonic() - computed)}
        if training.diverged is not None:
            return Outcome("diverged", training.divergence_reason, timings, numerics.of(training), tuple(notes))
        learned = {name: module.cpu() for name, module in reader.learned.items()}
        write_folder_atomically(job.model, lambda folder: saved_model.save(folder, encoder.cpu(), learned, job))
        return Outcome("done", "", timings, numerics.of(training), tuple(notes))

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        import torch

        from benchrunner.methods import saved_model
        from benchrunner.training.inference import predict

        assert job.backbone is not None
        reader = Reader(job.backbone.load(job.workspace, seed=job.fit.seed), job, table)
        saved_model.load(reader.learned, job.model)
        for module in reader.learned.values():
            module.eval()
        outputs = predict(
            reader,
            reader.strands,
            torch.device(job.device),
            level=reader.head.level,
            precision=job.fit.recipe.precision,
            micro_tokens=job.fit.recipe.micro_tokens,
            report=lambda done, total: job.report(Event("predicting", done, total)),
        )
        return job.problem.gather(outputs, reader.strands, table)


class Reader:
    """The model of this method for one table: batches of strands in, outputs out."""

    def __init__(self, encoder: Encoder, job: Job, table: pa.Table) -> None:
        import torch

        from benchrunner.methods import frozen_states, saved_model
        from benchrunner.methods.heads import BiLstmHead, LayerMix

        job.report(Event("encoding"))
        self._device, self._rate = torch.device(job.device), encoder.dropout
        recipe, shape, seed = job.fit.recipe, job.problem.head, job.fit.seed
        features: Features = saved_model.encode(job, table, encoder, training=False)
        encoder.to(self._device).eval()
        layers = chosen_layers(recipe.features, frozen_states.depth(encoder, features, self._device))
        self._states = frozen_states.states(encoder, features, layers, job)
        self._places, self.strands = job.problem.recurrent_sequences(features, table)
        concatenated = len(layers) if recipe.features.startswith("concat") else 1
        self.head: BiLstmHead = BiLstmHead(encoder.hidden_size * concatenated, shape, seed=seed).to(self._device)
        self.learned: dict[str, nn.Module] = {"head": self.head}
        if recipe.features.startswith("weighted"):
            self.learned["mix"] = LayerMix(len(layers)).to(self._device)

    def __call__(self, batch: FlatBatch) -> torch.Tensor:
        import torch

        places = self._places[batch.feature_positions.cpu().numpy()]
        layers = [torch.from_numpy(one[places]).to(self._device).float() for one in self._states]
        hidden = self.learned["mix"](layers) if "mix" in self.learned else torch.cat(layers, dim=1)
        return self.head.read(hidden, batch, rate=self._rate)
