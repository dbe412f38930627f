"""The training loop: losses do not depend on how a batch is computed, and a loss that is not finite ends it."""

import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import nn

from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.randomness import Dropout
from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.problems.problem import Problem
from benchrunner.problems.sentences import Classify, OneLabel
from benchrunner.training import gradients
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.loop import Training
from benchrunner.training.optimizer import Optimizer
from benchrunner_kinds import Tag
from benchrunner_kit.testing import TinyEncoder
from benchrunner_kit.testing.tiny_encoder import VOCABULARY
from tiny_fits import CPU, RECIPE, Model, difference, features, fitted


def test_the_loss_falls(tmp_path: Path) -> None:
    losses = fitted(tmp_path, RECIPE.changed(epochs=12, lr=2e-2)).losses
    assert len(losses) == 12 * 8
    assert np.mean(losses[:8]) > 0.65 and np.mean(losses[-8:]) < 0.3


def test_the_log_has_one_line_in_ten_steps_and_the_last(tmp_path: Path) -> None:
    fit = fitted(tmp_path, log_steps=10)
    assert [line["step"] for line in fit.lines] == [10, 20, 24]
    assert fit.lines[0]["lr"] == fit.training.schedule.lr(9)


def test_every_tenth_step_and_the_last_report_their_figures(tmp_path: Path) -> None:
    seen: dict[int, Mapping[str, float]] = {}
    fit = fitted(tmp_path, report=lambda step, steps, figures: seen.update({step: figures}), log_steps=10)
    assert [step for step, figures in seen.items() if figures] == [10, 20, 24]
    for line in fit.lines:
        figures = seen[line["step"]]
        assert figures.keys() == {"loss", "lr", "examples_per_second"}
        assert (figures["loss"], figures["lr"]) == (line["loss"], line["lr"])
        assert figures["examples_per_second"] > 0


def test_the_speed_counts_the_examples_of_each_lap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 24 batches of eight rows, each eighth has the four rows that are left of 60."""
    clock, speeds = itertools.count(step=2), list[float]()
    monkeypatch.setattr("benchrunner.training.loop.time.perf_counter", lambda: float(next(clock)))
    report = lambda step, steps, figures: speeds.append(figures.get("examples_per_second", 0))  # noqa: E731
    fitted(tmp_path, report=report, log_steps=10)
    assert [speed for speed in speeds if speed] == [76 / 2, 76 / 2, 28 / 2]


@pytest.mark.parametrize("micro_tokens", [1, 20, 50])
def test_a_batch_computed_in_parts_is_the_same_batch(tmp_path: Path, micro_tokens: int) -> None:
    whole = fitted(tmp_path / "whole")
    parts = fitted(tmp_path / "parts", RECIPE.changed(micro_tokens=micro_tokens))
    assert parts.losses == pytest.approx(whole.losses, abs=2e-6)
    assert difference(whole, parts) < 1e-5


@dataclass(frozen=True)
class Contrast(OneLabel):
    """Each unit among the units of its batch, by products of their outputs."""

    labels: tuple[str, ...] = ("glad", "sad")
    name: str = "contrast"
    of_whole_batches = True

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        equal = batch.targets["label"][:, None] == batch.targets["label"]
        return -((outputs @ outputs.T).log_softmax(dim=1) * equal).sum()


@pytest.mark.parametrize("micro_tokens", [1, 50])
def test_a_loss_over_a_batch_is_exact_in_parts(tmp_path: Path, micro_tokens: int) -> None:
    whole = fitted(tmp_path / "whole", problem=Contrast())
    parts = fitted(tmp_path / "parts", RECIPE.changed(micro_tokens=micro_tokens), problem=Contrast())
    assert parts.losses == pytest.approx(whole.losses, rel=1e-5)
    assert difference(whole, parts) < 1e-4


def test_parts_are_computed_again_with_their_dropout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = RECIPE.changed(micro_tokens=50)
    again = fitted(tmp_path / "again", recipe, problem=Contrast(), dropout=0.3)
    monkeypatch.setattr(gradients, "checkpoint", lambda model, batch, use_reentrant: model(batch))
    kept = fitted(tmp_path / "kept", recipe, problem=Contrast(), dropout=0.3)
    assert difference(again, kept) == 0


def test_a_step_has_the_gradients_of_its_own_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a learning rate of 0, one batch has the same gradients in every epoch."""
    gradients: list[torch.Tensor] = []
    step = Optimizer.step

    def noted(optimizer: Optimizer, number: int, lr: float) -> None:
        gradient = optimizer.named["head.output.weight"].grad
        assert gradient is not None
        gradients.append(gradient.clone())
        step(optimizer, number, lr)

    monkeypatch.setattr(Optimizer, "step", noted)
    fitted(tmp_path, RECIPE.changed(lr=0, batch_size=60))
    assert len(gradients) == 3 and gradients[0].abs().max() > 1e-3
    for later in gradients[1:]:
        torch.testing.assert_close(later, gradients[0], atol=1e-6, rtol=1e-4)


