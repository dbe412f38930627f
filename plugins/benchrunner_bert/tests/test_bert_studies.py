"""The studies that ship: every file can be read at every scale, its commands are understood, and all run whole."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pretraining_texts import needs_deepspeed

import benchrunner_bert
from benchrunner import RequestError, Workspace
from benchrunner.results import Computing, Plugins, Runner, Study, discover
from benchrunner.studies.cells import Fitting
from benchrunner_bert.pretraining import command
from benchrunner_studies.reading import StudyFile, read_study_file
from benchrunner_studies.recipes import read_recipe
from benchrunner_studies.settling import study_of_file

FOLDER = Path(benchrunner_bert.__file__).parent / "studies"
NAMES = ("figure5", *(f"table{number}" for number in range(1, 9)))
ABLATIONS = ("figure5", "table5", "table6", "table8")
"""Studies whose systems are all pre-trained."""
SCALES = ("tiny", "small", "full")
REQUIRED = {"corpus": "'a b.txt' hub:books,plain", "held-out": "c.txt"}
"""Values of the parameters that have no default, in the studies that have them."""


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return discover()


def study(name: str, *, scale: str = "full", systems: list[str] | None = None, **values: str) -> Study:
    return study_file(name, scale, systems, values).study


def study_file(
    name: str, scale: str, systems: list[str] | None = None, values: Mapping[str, str] | None = None
) -> StudyFile:
    path = FOLDER / f"{name}.toml"
    given = {} if scale == "tiny" else {key: value for key, value in REQUIRED.items() if has_parameter(path, key)}
    return read_study_file(path, {**given, **(values or {})}, scale=scale, systems=systems)


def has_parameter(path: Path, name: str) -> bool:
    return f"\n{name} = {{about" in path.read_text()


def all_systems(name: str) -> list[str]:
    """Name the systems of a study, extra ones included."""
    with pytest.raises(RequestError) as refused:
        study(name, scale="tiny", systems=["no such system"])
    return [name.strip() for name in str(refused.value).split("It has: ")[1].removesuffix(".").split(",")]


def pretrain_options(words: tuple[str, ...]) -> argparse.Namespace:
    """Read a command of a study with the command line of `pretrain`."""
    parser = argparse.ArgumentParser()
    command.add_options(parser.add_subparsers().add_parser("pretrain"))
    return parser.parse_args(words)


def pretrainings(read: Study) -> Iterator[argparse.Namespace]:
    for words in read.commands:
        if words[0] == "pretrain":
            yield pretrain_options(words)


@pytest.mark.parametrize("name", ABLATIONS)
def test_study_commands_are_valid_and_make_the_models_it_uses(name: str) -> None:
    read = study(name, out="my models", more="--no-lowercase --zero 1", **{"blank-lines": "0"})
    options = list(pretrainings(read))
    folders = [option.out for option in options]
    assert len(set(folders)) == len(folders) == len({option.name for option in options})
    assert all(option.name.replace("-", "").replace(".", "").isalnum() for option in options)
    for option in options:
        assert option.corpus == ["a b.txt", "hub:books,plain"]
        assert (option.steps, option.warmup, option.batch_size, option.vocabulary_size) == (
            1_000_000,
            10_000,
            256,
            30_522,
        )
        assert (option.length, option.long_length) == (128, 512)
        assert (option.tokens, option.lowercase) == (Path("my models/tokens"), False)
        assert (option.zero, option.blank_lines) == (1, 0)
    for system in read.systems:
        (made,) = [pretrain_options(words) for words in system.make]
        exports = [made.out / "exports" / f"step-{step}" for step in made.export_at or ()]
        assert Path(system.backbone) in [made.out / "model", *exports]
        assert system.figures in (None, made.out / "log.jsonl")


def test_only_rows_that_are_pretrained_need_a_corpus() -> None:
    path = FOLDER / "table1.toml"
    with pytest.raises(RequestError, match="table1 needs a value for corpus for GPT-like "):
        read_study_file(path, {})
    assert read_study_file(path, {}, systems=["BERT-BASE", "BERT-LARGE"]).study.commands == {}
    made = study("table1", out="my models", more="--zero 1", systems=["GPT-like"])
    [system], [option] = made.systems, list(pretrainings(made))
    assert (option.size, option.steps, option.warmup, option.zero) == ("gpt-base", 1_000_000, 10_000, 1)
    assert (Path(system.backbone), option.tokens) == (option.out / "model", Path("my models/tokens"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_study_columns_name_known_splits_and_metrics(plugins: Plugins, name: str, scale: str) -> None:
    for plugin in ("glue", "squad", "swag", "conll"):
        pytest.importorskip(f"benchrunner_{plugin}")
    file = study_file(name, scale)
    read = file.study
    recipes = [part.recipe for part in (file, file.scale, *file.systems.values())]
    for recipe in (*recipes, *file.columns.values()):
        read_recipe(recipe, name, plugins)
    for system in read.systems:
        assert system.method is None or plugins.methods.find(system.method)
    for column in read.columns:
        if column.task:
            task = plugins.tasks.find(column.task)
            assert column.split in task.splits
            assert column.metric in [metric.name for metric in task.metrics]
            assert column.method is None or plugins.methods.find(column.method)


@pytest.mark.parametrize("name", NAMES)
def test_small_scales_are_smaller_and_tiny_needs_nothing(name: str) -> None:
    tiny = read_study_file(FOLDER / f"{name}.toml", {}, scale="tiny").study
    assert tiny.scale.about and study(name, scale="small").scale.about
    for path in [word for words in tiny.commands for word in words if word.endswith(".txt")]:
        assert Path(path).is_file()
    steps = []
    for scale in SCALES:
        steps.append({option.steps for option in pretrainings(study(name, scale=scale))})
    assert not any(steps) or [len(chosen) for chosen in steps] == [1, 1, 1]
    assert [max(chosen) for chosen in steps if chosen] == sorted(max(chosen) for chosen in steps if chosen)


def test_table_8_mask_rates_are_in_the_order_of_pretrain() -> None:
    """The paper's columns are MASK, SAME, RND."""
    for system in study("table8").systems:
        (words,) = system.make
        assert system.name == "/".join(f"{rate:.0f}" for rate in pretrain_options(words).masking)


