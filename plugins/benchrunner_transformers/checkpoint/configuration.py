"""Configurations: config.json as the library's own configuration object, without anything that asks for code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

MARK = "benchrunner"
"""Key that this plugin adds to config.json: a table with what the encoder needs besides the library's settings."""

_IGNORED = (
    "_attn_implementation",
    "_attn_implementation_internal",
    "_experts_implementation",
    "attn_implementation",
    "auto_map",
    "custom_pipelines",
    "distributed_config",
    "dtype",
    "experts_implementation",
    "fusion_config",
    "id2label",
    "label2id",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "problem_type",
    "quantization_config",
    "return_dict",
    "torch_dtype",
    "transformers_weights",
)
"""Settings that are left out: they name code or files to load, or belong to a head that is not read."""
_LAYER_COUNTS = (
    "decoder_layers",
    "encoder_layers",
    "inner_group_num",
    "n_layer",
    "n_layers",
    "num_decoder_layers",
    "num_hidden_groups",
    "num_hidden_layers",
    "num_layers",
)
"""Settings that say how many layers a model has."""


def read_settings(path: Path, advice: Callable[[Mapping[str, Any]], str] | None = None) -> dict[str, Any]:
    """Read config.json; refuse an architecture that the library does not have.

    `advice` says what helps if the model brings code for its architecture.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    settings = read_json_object(path, error=CheckpointError)
    model_type = settings.get("model_type")
    if not isinstance(model_type, str):
        raise CheckpointError(f"{path}: there is no model_type, so the architecture is unknown.")
    if model_type not in CONFIG_MAPPING_NAMES or model_type not in MODEL_MAPPING_NAMES:
        library = f"transformers {transformers.__version__}"
        if "auto_map" in settings:
            text = f"{path}: the model asks for code of its own (auto_map), and {library} has no architecture"
            raise CheckpointError(f"{text} '{model_type}'. {advice(settings) if advice else ''}".rstrip())
        raise CheckpointError(f"{path}: {library} has no architecture '{model_type}'.")
    return settings


def configuration(path: Path, settings: Mapping[str, Any], *, tensors: int) -> PreTrainedConfig:
    """Make the library's configuration object; `tensors` is the number of tensors in the files of weights."""
    from transformers import CONFIG_MAPPING

    if settings.get("quantization_config"):
        raise CheckpointError(f"{path}: the weights are quantized; only weights in floating point can be fine-tuned.")
    for key in _LAYER_COUNTS:
        if isinstance(count := settings.get(key), int) and count > tensors:
            raise CheckpointError(f"{path}: {key} is {count:,}, but the weights are only {tensors:,} tensors.")
    try:
        config = CONFIG_MAPPING[settings["model_type"]].from_dict(_without_code(settings))
    except Exception as error:  # the configuration classes raise many kinds of errors
        raise CheckpointError(f"{path}: not a configuration of '{settings['model_type']}': {_reason(error)}") from None
    assert not isinstance(config, tuple)
    if config.model_type == "rwkv":
        config.rescale_every = 0  # the library would change weights between training and evaluation, for half precision
    return config


def own_configuration(settings: Mapping[str, Any], config_class: type[PreTrainedConfig] | None) -> PreTrainedConfig:
    """Make a configuration object of a model with own code: of its own class, or else of the library's class.

    Without `config_class`, no code of the checkpoint runs.
    """
    from transformers import CONFIG_MAPPING, PreTrainedConfig

    model_type = settings.get("model_type")
    if config_class is None:
        config_class = PreTrainedConfig
        if model_type in CONFIG_MAPPING:
            config_class = CONFIG_MAPPING[model_type]
    config = config_class.from_dict(_without_code(settings))
    assert not isinstance(config, tuple)
    return config


def mark(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the table that this plugin added to the settings when it saved the model; empty if there is none."""
    table = settings.get(MARK)
    return table if isinstance(table, dict) else {}


def _without_code(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is ignored, also in the configurations of parts."""
    return {key: _value(value) for key, value in settings.items() if key not in (*_IGNORED, MARK)}


def _value(value: Any) -> Any:
    """Decode the library's spelling of numbers that JSON does not have, such as infinity."""
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    return float(value["__float__"]) if value.keys() == {"__float__"} else _without_code(value)


def _reason(error: Exception) -> str:
    """Describe an error of a configuration class in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines) or first_line(error)