def tree_tags(words: list[str]) -> list[str]:
    return ["B-TREE" if word in ("oak", "elm") else "O" for word in words]


SENTENCES = [["oak"], ["by", "the", "lake", "stood", "an", "elm"], ["no", "tree"]]
TAGS = Tag(("O", "B-TREE"))
WEIGHED = {"class_weights": "balanced", "label_smoothing": 0.1}


def tagged() -> pa.Table:
    return pa.table({"words": SENTENCES, "labels": list(map(tree_tags, SENTENCES))})


def sure_head(problem: Problem) -> LinearHead:
    """Make a head whose scores are far apart, so that different losses differ clearly."""
    head = LinearHead(12, problem.head, seed=1)
    with torch.no_grad():
        head.output.weight.mul_(30)
    return head


def first_loss(folder: Path, problem: Problem, table: pa.Table, **values: Any) -> float:
    """Take the loss of the first step, of all rows in one batch, from the log of a training."""
    encoder, head = TinyEncoder(dropout=0.0), sure_head(problem)
    recipe = Recipe(batch_size=9, epochs=1, context="sentence", **values)
    training = Training(
        model=lambda batch: head(encoder, batch),
        modules={"encoder": encoder, "head": head},
        features=problem.encode(table, encoder, recipe, training=True),
        problem=problem,
        recipe=recipe,
        seed=1,
        computing=Computing("cpu"),
        checkpoint=Checkpoint(folder / str(values)),
        log=folder / f"{values}.jsonl",
    )
    training.run()
    return float(json.loads(training.log.read_text().splitlines()[0])["loss"])


