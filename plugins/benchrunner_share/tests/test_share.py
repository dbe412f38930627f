"""Shared folders as they are written: what is in them, what is left out, and what is not overwritten."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shared_folders import SharedFolder

from benchrunner import Metric, RequestError, RowsFrom, Split, Task
from benchrunner.engine import Outcome
from benchrunner.errors import BenchrunnerError, FitError
from benchrunner.io.seals import read_sealed, write_sealed
from benchrunner.results import Computing, Runner, comparison, run_study
from benchrunner.studies.cells import selected_fit
from benchrunner.studies.result import Result
from benchrunner_kinds import MultiLabel
from benchrunner_kit.testing import TinyBackbone
from benchrunner_share.private_texts import Private
from benchrunner_share.share import Shared, _names, share_study
from benchrunner_share.shared_report import shared_result
from benchrunner_share.verifying.verify import verify_folder
from benchrunner_tasks import f1_micro
from chancy import chancy
from inline import mood, runner, study_with


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def study(made: Runner, *backbones: str, **changes: Any) -> Result:
    return run_study(study_with(backbones or ("words",), tuple(made.plugins.tasks.values()), **changes), made)


def share(result: Result, out: Path, made: Runner, **changes: Any) -> Shared:
    """Share a study, without a report unless a test asks for one: the report takes most of the time."""
    return share_study(result, out, made, **({"report": False} | changes))


def test_no_text_of_the_data_is_shared(original: SharedFolder) -> None:
    data = original.runner.workspace.data
    assert data is not None
    lines = (data / "mood" / "dev.tsv").read_text().splitlines()[1:]
    written = "\n".join(texts(original.path).values())
    assert not [line for line in lines if line.split("\t")[0] in written]
    answers = next(text for name, text in texts(original.path).items() if name.endswith(".jsonl"))
    assert [set(json.loads(line)) for line in answers.splitlines()] == [{"index", "answer"}] * 24


def test_no_name_of_the_machine_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backbone's folder, a failed fit's reason and the numerics of a record name folders and the machine."""
    monkeypatch.setattr(platform, "node", lambda: "secret-machine")
    error = RuntimeError(f"no space in {tmp_path}/private/x on secret-machine: 'row text'")
    made = chancy(tmp_path, endings={1: error})
    folder = tmp_path / "home" / "alice" / "my model"
    folder.mkdir(parents=True)
    TinyBackbone().load(made.workspace, seed=0).save(folder)
    result = study(made, str(folder), seeds=(0, 1))
    for path in made.workspace.runs.glob("*/record.json"):
        record = read_sealed(path, "")
        record["numerics"] |= {"device_name": f"a GPU of secret-machine, driver in {tmp_path}/drivers/7"}
        write_sealed(path, record)
    share(result, tmp_path / "shared", made, name="planted")
    written = texts(tmp_path / "shared")
    for name, text in written.items():
        for private in (str(tmp_path), "alice", "secret-machine", "row text", str(Path.home())):
            assert private not in text, name
            assert private not in name
    content = json.loads(written["study.json"])
    [cell] = content["result"]["cells"]
    assert cell["backbone"] == "my model"
    [(status, reason)] = cell["lost"].values()
    assert status == "failed" and reason.startswith("RuntimeError: no space in x on this machine: '…' (tests/")
    assert "a GPU of this machine, driver in 7" in "".join(written.values())


def test_metrics_of_probabilities_are_verified(tmp_path: Path) -> None:
    """The figures that such metrics are computed from are shared beside the answers."""
    sureness = Metric.of_rows("sureness", lambda label, given: given[label == "sad"], computed_from="probabilities")
    task = mood(metrics=(*mood().metrics, sureness))
    made = runner(tmp_path, register_tasks=[task])
    shared = share(study(made), tmp_path / "shared", made)
    assert shared.verification.is_equal
    [first, *_] = [text for name, text in texts(shared.folder).items() if name.endswith(".jsonl")]
    line = json.loads(first.splitlines()[0])
    assert len(line["figures"]["probabilities"]) == 2
    for path in (shared.folder / "predictions").glob("*.answers.jsonl"):
        path.write_text(path.read_text().replace('"probabilities": [', '"probabilities": [0.5, '))
    assert not verify_folder(shared.folder, made.plugins, made.workspace).is_equal


def test_a_folder_of_the_user_is_never_replaced(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result, out = study(made), tmp_path / "out"
    out.mkdir()
    share(result, out, made)  # an empty folder
    share(result, out, made)  # the same shared folder
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RequestError, match=r"has other files, such as notes.txt. Name a new folder"):
        share(result, out, made)
    assert (out / "notes.txt").read_text() == "mine"
    with pytest.raises(RequestError, match="this is a file; name a folder"):
        share(result, out / "notes.txt", made)
    with pytest.raises(RequestError, match="begins with https://"):
        share(result, tmp_path / "new", made, url="ftp://x")


