"""Fine-tuning with learning rates by depth and with layers that are initialised again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from benchrunner import RequestError
from benchrunner.features.flat_batch import collate
from benchrunner.features.randomness import generator
from benchrunner.methods.finetune import learning_rates, redraw
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.results import Record, Runner
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.schedule import Schedule
from benchrunner_kit.testing import MOOD, WEIGHTS, TinyEncoder
from inline import QUICK, runner
from tiny_fits import CPU, Killed, features, fitted, killed_after

DECAY = 0.6
RATES = {"word": 0.6**3, "position": 0.6**3, "qkv": 0.6**2, "norm": 0.6**2, "dense": 0.6, "output": 1.0}
"""Module -> its factor for one layer, written out by hand; `output` is the head."""


def fit(folder: Path, *, seed: int = 0, **changes: Any) -> tuple[Record, dict[str, torch.Tensor], Runner]:
    """Fine-tune the tiny encoder on moods with a recipe; return the record and the weights that were saved."""
    fit_runner = runner(folder)
    planned = fit_runner.planner.plan(
        fit_runner.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(**changes), seed=seed
    )
    record = fit_runner.run(planned)
    model = fit_runner.folder(planned).model
    return record, {**load_file(model / WEIGHTS), **load_file(model / "head.safetensors")}, fit_runner


def trained_by_hand(recipe: Recipe, seed: int) -> dict[str, torch.Tensor]:
    """Train all weights, the whole embedding table too, with torch's AdamW and a group for each weight."""
    data = features(60)
    encoder, head = TinyEncoder(dropout=0.0), LinearHead(12, MOOD.head, seed=seed)
    named = [*encoder.named_parameters(), *head.named_parameters()]
    factors = {name: RATES[name.split(".")[0]] for name, _ in named}
    optimizer = torch.optim.AdamW(
        [
            {"params": [weight], "name": name, "weight_decay": recipe.weight_decay if weight.ndim > 1 else 0.0}
            for name, weight in named
        ],
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
    )
    schedule, labels = Schedule(data.batch_counts("sentences"), recipe, seed), torch.from_numpy(data.targets["label"])
    assert schedule.steps == 24
    for step in range(schedule.steps):
        units = schedule.batch(step)
        for group in optimizer.param_groups:
            group["lr"] = schedule.lr(step) * factors[group["name"]]
        optimizer.zero_grad()
        functional.cross_entropy(head(encoder, collate(data, units, CPU)), labels[units]).backward()
        nn.utils.clip_grad_norm_([weight for _, weight in named], recipe.clip)
        optimizer.step()
    return {name: weight.detach() for name, weight in named}


def test_layer_decay_equals_a_loop_with_a_rate_for_each_weight(tmp_path: Path) -> None:
    recipe = Recipe(lr=5e-3, epochs=3, batch_size=8, weight_decay=0.3, layer_decay=DECAY)
    rates = {f"encoder.{name}": rate for name, rate in learning_rates(TinyEncoder(), DECAY)}
    trained = fitted(tmp_path, recipe, rates=rates).weights()
    expected = trained_by_hand(recipe, seed=4)
    for name, weight in expected.items():
        ours = trained.get(name, trained.get(f"head.{name}"))
        torch.testing.assert_close(ours, weight, rtol=0, atol=1e-5, msg=name)
    unused = np.setdiff1d(np.arange(97), features(60).tokens)
    start = TinyEncoder().word.weight.detach()[unused]
    assert len(unused) > 3
    assert (trained["word.weight"][unused] - start).abs().max() > 1e-3, "rows without a gradient shrink at their rate"


def test_fresh_modules_have_the_rate_of_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TinyEncoder, "fresh_modules", property(lambda encoder: [encoder.dense]))
    expected = {**RATES, "dense": 1.0}
    for name, rate in learning_rates(TinyEncoder(), DECAY):
        assert rate == pytest.approx(expected[name.split(".")[0]]), name


def test_finetune_passes_the_rates_on(tmp_path: Path) -> None:
    slow, whole = (fit(tmp_path / f"{decay}", layer_decay=decay, epochs=1)[1] for decay in (1e-6, 1.0))
    start = TinyEncoder().state_dict()
    for name, weight in start.items():
        moved = (slow[name] - weight).abs().max() / (whole[name] - weight).abs().max()
        assert moved < 1e-2, name
    assert not torch.allclose(slow["output.weight"], LinearHead(12, MOOD.head, seed=0).output.weight, atol=1e-3)


