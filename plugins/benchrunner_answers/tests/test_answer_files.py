"""Files of answers as systems of a comparison: matched with task, split and seed, and tested as fits are."""

from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, DataError, Workspace
from benchrunner_answers.answer_files import AnswerFolders, files_of
from benchrunner_statistics import paired_test
from command_line import Shell
from inline import mood


def gold() -> list[str]:
    return [line.split("\t")[1] for line in Path("data/mood/dev.tsv").read_text().splitlines()[1:]]


def answers(*wrong: int) -> list[str]:
    """The right answers but for some rows."""
    swapped = {"glad": "sad", "sad": "glad"}
    return [swapped[answer] if row in wrong else answer for row, answer in enumerate(gold())]


def write(path: str, *wrong: int) -> None:
    lines = [f"{row}\t{answer}" for row, answer in enumerate(answers(*wrong))]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("\n".join(["index\tprediction", *reversed(lines)]) + "\n")


def compared(shell: Shell, *words: str) -> Any:
    words = ("compare", *words, "--tasks", "mood", *shell.folders(), "--quiet", "--device", "cpu", "--name", "it")
    return shell.json(*words, "--json")


def test_two_files_are_tested_like_fits(shell: Shell) -> None:
    write("a.tsv", 0, 1, 2)
    write("b.tsv", *range(2, 14))
    (found,) = compared(shell, "a.tsv", "b.tsv")["comparisons"]
    expected = paired_test(ACCURACY, gold(), [answers(*range(2, 14))], [answers(0, 1, 2)])
    assert (found["difference"], found["p"]) == (pytest.approx(expected.difference), expected.p)
    assert "b.tsv is worse than a.tsv" in shell.done("runs", "show", "it", *shell.folders()[2:])


def test_a_file_a_seed_is_a_restart_beside_fitted_backbones(shell: Shell) -> None:
    for seed in range(1, 4):
        write(f"ours/Mood.seed{seed}.tsv", seed, 9)
    result = compared(shell, "ours", "theirs=tiny/words", "--restarts", "2", "--lr", "0.01")
    restarts = {figure["system"]: len(figure["restarts"]) for figure in result["figures"]}
    assert restarts == {"ours": 3, "theirs": 2}
    assert not any(note["code"] == "C8" for note in result["warnings"])
    out = shell.done("share", "it", "--out", "shared", *shell.folders())
    assert "computed again" in out and "everything is equal" in shell.done("check", "shared", *shell.folders()[:2])


def test_a_changed_file_is_answered_anew(shell: Shell) -> None:
    write("a.tsv", 0)
    assert compared(shell, "a.tsv")["figures"][0]["mean"] == pytest.approx(2300 / 24)
    write("a.tsv", 0, 1)
    assert compared(shell, "a.tsv")["figures"][0]["mean"] == pytest.approx(2200 / 24)


def test_a_wrong_file_loses_its_system_alone(shell: Shell) -> None:
    write("a.tsv", 0)
    Path("b.tsv").write_text("glad\n")
    write("d/other.tsv")
    code, out, _ = shell("compare", "a.tsv", "b.tsv", "--tasks", "mood", *shell.folders(), "--quiet", "--notes")
    assert code == 1 and "b.tsv: 1 answer in the order of the rows, and " in out
    said = shell.refused("compare", "a.tsv", "d", "--tasks", "mood", *shell.folders())
    assert "d is no model (there is no config.json), and has no file of answers" in said


def test_options_of_training_are_for_what_is_trained(shell: Shell) -> None:
    write("a.tsv", 0)
    words = ("compare", "a.tsv", "--tasks", "mood", *shell.folders(), "--quiet")
    assert "no fit of this study reads it" in shell.refused(*words, "--lr", "1e-3")
    assert "answers whole splits, and no folds" in shell.refused(*words, "--folds", "3")
    assert "answers all rows of" in shell(*words, "--limit-dev", "5")[1]
    assert shell(*words, "--select-by", "matthews")[0] == 0


