"""The command `demo` with inline plugins: data, fits, a table, an archive, and the next command to try."""

from __future__ import annotations

import json
import os
import shlex
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.command_line.main import main
from benchrunner_kit.testing import TinyBackbone, TinyEncoder
from inline import board, mood, pairs, plugins


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(tmp_path)


def demo(*words: str) -> int:
    return main(["demo", "--quiet", "--device", "cpu", "--jobs", "1", *words], plugins=plugins())


def test_the_demo_prints_its_steps_and_writes_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo("--out", "here") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [line[:2] for line in printed.out.splitlines() if line[:1].isdigit()] == ["1.", "2.", "3.", "4."]
    assert "Writing 1 small data set" in printed.out
    assert "Fine-tuning tiny/words" in printed.out
    assert "mine/mood" in printed.out and "accuracy" in printed.out
    with zipfile.ZipFile(tmp_path / "here" / board().archive) as archive:
        assert archive.namelist() == ["moods.tsv"]
    assert json.loads((tmp_path / "here" / "moods.zip.json").read_text())["board"] == "moods"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here"], "everything is in the one folder"
    hint = next(line for line in printed.out.splitlines() if "benchrunner compare" in line)
    assert "--tasks mine/mood" in hint


def test_the_demo_names_the_command_that_shows_its_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo("--out", "here") == 0
    [said] = [line for line in capsys.readouterr().out.splitlines() if " notes: " in line]
    count, _, command = said.strip().partition(" notes: benchrunner ")
    assert main(shlex.split(command), plugins=plugins()) == 0
    shown = capsys.readouterr().out.splitlines()
    below = shown[max(number for number, line in enumerate(shown) if line.startswith("└")) + 1 :]
    assert len([line for line in below if "kept as the study" not in line and "  C" not in line[:3]]) == int(count)


def test_the_tasks_of_the_demo_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offers = plugins(register_tasks=[mood(), pairs(), replace(mood(), name="mine/bare", demo_files=None)])

    def chosen(*names: str) -> int:
        words = ("demo", "--quiet", "--device", "cpu", "--jobs", "1", "--out", "here", "--tasks", *names)
        return main(words, plugins=offers)

    assert chosen("mood") == 0
    out = capsys.readouterr().out
    assert "Writing 1 small data set" in out and "pairs" not in out
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
    out = capsys.readouterr().out
    assert f"Fine-tuning tiny/words on each, and {tmp_path / 'twin'}, the same model without pre-training" in out
    written = json.loads((tmp_path / "here" / "moods.zip.json").read_text())
    fits = [json.loads((Path("here", "runs") / file["fit"] / "fit.json").read_text()) for file in written["files"]]
    assert {fit["backbone"] for fit in fits} == {"tiny/words"}


def test_the_demo_says_which_kind_of_plugin_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"], plugins=plugins(register_tasks=[])) == 2
    assert "No installed task can write demo data" in capsys.readouterr().err
    assert main(["demo"], plugins=plugins(register_backbones=[])) == 2
    assert "No installed backbone is meant for the demo" in capsys.readouterr().err
    assert main(["demo", "--backbone", "wrods"], plugins=plugins()) == 2
    assert "Did you mean tiny/words?" in capsys.readouterr().err
