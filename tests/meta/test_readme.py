"""The README is true: its lists are generated, its commands parse, its snippets run.

`python tests/meta/test_readme.py` rewrites the lists.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchrunner.commands.main import parser
from benchrunner.plugins.discovery import discover
from distributions import HOMES, ROOT, project

README = ROOT / "README.md"
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str, text: str | None = None) -> list[str]:
    found = CODE.findall(README.read_text(encoding="utf-8") if text is None else text)
    return [body for language, body in found if language == kind]


def subcommands() -> dict[str, str]:
    [chosen] = [
        one for one in parser(discover(installed=False))._actions if isinstance(one, argparse._SubParsersAction)
    ]
    return {one.dest: one.help or "" for one in chosen._choices_actions}


def commands_table(_: str) -> str:
    rows = "".join(f"| `{name}` | {about} |\n" for name, about in subcommands().items())
    return f"| command | what it does |\n|---|---|\n{rows}"


def tasks_table(_: str) -> str:
    plugins, ours = discover(), {project(home)["name"] for home in HOMES}
    rows = "".join(
        f"| `{one.name}` | {one.about} | {one.problem.name} |\n"
        for one in plugins.tasks.values()
        if plugins.supplier(one).distribution in ours
    )
    return f"| task | question | kind |\n|---|---|---|\n{rows}"


GENERATED = {"commands": commands_table, "tasks": tasks_table}


def generated(text: str, kind: str) -> str:
    def made(match: re.Match[str]) -> str:
        return match[1] + GENERATED[kind](match[2]) + match[3]

    whole, count = re.subn(rf"(<!-- {kind}: .*? -->\n)(.*?)(<!-- end -->)", made, text, flags=re.DOTALL)
    assert count == 1, f"the README has no part '{kind}'"
    return whole


@pytest.mark.parametrize("kind", GENERATED)
def test_generated_parts_are_what_the_code_says(kind: str) -> None:
    if kind == "tasks":
        pytest.importorskip("benchrunner_glue")
    text = README.read_text(encoding="utf-8")
    assert generated(text, kind) == text, "run: python tests/meta/test_readme.py"


def test_every_link_leads_somewhere() -> None:
    broken = []
    for page in [README, *ROOT.glob("plugins/*/README.md"), ROOT / "leaderboards" / "README.md", ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        anchors = {
            re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in re.findall(r"^#+ (.*)$", text, re.M)
        }
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(CODE, "", text)):
            target, _, anchor = link.partition("#")
            if not link.startswith("https://") and not (page.parent / target).exists():
                broken.append(f"{page}: {link}")
            if not target and anchor not in anchors:
                broken.append(f"{page}: {link}")
    assert broken == []


def shown_commands(page: Path) -> list[str]:
    """Every benchrunner command line in a page: in its blocks, whole, and in its prose where it is more than a name."""
    text = page.read_text(encoding="utf-8")
    shell = [
        line.removeprefix("$ ") for kind in ("sh", "console") for one in blocks(kind, text) for line in one.splitlines()
    ]
    found = [line for line in shell if line.startswith("benchrunner ")]
    return found + re.findall(r"`(?:\.venv/bin/)?(benchrunner [a-z]+ [^`]+)`", re.sub(CODE, "", text))


def test_every_command_shown_is_understood() -> None:
    known = parser(discover())
    pages = [README, *ROOT.glob("plugins/*/README.md"), ROOT / "leaderboards" / "README.md"]
    shown = [line for page in pages for line in shown_commands(page)]
    assert len(shown) >= 8
    for line in shown:
        if not line.endswith("--help"):
            known.parse_args(shlex.split(line, comments=True)[1:])  # a mistake exits with its message


def listed(name: str) -> list[str]:
    """Read the lines of a requirements file, without comments."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_requirements_name_every_distribution_and_the_constraints() -> None:
    constraint, core, *others = listed("requirements.txt")
    assert (constraint, core) == ("-c constraints.txt", "-e .")
    homes = [line.removeprefix("-e ").removesuffix("[pretrain]") for line in others]
    assert homes == sorted(str(home.relative_to(ROOT)) for home in HOMES[1:])
    assert listed("requirements-dev.txt") == ["-r requirements.txt", "-e .[dev]"]


