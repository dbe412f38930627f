"""The method `lora` against its formula written out with plain torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from benchrunner import Recipe, RequestError
from benchrunner.engine import FlatBatch, StackedLinear, collate
from benchrunner.features.randomness import generator
from benchrunner.methods.finetune import freeze
from benchrunner.methods.heads import LinearHead
from benchrunner.results import Fit, Runner
from benchrunner.runs.planner import Planner
from benchrunner.runs.predicting import predict
from benchrunner.training.schedule import Schedule
from benchrunner_kit.testing import MOOD, WEIGHTS, TinyEncoder
from benchrunner_methods.low_rank import LowRankUpdates
from inline import QUICK, mood, runner
from killed_fits import stopped_after
from tiny_fits import CPU, features

RANK, ALPHA, SEED = 3, 6.0, 5
LINEAR = ("qkv", "dense")
"""Linear layers of the tiny encoder."""
RECIPE = QUICK.changed(parameters={"lora.rank": RANK, "lora.alpha": ALPHA}, dropout=0.0, epochs=4, weight_decay=0.2)


class Conv1D(nn.Module):
    """A linear layer like that of transformers' GPT models: its weight is (inputs, outputs)."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(linear.weight.detach().T.contiguous())
        self.bias = nn.Parameter(linear.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.weight)


class Fresh(TinyEncoder):
    """An encoder whose summary layer the checkpoint lacks."""

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        return (self.dense,)


def batch(count: int = 12) -> FlatBatch:
    return collate(features(60), np.arange(count), CPU)


def outputs(encoder: TinyEncoder) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the states and the summaries of a batch."""
    hidden = encoder(batch())
    return hidden, encoder.summary(hidden, batch())


def first_a(name: str, inputs: int) -> torch.Tensor:
    """Draw A as the published code does: uniformly between -1 / sqrt(inputs) and 1 / sqrt(inputs)."""
    bound = inputs**-0.5
    return torch.empty(RANK, inputs).uniform_(-bound, bound, generator=generator(SEED, "low-rank update", name))


def fresh(encoder: TinyEncoder) -> LowRankUpdates:
    """Freeze an encoder and make its updates, as before training."""
    freeze(encoder, (), "lora")
    return LowRankUpdates(encoder, rank=RANK, alpha=ALPHA, seed=SEED)


def updated(encoder: TinyEncoder) -> LowRankUpdates:
    """Make updates of an encoder whose B is not zero, as after training."""
    updates = fresh(encoder)
    source = torch.Generator().manual_seed(1)
    for name, weight in updates.named_parameters():
        if name.endswith(".b"):
            nn.init.normal_(weight, std=0.5, generator=source)
    return updates


def fitted_with_lora(folder: Path, recipe: Recipe = RECIPE, method: str = "lora") -> tuple[Runner, Fit]:
    fit_runner = runner(folder)
    task = fit_runner.plugins.tasks.find("mood")
    fit = fit_runner.planner.plan(task, "words", recipe=recipe, method=method, seed=SEED)
    assert fit_runner.run(fit).status == "done"
    return fit_runner, fit


def trained_by_hand(fit_runner: Runner, recipe: Recipe) -> dict[str, torch.Tensor]:
    """Train A, B and the head with torch's AdamW through W + (alpha / rank) B A, and return the merged weights."""
    encoder, head = TinyEncoder(dropout=0.0), LinearHead(12, MOOD.head, seed=SEED)
    weights = {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
    a = {name: first_a(name, 12).requires_grad_() for name in LINEAR}
    b = {name: torch.zeros(len(weights[f"{name}.weight"]), RANK, requires_grad=True) for name in LINEAR}

    def merged() -> dict[str, torch.Tensor]:
        changes = {f"{name}.weight": weights[f"{name}.weight"] + ALPHA / RANK * b[name] @ a[name] for name in LINEAR}
        return {**weights, **changes}

    task = mood()
    rows = Planner(fit_runner.plugins, fit_runner.workspace).training_rows(task, recipe, SEED)
    data = task.problem.encode(rows.table, encoder, recipe, training=True)
    matrices = [*a.values(), *b.values(), head.output.weight]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": head.output.bias, "weight_decay": 0.0}],
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
    )
    schedule, labels = Schedule(data.batch_counts("sentences"), recipe, SEED), torch.from_numpy(data.targets["label"])
    assert schedule.steps == 24
    for step in range(schedule.steps):
        units = schedule.batch(step)
        for group in optimizer.param_groups:
            group["lr"] = schedule.lr(step)
        optimizer.zero_grad()
        flat = collate(data, units, CPU)
        states = functional_call(encoder, merged(), (flat,))
        sums = torch.stack([part.mean(0) for part in states.split(flat.starts.diff().tolist())])
        summary = torch.tanh(functional.linear(sums, merged()["dense.weight"], weights["dense.bias"]))
        logits = head.output(summary).index_select(0, flat.restore)
        functional.cross_entropy(logits, labels[units]).backward()
        nn.utils.clip_grad_norm_([*matrices, head.output.bias], recipe.clip)
        optimizer.step()
    return {name: weight.detach() for name, weight in {**merged(), **dict(head.named_parameters())}.items()}


def test_training_equals_the_formula_and_keeps_all_other_weights(tmp_path: Path) -> None:
    fit_runner, fit = fitted_with_lora(tmp_path)
    model = fit_runner.folder(fit).model
    saved, expected = (
        {**load_file(model / WEIGHTS), **load_file(model / "head.safetensors")},
        trained_by_hand(fit_runner, RECIPE),
    )
    start = TinyEncoder().state_dict()
    assert saved.keys() == expected.keys()
    for name, weight in saved.items():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-5, msg=name)
        if name not in ("qkv.weight", "dense.weight", "output.weight", "output.bias"):
            assert torch.equal(weight, start[name]), name
    for name in LINEAR:
        update = saved[f"{name}.weight"] - start[f"{name}.weight"]
        assert update.abs().max() > 1e-2
        assert torch.linalg.matrix_rank(update, atol=1e-4) == RANK


