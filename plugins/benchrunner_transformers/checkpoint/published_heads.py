"""What stands between encoder and output layer in each family's own architectures for fine-tuning.

The facts are those of the library's classes ...ForSequenceClassification, ...ForMultipleChoice, ...ForQuestionAnswering
and ...ForTokenClassification. Sizes and biases are not repeated here: the layers are taken from the classes themselves,
made on torch's meta device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, final

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

Token = Literal["first", "last", "mean", "mean of layers"]
"""States that the layers read: those of a token, their mean, or every token's, whose results are then averaged."""
Kind = Literal["SEQUENCE_CLASSIFICATION", "MULTIPLE_CHOICE", "QUESTION_ANSWERING", "TOKEN_CLASSIFICATION"]
BASE = "base."
"""Start of the names of layers that belong to the base model; the published names have the base model's name there."""
_SETTING = "config."
"""Start of a value that is the name of a setting."""
_TOKENS: Mapping[str, Token] = {
    "cls": "first",
    "bos": "first",
    "first": "first",
    "last": "last",
    "mean": "mean",
    "late": "mean of layers",
}
"""Value of a setting -> token."""


@final
@dataclass(frozen=True)
class PublishedHead:
    """What a family's own class ...ForSequenceClassification computes from the states of the last layer."""

    token: str = "first"
    """A `Token`, or the setting that names it in the library's words."""
    dense: str = ""
    """Name of the dense layer; empty if there is none."""
    activation: str = ""
    """Name of the activation after the dense layer, or the setting that names it."""
    norm: str = ""
    """Name of the norm after the activation; empty if there is none."""
    drops_input: bool = False
    """Whether dropout is applied to the input of the dense layer, too; before the output layer it always is."""
    choice_dense: str = ""
    """Name of the dense layer in ...ForMultipleChoice, where the name is another."""
    choice_activation: str = ""
    """Name of the activation in ...ForMultipleChoice, where it is another."""
    for_tokens: bool = False
    """Whether the same layers stand below the output layer of classes for tokens and spans."""
    refusals: Mapping[Kind, str] = field(default_factory=dict)
    """Kind -> what the published class computes that no head of benchrunner does."""

    def of(self, config: PreTrainedConfig) -> PublishedHead:
        """Replace names of settings by their values in a configuration."""
        token = str(_value(self.token, config))
        return replace(self, token=_TOKENS.get(token, token), activation=str(_value(self.activation, config) or ""))


def _value(value: str, config: PreTrainedConfig) -> Any:
    return getattr(config, value.removeprefix(_SETTING), None) if value.startswith(_SETTING) else value


