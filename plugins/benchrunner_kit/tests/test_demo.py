"""The command `demo` with inline plugins: data, a table, an archive and the next command; and its steps, whole."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shutil import unpack_archive

import pytest

from benchrunner import Workspace
from benchrunner.command_line.main import main
from benchrunner.results import discover
from benchrunner_kit import demo_command
from benchrunner_kit.testing import TinyBackbone, TinyEncoder
from distributions import ROOT
from inline import board, mood, pairs, plugins

TALES = ROOT / "benchmarks" / "demo_data/tales.txt"
STEPS = [title for title, _ in demo_command.STEPS]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(tmp_path)


def demo(*words: str) -> int:
    return main(["demo", "--quiet", "--device", "cpu", "--tasks", "mood", *words], plugins=plugins())


def test_the_demo_prints_its_steps_and_writes_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo("--out", "here") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert re.findall(r"^(\d+)\.", printed.out, re.MULTILINE) == ["1"]
    assert "benchrunner compare tiny/words --tasks mood --epochs 4" in printed.out
    assert "wrote here/moods.zip: every file is as the board wants it, but for the official row counts" in printed.out
    with zipfile.ZipFile(tmp_path / "here" / board().archive) as archive:
        assert archive.namelist() == ["moods.tsv"]
    assert json.loads((tmp_path / "here" / "moods.zip.json").read_text())["board"] == "moods"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here"], "everything is in the one folder"
    assert "benchrunner compare YOUR_CHECKPOINT tiny/words" in printed.out.splitlines()[-1]


def test_a_command_that_is_shown_can_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo("--out", "here") == 0
    shown = capsys.readouterr().out
    for name in ("DATA", "RUNS"):
        os.environ[f"BENCHRUNNER_{name}"] = re.findall(rf"BENCHRUNNER_{name}=(\S+)", shown)[0]
    [words] = re.findall(r"^  benchrunner (compare tiny.*)", shown, re.MULTILINE)
    models = {path: path.stat().st_mtime_ns for path in Path("here/runs").glob("*/fit.json")}
    assert main([*words.split(), "--device", "cpu", "--quiet"], plugins=plugins()) == 0
    assert "mine/mood" in capsys.readouterr().out
    assert models == {path: path.stat().st_mtime_ns for path in Path("here/runs").glob("*/fit.json")}


def test_the_tasks_of_the_demo_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offers = plugins(register_tasks=[mood(), pairs(), replace(mood(), name="mine/bare", demo_files=None)])

    def chosen(*names: str) -> int:
        words = ("demo", "--quiet", "--device", "cpu", "--out", "here", "--tasks", *names)
        return main(words, plugins=offers)

    assert chosen("mood") == 0
    out = capsys.readouterr().out
    assert "mine/mood" in out and "pairs" not in out
    assert chosen("mine/bare", "mood") == 2
    assert "mine/bare cannot write demo data: choose other tasks." in capsys.readouterr().err
    assert chosen("moood") == 2
    assert "Did you mean" in capsys.readouterr().err


def test_a_folder_with_other_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "data").mkdir()
    assert demo("--out", "thesis") == 2
    error = capsys.readouterr().err
    assert "thesis holds other files, such as 'data': a demo needs a folder that is empty, missing or that of" in error
    assert [path.name for path in (tmp_path / "thesis").rglob("*")] == ["data"]
    assert demo("--out", "here") == demo("--out", "here") == 0


def test_a_twin_backbone_is_compared_but_not_submitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twin").mkdir()
    TinyEncoder().save(tmp_path / "twin")
    monkeypatch.setattr(TinyBackbone, "twin", str(tmp_path / "twin"))
    assert demo("--out", "here") == 0
    assert f"{tmp_path / 'twin'} is tiny/words without pre-training" in capsys.readouterr().out
    written = json.loads((tmp_path / "here" / "moods.zip.json").read_text())
    fits = [json.loads((Path("here", "runs") / file["fit"] / "fit.json").read_text()) for file in written["files"]]
    assert {fit["backbone"] for fit in fits} == {"tiny/words"}


def test_the_demo_says_which_kind_of_plugin_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"], plugins=plugins(register_tasks=[])) == 2
    assert "There is no task 'conll'" in capsys.readouterr().err
    assert main(["demo"], plugins=plugins(register_backbones=[])) == 2
    assert "No installed backbone is meant for the demo" in capsys.readouterr().err
    assert main(["demo", "--backbone", "wrods"], plugins=plugins()) == 2
    assert "Did you mean tiny/words?" in capsys.readouterr().err


def test_the_demo_has_few_options() -> None:
    parser = argparse.ArgumentParser()
    demo_command.add_options(parser)
    assert len(parser._option_string_actions) <= 8


def test_every_step_is_a_command() -> None:
    for _, line in demo_command.STEPS:
        words = line.replace("BACKBONES", "one two").format(folder="here", backbone="one").split()
        assert main(["--parse-only", *words]) == 0


def test_a_pair_holds_a_sentence_and_its_words_in_another_order(tmp_path: Path) -> None:
    unpack_archive(demo_command.TALES, tmp_path)
    known = set(TALES.read_text(encoding="utf-8").lower().splitlines())
    rows = []
    for role in ("train", "dev"):
        with (tmp_path / f"order-{role}.csv").open(encoding="utf-8", newline="") as file:
            rows.append(list(csv.DictReader(file)))
    train, dev = rows
    for row in (*train, *dev):
        right, wrong = (row["one"], row["two"]) if row["right"] == "0" else (row["two"], row["one"])
        assert right in known and wrong not in known
        assert sorted(right.rstrip(".").split()) == sorted(wrong.rstrip(".").split())
        known.remove(right)  # every sentence is asked for once, so no sentence of dev is one of train
    assert known == {""} and len(train) > 2 * len(dev)


def test_the_word_that_does_not_belong_is_where_the_answer_says(tmp_path: Path) -> None:
    unpack_archive(demo_command.TALES, tmp_path)
    known = TALES.read_text(encoding="utf-8").lower()
    task = discover().tasks.find("squad/1.1")
    for split in ("train", "dev"):
        table = task.load(split, Workspace(tmp_path / "runs", tmp_path / "cache", tmp_path)).table
        assert table.num_rows > 100
        for row in table.to_pylist():
            [answer], [start] = row["answers"], row["starts"]
            assert row["context"][start:].startswith(answer) and row["context"].rstrip(".") not in known


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_pre_training_is_seen_in_the_whole_demo(tmp_path: Path) -> None:
    """Run the demo as users do: seven steps, and both questions about the order of words clearly answered."""
    command = [sys.executable, "-m", "benchrunner", "demo", "--quiet"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHRUNNER_")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\d+\. (.*)", done.stdout, re.MULTILINE) == STEPS
    steps = re.split(r"^\d+\. ", done.stdout, flags=re.MULTILINE)[1:]
    for step in steps[:2]:
        assert "bert/random-4/192 is worse than bert/novels" in step
        pretrained, twin = (float(figure) for figure in re.findall(r"(\d+\.\d)(?: ±| \[)", step)[:2])
        assert pretrained > 90 and twin < 65, step
    assert "benchrunner-demo/glue.zip has the form of a valid glue submission" in steps[5]
    assert (tmp_path / "benchrunner-demo" / "report.html").exists()
    assert all(len(step.splitlines()) < 45 for step in steps), "a step fits on a screen"
    seconds = [int(number) for number in re.findall(r"([\d,]+) seconds of fitting", done.stdout)]
    [whole] = re.findall(r"^Done in (\d+) s", done.stdout, re.MULTILINE)
    assert sum(seconds) <= int(whole) + len(seconds)
    assert all(earlier != later for earlier, later in pairwise(steps))
