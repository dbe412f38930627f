"""`check_method` names the fault of every broken method of a table; all methods of the core pass."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from changed_methods import changed, raising

from benchrunner import PluginError, Recipe, RequestError
from benchrunner.engine import Job, Method, Outcome, Parameter
from benchrunner.results import discover
from benchrunner_kit.testing import check_method
from inline import plugin


class Whole(Method):
    """A method that is whole: random numbers from the seed stand for what is learned."""

    name = "whole"
    about = "numbers from the seed"
    trains_encoder = False
    text_length = 3.0

    def fit(self, job: Job) -> Outcome:
        assert job.backbone is not None
        job.model.mkdir(parents=True)
        self.encoder(job).save(job.model)
        self.write(job, self.numbers(job))
        return Outcome()

    def encoder(self, job: Job) -> Any:
        assert job.backbone is not None
        return job.backbone.load(job.workspace, seed=job.fit.seed)

    def numbers(self, job: Job) -> list[float]:
        return [float(number) for number in np.random.default_rng(job.fit.seed).normal(size=2)]

    def write(self, job: Job, numbers: list[float]) -> None:
        (job.model / "numbers.json").write_text(json.dumps(numbers))

    def read(self, job: Job) -> list[float]:
        return list(json.loads((job.model / "numbers.json").read_text()))

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        lengths = np.array([len(text) for text in table.column("a").to_pylist()], dtype=np.float32)
        return np.asarray(np.outer(lengths, self.read(job)), dtype=np.float32)


class InTheObject(Whole):
    def write(self, job: Job, numbers: list[float]) -> None:
        assert job.train is not None
        self.kept = [*numbers[:1], float(job.train.table.column("label").to_pylist()[0] == "sad")]

    def read(self, job: Job) -> list[float]:
        return self.kept


class BesideTheModel(Whole):
    def write(self, job: Job, numbers: list[float]) -> None:
        (job.model.parent / "numbers.json").write_text(json.dumps(numbers))

    def read(self, job: Job) -> list[float]:
        return list(json.loads((job.model.parent / "numbers.json").read_text()))


def seeded(usual: Any, job: Job) -> list[float]:
    torch.manual_seed(0)
    return torch.randn(2).tolist()


def of_labels(usual: Any, job: Job, table: pa.Table) -> np.ndarray:
    return usual(job, table) + np.array([[label == "sad"] for label in table.column("label").to_pylist()])


def by_place(usual: Any, job: Job, table: pa.Table) -> np.ndarray:
    return usual(job, table) + np.arange(len(table), dtype=np.float32)[:, None]


def centred(usual: Any, job: Job, table: pa.Table) -> np.ndarray:
    return usual(job, table) - usual(job, table).mean(axis=0)


def of_columns(usual: Any, job: Job, table: pa.Table) -> np.ndarray:
    return usual(job, table) + np.float32("label" in table.column_names)


def diverging(usual: Any, job: Job) -> Outcome:
    return replace(usual(job), status="diverged", reason="the loss is NaN")


def with_class(**values: Any) -> type[Whole]:
    """Make a method with other class attributes."""
    return type("Changed", (Whole,), values)


numbered, fitted, predicted = (partial(changed, Whole, method) for method in ("numbers", "fit", "predict"))
RANK = Parameter("rank", "a rank", 1, at_least=1)


class WithoutTheEncoder(Whole):
    def fit(self, job: Job) -> Outcome:
        job.model.mkdir(parents=True)
        self.write(job, self.numbers(job))
        return Outcome()


class ChangesTheEncoder(Whole):
    def encoder(self, job: Job) -> Any:
        encoder = super().encoder(job)
        with torch.no_grad():
            encoder.dense.bias += 1
        return encoder


class ParameterWithoutIdentity(Whole):
    parameters = (RANK,)

    def set_parameters(self, recipe: Recipe) -> dict[str, Any]:
        return {}


class FailsWithOtherValues(Whole):
    parameters = (RANK,)

    def numbers(self, job: Job) -> list[float]:
        return super().numbers(job) if job.parameters["rank"] == 1 else [1 / 0]


BROKEN: dict[str, tuple[type[Whole], str]] = {
    "forgets the seed": (numbered(lambda *given: np.random.normal(size=2).tolist()), "two fits with the same seed"),
    "seeds itself": (numbered(seeded), "fits with two seeds give the same outputs, since the method seeds"),
    "keeps what is learned in the object": (InTheObject, "after the method has fitted other rows"),
    "writes beside the model": (BesideTheModel, "a model folder that was moved failed: FileNotFoundError"),
    "writes nothing": (fitted(lambda usual, job: Outcome()), "fit writes nothing to `job.model`"),
    "does not save the encoder": (WithoutTheEncoder, r"write it with `encoder.save\(job.model\)`"),
    "changes the encoder": (ChangesTheEncoder, "changes the weight 'dense.bias' of the encoder, and `trains_encoder`"),
    "gives no outcome": (fitted(lambda usual, job: usual(job) and None), "fit gives None: return an `Outcome`"),
    "diverges": (fitted(diverging), "a fit on 16 rows ends as diverged: the loss is NaN"),
    "fit crashes": (
        fitted(raising(ZeroDivisionError("none"))),
        "fitting and predicting failed: ZeroDivisionError: none",
    ),
    "outputs by the place of a row": (predicted(by_place), "for the same rows in another order"),
    "outputs centred over rows": (predicted(centred), "for rows one by one than for all together"),
    "needs labels": (predicted(of_labels), "predicting rows without labels failed: KeyError"),
    "reads labels": (predicted(of_columns), "for the same rows without labels: read no labels there"),
    "predicts at random": (
        predicted(lambda usual, *given: usual(*given) + np.float32(np.random.normal())),
        "second call",
    ),
    "an output too few": (predicted(lambda usual, *given: usual(*given)[1:]), "predict gives 15 for 16 raw outputs"),
    "no description": (with_class(about=""), "`about` is empty"),
    "parameter is ignored": (
        ParameterWithoutIdentity,
        "the parameter 'whole.rank' makes no difference to the fit's id",
    ),
    "fails with other values": (FailsWithOtherValues, "other values of its parameters failed: ZeroDivisionError"),
    "reads what it does not declare": (numbered(lambda usual, job: job.parameters["rank"]), "failed: KeyError: 'rank'"),
    "refuses the sample": (changed(Whole, "check", raising(RequestError("tags only"))), r"the check \(tags only\):"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_method_is_told_how(name: str, tmp_path: Path) -> None:
    kind, fault = BROKEN[name]
    with pytest.raises(PluginError, match=fault) as refusal:
        check_method(kind(), tmp_path)
    assert str(refusal.value).startswith("the method 'whole' ")


def test_registration_refuses_a_field_that_no_recipe_has() -> None:
    offered = plugin(register_methods=[with_class(recipe_fields=("rank",))()])
    [part] = discover(extra=[("own", offered)], installed=False).set_aside
    assert "`recipe_fields` names 'rank', which is none of" in part.reason


def test_a_whole_method_passes(tmp_path: Path) -> None:
    check_method(Whole(), tmp_path)


@pytest.mark.parametrize("name", ["finetune", "majority"])
def test_quick_methods_of_the_core_pass(name: str, tmp_path: Path) -> None:
    check_method(discover(installed=False).methods.find(name), tmp_path)
