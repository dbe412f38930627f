"""`check_method` names the fault of every broken method of a table; all methods of the core pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import PluginError, Recipe, RequestError
from benchrunner.engine import Job, Method, Outcome, Parameter, Problem
from benchrunner.results import discover
from benchrunner_kit.testing import check_method


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


class Unseeded(Whole):
    def numbers(self, job: Job) -> list[float]:
        return [float(number) for number in np.random.normal(size=2)]


class SeededItself(Whole):
    def numbers(self, job: Job) -> list[float]:
        torch.manual_seed(0)
        return [float(number) for number in torch.randn(2)]


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


class AbsolutePath(Whole):
    def write(self, job: Job, numbers: list[float]) -> None:
        super().write(job, numbers)
        (job.model / "path.txt").write_text(str(job.model.absolute()))

    def read(self, job: Job) -> list[float]:
        return list(json.loads(Path((job.model / "path.txt").read_text(), "numbers.json").read_text()))


class WritesNothing(Whole):
    def fit(self, job: Job) -> Outcome:
        return Outcome()


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


class GivesNothing(Whole):
    def fit(self, job: Job) -> Any:
        super().fit(job)


class Diverging(Whole):
    def fit(self, job: Job) -> Outcome:
        super().fit(job)
        return Outcome(status="diverged", reason="the loss is NaN")


class CrashingFit(Whole):
    def fit(self, job: Job) -> Outcome:
        raise ZeroDivisionError("no rows")


class ByPlace(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return super().predict(job, table) + np.arange(len(table), dtype=np.float32)[:, None]


class ByBatch(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        outputs = super().predict(job, table)
        return outputs - np.asarray(outputs.mean(axis=0), np.float32)


class Sorted(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return np.sort(super().predict(job, table), axis=0)


class ReadsLabels(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return super().predict(job, table) + np.array([[label == "sad"] for label in table.column("label").to_pylist()])


class LabelsIfThere(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return super().predict(job, table) + np.float32("label" in table.column_names)


class RandomAnswers(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        outputs = super().predict(job, table)
        return outputs + np.random.normal(size=outputs.shape).astype(np.float32)


class TooFew(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return super().predict(job, table)[1:]


class NotFinite(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return super().predict(job, table) * np.nan


class Labels(Whole):
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return np.array(["glad"] * len(table))


class NoAbout(Whole):
    about = ""


class OddFields(Whole):
    recipe_fields = ("rank",)


class OddDefaults(Whole):
    recipe_defaults = {"learning_rate": 0.1}


class ParameterTwice(Whole):
    parameters = (Parameter("rank", "a rank", 1), Parameter("rank", "a rank", 2))


class ParameterWithoutIdentity(Whole):
    parameters = (Parameter("rank", "a rank", 1, at_least=1),)

    def set_parameters(self, recipe: Recipe) -> dict[str, Any]:
        return {}


class FailsWithOtherValues(Whole):
    parameters = (Parameter("rank", "a rank", 1, at_least=1),)

    def numbers(self, job: Job) -> list[float]:
        return super().numbers(job) if job.parameters["rank"] == 1 else [1 / 0]


class UnknownParameter(Whole):
    def numbers(self, job: Job) -> list[float]:
        return [job.parameters["rank"]]


class Refusing(Whole):
    def check(self, problem: Problem) -> None:
        raise RequestError("tags only")


BROKEN: dict[str, tuple[type[Whole], str]] = {
    "forgets the seed": (Unseeded, "two fits with the same seed give other outputs"),
    "seeds itself": (SeededItself, "fits with two seeds give the same outputs, since the method seeds"),
    "keeps what is learned in the object": (InTheObject, "after the method has fitted other rows"),
    "writes beside the model": (BesideTheModel, "a model folder that was moved ends in FileNotFoundError"),
    "keeps an absolute path": (AbsolutePath, "a model folder that was moved"),
    "writes nothing": (WritesNothing, "fit writes nothing to `job.model`"),
    "does not save the encoder": (WithoutTheEncoder, r"write it with `encoder.save\(job.model\)`"),
    "changes the encoder": (
        ChangesTheEncoder,
        "changes the weight 'dense.bias' of the encoder, and `trains_encoder` is",
    ),
    "gives no outcome": (GivesNothing, "fit gives None: return an `Outcome`"),
    "diverges": (Diverging, "a fit on 16 rows ends as diverged: the loss is NaN"),
    "fit crashes": (CrashingFit, r"to fit and to predict ends in ZeroDivisionError: no rows \(.*:\d+\)"),
    "outputs by the place of a row": (ByPlace, "for the same rows in another order"),
    "outputs centred over rows": (ByBatch, "for rows one by one than for all together"),
    "sorted outputs": (Sorted, "for the same rows in another order"),
    "needs labels": (ReadsLabels, "to predict rows without labels ends in KeyError"),
    "reads labels": (LabelsIfThere, "for the same rows without labels: read no labels there"),
    "predicts at random": (RandomAnswers, "predict gives other outputs in a second call"),
    "an output too few": (TooFew, "predict gives 15 outputs for 16 raw outputs"),
    "outputs that are not finite": (NotFinite, "predict gives outputs that are not finite numbers"),
    "labels in place of outputs": (Labels, "predict gives outputs that are not finite numbers: give floats"),
    "no description": (NoAbout, "`about` must be a text"),
    "unknown field": (OddFields, "`recipe_fields` names 'rank', which is none of"),
    "unknown default": (OddDefaults, "`recipe_defaults` names 'learning_rate', which is no field"),
    "parameter twice": (ParameterTwice, "the method 'whole' declares the parameter 'rank' twice"),
    "parameter is ignored": (ParameterWithoutIdentity, "the parameter 'rank' makes no difference to the fit's id"),
    "fails with other values": (FailsWithOtherValues, "other values of its parameters ends in ZeroDivisionError"),
    "reads what it does not declare": (UnknownParameter, "to fit and to predict ends in KeyError: 'rank'"),
    "refuses the sample": (Refusing, r"refuses the rows of the check \(tags only\): give check_method a problem"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_method_is_told_how(name: str, tmp_path: Path) -> None:
    kind, fault = BROKEN[name]
    with pytest.raises(PluginError, match=fault) as refusal:
        check_method(kind(), tmp_path)
    assert str(refusal.value).startswith("the method 'whole' ")


def test_a_whole_method_passes(tmp_path: Path) -> None:
    check_method(Whole(), tmp_path)


@pytest.mark.parametrize("name", ["finetune", "majority"])
def test_quick_methods_of_the_core_pass(name: str, tmp_path: Path) -> None:
    check_method(discover(installed=False).methods.find(name), tmp_path)
