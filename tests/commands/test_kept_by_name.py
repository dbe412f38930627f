"""`compare --study` takes the name of a kept study: it prints what is complete, and runs what is missing."""

import shutil
from pathlib import Path

import pytest

from benchrunner.io.files import remove_whole
from benchrunner.results import Plugins
from command_line import Shell

ON_CPU = ("--device", "cpu", "--quiet")


@pytest.fixture
def kept(shell: Shell, finished: tuple[Path, str]) -> Shell:
    """The study `first` in the shell's runs folder."""
    shutil.copytree(finished[0] / "runs", shell.folder / "runs")
    return shell


def test_a_complete_kept_study_is_printed_without_data(kept: Shell) -> None:
    before = kept.json("runs", "show", "first")
    shutil.rmtree(kept.folder / "data")
    assert kept.json("compare", "--study", "first") == before
    assert "| mine/mood |" in kept.done("compare", "--study", "first", "--format", "markdown")


def test_a_kept_study_gets_the_fits_that_it_lacks(kept: Shell, finished: tuple[Path, str]) -> None:
    table, file = kept.done("runs", "show", "first"), Path("runs/studies/first.json")
    command = kept.json("runs", "studies")["studies"][0]["command"]
    remove_whole(Path("runs", finished[1]))
    assert "is not finished, or was removed" in kept("runs", "show", "first")[1]
    assert "nothing was run" in kept.done("compare", "--study", "first", "--dry-run", *kept.folders())
    assert not Path("runs", finished[1]).exists()
    repeated = kept.done("compare", "--study", "first", *ON_CPU, *kept.folders())
    assert repeated.replace(f"--runs {kept.folder / 'runs'} ", "") == table
    assert kept.json("runs", "studies")["studies"][0]["command"] == command
    assert [path.name for path in file.parent.iterdir()] == ["first.json"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("first", "--lr", "1"), "The kept study first stays as it was asked: leave lr out."),
        (("first", "--margin", "2"), "leave margin out."),
        (("first", "words"), "leave backbones out."),
        (("first", "--name", "other"), "leave name out."),
        (("frist",), "There is no study 'frist'. Did you mean first? Looked in"),
        (("first.toml",), "first.toml"),
    ],
)
def test_a_kept_study_stays_as_it_was_asked(words: tuple[str, ...], reason: str, kept: Shell) -> None:
    assert reason in kept.refused("compare", *words[1:], "--study", words[0])


def test_a_study_file_comes_before_a_kept_study(kept: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept.folder / "first.toml"
    file.write_text("title = 3\n")
    monkeypatch.setattr(Plugins, "studies", {"kit/first": file})
    assert f"{file}: " in kept.refused("compare", "--study", "first")
    assert "Did you mean first or kit/first?" in kept.refused("compare", "--study", "firrst")
