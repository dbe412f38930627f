"""Read checkpoints of ELMo strictly: every missing, unexpected or misshapen weight is an error."""

from __future__ import annotations

from pathlib import Path

from benchrunner_bert.checkpoint import WEIGHTS, check_weights, read_tokenizer
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo
from benchrunner_bert.memory import check_files
from benchrunner_checkpoints import hub_files, tensor_files

OUTPUT = ".output_bias"
"""End of the names of the biases of the two output layers. A pre-trained model has them; the encoder does not."""


def read(folder: Path) -> Elmo:
    """Read the encoder of a checkpoint folder."""
    config = ElmoConfiguration.read(folder / "config.json")
    [path] = hub_files.weight_files(folder, WEIGHTS)
    check_files(folder / "config.json", config.layers, config.weights, path)
    encoder = Elmo(config, read_tokenizer(folder, config.vocabulary))
    tensors = {name: tensor for name, tensor in tensor_files.read_tensors(path).items() if not name.endswith(OUTPUT)}
    check_weights(path, "this ELMo", tensors, encoder.state_dict())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return encoder
