"""The method `features`: the layers of a frozen encoder are computed once, cached, and read by a BiLSTM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchrunner import Recipe
from benchrunner.engine import FlatBatch, collate
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.results import Fit, Runner, predict
from benchrunner.runs import finished_fits
from benchrunner.training import numerics
from benchrunner_kit.testing import TinyEncoder
from benchrunner_methods.frozen_states import chosen_layers
from inline import runner

pytestmark = pytest.mark.usefixtures("narrow_bilstm")

SHORT: dict[str, Any] = {"lr": 3e-3, "epochs": 2, "batch_size": 8}


def fitted(fit_runner: Runner, *, features: str = "last", seed: int = 0, **changes: Any) -> Fit:
    recipe = Recipe(**{**SHORT, "features": features, **changes})
    fit = fit_runner.planner.plan(
        fit_runner.plugins.tasks.find("mood"), "words", method="features", recipe=recipe, seed=seed
    )
    record = fit_runner.run(fit)
    assert record.status == "done", record.reason
    return fit


@pytest.mark.parametrize(
    ("choice", "layers"),
    [
        ("embeddings", [0]),
        ("second-to-last", [11]),
        ("last", [12]),
        ("weighted-sum-last-4", [9, 10, 11, 12]),
        ("concat-last-4", [9, 10, 11, 12]),
        ("weighted-sum-all", list(range(1, 13))),
        ("weighted-sum-with-embeddings", list(range(13))),
    ],
)
def test_each_choice_reads_the_layers_it_names(choice: str, layers: list[int]) -> None:
    assert choice in RECIPE_FIELDS["features"].choices and chosen_layers(choice, 12) == layers


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_an_encoder_of_few_layers_gives_all_it_has(layers: int) -> None:
    above = list(range(min(1, layers), layers + 1))
    assert chosen_layers("concat-last-4", layers) == chosen_layers("weighted-sum-last-4", layers) == above
    assert chosen_layers("last", layers) == [layers] and chosen_layers("second-to-last", layers) == [max(0, layers - 1)]


def test_states_are_computed_once_and_are_those_of_the_encoder(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    record = fit_runner.folder(fitted(fit_runner)).finished_record()
    assert record is not None and list(record.numerics["attention"]) == ["predict"], "that of the states"
    (file,) = (tmp_path / "cache" / "states").glob("*/layer-01.npy")
    before = file.stat().st_mtime_ns
    fitted(fit_runner, seed=1)
    fitted(fit_runner, features="weighted-sum-all")
    fitted(fit_runner, features="weighted-sum-with-embeddings")
    fitted(fit_runner, features="embeddings")
    assert file.stat().st_mtime_ns == before, "another seed and another choice read the same file"
    assert {path.name for path in file.parent.glob("*.*")} == {
        ".lock",
        "layer-00.json",
        "layer-00.npy",
        "layer-01.json",
        "layer-01.npy",
    }
    fitted(fit_runner, micro_tokens=64)
    assert len(list((tmp_path / "cache" / "states").iterdir())) == 2, "other parts of the batch may be other bits"
    task, encoder = fit_runner.plugins.tasks.find("mood"), TinyEncoder().eval()
    table = fit_runner.planner.rows(task, "train").table
    features = task.problem.encode(table, encoder, Recipe(), training=False)
    batch = collate(features, np.arange(features.units), torch.device("cpu"))
    with torch.inference_mode():
        expected = encoder(batch)
    cached = np.load(file)[batch.feature_positions]
    np.testing.assert_allclose(cached, expected.numpy(), atol=2e-3)


def test_other_libraries_or_processors_have_other_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(seed: int) -> int:
        fitted(made, seed=seed)
        return len(list((tmp_path / "cache" / "states").iterdir()))

    made = runner(tmp_path)
    monkeypatch.setattr(TinyEncoder, "libraries", ("transformers",))
    counts = [count(0), count(1)]
    version = numerics._version
    monkeypatch.setattr(numerics, "_version", lambda name: "0" if name == "transformers" else version(name))
    counts.append(count(2))
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert [*counts, count(3)] == [1, 1, 2, 3]


def test_states_take_smaller_parts_where_memory_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, tight = (runner(tmp_path / name) for name in ("whole", "tight"))
    fitted(whole)
    states = TinyEncoder.hidden_states

    def limited(self: TinyEncoder, batch: FlatBatch) -> Iterator[torch.Tensor]:
        for layer in states(self, batch):
            yield layer
            if len(batch.tokens) > 30:  # after the embeddings, which are then computed again
                raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(TinyEncoder, "hidden_states", limited)
    fitted(tight)
    files = [next((tmp_path / name / "cache" / "states").glob("*/layer-01.npy")) for name in ("whole", "tight")]
    np.testing.assert_allclose(*map(np.load, files), atol=2e-3)


def test_a_damaged_file_of_states_is_made_again(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    first = predict(fitted(fit_runner), "dev", fit_runner).answers
    for file in (tmp_path / "cache" / "states").glob("*/*.npy"):
        file.write_bytes(file.read_bytes()[:100])
    assert predict(fitted(fit_runner, seed=1), "test", fit_runner).answers
    assert predict(fitted(fit_runner), "dev", fit_runner).answers == first


def test_the_encoder_stays_as_it_was_and_the_head_learns(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    fit = fitted(fit_runner, epochs=30, lr=2e-2, dropout=0.0, batch_size=16)
    backbone, _ = finished_fits.saved(fit_runner.folder(fit), fit_runner.plugins, fit_runner.workspace)
    saved = backbone.load(fit_runner.workspace, seed=5).state_dict()
    assert all(torch.equal(weight, saved[name]) for name, weight in TinyEncoder().state_dict().items())
    accuracy = predict(fit, "train", fit_runner).record.scores["accuracy"].value
    assert accuracy is not None and accuracy > 0.9, "48 rows are learned by heart"


def test_fine_tuning_with_a_bilstm_head_also_trains_the_encoder(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    recipe = Recipe(**{**SHORT, "epochs": 15, "lr": 2e-2, "dropout": 0.0})
    fit = fit_runner.planner.plan(
        fit_runner.plugins.tasks.find("mood"), "words", method="finetune+bilstm", recipe=recipe
    )
    assert fit_runner.run(fit).status == "done"
    saved = TinyEncoder.read(fit_runner.folder(fit).model).state_dict()
    assert not torch.equal(saved["qkv.weight"], TinyEncoder().state_dict()["qkv.weight"])
    accuracy = predict(fit, "train", fit_runner).record.scores["accuracy"].value
    assert accuracy is not None and accuracy > 0.9, "48 rows are learned by heart"


def test_a_features_fit_reuses_a_head_over_the_same_layers(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    first = fitted(fit_runner)
    recipe = Recipe(**{**SHORT, "features": "last", "lr": 0.0})

    def later(**changes: Any) -> tuple[Fit, tuple[str, ...]]:
        task = fit_runner.plugins.tasks.find("mood")
        fit = fit_runner.planner.plan(task, f"run:{first.id}", method="features", recipe=recipe.changed(**changes))
        return fit, fit_runner.run(fit).notes

    still, notes = later()
    assert any("the head goes on" in note for note in notes)
    heads = [(fit_runner.folder(fit).model / "head.safetensors").read_bytes() for fit in (first, still)]
    assert heads[0] == heads[1]
    assert not any("the head goes on" in note for note in later(features="embeddings")[1])
