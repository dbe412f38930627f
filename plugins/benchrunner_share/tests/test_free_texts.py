"""What nobody can compute: names, dates, seconds and numerics are checked as data, and copies are remarked on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from board_folders import TASKS, Folders
from shared_folders import SharedFolder

from benchrunner import RequestError
from benchrunner.results import compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_share.board.building import build_board
from benchrunner_share.share import share_study

CLAIMED: dict[str, tuple[dict[str, object], str]] = {
    "the year 9999": ({"answered": "9999-12-31T23:59:59+00:00"}, "no date and time at which answers were given"),
    "tomorrow's tomorrow": ({"answered": "2999-01-01T00:00:00+00:00"}, "no date and time at which answers were given"),
    "a time without a zone": ({"answered": "2025-01-01T00:00:00"}, "no date and time at which answers were given"),
    "no name": ({"name": " "}, "The name of a shared study is empty"),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_claims_that_cannot_be_are_refused(name: str, folder: SharedFolder) -> None:
    values, reason = CLAIMED[name]
    folder.edit("study.json", lambda study: study.update(values))
    folder.deceive()
    with pytest.raises(RequestError, match=reason):
        folder.verification()


COMPUTED: dict[str, tuple[Callable[[Any], object], str]] = {
    "line breaks": (lambda fit: fit["numerics"].update(device="a\nb"), "line breaks or characters that do not print"),
    "direction marks": (lambda fit: fit["numerics"].update({"a\u202eb": 1}), "characters that do not print"),
    "a supplier on two lines": (lambda fit: fit["fit"]["suppliers"].update({"a\nb": "1"}), ""),
    "negative seconds": (lambda fit: fit["timings"].update(seconds=-8e300), "timings are seconds by name"),
    "seconds of a million years": (lambda fit: fit["timings"].update(seconds=3e13), "timings are seconds by name"),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_how_a_fit_was_computed_is_checked_as_data(name: str, folder: SharedFolder) -> None:
    change, reason = COMPUTED[name]
    fit, _ = folder.selected()
    folder.edit(f"fits/{fit}.json", change)
    folder.deceive()
    assert reason in folder.differences() != ""


def test_one_training_shown_as_two_restarts_is_a_remark(folder: SharedFolder) -> None:
    study = folder.read("study.json")
    cell = study["result"]["cells"][0]
    first, second = (fit for fit in cell["candidates"][0]["fits"] if fit not in cell["lost"])
    seconds = folder.read(f"fits/{first}.json")["timings"]
    folder.edit(f"fits/{second}.json", lambda fit: fit.update(timings=seconds))
    of_first, of_second = (study["predictions"][fit]["mine/mood"]["dev"] for fit in (first, second))
    shutil.copy(
        folder.path / f"predictions/{of_first}.answers.jsonl", folder.path / f"predictions/{of_second}.answers.jsonl"
    )
    assert "have equal answers and seconds: one training may be shown as two." in "\n".join(
        folder.verification().remarks
    )


def renamed(folder: SharedFolder, change: Callable[[str], str]) -> None:
    """Change a name in all files, and make everything agree with it."""
    for part in ("every_eval_ever", "hub"):
        shutil.rmtree(folder.path / part, ignore_errors=True)
    for path in folder.path.rglob("*.json"):
        path.write_text(change(path.read_text()))
    folder.deceive()


def built(folders: Folders, results: Path, site: Path) -> Any:
    return build_board(results, site, folders.runner.plugins, folders.runner.workspace)


@pytest.mark.parametrize("name", ["", "majority", "made/pairs"])
def test_a_board_has_no_system_named_as_something_else(name: str, folders: Folders, tmp_path: Path) -> None:
    results = Path(shutil.copytree(folders.results, tmp_path / "results"))
    forged = SharedFolder(results / "folder-2", folders.runner)
    renamed(forged, lambda text: text.replace('"lab/poor"', json.dumps(name)))
    [refused] = built(folders, results, tmp_path / "site").refused
    assert refused.reason == f"no system can be called '{name}', which tables use for something else."


def test_a_system_of_two_backbones_is_refused(folders: Folders, tmp_path: Path) -> None:
    """Another backbone for each task would be ranked as the first."""
    results = Path(shutil.copytree(folders.results, tmp_path / "results"))
    study = compared(["lab/poor"], TASKS, Fitting(seeds=(0, 1, 2)))
    first, second = study.cells
    study = replace(study, cells=(first, replace(second, backbone="lab/good")))
    result = run_study(study, folders.runner, show_progress=False)
    shutil.rmtree(results / "folder-2")
    share_study(result, results / "folder-2", folders.runner, name="mixed", report=False)
    [refused] = built(folders, results, tmp_path / "site").refused
    assert refused.reason.startswith("its system 'lab/poor' is two backbones, 'lab/poor' and 'lab/good': share each as")


def test_a_copy_under_another_name_is_remarked_on(folders: Folders, tmp_path: Path) -> None:
    results = Path(shutil.copytree(folders.results, tmp_path / "results"))
    shutil.copytree(results / "folder-2", results / "folder-9")
    renamed(SharedFolder(results / "folder-9", folders.runner), lambda text: text.replace('"lab/poor"', '"lab/mine"'))
    assert not built(folders, results, tmp_path / "site").refused
    of_folders = {
        folder["name"]: folder["remarks"]
        for folder in json.loads((tmp_path / "site/board.json").read_text())["folders"]
    }
    assert of_folders["folder-9"][-1] == "Fits have the answers and seconds of fits of folder-2: they may be copies."
    assert of_folders["folder-0"] == of_folders["folder-2"]
