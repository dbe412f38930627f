"""A new plugin has a name that can be used, and nothing that exists is overwritten."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchrunner import RequestError
from benchrunner.results import discover
from benchrunner_kit.scaffolds.writing import write_plugin
from command_line import Shell
from inline import plugins

BAD = {
    "empty": ("", "'' cannot be the name"),
    "path": ("a/b", "'a/b' is a path. Give a name"),
    "capitals": ("MyMood", "'MyMood' cannot be the name of a plugin: .* such as my_mood"),
    "accent": ("été", "'été' cannot be"),
    "underscore first": ("_mood", "'_mood' cannot be"),
    "keyword": ("class", "'class' is a keyword of Python"),
    "control character": ("\x1b[31m", r"'\\x1b\[31m' cannot be"),
    "NUL": ("mood\0", r"'mood\\x00' cannot be"),
    "too long": ("m" * 31, "has 31 characters; a plugin's name has at most 30"),
    "prefix twice": ("benchrunner_mood", "leave 'benchrunner' out"),
    "plugin": ("own", "There is a plugin 'own' already"),
    "task in short": ("mood", "The task 'mine/mood' is there already"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_name_is_refused_with_a_sentence(case: str, tmp_path: Path) -> None:
    name, reason = BAD[case]
    with pytest.raises(RequestError, match=reason) as refusal:
        write_plugin("task", name, tmp_path / "folder", plugins=plugins())
    text = str(refusal.value)
    assert text.isprintable() and len(text) < 300
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("problem", "mood", "The problem 'mine/mood' is there already"),
        ("method", "finetune", "The method 'finetune' is there already"),
        ("command", "compare", "The command 'compare' is there already"),
    ],
)
def test_a_name_that_is_taken_is_refused(
    kind: str, name: str, reason: str, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell.refused("new", kind, name) == f"benchrunner: {reason}. Choose another name.\n"


def test_a_plugin_that_is_set_aside_keeps_its_name(tmp_path: Path) -> None:
    broken = discover(extra=[("broken", ModuleType("broken"))], installed=False)
    with pytest.raises(RequestError, match="There is a plugin 'broken' already"):
        write_plugin("task", "broken", tmp_path / "folder", plugins=broken)


def test_an_installed_package_of_the_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "benchrunner_there.py").touch()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(RequestError, match="A Python package 'benchrunner_there' is installed already"):
        write_plugin("task", "there", tmp_path / "folder", plugins=plugins())


def folder(path: Path) -> None:
    path.mkdir()


def file(path: Path) -> None:
    path.write_text("mine")


def broken_link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("occupy", [folder, file, broken_link, os.mkfifo])
def test_nothing_is_ever_overwritten(occupy: object, shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "place"
    occupy(place)  # type: ignore[operator]
    before = os.lstat(place)
    assert "place exists already, and nothing is overwritten" in shell.refused(
        "new", "task", "fresh", "--out", str(place)
    )
    assert os.lstat(place) == before
