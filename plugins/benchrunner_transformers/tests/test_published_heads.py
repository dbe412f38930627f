"""Summaries and heads: what is exported computes the same logits in the library's own classes, for every family."""

from __future__ import annotations

import copy
import inspect
import json
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import SETTINGS
from torch import nn
from transformers.models.auto import modeling_auto

from benchrunner import CheckpointError
from benchrunner.engine import Dropout, ExportedHead, ExportKind, Features, FlatBatch, Sequences, collate, randomness
from benchrunner_transformers.checkpoint.published_heads import KINDS, Kind
from benchrunner_transformers.model.export import export_checkpoint
from benchrunner_transformers.model.sparse_attention import global_tokens
from benchrunner_transformers.model.summary import Summary

XLM = {"emb_dim": 16, "n_layers": 2, "n_heads": 2}
FAMILIES = {name: settings for name, settings in SETTINGS.items() if name not in ("camembert", "funnel")}
"""Families of the README, with the settings of a tiny model."""
LIKE_OTHERS = ("big_bird", "deberta-v2", "eurobert", "fnet", "gpt_neox", "longformer", "mpnet", "qwen3", "xlm-roberta")
"""Those of them whose classes are like another family's: every run of the tests computes one kind of head of each."""
BERT, ROBERTA, RIGHT, BART, T5 = (SETTINGS[name] for name in ("bert", "roberta", "qwen2", "bart", "t5"))
MORE = {
    "camembert": SETTINGS["camembert"],
    "convbert": BERT,
    "data2vec-text": ROBERTA,
    "ernie": BERT,
    "esm": {**BERT, "mask_token_id": 3, "position_embedding_type": "rotary"},
    "flaubert": XLM,
    "funnel": SETTINGS["funnel"],
    "gte": BERT,
    "ibert": ROBERTA,
    "jina_embeddings_v3": ROBERTA,
    "llama": RIGHT,
    "luke": {**BERT, "entity_vocab_size": 5, "entity_emb_size": 8},
    "mbart": BART,
    "megatron-bert": BERT,
    "mobilebert": {**BERT, "intra_bottleneck_size": 16, "embedding_size": 16},
    "modernbert-decoder": {**BERT, "local_attention": 8},
    "mt5": T5,
    "mvp": BART,
    "nomic_bert": BERT,
    "nystromformer": {**BERT, "max_position_embeddings": 510},
    "plbart": BART,
    "rembert": {**BERT, "input_embedding_size": 8},
    "roberta-prelayernorm": ROBERTA,
    "roc_bert": BERT,
    "roformer": BERT,
    "squeezebert": {**BERT, "embedding_size": 16, "q_groups": 1, "k_groups": 1, "v_groups": 1},
    "xlm": XLM,
    "xlm-roberta-xl": ROBERTA,
    "xmod": {**ROBERTA, "languages": ["en_XX"], "default_language": "en_XX"},
    "yoso": BERT,
}
"""Further families, some of which the table of published heads does not have."""
MIXES_PADDING = ("convbert", "fnet", "funnel", "mobilebert", "nystromformer", "yoso")
"""Families in which padding changes the states of tokens: their batches have no padding."""
REFUSED = {
    ("big_bird", "question_answering"): "feed-forward layer of its own",
    ("convbert", "multiple_choice"): "reads the last token",
    ("flaubert", "multiple_choice"): "has sequence_summary.summary.bias, .*, which this fit lacks",
    ("funnel", "single_label_classification"): "computes more",
    ("funnel", "multiple_choice"): "computes more",
    ("mt5", "single_label_classification"): "computes more than a MT5EncoderModel",
    ("mt5", "question_answering"): "computes more",
    ("roformer", "multiple_choice"): "reads the last token",
    ("t5", "single_label_classification"): "computes more than a T5EncoderModel",
    ("t5", "question_answering"): "computes more",
    ("xlm", "multiple_choice"): "which this fit lacks",
}
"""Family and kind of a head that the library's own class does not compute, with a part of the refusal."""
SPECIAL = {"pad_token_id": 1, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
LENGTHS, VOCABULARY = (9, 5, 9, 7), 64
LABELS = {"single_label_classification": 4, "token_classification": 5, "question_answering": 2, "multiple_choice": 1}


class NoTokenizer:
    def save(self, folder: Path) -> None:
        """Write nothing: the tests give token ids."""


@cache
def model_of(family: str) -> Any:
    """Make a random model of a family, T5's encoder alone, as the plugin loads it."""
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING, AutoConfig

    config = AutoConfig.for_model(family, **{**SPECIAL, "vocab_size": VOCABULARY, **{**FAMILIES, **MORE}[family]})
    mapping = MODEL_FOR_TEXT_ENCODING_MAPPING if family in ("t5", "mt5") else MODEL_MAPPING
    model_class = mapping[type(config)]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = (model_class[0] if isinstance(model_class, tuple) else model_class)(config)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight), alpha=0.2)
        for module in model.modules():  # the row of the padding is zero, as in every pre-trained model
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight.data[module.padding_idx] = 0
    if "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        model.pooler = None
    return model.eval()


