"""The linear models of the method `probe` and the choice of their penalties, beside scikit-learn's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchrunner import Recipe
from benchrunner.engine import Job
from benchrunner.results import Computing, Fit
from benchrunner_methods.probing.linear import ABSENT, Layer, Scaling
from benchrunner_methods.probing.samples import KINDS, Samples
from benchrunner_methods.probing.strength import PENALTIES, fitted


def vectors(count: int = 60, width: int = 5) -> np.ndarray:
    """Draw vectors whose inputs have means and deviations of very different sizes; the last input is constant."""
    drawn = np.random.default_rng(0).normal(size=(count, width)) * np.logspace(-2, 3, width) + np.arange(width) * 7
    drawn[:, -1] = 3.25
    return drawn.astype(np.float32)


def labels(count: int, number: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, number, count)


def probed(kind: str, inputs: np.ndarray, targets: np.ndarray, *, outputs: int, penalty: float = 10.0) -> Layer:
    """Fit the linear layer of a kind of problem to vectors as they are."""
    scaling = Scaling.of(inputs)
    samples = KINDS[kind].samples(scaling.scaled(inputs), targets, np.arange(len(inputs)), outputs)
    return scaling.folded(samples.kind.fit(samples, penalty), shifted=samples.kind.has_bias)


def logistic(penalty: float = 10.0) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=10_000))


few_and_many = pytest.mark.parametrize(("count", "width"), [(60, 5), (20, 70)], ids=["few inputs", "few rows"])


@few_and_many
def test_two_labels_have_the_decision_of_scikit_learn(count: int, width: int) -> None:
    inputs, targets = vectors(count, width), labels(count, 2)
    outputs = probed("single_label_classification", inputs, targets, outputs=2).outputs(inputs.astype(float))
    expected = logistic().fit(inputs.astype(float), targets).decision_function(inputs.astype(float))
    np.testing.assert_allclose(outputs[:, 1] - outputs[:, 0], expected, atol=1e-4)


@few_and_many
def test_three_labels_have_the_probabilities_of_scikit_learn(count: int, width: int) -> None:
    inputs, targets = vectors(count, width), labels(count, 3)
    outputs = probed("single_label_classification", inputs, targets, outputs=3).outputs(inputs.astype(float))
    expected = logistic().fit(inputs.astype(float), targets).predict_proba(inputs.astype(float))
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), expected, atol=1e-3)


def test_each_of_several_labels_has_a_regression_of_its_own() -> None:
    inputs, targets = vectors(), np.stack([labels(60, 2), labels(61, 2)[1:], np.ones(60), np.zeros(60)], axis=1)
    outputs = probed("multi_label_classification", inputs, targets, outputs=4).outputs(inputs.astype(float))
    for number in range(2):
        expected = logistic().fit(inputs.astype(float), targets[:, number]).decision_function(inputs.astype(float))
        np.testing.assert_allclose(outputs[:, number], expected, atol=1e-4)
    np.testing.assert_allclose(outputs[:, 2:], np.log(121) * np.array([[1, -1]] * 60))


def test_a_number_is_that_of_ridge_regression() -> None:
    inputs, targets = vectors(), vectors()[:, 1] / 3 + labels(60, 4)
    outputs = probed("regression", inputs, targets, outputs=1).outputs(inputs.astype(float))
    model = make_pipeline(StandardScaler(), Ridge(alpha=10.0)).fit(inputs.astype(float), targets)
    np.testing.assert_allclose(outputs[:, 0], model.predict(inputs.astype(float)), atol=1e-5)


def test_choices_maximise_the_likelihood_of_the_right_text() -> None:
    """At the maximum, the gradient of the penalised likelihood of all pairs of right and wrong text is zero."""
    rows, inputs = labels(20, 3), vectors()
    layer = probed("multiple_choice", inputs, rows, outputs=1)
    assert layer.weight.shape == (1, 5) and layer.bias.tolist() == [0.0]
    scaling = Scaling.of(inputs)
    texts, weight = (
        scaling.scaled(inputs).reshape(20, 3, 5),
        layer.weight[0] * np.where(np.isinf(scaling.deviation), 0, scaling.deviation),
    )
    gradient = 10.0 * weight
    for row, right in enumerate(rows):
        for wrong in {0, 1, 2} - {int(right)}:
            difference = texts[row, right] - texts[row, wrong]
            gradient -= difference / (1 + np.exp(difference @ weight))
    np.testing.assert_allclose(gradient, 0, atol=1e-3)


def test_a_label_without_training_rows_is_never_the_answer() -> None:
    inputs, targets = vectors(), labels(60, 2) * 2
    layer = probed("single_label_classification", inputs, targets, outputs=4)
    assert layer.bias[[1, 3]].tolist() == [ABSENT, ABSENT]
    expected = logistic().fit(inputs.astype(float), targets).predict(inputs.astype(float))
    assert layer.outputs(inputs.astype(float)).argmax(axis=1).tolist() == expected.tolist()


def test_training_rows_of_a_single_label_give_that_label() -> None:
    layer = probed("single_label_classification", vectors(), np.ones(60, dtype=int), outputs=3)
    assert set(layer.outputs(vectors().astype(float)).argmax(axis=1).tolist()) == {1}


def test_a_constant_input_has_no_weight_for_all_its_rounding() -> None:
    inputs = vectors()
    inputs[::2, -1] = np.nextafter(inputs[0, -1], np.float32(9))
    layer = probed("single_label_classification", inputs, labels(60, 2), outputs=2)
    assert not layer.weight[:, -1].any() and layer.weight[1, :-1].all()


def quiet_job() -> Job:
    """Return a job whose seed is 0 and which reports to nobody."""
    fit = Fit("task", "backbone", "probe", Recipe(), 0, "data", {}, "revision", {})
    nothing: Any = None
    return Job(fit, nothing, nothing, nothing, Computing("cpu"), Path(), Path(), Path(), lambda event: None)


def test_the_penalty_has_the_least_held_out_loss() -> None:
    """The reference is scikit-learn's own cross-validation, over the same folds and all penalties."""
    from benchrunner_methods.probing.strength import _folds

    targets = labels(300, 2)
    inputs = np.random.default_rng(2).normal(size=(300, 20))
    inputs[:, 0] += 2 * targets
    samples = Samples(inputs, targets, np.arange(300), 2, KINDS["single_label_classification"])
    folds = PredefinedSplit(_folds(samples, 0))
    losses = {}
    for penalty in PENALTIES:
        model = LogisticRegression(C=1 / penalty)
        losses[penalty] = log_loss(targets, cross_val_predict(model, inputs, targets, cv=folds, method="predict_proba"))
    best = min(losses, key=lambda penalty: losses[penalty])
    assert best not in (PENALTIES[0], PENALTIES[-1])
    assert fitted(samples, quiet_job()).note == f"cross-validation chose C = {1 / best:g}"


def test_folds_keep_units_together_and_the_shares_of_labels() -> None:
    from benchrunner_methods.probing.strength import _folds

    units = np.repeat(np.arange(50), 3)
    samples = Samples(np.zeros((150, 1)), np.repeat(np.arange(50) % 2, 3), units, 2, KINDS["token_classification"])
    folds, others = _folds(samples, 0), _folds(samples, 1)
    assert all(len(set(folds[units == unit])) == 1 for unit in range(50))
    assert np.bincount(folds).tolist() == [30] * 5 and not np.array_equal(folds, others)
    assert all(samples.targets[folds == fold].mean() == 0.5 for fold in range(5))


def test_the_penalty_is_chosen_on_a_limited_number_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchrunner_methods.probing import strength

    monkeypatch.setattr(strength, "CHOOSING_SAMPLES", 40)
    samples = Samples(np.zeros((90, 1)), labels(90, 2), np.repeat(np.arange(30), 3), 2, KINDS["token_classification"])
    folds = strength._folds(samples, 0)
    assert (folds >= 0).sum() == 39, "13 sentences of 3 words"