@pytest.mark.parametrize(
    "option",
    ["--restarts 3", "--seeds 4,5", "--method finetune", "--max-length 9", "--limit-train 5", "--until-clear 2,3"],
)
def test_options_of_fits_are_refused_beside_files_alone(shell: Shell, option: str) -> None:
    write("a.tsv", 0)
    write("b.tsv", 1)
    words = ("compare", "a.tsv", "b.tsv", "--tasks", "mood", *shell.folders())
    name = option.split()[0].removeprefix("--")
    said = shell.refused(*words, *option.split())
    assert f"The option {name} is for backbones that are fitted here: no fit of this study reads it." in said


def test_one_file_answers_one_task(shell: Shell) -> None:
    write("a.tsv", 0)
    said = shell.refused("compare", "a.tsv", "words", "--tasks", "mood", "pairs", *shell.folders())
    assert "a.tsv is one file, and 2 tasks are asked for: give a folder with a file for each task" in said
    assert "such as mood.tsv" in said


def test_a_task_without_a_file_is_named_with_its_place(shell: Shell) -> None:
    write("d/mood.tsv", 0)
    Path("data/pairs").mkdir()
    for split in ("train", "dev"):
        Path(f"data/pairs/{split}.tsv").write_text("one\ttwo\tgrade\n" + "a b\tc d\t1\ne f\tg h\t4\n")
    words = ("compare", "d", "--tasks", "mood", "pairs", *shell.folders(), "--quiet")
    code, out, _ = shell(*words)
    said = " ".join(out.split())
    assert code == 1 and "no file of answers to mine/pairs, dev, such as d/pairs.dev.tsv." in said


def test_answers_are_no_model(shell: Shell) -> None:
    write("a.tsv", 0)
    result = compared(shell, "a.tsv")
    run = result["cells"][0]["selected"]
    assert "cannot be exported" in shell.refused("runs", "export", run, "model", *shell.folders()[2:])
    assert "a.tsv holds answers and" in shell.refused("predict", run, "--split", "test", *shell.folders())


def test_a_file_of_dev_does_not_answer_test(shell: Shell) -> None:
    write("a.tsv", 0)
    path = Path("data/mood/test.tsv")
    path.write_text(Path("data/mood/dev.tsv").read_text())
    out = shell("compare", "a.tsv", "--tasks", "mood", "--split", "test", *shell.folders(), "--quiet", "--notes")[1]
    assert "a.tsv: no file of answers to mine/mood, test, such as FOLDER/mood.test.tsv." in out


def test_names_say_task_split_and_seed(tmp_path: Path) -> None:
    names = (
        "SST-2.tsv",
        "sst2.test.csv",
        "en/sst2/predictions.txt",
        "glue-sst2.seed7.tsv",
        "samples_sst2_2026-11-29T13-19-43.05.jsonl",
        "other.tsv",
    )
    task = mood(name="glue/sst2", title="SST-2")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        found = {str(path.relative_to(tmp_path)) for path in files_of(tmp_path, task, "dev").values()}
        assert found == ({name} if name in names[:1] + names[3:5] else set())
        assert list(files_of(tmp_path, task, "test")) == ([0] if name == "sst2.test.csv" else [])
        (tmp_path / name).unlink()
    for name in ("sst2.tsv", "SST-2.dev.tsv"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"both answer glue/sst2, dev. Keep one of them."):
        files_of(tmp_path, task, "dev")


@pytest.mark.parametrize("name", ["config.json", "step-4/vocab.txt", "model/pytorch_model.bin"])
def test_a_folder_with_files_of_a_model_holds_no_answers(tmp_path: Path, name: str) -> None:
    (tmp_path / "log.jsonl").touch()
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache")
    assert AnswerFolders().find(str(tmp_path), workspace) is not None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert AnswerFolders().find(str(tmp_path), workspace) is None
