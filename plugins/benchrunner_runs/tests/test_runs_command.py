"""Command `runs`: what it prints, also as JSON, and what it refuses."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Recipe, RequestError
from benchrunner.command_line.main import main
from benchrunner.results import compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_runs.sizes import size_of
from benchrunner_runs.summaries import short_ids
from chancy import chancy
from command_line import Shell
from inline import mood, plugins
from made_runs import made_run


class Runs:
    """Runs `benchrunner runs` on one folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys, self.plugins = folder, capsys, plugins(register_backbones=[])

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = main(["runs", *words, "--runs", str(self.folder)], plugins=self.plugins)
        return code, *self.printed()

    def printed(self) -> tuple[str, str]:
        """Return what was written to standard output and to standard error."""
        printed = self._capsys.readouterr()
        return printed.out, printed.err

    def json(self, *words: str) -> Any:
        code, out, err = self(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Runs:
    return Runs(tmp_path, capsys)


def test_the_list_has_a_line_for_each_run(runs: Runs) -> None:
    run = made_run(runs.folder, score=0.75)
    failed = made_run(runs.folder, seed=1, status="failed", score=None, minute=1, backbone="bad\nname")
    (runs.folder / "photos").mkdir()
    code, out, err = runs()
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 5)
    assert lines[0].split() == ["run", "task", "backbone", "recipe", "dev", "score", "date", "(UTC)", "size"]
    assert lines[1].startswith(f"{failed[:8]}  mine/mood  bad\\nname")
    assert "75.0 accuracy" in lines[2] and lines[2].startswith(f"{run[:8]} ") and " failed " in lines[1]
    size = sum(size_of(runs.folder / name) for name in (run, failed))
    assert lines[3:] == ["  no runs, and left out: photos", f"  2 run(s) in {runs.folder}, {size / 1000:.1f} kB"]


def test_a_screen_of_runs_is_listed_the_newest_first(runs: Runs) -> None:
    ids = [made_run(runs.folder, seed=seed, minute=seed, weights=0) for seed in range(25)]
    lines = runs()[1].splitlines()
    assert [line.split()[0] for line in lines[1:21]] == [name[:8] for name in reversed(ids[5:])]
    assert lines[21].startswith("  and 5 more: --all lists them") and lines[22].startswith("  25 run(s) in ")
    assert len(runs("--all")[1].splitlines()) == 27 and len(runs.json()["runs"]) == 25


def test_lines_are_cut_to_the_width_but_never_the_id(runs: Runs) -> None:
    run = made_run(runs.folder, backbone="b" * 300, recipe=Recipe(lr=1e-5, max_length=8, layer_decay=0.9, warmup=0.5))
    (line,) = runs()[1].splitlines()[1:2]
    assert len(line) == 120 and line.startswith(f"{run[:8]}  mine/mood  bbb") and line.count("...") == 2
    assert runs("show", line.split()[0])[0] == 0


def test_ids_are_as_long_as_tells_them_apart() -> None:
    assert short_ids(["12345678aa", "12345678ab"]) == {"12345678aa": "12345678aa", "12345678ab": "12345678ab"}


def test_scores_of_tasks_that_must_be_read_have_one_scale(runs: Runs) -> None:
    made_run(runs.folder, score=0.75)
    made_run(runs.folder, task="theirs/gone", seed=1, score=0.25)
    made_run(runs.folder, task="file/errors-0a1b2c", seed=2, score=0.5)

    def read_value(kind: str, name: str, plugins: Any) -> Any:
        assert kind == "task"
        if name == "theirs/gone":
            raise RequestError("its file was edited")
        return mood(name=name, metrics=(replace(ACCURACY, scale=1.0),), demo_files=None)

    runs.plugins = plugins(register_backbones=[], read_value=read_value)
    out = runs()[1]
    for score in ("75.0 accuracy", "25.0 accuracy", "0.5 accuracy"):
        assert score in out


def test_the_list_as_json_has_every_figure(runs: Runs) -> None:
    made_run(runs.folder, score=0.75)
    made_run(runs.folder, seed=1, score=0.25)
    listed = runs.json("--only", "mood", "--sort", "score")
    assert [run["score"] for run in listed["runs"]] == [0.75, 0.25]
    assert listed["runs"][0].keys() >= {"id", "task", "backbone", "recipe", "status", "date", "seconds", "bytes"}
    assert runs.json("--only", "failed")["runs"] == []


def test_an_empty_folder_is_said_in_one_line(runs: Runs) -> None:
    assert runs() == (0, f"  no runs in {runs.folder}\n", "")


def test_show_prints_what_its_json_has(runs: Runs) -> None:
    run = made_run(runs.folder)
    shown = runs("show", run)[1]
    assert all(part in shown for part in ("mine/mood", "accuracy 0.5000", "data rrr", "threads 1", "no kept study"))
    assert runs.json("show", run)["id"] == run


