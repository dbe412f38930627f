"""The command line's options for batches of tagged sentences: what a batch counts, what its loss is divided by."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from conll_samples import workspace

import benchrunner_conll
from benchrunner import hookimpl
from benchrunner.command_line.main import main
from benchrunner.results import Plugins, discover
from benchrunner_conll import CONLL2003
from benchrunner_kit.testing import tiny_family


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """The task on demo data, and a tiny backbone, in an empty folder."""
    for name in ("BENCHRUNNER_DATA", "BENCHRUNNER_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    CONLL2003.demo_files(tmp_path)  # type: ignore[misc]
    tiny = SimpleNamespace(register_backbones=hookimpl(lambda: [tiny_family()]))
    return discover(extra=[("conll", benchrunner_conll), ("tiny", tiny)], installed=False)


def run(plugins: Plugins, *words: str) -> int:
    command = ["run", "conll/ner", "--backbone", "words", "--data", ".", "--epochs", "1", "--limit-train", "120"]
    return main([*command, "--max-length", "64", "--set", "context=document", "--quiet", *words], plugins=plugins)


def fits() -> dict[str, tuple[dict[str, object], int]]:
    """Return the recipe and the number of steps of each trained fit, by its id."""
    folders = [path.parent for path in Path("runs").glob("*/log.jsonl")]
    return {
        folder.name: (
            json.loads((folder / "fit.json").read_text())["recipe"],
            json.loads((folder / "log.jsonl").read_text().splitlines()[-1])["step"],
        )
        for folder in folders
    }


def test_options_for_batches_reach_the_fit_and_its_id(plugins: Plugins) -> None:
    rows = plugins.tasks.find("conll/ner").load("train", workspace(Path())).table.slice(0, 120)
    words = sum(map(len, rows.column("words").to_pylist()))
    assert run(plugins, "--set", "batch-unit=words", "--batch-size", "100", "--keep", "none") == 0
    assert run(plugins, "--set", "batch-unit=sentences", "--batch-size", "100", "--keep", "none") == 0
    assert run(plugins, "--set", "batch-unit=sentences", "--batch-size", "100", "--set", "loss-divisor=mean-words") == 0
    made = {
        (recipe.get("batch_unit", "sentences"), recipe.get("loss_divisor", "own-words")): steps
        for recipe, steps in fits().values()
    }
    assert len(fits()) == 3
    assert abs(made["words", "own-words"] - words / 100) <= 1
    assert made["sentences", "own-words"] == made["sentences", "mean-words"] == 2