def test_a_scaled_down_study_scales_its_warm_up_and_its_points() -> None:
    read = study("figure5", steps="500", size="2/128")
    assert [system.name for system in read.systems][:2] == ["mlm+nsp after 25 steps", "mlm+nsp after 50 steps"]
    assert [(system.series, system.at) for system in read.systems][4:6] == [("mlm+nsp", 500), ("ltr", 25)]
    assert len(read.commands) == 2, "one pre-training for each objective, whatever the points"
    option = next(pretrainings(read))
    assert (option.size, option.warmup, option.export_at) == ("2/128", 5, (25, 50, 100, 250, 500))
    assert option.name == "figure5-2-128-500-mlm-nsp"


def test_no_two_studies_of_one_corpus_disagree_about_its_tokens() -> None:
    """Studies that share `tokens` must ask for the same vocabulary."""
    options = [option for name in ABLATIONS for option in pretrainings(study(name, tokens="shared"))]
    assert {(option.tokens, option.vocabulary_size, option.lowercase, option.blank_lines) for option in options} == {
        (Path("shared"), 30_522, None, 1)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@needs_deepspeed
def test_a_study_runs_whole_at_the_tiny_scale(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On generated data, with every column, extra ones included; a second call reads what the first has made."""
    read = study(name, scale="tiny", systems=all_systems(name))
    plugins = discover()
    for task in {column.task for column in read.columns if column.task}:
        plugins.tasks.find(task).demo_files(tmp_path / "data")  # type: ignore[misc]
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    columns = ",".join(column.name for column in read.columns)
    words = ["compare", "--study", name, "--scale", "tiny", "--data", "data", "--json"]
    words += ["--systems", ",".join(system.name for system in read.systems), "--columns", columns]

    def run() -> tuple[dict[str, Any], str]:
        command_line = [sys.executable, "-m", "benchrunner", *words, "--device", "cpu", "--offline"]
        done = subprocess.run(command_line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout), done.stderr

    result, _ = run()
    measured = [column for column in read.columns if column.is_measured]
    assert len(result["figures"]) == len(read.systems) * len(measured)
    assert all(figure["mean"] is not None for figure in result["figures"]), result["notes"]
    again, progress = run()
    assert again == result
    assert "it was finished before" in progress or not read.commands


@pytest.mark.parametrize(
    ("name", "columns", "split", "metric"),
    [("table1", ("MNLI-m", "MNLI-mm"), "dev_matched", "accuracy"), ("table2", ("dev EM", "dev F1"), "dev", "f1")],
)
def test_two_figures_of_one_task_are_of_one_fit(
    plugins: Plugins, name: str, columns: tuple[str, ...], split: str, metric: str, tmp_path: Path
) -> None:
    runner = Runner(plugins, Workspace(tmp_path, tmp_path), Computing("cpu"))
    made = study_of_file(name, runner, systems=["BERT-BASE" if name == "table1" else "BERT-BASE (single)"])
    [cell] = [cell for cell in made.cells if set(columns) & set(cell.columns)]
    assert cell.columns == columns
    assert cell.selection.splits_of(cell.task) == (split,)
    assert cell.selection.metric_of(cell.task) == metric


TABLE7 = ("embeddings", "second-to-last hidden", "last hidden", "weighted sum last four hidden")


@pytest.mark.parametrize(
    ("name", "values", "contrasts"),
    [
        (
            "table5",
            {},
            [("no NSP", "BERT"), ("LTR & no NSP", "no NSP"), ("+ BiLSTM", "LTR & no NSP")],
        ),
        (
            "table7",
            {},
            [
                ("BERT-LARGE", "BERT-BASE"),
                *((f"BERT-BASE ({layers})", "BERT-BASE") for layers in TABLE7),
                ("BERT-BASE (concat last four hidden)", "BERT-BASE"),
                ("BERT-BASE (weighted sum all 12 layers)", "BERT-BASE"),
            ],
        ),
        ("table1", {"corpus": "x"}, [(name, "GPT-like") for name in ("BERT-BASE", "BERT-LARGE")]),
        ("table8", {"masks": "80/10/10,100/0/0,80/20/0"}, [("100/0/0", "80/10/10"), ("80/20/0", "80/10/10")]),
        (
            "figure5",
            {"points": "250,500,1000", "steps": "1000"},
            [
                ("ltr", "mlm+nsp"),
                ("mlm+nsp after 1000 steps", "mlm+nsp after 500 steps"),
            ],
        ),
    ],
)
def test_a_study_tests_the_contrasts_of_the_paper(
    name: str, values: dict[str, str], contrasts: list[tuple[str, str]]
) -> None:
    made = study(name, systems=all_systems(name) if name == "table5" else None, **values)
    assert list(made.contrasts) == contrasts


@pytest.mark.parametrize("name", NAMES)
def test_a_study_says_which_adam_it_uses(name: str) -> None:
    file = study_file(name, "full")
    assert "bias-correction" not in file.recipe
    assert "--set bias-correction=no leaves that out, as the paper's code does." in " ".join(file.study.about.split())


def planned_cells(name: str, plugins: Plugins, folder: Path) -> dict[tuple[str, str], Fitting]:
    """Map each system and task of a study at its full scale to how its fits are made."""
    runner = Runner(plugins, Workspace(folder, folder), Computing("cpu"))
    made = study_of_file(name, runner)
    return {(cell.system, cell.task.name): cell.fitting for cell in made.cells}


def test_dev_chooses_among_18_recipes_in_each_row_of_table_7(plugins: Plugins, tmp_path: Path) -> None:
    fittings = planned_cells("table7", plugins, tmp_path)
    assert len(fittings) == 8
    for (system, _), fitting in fittings.items():
        choices = fitting.grid.choices
        assert choices["batch_size"] == (16, 32)
        if system in ("BERT-BASE", "BERT-LARGE"):
            assert (choices["lr"], choices["epochs"]) == ((5e-5, 3e-5, 2e-5), (2, 3, 4)), "Devlin et al. 2019, A.3"
        assert (fitting.grid.size, len(fitting.seeds)) == (18, 5)


@pytest.mark.parametrize(("scale", "contexts"), [("full", "window"), ("small", "window,sentence")])
def test_dev_chooses_the_context_of_small_models(scale: str, contexts: str) -> None:
    """Small models lose 5 to 10 points of F1 with the paper's context; see the README of plugins/benchrunner_conll."""
    assert study_file("table7", scale).systems["BERT-BASE"].recipe["context"] == contexts
    fine_tuned = study_file("table8", scale).columns["NER fine-tuned"]
    assert fine_tuned["context"] == contexts
    for name, column in (("table7", "dev"), ("table8", "NER fine-tuned")):
        notes = [read.note for read in study(name).columns if read.name == column]
        assert "contexts=window,sentence lets dev choose" in notes[0]
