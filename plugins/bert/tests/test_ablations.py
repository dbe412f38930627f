"""The ablations that ship: each file can be read, its commands are understood, and one of them runs whole."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import benchrunner_bert
from benchrunner.plugins.discovery import discover
from benchrunner.studies.study_file import StudyFile, read_study_file
from benchrunner.studies.study_options import StudyOptions
from benchrunner_bert.pretraining import command

FOLDER = Path(benchrunner_bert.__file__).parent / "studies"
NEEDED: Mapping[str, Mapping[str, str]] = {
    "figure5": {"corpus": "'a b.txt' hub:books,plain"},
    "table5": {"corpus": "'a b.txt' hub:books,plain"},
    "table6": {"corpus": "'a b.txt' hub:books,plain", "held-out": "c.txt"},
    "table8": {"corpus": "'a b.txt' hub:books,plain"},
}


def study(name: str, **more: str) -> StudyFile:
    return read_study_file(FOLDER / f"{name}.toml", {**NEEDED[name], **more})


def understood(words: tuple[str, ...]) -> argparse.Namespace:
    """By the command line of `pretrain` itself."""
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    return parser.parse_args(words)


def test_every_file_is_a_study_of_the_plugin() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(NEEDED)
    offered = discover().studies
    assert {f"bert/{name}" for name in NEEDED} <= offered.keys()


@pytest.mark.parametrize("name", NEEDED)
def test_study_commands_are_valid_and_make_the_models_it_uses(name: str) -> None:
    found = study(name, out="my models", more="--cased --zero 1", **{"blank-lines": "0"})
    asked = [understood(words) for words in found.commands]
    homes = [one.out for one in asked]
    assert len(set(homes)) == len(homes) and len({one.name for one in asked}) == len(asked)
    assert all(one.name.replace("-", "").replace(".", "").isalnum() for one in asked)
    for one in asked:
        assert one.corpus == ["a b.txt", "hub:books,plain"]
        assert (one.steps, one.warmup, one.batch_size, one.vocab_size) == (1_000_000, 10_000, 256, 30_522)
        assert (one.tokens, one.cased, one.zero, one.blank_lines) == (Path("my models/tokens"), True, 1, 0)
    for system in found.systems:
        assert system.make is not None
        made = understood(system.make)
        exports = [made.out / "exports" / f"step-{step}" for step in made.export_at]
        assert Path(system.backbone) in [made.out / "model", *exports]
        assert system.figures in (None, made.out / "log.jsonl")


@pytest.mark.parametrize("name", NEEDED)
def test_study_columns_name_known_splits_and_metrics(name: str) -> None:
    pytest.importorskip("benchrunner_glue")
    plugins, found = discover(), study(name)
    for recipe in (found.recipe, *(column.recipe for column in found.columns)):
        StudyOptions.read(recipe, name)
    for system in found.systems:
        assert system.method is None or plugins.method(system.method)
    for column in found.columns:
        assert set(column.published) <= {one.name for one in found.systems}
        if column.task.split("/")[0] in {full.split("/")[0] for full in plugins.tasks}:
            task = plugins.task(column.task)
            assert column.split in task.named("dev")
            assert column.metric in [one.name for one in task.metrics]


def test_the_figures_are_those_that_were_published() -> None:
    def row(name: str, system: str) -> list[float]:
        return [column.published[system] for column in study(name).columns]

    assert row("table5", "BERT") == [84.4, 88.4, 86.7, 92.7, 88.5]
    assert row("table5", "no NSP") == [83.9, 84.9, 86.5, 92.6, 87.9]
    assert row("table5", "LTR & no NSP") == [82.1, 84.3, 77.5, 92.1, 77.8]
    assert row("table5", "+ BiLSTM") == [82.1, 84.1, 75.7, 91.6, 84.9]
    assert row("table6", "3/768/12") == [5.84, 77.9, 79.8, 88.4]
    assert row("table6", "12/768/12") == [3.99, 84.4, 86.7, 92.9]
    assert row("table6", "24/1024/16") == [3.23, 86.6, 87.8, 93.7]


TABLE_8 = {
    (80, 10, 10): [84.2, 95.4, 94.9],
    (100, 0, 0): [84.3, 94.9, 94.0],
    (80, 0, 20): [84.1, 95.2, 94.6],
    (80, 20, 0): [84.4, 95.2, 94.7],
    (0, 20, 80): [83.7, 94.8, 94.6],
    (0, 0, 100): [83.6, 94.9, 94.6],
}
"""The paper's rows: per cent of MASK, SAME and RND -> MNLI, NER fine-tuned, NER from features."""


