"""Every hook is documented to the letter, and the plugin in its docstring works as it stands."""

import inspect
import json
import re
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from benchrunner import UnknownName, Workspace
from benchrunner.command_line.main import main
from benchrunner.fits.progress import quiet_report
from benchrunner.plugins import hookspecs, observer_specs
from benchrunner.plugins.hookspecs import GROUP
from benchrunner.results import (
    Computing,
    Event,
    Fit,
    Grid,
    Plugins,
    Runner,
    StudyOptions,
    compared,
    comparison,
    discover,
    run_study,
)
from benchrunner.runs.predicting import predict
from benchrunner.runs.runner import Observers
from benchrunner.studies.cells import Fitting
from benchrunner_kit.testing import check_backbone, sentences
from benchrunner_submit import Answers
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.writing import write_answers
from inline import QUICK, files, mood, own, runner
from made_results import made_result, said_below

SIGNATURES = {
    "register_tasks": "() -> Iterable[Task]",
    "register_backbones": "() -> Iterable[BackboneFamily]",
    "register_methods": "() -> Iterable[Method]",
    "register_leaderboards": "() -> Iterable[Board]",
    "register_executors": "() -> Iterable[Executor]",
    "register_searches": "() -> Iterable[Search]",
    "offer_search": "() -> Any",
    "register_recipes": "() -> Iterable[NamedRecipe]",
    "offer_kernels": "() -> Kernels | None",
    "offer_team": "() -> Team | None",
    "register_commands": "(cli: Commands) -> None",
    "read_study": "(name: str, runner: Any, parameters: Mapping[str, str], scale: str | None, "
    "systems: Sequence[str] | None, columns: Sequence[str] | None, options: Any) -> Any",
    "prepare_study": "(study: Any, runner: Any) -> Callable[[bool], None] | None",
    "plan_study": "(study: Any, runner: Any, as_json: bool) -> None",
    "compare_systems": "(result: Any) -> Any",
    "describe_study": "(result: Any) -> Iterable[str]",
    "write_table": "(form: str, table: Any, notes: Sequence[str], result: Any) -> str | None",
    "read_answers": "(path: Any) -> Any",
    "describe_rows": "(task: Task, split: str, rows: Rows, train: Rows) -> Iterable[str]",
    "read_value": "(kind: str, name: str, plugins: Any) -> Any",
    "measure_costs": "(fits: Mapping[str, Sequence[Fit]], records: Mapping[str, Record], workspace: Workspace, "
    "computing: Computing, show_progress: bool) -> Sequence[Cost]",
    "before_study": "(fits: Sequence[Fit]) -> None",
    "on_progress": "(fit: Fit, event: Event) -> None",
    "after_fit": "(fit: Fit, record: Record) -> None",
    "after_predict": "(fit: Fit, prediction: Prediction, record: Record) -> None",
    "on_fit_error": "(fit: Fit, error: Exception) -> None",
}
"""What plugins are written against: a change here breaks somebody's."""


def hooks() -> dict[str, Callable[..., Any]]:
    functions = [
        *inspect.getmembers(hookspecs, inspect.isfunction),
        *inspect.getmembers(observer_specs, inspect.isfunction),
    ]
    return {name: one for name, one in functions if hasattr(one, f"{GROUP}_spec")}


def documented(name: str) -> ModuleType:
    """The plugin in a hook's docstring, executed."""
    _, _, code = inspect.cleandoc(hooks()[name].__doc__ or "").partition("\n\n")
    module = ModuleType(f"documented_{name}")
    exec(compile(textwrap.dedent(code), f"<{name}>", "exec"), module.__dict__)
    return module


def with_documented(*names: str) -> Plugins:
    plugins = discover(extra=[(name, documented(name)) for name in names], installed=False)
    assert not plugins.set_aside
    return plugins


def test_hooks_have_these_signatures() -> None:
    assert {name: str(inspect.signature(one)).replace("'", "") for name, one in hooks().items()} == SIGNATURES


@pytest.mark.parametrize("name", SIGNATURES)
def test_each_docstring_plugin_has_the_full_hook_signature(name: str) -> None:
    module = documented(name)
    assert list(inspect.signature(getattr(module, name)).parameters) == list(
        inspect.signature(hooks()[name]).parameters
    )
    with_documented(name)


def documented_mood(folder: Path) -> Runner:
    """Task, backbone and board of the docstrings, with data."""
    plugins = with_documented("register_tasks", "register_backbones", "register_leaderboards", "register_methods")
    (folder / "data" / "mood").mkdir(parents=True)
    for seed, role in enumerate(("train", "dev", "test")):
        found = sentences(20, seed=seed)
        rows = "".join(f'"{a}, said he",{label}\n' for a, label in zip(found["a"], found["label"], strict=True))
        (folder / "data" / "mood" / f"{role}.csv").write_text(f"text,mood\n{rows}")
    return Runner(plugins, Workspace(folder / "runs", folder / "cache", data=folder / "data"), Computing("cpu"))


