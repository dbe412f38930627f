"""Read checkpoints of ELMo strictly: every missing, unexpected or misshapen weight is an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from benchrunner import CheckpointError
from benchrunner.engine import tensor_files
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo
from benchrunner_bert.memory import check_files
from benchrunner_bert.tokenizer import BertTokenizer

WEIGHTS = "model.safetensors"
OUTPUT = ".output_bias"
"""End of the names of the biases of the two output layers. A pre-trained model has them; the encoder does not."""


def read(folder: Path) -> Elmo:
    """Read the encoder of a checkpoint folder."""
    config = ElmoConfiguration.read(folder / "config.json")
    path = folder / WEIGHTS
    if not path.is_file():
        raise CheckpointError(f"{folder}: no weights; {WEIGHTS} was expected.")
    count = len(tensor_files.read_shapes(path))
    check_files(folder / "config.json", config.layers, config.weights, path, count)
    tokenizer = BertTokenizer.read(folder)
    if tokenizer.size > config.vocabulary:
        raise CheckpointError(
            f"{folder}: the vocabulary has {tokenizer.size:,} pieces, the model only {config.vocabulary:,} embeddings."
        )
    encoder = Elmo(config, tokenizer)
    tensors = {name: tensor for name, tensor in tensor_files.read_tensors(path).items() if not name.endswith(OUTPUT)}
    _fill(encoder, tensors, path)
    return encoder


def _fill(encoder: Elmo, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Load the weights of a file, if they are those that the encoder needs."""
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    expected = {name: tuple(weight.shape) for name, weight in encoder.state_dict().items()}
    faults = [f"missing: {name}" for name in expected if name not in shapes]
    faults += [f"unexpected: {name}" for name in shapes if name not in expected]
    faults += [
        f"{name}: {shapes[name]} where the configuration asks for {shape}"
        for name, shape in expected.items()
        if shapes.get(name, shape) != shape
    ]
    tensor_files.refuse(f"{path} does not hold this ELMo", faults)
    tensor_files.check_types(path, tensors)
    tensor_files.check_finite(path, tensors.items())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
