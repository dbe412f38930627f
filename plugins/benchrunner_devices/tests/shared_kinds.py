"""A plugin with a task of every kind, and a backbone that has too little memory for large micro-batches."""

from collections.abc import Iterator

import torch

from benchrunner import Task, Workspace, hookimpl
from benchrunner.engine import Backbone, BackboneFamily, Encoder, FlatBatch, OneBackbone
from kinds_of_tasks import PROBLEMS, task_of_kind

ENOUGH = 60
"""Most tokens for which the greedy backbone has memory."""


@hookimpl
def register_tasks() -> Iterator[Task]:
    for kind in PROBLEMS:
        yield task_of_kind(kind)


class Greedy(Backbone):
    """The tiny encoder, which needs more memory than there is for more than `ENOUGH` tokens in training.

    In bf16, kernels may keep copies of its weights.
    """

    name = "kinds/greedy"
    about = "for tests"

    def revision(self, workspace: Workspace) -> str:
        return "greedy"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_kit.testing import TinyEncoder

        class GreedyEncoder(TinyEncoder):
            autocasts_layers = True

            def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
                if batch.dropping and len(batch.tokens) > ENOUGH:
                    raise torch.OutOfMemoryError("CUDA out of memory, says a test.")
                yield from super().hidden_states(batch)

        return GreedyEncoder()


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    yield OneBackbone(Greedy(), lambda folder: None)
