"""Identity: everything that changes a result changes the id, and nothing else does."""

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Classify
from benchrunner.fits.fit import Fit, Prediction
from benchrunner.io.decoding import from_json
from benchrunner.io.identity import identity
from benchrunner.io.json_form import as_json
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.plugins.distributions import Plugin
from benchrunner.results import Plugins, Runner, discover
from benchrunner_kit.testing import TinyBackbone
from benchrunner_kit.testing.method_checks import another
from inline import QUICK, mood, own, runner

FIT = Fit(
    task="mine/mood",
    backbone="tiny/words",
    method="finetune",
    recipe=Recipe(),
    seed=0,
    data="d",
    problem={"kind": "classify", "labels": ["glad", "sad"]},
    revision="r",
    suppliers={"core (benchrunner)": "1"},
)


def test_names_are_no_part_of_a_fits_identity() -> None:
    renamed = dataclasses.replace(FIT, task="other/name", backbone="/some/path")
    assert renamed.id == FIT.id


@pytest.mark.parametrize(
    "change",
    [
        {"method": "other"},
        {"seed": 1},
        {"data": "e"},
        {"problem": {"kind": "classify", "labels": ["sad", "glad"]}},
        {"revision": "s"},
        {"suppliers": {"core (benchrunner)": "2"}},
        *({"recipe": Recipe(**{name: value})} for name, value in {"lr": 1.0, "epochs": 4, "precision": "bf16"}.items()),
    ],
    ids=str,
)
def test_everything_that_training_sees_is(change: dict[str, Any]) -> None:
    assert dataclasses.replace(FIT, **change).id != FIT.id


def test_every_field_of_a_recipe_is_part_of_the_identity() -> None:
    fit = dataclasses.replace(FIT, recipe=Recipe(limit_train=7))
    others = {"limit_train": 9, "bilstm_width": 64}
    for name, field in RECIPE_FIELDS.items():
        changed = fit.recipe.changed(**{name: others.get(name, another(field))})
        assert dataclasses.replace(fit, recipe=changed).id != fit.id, name
    assert dataclasses.replace(fit, recipe=fit.recipe.changed(**{"a.b": 1})).id != fit.id


def test_values_that_are_the_defaults_are_left_out() -> None:
    assert as_json(FIT)["recipe"] == {}
    assert as_json(dataclasses.replace(FIT, recipe=Recipe(lr=2e-5, dropout=0.0, clip=1)))["recipe"] == {
        "lr": 2e-5,
        "dropout": 0.0,
    }


def test_a_fit_is_the_same_after_a_way_through_json() -> None:
    copy = from_json(Fit, json.loads(json.dumps(as_json(FIT))), "fit.json")
    assert (copy, copy.id) == (FIT, FIT.id)


def test_an_identity_does_not_depend_on_the_order_of_keys() -> None:
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1}) != identity({"a": 2, "b": 1})


def test_a_prediction_id_depends_on_each_of_its_fields() -> None:
    prediction = Prediction("f", "mine/task", "s", "d", {})
    changes = [{"fit": "g"}, {"task": "mine/other"}, {"split": "t"}, {"data": "e"}, {"settings": {"tau": 1.0}}]
    ids = {prediction.id, *(replace(prediction, **change).id for change in changes)}  # type: ignore[arg-type]
    assert len(ids) == 6


def planned(folder: Path, **hooks: Any) -> str:
    fit_runner = runner(folder, **hooks)
    return fit_runner.planner.plan(
        fit_runner.plugins.tasks.find("mood"), next(iter(fit_runner.plugins.backbones)), recipe=QUICK
    ).id


def test_the_same_request_is_the_same_fit_wherever_the_files_lie(tmp_path: Path) -> None:
    assert planned(tmp_path / "here") == planned(tmp_path / "there")


def test_other_rows_labels_or_weights_are_another_fit(tmp_path: Path) -> None:
    first = planned(tmp_path)
    data = tmp_path / "data" / "mood" / "train.tsv"
    fit_runner = runner(tmp_path)
    data.write_text(data.read_text().replace("river", "rivers", 1))
    assert fit_runner.planner.plan(fit_runner.plugins.tasks.find("mood"), "words", recipe=QUICK).id != first
    relabelled = planned(tmp_path / "other", register_tasks=[mood(problem=Classify(("sad", "glad")))])
    assert relabelled != first

    class Newer(TinyBackbone):
        def revision(self, workspace: Any) -> str:
            return "tiny 2"

    from benchrunner.engine import OneBackbone

    assert planned(tmp_path / "newer", register_backbones=[OneBackbone(Newer(), lambda folder: None)]) != first


def test_renaming_the_task_and_backbone_leaves_the_fit_the_same(tmp_path: Path) -> None:
    from benchrunner_kit.testing import tiny_family

    renamed = {"register_tasks": [mood(name="other/mood")], "register_backbones": [tiny_family("other/words")]}
    assert planned(tmp_path / "one") == planned(tmp_path / "two", **renamed)


def test_a_fit_depends_on_the_versions_of_the_plugins_it_uses(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)

    def with_versions(own_version: str, idle_version: str) -> str:
        plugins: Plugins = discover(installed=False)
        plugins.add(Plugin("own", "own", lambda: own_version), own())
        plugins.add(
            Plugin("idle", "idle", lambda: idle_version), own(register_tasks=[mood(name="a/b")], register_backbones=[])
        )
        return Runner(plugins, fit_runner.workspace).planner.plan(plugins.tasks.find("mood"), "words").id

    first = with_versions("1", "1")
    assert with_versions("2", "1") != first
    assert with_versions("1", "2") == first, "a plugin without a part in it changes nothing"


def test_only_a_limit_below_the_row_count_changes_the_data(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task = fit_runner.plugins.tasks.find("mood")
    fits = {
        limit: fit_runner.planner.plan(task, "words", recipe=QUICK.changed(limit_train=limit))
        for limit in (None, 9999, 10)
    }
    assert fits[None].data == fits[9999].data != fits[10].data


def test_majority_has_one_fit_for_every_backbone_and_seed(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path)
    task = fit_runner.plugins.tasks.find("mood")
    first = fit_runner.planner.plan(task, "words", method="majority", seed=0)
    second = fit_runner.planner.plan(task, "tiny/words", method="majority", seed=5, recipe=QUICK)
    assert first.id == second.id