def test_a_killed_fit_with_layer_decay_goes_on_exactly(tmp_path: Path) -> None:
    recipe = Recipe(lr=5e-3, epochs=3, batch_size=8, layer_decay=DECAY, bias_correction=False)
    rates = {f"encoder.{name}": rate for name, rate in learning_rates(TinyEncoder(), DECAY)}
    whole = fitted(tmp_path / "whole", recipe, rates=rates, dropout=0.1)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    with pytest.raises(Killed):
        fitted(
            tmp_path / "cut",
            recipe,
            rates=rates,
            dropout=0.1,
            checkpoint=checkpoint,
            checkpoint_seconds=0,
            report=killed_after(7),
        )
    resumed = fitted(tmp_path / "cut", recipe, rates=rates, dropout=0.1, checkpoint=checkpoint)
    assert resumed.training.first == 7
    assert all(torch.equal(weight, whole.weights()[name]) for name, weight in resumed.weights().items())


def test_redrawn_layers_come_from_the_seed_and_the_others_stay() -> None:
    start, encoders = TinyEncoder().state_dict(), [TinyEncoder() for _ in range(4)]
    for encoder, seed in zip(encoders, (1, 1, 2), strict=False):
        redraw(encoder, 1, seed=seed)
    redraw(encoders[3], 0, seed=1)
    first, same, other, untouched = (encoder.state_dict() for encoder in encoders)
    for name, weight in start.items():
        redrawn = not name.startswith(("word", "position"))
        assert torch.equal(first[name], same[name]) and torch.equal(untouched[name], weight)
        assert torch.equal(first[name], weight) != redrawn
        assert torch.equal(first[name], other[name]) != redrawn
    drawn = TinyEncoder()
    drawn.draw_layer(0, generator(1, "layer", 0))
    assert torch.equal(drawn.qkv.weight, encoders[0].qkv.weight)


def test_finetune_starts_from_the_redrawn_layers(tmp_path: Path) -> None:
    tiny_steps = {"lr": 1e-9, "redraw_layers": 1}
    _, weights, _ = fit(tmp_path, seed=3, **tiny_steps)
    expected = TinyEncoder()
    redraw(expected, 1, seed=3)
    for name, weight in expected.state_dict().items():
        torch.testing.assert_close(weights[name], weight, rtol=0, atol=1e-6)


def test_more_layers_than_the_encoder_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="redraw-layers 2 is more layers than this encoder has, 1"):
        redraw(TinyEncoder(), 2, seed=0)


def test_a_second_stage_goes_on_from_the_head_at_other_rates(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task = fit_runner.plugins.tasks.find("mood")
    first = fit_runner.planner.plan(task, "words", recipe=QUICK)
    fit_runner.run(first)
    second = fit_runner.planner.plan(task, f"run:{first.id}", recipe=QUICK.changed(layer_decay=DECAY))
    assert any("head goes on" in note for note in fit_runner.run(second).notes)


def test_both_fields_are_part_of_a_fits_identity(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task = fit_runner.plugins.tasks.find("mood")
    recipes = [QUICK, QUICK.changed(layer_decay=0.9), QUICK.changed(redraw_layers=1)]
    for method, count in (("finetune", 3), ("finetune+bilstm", 3), ("features", 1)):
        ids = {fit_runner.planner.plan(task, "words", recipe=recipe, method=method).id for recipe in recipes}
        assert len(ids) == count


def test_too_many_redrawn_layers_are_refused_when_planning(tmp_path: Path) -> None:
    made = runner(tmp_path)
    task = made.plugins.tasks.find("mood")
    fit = made.planner.plan(task, "words", recipe=QUICK.changed(epochs=1, redraw_layers=1))
    assert made.run(fit).status == "done"
    for backbone in ("words", f"run:{fit.id}"):
        with pytest.raises(RequestError, match="redraw-layers 2 is more layers than this encoder has, 1"):
            made.planner.plan(task, backbone, recipe=QUICK.changed(redraw_layers=2))
