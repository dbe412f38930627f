"""States, logits, losses and gradients are those of transformers, with heads of every kind."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from bert_samples import ANSWER, FIRST, SECOND, encoded, exported, fresh, minilm, padded
from torch import nn
from transformers import (
    AutoTokenizer,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from benchrunner import CheckpointError, Recipe, Rows
from benchrunner.engine import Dropout, ExportedHead, ExportKind, Features, FlatBatch, Problem, collate
from benchrunner.methods.heads import LinearHead
from benchrunner_bert.checkpoint import read
from benchrunner_bert.model import Bert
from benchrunner_bert.weight_names import published_names
from benchrunner_kinds import Choose, MultiLabel, Span, Tag

CPU = torch.device("cpu")
NEAR = 1e-5
SPAN, CHOOSE, TAG = Span(unanswerable=True), Choose(3), Tag(("O", "B-PER", "I-PER", "B-LOC"))
TOPICS = MultiLabel(("house", "people", "sea", "animals"))
RECIPE = Recipe(max_length=40, stride=10, context="sentence")


def learning(ours: Bert, problem: Problem, features: Features) -> tuple[LinearHead, FlatBatch, torch.Tensor]:
    """Outputs, with the gradients of the mean loss left in all weights."""
    ours.set_dropout(0.0)
    head = LinearHead(ours.hidden_size, problem.head, seed=1)
    nn.init.normal_(head.output.bias, generator=torch.Generator().manual_seed(1))
    units = np.arange(features.units)
    batch = collate(features, units, CPU)
    outputs = head(ours, batch)
    loss = problem.loss(outputs, batch) / features.loss_weight(units)
    loss.backward()
    head.loss = loss.detach()  # type: ignore[assignment]
    return head, batch, outputs.detach()


def saved(ours: Bert, head: LinearHead, problem: Problem, folder: Path) -> Path:
    ours.save(folder, exported(head, problem))
    return folder


def assert_equal_gradients(ours: Bert, head: LinearHead, other: nn.Module, last: str) -> None:
    """Relative to the largest of a tensor where that is above one."""
    wanted = {name.removeprefix("bert."): one.grad for name, one in other.named_parameters()}
    mine = dict(ours.named_parameters())
    compared = 0
    for name, theirs in published_names(ours):
        if any(one not in wanted for one in theirs):
            assert name.startswith("pooler."), name
            continue
        grads = [wanted[one] for one in theirs]
        if all(one is None for one in grads):
            assert mine[name].grad is None
            continue
        gradient = torch.cat([one for one in grads if one is not None])
        scale = max(1.0, gradient.abs().max().item())
        assert mine[name].grad is not None, name
        torch.testing.assert_close(mine[name].grad / scale, gradient / scale, rtol=0, atol=NEAR, msg=name)
        compared += 1
    for kind in ("weight", "bias"):
        ours_grad, theirs_grad = getattr(head.output, kind).grad, wanted[f"{last}.{kind}"]
        torch.testing.assert_close(ours_grad, theirs_grad, rtol=0, atol=NEAR)
    assert compared > 20


def test_spans_equal_question_answering(tmp_path: Path) -> None:
    """One sequence at a time: over there padding takes part in the softmax."""
    ours = fresh()
    answers = [["lane"], ["Nobody"], [], ["ship", "ship turned"], ["house"]]
    contexts = [FIRST[0], SECOND[0], FIRST[2], FIRST[4], SECOND[6]]
    data = pa.table(
        {
            "id": list("abcde"),
            "question": SECOND[:5],
            "context": contexts,
            "answers": answers,
            "starts": [list(map(text.find, some)) for text, some in zip(contexts, answers, strict=True)],
        }
    )
    features = SPAN.encode(data, ours, RECIPE, training=True)
    assert features.units > 5, "some contexts take several windows"
    head, batch, outputs = learning(ours, SPAN, features)
    other = BertForQuestionAnswering.from_pretrained(saved(ours, head, SPAN, tmp_path)).eval()
    total = torch.zeros(())
    for unit in range(features.units):
        targets = {f"{one}_positions": torch.tensor([int(features.targets[one][unit])]) for one in ("start", "end")}
        found = other(**padded(features, np.array([unit])), **targets)
        (found.loss / features.units).backward()
        total += found.loss.detach() / features.units
        at = int(batch.restore[unit])
        mine = outputs[int(batch.starts[at]) : int(batch.starts[at + 1])]
        for column, logits in enumerate((found.start_logits, found.end_logits)):
            torch.testing.assert_close(mine[:, column], logits[0].detach(), rtol=0, atol=NEAR)
    torch.testing.assert_close(head.loss, total, rtol=0, atol=NEAR)
    assert_equal_gradients(ours, head, other, "qa_outputs")


def test_choices_equal_multiple_choice(tmp_path: Path) -> None:
    ours = fresh()
    rows = [SECOND[:3], SECOND[3:6], [SECOND[6], FIRST[1], FIRST[5]]]
    data = pa.table({"a": FIRST[:3], "choices": rows, "label": [2, 0, 1]})
    features = CHOOSE.encode(data, ours, RECIPE, training=True)
    head, _, outputs = learning(ours, CHOOSE, features)
    other = BertForMultipleChoice.from_pretrained(saved(ours, head, CHOOSE, tmp_path)).eval()
    whole = padded(features, np.arange(9))  # nine sequences, three a unit
    found = other(**{key: one.view(3, 3, -1) for key, one in whole.items()}, labels=torch.tensor([2, 0, 1]))
    found.loss.backward()
    torch.testing.assert_close(outputs.view(3, 3), found.logits.detach(), rtol=0, atol=NEAR)
    torch.testing.assert_close(head.loss, found.loss.detach(), rtol=0, atol=NEAR)
    assert_equal_gradients(ours, head, other, "classifier")


def test_label_sets_equal_multi_label_classification(tmp_path: Path) -> None:
    ours = fresh()
    labels = ["house, people", "", "people", "", "sea, people", "animals", "house"]
    data = TOPICS.check(Rows(pa.table({"a": FIRST, "b": SECOND, "labels": labels}), "f.tsv"), labelled=True)
    features = TOPICS.encode(data, ours, RECIPE, training=True)
    head, _, outputs = learning(ours, TOPICS, features)
    other = BertForSequenceClassification.from_pretrained(saved(ours, head, TOPICS, tmp_path)).eval()
    assert other.config.problem_type == "multi_label_classification"
    assert other.config.id2label == dict(enumerate(TOPICS.labels))
    pairs = itertools.product(labels, TOPICS.labels)
    targets = torch.tensor([float(label in row) for row, label in pairs]).view(len(labels), -1)
    assert int(targets.sum()) == 7
    expected = other(**padded(features, np.arange(len(labels))), labels=targets)
    expected.loss.backward()
    torch.testing.assert_close(outputs, expected.logits.detach(), rtol=0, atol=NEAR)
    torch.testing.assert_close(head.loss, expected.loss.detach(), rtol=0, atol=NEAR)
    assert_equal_gradients(ours, head, other, "classifier")


def test_tags_equal_token_classification(tmp_path: Path) -> None:
    ours = fresh()
    words = [["Mr", "Schwarzenegger", "visited", "Reykjavik", "."], ["Hallelujah", "!"], ["No", "names", "here"]]
    labels = [["B-PER", "I-PER", "O", "B-LOC", "O"], ["O", "O"], ["O", "O", "O"]]
    data = pa.table({"words": words, "labels": labels, "document": [0, 0, 0]})
    features = TAG.encode(data, ours, RECIPE, training=True)
    head, batch, outputs = learning(ours, TAG, features)
    other = BertForTokenClassification.from_pretrained(saved(ours, head, TAG, tmp_path)).eval()
    assert other.config.id2label == dict(enumerate(TAG.labels))
    whole = padded(features, np.arange(features.units))
    targets = torch.full_like(whole["input_ids"], -100)
    for unit in range(features.units):
        part = features.token_targets["label"][features.starts[unit] : features.starts[unit + 1]]
        targets[unit, : len(part)] = torch.from_numpy(np.array(part))
    assert int((targets >= 0).sum()) == sum(map(len, words)) < int(whole["attention_mask"].sum())
    found = other(**whole, labels=targets)
    found.loss.backward()
    for unit in range(features.units):
        at = int(batch.restore[unit])
        mine = outputs[int(batch.starts[at]) : int(batch.starts[at + 1])]
        torch.testing.assert_close(mine, found.logits[unit, : len(mine)].detach(), rtol=0, atol=NEAR)
    torch.testing.assert_close(head.loss, found.loss.detach(), rtol=0, atol=NEAR)
    assert_equal_gradients(ours, head, other, "classifier")


@pytest.mark.parametrize(
    ("name", "reads_summary", "reason"),
    [
        ("ranking", True, "has a head of the kind 'ranking'; there are single_label_classification, multi_label"),
        ("multiple_choice", False, "BertForMultipleChoice reads the pooled first token, this head does not"),
        ("token_classification", True, "BertForTokenClassification reads the states of the tokens, this head does not"),
    ],
)
def test_a_head_that_nobody_computes_is_refused(name: str, reads_summary: bool, reason: str, tmp_path: Path) -> None:
    model = fresh()
    weights = {"weight": torch.zeros(2, model.hidden_size), "bias": torch.zeros(2)}
    with pytest.raises(CheckpointError, match=reason):
        model.save(tmp_path / "out", ExportedHead(weights, ExportKind(name), reads_summary))
    assert not (tmp_path / "out").exists()


def theirs(folder: Path) -> BertModel:
    return BertModel.from_pretrained(folder, attn_implementation="eager").eval()


def largest_difference(ours: Bert, other: BertModel, features: Features, *, dropped: bool = False) -> float:
    """Over the states after every layer and the pooled output."""
    units = np.arange(features.units)
    # A rate of almost nothing sends attention through the implementation that training uses.
    dropout = Dropout(0, 0) if dropped else None
    batch = collate(features, units, CPU, dropout=dropout)
    ours.set_dropout(0.0)
    ours.attention_dropout = 1e-9 if dropped else 0.0
    wanted = other(**padded(features, units), output_hidden_states=True)
    with torch.no_grad():
        states = list(ours.hidden_states(batch))
        pooled = ours.summary(states[-1], batch)[batch.restore]
    assert len(states) == len(wanted.hidden_states) == ours.config.layers + 1
    worst = (pooled - wanted.pooler_output).abs().max().item()
    borders = list(itertools.pairwise(batch.starts.tolist()))
    for unit, place in enumerate(batch.restore.tolist()):
        start, stop = borders[place]
        for mine, other_states in zip(states, wanted.hidden_states, strict=True):
            wanted_states = other_states[unit, : stop - start]
            difference = (mine[start:stop] - wanted_states).abs() / wanted_states.abs().clamp(min=1.0)
            worst = max(worst, difference.max().item())
    return worst


@torch.no_grad()
def test_released_model_layers_and_pooler_equal_transformers() -> None:
    ours, other = read(minilm(), seed=0), theirs(minilm())
    for second, dropped in itertools.product((None, SECOND), (False, True)):
        features = encoded(ours, FIRST, second, max_length=128)
        assert len(set(features.lengths.tolist())) > 3
        assert largest_difference(ours, other, features, dropped=dropped) < NEAR, (second, dropped)


SHAPES = [
    {"hidden": 96, "heads": 3, "layers": 2},
    {"hidden": 30, "heads": 5, "layers": 1},
    {"hidden": 32, "heads": 1, "layers": 3},
    {"hidden": 24, "heads": 24, "layers": 1},
    {"activation": "relu", "inner": 40},
    {"activation": "gelu_new", "epsilon": 1e-5},
    {"activation": "gelu_pytorch_tanh"},
    {"segments": 3, "positions": 80, "vocabulary": 8017},
]


@pytest.mark.parametrize("changes", SHAPES, ids=str)
def test_a_model_saved_here_is_the_same_in_transformers(tmp_path: Path, changes: dict[str, int]) -> None:
    ours = fresh(**changes)
    ours.save(tmp_path)
    other = theirs(tmp_path)
    features = encoded(ours, FIRST, SECOND)
    with torch.no_grad():
        assert largest_difference(ours, other, features) < NEAR
    again = read(tmp_path, seed=0)
    assert again.config == ours.config and again.notes == ()
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in ours.state_dict().items())


def test_a_model_saved_by_transformers_is_the_same_here(tmp_path: Path) -> None:
    fresh().save(tmp_path / "ours")
    other = theirs(tmp_path / "ours")
    other.save_pretrained(tmp_path / "theirs")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    again = read(tmp_path / "theirs", seed=0)
    features = encoded(again, FIRST, SECOND)
    with torch.no_grad():
        assert largest_difference(again, other, features) < NEAR


def test_an_exported_classifier_has_equal_logits_in_transformers(tmp_path: Path) -> None:
    ours = fresh()
    head = LinearHead(ours.hidden_size, ANSWER.head, seed=3)
    torch.nn.init.normal_(head.output.bias, generator=torch.Generator().manual_seed(1))
    ours.save(tmp_path, exported(head, ANSWER))
    other = BertForSequenceClassification.from_pretrained(tmp_path).eval()
    assert other.config.id2label == {0: "entailment", 1: "not_entailment"}
    assert other.config.label2id == {"entailment": 0, "not_entailment": 1}
    assert other.config.problem_type == "single_label_classification"
    features = encoded(ours, FIRST, SECOND)
    units = np.arange(features.units)
    with torch.no_grad():
        mine = head(ours, collate(features, units, CPU))
        torch.testing.assert_close(mine, other(**padded(features, units)).logits, rtol=0, atol=NEAR)
    again = read(tmp_path, seed=0)
    assert again.notes == (
        "left out of model.safetensors: a head of another task (classifier.bias, classifier.weight)",
    )