def test_before_training_the_encoder_computes_what_it_did() -> None:
    encoder, plain = TinyEncoder(), TinyEncoder()
    updates = fresh(encoder)
    assert all(map(torch.equal, outputs(encoder), outputs(plain)))
    for name, update in zip(LINEAR, updates.updates, strict=True):
        torch.testing.assert_close(update.get_parameter("a").detach(), first_a(name, 12))


@pytest.mark.parametrize("kind", ["linear", "transposed", "stacked"])
def test_merged_weights_compute_what_the_updates_did(kind: str) -> None:
    encoder = TinyEncoder()
    if kind == "transposed":
        encoder.qkv = Conv1D(encoder.qkv)  # type: ignore[assignment]
    elif kind == "stacked":
        stacked = StackedLinear(12, 12, count=3)
        stacked.load_state_dict(encoder.qkv.state_dict())
        encoder.qkv = stacked
    plain = outputs(encoder)
    updates = updated(encoder)
    separate = outputs(encoder)
    assert (separate[0] - plain[0]).abs().max() > 1e-2
    updates.merge()
    for merged, before in zip(outputs(encoder), separate, strict=True):
        torch.testing.assert_close(merged, before, rtol=0, atol=1e-5)


def test_stacked_matrices_have_updates_of_their_own() -> None:
    """The update of query, key and value has the rank of three updates, as if they were three layers."""
    stacked = StackedLinear(12, 12, count=3)
    encoder = TinyEncoder()
    stacked.load_state_dict(encoder.qkv.state_dict())
    encoder.qkv = stacked
    start = stacked.weight.detach().clone()
    updates = updated(encoder)
    states = torch.randn(7, 12, generator=torch.Generator().manual_seed(2))
    added = updates.updates[0](states)
    a, b = (updates.updates[0].get_parameter(name).detach() for name in ("a", "b"))
    for part in range(3):
        rows, low = slice(12 * part, 12 * (part + 1)), slice(RANK * part, RANK * (part + 1))
        torch.testing.assert_close(added[:, rows], ALPHA / RANK * states @ a[low].T @ b[rows].T)
    updates.merge()
    assert torch.linalg.matrix_rank(stacked.weight.detach() - start, atol=1e-4) == 3 * RANK


def test_layers_that_share_a_weight_share_its_update() -> None:
    encoder = TinyEncoder()
    encoder.second = nn.Linear(12, 12)
    encoder.second.weight = encoder.dense.weight
    encoder.decoder = nn.Linear(12, 97)
    encoder.decoder.weight = encoder.word.weight
    start = encoder.dense.weight.detach().clone()
    updates = updated(encoder)
    assert len(updates.updates) == len(LINEAR), "an output layer that is the table of embeddings has none"
    a, b = (updates.updates[1].get_parameter(name).detach() for name in ("a", "b"))
    updates.merge()
    torch.testing.assert_close(encoder.dense.weight.detach(), start + ALPHA / RANK * b @ a)


def test_fresh_modules_are_trained_whole() -> None:
    encoder = Fresh()
    updates = fresh(encoder)
    assert len(updates.updates) == 1
    trained = {name for name, weight in encoder.named_parameters() if weight.requires_grad}
    assert trained == {"dense.weight", "dense.bias"}


def test_an_encoder_without_linear_layers_is_refused() -> None:
    encoder = TinyEncoder()
    del encoder.qkv, encoder.dense
    with pytest.raises(RequestError, match=r"has no linear layers.*Use --method finetune"):
        fresh(encoder)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("lora", ("updates.{}.a", "updates.{}.b")),
        ("dora", ("parts.{}.magnitude", "parts.{}.update.a", "parts.{}.update.b")),
    ],
)
def test_a_killed_fit_goes_on_exactly_from_what_is_trained(method: str, names: Sequence[str], tmp_path: Path) -> None:
    parameters = {f"{method}.rank": RANK, f"{method}.alpha": ALPHA}
    recipe = RECIPE.changed(parameters=parameters, dropout=0.1)
    fit_runner, fit = fitted_with_lora(tmp_path / "whole", recipe, method)
    expected = {path.name: path.read_bytes() for path in fit_runner.folder(fit).model.glob("*.safetensors")}
    killed = stopped_after(9, fit, runner(tmp_path / "killed"))
    with safe_open(killed.folder(fit).checkpoint / "state.safetensors", framework="np") as file:
        kept = set(file.keys())
    weights = {f"extension.{name.format(at)}" for at in range(2) for name in names}
    weights |= {"head.output.weight", "head.output.bias"}
    assert kept == {f"{kind}/{name}" for kind in ("weight", "exp_avg", "exp_avg_sq", "step") for name in weights}
    assert killed.run(fit).status == "done"
    left = {path.name: path.read_bytes() for path in killed.folder(fit).model.glob("*.safetensors")}
    assert left == expected


def test_the_answers_are_those_of_the_merged_encoder(tmp_path: Path) -> None:
    fit_runner, fit = fitted_with_lora(tmp_path)
    assert len(predict(fit, "dev", fit_runner).answers) == 24
    again = fit_runner.planner.plan(fit_runner.plugins.tasks.find("mood"), f"run:{fit.id}", recipe=QUICK)
    assert fit_runner.run(again).status == "done", "finetune goes on from the merged encoder"