@cache
def flat(family: str, kind: Kind | None = None) -> tuple[FlatBatch, list[torch.Tensor], torch.Tensor]:
    """Make a ragged batch, and compute the states of its sequences one by one: (T, H).

    Only Longformer's states depend on the kind of the head.
    """
    source = np.random.default_rng(0)
    lengths = (7,) * 4 if family in MIXES_PADDING else LENGTHS
    rows = [[0, *source.integers(5, VOCABULARY, length - 2), 2] for length in lengths]
    if family == "longformer":  # two texts with two separators between them
        rows = [[*row[:2], 2, 2, *row[2:]] for row in rows]
    tokens = np.concatenate(rows).astype(np.int32)
    sequences = Sequences(
        tokens, np.zeros_like(tokens, dtype=np.int8), np.concatenate([[0], np.cumsum(list(map(len, rows)))])
    )
    batch = collate(Features.of(sequences), np.arange(len(rows)), torch.device("cpu"))
    ordered = [batch.tokens[start:stop] for start, stop in zip(batch.starts[:-1], batch.starts[1:], strict=True)]
    with torch.no_grad():
        states = []
        for row in ordered:
            more = {"global_attention_mask": global_tokens(row[None], kind, 2)} if family == "longformer" else {}
            states.append(model_of(family)(input_ids=row[None], **more)[0][0])
    return batch, ordered, torch.cat(states)


def summary_of(family: str) -> Summary:
    summary = Summary.of(model_of(family).config, otherwise="last" if family == "llama" else "first")
    summary.draw(randomness.generator(1, "summary"))
    with torch.no_grad():
        for index, weight in enumerate(summary.parameters()):
            weight.add_(torch.randn(weight.shape, generator=randomness.generator(index, "change")), alpha=0.3)
    return summary


def head_of(kind: str, summary: Summary, width: int) -> ExportedHead:
    labels, reads = LABELS[kind], KINDS[kind] in ("SEQUENCE_CLASSIFICATION", "MULTIPLE_CHOICE")
    output = nn.Linear(width, labels, bias=summary.output_bias or not reads)
    for index, weight in enumerate(output.parameters()):
        nn.init.normal_(weight, generator=randomness.generator(index, kind))
    names = tuple(f"label {number}" for number in range(labels)) if "classification" in kind else ()
    tensors = {name: weight.detach() for name, weight in output.named_parameters()}
    return ExportedHead(tensors, ExportKind(kind, names), reads)


def expected_logits(family: str, summary: Summary, head: ExportedHead) -> torch.Tensor:
    """Compute our own outputs, for sequences (N, labels) or for tokens (T, labels)."""
    kind = KINDS[head.kind.name]
    batch, _, hidden = flat(family, kind)
    summary.prepare_for(kind)
    with torch.no_grad():
        states = summary(hidden, batch, 0.0) if head.reads_summary else summary.of_tokens(hidden, batch, 0.0)
        return nn.functional.linear(states, head.tensors["weight"], head.tensors.get("bias"))


def library_logits(family: str, kind: str, folder: Path, ordered: list[torch.Tensor]) -> torch.Tensor:
    """Compute the logits of the exported model on a padded batch, in the shape of `expected_logits`."""
    import transformers

    auto = getattr(transformers, f"AutoModelFor{KINDS[kind].title().replace('_', '')}")
    model, report = auto.from_pretrained(folder, output_loading_info=True)
    assert not report["unexpected_keys"] and not report["mismatched_keys"]
    assert all(".pooler." in name for name in report["missing_keys"]), report["missing_keys"]
    side = "left" if family == "xlnet" else "right"
    inputs = {
        "input_ids": nn.utils.rnn.pad_sequence(ordered, batch_first=True, padding_value=1, padding_side=side),
        "attention_mask": nn.utils.rnn.pad_sequence(
            [torch.ones_like(row) for row in ordered], batch_first=True, padding_side=side
        ),
    }
    if family == "fnet":  # the class takes no mask
        del inputs["attention_mask"]
    if kind == "multiple_choice":
        inputs = {name: values[None] for name, values in inputs.items()}
    with torch.no_grad():
        outputs = model.eval()(**inputs)
    if kind == "question_answering":
        logits = torch.stack([outputs.start_logits, outputs.end_logits], 2)
    else:
        logits = outputs.logits
    if kind == "multiple_choice":
        return logits.view(-1, 1)
    if kind == "single_label_classification":
        return logits
    longest = logits.shape[1]
    return torch.cat(
        [
            row[longest - len(tokens) :] if side == "left" else row[: len(tokens)]
            for row, tokens in zip(logits, ordered, strict=True)
        ]
    )


