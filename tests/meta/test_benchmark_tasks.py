"""The benchmarks of fine-tuning take the names of tasks that the commands take."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchrunner import Recipe
from benchrunner.results import discover
from benchrunner.training.schedule import Schedule

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_short_and_full_names_mean_the_same_task() -> None:
    from measured_tasks import task_names

    assert task_names("rte,glue/rte,squad/1.1,swag") == ["glue/rte", "glue/rte", "squad/1.1", "swag/swag"]


@pytest.mark.parametrize(
    ("names", "message"), [("rtee", "Did you mean"), ("", "no task"), ("conll/ner", "no model of transformers")]
)
def test_other_names_are_refused_with_a_reason(names: str, message: str) -> None:
    from measured_tasks import task_names

    with pytest.raises(argparse.ArgumentTypeError, match=message):
        task_names(names)


def test_predictions_are_measured_for_rows_of_texts_only() -> None:
    from measured_tasks import SENTENCES, task_names

    assert task_names("rte,stsb", SENTENCES) == ["glue/rte", "glue/stsb"]
    with pytest.raises(argparse.ArgumentTypeError, match=r"measured for squad/1\.1, swag/swag"):
        task_names("rte,squad/1.1,swag", SENTENCES)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    from measured_tasks import existing_folder

    assert existing_folder(str(tmp_path)) == tmp_path
    with pytest.raises(argparse.ArgumentTypeError, match="there is no folder"):
        existing_folder(str(tmp_path / "none"))


def test_the_tokens_of_the_first_step_are_not_counted() -> None:
    """The Trainer's first batch is its longest: without its time, its tokens must not count either."""
    from fine_tuning_speed import Clock, Counting

    clock = Clock()
    clock.now = iter([10.0, 11.0, 14.0]).__next__
    counting = Counting(lambda examples: {"attention_mask": np.array(examples)})
    for batch in ([[1, 1, 1]] * 32, [[1, 0, 0]] * 32, [[1, 1, 0]] * 10):
        counting(batch)
        clock.step()
    assert clock.rate(counting.tokens) == (32 + 20) / 4


def test_the_tokens_of_our_steps_are_those_of_the_fit() -> None:
    from fine_tuning_speed import number_of_tokens, tokens_of_steps

    lengths = np.random.default_rng(0).integers(5, 60, size=70)
    schedule = Schedule(np.ones(70, dtype=np.int64), Recipe(epochs=1, batch_size=32), 3)
    tokens = [int(lengths[schedule.batch(step)].sum()) for step in range(schedule.steps)]
    assert tokens_of_steps(lengths.tolist(), 3) == tokens and len(tokens) == 3
    assert (number_of_tokens([7, 8]), number_of_tokens([[7, 8], [9]])) == (2, 3)


def test_the_peer_script_uses_no_code_of_this_project() -> None:
    imported = {
        line.split()[1]
        for name in ("peer_fit", "peer_tasks", "peer_squad")
        for line in _imports(BENCHMARKS / f"{name}.py")
    }
    assert "benchrunner" not in {name.partition(".")[0] for name in imported}
    assert "measured_tasks" not in imported


def _imports(file: Path) -> list[str]:
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line.startswith(("import ", "from "))]


def test_metrics_of_all_tasks_are_fractions() -> None:
    """Machines read one scale; tables multiply by the scale that each metric declares."""
    scales = {
        f"{task.name} {metric.name}": metric.scale for task in discover().tasks.values() for metric in task.metrics
    }
    assert len(scales) > 50 and {name for name, scale in scales.items() if scale != 100.0} == set()