def test_the_documented_study_is_that_of_two_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine/words\nmine/mood\n")
    read = partial(documented("read_study").read_study, runner=documented_mood(tmp_path), options=StudyOptions())
    unasked = {"parameters": {}, "scale": None, "systems": None, "columns": None}
    study = read(str(tmp_path / "mine.txt"), **unasked)
    assert (study.names, [task.name for task in study.tasks]) == (("mine/words",), ["mine/mood"])
    assert read("mine.toml", **unasked) is None


def test_the_documented_plan_counts_the_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runner(tmp_path)
    study = compared(("words",), made.plugins.tasks_of(["mood"]), Fitting(seeds=(0, 1, 2)))
    documented("plan_study").plan_study(study, made, False)
    assert capsys.readouterr().out == "words on mine/mood: 3 fits at most\n"


def test_the_documented_preparation_makes_the_folder_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = runner(tmp_path)
    study = compared(("words",), made.plugins.tasks_of(["mood"]))
    build = documented("prepare_study").prepare_study(study, made)
    assert not made.workspace.runs.exists()
    build(True)
    assert made.workspace.runs.is_dir() and "fits of words are kept in" in capsys.readouterr().err


def test_the_documented_comparison_gives_intervals() -> None:
    result = made_result([mood()], ["a"])
    statistics = documented("compare_systems").compare_systems(result)
    table = comparison.layout(replace(result, given_statistics=statistics), comparison.NOTHING_PUBLISHED)
    assert "93.1 ± 1.2 [93.1, 93.1]" in table.lines[0].cells[-1]


def test_the_documented_description_stands_among_the_notes(tmp_path: Path) -> None:
    described = runner(tmp_path, describe_study=documented("describe_study").describe_study)
    assert "fitted with care" in said_below(replace(made_result([mood()], ["a"]), runner=described), "about")


def test_the_documented_remark_is_a_note_of_the_answers(tmp_path: Path) -> None:
    made = runner(tmp_path, describe_rows=documented("describe_rows").describe_rows)
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    assert predict(fit, "dev", made).record.notes == ("dev has 24 rows only",)


def test_the_documented_table_has_a_row_for_each_line() -> None:
    result = made_result([mood()], ["a"])
    table = comparison.layout(result, comparison.NOTHING_PUBLISHED)
    write_table = documented("write_table").write_table
    text = write_table("markdown", table, ["a note"], result)
    assert len(text.splitlines()) == 2 + len(table.lines) + 2 + table.headers[-1].count("\n")
    assert text.splitlines()[-1] == "a note" and write_table("latex", table, [], result) is None


def test_the_documented_reader_finds_a_task_beside_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "moods.labels").write_text("glad sad")
    plugins = with_documented("read_value", "register_tasks")
    [task, _, again] = plugins.tasks_of(["mine/moods", "mine/mood", "mine/moods@3"])
    assert task.problem.identity()["labels"] == ["glad", "sad"]
    assert (again.whole, plugins.supplier(task).name) == (task, "read_value")
    with pytest.raises(UnknownName, match="mine/mood"):
        plugins.tasks.find("mine/modes")


def test_the_documented_task_backbone_and_board_go_the_whole_way(tmp_path: Path) -> None:
    runner = documented_mood(tmp_path)
    task = runner.plugins.tasks.find("mine/mood")
    result = run_study(compared(("mine/words",), (task,), Fitting(changes={"epochs": 1})), runner)
    (cell,) = result.cells
    assert cell.selected is not None and not cell.lost
    board = runner.plugins.leaderboards.find("moods")
    predicted = predict(cell.selected, "test", runner)
    archive = write_answers(board, {("mine/mood", "test"): Answers(predicted.answers)}, tmp_path)
    assert findings(board, archive).faults == []


def test_the_documented_backbone_keeps_its_contract(tmp_path: Path) -> None:
    plugins = with_documented("register_backbones")
    workspace = Workspace(tmp_path, tmp_path)
    check_backbone(*plugins.backbone_search.find("mine/words", workspace), workspace, tmp_path / "saved")


def test_the_documented_method_answers_with_the_first_row(tmp_path: Path) -> None:
    runner = documented_mood(tmp_path)
    task = runner.plugins.tasks.find("mine/mood")
    fit = runner.planner.plan(task, "", method="first")
    assert runner.run(fit).status == "done"
    first = runner.planner.rows(task, "train").table.column("label")[0].as_py()
    assert predict(fit, "dev", runner).answers == [first] * 20


