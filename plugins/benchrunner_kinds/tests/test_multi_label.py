"""MultiLabel: lists of labels checked, the loss against torch's module, thresholds, files, and every method."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import Split, Task, TextTable
from benchrunner.backbones.export_kind import ExportKind
from benchrunner.data.rows import Rows
from benchrunner.errors import DataError, PluginError, Undefined
from benchrunner.metrics import Metric
from benchrunner.metrics.metric import ACCURACY, EXACT_MATCH
from benchrunner.parameters.recipes import Recipe
from benchrunner_kinds.multi_label import THRESHOLDS, MultiLabel
from benchrunner_kit.testing import TinyEncoder, check_task, sentences
from benchrunner_submit import BoardFile, LabelList, Labels, Leaderboard
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_tasks import f1_micro
from command_line import CommandLine
from inline import plugins

MOODS = MultiLabel(("glad", "sad", "calm"))
NO_TABLE = pa.table({})


def checked(problem: MultiLabel = MOODS, *, labelled: bool = True, **columns: list[Any]) -> pa.Table:
    return problem.check(Rows(pa.table(columns), "f.tsv", range(2, 2 + len(columns["a"]))), labelled=labelled)


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("sad, glad", ["glad", "sad"]),
        ("calm", ["calm"]),
        ("", []),
        (" ", []),
        (["calm", "sad"], ["sad", "calm"]),
        ([], []),
    ],
)
def test_labels_are_lists_in_the_order_of_the_problem(value: Any, labels: list[str]) -> None:
    table = checked(a=["x"], labels=[value])
    assert table.column("labels").to_pylist() == MOODS.gold(table) == [labels]
    assert table.schema.field("labels").type == pa.list_(pa.string())


@pytest.mark.parametrize("value", ["glad, angry", "glad,", "glad, glad", ["glad", None], ["sad", "sad"], None, 3])
def test_other_labels_are_an_error_with_their_line(value: Any) -> None:
    with pytest.raises(DataError, match=r"f\.tsv:2: labels .* is not a list of different labels, or labels with ','"):
        checked(a=["x"], labels=[value])


def test_unlabelled_rows_need_no_labels() -> None:
    assert MOODS.gold(checked(labelled=False, a=["x"])) is None
    assert MOODS.gold(checked(labelled=False, a=["x"], labels=[None])) is None
    with pytest.raises(DataError, match=r"columns a, \[b,\] labels are needed; found a"):
        checked(a=["x"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"labels": ()}, "one or more different labels"),
        ({"labels": ("x", "x")}, "one or more different labels"),
        ({"labels": ("a,b", "c")}, "'a,b' cannot be written to files"),
        ({"labels": ("a b", "c"), "labels_separator": " "}, "'a b' cannot be written to files"),
        ({"labels": ("", "c")}, "'' cannot be written to files"),
        ({"labels": ("a", "c"), "labels_separator": ""}, "labels_separator must be printable text"),
        ({"labels": ("a", "c"), "labels_separator": "\t"}, "labels_separator must be printable text"),
        ({"labels": ("a", "c"), "threshold": 1.0}, "between 0 and 1, not 1.0"),
    ],
)
def test_a_problem_that_files_cannot_spell_is_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        MultiLabel(**arguments)


def test_the_loss_is_the_mean_binary_cross_entropy() -> None:
    """Divided by the rows, as training does it, the loss equals torch's BCEWithLogitsLoss."""
    outputs = torch.tensor([[0.3, -1.0, 2.0], [0.0, 0.5, -0.25]], requires_grad=True)
    targets = MOODS.targets([["glad", "calm"], []])
    assert targets.tolist() == [[1, 0, 1], [0, 0, 0]] and targets.dtype == np.float32
    loss = MOODS.loss(outputs, SimpleNamespace(targets={"label": torch.from_numpy(targets)})) / 2  # type: ignore[arg-type]
    torch.testing.assert_close(loss, torch.nn.BCEWithLogitsLoss()(outputs, torch.from_numpy(targets)))


