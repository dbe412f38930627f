"""Fits run as tasks of a simulated Ray cluster and give the bits of local fits."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchrunner import FitError, RequestError
from benchrunner.results import Computing, Event, Fit, Local, Runner
from benchrunner_clusters import RemoteOrder
from benchrunner_ray.executor import RayExecutor
from benchrunner_ray.settings import RaySettings
from benchrunner_ray.worker import run_fit
from cluster_plugin import Home, results


@pytest.fixture(scope="module")
def connected(cluster: Any) -> Iterator[RayExecutor]:
    """An executor of a program that has connected to the cluster itself."""
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield RayExecutor(RaySettings(retries=0))
    ray.shutdown()


def wait_for(reached: Callable[[], object]) -> None:
    end = time.monotonic() + 300
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_tasks_give_the_bits_of_local_fits(home: Home, connected: RayExecutor) -> None:
    """Whether they write to the runs folder themselves, or their files come back through Ray."""
    shared, returned, local = (home.runner(runs) for runs in ("shared", "returned", "local"))
    fits = home.fits(shared, 1)
    seen: list[tuple[str, str]] = []
    with shared.observers.reporting_to(lambda fit, event: seen.append((fit.id, event.kind))):
        assert [(fit, record.status) for fit, record in connected.run(fits, shared.fit_runner)] == [(fits[0], "done")]
    back = RayExecutor(dataclasses.replace(connected.settings, files="returned"))
    assert [(fit, record.status) for fit, record in back.run(fits, returned.fit_runner)] == [(fits[0], "done")]
    [(fit, _)] = Local().run(fits, local.fit_runner)
    assert results(shared, fit) == results(returned, fit) == results(local, fit)
    assert home.begun(fit) == 3 and seen and {fit for fit, _ in seen} == {fits[0].id}
    assert not (home.folder / "cache" / "runs" / fit.id).exists(), "files that travel leave nothing behind"
    assert list(shared.workspace.runs.glob(".*.mark")) == []


def test_a_worker_finds_the_task_file(home: Home, connected: RayExecutor) -> None:
    made, local = home.runner("of-a-file"), home.runner("local-of-a-file")
    fit = home.fit_of_a_file(made)
    assert [record.status for _, record in connected.run([fit], made.fit_runner)] == ["done"]
    assert [record.status for _, record in Local().run([fit], local.fit_runner)] == ["done"]
    assert results(made, fit) == results(local, fit)


def test_a_worker_loads_plugins_once_for_what_is_sent_together(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner("kept")
    progress = types.SimpleNamespace(put=types.SimpleNamespace(remote=lambda run, event: None))
    loaded = list[str]()
    for mark, fit in zip(("first", "first", "second"), home.fits(made, 3, method="failing"), strict=True):
        monkeypatch.setattr("benchrunner.runs.fit_orders.discover", lambda of=mark: loaded.append(of) or made.plugins)
        (made.workspace.runs / mark).parent.mkdir(exist_ok=True)
        (made.workspace.runs / mark).touch()
        run_fit(RemoteOrder.of(fit, made.fit_runner, cores=1, gpus=0, files="shared", mark=mark), progress)
    assert loaded == ["first", "second"]


def test_finished_fits_are_not_sent(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner("finished")
    [fit] = home.fits(made, 1)
    record = made.run(fit)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(RayExecutor().run([fit], made.fit_runner)) == [(fit, record)]


def test_a_task_that_dies_stops_no_other_fit(home: Home, connected: RayExecutor) -> None:
    made = home.runner("dying")
    fits = [*home.fits(made, 1, method="dying"), *home.fits(made, 1, method="failing")]
    done: list[Fit] = []
    with pytest.raises(FitError, match=rf"^1 of 2 fits lost their workers 1 times, the first: {fits[0].id} \(Worker"):
        done += [fit for fit, _ in connected.run(fits, made.fit_runner)]
    record = made.folder(fits[1]).record()
    assert record is not None and record.reason.startswith("The plugin 'cluster' failed: ValueError: not today (")


def test_what_a_node_lacks_is_named(home: Home, connected: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner("lacking")
    fits = home.fits(made, 1)
    elsewhere = dataclasses.replace(made.workspace, data=home.folder / "elsewhere")
    away = Runner(made.plugins, elsewhere, Computing("cpu"))
    with pytest.raises(RequestError, match=r"The data folder .*/elsewhere does not exist\. Put the data there"):
        list(connected.run(fits, away.fit_runner))
    greedy = RayExecutor(RaySettings(cpus=64, memory_gb=2))
    with pytest.raises(RequestError, match=r"No node of the Ray cluster has 64 CPU, 2 GB memory, .* The nodes: 1 CPU"):
        list(greedy.run(fits, made.fit_runner))
    module = types.ModuleType("only_here")
    exec("def run_fit(order, progress):\n    pass\n", module.__dict__)
    module.run_fit.__module__ = "only_here"
    monkeypatch.setitem(sys.modules, "only_here", module)
    monkeypatch.setattr("benchrunner_ray.worker.run_fit", module.run_fit)
    with pytest.raises(FitError, match=r"could not begin the fit .*No module named 'only_here'.*\. Are bench"):
        list(connected.run(fits, made.fit_runner))


def test_ctrl_c_leaves_checkpoints(home: Home, connected: RayExecutor) -> None:
    made = home.runner("interrupted")
    [fit] = home.fits(made, 1, epochs=100_000)

    def stop(_: Fit, event: Event) -> None:
        wait_for(lambda: made.folder(fit).log.exists() and made.folder(fit).log.read_bytes())
        signal.raise_signal(signal.SIGINT)

    with made.observers.reporting_to(stop), pytest.raises(KeyboardInterrupt):
        list(connected.run([fit], made.fit_runner))
    assert (made.folder(fit).checkpoint / "state.safetensors").exists()
    assert made.folder(fit).finished_record() is None


def test_no_node_left_that_is_large_enough_is_an_error(
    home: Home, connected: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = home.runner("left")
    looks = iter([True])
    monkeypatch.setattr("benchrunner_ray.executor.some_node_has", lambda wanted: next(looks, False))
    impatient = RayExecutor(RaySettings(patience_seconds=0))
    fits = home.fits(made, 1, method="slow")
    with pytest.raises(FitError, match=r"^No node with 1 CPU is left in the Ray cluster, so 1 fits cannot run\."):
        list(impatient.run(fits, made.fit_runner))


@pytest.mark.slow
def test_the_fits_of_a_lost_node_run_on_another(home: Home, cluster: Any) -> None:
    node = cluster.add_node(num_cpus=1, object_store_memory=80 * 1024**2)
    made = home.runner()
    quick, slow = home.fits(made, 2, epochs=1), home.fits(made, 4, method="slow")

    def lose_the_node() -> None:
        end = time.monotonic() + 300
        while sum(map(home.begun, slow)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)
        time.sleep(1)
        (home.marks / "hurry").touch()

    killer = threading.Thread(target=lose_the_node)
    killer.start()
    executor = RayExecutor(RaySettings(address=cluster.address))
    done: list[Fit] = []
    for fit, record in executor.run([*quick, *slow], made.fit_runner):
        assert record.status == "done" and made.folder(fit).finished_record() == record
        done.append(fit)
    killer.join()
    assert {fit.id for fit in done} == {fit.id for fit in (*quick, *slow)} and len(done) == 6
    assert [home.begun(fit) for fit in quick] == [1, 1]
    assert sorted(home.begun(fit) for fit in slow) == [1, 1, 1, 2], "one fit was lost, and ran again"
