"""The command `reproduce`: what each protocol would run, a protocol run whole, and wrong input."""

from __future__ import annotations

import pytest

from benchrunner.results import Plugins
from benchrunner_protocols.table import PROTOCOLS
from command_line import CommandLine

TINY = ("--backbone", "bert/random-tiny")
MODERNBERT = ("glue/cola", "glue/mnli", "glue/mrpc", "glue/qnli", "glue/qqp", "glue/rte", "glue/sst2", "glue/stsb")
FITS_OF_A_TASK = {
    "roberta": 30,  # 3 rates x 2 batch sizes x 5 seeds
    "modernbert": 48,  # 4 rates x 4 decays x 3 numbers of epochs
    "neobert": 60,  # 5 batch sizes x 6 rates x 2 decays
    "babylm-strict": 1,
}
"""Numbers of some publications."""


@pytest.mark.parametrize("name", FITS_OF_A_TASK)
def test_a_dry_run_has_the_fits_of_the_publication(name: str, reproduce: CommandLine) -> None:
    tasks = PROTOCOLS[name].tasks[:3]  # the grids of all tasks are equal
    plan = reproduce.json("reproduce", name, *TINY, "--tasks", ",".join(tasks), "--dry-run")
    fits = {line["task"]: line["fits"] for line in plan["fits"] if line["columns"] != ["(first task)"]}
    assert fits == dict.fromkeys(tasks, FITS_OF_A_TASK[name])
    assert plan["to_run"] == len(fits) * FITS_OF_A_TASK[name], "the fits of a first task are those of its column"


def test_parts_of_the_bert_paper_have_their_own_grids(reproduce: CommandLine) -> None:
    plan = reproduce.json("reproduce", "bert-paper", *TINY, "--dry-run")
    fits = {line["task"]: line["fits"] for line in plan["fits"]}
    assert {fits.pop(name) for name in MODERNBERT} == {4}
    assert fits == {"squad/1.1": 1, "squad/2.0": 1, "swag/swag": 1, "conll/ner": 15}


def test_a_dry_run_says_what_is_not_covered(reproduce: CommandLine) -> None:
    out = reproduce.done("reproduce", "modernbert", *TINY, "--tasks", "glue", "--dry-run")
    assert "384 different fit(s)" in out and "glue/wnli is not part of the protocol" in out
    assert "not covered: early stopping" in out and "seeds: not stated" in out


def test_a_task_without_the_first_one_still_begins_there(reproduce: CommandLine) -> None:
    plan = reproduce.json("reproduce", "neobert", *TINY, "--tasks", "rte", "--dry-run")
    assert [(line["task"], line["fits"]) for line in plan["fits"]] == [("glue/mnli", 60), ("glue/rte", 60)]


def test_options_replace_what_the_protocol_says(reproduce: CommandLine) -> None:
    words = ("--tasks", "sst2", "--lr", "1e-4", "--restarts", "2", "--dry-run")
    plan = reproduce.json("reproduce", "roberta", *TINY, *words)
    assert plan["to_run"] == 2 * 2, "two batch sizes and two seeds are left"


def test_a_protocol_runs_from_the_command_to_the_table(reproduce: CommandLine) -> None:
    quick = ("--limit-train", "16", "--limit-dev", "20", "--max-length", "32", "--batch-size", "16", "--epochs", "1")
    words = (
        "reproduce",
        "modernbert",
        *TINY,
        "--tasks",
        "mnli,rte",
        *quick,
        "--lr",
        "5e-5,8e-5",
        "--set",
        "weight-decay=1e-5",
        "--quiet",
    )
    result = reproduce.json(*words)
    assert [len(cell["fits"]) for cell in result["cells"] if cell["task"] == "glue/rte"] == [2]
    mnli = next(cell for cell in result["cells"] if cell["task"] == "glue/mnli")
    rte = next(cell for cell in result["cells"] if cell["task"] == "glue/rte")
    assert mnli["backbone"] == "bert/random-tiny" and rte["backbone"] == f"run:{mnli['selected']}"
    table = reproduce.done(*words, "--notes")
    assert "ModernBERT-base" in table and "dev 87.4" in table, "the published accuracy of RTE"
    assert "protocol: Warner et al. 2024, Appendix E.1" in table and "glue/rte" in table


def test_the_names_are_listed_without_a_protocol(reproduce: CommandLine) -> None:
    out = reproduce.done("reproduce")
    assert all(f"  {name} " in out for name in PROTOCOLS)
    assert [protocol["name"] for protocol in reproduce.json("reproduce")["protocols"]] == list(PROTOCOLS)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_is_shown_with_its_sources(name: str, reproduce: CommandLine, offers: Plugins) -> None:
    protocol = PROTOCOLS[name]
    out = reproduce.done("reproduce", name, "--show")
    said = (protocol.source, protocol.grid, protocol.seeds, *protocol.missing)
    assert all(text in out for text in (*said, offers.recipes.find(protocol.recipe).source))
    assert reproduce.json("reproduce", name, "--show")["recipes"][0]["name"] == protocol.recipe


def test_published_systems_are_those_of_leaderboards(offers: Plugins) -> None:
    systems = {row.system for board in offers.leaderboards.values() for row in board.published}
    assert {system for protocol in PROTOCOLS.values() for system in protocol.published} <= systems


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("neobrt",), "There is no protocol 'neobrt'. Did you mean neobert"),
        (("neobert",), "Give what the protocol is for: 'reproduce neobert --backbone B'"),
        (("neobert", *TINY, "--tasks", "wnli"), "The protocol neobert has no task 'wnli'. It has: glue/cola"),
        (("neobert", *TINY, "--tasks", "rtee"), "There is no task 'rtee'. Did you mean glue/rte"),
        (("neobert", *TINY, "--start", "mnli"), "says where fits start: leave --start out"),
        (("neobert", *TINY, "--dry-run", "--format", "csv"), "--dry-run prints a table or JSON"),
        (("--tasks", "rte"), "--tasks is for one protocol: 'reproduce NAME --tasks ...'"),
    ],
)
def test_wrong_input_says_what_to_do(words: tuple[str, ...], said: str, reproduce: CommandLine) -> None:
    code, out = reproduce("reproduce", *words)
    assert code == 2 and said in out


def test_missing_data_names_the_task(reproduce: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHRUNNER_DATA")
    code, out = reproduce("reproduce", "mosbach", *TINY, "--dry-run")
    assert code == 2 and "No data for glue/rte, split train" in out and "give --data DIR" in out
    assert "To leave a task out, name the others: --tasks A,B." in out