def test_equal_studies_give_equal_folders(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made, seeds=(0, 1))
    for name in ("first", "second"):
        share(result, tmp_path / name, chancy_of(made), name="same", report=True)
    first, second = texts(tmp_path / "first"), texts(tmp_path / "second")
    assert [name for name in {*first, *second} if first.get(name) != second.get(name)] == []


def test_a_folder_has_the_date_of_its_newest_answers(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made, seeds=(0, 1))
    newest = selected_fit(result.cells[0]).id
    for path in made.workspace.runs.glob("*/predictions/*/record.json"):
        date = 1_736_928_000 if path.parts[-4] == newest else 1_700_000_000
        os.utime(path, (date, date))
    share(result, tmp_path / "shared", made)
    assert json.loads(texts(tmp_path / "shared")["study.json"])["answered"] == "2025-01-15T08:00:00+00:00"


def test_other_contents_are_replaced_only_by_force(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    older = share(study(made), tmp_path / "out", made).verification.fingerprint
    further = study(made, seeds=(0, 1))
    with pytest.raises(RequestError, match=rf"has other contents, with the fingerprint {older}. Name a new"):
        share(further, tmp_path / "out", made)
    assert verify_folder(tmp_path / "out", made.plugins, made.workspace).fingerprint == older
    newer = share(further, tmp_path / "out", made, force=True).verification.fingerprint
    assert newer != older
    assert verify_folder(tmp_path / "out", made.plugins, made.workspace).fingerprint == newer


def test_a_score_that_does_not_follow_is_not_shared(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made)
    fit = selected_fit(result.cells[0])
    [path] = (made.workspace.runs / fit.id / "predictions").glob("*/record.json")
    record = read_sealed(path, "")
    record["scores"]["accuracy"]["value"] = 0.99
    write_sealed(path, record)
    with pytest.raises(BenchrunnerError, match=r"(?s)Nothing was written, because.*'mean': 0.99.*in the study"):
        share(study(chancy_of(made)), tmp_path / "shared", made)
    assert not (tmp_path / "shared").exists()


def test_answers_to_older_data_are_not_shared(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made)
    path = tmp_path / "data" / "mood" / "dev.tsv"
    path.write_text(path.read_text().replace("day", "night"))
    with pytest.raises(FitError, match=r"has no kept answers to mine/mood \(dev\) as .*dev.tsv is now"):
        share(result, tmp_path / "shared", chancy_of(made))


def chancy_of(made: Runner) -> Runner:
    """Return a runner of the same folders that has loaded nothing yet."""
    return Runner(made.plugins, made.workspace, Computing("cpu"))


def test_nothing_is_fitted_or_predicted(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made)

    def dates() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in made.workspace.runs.rglob("*") if path.is_file()}

    before = dates()
    share(result, tmp_path / "shared", chancy_of(made))
    assert dates() == before


def test_two_backbones_of_one_name_stay_apart(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name / "best").mkdir(parents=True)
        TinyBackbone().load(made.workspace, seed=0).save(tmp_path / name / "best")
    result = study(made, str(tmp_path / "a" / "best"), str(tmp_path / "b" / "best"))
    shared = share(result, tmp_path / "shared", made)
    assert shared.verification.is_equal
    content = json.loads((shared.folder / "study.json").read_text())
    assert [cell["backbone"] for cell in content["result"]["cells"]] == ["best", "best-2"]


def test_lists_of_labels_are_verified(tmp_path: Path) -> None:
    def rows(workspace: object) -> dict[str, list[object]]:
        return {"a": ["sunny day", "rainy day", "a walk"] * 4, "labels": [["glad"], ["sad", "wet"], []] * 4}

    labels = ("glad", "sad", "wet")
    splits = {role: Split(role, (RowsFrom(rows),)) for role in ("train", "dev")}  # type: ignore[arg-type]
    task = Task("mine/tags", "Which?", MultiLabel(labels), splits, (f1_micro(labels),), recipe=mood().recipe)
    made = runner(tmp_path, register_tasks=[task], register_leaderboards=[])
    assert share(study(made), tmp_path / "shared", made).verification.is_equal


def data_texts(made: Runner) -> list[str]:
    data = made.workspace.data
    assert data is not None
    return [line.split("\t")[0] for line in (data / "mood" / "dev.tsv").read_text().splitlines()[1:]]