def test_answers_are_the_labels_above_the_threshold() -> None:
    outputs = np.array([[0.1, -0.1, 3.0], [-1.0, -2.0, -3.0]], dtype=np.float32)
    assert MOODS.decode(outputs, NO_TABLE, MOODS.decoding) == [["glad", "calm"], []]
    assert MOODS.decode(outputs, NO_TABLE, {"threshold": 0.2}) == [["glad", "sad", "calm"], ["glad"]]
    probabilities = MOODS.extra_figures(outputs, NO_TABLE, {})["probabilities"]
    assert probabilities[0] == pytest.approx([0.524979, 0.475021, 0.952574], abs=1e-6)


def test_the_threshold_with_the_best_score_is_chosen() -> None:
    table = checked(a=["x", "y", "z"], labels=["glad", "glad, sad", ""])
    outputs = np.array([[-0.5, -2.0, -3.0], [-0.4, -0.45, -3.0], [-1.5, -2.0, -3.0]], dtype=np.float32)
    chosen = MOODS.tune(outputs, table, ACCURACY)
    assert MOODS.decode(outputs, table, chosen) == MOODS.gold(table)
    # Probabilities of right labels are 0.378 or more, of wrong labels 0.182 or less: 0.37 is nearest to 0.5.
    assert chosen == {"threshold": 0.37}
    errors = Metric("errors", lambda gold, answers: 1 - ACCURACY.value(gold, answers), lower_is_better=True)
    assert MOODS.tune(outputs, table, errors) == chosen


def test_equal_scores_leave_the_threshold_as_it_is() -> None:
    table = checked(a=["x"], labels=["glad"])
    outputs = np.array([[5.0, -5.0, -5.0]], dtype=np.float32)
    assert MOODS.tune(outputs, table, ACCURACY) == {"threshold": 0.5}
    third = replace(MOODS, threshold=1 / 3)
    assert 1 / 3 not in THRESHOLDS and third.tune(outputs, table, ACCURACY) == {"threshold": 1 / 3}


def test_nothing_is_tuned_without_labels_or_a_score() -> None:
    def undefined(gold: Any, said: Any) -> float:
        raise Undefined("never")

    outputs = np.zeros((1, 3), dtype=np.float32)
    assert MOODS.tune(outputs, checked(labelled=False, a=["x"]), ACCURACY) == {}
    assert MOODS.tune(outputs, checked(a=["x"], labels=["sad"]), Metric("none", undefined)) == {}
    ranked = replace(ACCURACY, computed_from="probabilities")
    assert MOODS.tune(outputs, checked(a=["x"], labels=["sad"]), ranked) == {}
    fixed = replace(MOODS, tune_threshold=False)
    assert MOODS.tunes and not fixed.tunes
    assert fixed.tune(outputs, checked(a=["x"], labels=["sad"]), ACCURACY) == {}


def test_an_average_has_the_mean_probability_of_each_label() -> None:
    first, second = np.array([[0.0, 1.0, -40.0]], dtype=np.float32), np.array([[0.0, -3.0, -40.0]], dtype=np.float32)
    mean = MOODS.average([first, second])
    wanted = [[0.5, (1 / (1 + np.exp(-1)) + 1 / (1 + np.exp(3))) / 2, 0.0]]
    np.testing.assert_allclose(MOODS.extra_figures(mean, NO_TABLE, {})["probabilities"], wanted, atol=1e-7)
    assert MOODS.average([first]) is first and mean.dtype == np.float32


def test_the_majority_output_is_the_share_of_each_label() -> None:
    table = checked(a=list("vwxyz"), labels=["glad", "glad, sad", "glad", "", "sad"])
    output = MOODS.majority_output(table)
    shares = MOODS.extra_figures(output[None], NO_TABLE, {})["probabilities"][0]
    assert shares == pytest.approx([0.6, 0.4, 0.0], abs=1e-6)
    assert MOODS.decode(output[None], NO_TABLE, {}) == [["glad"]]


@pytest.mark.parametrize(("separator", "text"), [(",", "glad, calm"), (" ", "glad calm"), (";", "glad; calm")])
def test_answers_are_written_and_parsed(separator: str, text: str) -> None:
    problem = replace(MOODS, labels_separator=separator)
    assert problem.spell(["glad", "calm"]) == text
    for answer in ([], ["sad"], ["glad", "calm"], list(problem.labels)):
        assert problem.parse(problem.spell(answer)) == answer
    with pytest.raises(ValueError, match="out of glad, sad, calm"):
        problem.parse("glad | calm")


