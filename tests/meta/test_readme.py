"""The README's commands and snippets work, and console blocks of all pages show what is printed."""

import ast
import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import forked
from benchrunner.plugins.discovery import discover
from distributions import ROOT
from documents import blocks, shown_commands

README = ROOT / "README.md"
PYTHON = ROOT / "docs" / "python.md"
PLUGINS = ROOT / "docs" / "plugins.md"
STUDIES = ROOT / "docs" / "studies.md"
SHOWN = (README, *(ROOT / "docs" / f"{name}.md" for name in ("compare", "experiments", "submit")), STUDIES)
"""Pages whose console blocks follow one another: a block may use what an earlier one wrote."""


@pytest.mark.parametrize(("which", "what"), [("demo", "-r requirements.txt"), ("test", "-r requirements-dev.txt")])
def test_both_install_commands_are_one_line(which: str, what: str) -> None:
    shown = re.search(rf"<!-- {which} command -->\n```sh\n(.*)\n```", README.read_text(encoding="utf-8"))
    assert shown, f"the README has no {which} command"
    program = {"demo": "benchrunner demo", "test": "pytest -n auto --dist loadfile"}[which]
    assert shown[1] == f"python3 -m venv .venv && .venv/bin/pip install {what} && .venv/bin/{program}"


def test_the_lines_of_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("benchrunner_bert")
    pytest.importorskip("benchrunner_glue")
    discover().tasks.find("glue/rte").demo_files(tmp_path / "data")  # type: ignore[misc]
    train = tmp_path / "data" / "RTE" / "train.tsv"
    train.write_text("".join(train.read_text(encoding="utf-8").splitlines(keepends=True)[:33]), encoding="utf-8")
    for name in ("DATA", "RUNS", "CACHE"):
        monkeypatch.setenv(f"BENCHRUNNER_{name}", str(tmp_path / name.lower()))
    [snippet] = blocks("python", PYTHON)
    assert "bert/base-uncased" in snippet
    exec(compile(snippet.replace("bert/base-uncased", "bert/random-tiny"), "python.md", "exec"), {})
    scores, answers = capsys.readouterr().out.splitlines()
    assert scores.startswith("glue/rte dev accuracy 0.")
    assert set(ast.literal_eval(answers)) <= {"entailment", "not_entailment"}


def test_the_added_task_is_installed_listed_and_fitted(tmp_path: Path) -> None:
    folder, site, data = tmp_path / "mood", tmp_path / "site", tmp_path / "data" / "mood"
    folder.mkdir()
    data.mkdir(parents=True)
    module, settings = blocks("python", PLUGINS)[0], blocks("toml", PLUGINS)[0]
    assert len((module + settings).split("\n")) <= 32
    (folder / "mood.py").write_text(module, encoding="utf-8")
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    for split in ("train", "dev", "test"):
        with (data / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "mood"), ("Sun, at last.", "glad"), ("Rain", "sad"), ('"Oh"', "glad")])

    def told(*words: str, expected: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "BENCHRUNNER_CACHE": str(tmp_path / "cache")}
        done = forked.run(["-m", *words], cwd=tmp_path, env=environment)
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    away = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(site))
    told("pip", "install", *away, str(folder))
    assert "mine/mood" in told("benchrunner", "list", "mood")
    [command] = [line for line in shown_commands(PLUGINS) if line.startswith("benchrunner run mood")]
    words = shlex.split(command.replace("DIR", "data"))
    if "bert" not in {plugin.name for plugin in discover().loaded}:
        words = ["benchrunner", "run", "mood", "--method", "majority", "--data", "data"]
    assert "mine/mood" in told(*words)
    (data / "dev.csv").write_text("text,mood\nHm,happy\n", encoding="utf-8")
    [promised] = re.findall(r"`DIR/(mood/dev\.csv:2: [^`]*)`", PLUGINS.read_text(encoding="utf-8"))
    assert promised in told(*words, expected=2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_console_block_shows_what_is_printed(tmp_path: Path) -> None:
    """Run the README's demo, then the blocks of the other pages in the same folder.

    Figures may differ between machines; everything else is compared. A line `...` stands for any lines. The
    plugin kernels, which draws other dropout and which requirements.txt does not install, is kept out.
    """
    [words_file] = [text for text in blocks("toml", STUDIES) if "pre-training on novels" in text]
    (tmp_path / "words.toml").write_text(words_file, encoding="utf-8")
    (tmp_path / "books.txt").write_text("A line of a book.\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHRUNNER_")}
    environment |= {"BENCHRUNNER_CACHE": str(tmp_path / "cache"), "PATH": f"{tmp_path / 'bin'}:{environment['PATH']}"}
    (tmp_path / "bin").mkdir()
    without = "import sys, types; sys.modules['benchrunner_kernels'] = types.ModuleType('benchrunner_kernels')\n"
    (tmp_path / "bin" / "sitecustomize.py").write_text(without, encoding="utf-8")
    environment["PYTHONPATH"] = str(tmp_path / "bin")
    program = tmp_path / "bin" / "benchrunner"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m benchrunner "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    run_id = ""
    for block in (text for page in SHOWN for text in blocks("console", page)):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.replace("\\\n", ""), re.MULTILINE):
            if command.startswith("export "):
                environment |= dict(word.split("=") for word in command.split()[1:])
                continue
            line = re.sub(r"(?<=benchrunner predict )\w+", run_id, command)
            done = subprocess.run(
                line,
                shell=True,
                stdout=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env=environment,
                check=False,
            )
            pattern = re.escape(masked(expected)).replace(re.escape("...") + "\\\n", "(?:.*\n)*")
            assert re.fullmatch(pattern, masked(done.stdout)), f"{command}\n{done.stdout}"
            run_id = (re.findall(r"run ([0-9a-f]{16}) in", done.stdout) or [run_id])[-1]


def masked(text: str) -> str:
    """Leave out figures, ids, and the widths that follow from them."""
    text = re.sub(r"\b[0-9a-f]{16}\b|(?<=-)[0-9a-f]{6}\b", "ID", text)
    text = re.sub(r"\d+(?:[.,]\d+)*", "0", text)
    return "".join(re.sub(r"[ ━─]+", " ", line).rstrip() + "\n" for line in text.splitlines())
