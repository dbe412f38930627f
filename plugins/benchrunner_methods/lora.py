"""LoRA (Hu et al. 2021) and DoRA (Liu et al. 2024): low-rank updates of the encoder's linear layers are trained."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchrunner.engine import Finetune, Job, Parameter

if TYPE_CHECKING:
    from benchrunner.engine import Encoder
    from benchrunner_methods.decomposed import DecomposedUpdates
    from benchrunner_methods.low_rank import LowRankUpdates

PARAMETERS = (
    Parameter(
        "rank",
        "rank of the updates: the width between their two matrices",
        8,
        at_least=1,
        at_most=16_384,
        shapes_head=False,
    ),
    Parameter("alpha", "scale of the updates: an update counts alpha / rank times", 16.0, above=0, shapes_head=False),
)
DEFAULTS = {"lr": 5e-4}
"""This rate, rank 8 and alpha 16 are those of most of the authors' scripts for encoders of the base size
(github.com/microsoft/LoRA, examples/NLU); some small tasks have 4e-4."""


def lora() -> Finetune:
    """Make the method that trains low-rank updates, which the saved encoder has in its weights."""
    return _method("lora", "train low-rank updates of the frozen encoder's linear layers, with a linear layer on top")


def dora() -> Finetune:
    """Make the method that trains low-rank updates of directions, and magnitudes, which the saved weights have."""
    return _method(
        "dora",
        "train magnitudes and low-rank updates of the frozen encoder's linear layers, with a linear layer on top",
    )


def _method(name: str, about: str) -> Finetune:
    """Make a method whose updates, an `nn.Module`, add themselves to the encoder by `merge`."""
    return Finetune(
        name,
        about,
        trained=lambda encoder, job: (),
        extended=partial(_updates, name),
        merge=lambda updates: updates.merge(),
        recipe_fields=("summary", "head_layer"),
        training_fields=(),
        parameters=PARAMETERS,
        recipe_defaults=DEFAULTS,
    )


def _updates(name: str, encoder: Encoder, job: Job) -> LowRankUpdates | DecomposedUpdates:
    from benchrunner_methods import decomposed, low_rank  # with torch, which loads slowly

    kind = decomposed.DecomposedUpdates if name == "dora" else low_rank.LowRankUpdates
    return kind(encoder, rank=job.parameters["rank"], alpha=job.parameters["alpha"], seed=job.fit.seed)
