"""Methods derived from fine-tuning: those of the documentation, and what their declaration may not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from benchrunner import PluginError, RequestError
from benchrunner.engine import Finetune, collate
from benchrunner.methods.finetune import freeze
from benchrunner.results import Fit, Runner
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import WEIGHTS, TinyEncoder
from benchrunner_runs.exporting import export
from distributions import ROOT
from documents import blocks
from inline import QUICK, runner
from killed_fits import stopped_after
from tiny_fits import CPU, features

RECIPE = QUICK.changed(epochs=4)
JOB = SimpleNamespace(parameters={"count": 10}, fit=SimpleNamespace(seed=0))
"""What the prompts of the page read of a job."""


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """The methods of the page for authors."""
    module = ModuleType("page_methods")
    for name in ("plugins/methods.md", "reference/derived_methods.md"):
        for code in blocks("python", ROOT / "docs" / name):
            exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
    return module


def fitted(folder: Path, method: Finetune, **hooks: Any) -> tuple[Runner, Fit]:
    made = runner(folder, register_methods=[method], **hooks)
    task = made.plugins.tasks.find("mood")
    fit = made.planner.plan(task, "words", recipe=RECIPE, method=method.name)
    assert made.run(fit).status == "done"
    return made, fit


def learned(made: Runner, fit: Fit) -> dict[str, torch.Tensor]:
    model = made.folder(fit).model
    return load_file(model / WEIGHTS) | load_file(model / "head.safetensors")


def changed(made: Runner, fit: Fit) -> set[str]:
    """Name the weights of the encoder that training changed."""
    start = TinyEncoder().state_dict()
    weights = learned(made, fit)
    return {name for name, weight in start.items() if not torch.equal(weight, weights[name])}


def test_bitfit_trains_the_biases_alone(page: ModuleType, tmp_path: Path) -> None:
    (bitfit,) = page.register_methods()
    made, fit = fitted(tmp_path, bitfit)
    assert changed(made, fit) == {"qkv.bias", "norm.bias", "dense.bias"}
    assert bitfit.recipe_defaults == {"lr": 1e-3}


@pytest.mark.parametrize("name", ["bitfit", "prompts"])
def test_a_killed_derived_fit_goes_on_exactly(page: ModuleType, name: str, tmp_path: Path) -> None:
    method = page.PROMPTS if name == "prompts" else next(page.register_methods())
    made, fit = fitted(tmp_path / "whole", method)
    expected = learned(made, fit)
    killed = stopped_after(9, fit, runner(tmp_path / "killed", register_methods=[method]))
    (state,) = killed.folder(fit).checkpoint.iterdir()
    kept = {key.removeprefix("weight/") for key in load_file(state) if key.startswith("weight/")}
    own = {"prompts": {"extension.vectors"}, "bitfit": {f"encoder.{part}.bias" for part in ("qkv", "norm", "dense")}}
    assert kept == own[name] | {"head.output.weight", "head.output.bias"}
    assert killed.run(fit).status == "done"
    found = learned(killed, fit)
    assert found.keys() == expected.keys()
    for key, weight in expected.items():
        assert torch.equal(found[key], weight), key


def test_prompts_are_trained_kept_and_read(page: ModuleType, tmp_path: Path) -> None:
    made, fit = fitted(tmp_path, page.PROMPTS)
    assert changed(made, fit) == set(), "the encoder stays as it was"
    weights = learned(made, fit)
    assert weights["extension.vectors"].shape == (10, 12)
    assert weights["extension.vectors"].std() > 0.03, "drawn with 0.02"
    encoder = TinyEncoder().eval()
    page.with_prompts(encoder, JOB).vectors.data = weights["extension.vectors"]
    task = made.plugins.tasks.find("mood")
    dev = task.load("dev", made.workspace).table
    data = task.problem.encode(dev, encoder, RECIPE, training=False)
    batch = collate(data, np.arange(24), CPU)
    logits = encoder.summarized(batch) @ weights["output.weight"].T + weights["output.bias"]
    answers = [("glad", "sad")[label] for label in logits.index_select(0, batch.restore).argmax(1).tolist()]
    assert predict(fit, "dev", made).answers == answers


def test_prompts_read_like_tokens_before_each_sequence(page: ModuleType) -> None:
    """A plain encoder whose table has the vectors as further rows reads them as tokens of single sequences."""
    encoder, plain = TinyEncoder().eval(), TinyEncoder().eval()
    prompts = page.with_prompts(encoder, JOB)
    assert encoder.max_length == plain.max_length - 10
    rows = torch.cat([plain.word.weight, prompts.vectors]).detach()
    data = features(20)
    batch = collate(data, np.arange(6), CPU, multiple=64)
    states = encoder(batch)
    assert states.shape == (len(batch.tokens), 12)
    for first, last in zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True):
        tokens = torch.cat([torch.arange(97, 107), batch.tokens[first:last]])
        hidden = rows[tokens] + plain.position.weight[: len(tokens)]
        query, key, value = plain.qkv(hidden).unflatten(-1, (3, 2, 6)).permute(1, 2, 0, 3)
        context = nn.functional.scaled_dot_product_attention(query, key, value).transpose(0, 1).flatten(1)
        torch.testing.assert_close(states[first:last], plain.norm(hidden + context)[10:], rtol=0, atol=1e-5)


def test_a_fit_goes_on_from_its_extension(page: ModuleType, tmp_path: Path) -> None:
    made, fit = fitted(tmp_path, page.PROMPTS)
    task = made.plugins.tasks.find("mood")
    again = made.planner.plan(task, f"run:{fit.id}", recipe=RECIPE.changed(lr=1e-9), method="prompts")
    assert made.run(again).status == "done"
    torch.testing.assert_close(learned(made, again)["extension.vectors"], learned(made, fit)["extension.vectors"])


class Fresh(TinyEncoder):
    """An encoder whose summary layer the checkpoint lacks."""

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        return (self.dense,)


def test_what_the_checkpoint_lacks_is_always_trained() -> None:
    encoder = Fresh()
    freeze(encoder, ["norm.bias"], "mine")
    trained = {name for name, weight in encoder.named_parameters() if weight.requires_grad}
    assert trained == {"dense.weight", "dense.bias", "norm.bias"}


def test_an_unknown_weight_is_refused_with_a_suggestion() -> None:
    with pytest.raises(PluginError, match=r"'mine' trains 'norm.bais', .* of TinyEncoder. Did you mean norm.bias"):
        freeze(TinyEncoder(), ["norm.bais"], "mine")


def test_what_is_kept_beside_the_encoder_is_not_exported(page: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="`exports=False`, or `merge`"):
        replace(page.PROMPTS, exports=True).check_declared()
    made, fit = fitted(tmp_path, page.PROMPTS)
    with pytest.raises(RequestError, match="cannot be exported"):
        export(fit.id, tmp_path / "out", made)


def test_frozen_tables_stay_whole() -> None:
    from benchrunner.training.embedding_rows import narrowed

    encoder = TinyEncoder()
    freeze(encoder, ["norm.bias"], "mine")
    assert narrowed(encoder, features(20)) == []
    assert len(encoder.word.weight) == 97 and not encoder.word.weight.requires_grad
