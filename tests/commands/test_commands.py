"""Commands: short errors that say what to do, and exit codes and JSON that scripts can rely on."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.plugins.listing import KINDS
from benchrunner.results import Plugins, discover
from benchrunner_kit.testing import TinyEncoder
from command_line import Shell
from inline import ANSWERS, mood, own, pairs, plugin, plugins as inline_plugins

HERE = ["--data", "data"]
REFUSED: dict[str, tuple[list[str], str]] = {
    "unknown task": (["run", "moood", "--backbone", "words"], "There is no task 'moood'. Did you mean mine/mood?"),
    "unknown backbone": (["run", "mood", *HERE, "--backbone", "wrods"], "no backbone 'wrods'. Did you mean"),
    "a backbone that is a plain folder": (
        ["run", "mood", *HERE, "--backbone", "data"],
        "data is no model (there is no config.json), and has no file of answers",
    ),
    "a backbone that is no folder": (["run", "mood", *HERE, "--backbone", "../wrods"], "There is no folder ../wrods"),
    "a backbone as a task": (["run", "mood", "words"], "'words' is no task but a backbone: write --backbone words."),
    "a folder as a task": (["run", "mood", "./data"], "'./data' is no task but a backbone: write --backbone ./data."),
    "no backbone": (["run", "mood", *HERE], "mine/mood is answered by 'finetune', which needs a backbone: give"),
    "unknown method": (["run", "mood", *HERE, "--method", "finetun"], "no method 'finetun'. Did you mean finetune or"),
    "unknown executor": (
        ["run", "mood", *HERE, "--backbone", "words", "--executor", "lokal"],
        "no executor 'lokal'. Did you mean local?",
    ),
    "option of no executor": (
        ["run", "mood", *HERE, "--backbone", "words", "--executor-option", "a=1"],
        "The executor 'local' has no options: leave --executor-option out.",
    ),
    "executor without options": (
        ["run", "mood", *HERE, "--backbone", "words", "--executor", "local", "--executor-option", "a=1"],
        "The executor 'local' has no options: leave --executor-option out.",
    ),
    "executor option without a value": (
        ["run", "mood", *HERE, "--backbone", "words", "--executor", "local", "--executor-option", "a"],
        "--executor-option takes NAME=VALUE, not 'a'",
    ),
    "unknown run": (["predict", "abc", "data/mood/test.tsv"], "There is no run 'abc'. Looked in runs; --runs DIR"),
    "unknown run to start from": (["run", "mood", *HERE, "--backbone", "run:abc"], "There is no run 'abc'"),
    "no tasks": (["run", "", "--backbone", "words"], "at least one backbone and one task"),
    "lr that is none": (["run", "mood", "--backbone", "words", "--lr", "nan"], "--lr must be a number from 0 up"),
    "name of a study": (["run", "mood", "--backbone", "words", "--name", "a/b"], "a/b"),
    "device": (["run", "mood", *HERE, "--backbone", "words", "--device", "gpu"], "Device 'gpu' cannot be used: torch"),
    "no such data": (["run", "mood", "--data", "absent"], "--data absent: there is no such folder."),
    "no data at all": (["run", "mood", "--backbone", "words"], "No data for mine/mood, split train:"),
    "runs that are a file": (["run", "mood", *HERE, "--runs", "data/mood/dev.tsv"], "fits are kept in a folder"),
    "backbones behind --tasks": (["compare", "--tasks", "mood", "words", "other"], "all words after it"),
    "tasks alone": (["compare", "--tasks", "mood", "--restarts", "2"], "Give the backbones, before --tasks: all words"),
    "data without an action": (["data"], "the following arguments are required: action.\n"),
    "data of an unknown task": (["data", "status", "moood"], "There is no task 'moood'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_request_is_answered_with_what_to_do(name: str, shell: Shell) -> None:
    words, reason = REFUSED[name]
    assert reason in shell.refused(*words)
    assert not list(shell.folder.glob("runs/*/record.json"))


BAD_DATA = {
    "text\tmood\nfine\tgald\n": "train.tsv:2: label 'gald' is not one of glad, sad.",
    "text\tmood\nfine\tglad\nfine\n": "train.tsv:3: expected 2 columns, found 1.",
    "text\tmood\nfine\tglad\n\n": "train.tsv:3: expected 2 columns, found an empty line.",
    "words\tmood\nfine\tglad\n": "train.tsv:1: no column 'text' in the header; it has words, mood.",
    "text\tmood\n": "train.tsv: no rows.",
    "": "train.tsv:1: the file is empty",
    "text\tmood\nf\udcffne\tglad\n": "train.tsv:2: not UTF-8 text",
}


@pytest.mark.parametrize("content", BAD_DATA)
def test_an_error_in_a_data_file_is_one_line_with_its_place(content: str, shell: Shell) -> None:
    (shell.folder / "data" / "mood" / "train.tsv").write_bytes(content.encode(errors="surrogateescape"))
    error = shell.refused("run", "mood", *shell.folders(), "--backbone", "words")
    assert error.count("\n") == 1
    assert BAD_DATA[content] in error
    code, out, err = shell("data", "status", "mood", "--data", "data")
    assert code == 1
    assert BAD_DATA[content] in out
    assert "--data" not in err, "the folder is given, and no file is missing"


def test_run_prints_a_table_and_the_folder_of_the_run(shell: Shell) -> None:
    code, out, err = shell.run("--backbone", "words", "--restarts", "2")
    assert (code, err) == (0, "")
    assert "mine/mood" in out and "majority" in out and "mean ± sd" in out
    (selected,) = [path.parents[1].name for path in shell.folder.glob("runs/*/model/head.safetensors")]
    assert f"mine/mood: run {selected} in" in out


def test_run_lists_what_it_would_do_and_keeps_a_name(shell: Shell) -> None:
    code, out, err = shell.run("--backbone", "words", "--dry-run", "--set", "micro-tokens=1", "--checkpoint-every", "0")
    assert (code, err) == (0, "") and "mine/mood" in out
    assert not list(shell.folder.glob("runs/*/fit.json"))
    code, out, err = shell.run("--backbone", "words", "--name", "first", "--set", "micro-tokens=1")
    assert code == 0, err
    assert (shell.folder / "runs" / "studies" / "first.json").is_file() and "first" in out
    code, out, err = shell.run("--backbone", "words", "--dry-run", "--set", "micro-tokens=1", "--json")
    assert (code, err) == (0, "") and json.loads(out)


def test_repeated_tasks_and_backbones_count_once(shell: Shell) -> None:
    words = ("compare", "words", "words", "--tasks", "mood", "mine/mood,mood", *shell.folders(), "--quiet", "--json")
    out = shell.done(*words)
    result = json.loads(out)
    assert (result["backbones"], [cell["task"] for cell in result["cells"]]) == (["words"], ["mine/mood"])


def test_a_failed_fit_gives_exit_code_1_and_a_reason(shell: Shell) -> None:
    code, out, _ = shell.run("--backbone", "words", "--lr", "1e38")
    assert code == 1
    assert "has no scores: diverged: the loss was not a finite number at step" in " ".join(out.split())


def test_with_json_standard_output_is_json_and_nothing_else(shell: Shell) -> None:
    def print_fit(fit: Any) -> None:
        print("done", fit.id)

    shell.plugins = discover(
        extra=[("own", own(register_tasks=[mood(), pairs()])), ("chatty", plugin(after_fit=print_fit)), ANSWERS],
        installed=False,
    )
    (shell.folder / "answers.txt").write_text("\n".join(["glad"] * 24))
    commands = [
        ["list"],
        ["doctor"],
        ["audit", "answers.txt", "--task", "mood"],
        ["run", "mood", "--backbone", "words", "--device", "cpu"],
        ["compare", "words", "--tasks", "mood", "--device", "cpu"],
    ]
    for words in commands:
        places = shell.folders() if words[0] in ("run", "compare") else ["--data", "data"] if words[0] != "list" else []
        out = shell.done(*words, *places, "--json")
        json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_predict_writes_answers_to_standard_output_or_a_file(shell: Shell) -> None:
    run = shell.fitted()
    (shell.folder / "mine.txt").write_text("a sunny day\na bleak day\n")
    out = shell.done("predict", run[:6], "mine.txt", "--runs", "runs")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["index", "0", "1"]
    code, message, _ = shell("predict", run, "mine.txt", "--runs", "runs", "--out", "deep/answers.tsv")
    assert (code, message) == (0, "2 answers in deep/answers.tsv\n")
    assert (shell.folder / "deep" / "answers.tsv").read_text() == out
    assert "absent.txt: there is no such file" in shell.refused("predict", run, "absent.txt", "--runs", "runs")
    device = shell.refused("predict", run, "mine.txt", "--runs", "runs", "--device", "gpu")
    assert "Device 'gpu' cannot be used" in device, "also where nothing is computed"
    folder = shell.refused("predict", run, "mine.txt", "--runs", "runs", "--out", "data")
    assert folder == "benchrunner: data cannot be written: this is a folder. Remove it, or name a file.\n"


def test_predict_reads_standard_input_and_writes_probabilities(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    (shell.folder / "mine.tsv").write_text("text\na sunny day\na bleak day\n")
    expected = shell.done("predict", run, "mine.tsv", "--runs", "runs")
    for given in (b"text\na sunny day\na bleak day\n", b'{"a": "a sunny day"}\n{"a": "a bleak day"}\n'):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        assert shell("predict", run, "-", "--runs", "runs") == (0, expected, "")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"words\nsun\n")))
    assert shell.refused("predict", run, "-", "--runs", "runs").startswith(
        "benchrunner: standard input:1: the columns must be"
    )
    out = shell.done("predict", run, "mine.tsv", "--runs", "runs", "--probabilities")
    header, *lines = [line.split("\t") for line in out.splitlines()]
    assert header == ["index", "prediction", "glad", "sad"]
    shares = [{"glad": float(glad), "sad": float(sad)} for _, _, glad, sad in lines]
    for row, (_, answer, *_) in zip(shares, lines, strict=True):
        assert answer == max(row, key=row.__getitem__) and sum(row.values()) == pytest.approx(1, abs=1e-5)
    words = ["predict", run, "mine.tsv", "--runs", "runs", "--probabilities"]
    assert shell.json(*words, "--json")["probabilities"] == shares
    shell.done(*words, "--out", "mine.csv")
    assert Path("mine.csv").read_text() == out.replace("\t", ",")
    shell.done("predict", run, "mine.tsv", "--runs", "runs", "--json-lines", "--out", "mine.csv")
    assert json.loads(Path("mine.csv").read_text().splitlines()[1])["index"] == 1


def test_predict_says_that_a_file_is_utf_16(shell: Shell) -> None:
    run = shell.fitted()
    for name, text in {"m.tsv": "text\nsun\n", "m.csv": "text\nsun\n", "m.txt": "sun\n"}.items():
        Path(name).write_bytes(text.encode("utf-16"))
        said = shell.refused("predict", run, name, "--runs", "runs")
        assert f"{name}:1: not UTF-8 text (invalid start byte); UTF-16: save it as UTF-8.\n" in said


def test_predict_says_that_it_fits_again(shell: Shell) -> None:
    run = shell.fitted("--backbone", "words", "--keep", "none")
    (shell.folder / "mine.txt").write_text("a sunny day\n")
    code, _, err = shell("predict", run, "mine.txt", *shell.folders())
    assert code == 0
    said = f": The weights of the fit {run} (mine/mood, words) were not kept, so it is fitted again\n"
    assert said in err.splitlines(keepends=True)[0] and err.count("were not kept") == 1


def test_predict_prints_notes_on_the_rows(shell: Shell) -> None:
    run = shell.fitted()
    path = shell.folder / "data" / "mood" / "dev.tsv"
    path.write_text(path.read_text() + "one more\tglad\n")
    code, out, err = shell("predict", run, *shell.folders())
    assert code == 0
    assert len(out.splitlines()) == 1 + 25
    assert err.startswith(f"{path}: 25 dev rows, where the official count is 24\n")


def test_an_empty_variable_is_one_that_is_not_set(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(shell.folder / "home")
    for name in ("BENCHRUNNER_RUNS", "BENCHRUNNER_DATA", "BENCHRUNNER_CACHE", "XDG_CACHE_HOME", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", home)
    workspace = Workspace.from_environment()
    folders = (workspace.runs, workspace.data, workspace.cache)
    assert folders == (Path("runs"), None, Path(home, ".cache", "benchrunner"))
    assert not workspace.settings.offline


def test_without_plugins_commands_say_what_to_install(shell: Shell) -> None:
    shell.plugins = discover(installed=False)
    assert "tasks: none" in shell("list", "tasks")[1]
    assert "tasks and backbones come from plugins, so install some" in shell("doctor")[1]
    assert "There is no task 'mood'. No plugin offers a task: see 'benchrunner doctor'" in shell.refused("run", "mood")
    assert "there is no command 'demo'" in shell.refused("demo")


def test_every_command_has_help(shell: Shell) -> None:
    for words in ([], *([name] for name in ("demo", "list", "doctor", "data", "run", "compare", "predict", "runs"))):
        code, out, _ = shell(*words, "--help")
        assert (code, out[:6]) == (0, "usage:")


def test_a_closed_pipe_is_no_error() -> None:
    code = (
        "import sys; from benchrunner.command_line.main import main; from benchrunner.results import discover\n"
        "sys.stdin.readline(); sys.argv[1:] = ['list']; sys.exit(main(plugins=discover(installed=False)))"
    )
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for surroundings in (dict(os.environ), environment):
        process = subprocess.Popen([sys.executable, "-c", code], env=surroundings, text=True, **pipes)
        process.stdout.close()
        process.stdin.write("\n")
        process.stdin.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)
        process.stderr.close()


def test_the_demo_checks_the_device_before_it_writes(shell: Shell) -> None:
    assert "Device 'gpu' cannot be used" in shell.refused("demo", "--device", "gpu", "--out", "here")
    assert not (shell.folder / "here").exists()


def test_no_words_at_all_print_the_commands_in_groups(shell: Shell) -> None:
    def hooks(cli: Any) -> None:
        cli.add_parser("mine", help="do as I like").set_defaults(run=print)
        cli.add_parser("glance", group="look", help="glance at it").set_defaults(run=print)

    shell.plugins = discover(
        extra=[("own", own()), ("third", plugin(register_commands=hooks)), ANSWERS], installed=False
    )
    out = shell.done()
    assert out.startswith("usage: benchrunner COMMAND ...") and out == shell.done("--help")
    groups = [line.rstrip(":") for line in out.splitlines() if line.endswith(":")]
    assert groups == ["start", "compare", "look", "extend", "options"]
    look, extend = out.partition("look:")[2].partition("extend:")[::2]
    assert "\n  glance  " in look and "\n  audit  " in look and "\n  mine  " in extend
    assert "do as I like" in shell.done("mine", "--help")


def test_list_alone_is_a_line_for_each_kind(shell: Shell) -> None:
    lines = shell("list")[1].splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(KINDS)
    assert lines[0].split() == ["tasks", "(2)", "mine"]
    assert "'benchrunner list tasks' shows all of a kind" in lines[-1]


def test_list_tasks_is_a_line_for_each_family(shell: Shell) -> None:
    assert shell("list", "tasks")[1].splitlines()[0] == "  mine (2)  mood, pairs"
    assert shell("list", "tasks", "mine")[1].splitlines()[1] == "  mine/mood   Is the text glad or sad?"
    assert shell("list", "tasks", "mine/mood")[1].splitlines()[1:] == ["  mine/mood  Is the text glad or sad?"]


def test_list_tasks_reads_no_leaderboard(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Plugins, "leaderboards")
    tasks = [replace(pairs(name), suite=None) for name in ("bold/pairs", "able/pairs")]
    shell.plugins = inline_plugins(register_tasks=[*tasks, mood()])
    assert [line.split()[0] for line in shell.done("list", "tasks").splitlines()[:3]] == ["able", "bold", "mine"]


def test_list_searches_names_and_texts_for_a_word(shell: Shell) -> None:
    assert shell("list", "PAIRS")[1].splitlines()[0] == "tasks"
    assert list(shell.json("list", "tasks", "pairs")) == ["tasks"]
    assert [task["name"] for task in shell.json("list", "pairs", "mine")["tasks"]] == ["mine/pairs"]
    (words,) = shell.json("list", "backbones", "words")["backbones"]
    assert sum(words["weights"].values()) == sum(weight.numel() for weight in TinyEncoder().parameters())
    assert list(words["weights"]) == ["embeddings", "layers", "pooler"]
    assert "nothing that mentions 'taks'. Did you mean tasks?" in shell.refused("list", "taks")
    assert "nothing that mentions ''" in shell.refused("list", "")


def test_list_says_metric_language_licence_and_rows_of_a_task(shell: Shell) -> None:
    (task,) = shell.json("list", "tasks", "pairs")["tasks"]
    assert task["metric"] and "licence" not in task
