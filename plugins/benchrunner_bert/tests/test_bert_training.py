"""Fifty steps of training equal fifty steps of transformers with torch's AdamW: losses and every final weight."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import ANSWER, FIRST, SECOND, encoded, exported, fresh, padded
from transformers import BertForSequenceClassification, get_linear_schedule_with_warmup

import benchrunner.training.loop
from benchrunner import Recipe
from benchrunner.engine import Features
from benchrunner.methods.finetune import learning_rates
from benchrunner.methods.heads import LinearHead
from benchrunner.results import Computing
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.embedding_rows import WordsInUse
from benchrunner.training.loop import Training
from benchrunner.training.schedule import Schedule
from benchrunner_bert.checkpoint import read
from benchrunner_bert.model import Bert

SEED = 3


def ours(model: Bert, features: Features, recipe: Recipe, folder: Path) -> list[float]:
    """Train and save as a classifier; the losses of all steps."""
    assert recipe.dropout is not None
    model.set_dropout(recipe.dropout)
    head = LinearHead(model.hidden_size, ANSWER.head, seed=SEED)
    words = WordsInUse(model.embeddings.word, features)
    rates = {f"encoder.{name}": rate for name, rate in learning_rates(model, recipe.layer_decay)}
    training = Training(
        model=lambda batch: head(model, batch),
        modules={"encoder": model, "head": head},
        features=features,
        problem=ANSWER,
        recipe=recipe,
        seed=SEED,
        computing=Computing("cpu"),
        checkpoint=Checkpoint(folder / "checkpoint"),
        log=folder / "log.jsonl",
        rates=rates,
    )
    training.run()
    words.restore(training.decay_without_gradient(words.weight))
    model.save(folder / "model", exported(head, ANSWER))
    return [json.loads(line)["loss"] for line in training.log.read_text().splitlines()]


def steps_from_head(name: str, layers: int) -> int:
    """Count the factors in the learning rate of a weight of transformers, as ELECTRA's released code does."""
    if name.startswith("bert.embeddings."):
        return layers + 2
    if name.startswith("bert.encoder.layer."):
        return layers + 1 - int(name.split(".")[3])
    return int(name.startswith("bert.pooler."))


def theirs(start: Path, features: Features, recipe: Recipe) -> tuple[list[float], BertForSequenceClassification]:
    """The same batches in the same order, padded, with everything else from transformers and torch."""
    model = BertForSequenceClassification.from_pretrained(
        start, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager"
    ).train()
    model.classifier.load_state_dict(LinearHead(model.config.hidden_size, ANSWER.head, seed=SEED).output.state_dict())
    groups = [
        {
            "params": [weight],
            "weight_decay": 0.0 if "bias" in name or "LayerNorm" in name else recipe.weight_decay,
            "lr": recipe.lr * recipe.layer_decay ** steps_from_head(name, model.config.num_hidden_layers),
        }
        for name, weight in model.named_parameters()
    ]
    optimizer = torch.optim.AdamW(groups, betas=(recipe.beta1, recipe.beta2), eps=recipe.epsilon)
    schedule, losses = Schedule(features.batch_counts("sentences"), recipe, SEED), []
    rates = get_linear_schedule_with_warmup(optimizer, schedule.warmup, schedule.steps)
    labels = torch.from_numpy(features.targets["label"])
    for step in range(schedule.steps):
        units = schedule.batch(step)
        found = model(**padded(features, units), labels=labels[units])
        optimizer.zero_grad()
        found.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        rates.step()
        losses.append(found.loss.item())
    return losses, model


@pytest.fixture(autouse=True)
def _every_step_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchrunner.training.loop, "LOG_STEPS", 1)


@pytest.mark.parametrize(("micro_tokens", "layer_decay"), [pytest.param(8192, 1.0, marks=pytest.mark.slow), (100, 0.7)])
def test_fifty_steps_of_a_small_bert_equal_transformers(tmp_path: Path, micro_tokens: int, layer_decay: float) -> None:
    fresh().save(tmp_path / "start")
    first, second = (np.repeat(texts, 6).tolist() for texts in (FIRST, SECOND))
    first = [f"{text} {'and so on ' * (at % 5)}" for at, text in enumerate(first)]
    labels = [at // 3 % 2 for at in range(len(first))]
    recipe = Recipe(
        lr=1e-3,
        epochs=10,
        batch_size=9,
        dropout=0.0,
        weight_decay=0.1,
        micro_tokens=micro_tokens,
        max_length=64,
        schedule="after-warmup",
        layer_decay=layer_decay,
    )
    features = encoded(read(tmp_path / "start", seed=0), first, second, labels=labels)
    mine = ours(read(tmp_path / "start", seed=SEED), features, recipe, tmp_path / "fit")
    other, model = theirs(tmp_path / "start", features, recipe)
    assert len(mine) == len(other) == 50 and mine[-1] < mine[0], "something was learnt"
    assert np.abs(np.subtract(mine, other)).max() < 1e-4
    # Measured: losses 2e-7, weights 7e-7.
    again = BertForSequenceClassification.from_pretrained(tmp_path / "fit" / "model").state_dict()
    torch.testing.assert_close(again, dict(model.state_dict()), rtol=0, atol=1e-5)
    trained = read(tmp_path / "fit" / "model", seed=0).state_dict()
    moved = [(one - trained[name]).abs().max().item() for name, one in fresh().state_dict().items()]
    assert min(moved) > 1e-5 and max(moved) > 5e-3, "they have gone further than they differ"
