"""Fits run as jobs, of submitit's local executor and of a stand-in for SLURM, and give the bits of local fits."""

from __future__ import annotations

import os
import signal
import sys
import time
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import forked
from benchrunner import FitError, RequestError
from benchrunner.results import Event, Fit, FitAnswer, Local, Record
from benchrunner_clusters import RemoteAnswer, RemoteOrder
from benchrunner_slurm.executor import SlurmExecutor
from benchrunner_slurm.settings import SlurmSettings
from cluster_plugin import Home, results

TRY = SlurmSettings(cluster="local", cpus=1, poll_seconds=0.1)

SBATCH = """#!{python}
import os, re, subprocess, sys
text = open(sys.argv[1]).read()
with open("{home}/sbatch.txt", "a") as file:
    file.write(text)
if "nowhere" in text:
    sys.exit("sbatch: error: invalid partition specified: nowhere")
array = re.search(r"--array=0-(\\d+)", text)
output, error = (re.search(rf"--{{name}}=(\\S+)", text)[1] for name in ("output", "error"))
for index in range(int(array[1]) + 1 if array else 1):
    names = {{"SLURM_JOB_ID": str(42 + index)}}
    if array:
        names |= {{"SLURM_ARRAY_JOB_ID": "42", "SLURM_ARRAY_TASK_ID": str(index)}}
    paths = [re.sub("%[Aj]", "42", path).replace("%a", str(index)) for path in (output, error)]
    os.makedirs(os.path.dirname(paths[0]), exist_ok=True)
    streams = [open(path, "a") for path in paths]
    environment = {{**os.environ, **names, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}}
    subprocess.Popen(["bash", sys.argv[1]], env=environment, stdout=streams[0], stderr=streams[1])
print("Submitted batch job 42")
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do
  if [[ $1 == *=* || $1 == --unbuffered ]]; then shift; else shift 2; fi
done
exec "$@"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    from submitit.core.core import Job

    monkeypatch.setattr(Job, "_results_timeout_s", 0)  # these file systems are quick
    monkeypatch.setattr("subprocess.Popen", forked.Popen)
    return Home(tmp_path, monkeypatch)


def wait_for(reached: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_job_has_a_core_for_each_device_of_a_fit(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("benchrunner_devices")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core")
    made = home.runner(devices=2)
    [(_, record)] = SlurmExecutor(TRY).run(home.fits(made, 1), made.fit_runner)
    assert record.status == "done", record.reason
    assert (record.numerics["devices"], record.numerics["threads"]) == (2, 2)


def test_jobs_give_the_bits_of_local_fits(home: Home) -> None:
    made, local = home.runner(), home.runner("local")
    fits = home.fits(made, 1)
    seen: list[tuple[str, str]] = []
    with made.observers.reporting_to(lambda fit, event: seen.append((fit.id, event.kind))):
        records = {fit.id: record.status for fit, record in SlurmExecutor(TRY).run(fits, made.fit_runner)}
    assert records == {fit.id: "done" for fit in fits}
    for fit, _ in Local().run(fits, local.fit_runner):
        assert results(made, fit) == results(local, fit)
        assert home.begun(fit) == 2
    assert {fit for fit, _ in seen} <= set(records)
    assert list(made.workspace.runs.glob(".*.mark")) == []


def test_finished_fits_are_not_submitted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner()
    [fit] = home.fits(made, 1)
    record = made.run(fit)
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert list(SlurmExecutor().run([fit], made.fit_runner)) == [(fit, record)]


def stand_in(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put commands of SLURM on the path that run the tasks of an array as processes; return what sbatch was given."""
    folder = home.folder / "bin"
    folder.mkdir()
    programs = {
        "sbatch": SBATCH.format(python=sys.executable, home=home.folder),
        "srun": SRUN,
        "sacct": "#!/bin/bash\necho 'JobID|State|NodeList'\n",
        "scancel": "#!/bin/bash\n",
    }
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return home.folder / "sbatch.txt"