def check_equal_logits(family: str, kind: str, folder: Path) -> None:
    model, summary = model_of(family), summary_of(family)
    _, ordered, hidden = flat(family)
    head = head_of(kind, summary, hidden.shape[1])
    has_class = family in getattr(modeling_auto, f"MODEL_FOR_{KINDS[kind]}_MAPPING_NAMES")
    if (reason := REFUSED.get((family, kind)) if has_class else "no AutoModel") is not None:
        with pytest.raises(CheckpointError, match=f"^The head cannot be exported: .*{reason}"):
            export_checkpoint(model, summary, NoTokenizer(), head, folder)
        return
    export_checkpoint(model, summary, NoTokenizer(), head, folder)
    expected = expected_logits(family, summary, head)
    assert expected.std() > 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logits = library_logits(family, kind, folder, ordered)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)


HEADS = [
    pytest.param(name, kind, marks=pytest.mark.slow if name in LIKE_OTHERS and kind != next(iter(LABELS)) else ())
    for name in FAMILIES
    for kind in LABELS
]


@pytest.mark.parametrize(("family", "kind"), HEADS)
def test_exported_heads_have_equal_logits(family: str, kind: str, tmp_path: Path) -> None:
    check_equal_logits(family, kind, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("family", MORE)
def test_exported_heads_of_further_families(family: str, kind: str, tmp_path: Path) -> None:
    check_equal_logits(family, kind, tmp_path)


def save(family: str, kind: str, folder: Path, *, name: str = "", reads: bool | None = None) -> None:
    """Export a head; `name` and `reads` replace its kind, and whether it reads summaries."""
    summary = summary_of(family)
    head = head_of(kind, summary, 16)
    kind_of_head = ExportKind(name or kind, head.kind.labels)
    reads = head.reads_summary if reads is None else reads
    export_checkpoint(model_of(family), summary, NoTokenizer(), ExportedHead(head.tensors, kind_of_head, reads), folder)


@pytest.mark.parametrize(
    ("name", "reads", "reason"),
    [
        ("ranking", True, "no class for heads of the kind 'ranking'; there are classes for single_label_class"),
        ("multiple_choice", False, "RobertaForMultipleChoice reads the summary of a sequence, this head does not"),
        ("token_classification", True, "RobertaForTokenClassification reads the states of the tokens, this head does"),
    ],
)
def test_a_head_that_no_class_computes_is_refused(name: str, reads: bool, reason: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=reason):
        save("roberta", "multiple_choice", tmp_path / "out", name=name, reads=reads)
    assert not (tmp_path / "out").exists()


def test_exported_configurations_say_what_logits_mean(tmp_path: Path) -> None:
    save("gpt2", "single_label_classification", tmp_path, name="multi_label_classification")
    settings = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert settings["architectures"] == ["GPT2ForSequenceClassification"]
    assert settings["problem_type"] == "multi_label_classification"
    assert settings["id2label"] == {str(number): f"label {number}" for number in range(4)}
    assert settings["label2id"] == {f"label {number}": number for number in range(4)}


def test_gpt2_finds_the_last_token_by_its_end_token(tmp_path: Path) -> None:
    """GPT-2 has no padding token, and its class for sentences refuses batches without one."""
    model = copy.copy(model_of("gpt2"))
    model.config = copy.deepcopy(model.config)
    model.config.pad_token_id = None
    summary = summary_of("gpt2")
    head = head_of("single_label_classification", summary, 16)
    export_checkpoint(model, summary, NoTokenizer(), head, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["pad_token_id"] == 2
    assert model.config.pad_token_id is None, "the fit's own model stays as it is"


def test_summaries_drop_below_the_dense_layer_where_published() -> None:
    for family, drops in (("roberta", True), ("distilbert", False), ("modernbert", False)):
        batch, _, hidden = flat(family)
        batch, summary = replace(batch, dropout=Dropout(1, 2)), summary_of(family)
        with torch.no_grad():
            plain, first, second = (summary(hidden, batch, rate) for rate in (0.0, 0.5, 0.5))
        assert torch.equal(first, second) and torch.equal(plain, first) is not drops
