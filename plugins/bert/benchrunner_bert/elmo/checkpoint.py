"""Read checkpoints of ELMo strictly: every missing, unexpected or misshapen weight is an error."""

from __future__ import annotations

from pathlib import Path

from benchrunner import CheckpointError, first_line
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo
from benchrunner_bert.tokenizer import BertTokenizer

WEIGHTS = "model.safetensors"
OUTPUT = ".output_bias"
"""End of the names of the biases of the two output layers. A pre-trained model has them; the encoder does not."""


def read(folder: Path) -> Elmo:
    """Read the encoder of a checkpoint folder."""
    config = ElmoConfiguration.read(folder / "config.json")
    encoder = Elmo(config, BertTokenizer.read(folder))
    if encoder.tokenizer.size > config.vocabulary:
        raise CheckpointError(
            f"{folder}: the vocabulary has {encoder.tokenizer.size} pieces, the model only {config.vocabulary} "
            "embeddings."
        )
    _fill(encoder, folder / WEIGHTS)
    return encoder


def _fill(encoder: Elmo, path: Path) -> None:
    """Load the weights of a file, if they are those that the encoder needs."""
    from safetensors.torch import load_file

    try:
        tensors = {name: tensor.float() for name, tensor in load_file(path).items() if not name.endswith(OUTPUT)}
    except Exception as error:  # a missing, damaged or foreign file raises many kinds of errors
        raise CheckpointError(f"{path}: the weights cannot be read: {first_line(error)}") from None
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    expected = {name: tuple(weight.shape) for name, weight in encoder.state_dict().items()}
    faults = [f"missing: {name}" for name in expected if name not in shapes]
    faults += [f"unexpected: {name}" for name in shapes if name not in expected]
    faults += [
        f"{name}: {shapes[name]} where the configuration asks for {shape}"
        for name, shape in expected.items()
        if shapes.get(name, shape) != shape
    ]
    if faults:
        raise CheckpointError(f"{path} does not hold this ELMo:\n" + "\n".join(f"  - {fault}" for fault in faults))
    encoder.load_state_dict(tensors)
