"""The feature-based approach of Devlin et al. 2019, 5.3: a BiLSTM reads the layers of a frozen encoder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError
from benchrunner.file_faults import either
from benchrunner.methods.method import Job, Method, Outcome

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.methods.heads import BiLstmHead


def chosen_layers(choice: str, layers: int) -> list[int]:
    """Give the layers that a recipe's `features` names: 0 is the embeddings, `layers` the last layer."""
    layers_of = {
        "embeddings": [0],
        "second-to-last": [layers - 1],
        "last": [layers],
        "weighted-sum-last-4": list(range(layers - 3, layers + 1)),
        "concat-last-4": list(range(layers - 3, layers + 1)),
        "weighted-sum-all": list(range(1, layers + 1)),
        "weighted-sum-with-embeddings": list(range(layers + 1)),
    }
    possible = [name for name, numbers in layers_of.items() if numbers[0] >= (not name.endswith("embeddings"))]
    if choice not in possible:
        raise RequestError(
            f"--features {choice} needs a deeper encoder: this encoder has {layers} layer(s), enough for "
            f"{either(possible)}."
        )
    return layers_of[choice]


@final
class FrozenFeatures(Method):
    """Runs the encoder once over each data set, and trains a BiLSTM and, where asked, the weights of the layers."""

    name = "features"
    about = "frozen encoder, its layers into a two-layer BiLSTM (--features says which)"
    trains_encoder = False
    recipe_fields = ("features",)
    recipe_defaults: Mapping[str, Any] = {"lr": 1e-3, "epochs": 10}
    """The paper gives no learning rate for this approach. 1e-3 is Adam's default; no trained weight is pre-trained."""

    def fit(self, job: Job) -> Outcome:
        from benchrunner.methods import steps

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=0)  # the encoder is frozen: seeds change only the layers on top
        started = time.monotonic()
        reader = Reader(encoder, job, job.train.table)
        encode_seconds = time.monotonic() - started
        notes = [*encoder.notes, *steps.take_over_head(job, reader.learned)]
        training = steps.train(job, reader, reader.learned, reader.sequences)
        if training.diverged is None:
            steps.save(job, encoder, reader.learned)
        return steps.outcome(training, encode_seconds, notes)

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.methods import saved_model, steps

        assert job.backbone is not None
        reader = Reader(job.backbone.load(job.workspace, seed=job.fit.seed), job, table)
        saved_model.load(reader.learned, job.model)
        for module in reader.learned.values():
            module.eval()
        outputs = steps.predict(job, reader, reader.sequences, reader.head.level)
        return job.problem.gather(outputs, reader.sequences, table)


class Reader:
    """The model for one table: gives the head's outputs for batches of the table's sequences.

    The states of the frozen encoder are computed when the reader is made, or read from the cache.
    """

    def __init__(self, encoder: Encoder, job: Job, table: pa.Table) -> None:
        import torch

        from benchrunner.methods import frozen_states, steps
        from benchrunner.methods.heads import BiLstmHead, LayerMix

        self._device, self._dropout = torch.device(job.device), encoder.dropout
        choice, shape, seed = job.fit.recipe.features, job.problem.head, job.fit.seed
        features = steps.encode(job, table, encoder, training=False)
        encoder.to(self._device).eval()
        layers = chosen_layers(choice, frozen_states.depth(encoder, features, self._device))
        self._states = frozen_states.states(encoder, features, layers, job)
        self._positions, self.sequences = job.problem.recurrent_sequences(features, table)
        concatenated = len(layers) if choice.startswith("concat") else 1
        self.head: BiLstmHead = BiLstmHead(encoder.hidden_size * concatenated, shape, seed=seed).to(self._device)
        self.learned: dict[str, nn.Module] = {"head": self.head}
        if choice.startswith("weighted"):
            self.learned["mix"] = LayerMix(len(layers)).to(self._device)

    def __call__(self, batch: FlatBatch) -> torch.Tensor:
        import torch

        positions = self._positions[batch.feature_positions.cpu().numpy()]
        layers = [torch.from_numpy(states[positions]).to(self._device).float() for states in self._states]
        hidden = self.learned["mix"](layers) if "mix" in self.learned else torch.cat(layers, dim=1)
        return self.head.read(hidden, batch, rate=self._dropout)