def test_a_report_has_no_texts_and_no_private_names(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    folder = tmp_path / "alice" / "model"
    folder.mkdir(parents=True)
    TinyBackbone().load(made.workspace, seed=0).save(folder)
    shared = share(study(made, "words", str(folder)), tmp_path / "shared", made, report=True)
    page = (shared.folder / "report.html").read_text()
    assert ">model<" in page and "alice" not in page and str(tmp_path) not in page
    assert not [text for text in data_texts(made) if text in page]
    remarks = verify_folder(shared.folder, made.plugins, made.workspace).remarks
    assert "report.html was not verified: its figures and pictures are the sender's." in remarks
    (shared.folder / "report.html").write_text("<p>99.9</p>")
    [difference] = verify_folder(shared.folder, made.plugins, made.workspace).differences
    assert difference == "'report.html' was changed after the folder was written."


def test_arms_and_contrasts_have_the_names_that_are_shared(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made)
    private = Private(made.workspace)
    system = replace(result.study.systems[0], arm="/home/alice/long")
    contrasts = (("/home/alice/long", system.name),)
    asked = replace(result, study=replace(result.study, systems=(system,), contrasts=contrasts))
    shared = shared_result(asked, private, _names(asked, made, private))
    assert list(shared.study.arms) == ["long"]
    assert shared.study.contrasts == (("long", system.name),)


def test_costs_are_shared_without_private_names(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    folder = tmp_path / "alice" / "model"
    folder.mkdir(parents=True)
    TinyBackbone().load(made.workspace, seed=0).save(folder)
    result = study(made, "words", str(folder))
    costs = tuple(comparison.Cost(name, "speed", "tokens/s", 5.0, note=f"{name} ties") for name in result.study.names)
    shared = share(replace(result, costs=costs), tmp_path / "shared", made, report=True)
    page = (shared.folder / "report.html").read_text()
    assert "speed: model ties" in page and "alice" not in page


def test_a_learning_curve_is_shared_with_its_rows(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    changes = {"lr": 4}
    result = study(made, changes=changes, seeds=(0, 1, 2), limits=(8, None))
    shared = share(result, tmp_path / "shared", made, report=True)
    assert shared.verification.is_equal
    cells = json.loads((shared.folder / "study.json").read_text())["result"]["cells"]
    rows = [point["rows"] for cell in cells for point in cell["candidates"]]
    assert rows[0] == 8 and rows[1] == len(made.planner.rows(result.study.tasks[0], "train"))
    (shared.folder / "study.json").write_text(
        (shared.folder / "study.json").read_text().replace('"rows": 8', '"rows": 9')
    )
    differences = verify_folder(shared.folder, made.plugins, made.workspace).differences
    assert any("learned from 8 rows, and 9 are claimed" in difference for difference in differences)


def test_the_line_of_a_private_backbone_has_its_shared_name(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made)
    system = replace(result.study.systems[0], backbone="/home/alice/long", name="/home/alice/long (8 rows)",
                     series="/home/alice/long", at=8)  # fmt: skip
    asked = replace(result, study=replace(result.study, systems=(system,)), cells=())
    names = _names(asked, made, Private(made.workspace))
    assert (names[system.series], names[system.name]) == ("long", "long (8 rows)")


def test_rows_are_shared_on_request(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    shared = share(study(made), tmp_path / "shared", made, report=True, with_rows=True)
    page = (shared.folder / "report.html").read_text()
    assert [text for text in data_texts(made) if text in page]
    assert not [text for text in data_texts(made) if text in (shared.folder / "study.json").read_text()]


def test_a_name_of_the_machine_that_stays_stops_the_writing(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    with pytest.raises(BenchrunnerError, match=r"Nothing was written: study.json would hold '.*runs'"):
        share(study(made), tmp_path / "shared", made, url=f"https://example.org?at={made.workspace.runs}")
    assert not (tmp_path / "shared").exists()


def test_warnings_and_the_majority_stand_in_every_document(tmp_path: Path) -> None:
    """What the terminal's table says of a figure, readers of all other documents must know too."""
    made = chancy(tmp_path, endings={1: Outcome("diverged", "the loss is nan")})
    result = study(made, changes={"lr": 4, "limit_train": 30}, seeds=(0, 1, 2))
    share(result, tmp_path / "shared", made, report=True)
    written = texts(tmp_path / "shared")
    warnings = [
        "no better than majority in some restarts",
        "some fits have no scores",
        "limited to 30 random training rows",
    ]
    [cell] = json.loads(written["study.json"])["result"]["cells"]
    assert cell["warnings"] == warnings and cell["scores"][0]["majority"] == 9 / 24
    [log] = [name for name in written if name.startswith("every_eval_ever/")]
    for name in ("README.md", "report.html", log):
        assert [warning for warning in warnings if warning not in written[name]] == [], name
        assert "37.5" in written[name], name


def test_names_cannot_add_lines_or_markup(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    (tmp_path / "a|`b` [x]#").mkdir()
    TinyBackbone().load(made.workspace, seed=0).save(tmp_path / "a|`b` [x]#")
    shared = share(study(made, str(tmp_path / "a|`b` [x]#")), tmp_path / "shared", made)
    written = texts(shared.folder)
    assert r"| a\|\`b\` \[x\]\# | mine/mood" in written["README.md"]
    with pytest.raises(RequestError, match="line breaks or characters that do not print"):
        share(study(made), tmp_path / "other", made, name="moods\n# 98.70")