def scores_and_labels(problem: Problem, table: pa.Table) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the scores of all labelled rows, or words, as the first step of `first_loss` does."""
    encoder, head = TinyEncoder(dropout=0.0), sure_head(problem)
    features = problem.encode(table, encoder, Recipe(context="sentence"), training=True)
    batch = collate(features, np.arange(features.units), CPU)
    targets = batch.targets["label"]
    return head(encoder, batch)[targets >= 0], targets[targets >= 0]


def test_a_word_loss_is_the_mean_over_words_for_any_batch_split(tmp_path: Path) -> None:
    """Sentences have different numbers of words: the mean over sentences would differ from the mean over words."""
    by_hand = nn.functional.cross_entropy(*scores_and_labels(TAGS, tagged())).item()
    for micro_tokens in (1, 1000):
        loss = first_loss(tmp_path, TAGS, tagged(), micro_tokens=micro_tokens)
        assert loss == pytest.approx(by_hand, abs=1e-6)


MOODS = pa.table({"a": ["gay", "sad", "bad", "mad", "grim"], "label": ["+", "-", "-", "-", "-"]})


@pytest.mark.parametrize(
    ("problem", "table"),
    [(TAGS, tagged()), (Classify(("+", "-")), MOODS), (Classify(("?", "+", "-")), MOODS)],
    ids=["tag", "classify", "a label without rows"],
)
@pytest.mark.parametrize("values", [WEIGHED, {"class_weights": "balanced"}, {"label_smoothing": 0.1}], ids=str)
def test_weighted_and_smoothed_losses_are_those_of_torch(
    problem: Problem, table: pa.Table, values: dict[str, Any], tmp_path: Path
) -> None:
    scores, labels = scores_and_labels(problem, table)
    weights = torch.ones(problem.head.width)
    if "class_weights" in values:
        weights.fill_(0)
        weights[labels.unique()] = torch.from_numpy(
            compute_class_weight("balanced", classes=labels.unique().numpy(), y=labels.numpy())
        ).float()
    theirs = nn.CrossEntropyLoss(weights, label_smoothing=values.get("label_smoothing", 0.0))
    for micro_tokens in (1, 1000):
        loss = first_loss(tmp_path, problem, table, micro_tokens=micro_tokens, **values)
        assert loss == pytest.approx(theirs(scores, labels).item(), abs=1e-6)
    assert loss != pytest.approx(nn.functional.cross_entropy(scores, labels).item(), abs=1e-3)


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("batch_unit", RECIPE_FIELDS["batch_unit"].choices)
def test_mean_words_weighs_all_words_equally(
    batch_unit: str, epochs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learning rate is 0, so the losses of all batches together are the mean loss of all words, by hand."""
    monkeypatch.setattr("benchrunner.training.loop.LOG_STEPS", 1)
    tags = TAGS
    sentences = ["oak", "by the lake stood an elm", "no tree", "oak", "an elm", "oak oak"]
    words = [sentence.split() for sentence in sentences]
    labels = list(map(tree_tags, words))
    table = pa.table({"words": words, "labels": labels, "document": [0, 0, 0, 1, 1, 2]})
    recipe = Recipe(lr=0, epochs=epochs, batch_size={"words": 4}.get(batch_unit, 2), max_length=32)
    recipe = recipe.changed(batch_unit=batch_unit, loss_divisor="mean-words")
    encoder, head = TinyEncoder(dropout=0.0), LinearHead(12, tags.head, seed=1)
    features = tags.encode(table, encoder, recipe, training=True)
    training = Training(
        model=lambda batch: head(encoder, batch),
        modules={"head": head},
        features=features,
        problem=tags,
        recipe=recipe,
        seed=3,
        computing=Computing("cpu"),
        checkpoint=Checkpoint(tmp_path / "checkpoint"),
        log=tmp_path / "log.jsonl",
    )
    training.run()
    losses = [json.loads(line)["loss"] for line in training.log.read_text().splitlines()]
    batch = collate(features, np.arange(features.units), CPU)
    targets = batch.targets["label"]
    mean = nn.functional.cross_entropy(head(encoder, batch)[targets >= 0], targets[targets >= 0]).item()
    assert len(losses) == training.schedule.steps > 1
    assert np.mean(losses) == pytest.approx(mean, abs=1e-6)


def test_dropout_changes_the_losses_and_two_runs_do_not(tmp_path: Path) -> None:
    without = fitted(tmp_path / "without")
    first, second = (fitted(tmp_path / name, dropout=0.1) for name in ("first", "second"))
    assert first.losses == second.losses != without.losses
    assert difference(first, second) == 0.0


def test_dropout_is_drawn_for_each_step_and_each_part_of_it() -> None:
    """A resumed fit therefore draws the masks of an unbroken fit."""
    places = [(4, 0, 0), (4, 0, 1), (4, 1, 0)]
    masks = [Dropout(*place)(torch.ones(512), 0.5, "head") for place in places]
    assert not any(torch.equal(left, right) for left, right in itertools.combinations(masks, 2))


def test_half_precision_runs_and_stays_near(tmp_path: Path) -> None:
    single = fitted(tmp_path / "single", dropout=0.1)
    half = fitted(tmp_path / "half", RECIPE.changed(precision="bf16"), dropout=0.1)
    assert half.losses != single.losses
    assert half.losses == pytest.approx(single.losses, abs=0.02)
    assert all(weight.dtype == torch.float32 for weight in half.weights().values())


