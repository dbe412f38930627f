"""The method `features`: layers computed once, kept, and read by a BiLSTM alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchrunner import Fit, RequestError, Runner
from benchrunner.features.flat_batch import collate
from benchrunner.methods.frozen_features import chosen_layers
from benchrunner.recipes import LAYERS, Recipe
from benchrunner.testing import TinyEncoder
from inline import runner

pytestmark = pytest.mark.usefixtures("narrow_bilstm")

SHORT: dict[str, Any] = {"lr": 3e-3, "epochs": 2, "batch_size": 8}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the BiLSTM 32 wide instead of 768, so that its fits take less than a second."""
    monkeypatch.setattr("benchrunner.methods.heads.BILSTM_WIDTH", 32)


def fitted(made: Runner, *, features: str = "last", seed: int = 0, **changes: Any) -> Fit:
    recipe = Recipe(**{**SHORT, "features": features, **changes})
    fit = made.plan(made.plugins.task("mood"), "words", method="features", recipe=recipe, seed=seed)
    record = made.run(fit)
    assert record.status == "done", record.reason
    return fit


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("embeddings", [0]),
        ("second-to-last", [11]),
        ("last", [12]),
        ("weighted-sum-last-4", [9, 10, 11, 12]),
        ("concat-last-4", [9, 10, 11, 12]),
        ("weighted-sum-all", list(range(1, 13))),
    ],
)
def test_each_choice_reads_the_layers_it_names(choice: str, wanted: list[int]) -> None:
    assert choice in LAYERS and chosen_layers(choice, 12) == wanted


@pytest.mark.parametrize("choice", ["second-to-last", "concat-last-4", "weighted-sum-last-4"])
def test_features_needing_more_layers_are_refused_with_the_count(choice: str) -> None:
    enough = r"1 layer\(s\), enough for embeddings, last or weighted-sum-all"
    with pytest.raises(RequestError, match=rf"--features {choice} needs a deeper encoder: this encoder has {enough}"):
        chosen_layers(choice, 1)


def test_states_are_computed_once_and_are_those_of_the_encoder(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fitted(made)
    (file,) = (tmp_path / "cache" / "states").glob("*/layer-01.npy")
    before = file.stat().st_mtime_ns
    fitted(made, seed=1)
    fitted(made, features="weighted-sum-all")
    fitted(made, features="embeddings")
    assert file.stat().st_mtime_ns == before, "another seed and another choice read the same file"
    assert {one.name for one in file.parent.iterdir()} == {".lock", "layer-00.npy", "layer-01.npy"}
    fitted(made, micro_tokens=64)
    assert len(list((tmp_path / "cache" / "states").iterdir())) == 2, "other parts of the batch may be other bits"
    task, encoder = made.plugins.task("mood"), TinyEncoder().eval()
    table = made.rows(task, "train").table
    features = task.problem.encode(table, encoder, Recipe(), training=False)
    batch = collate(features, np.arange(features.units), torch.device("cpu"))
    with torch.inference_mode():
        wanted = encoder(batch)
    kept = np.load(file)[batch.feature_positions.numpy()]
    np.testing.assert_allclose(kept, wanted.numpy(), atol=2e-3)


def test_partial_states_of_a_killed_fit_are_removed_by_the_next(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fitted(made)
    folder = next((tmp_path / "cache" / "states").iterdir())
    (folder / "tmpleft.part").mkdir()
    (folder / "tmpleft.part" / "layer-00.npy").write_bytes(b"half")
    fitted(made, features="embeddings")
    assert {one.name for one in folder.iterdir()} == {".lock", "layer-00.npy", "layer-01.npy"}


def test_a_damaged_file_of_states_is_made_again(tmp_path: Path) -> None:
    made = runner(tmp_path)
    first = made.predict(fitted(made), "dev").answers
    for file in (tmp_path / "cache" / "states").glob("*/*.npy"):
        file.write_bytes(file.read_bytes()[:100])
    assert made.predict(fitted(made, seed=1), "test").answers
    assert made.predict(fitted(made), "dev").answers == first


def test_the_encoder_stays_as_it_was_and_the_head_learns(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fitted(made, epochs=60, lr=1e-2, dropout=0.0)
    saved = TinyEncoder.read(made.folder(fit).model).state_dict()
    assert all(torch.equal(one, saved[name]) for name, one in TinyEncoder().state_dict().items())
    accuracy = made.predict(fit, "train").record.scores["accuracy"].value
    assert accuracy is not None and accuracy > 0.9, "48 rows are learned by heart"


def test_fine_tuning_with_a_bilstm_head_also_trains_the_encoder(tmp_path: Path) -> None:
    made = runner(tmp_path)
    recipe = Recipe(**{**SHORT, "epochs": 60, "lr": 1e-2, "dropout": 0.0})
    fit = made.plan(made.plugins.task("mood"), "words", method="finetune+bilstm", recipe=recipe)
    assert made.run(fit).status == "done"
    saved = TinyEncoder.read(made.folder(fit).model).state_dict()
    assert not torch.equal(saved["qkv.weight"], TinyEncoder().state_dict()["qkv.weight"])
    accuracy = made.predict(fit, "train").record.scores["accuracy"].value
    assert accuracy is not None and accuracy > 0.9, "48 rows are learned by heart"


def test_settings_a_method_does_not_read_do_not_change_its_fits(tmp_path: Path) -> None:
    made = runner(tmp_path)
    task = made.plugins.task("mood")

    def ids(method: str) -> int:
        recipes = [Recipe(features=one, stride=stride) for one in ("last", "embeddings") for stride in (64, 128)]
        return len({made.plan(task, "words", method=method, recipe=recipe).id for recipe in recipes})

    assert ids("finetune") == 1 and ids("features") == 2


def test_its_usual_rate_is_not_that_of_fine_tuning(tmp_path: Path) -> None:
    made = runner(tmp_path)
    assert made.plan(made.plugins.task("mood"), "words", method="features").recipe.lr == 1e-3


def test_a_features_fit_reuses_a_head_over_the_same_layers(tmp_path: Path) -> None:
    made = runner(tmp_path)
    first = fitted(made)
    recipe = Recipe(**{**SHORT, "features": "last", "lr": 0.0})

    def later(**changes: Any) -> tuple[Fit, tuple[str, ...]]:
        task = made.plugins.task("mood")
        fit = made.plan(task, f"run:{first.id}", method="features", recipe=recipe.changed(**changes))
        return fit, made.run(fit).notes

    still, notes = later()
    assert any("the head goes on" in note for note in notes)
    heads = [(made.folder(one).model / "head.safetensors").read_bytes() for one in (first, still)]
    assert heads[0] == heads[1]
    assert not any("the head goes on" in note for note in later(features="embeddings")[1])