_POOLER = PublishedHead(dense=f"{BASE}pooler.dense", activation="tanh")
_ROBERTA = PublishedHead(
    dense="classifier.dense", activation="tanh", drops_input=True, choice_dense=f"{BASE}pooler.dense"
)
_SUMMARY = PublishedHead(
    token="config.summary_type", dense="sequence_summary.summary", activation="config.summary_activation"
)
_DEBERTA = PublishedHead(dense="pooler.dense", activation="config.pooler_hidden_act", drops_input=True)
_SEQUENCE_TO_SEQUENCE = PublishedHead(
    token="last", dense="classification_head.dense", activation="tanh", drops_input=True
)
_LAST = PublishedHead(token="last")
_LAST_IN_CHOICE = "reads the last token without a dense layer, and this summary the first with a dense layer"
_OTHER_POOLER = replace(
    _ROBERTA, activation="config.hidden_act", choice_dense="", refusals={"MULTIPLE_CHOICE": _LAST_IN_CHOICE}
)
_OTHER_CHOICES = replace(_OTHER_POOLER, choice_dense="pre_classifier", choice_activation="relu", refusals={})
KINDS: Mapping[str, Kind] = {
    "single_label_classification": "SEQUENCE_CLASSIFICATION",
    "multi_label_classification": "SEQUENCE_CLASSIFICATION",
    "regression": "SEQUENCE_CLASSIFICATION",
    "multiple_choice": "MULTIPLE_CHOICE",
    "question_answering": "QUESTION_ANSWERING",
    "token_classification": "TOKEN_CLASSIFICATION",
}
"""Name of an `ExportKind` -> kind of the library's class."""
HEADS: Mapping[str, PublishedHead] = {
    "albert": PublishedHead(dense=f"{BASE}pooler", activation="tanh"),
    "bart": _SEQUENCE_TO_SEQUENCE,
    "bert": _POOLER,
    "big_bird": PublishedHead(
        dense="classifier.dense",
        activation="config.hidden_act",
        drops_input=True,
        choice_dense=f"{BASE}pooler",
        choice_activation="tanh",
        refusals={"QUESTION_ANSWERING": "has a feed-forward layer of its own and masks the question"},
    ),
    "camembert": _ROBERTA,
    "convbert": _OTHER_POOLER,
    "data2vec-text": _ROBERTA,
    "deberta": _DEBERTA,
    "deberta-v2": _DEBERTA,
    "distilbert": PublishedHead(dense="pre_classifier", activation="relu"),
    "electra": PublishedHead(
        dense="classifier.dense", activation="gelu", drops_input=True, choice_dense="sequence_summary.summary"
    ),
    "ernie": _POOLER,
    "esm": _ROBERTA,
    "eurobert": PublishedHead(token="config.classifier_pooling", dense="dense", activation="gelu"),
    "flaubert": PublishedHead(token="config.summary_type"),
    "fnet": _POOLER,
    "gpt2": _LAST,
    "gpt_neox": _LAST,
    "gte": _POOLER,
    "ibert": _ROBERTA,
    "jina_embeddings_v3": _ROBERTA,
    "longformer": _ROBERTA,
    "luke": _POOLER,
    "mbart": _SEQUENCE_TO_SEQUENCE,
    "megatron-bert": _POOLER,
    "mobilebert": _POOLER,
    "modernbert": PublishedHead(
        token="config.classifier_pooling",
        dense="head.dense",
        activation="config.classifier_activation",
        norm="head.norm",
        for_tokens=True,
    ),
    "modernbert-decoder": PublishedHead(
        token="last", dense="head.dense", activation="config.classifier_activation", norm="head.norm"
    ),
    "mpnet": _ROBERTA,
    "mt5": _SEQUENCE_TO_SEQUENCE,
    "mvp": _SEQUENCE_TO_SEQUENCE,
    "nomic_bert": _POOLER,
    "nystromformer": _OTHER_CHOICES,
    "openai-gpt": _LAST,
    "plbart": _SEQUENCE_TO_SEQUENCE,
    "qwen2": _LAST,
    "qwen3": _LAST,
    "rembert": _POOLER,
    "roberta": _ROBERTA,
    "roberta-prelayernorm": _ROBERTA,
    "roc_bert": _POOLER,
    "roformer": _OTHER_POOLER,
    "squeezebert": _POOLER,
    "t5": _SEQUENCE_TO_SEQUENCE,
    "umt5": _SEQUENCE_TO_SEQUENCE,
    "xlm": PublishedHead(token="config.summary_type"),
    "xlm-roberta": _ROBERTA,
    "xlm-roberta-xl": _ROBERTA,
    "xlnet": _SUMMARY,
    "xmod": _ROBERTA,
    "yoso": _OTHER_CHOICES,
}
"""Model type -> published head."""


def published_head(config: PreTrainedConfig, *, otherwise: Literal["first", "last"]) -> PublishedHead:
    """Return the published head of a configuration's family; `otherwise` is the token of families not in the table."""
    config = config.get_text_config()
    return HEADS.get(config.model_type, PublishedHead(token=otherwise)).of(config)


def published_class(config: PreTrainedConfig, kind: Kind) -> type[PreTrainedModel] | None:
    """Return the library's class of an encoder with a head of a kind, or None if the family has no such class."""
    from transformers.models.auto import modeling_auto

    mapping = getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING")
    return mapping.get(type(config), None)  # type: ignore[no-any-return]


def made_on_meta(model_class: type[PreTrainedModel], config: PreTrainedConfig) -> PreTrainedModel:
    """Make a model without memory for its weights."""
    import torch

    with torch.device("meta"):
        return model_class(config)


def output_layer(model: PreTrainedModel, width: int, head: PublishedHead) -> str:
    """Find the name of the only linear layer with outputs of a width outside the base model; empty if there is none."""
    from torch import nn

    base = f"{model.base_model_prefix}."
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and module.out_features == width and not name.startswith(base)
    ]
    names = [name for name in names if name not in (head.dense, head.choice_dense)]
    return names[0] if len(names) == 1 else ""