def test_a_memory_mapped_features_folder_trains_like_the_arrays(tmp_path: Path) -> None:
    data = features(60)
    (tmp_path / "features").mkdir()
    data.save(tmp_path / "features")
    mapped = fitted(tmp_path / "mapped", data=Features.open(tmp_path / "features"))
    assert difference(mapped, fitted(tmp_path / "arrays", data=data)) == 0.0
    assert replace(data).units == 60


# The words in use


def test_training_the_words_in_use_is_training_the_whole_table(tmp_path: Path) -> None:
    data = features(60)
    assert len(np.unique(data.tokens)) < 60 < VOCABULARY
    recipe = RECIPE.changed(weight_decay=0.1)
    small, whole = fitted(tmp_path / "small", recipe), fitted(tmp_path / "whole", recipe, narrow=False)
    assert small.losses == pytest.approx(whole.losses, abs=1e-6)
    assert difference(small, whole) < 1e-6
    unused = np.setdiff1d(np.arange(VOCABULARY), data.tokens)
    shrunk = TinyEncoder().word.weight.detach()[unused] * small.training.schedule.decay_without_gradient()
    torch.testing.assert_close(small.encoder.word.weight.detach()[unused], shrunk)
    assert small.training.schedule.decay_without_gradient() < 0.999


# Divergence


def not_finite_at(call: int, value: float) -> Callable[[Model], Model]:
    def wrap(model: Model) -> Model:
        calls = 0

        def counted(batch: FlatBatch) -> torch.Tensor:
            nonlocal calls
            calls += 1
            return model(batch) * (value if calls == call else 1.0)

        return counted

    return wrap


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_a_number_ends_the_fit_with_its_step(tmp_path: Path, value: float) -> None:
    steps: list[int] = []
    fit = fitted(tmp_path, wrap=not_finite_at(6, value), report=lambda step, *_: steps.append(step))
    assert fit.training.diverged == 6
    assert steps == [1, 2, 3, 4, 5]
    assert [line["step"] for line in fit.lines] == [1, 2, 3, 4, 5, 6]
    assert fit.lines[-1]["loss"] in ("nan", "inf")


def test_a_loss_on_the_cpu_is_read_at_every_step(tmp_path: Path) -> None:
    steps: list[int] = []
    fitted(tmp_path, wrap=not_finite_at(6, math.nan), report=lambda step, *_: steps.append(step), log_steps=10)
    assert steps == [1, 2, 3, 4, 5], "the fit ends at once, and not at the next line of the log"


def test_a_weight_that_no_example_reads_is_finite_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, unused = Optimizer.step, np.setdiff1d(np.arange(VOCABULARY), features(60).tokens)[0]

    def poisoned(optimizer: Optimizer, number: int, lr: float) -> None:
        step(optimizer, number, lr)
        with torch.no_grad():
            optimizer.named["encoder.word.weight"][unused] = math.nan

    monkeypatch.setattr(Optimizer, "step", poisoned)
    training = fitted(tmp_path, narrow=False).training
    assert training.diverged == 24 and "after the last of 24 steps, the weights" in training.divergence_reason


def test_a_fit_that_ends_well_did_not_diverge(tmp_path: Path) -> None:
    assert fitted(tmp_path).training.diverged is None


def test_the_work_of_a_training_is_counted(tmp_path: Path) -> None:
    data = features(60)
    assert fitted(tmp_path, data=data).training.work == {"train_tokens": len(data.tokens) * RECIPE.epochs}


def test_each_micro_batch_draws_masks_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draw(*place: int) -> Dropout:
        drawn.append(place)
        return Dropout(*place)

    monkeypatch.setattr("benchrunner.training.loop.Dropout", draw)
    fit = fitted(tmp_path, RECIPE.changed(micro_tokens=1), dropout=0.1)
    assert len(drawn) == len(set(drawn)) > len(fit.losses)
    assert {step for _, step, _ in drawn} == set(range(len(fit.losses)))
