"""A fit runs in another process by its order alone; errors are part of the answer."""

import errno
import pickle
from pathlib import Path

import pytest

from benchrunner import FitError, RequestError
from benchrunner.results import Computing, Fit, FitAnswer, FitOrder, Plugins, Runner
from inline import QUICK, plugins, runner


def answer_to(made: Runner, fit: Fit, known: Plugins | None = None) -> FitAnswer:
    """Make an order, and run it as the worker does that gets it."""
    order: FitOrder = pickle.loads(pickle.dumps(FitOrder.of(fit, made.fit_runner)))
    return order.run(plugins=known or made.plugins)


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    return runner(tmp_path)


@pytest.fixture
def fit(made: Runner) -> Fit:
    return made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(epochs=1))


def test_a_worker_writes_a_fit_and_its_dev_predictions(made: Runner, fit: Fit) -> None:
    assert made.folder(fit).finished_record() is None
    record = answer_to(made, fit).checked()
    assert record == made.folder(fit).record() and record.status == "done"
    assert len(list(made.folder(fit).path.glob("predictions/*/record.json"))) == 1


def test_missing_plugins_are_named(made: Runner, fit: Fit) -> None:
    with pytest.raises(RequestError, match=r"no task 'mine/mood'.* A worker needs the same plugins as the command\."):
        answer_to(made, fit, plugins(register_tasks=[])).checked()


def test_other_errors_keep_their_kind_or_end_the_command(
    made: Runner, fit: Fit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer_with(error: Exception) -> Exception | None:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(Runner, "run", fail)
        return answer_to(made, fit).error

    full = answer_with(OSError(errno.ENOSPC, "No space left on device", "/runs"))
    assert isinstance(full, OSError) and full.errno == errno.ENOSPC
    lost = answer_with(KeyError("x"))
    assert type(lost) is FitError and str(lost) == (
        "A worker process failed, and wrote the reason to its log: KeyError: 'x'"
    )
    assert "Traceback" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        answer_with(KeyboardInterrupt())  # type: ignore[arg-type]


def test_cuda_graphs_are_part_of_an_order(made: Runner) -> None:
    without = Runner(made.plugins, made.workspace, Computing("cuda:1", cuda_graphs=False))
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "tiny/words", recipe=QUICK)
    assert FitOrder.of(fit, made.fit_runner).computing.cuda_graphs
    assert FitOrder.of(fit, without.fit_runner, device="cuda:1").computing == without.computing
