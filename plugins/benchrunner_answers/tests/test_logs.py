"""Logs of other programs as tasks and systems. The shapes are those of files that the programs wrote."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import DataError, Metric, hookimpl
from benchrunner_answers import Log
from benchrunner_answers.programs import read_log
from benchrunner_statistics import paired_test
from command_line import Shell
from inline import plugin, plugins

RIGHT = {"a": [1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1], "b": [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]}
"""System -> which rows it answers right."""


def harness(name: str) -> str:
    """Lines that lm-evaluation-harness 0.4.13 writes with --log_samples; of two filters, the first counts."""
    lines = []
    for kept in ("strict", "flexible"):
        for row, right in enumerate(RIGHT[name]):
            facts = {
                "doc_id": row,
                "target": "0",
                "filter": kept,
                "metrics": ["acc", "acc_norm"],
                "doc_hash": f"h{row}",
            }
            lines.append(json.dumps({**facts, "acc": float(right) if kept == "strict" else 1.0, "acc_norm": 0.0}))
    return "\n".join(lines)


def inspected(name: str) -> str:
    """A log of inspect_ai 0.3.285 as JSON: a letter for each sample of two epochs, here with equal scores."""
    samples = []
    for epoch in (1, 2):
        for row, right in enumerate(RIGHT[name]):
            score = {"value": "C" if right else "I", "answer": "x"}
            samples.append({"id": f"q{row}", "epoch": epoch, "scores": {"match": score}})
    return json.dumps({"version": 2, "status": "success", "eval": {"task": "lab/toy"}, "samples": samples})


def every_eval_ever(name: str) -> str:
    """Samples of Every Eval Ever, version 0.3.0 of the instance level."""
    lines = []
    for row, right in enumerate(RIGHT[name]):
        facts = {
            "evaluation_name": "toy",
            "sample_id": f"s{row}",
            "evaluation": {"score": right, "is_correct": bool(right)},
        }
        lines.append(json.dumps(facts))
    return "\n".join(lines)


def table(name: str) -> str:
    return "\n".join(["id,score", *(f"r{row},{right}" for row, right in enumerate(RIGHT[name]))])


LOGS: dict[str, tuple[str, Any]] = {
    "lm-evaluation-harness": ("samples_toy_2026-11-29T13-19-43.051788.jsonl", harness),
    "inspect_ai": ("2026-11-29T13-20-44-00-00_toy_g5RLgRAHaJjiuVrqTxQERo.json", inspected),
    "Every Eval Ever": ("toy.jsonl", every_eval_ever),
    "a table of scores": ("toy.csv", table),
}


@pytest.mark.parametrize(("file", "content"), LOGS.values(), ids=LOGS)
def test_logs_of_two_systems_are_compared(shell: Shell, file: str, content: Any) -> None:
    for name in RIGHT:
        Path(name).mkdir()
        Path(name, file).write_text(content(name))
    result = shell.json("compare", "a", "b", "--tasks", f"a/{file}", "--quiet", "--json", "--name", "it", "--offline")
    (found,) = result["comparisons"]
    mean = Metric.of_rows("mean", lambda gold, value: value)
    expected = paired_test(mean, [0.0] * 12, [np.array(RIGHT["b"], float)], [np.array(RIGHT["a"], float)])
    assert (found["difference"], found["p"]) == (pytest.approx(expected.difference), expected.p) and found["p"] < 0.05
    assert [figure["mean"] for figure in result["figures"]] == pytest.approx([1100 / 12, 400 / 12])
    assert result["majority"] == []
    Path("a", file).unlink()  # the rows are kept
    assert "b is worse than a" in shell.done("runs", "show", "it")


def test_nothing_is_fitted_to_a_log(shell: Shell) -> None:
    Path("toy.csv").write_text(table("a"))
    said = shell.refused("compare", "tiny/words", "--tasks", "toy.csv", "--quiet", "--offline", "--device", "cpu")
    assert "has no training rows: it is for answers of systems that ran elsewhere." in said


def test_rows_of_several_tasks_in_a_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    path.write_text(every_eval_ever("a") + "\n" + every_eval_ever("b").replace("toy", "other"))
    with pytest.raises(DataError, match="the rows are of several tasks, other, toy"):
        read_log(path)


def test_another_metric_is_named_after_the_path(shell: Shell) -> None:
    Path("samples_toy_x.jsonl").write_text(harness("a"))
    words = ("compare", "a=samples_toy_x.jsonl", "--quiet", "--offline", "--tasks")
    assert "acc_norm" in shell.done(*words, "samples_toy_x.jsonl:acc_norm")
    assert "there is no metric 'f1'; the rows have" in shell.refused(*words, "samples_toy_x.jsonl:f1")


def test_a_plugin_reads_further_files(shell: Shell) -> None:
    @hookimpl
    def read_answers(path: Path) -> Log | None:
        if path.suffix != ".txt":
            return None
        return Log("toy", ["1", "2"], {"stars": [float(word) for word in path.read_text().split()]})

    third = plugin()
    third.read_answers = read_answers
    shell.plugins = plugins()
    shell.plugins.manager.register(third, "third")
    Path("a.txt").write_text("3 5")
    assert "4.000" in shell.done("compare", "a.txt", "--tasks", "a.txt", "--quiet", "--offline")
    Path("a.txt").write_text("three")
    assert "cannot be read as a log: ValueError: could not" in shell.refused("compare", "a.txt", "--tasks", "a.txt")


def test_a_packed_log_is_told_how_to_be_written_as_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"inspect log convert .*x.eval --to json"):
        read_log(tmp_path / "x.eval")