def test_table_8_mask_rates_are_in_the_order_of_pretrain() -> None:
    found = study("table8")
    rows = {}
    for system in found.systems:
        assert system.make is not None
        masked, drawn, same = (round(100 * rate) for rate in understood(system.make).mask)
        rows[masked, same, drawn] = [column.published[system.name] for column in found.columns]
    assert rows == TABLE_8


def test_a_scaled_down_study_scales_its_warm_up_and_its_points() -> None:
    found = study("figure5", steps="500", size="2/128")
    assert [one.name for one in found.systems][:2] == ["mlm+nsp, 25 steps", "mlm+nsp, 50 steps"]
    assert len(found.commands) == 2, "one pre-training an objective, whatever the points"
    asked = understood(next(iter(found.commands)))
    assert (asked.size, asked.warmup, asked.export_at) == ("2/128", 5, (25, 50, 100, 250, 500))
    assert asked.name == "figure5-2-128-500-mlm-nsp"


def test_figure_5_exports_at_the_steps_named_in_the_paper() -> None:
    asked = understood(next(iter(study("figure5").commands)))
    assert asked.export_at == (50_000, 100_000, 200_000, 500_000, 1_000_000)


def test_table_8_ner_columns_note_that_the_paper_model_is_cased() -> None:
    notes = {column.name: column.note for column in study("table8").columns}
    assert notes.pop("MNLI") == ""
    assert len(notes) == 2 and all("--set more=--cased" in note for note in notes.values())


def test_no_two_studies_of_one_corpus_disagree_about_its_tokens() -> None:
    """Who shares `tokens` between them must ask for the same vocabulary."""
    asked = [understood(next(iter(study(name, tokens="shared").commands))) for name in NEEDED]
    assert {(one.tokens, one.vocab_size, one.cased, one.blank_lines) for one in asked} == {
        (Path("shared"), 30_522, None, 1)
    }


def corpus(folder: Path) -> None:
    """Made-up stories, a sentence a line."""
    draw = random.Random(0)
    words = ["the", "a", "old", "man", "woman", "horse", "river", "house", "saw", "loved", "met", "stood", "ran", "in"]
    lines = [[" ".join(draw.choices(words, k=8)).capitalize() + "." for _ in range(12)] for _ in range(12)]
    (folder / "some stories.txt").write_text("\n\n".join("\n".join(one) for one in lines), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "columns", "systems"),
    [
        ("table5", ["size=1/32/2"], "MRPC", 4),
        ("table6", ["sizes=1/32/2,2/32/2", "held-out='some stories.txt'"], "LM perplexity,MRPC", 2),
        ("figure5", ["size=1/32/2", "points=1,3,5", "task=glue/mrpc", "split=dev"], "glue/mrpc dev", 6),
    ],
)
def test_a_study_runs_whole_at_a_tiny_size(
    name: str, given: list[str], columns: str, systems: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")
    pytest.importorskip("benchrunner_glue")
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    discover().task("glue/mrpc").demo_files(0, tmp_path / "data")  # type: ignore[misc]
    corpus(tmp_path)
    more = "more=--length 24 --long-length 24 --log-steps 1"
    asked = ["compare", "--study", name, "--columns", columns, "--data", "data", "--json", "--device", "cpu"]
    asked += ["--restarts", "1", "--lr", "1e-3", "--epochs", "1", "--limit-train", "32", "--max-length", "24"]
    asked += ["--set", "corpus='some stories.txt'", "steps=5", "batch=4", "vocabulary=120", more, *given]

    def ran() -> tuple[dict[str, object], str]:
        words = [sys.executable, "-m", "benchrunner", *asked]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout), done.stderr

    found, _ = ran()
    cells = found["cells"]
    assert isinstance(cells, list) and len(cells) == systems * len(columns.split(","))
    assert all(cell["mean"] is not None for cell in cells), found["notes"]
    again, said = ran()
    assert again == found and "it was finished before" in said
