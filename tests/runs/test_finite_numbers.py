"""A model whose losses, weights or outputs are no finite numbers is never done, predicts nothing and has no score."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from benchrunner import Recipe, Workspace
from benchrunner.backbones.backbone import OneBackbone
from benchrunner.engine import Backbone, Method, Outcome
from benchrunner.errors import BenchrunnerError, FitError
from benchrunner.fits.fit import Fit
from benchrunner.io.seals import folder_checksums
from benchrunner.methods.method import Job
from benchrunner.results import Runner, compared, run_study
from benchrunner.runs.predicting import predict
from benchrunner.studies.cells import Fitting
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner_kit.testing import WEIGHTS, TinyBackbone, TinyEncoder
from benchrunner_runs.exporting import export
from chancy import Chancy
from inline import mood, runner
from kinds_of_tasks import PROBLEMS, rows_of_kind, task_of_kind
from made_results import lines

FAR_TOO_LARGE = 1e30
"""A learning rate whose first step leaves weights that are no longer a model, while all losses that were read are."""
STEPS = Recipe(context="sentence", epochs=1, batch_size=24, warmup=0.0, bilstm_width=8, dropout=0.0)
"""Two steps over 48 rows."""
TRAINED = ("finetune", "lora", "finetune+bilstm", "features")


@dataclass(frozen=True)
class Poisoned(Backbone):
    """The tiny backbone with damaged weights."""

    damage: Callable[[TinyEncoder], None]
    name: str = "tiny/words"
    about: str = "damaged"

    def revision(self, workspace: Workspace) -> str:
        return "poisoned"

    @torch.no_grad()
    def load(self, workspace: Workspace, *, seed: int) -> TinyEncoder:
        encoder = TinyEncoder()
        self.damage(encoder)
        return encoder


def unseen_words(kind: str, value: float = float("nan")) -> Callable[[TinyEncoder], None]:
    """Damage the embeddings of the words that only dev has."""

    def damage(encoder: TinyEncoder) -> None:
        tables = [
            PROBLEMS[kind].encode(_checked(kind, seed), encoder, Recipe(context="sentence"), training=False)
            for seed in range(2)
        ]
        unseen = np.setdiff1d(tables[1].tokens, tables[0].tokens)
        assert len(unseen)
        encoder.word.weight[unseen.tolist()] = value

    return damage


def _checked(kind: str, seed: int) -> Any:
    import pyarrow as pa

    from benchrunner.data.rows import Rows

    return PROBLEMS[kind].check(Rows(pa.table(_rows(kind, seed)), "rows"), labelled=True)


def _rows(kind: str, seed: int) -> dict[str, list[Any]]:
    """Make 48 rows for training, and rows for dev in which one text has another word."""
    rows = rows_of_kind(kind, 48, 0)
    if seed:
        name = "choices" if kind == "choose" else "words" if kind == "tag" else "context" if kind == "span" else "a"
        first = rows[name][0]
        rows[name] = [[*first[:-1], "unseen"] if isinstance(first, list) else f"{first} unseen", *rows[name][1:]]
    return rows


def made(folder: Path, kind: str, damage: Callable[[TinyEncoder], None] = lambda encoder: None) -> Runner:
    """Return a runner with a task of a kind and a backbone with a damage."""

    def saved(model: Path) -> Backbone | None:
        return TinyBackbone(str(model), folder=model) if (model / WEIGHTS).is_file() else None

    task = task_of_kind(kind, rows=lambda seed: _rows(kind, seed), recipe=STEPS)
    return runner(folder, register_tasks=[task], register_backbones=[OneBackbone(Poisoned(damage), saved)])


def planned(used: Runner, kind: str, method: str, **changes: Any) -> Fit:
    task, defaults = used.plugins.tasks.find(kind), dict(used.plugins.methods.find(method).recipe_defaults)
    if method.startswith("features"):
        defaults["features"] = "last"
    return used.planner.plan(task, "words", method=method, recipe=task.recipe.changed(**{**defaults, **changes}))


def refused(used: Runner, fit: Fit) -> str:
    """Return why a fit has no score: it is not done, it cannot predict dev, and nothing of it is kept."""
    record = used.run(fit)
    if record.status == "done":
        with pytest.raises(FitError, match="finite"):
            predict(fit, "dev", used)
        record = used.run(fit)
    assert record.status in ("diverged", "failed") and "finite" in record.reason
    with pytest.raises(FitError, match="finite"):
        predict(fit, "dev", used)
    assert not list(used.folder(fit).path.glob("predictions/*")) and not list(used.folder(fit).path.glob("outputs/*"))
    return record.reason


CASES = [(kind, method) for kind in PROBLEMS for method in (*TRAINED, "probe")]
CASES = [(kind, method) for kind, method in CASES if (kind, method) != ("span", "probe")]
QUICK = {("classify", "finetune"), ("span", "finetune"), ("tag", "features"), ("regress", "lora"), ("choose", "probe")}


def table(cases: list[tuple[str, str]]) -> list[Any]:
    return [
        pytest.param(kind, method, marks=() if (kind, method) in QUICK else pytest.mark.slow, id=f"{kind}-{method}")
        for kind, method in cases
    ]


@pytest.mark.parametrize(("kind", "method"), table([case for case in CASES if case[1] in TRAINED]))
def test_a_fit_that_ends_in_nonsense_has_diverged(tmp_path: Path, kind: str, method: str) -> None:
    used = made(tmp_path, kind)
    fit = planned(used, kind, method, lr=FAR_TOO_LARGE)
    refused(used, fit)
    assert used.run(fit).status == "diverged"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("kind", "method"), table(CASES))
def test_damaged_words_that_only_dev_has_are_refused(tmp_path: Path, kind: str, method: str, value: float) -> None:
    used = made(tmp_path, kind, unseen_words(kind, value))
    assert "word.weight" in refused(used, planned(used, kind, method))


@pytest.mark.parametrize("method", ["finetune", "features", "probe"])
def test_states_that_are_too_large_are_refused(tmp_path: Path, method: str) -> None:
    """All weights are finite, and their products are not."""

    def damage(encoder: TinyEncoder) -> None:
        encoder.norm.weight.fill_(3e38)
        encoder.dense.weight.fill_(3e38)

    used = made(tmp_path, "classify", damage)
    refused(used, planned(used, "classify", method))


def test_a_saved_model_that_was_damaged_answers_nothing(tmp_path: Path) -> None:
    used = made(tmp_path, "classify")
    fit = planned(used, "classify", "finetune")
    assert used.run(fit).status == "done"
    path = used.folder(fit).model / WEIGHTS
    tensors = load_file(path)
    tensors["qkv.weight"][3, 5] = float("nan")
    save_file(tensors, path)
    with pytest.raises(BenchrunnerError, match="does not match its checksum"):
        export(fit.id, tmp_path / "exported", used)
    record = used.folder(fit).finished_record()
    assert record is not None
    used.folder(fit).keep_record(replace(record, checksums=folder_checksums(used.folder(fit).model)))
    with pytest.raises(BenchrunnerError, match=r"finite numbers: qkv\.weight"):
        export(fit.id, tmp_path / "exported", used)
    assert not (tmp_path / "exported").exists()
    with pytest.raises(FitError, match="finite"):
        predict(fit, "dev", used)
    assert used.run(fit).status == "diverged"


class Foreign(Chancy):
    """A method of a plugin that trains and predicts with code of its own."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def predict(self, job: Job, table: Any) -> np.ndarray:
        outputs = super().predict(job, table)
        outputs[table.num_rows // 2, 0] = self._value
        return outputs


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_outputs_of_a_foreign_method_are_checked(tmp_path: Path, value: float) -> None:
    used = runner(tmp_path, register_methods=[Foreign(value)], register_tasks=[mood(method="chancy")])
    fit = used.planner.plan(used.plugins.tasks.find("mood"), "words")
    assert "1 of 24 outputs" in refused(used, fit)
    assert used.run(fit).status == "diverged"


def test_minus_infinity_is_the_output_of_what_is_impossible(tmp_path: Path) -> None:
    used = runner(tmp_path, register_methods=[Foreign(-np.inf)], register_tasks=[mood(method="chancy")])
    assert predict(used.planner.plan(used.plugins.tasks.find("mood"), "words"), "dev", used).record.status == "done"


def test_a_comparison_shows_that_a_fit_diverged_and_no_score(tmp_path: Path) -> None:
    used = runner(tmp_path, register_methods=[Foreign(float("nan"))], register_tasks=[mood(method="chancy")])
    result = run_study(compared(("words",), (used.plugins.tasks.find("mood"),), Fitting(seeds=(0, 1))), used)
    (cell,) = result.cells
    assert cell.selected is None and not cell.figures
    assert [reason.split(":")[0] for reason in cell.lost.values()] == ["diverged"] * 2
    assert as_json(result)["cells"][0]["scores"] == [] and lines(as_table(result), 100)


class Hollow(Method):
    """A method that reports success although it has learned a weight that is no number."""

    name, about = "hollow", "for tests"

    def fit(self, job: Job) -> Outcome:
        from torch import nn

        from benchrunner.methods import steps

        encoder, head = steps.load_encoder(job, seed=0), nn.Linear(12, 2)
        nn.init.constant_(head.bias, float("nan"))
        steps.save(job, encoder, {"head": head})
        return Outcome()

    def predict(self, job: Job, table: Any) -> np.ndarray:
        return np.zeros((table.num_rows, 2), dtype=np.float32)


def test_weights_that_are_no_numbers_are_not_saved(tmp_path: Path) -> None:
    used = runner(tmp_path, register_methods=[Hollow()], register_tasks=[mood(method="hollow")])
    fit = used.planner.plan(used.plugins.tasks.find("mood"), "words")
    record = used.run(fit)
    assert record.status == "diverged" and "head.bias" in record.reason
    assert not used.folder(fit).model.exists()
