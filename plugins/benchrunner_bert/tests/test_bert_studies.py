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

import benchrunner_bert
from benchrunner import RequestError
from benchrunner.results import Plugins, Study, discover
from benchrunner_bert.pretraining import command
from benchrunner_studies.reading import StudyFile, read_study_file
from benchrunner_studies.recipes import read_recipe

FOLDER = Path(benchrunner_bert.__file__).parent / "studies"
NAMES = ("figure5", *(f"table{number}" for number in range(1, 9)))
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


def test_table_8_mask_rates_are_in_the_order_of_pretrain() -> None:
    """The paper's columns are MASK, SAME, RND."""
    read = study("table8")
    for system, option in zip(read.systems, pretrainings(read), strict=True):
        assert system.name == "/".join(f"{rate:.0f}" for rate in option.masking)


def test_a_scaled_down_study_scales_its_warm_up_and_its_points() -> None:
    read = study("figure5", steps="500", size="2/128")
    assert [system.name for system in read.systems][:2] == ["mlm+nsp after 25 steps", "mlm+nsp after 50 steps"]
    first, _ = pretrainings(read)  # one pre-training for each objective, whatever the points
    assert (first.size, first.warmup, first.export_at) == ("2/128", 5, (25, 50, 100, 250, 500))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_study_runs_whole_at_the_tiny_scale(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On generated data, with every column, extra ones included; a second call reads what the first has made."""
    pytest.importorskip("deepspeed")
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
