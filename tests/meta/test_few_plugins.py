"""The core with a few plugins compares, submits and checks, and says what is left out."""

from pathlib import Path
from typing import Any

import pytest

import benchrunner_glue
from benchrunner.command_line.main import main, parser
from benchrunner.plugins import entry_points
from benchrunner.plugins.entry_points import note_on_libraries
from benchrunner.results import discover

BACKBONE = "bert/random-2/64"
QUICK = ["--data", "data", "--quiet", "--device", "cpu", "--epochs", "1", "--max-length", "32", "--limit-train", "64"]


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose GLUE, BERT, the boards and submissions, with data for RTE that has the official number of test rows."""
    monkeypatch.setenv("BENCHRUNNER_PLUGINS", "glue,bert,leaderboards,share,submit")
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    rte = discover(extra=[("glue", benchrunner_glue)], installed=False).tasks.find("glue/rte")
    assert rte.demo_files is not None
    rte.demo_files(tmp_path / "data")
    (test,) = tmp_path.glob("data/RTE/test.tsv")
    head, *lines = test.read_text().splitlines()
    assert rte.splits["test"].rows is not None
    rows = [f"{number}\t{lines[number % len(lines)].split(chr(9), 1)[1]}" for number in range(rte.splits["test"].rows)]
    test.write_text("\n".join([head, *rows]) + "\n")


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run a command; return its exit code and everything that it wrote, in one line."""
    try:
        code = main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    written = capsys.readouterr()
    return code, " ".join((written.out + written.err).split())


@pytest.mark.usefixtures("few")
def test_a_few_plugins_compare_submit_and_check(capsys: pytest.CaptureFixture[str]) -> None:
    code, written = called(capsys, "compare", BACKBONE, "--tasks", "rte", "--method", "finetune,majority", *QUICK)
    assert code == 0 and BACKBONE in written and "(finetune)" in written, written
    assert "95 %" not in written and "differ" not in written and "No plugin" not in written, written
    part = ["--tasks", "rte", "--partial", "--out", "glue.zip"]  # the other files would have 440,000 rows
    code, written = called(capsys, "submit", "glue", "--backbone", BACKBONE, *part, *QUICK)
    assert code == 0, written
    code, written = called(capsys, "check", "glue.zip")
    assert code == 1 and "AX.tsv are missing; every file must be there. Remark: Incomplete: " in written, written
    assert "glue.zip: 1 problem" in written, written


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "rte", "--backbone", BACKBONE, "--method", "lora", *QUICK], "Known: finetune, majority."),
        (["submit", "squad-1.1", "--backbone", BACKBONE, *QUICK], "squad"),
        (["report", "first"], "there is no command 'report'."),
    ],
)
def test_what_is_left_out_is_said(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, written = called(capsys, *words)
    assert code == 2 and said in written, written
    assert "BENCHRUNNER_PLUGINS=glue,bert,leaderboards,share,submit leaves plugins out." in written


def test_the_core_alone_lists_and_diagnoses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = [point.name for point in entry_points.entry_points()]
    monkeypatch.setenv("BENCHRUNNER_PLUGINS", ",".join(f"no:{name}" for name in everything))
    code, written = called(capsys, "list")
    assert code == 0 and "tasks (0)" in written and "finetune, majority" in written
    code, written = called(capsys, "doctor")
    assert code == 0 and "plugins: none" in written


def test_an_unknown_plugin_cannot_be_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHRUNNER_PLUGINS", "gleu")
    code, written = called(capsys, "list")
    assert (
        code == 2
        and "There is no installed plugin 'gleu' which BENCHRUNNER_PLUGINS names. Did you mean glue" in written
    )


def test_a_plugin_without_its_library_is_silent_until_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "far-1.0.dist-info"
    info.mkdir()
    needs = "Requires-Dist: absent-library>=2; extra == 'far'\nProvides-Extra: far\n"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: far\nVersion: 1.0\n{needs}")
    (info / "entry_points.txt").write_text("[benchrunner]\nfar = far_k [far]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "far" not in [plugin.name for plugin in discover().loaded]
    code, written = called(capsys, "list")
    assert code == 0 and "far" not in written
    code, written = called(capsys, "run", "rte", "--backbone", BACKBONE, "--executor", "far-away")
    assert code == 2 and note_on_libraries() in written, written
    assert "Not used without libraries: far; \"pip install 'far[far]'\" brings them" in note_on_libraries()
    assert note_on_libraries() in called(capsys, "doctor")[1]
    for editable, option in (("", ""), ('"editable": true', "-e ")):
        (info / "direct_url.json").write_text(f'{{"dir_info": {{{editable}}}, "url": "file:///my%20work/p5"}}')
        assert f"\"pip install {option}'/my work/p5[far]'\" brings them" in note_on_libraries()


def test_a_copy_that_is_not_installed_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_points, "DISTRIBUTION", "nobodys-distribution")
    code, written = called(capsys, "list")
    assert code == 1 and "benchrunner is not installed in this Python" in written


def test_every_everyday_word_is_an_option_of_its_commands() -> None:
    options_of = dict[str, set[str]]()
    commands: Any = parser(discover())._subparsers
    for command in commands._group_actions[0].choices.values():
        command.load_module()
        words = " ".join(command.get_default("everyday") or ())
        options_of.setdefault(words, set()).update(action.dest for action in command._actions)
    options_of.pop("")
    assert len(options_of) == 3, "of studies, of pretrain and of predict"
    for words, options in options_of.items():
        assert not set(words.split()) - options
