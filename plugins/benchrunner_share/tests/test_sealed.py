"""Sealed tests: the sender answers rows without labels, and whoever has the labels scores the answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import fmean

import pytest
from sealed_data import answered, gold, owner, sealed_task, sender, write_gold
from shared_folders import SharedFolder

from benchrunner_share.share import share_study
from benchrunner_share.verifying.verify import OpenedScore
from command_line import Shell
from inline import plugins


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A folder that a sender without labels of the test split shared, with the runner of the owner."""
    folder = tmp_path_factory.mktemp("sealed")
    made = sender(folder / "sender")
    share_study(answered(made), folder / "shared", made, name="moods", report=True)
    return SharedFolder(folder / "shared", owner(folder / "owner", made))


def right(folder: SharedFolder) -> list[float]:
    """Return the share of right answers to test of each restart, without the code under test."""
    study = folder.read("study.json")
    [cell] = study["result"]["cells"]
    shares = []
    for fit in cell["candidates"][0]["fits"]:
        prediction = study["predictions"][fit]["mine/mood"]["test"]
        lines = (folder.path / f"predictions/{prediction}.answers.jsonl").read_text().splitlines()
        answers = [json.loads(line)["answer"] for line in lines]
        shares.append(fmean(float(label == answer) for label, answer in zip(gold(), answers, strict=True)))
    return shares


def opened(folder: SharedFolder) -> OpenedScore:
    """Verify the folder with the owner's labels, and return the accuracy on test."""
    verification = folder.verification()
    assert verification.is_equal, verification.differences
    [accuracy] = [score for score in verification.opened if score.metric == "accuracy"]
    return accuracy


def test_the_owner_scores_answers_given_without_labels(sealed: SharedFolder) -> None:
    wanted = right(sealed)
    score = opened(sealed)
    assert (
        len(set(wanted)) == 2
        and score.figure.values == pytest.approx(wanted)
        and score.figure.mean.value == pytest.approx(fmean(wanted))
    )
    assert (score.system, score.task, score.split) == ("words", "mine/mood", "test")
    most = max(gold().count(label) for label in set(gold())) / len(gold())
    assert score.majority in (pytest.approx(most), pytest.approx(1 - most))


def test_a_sealed_folder_has_no_scores_of_its_test(sealed: SharedFolder) -> None:
    study = sealed.read("study.json")
    [cell] = study["result"]["cells"]
    assert {score["split"] for score in cell["scores"]} == {"dev"} and "a score is absent" not in cell["warnings"]
    assert study["data"]["mine/mood"]["test"]["sealed"] is True and cell["tests"] == ["test"]
    assert set(study["data"]["mine/mood"]["test"]["columns"]) == {"a"}
    assert "Sealed: mine/mood (test)." in (sealed.path / "README.md").read_text()
    texts = (sealed.runner.workspace.data / "mood/test.tsv").read_text().splitlines()[1:]  # type: ignore[operator]
    written = "".join(path.read_text() for path in sealed.path.rglob("*") if path.is_file())
    assert not [text for text in texts if text in written]


def test_without_labels_a_sealed_folder_is_equal_and_not_scored(sealed: SharedFolder, tmp_path: Path) -> None:
    other = sender(tmp_path)
    verification = sealed.verification(workspace=other.workspace)
    assert verification.is_equal and verification.opened == ()
    assert verification.sealed == ("mine/mood (test)",)


def test_answers_to_other_rows_are_refused(sealed: SharedFolder, tmp_path: Path) -> None:
    other = owner(tmp_path, sealed.runner)
    path = tmp_path / "data/mood/test_gold.tsv"
    first, second, third, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first, third, second, *rest]) + "\n")
    differences = sealed.differences(workspace=other.workspace)
    assert "mine/mood (test): the answers are to another revision of the data than" in differences
    assert "columns that differ: 'a'" in differences


def test_other_labels_change_the_score_alone(sealed: SharedFolder, tmp_path: Path) -> None:
    other = owner(tmp_path, sealed.runner)
    path = tmp_path / "data/mood/test_gold.tsv"
    swapped = path.read_text().replace("\tglad\n", "\t\0\n").replace("\tsad\n", "\tglad\n").replace("\t\0\n", "\tsad\n")
    path.write_text(swapped)
    score = opened(SharedFolder(sealed.path, other))
    assert score.figure.mean.value == pytest.approx(1 - fmean(right(sealed)))


def test_forged_answers_to_a_sealed_test_are_refused(sealed: SharedFolder, tmp_path: Path) -> None:
    study = sealed.read("study.json")
    fit = study["result"]["cells"][0]["selected"]
    name = f"predictions/{study['predictions'][fit]['mine/mood']['test']}.answers.jsonl"
    edits = {
        "was changed after the folder was written": lambda lines: [lines[0].replace("glad", "sad"), *lines[1:]],
        "wrong number of rows: 19 answers, and the data here has 20 rows": lambda lines: lines[:-1],
        "the answer 'merry' is edited or damaged": lambda lines: [lines[0].replace("glad", "merry"), *lines[1:]],
    }
    for number, (reason, edit) in enumerate(edits.items()):
        forged = sealed.copy(tmp_path / str(number))
        path = forged.path / name
        lines = path.read_text().splitlines()
        path.write_text("\n".join(edit(lines)) + "\n")
        assert reason in forged.differences()


def test_scores_that_no_sender_can_know_are_refused(sealed: SharedFolder, tmp_path: Path) -> None:
    forged = sealed.copy(tmp_path / "forged")

    def claim(study: dict[str, object]) -> None:
        cell = study["result"]["cells"][0]  # type: ignore[index]
        cell["scores"].append({**cell["scores"][0], "split": "test", "mean": 1.0})

    assert "'     },' stands there, and the facts say '     }'." in forged.deceptive_differences(claim)


def test_dev_cannot_be_sealed(sealed: SharedFolder, tmp_path: Path) -> None:
    forged = sealed.copy(tmp_path / "forged")
    found = forged.deceptive_differences(lambda study: study["data"]["mine/mood"]["dev"].update(sealed=True))
    assert "mine/mood (dev): only the answers to a test split are sealed, and only without labels." in found


def test_a_direct_evaluation_gives_the_same_figure(shell: Shell) -> None:
    """The sender fine-tunes and shares; the owner verifies; then the same fits are scored where the labels are."""
    shell.plugins = plugins(register_tasks=[sealed_task(recipe=sealed_task().recipe.changed(lr=1e-3))])
    words = ("compare", "words", "--method", "finetune", "--tasks", "mood", "--split", "test", "--restarts", "2")
    words = (*words, "--keep", "all", "--name", "moods", "--device", "cpu", "--quiet")
    shell.done(*words, *shell.folders())
    out = shell.done("share", "moods", "--out", "shared", *shell.folders())
    assert "The answers to mine/mood (test) are sealed" in out
    shutil.copytree(shell.folder / "data", shell.folder / "owned")
    write_gold(shell.folder / "owned")
    data = ("--data", str(shell.folder / "owned"))
    verified = shell.json("check", "shared", *data)
    out = shell.done("check", "shared", *data)
    direct = shell.json(*words, *data, "--runs", str(shell.folder / "runs"))
    scores = {score["metric"]: score for score in direct["cells"][0]["scores"] if score["split"] == "test"}
    assert {score["metric"] for score in verified["opened"]} == set(scores) == {"accuracy", "matthews"}
    for score in verified["opened"]:
        assert score["figure"]["mean"]["value"] == pytest.approx(scores[score["metric"]]["mean"]["value"], abs=1e-12)
        assert f"words on mine/mood (finetune), test {score['metric']}: " in out