@pytest.mark.parametrize(("which", "file"), [("demo", "requirements.txt"), ("test", "requirements-dev.txt")])
def test_both_install_commands_are_one_line(which: str, file: str) -> None:
    shown = re.search(rf"<!-- {which} command -->\n```sh\n(.*)\n```", README.read_text(encoding="utf-8"))
    assert shown, f"the README has no {which} command"
    program = {"demo": "benchrunner demo", "test": "pytest"}[which]
    assert shown[1] == f"python3 -m venv .venv && .venv/bin/pip install -r {file} && .venv/bin/{program}"


def test_the_ten_lines_of_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("benchrunner_bert")
    pytest.importorskip("benchrunner_glue")
    discover().task("glue/rte").demo_files(0, tmp_path / "data")  # type: ignore[misc]
    train = tmp_path / "data" / "RTE" / "train.tsv"
    train.write_text("".join(train.read_text(encoding="utf-8").splitlines(keepends=True)[:33]), encoding="utf-8")
    for name in ("DATA", "RUNS", "CACHE"):
        monkeypatch.setenv(f"BENCHRUNNER_{name}", str(tmp_path / name.lower()))
    [snippet] = [one for one in blocks("python") if "run_study" in one]
    assert "bert/base-uncased" in snippet
    exec(compile(snippet.replace("bert/base-uncased", "bert/random-tiny"), "README.md", "exec"), {})
    scores, answers = capsys.readouterr().out.splitlines()
    assert scores.startswith("glue/rte dev accuracy 0.")
    assert set(ast.literal_eval(answers)) <= {"entailment", "not_entailment"}


def test_the_task_that_is_added_can_be_installed_listed_and_fitted(tmp_path: Path) -> None:
    folder, site, data = tmp_path / "mood", tmp_path / "site", tmp_path / "data" / "mood"
    folder.mkdir()
    data.mkdir(parents=True)
    [module] = [one for one in blocks("python") if "register_tasks" in one]
    [settings] = blocks("toml")
    assert len((module + settings).split("\n")) <= 32
    (folder / "mood.py").write_text(module, encoding="utf-8")
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    for split in ("train", "dev", "test"):
        with (data / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "mood"), ("Sun, at last.", "glad"), ("Rain", "sad"), ('"Oh"', "glad")])

    def told(*words: str, expected: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "BENCHRUNNER_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    away = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(site))
    told("pip", "install", *away, str(folder))
    assert "mine/mood" in told("benchrunner", "list", "tasks")
    [command] = [line for line in shown_commands(README) if line.startswith("benchrunner run mood")]
    words = shlex.split(command.replace("DIR", "data"))
    if "bert" not in {one.name for one in discover().loaded}:
        words = ["benchrunner", "run", "mood", "--method", "majority", "--data", "data"]
    assert "mine/mood" in told(*words)
    (data / "dev.csv").write_text("text,mood\nHm,happy\n", encoding="utf-8")
    [promised] = re.findall(r"`DIR/(mood/dev\.csv:2: [^`]*)`", README.read_text(encoding="utf-8"))
    assert promised in told(*words, expected=2)


@pytest.mark.slow
def test_every_console_block_shows_what_is_printed(tmp_path: Path) -> None:
    """The figures may differ between machines; everything else is compared. `...` stands for any lines."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHRUNNER_")}
    environment |= {"BENCHRUNNER_CACHE": str(tmp_path / "cache")}
    run_id = ""
    for block in blocks("console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith("export "):
                environment |= dict(one.split("=") for one in command.split()[1:])
                continue
            words = shlex.split(command)
            if words[1] == "predict":
                words[2] = run_id
            done = subprocess.run(
                [sys.executable, "-m", *words],
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
    """Without figures, ids, and the widths that follow from them."""
    text = re.sub(r"\b[0-9a-f]{16}\b", "ID", text)
    text = re.sub(r"\d+(?:[.,]\d+)*", "0", text)
    return "".join(re.sub(r"[ ━─]+", " ", line).rstrip() + "\n" for line in text.splitlines())


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    for kind in GENERATED:
        text = generated(text, kind)
    README.write_text(text, encoding="utf-8")
