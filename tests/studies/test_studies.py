"""Studies: what is refused, which fits run, and whose weights are kept."""

from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner.errors import DataError
from benchrunner.results import Runner, compared
from benchrunner.runs.predicting import predict
from benchrunner.studies.cells import Selection, selected_fit
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.other_figures import _of_log
from benchrunner.studies.planning import check_data
from benchrunner.studies.study import System
from chancy import ACCURACY, chancy, compare_rates
from inline import mood, runner, study_with


@pytest.mark.parametrize("content", [None, "text\tmood\na\tblue\n"])
def test_a_faulty_dev_file_is_reported_before_anything_is_fitted(content: str | None, tmp_path: Path) -> None:
    made, path = chancy(tmp_path), tmp_path / "data" / "mood" / "dev.tsv"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DataError, match=r"dev\.tsv"):
        compare_rates(made)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("split", ["train", "dev"])
def test_data_is_read_before_backbones_are_built(split: str, tmp_path: Path) -> None:
    made = chancy(tmp_path)
    study = compared(("words",), [made.plugins.tasks.find("mood")])
    check_data(study, made)
    (tmp_path / "data" / "mood" / f"{split}.tsv").unlink()
    with pytest.raises(DataError, match=rf"{split}\.tsv"):
        check_data(study, Runner(made.plugins, made.workspace))


@pytest.mark.parametrize(("keep", "left"), [("selected", 1), ("all", 6), ("none", 0)])
def test_keep_decides_whose_weights_stay(keep: str, left: int, tmp_path: Path) -> None:
    made = chancy(tmp_path)
    (cell,) = compare_rates(made, keep=keep).cells
    models = {path.parent.name for path in (tmp_path / "runs").glob("*/model") if (path / "tiny.safetensors").exists()}
    assert len(models) == left
    if keep == "selected":
        assert models == {selected_fit(cell).id}
    assert len(predict(selected_fit(cell), "test", made).answers) == 20, "weights that are gone are made again"


def test_a_finished_study_is_read_and_not_run_again(tmp_path: Path) -> None:
    first = as_json(compare_rates(chancy(tmp_path)))
    bad: dict[int, Any] = dict.fromkeys((0, 1, 2), ValueError("must not run"))
    assert as_json(compare_rates(chancy(tmp_path, bad))) == first


def test_a_method_without_a_backbone_is_fitted_once_for_any_grid(tmp_path: Path) -> None:
    made = runner(tmp_path)
    result = compare_rates(made, methods=("majority",))
    (cell,) = result.cells
    assert len({fit.id for fit in cell.cell.fits}) == 1
    assert cell.figures[ACCURACY].best == result.baseline[ACCURACY]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"backbones": ()}, "at least one backbone and one task"),
    ({"tasks": ()}, "at least one backbone and one task"),
    ({"methods": ("a", "a")}, "each method only once, not a, a"),
    ({"seeds": ()}, r"different numbers, at least one, not none"),
    ({"seeds": (0, 0)}, r"different numbers, at least one, not 0, 0"),
    ({"keep": "some"}, "selected, all or none, not 'some'"),
    ({"backbones": ("a", "a")}, "each backbone only once, not a, a"),
    ({"tasks": (mood(), mood())}, "each task only once, not mine/mood, mine/mood"),
    ({"selection": Selection(metric="f1")}, "mine/mood has no metric 'f1' to select by; it has accuracy, matthews"),
]


@pytest.mark.parametrize(("change", "reason"), BAD)
def test_an_impossible_study_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        study_with(**({"backbones": ("words",), "tasks": (mood(),)} | change))


def test_a_task_without_a_dev_split_cannot_be_selected_on() -> None:
    splits = {name: split for name, split in mood().splits.items() if name != "dev"}
    with pytest.raises(RequestError, match="mine/mood has no split of the role 'dev'"):
        compared(("words",), (mood(splits=splits),))


@pytest.mark.parametrize(("content", "reason"), [(None, "there is no file"), ('{"step": 1}\n', "has no 'loss'")])
def test_a_log_without_the_figure_gives_the_reason(content: str | None, reason: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    if content is not None:
        log.write_text(content)
    figure = _of_log(System("words", "words", figures=log), "loss")
    assert figure.mean.value is None and reason in figure.mean.reason