def test_a_job_array_asks_for_what_the_settings_say(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    script = stand_in(home, monkeypatch)
    made, local = home.runner(), home.runner("local")
    texts = {"partition": "short", "minutes": "7", "cpus": "1", "memory-gb": "3", "at-once": "5", "poll-seconds": "0.1"}
    executor = SlurmExecutor().configured({**texts, "setup": "export COLOUR=green"})
    of_a_file, [failing] = home.fit_of_a_file(made), home.fits(made, 1, method="failing")
    records = {fit.id: record for fit, record in executor.run([of_a_file, failing], made.fit_runner)}
    assert records[failing.id].reason.startswith("The plugin 'cluster' failed: ValueError: not today")
    assert [record.status for _, record in Local().run([of_a_file], local.fit_runner)] == ["done"]
    assert results(made, of_a_file) == results(local, of_a_file)
    text = script.read_text()
    for line in ("array=0-1%2", "partition=short", "time=7", "cpus-per-task=1", "mem=3GB", "job-name=benchrunner"):
        assert f"#SBATCH --{line}\n" in text, text
    assert "\nexport COLOUR=green\n" in text and text.count("#!/bin/bash") == 1


def test_no_more_jobs_are_submitted_than_may_run(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def map_array(run_fit: object, orders: Iterable[RemoteOrder], paths: object) -> list[Any]:
        jobs = []
        for order in orders:
            answer = RemoteAnswer(FitAnswer(Record(order.order.fit.id, "done")))
            jobs.append(types.SimpleNamespace(done=lambda: True, exception=lambda: None, result=lambda of=answer: of))
        sizes.append(len(jobs))
        return jobs

    queue = types.SimpleNamespace(map_array=map_array)
    monkeypatch.setattr("benchrunner_slurm.executor._Jobs._made", lambda jobs: queue)
    made = home.runner()
    fits = home.fits(made, 5)
    done = [fit for fit, _ in SlurmExecutor(SlurmSettings(at_once=2)).run(fits, made.fit_runner)]
    assert (done, sizes) == (fits, [2, 2, 1])


def test_a_refused_array_is_one_sentence(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    script = stand_in(home, monkeypatch)
    made = home.runner(devices=2)
    executor = SlurmExecutor(SlurmSettings(partition="nowhere", cpus=1))
    with pytest.raises(RequestError, match=r"SLURM does not take the jobs: .*invalid partition specified: nowhere$"):
        list(executor.run(home.fits(made, 2, method="failing"), made.fit_runner))
    assert "#SBATCH --cpus-per-task=2\n" in script.read_text(), "a core for each device of a fit"


def test_a_job_that_dies_stops_no_other_fit(home: Home) -> None:
    made = home.runner()
    [lost, failing] = [*home.fits(made, 1, method="dying"), *home.fits(made, 1, method="failing")]
    done: list[Fit] = []
    with pytest.raises(
        FitError, match=r"^1 of 2 jobs ended without a record, the first: job \d+ \(\w+\), see .*log\.err"
    ):
        done += [fit for fit, _ in SlurmExecutor(TRY).run([lost, failing], made.fit_runner)]
    record = made.folder(failing).record()
    assert record is not None and record.reason.startswith("The plugin 'cluster' failed: ValueError: not today (")


def test_missing_plugins_and_modules_are_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    made = home.runner()
    fits = home.fits(made, 1)
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(RequestError, match=r"no task 'mine/mood'.* A worker needs the same plugins as the command\.$"):
        list(SlurmExecutor(TRY).run(fits, made.fit_runner))
    module = types.ModuleType("only_here")
    exec("class RunFit:\n    def __call__(self, order, progress):\n        pass\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    monkeypatch.setattr("benchrunner_slurm.job.RunFit", module.RunFit)
    with pytest.raises(FitError, match=r"could not run .*: ModuleNotFoundError: No module named 'only_here'\. Are b"):
        list(SlurmExecutor(TRY).run(fits, made.fit_runner))


def test_ctrl_c_cancels_jobs_which_leave_checkpoints(home: Home) -> None:
    """A command in the background (nohup ... &) ignores SIGINT; its jobs are cancelled all the same."""
    outside = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _cancel(home)
    finally:
        signal.signal(signal.SIGINT, outside)


def _cancel(home: Home) -> None:
    made = home.runner()
    [fit] = home.fits(made, 1, epochs=100_000)

    def stop(_: Fit, event: Event) -> None:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN, "submitting jobs has left another handler"
        wait_for(lambda: made.folder(fit).log.exists() and made.folder(fit).log.read_bytes())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    with made.observers.reporting_to(stop), pytest.raises(KeyboardInterrupt):
        list(SlurmExecutor(TRY).run([fit], made.fit_runner))
    assert (made.folder(fit).checkpoint / "state.safetensors").exists()
    assert made.folder(fit).finished_record() is None


def test_without_slurm_the_command_says_what_to_do(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    made = home.runner()
    with pytest.raises(RequestError, match=r"no SLURM on this machine \(no sbatch and srun\): run the command on a"):
        list(SlurmExecutor().run(home.fits(made, 1), made.fit_runner))
