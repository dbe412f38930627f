"""The core alone says what brings the rest; the core with a few plugins compares, submits and checks."""

import pytest

import benchrunner_glue
from benchrunner.results import discover
from small_environments import SmallEnvironment

BRINGS = "\"pip install 'benchrunner[all]'\" brings them."


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> SmallEnvironment:
    return SmallEnvironment(tmp_path_factory.mktemp("core"), ["benchrunner"])


@pytest.mark.parametrize(
    ("words", "code", "texts"),
    [
        (["--help"], 0, ["compare", "Tasks, backbones and further commands are plugins. Not installed: benchrunner-"]),
        (
            ["list"],
            0,
            ["tasks 0 Not installed: benchrunner-audit,", "finetune, majority"],
        ),
        (["doctor"], 0, ["plugins: none", "Not installed: benchrunner-audit, benchrunner-babylm,"]),
        (["new", "task", "mood"], 2, ["there is no command 'new'. It comes with benchrunner-kit."]),
        (["report", "first"], 2, ["there is no command 'report'. It comes with benchrunner-report."]),
        (["share", "first", "--out", "shared"], 2, ["there is no command 'share'. It comes with benchrunner-share."]),
        (["verify", "shared"], 2, ["there is no command 'verify'. It comes with benchrunner-share."]),
        (
            ["submit", "glue", "--backbone", "bert"],
            2,
            ["there is no command 'submit'. It comes with benchrunner-submit."],
        ),
        (["check", "glue.zip"], 2, ["there is no command 'check'. It comes with benchrunner-submit."]),
        (["score", "rte", "answers.tsv"], 2, ["there is no command 'score'. It comes with benchrunner-submit."]),
        (["predict", "abc"], 2, ["there is no command 'predict'. It comes with benchrunner-submit."]),
        (["export", "abc", "out"], 2, ["there is no command 'export'. It comes with benchrunner-runs."]),
        (["runs", "prune"], 2, ["there is no command 'runs'. It comes with benchrunner-runs."]),
        (["run", "glue/rte", "--backbone", "bert"], 2, ["There is no task 'glue/rte'."]),
    ],
)
def test_the_core_alone_says_what_brings_the_rest(
    words: list[str], code: int, texts: list[str], core: SmallEnvironment
) -> None:
    returned, lines = core(*words)
    written = " ".join(lines.split())  # the help folds its lines
    assert returned == code, lines
    assert "Traceback" not in written and BRINGS in written
    for text in texts:
        assert text in written


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> SmallEnvironment:
    """The core with GLUE, BERT, the boards and submissions, and data for RTE with the official number of test rows."""
    names = ["benchrunner", "benchrunner_glue", "benchrunner_bert", "benchrunner_leaderboards", "benchrunner_submit"]
    made = SmallEnvironment(tmp_path_factory.mktemp("few"), names)
    rte = discover(extra=[("glue", benchrunner_glue)], installed=False).tasks.find("glue/rte")
    assert rte.demo_files is not None
    rte.demo_files(0, made.folder / "data")
    (test,) = made.folder.glob("data/RTE/test.tsv")
    head, *lines = test.read_text().splitlines()
    assert rte.splits["test"].rows is not None
    rows = [f"{number}\t{lines[number % len(lines)].split(chr(9), 1)[1]}" for number in range(rte.splits["test"].rows)]
    test.write_text("\n".join([head, *rows]) + "\n")
    return made


BACKBONE = "bert/random-2/64"
QUICK = ["--data", "data", "--quiet", "--device", "cpu", "--epochs", "1", "--max-length", "32", "--limit-train", "64"]


def test_a_few_plugins_compare_submit_and_check(few: SmallEnvironment) -> None:
    code, written = few("compare", BACKBONE, "--tasks", "rte", "--method", "finetune,majority", *QUICK)
    assert code == 0 and f"{BACKBONE} (finetune)" in written, written
    fill = ["--tasks", "rte", "--fill", "majority", "--out", "glue.zip"]
    code, written = few("submit", "glue", "--backbone", BACKBONE, *fill, *QUICK)
    assert code == 0, written
    code, written = few("check", "glue.zip")
    assert code == 0 and "glue" in written, written


def test_what_is_not_installed_is_named(few: SmallEnvironment) -> None:
    code, written = few("run", "rte", "--backbone", BACKBONE, "--method", "lora", *QUICK)
    assert code == 2 and "There is no method 'lora'. Known: finetune, majority. Not installed: " in written, written
    assert "benchrunner-methods" in written
    code, written = few("run", "rte", "--backbone", f"concat:{BACKBONE},{BACKBONE}", *QUICK)
    assert code == 2 and "benchrunner-methods" in written, written
    code, written = few("submit", "squad-1.1", "--backbone", BACKBONE, *QUICK)
    assert code == 2 and "benchrunner-squad" in written, written