def test_equal_lists_of_labels_are_constant_answers() -> None:
    assert MOODS.is_constant([["sad"], ["sad"]]) and MOODS.is_constant([[], []])
    assert not MOODS.is_constant([["sad"], []])


def test_what_is_learned_does_not_depend_on_files_and_thresholds() -> None:
    other = replace(MOODS, labels_separator=";", threshold=0.3, tune_threshold=False)
    assert MOODS.identity() == other.identity()
    assert MOODS.identity()["labels"] == ["glad", "sad", "calm"]
    assert MOODS.export_kind == ExportKind("multi_label_classification", ("glad", "sad", "calm"))


def test_a_row_is_one_sequence_with_a_target_for_each_label() -> None:
    features = MOODS.encode(checked(a=["x y", "z"], labels=["sad", ""]), TinyEncoder(), Recipe(), training=True)
    assert (features.units, features.targets["label"].tolist()) == (2, [[0, 1, 0], [0, 0, 0]])


TOPICS = MultiLabel(("people", "weather", "water"), labels_separator=";")
WORDS = {"people": ("walk", "we"), "weather": ("sunny", "merry", "rainy", "gloomy"), "water": ("river",)}


def topics() -> Task:
    """Which of three groups of words does a text hold?"""

    def split(role: Any) -> Split:
        columns = {"a": "text"} if role == "test" else {"a": "text", "labels": "topics"}
        return Split(role, (TextTable(f"topics/{role}.csv", columns, separator=",", quoted=True),))

    splits = {role: split(role) for role in ("train", "dev", "test")}
    recipe = Recipe(lr=0.02, epochs=6, batch_size=8)
    metrics = (EXACT_MATCH, f1_micro(TOPICS.labels))
    return Task("mine/topics", "Which topics?", TOPICS, splits, metrics, recipe, demo_files=partial(files, 0))


def files(seed: int, folder: Path) -> None:
    (folder / "topics").mkdir(parents=True)
    for place, (role, count) in enumerate({"train": 96, "dev": 32, "test": 8}.items()):
        lines = ["text" + ",topics" * (role != "test")]
        for text in sentences(count, seed=10 * seed + place)["a"]:
            present = [topic for topic, words in WORDS.items() if set(words) & set(text.split())]
            lines.append(text + f",{';'.join(present)}" * (role != "test"))
        (folder / "topics" / f"{role}.csv").write_text("\n".join(lines) + "\n")


def test_a_task_with_several_labels_keeps_its_contract(tmp_path: Path) -> None:
    check_task(topics(), tmp_path)


def test_several_labels_go_from_files_to_a_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spelling = LabelList(Labels({label: label.upper() for label in TOPICS.labels}))
    file = BoardFile("topics.json", "mine/topics", "test", 8, JsonMap("a", spelling))
    board = Leaderboard("topics", "Topics", "https://topics.example", "topics/", (file,))
    files(0, tmp_path / "data")
    own = plugins(register_tasks=[topics()], register_leaderboards=[board])
    line = CommandLine(tmp_path, own, capsys, monkeypatch)

    line.done("run", "topics", "--backbone", "words", "--keep", "all")
    (run,) = line.fitted()
    (tmp_path / "mine.txt").write_text("we walk\nthe river\na day had the\n")
    line.done("predict", run, tmp_path / "mine.txt", "--out", tmp_path / "mine.tsv")
    answers = [row.split("\t")[1] for row in (tmp_path / "mine.tsv").read_text().splitlines()[1:]]
    assert answers[0].startswith("people") and "water" in answers[1]

    assert line("predict", run, "--split", "dev", "--out", tmp_path / "dev.tsv")[0] == 0
    (audited,) = line.json("audit", tmp_path / "dev.tsv", "--task", "topics")["files"]
    score = audited["scores"]["exact_match"]["value"]
    majority = line.json("run", "topics", "--method", "majority")["majority"]
    assert score > majority[0]["score"]["value"] + 0.2

    assert "is ready for topics" in line.done("submit", "topics", "--ensemble", run, "--out", tmp_path)
    content = json.loads((tmp_path / "topics" / "topics.json").read_text())
    assert len(content) == 8 and {text for texts in content.values() for text in texts} <= {
        "PEOPLE",
        "WEATHER",
        "WATER",
    }
