"""LoRA: low-rank updates of the encoder's linear layers are trained, with a head on top (Hu et al. 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner.engine import Finetune, Job, Parameter

if TYPE_CHECKING:
    from benchrunner.engine import Encoder
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
    return Finetune(
        "lora",
        "train low-rank updates of the frozen encoder's linear layers, with a linear layer on top",
        trained=lambda encoder, job: (),
        extended=_updates,
        merge=lambda updates: updates.merge(),
        recipe_fields=("summary", "head_layer"),
        training_fields=(),
        parameters=PARAMETERS,
        recipe_defaults=DEFAULTS,
    )


def _updates(encoder: Encoder, job: Job) -> LowRankUpdates:
    from benchrunner_methods.low_rank import LowRankUpdates  # with torch, which loads slowly

    return LowRankUpdates(
        encoder,
        rank=job.parameters["rank"],
        alpha=job.parameters["alpha"],
        seed=job.fit.seed,
    )