def test_the_documented_executor_runs_the_last_fit_first(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    plugins = discover(extra=[("own", own()), ("more", documented("register_executors"))], installed=False)
    runner = Runner(plugins, Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data"), Computing("cpu"))
    fits = [runner.planner.plan(plugins.tasks.find("mood"), "words", recipe=QUICK, seed=seed) for seed in (0, 1)]
    ran = list(plugins.executors.find("backwards").run(fits, runner.fit_runner))
    assert [fit.seed for fit, _ in ran] == [1, 0]
    assert {record.status for _, record in ran} == {"done"}


def test_the_documented_recipe_has_its_values() -> None:
    plugins = with_documented("register_recipes")
    recipe = plugins.recipes.find("mine-paper")
    assert recipe.values_for("mine/mood") == {"epochs": 10, "lr": 2e-5, "warmup": 0.06}
    assert recipe.values_for("mine/other")["lr"] == 1e-5
    assert plugins.grid("mine-paper") == {"lr": (1e-5, 2e-5, 3e-5), "batch_size": (16, 32)}


def test_the_documented_command_says_hello(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hello"], plugins=with_documented("register_commands")) == 0
    assert capsys.readouterr().out == "hello\n"
    assert main(["--estimate", "hello"], plugins=with_documented("register_commands")) == 0
    assert json.loads(capsys.readouterr().out) == {"left": "one word", "flops": None, "seconds": 0.1}


def test_the_documented_observers_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("on_progress", "after_fit", "on_fit_error")
    plugins = discover(extra=[("own", own()), *((one, documented(one)) for one in names)], installed=False)
    made = runner(tmp_path)
    made = Runner(plugins, made.workspace)
    fit = made.planner.plan(plugins.tasks.find("mood"), "words", recipe=QUICK.changed(epochs=1))
    made.run(fit)
    said = capsys.readouterr().out.splitlines()
    assert said[:7] == [f"{fit.id} encoding 0.0 0.0", *(f"{fit.id} step {step} 6" for step in range(1, 7))]
    assert re.fullmatch(r"loss 0\.\d+ learning rate 0\.\d+\n\d+\.\d+ examples per second", "\n".join(said[7:9]))
    assert said[-1] == f"{fit.id} done"
    bad = made.planner.plan(plugins.tasks.find("mood"), "words", recipe=QUICK.changed(max_length=3, micro_tokens=1))
    made.workspace.runs.joinpath(bad.id).mkdir()
    made.workspace.runs.joinpath(bad.id, "log.jsonl").mkdir()  # a fit that cannot write its log
    assert made.run(bad).status == "failed"
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(f"{bad.id} ") and "Is a directory" in said[-1]


def test_the_documented_search_trains_the_first_point(tmp_path: Path) -> None:
    plugins = discover(extra=[("own", own()), ("first", documented("offer_search"))], installed=False)
    made = Runner(plugins, runner(tmp_path).workspace)
    study = compared(
        ("words",), (plugins.tasks.find("mood"),), Fitting(Grid({"lr": (1e-2, 2e-2)}), changes={"epochs": 1})
    )
    (cell,) = run_study(study, made).cells
    assert [point.recipe.lr for point in cell.cell.candidates] == [1e-2]


def test_the_documented_observers_see_studies_and_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("before_study", "after_predict")
    plugins = discover(extra=[("own", own()), *((name, documented(name)) for name in names)], installed=False)
    made = Runner(plugins, runner(tmp_path).workspace)
    study = compared(("words",), (plugins.tasks.find("mood"),), Fitting(seeds=(0, 1), changes={"epochs": 1}))
    result = run_study(study, made)
    fits = [fit.id for cell in result.cells for fit in cell.cell.fits]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "2 fits of 1 tasks"
    for fit in fits:
        score = json.loads(next(made.workspace.runs.glob(f"{fit}/predictions/*/record.json")).read_text())["scores"]
        assert f"{fit} dev accuracy {score['accuracy']['value']}" in said
    run_study(study, made)
    again = capsys.readouterr().out.splitlines()
    assert again == said[:1], "predictions that are read from disk are not observed again"


def test_without_observers_an_event_costs_microseconds(tmp_path: Path) -> None:
    """A training step takes milliseconds at least."""
    events = Observers(discover(installed=False), quiet_report)
    began, fit = time.process_time(), cast(Fit, None)
    for step in range(10_000):
        events.progress(fit, Event("step", step, 10_000))
    assert (time.process_time() - began) / 10_000 < 100e-6