def test_rm_and_prune_say_what_they_remove(runs: Runs) -> None:
    first, second = made_run(runs.folder), made_run(runs.folder, seed=1)
    assert runs("prune", "--dry-run")[1].endswith("2 run(s): their weights and checkpoints, 200 B, would be removed\n")
    planned = {"removed": sorted((first, second)), "bytes": 200, "in_use": [], "studies": []}
    assert runs.json("prune", "--dry-run") == {**planned, "dry_run": True}
    assert runs.json("prune")["dry_run"] is False
    assert not (runs.folder / first / "model").exists()
    assert runs.json("rm", first)["removed"] == [first]
    assert [run["id"] for run in runs.json()["runs"]] == [second]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "abc"], "There is no run or kept study 'abc'"),
        (["--sort", "scor"], "There is no order 'scor' of runs. Did you mean score"),
        (["--sort", "date", "show", "a"], "--sort is for 'runs list': leave it out."),
    ],
)
def test_a_wrong_request_is_one_sentence(words: list[str], message: str, runs: Runs) -> None:
    code, out, err = runs(*words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("show", "benchrunner runs show: the following arguments are required: RUN."),
        ("prune a", "benchrunner runs prune: too many words, or options that it does not have: a."),
        ("--force", "benchrunner runs: there is no option --force."),
        ("show a --only b", "benchrunner runs show: there is no option --only."),
        ("lits", "benchrunner runs: there is no action 'lits'. Did you mean list?"),
    ],
)
def test_each_action_has_its_own_words(words: str, message: str, runs: Runs) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["runs", *words.split()], plugins=runs.plugins)
    assert stopped.value.code == 2
    assert runs.printed()[1].startswith(message)


def test_options_before_an_action_are_the_actions_too(runs: Runs) -> None:
    run = made_run(runs.folder)
    assert main(["runs", "--runs", str(runs.folder), "--json", "show", run], plugins=runs.plugins) == 0
    assert json.loads(runs.printed()[0])["id"] == run


@pytest.mark.parametrize("action", ["list", "prune", "studies"])
def test_a_folder_that_is_not_there_is_said(action: str, runs: Runs) -> None:
    missing = runs.folder / "nowhere"
    code = main(["runs", action, "--runs", str(missing)], plugins=runs.plugins)
    assert (code, runs.printed()) == (2, ("", f"benchrunner: --runs {missing}: there is no such folder.\n"))


def test_an_empty_path_is_not_this_folder(runs: Runs) -> None:
    """As of a shell variable that is not set."""
    with pytest.raises(SystemExit) as stopped:
        main(["runs", "prune", "--runs", ""], plugins=runs.plugins)
    assert stopped.value.code == 2
    assert "argument --runs: the path is empty; this folder is named '.'." in runs.printed()[1]


def test_studies_are_listed_with_what_they_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = chancy(tmp_path)
    run_study(compared(("words",), tuple(made.plugins.tasks.values()), Fitting(seeds=(0, 1))), made, keep_as="mine")
    runs = Runs(made.workspace.runs, capsys)
    (study,) = runs.json("studies")["studies"]
    assert (study["name"], study["backbones"], study["tasks"]) == ("mine", ["words"], ["mine/mood"])
    assert len(study["fits"]) == 2
    out = runs("studies")[1]
    assert out.splitlines()[1].startswith("mine ") and out.endswith(f"  1 kept study in {made.workspace.runs}\n")
    assert "selected by        mine" in runs("show", study["selected"][0])[1]
    runs.plugins = made.plugins
    table = runs("show", "mine")[1]
    assert "│ mine/mood │ accuracy │" in table and re.search(r"\n  next: benchrunner report --runs \S+ mine\n", table)
    assert runs.json("show", "mine")["cells"][0]["task"] == "mine/mood"
    assert "There is no run or kept study 'mime'. Did you mean mine?" in runs("show", "mime")[2]
    assert "is for a kept study, and" in runs("show", study["selected"][0], "--format", "csv")[2]


def test_a_kept_study_is_shown_as_compare_prints_it(shell: Shell) -> None:
    words = ["compare", "words", "--tasks", "mood", "--restarts", "2", "--name", "mine", "--quiet"]
    compare, show = [*words, *shell.folders(), "--device", "cpu"], ["runs", "show", "mine", *shell.folders()[2:]]
    shell.done(*compare)
    for output in ("", "--notes", "--long", "--no-intervals", "--run-ids", "--format csv", "--json"):
        shown = shell.done(*show, *output.split())
        assert shown and shown == shell.done(*compare, *output.split())
    assert shell.done(*show, "--format", "latex").startswith("% In the preamble")
