"""Several fits that answer together; thresholds that are tuned on dev, kept and applied."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchrunner import RequestError, Workspace
from benchrunner.command_line.main import main
from benchrunner.results import Computing, Fit, Runner, discover
from benchrunner.runs.ensembles import answer
from benchrunner.runs.predicting import decoding_settings, predict, raw_outputs
from benchrunner_submit import BoardFile, Leaderboard
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.submission_files.manifests import read_manifest
from benchrunner_submit.submissions.submission_answers import ensembles_of
from inline import METHODS, files, mood, own, plugins, runner
from trees import trees


def made_with_trees(folder: Path) -> Runner:
    found = discover(extra=[METHODS, ("own", own(register_tasks=[trees(), mood()]))], installed=False)
    return Runner(found, Workspace(folder / "runs", folder / "cache", data=folder / "data"), Computing("cpu"))


def fit(made: Runner, task: str = "trees", *, seed: int = 0) -> Fit:
    row = made.plugins.tasks.find(task)
    planned = made.planner.plan(row, "words", recipe=row.recipe, seed=seed)
    assert made.run(planned).status == "done"
    return planned


def test_a_threshold_is_tuned_on_dev_applied_recorded_and_kept(tmp_path: Path) -> None:
    made = made_with_trees(tmp_path)
    trained = fit(made)
    dev = predict(trained, "dev", made)
    tau = json.loads((dev.folder / "prediction.json").read_text())["settings"]["tau"]
    assert tau == decoding_settings(trained, made)["tau"] != 0.0
    assert any(note.startswith("tau ") and "chosen on dev for exact" in note for note in dev.record.notes)
    task = made.plugins.tasks.find("trees")
    rows = made.planner.rows(task, "dev")
    outputs = np.array(raw_outputs(trained, rows, made))
    answers = task.problem.decode(outputs, rows.table, {**task.problem.decoding, "tau": 0.0})
    best, plain = dev.record.scores["exact"].value, task.scores(rows.table, answers)["exact"].value
    assert best is not None and plain is not None and best >= plain
    assert len(list((made.folder(trained).path / "outputs").glob("*.npy"))) == 1, (
        "another threshold computes nothing again"
    )
    tested = predict(trained, "test", made)
    assert json.loads((tested.folder / "prediction.json").read_text())["settings"]["tau"] == tau
    assert decoding_settings(trained, made_with_trees(tmp_path))["tau"] == tau


def test_an_ensemble_of_copies_answers_as_the_one(tmp_path: Path) -> None:
    made = made_with_trees(tmp_path)
    one = fit(made)
    copies = answer([one.id] * 3, made, split="test")
    assert copies.answers == predict(one, "test", made).answers
    assert copies.answers == answer([one.id], made, split="test").answers


def test_an_ensemble_of_labels_means_probabilities(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fits = [fit(made, "mood", seed=seed) for seed in range(3)]
    rows = made.planner.rows(made.plugins.tasks.find("mood"), "dev")
    together = answer([one.id for one in fits], made)
    logits = [raw_outputs(one, rows, made).astype(np.float64) for one in fits]
    mean = np.mean([np.exp(one) / np.exp(one).sum(1, keepdims=True) for one in logits], axis=0)
    assert together.answers == [("glad", "sad")[at] for at in mean.argmax(1)]
    np.testing.assert_allclose(together.extra_figures["probabilities"], mean, atol=1e-6)
    assert answer([fits[0].id] * 2, made).answers == predict(fits[0], "dev", made).answers


def test_an_ensembles_identity_is_its_members_in_any_order(tmp_path: Path) -> None:
    made = runner(tmp_path)
    first, second = (fit(made, "mood", seed=seed) for seed in range(2))
    ids = [answer([one.id, other.id], made).by for one, other in ((first, second), (second, first), (first, first))]
    assert ids[0] == ids[1] != ids[2]


def test_members_of_several_tasks_or_no_members_are_refused(tmp_path: Path) -> None:
    made = made_with_trees(tmp_path)
    files(1, tmp_path / "data")
    with pytest.raises(RequestError, match=r"answer one task, not several: .*mine/mood.*mine/trees|.*mine/trees.*"):
        answer([fit(made).id, fit(made, "mood").id], made)
    with pytest.raises(RequestError, match="at least one finished run"):
        answer([], made)
    with pytest.raises(RequestError, match="There is no run 'zz'"):
        answer(["zz"], made)


def test_predict_answers_a_split_or_file_with_several_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runner(tmp_path)
    ids = [fit(made, "mood", seed=seed).id for seed in range(2)]
    (tmp_path / "mine.txt").write_text("a merry day\na bleak day\n")
    common = ["--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data"), "--device", "cpu"]

    def said(*words: str, code: int = 0) -> tuple[str, str]:
        assert main(["predict", *words, *common], plugins=plugins()) == code
        found = capsys.readouterr()
        return found.out, found.err

    out, err = said(ids[0])
    assert out.startswith("index\tprediction\n0\t") and len(out.splitlines()) == 1 + 24
    assert "mine/mood accuracy" in err and "mine/mood matthews" in err
    assert len(said(ids[0], "--split", "test")[0].splitlines()) == 1 + 20
    own_file = str(tmp_path / "mine.txt")
    assert said("--ensemble", *ids, own_file)[0] == said(own_file, "--ensemble", *ids)[0]
    assert len(said("--ensemble", *ids, own_file)[0].splitlines()) == 3
    assert "this is a folder, not a file" in said(ids[0], str(tmp_path), code=2)[1]
    for words, reason in [
        ([], "Name the run"),
        ([ids[0], own_file, own_file], "Give one file, not"),
        ([ids[0], own_file, "--split", "dev"], "give either --split or a file"),
        ([ids[0], "--board", "moods"], "say where with --out DIR"),
        ([ids[0], "--split", "nope"], "has no split 'nope'"),
    ]:
        assert reason in said(*words, code=2)[1]


def test_a_file_with_labels_is_refused_for_unlabelled_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runner(tmp_path)
    run = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    made.run(run)
    said = BoardFile("said.json", "mine/mood", "dev", 24, JsonMap("label"))
    (tmp_path / "mine.tsv").write_text("text\tmood\na merry day\tglad\n")
    words = ["--board", "said", "--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    words += ["--data", str(tmp_path / "data")]
    boards = {"register_leaderboards": [Leaderboard("said", "Said", "https://said.example", "said/", (said,))]}
    assert main(["predict", run.id, str(tmp_path / "mine.tsv"), *words], plugins=plugins(**boards)) == 2
    assert "said.json has label beside the answers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_ensemble_is_submitted_without_any_fitting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runner(tmp_path)
    ids = [fit(made, "mood", seed=seed).id for seed in range(2)]
    before = sorted(one.name for one in (tmp_path / "runs").iterdir())
    common = ["--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data"), "--out", str(tmp_path)]
    assert main(["submit", "moods", "--ensemble", *ids, *common], plugins=plugins()) == 0
    assert "moods.zip has every file" in capsys.readouterr().out
    (origin,) = read_manifest(tmp_path / "moods.zip").files
    assert (origin.fit, origin.method) == (answer(ids, made, split="test").by, "ensemble")
    assert sorted(one.name for one in (tmp_path / "runs").iterdir()) == before
    assert main(["submit", "moods", "--ensemble", "zz", *common], plugins=plugins()) == 2
    assert "There is no run 'zz'" in capsys.readouterr().err
    assert main(["submit", "moods", "--ensemble", *ids, "--lr", "1e-3", *common], plugins=plugins()) == 2
    assert "the option lr has no effect" in capsys.readouterr().err


def test_a_run_without_a_file_on_the_board_is_refused(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    made = made_with_trees(tmp_path)
    ids = [fit(made, "mood").id, fit(made).id]
    assert ensembles_of(made.plugins.leaderboards.find("moods"), ids[:1], made) == {"mine/mood": ids[:1]}
    with pytest.raises(RequestError, match=f"moods takes no answers to mine/trees, the task of the run {ids[1]}"):
        ensembles_of(made.plugins.leaderboards.find("moods"), ids, made)
