"""Studies that repeat protocols of publications: what each would run, one that runs whole, published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import benchrunner_protocols
from benchrunner.results import Plugins
from benchrunner_studies.tables import read_tables
from command_line import CommandLine

STUDIES = {file.stem: file for file in (Path(benchrunner_protocols.__file__).parent / "studies").glob("*.toml")}
TINY = "backbone=bert/random-tiny"
GLUE = ("glue/cola", "glue/mnli", "glue/mrpc", "glue/qnli", "glue/qqp", "glue/rte", "glue/sst2", "glue/stsb")
FITS = {
    "bert-paper": {**dict.fromkeys(GLUE, 4), "squad/1.1": 1, "squad/2.0": 1, "swag/swag": 1, "conll/ner": 15},
    "roberta": dict.fromkeys(GLUE, 30),  # 3 rates x 2 batch sizes x 5 seeds
    "modernbert": dict.fromkeys(GLUE, 48),  # 4 rates x 4 decays x 3 numbers of epochs
    "neobert": dict.fromkeys(GLUE, 60),  # 5 batch sizes x 6 rates x 2 decays
}
"""Numbers of some publications: task -> grid points times seeds."""


def planned(shell: CommandLine, name: str, *words: str) -> Any:
    return shell.json("compare", "--study", name, "--set", TINY, "--dry-run", *words)


@pytest.mark.parametrize("name", STUDIES)
def test_a_dry_run_has_the_fits_of_the_publication(name: str, shell: CommandLine) -> None:
    plan = planned(shell, name)
    fits = {line["task"]: line["fits"] for line in plan["fits"] if line["columns"] != ["(first task)"]}
    assert fits == FITS.get(name, fits) and not plan["problems"]
    assert plan["to_run"] == sum(fits.values()), "the fits of a first task are those of its column"
    assert any(note.startswith("protocol: ") for note in plan["notes"])


def test_fits_start_where_the_publication_starts_them(shell: CommandLine) -> None:
    of_rte = [(line["task"], line["fits"]) for line in planned(shell, "neobert", "--columns", "RTE")["fits"]]
    of_cola = [(line["task"], line["fits"]) for line in planned(shell, "neobert", "--columns", "CoLA")["fits"]]
    assert (of_rte, of_cola) == ([("glue/mnli", 60), ("glue/rte", 60)], [("glue/cola", 60)])


def test_options_replace_what_the_protocol_says(shell: CommandLine) -> None:
    plan = planned(shell, "roberta", "--columns", "SST-2", "--lr", "1e-4", "--restarts", "2")
    assert plan["to_run"] == 2 * 2, "two batch sizes and two seeds are left"


def test_a_protocol_runs_from_the_command_to_the_table(shell: CommandLine) -> None:
    quick = ("--limit-train", "16", "--limit-dev", "20", "--max-length", "32", "--batch-size", "16", "--epochs", "1")
    grid = ("--lr", "5e-5,8e-5", "--set", "weight-decay=1e-5", "--quiet")
    words = ("compare", "--study", "modernbert", "--set", TINY, "--columns", "MNLI-m,RTE", *quick, *grid)
    cells = {cell["task"]: cell for cell in shell.json(*words)["cells"] if cell["columns"]}
    mnli, rte = cells["glue/mnli"], cells["glue/rte"]
    assert (mnli["backbone"], len(rte["fits"])) == ("bert/random-tiny", 2)
    assert rte["backbone"] == f"run:{mnli['selected']}"
    table = shell.done(*words, "--notes")
    assert "ModernBERT-base" in table and "paper 87.4" in table, "the published accuracy of RTE"
    assert "protocol: Warner et al. 2024, Appendix E.1" in table and "not covered: early stopping" in table


@pytest.mark.parametrize("name", STUDIES)
def test_published_figures_are_those_of_leaderboards(name: str, offers: Plugins) -> None:
    listed = set()
    for board in offers.leaderboards.values():
        for figure in board.figures:
            task = offers.tasks.get(figure.measures.task)
            if task is not None:
                term = (task.name, figure.measures.metric, figure.measures.dev_split(task))
                listed.add((figure.row.system, *term, figure.measures.kind, figure.value))
    file = read_tables(STUDIES[name])
    columns = {column.name: column.column for column in file.columns}
    for row in file.published:
        for name, value in row.cells.items():
            term = columns[name].term(offers.tasks.find(columns[name].task))
            kind = columns[name].published_on or "dev"
            assert (row.system, term.task, term.metric, term.split, kind, value) in listed


def test_a_protocol_needs_a_backbone(shell: CommandLine) -> None:
    code, out = shell("compare", "--study", "neobert", "--dry-run")
    assert code == 2 and "needs a value for backbone" in out


def test_the_command_that_is_gone_leads_to_studies(shell: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        shell("reproduce", "neobert", "--backbone", "bert/random-tiny")
    assert "'compare' is to fit backbones to tasks, or reproduce a paper with --study" in capsys.readouterr().err
